"""Stage 1: which facts might bear on the question.

The best facts of all by embedding (HippoRAG 2), and for each entity that the question names the facts of
the sentences about it that are nearest to the question: the way from a question to its second paper leads
through a sentence about what it names. (Bridging by sentences is LinearRAG's idea, published 2025; one
round, sentences read in their passage's context, and the filter's verdict on each are ours.)
"""

from __future__ import annotations

from dataclasses import dataclass

from hippo_lit.graph.factgraph import FactGraph
from hippo_lit.graph.matching import matches
from hippo_lit.protocols import Vectors
from hippo_lit.retrieve.nearness import Nearness
from hippo_lit.snapshot import Snapshot
from hippo_lit.types import Fact, ScoredFact

_STAND_IN = "says"
_MOST_CHARS = 4000  # of a question that are searched for names


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact on offer to the filter, with what it activates if it is kept.

    `sentence` as in FactGraph (negative: not known). `own` are the entities it joins, `evidence` those of
    the whole sentence, title included.
    """

    scored: ScoredFact
    sentence: int
    own: tuple[int, ...]
    evidence: tuple[int, ...]


class FactRecall:
    """Finds candidates in one snapshot. Immutable."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._graph: FactGraph = snapshot.graph

    def links(self, question: str) -> list[int]:
        """The entities that the question names, each once, in its order."""
        found = matches(question[:_MOST_CHARS], self._graph.named)
        return list(dict.fromkeys(entity for group in found for entity in group))

    def candidates(self, query: Vectors, links: list[int], *, top_k: int, per_entity: int) -> list[Candidate]:
        """Candidates without repetition, highest score first. `query` is the query_to_fact vector."""
        if not self._graph.n_sentences and not self._graph.n_facts:
            return []
        snapshot = self._snapshot
        sentences = Nearness(snapshot.sentence_vectors, snapshot.sentence_codes, query)
        chosen: dict[tuple[int, int], float] = {}  # (sentence, fact or -1) -> similarity
        if snapshot.fact_vectors is not None and len(snapshot.fact_vectors):
            facts = Nearness(snapshot.fact_vectors, snapshot.fact_codes, query)
            low, high = facts.range()
            for fact, similarity in facts.best(top_k):
                chosen[self._stated_in(fact), fact] = similarity
        else:
            low, high = sentences.range()
            for sentence, similarity in sentences.best(top_k):
                chosen.setdefault(self._telling(sentence, links), similarity)
        for entity in links:
            for sentence, similarity in sentences.best(per_entity, self._graph.naming(entity)):
                chosen.setdefault(self._telling(sentence, links), similarity)
        span = high - low
        found = [
            self._candidate(sentence, fact, similarity, _stretched(similarity, low, span), links)
            for (sentence, fact), similarity in chosen.items()
        ]
        found.sort(key=lambda c: (-c.scored.score, c.sentence, c.scored.fact.text))
        # A fact that several sentences state is offered once, by the nearest of them.
        once = {c.scored.fact: c for c in reversed(found)}
        return [c for c in found if once[c.scored.fact] is c]

    def _stated_in(self, fact: int) -> int:
        return int(self._graph.fact_sentence[self._graph.fact_start[fact]])

    def _telling(self, sentence: int, links: list[int]) -> tuple[int, int]:
        """The fact of a sentence that names most of what the question names; (sentence, -1): it has none."""
        _, facts = self._graph.facts_stated(sentence, sentence + 1)
        if not len(facts):
            return sentence, -1
        named = set(links)

        def shared(fact: int) -> int:
            return len(named & {int(self._graph.fact_subject[fact]), int(self._graph.fact_object[fact])})

        return sentence, int(max(facts.tolist(), key=shared))

    def _candidate(
        self, sentence: int, fact: int, similarity: float, score: float, links: list[int]
    ) -> Candidate:
        graph, snapshot = self._graph, self._snapshot
        evidence = tuple(graph.stating(sentence).tolist()) if sentence >= 0 else ()
        own: tuple[int, ...] = evidence
        where = [sentence]
        if fact >= 0:
            own = (int(graph.fact_subject[fact]), int(graph.fact_object[fact]))
            said = graph.fact(fact)
            where = graph.fact_sentence[graph.fact_start[fact] : graph.fact_start[fact + 1]].tolist()
        else:
            said = Fact(
                snapshot.passage(graph.passage_of(sentence)).title, _STAND_IN, snapshot.sentence(sentence)
            )
        evidence = tuple(dict.fromkeys((*own, *evidence)))
        anchors = [entity for entity in evidence if entity in set(links)]
        papers = dict.fromkeys(int(snapshot.passage_paper[graph.passage_of(at)]) for at in where)
        scored = ScoredFact(
            said,
            score,
            similarity,
            anchors=tuple(graph.names[entity] for entity in anchors),
            specificity=max((1 / int(graph.spread[entity]) for entity in anchors), default=0.0),
            paper_ids=tuple(snapshot.paper_ids[paper] for paper in papers),
            sentence=snapshot.sentence(sentence) if sentence >= 0 else "",
        )
        return Candidate(scored, sentence, tuple(dict.fromkeys(own)), evidence)


def _stretched(similarity: float, low: float, span: float) -> float:
    """Min-max, in [0, 1]: 1 where all are alike, and for a sentence that is nearer than any fact."""
    return min(max((similarity - low) / span, 0.0), 1.0) if span > 0 else 1.0
