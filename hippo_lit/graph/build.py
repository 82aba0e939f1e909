"""From passages and what was extracted from them to the fact graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.graph.factgraph import EdgeKind, Edges, FactGraph
from hippo_lit.graph.keys import entity_key, link_key, statement_key, title_names
from hippo_lit.graph.matching import matches, word_count
from hippo_lit.types import Extraction, Fact, Passage

MAX_COOCCURRING = 30  # a sentence that lists more entities than this joins none of them pairwise


class GraphBuilder:
    """Collects passage after passage, in order; `build` gives the graph.

    Entities are names and titles, and what facts join. Common noun phrases ("phrase" mentions) are not:
    they cost 4 points of recall@5 on musique_train100 and tripled the edges of an abstract. A question can
    name an entity that is a name somewhere, or whose name has several words.

    The result depends on the passages and extractions alone, not on how they were batched. `title_weight`
    is what a mention in the title weighs where one in the text weighs 1: a paper is about what its title
    names.
    """

    def __init__(self, *, title_weight: float = 4.0) -> None:
        self._title_weight = title_weight
        self._number: dict[str, int] = {}
        self._names: list[str] = []
        self._texts: list[str] = []
        self._sentence_start = [0]
        self._mentions: dict[tuple[int, int], float] = {}
        self._statements: list[list[int]] = []
        self._cooccurring: Counter[tuple[int, int]] = Counter()
        self._facts: dict[tuple[int, str, int], int] = {}
        self._fact_text: list[str] = []
        self._fact_sentences: list[list[int]] = []
        self._joined: Counter[tuple[int, int]] = Counter()
        self._proper: set[int] = set()  # entities that are a name or a title somewhere

    def add(self, passage: Passage, sentences: int, extraction: Extraction) -> None:
        """The next passage, with its number of sentences.

        Its title as a whole is an entity too, unless nothing was extracted from it: an index without an
        extractor has no graph.
        """
        at = len(self._texts)
        first = self._sentence_start[-1]
        self._texts.append(passage.text)
        self._sentence_start.append(first + sentences)
        found = bool(extraction.mentions or extraction.facts)
        titles = title_names(passage.title) if found else {}
        titled = {self._numbered(key, name) for key, name in titles.items()}
        named: list[set[int]] = [set() for _ in range(sentences)]
        for mention in extraction.mentions:
            entity = self._entity(mention.surface) if mention.kind == "name" else -1
            if entity >= 0:
                (named[mention.sentence] if 0 <= mention.sentence < sentences else titled).add(entity)
        self._proper |= titled.union(*named)
        self._add_facts(at, first, sentences, extraction)
        for entities in named:
            self._statements.append(sorted(entities | titled))
            if len(entities) <= MAX_COOCCURRING:
                self._cooccurring.update(combinations(sorted(entities), 2))
            for entity in entities:
                self._mentions[at, entity] = 1.0
        for entity in titled:
            self._mentions[at, entity] = self._title_weight

    def _add_facts(self, at: int, first: int, sentences: int, extraction: Extraction) -> None:
        for fact, sentence in zip(extraction.facts, extraction.fact_sentences, strict=True):
            subject, object_ = self._entity(fact.subject), self._entity(fact.object)
            if subject < 0 or object_ < 0:
                continue
            known = 0 <= sentence < sentences
            for entity in (subject, object_):
                self._mentions.setdefault((at, entity), 1.0)
            number = self._fact(fact, subject, object_)
            self._fact_sentences[number].append(first + sentence if known else -1 - at)
            if subject != object_:
                self._joined[min(subject, object_), max(subject, object_)] += 1

    def _fact(self, fact: Fact, subject: int, object_: int) -> int:
        identity = (subject, statement_key(fact), object_)
        number = self._facts.setdefault(identity, len(self._facts))
        if number == len(self._fact_text):
            self._fact_text.append("\t".join(" ".join(part.split()) for part in _parts(fact)))
            self._fact_sentences.append([])
        return number

    def _entity(self, surface: str) -> int:
        key = entity_key(surface)
        return self._numbered(key, surface) if key else -1

    def _numbered(self, key: str, name: str) -> int:
        number = self._number.setdefault(key, len(self._number))
        if number == len(self._names):
            self._names.append(name)
        return number

    def names(self) -> dict[str, int]:
        """The number of each entity that is a name or a title somewhere, by its key: who has synonyms."""
        return {key: number for key, number in self._number.items() if number in self._proper}

    def build(
        self,
        *,
        citations: Iterable[tuple[int, int]] = (),
        continuations: Iterable[tuple[int, int]] = (),
        synonyms: Iterable[tuple[int, int, float]] = (),
    ) -> FactGraph:
        """The graph. The first two are pairs of passage numbers to join; `synonyms` pairs of entity
        numbers with their similarity.
        """
        n, e = len(self._texts), len(self._names)
        spellings: dict[str, list[int]] = {}
        for key, number in self._number.items():
            spellings.setdefault(link_key(key), []).append(number)
        links = {
            spelling: nameable
            for spelling, numbers in spellings.items()
            if (nameable := [i for i in numbers if i in self._proper or word_count(spelling) > 1])
        }
        edges: dict[EdgeKind, Edges] = {
            "mention": _edges(((p, n + entity, w) for (p, entity), w in self._mentions.items())),
            "fact": _edges((n + a, n + b, float(count)) for (a, b), count in self._joined.items()),
            "cooccurrence": _edges(
                (n + a, n + b, float(count)) for (a, b), count in self._cooccurring.items()
            ),
            "synonym": _edges((n + a, n + b, similarity) for a, b, similarity in synonyms),
            "citation": _edges((a, b, 1.0) for a, b in _distinct(citations)),
            "continuation": _edges((a, b, 1.0) for a, b in _distinct(continuations)),
        }
        return FactGraph(
            n_passages=n,
            names=self._names,
            spread=np.maximum(_spread(self._texts, spellings, e), self._mentioned(e)),
            link_keys=list(links),
            link_start=_starts(links.values()),
            link_entity=np.array([number for group in links.values() for number in group], dtype=np.int32),
            sentence_start=np.array(self._sentence_start, dtype=np.int64),
            statements=_rows(self._statements, e),
            fact_subject=np.array([s for s, _, _ in self._facts], dtype=np.int32),
            fact_object=np.array([o for _, _, o in self._facts], dtype=np.int32),
            fact_text=self._fact_text,
            fact_start=_starts(self._fact_sentences),
            fact_sentence=np.array([s for group in self._fact_sentences for s in group], dtype=np.int32),
            edges=edges,
        )

    def _mentioned(self, n_entities: int) -> NDArray[np.int32]:
        """By how many passages each entity is mentioned."""
        entities = np.fromiter((entity for _, entity in self._mentions), dtype=np.int64)
        return np.bincount(entities, minlength=n_entities).astype(np.int32)


def _parts(fact: Fact) -> tuple[str, str, str]:
    return fact.subject, fact.relation, fact.object


def _spread(texts: Sequence[str], links: dict[str, list[int]], n_entities: int) -> NDArray[np.int32]:
    """In how many passages each entity's name stands; at least 1."""
    counts = np.zeros(n_entities, dtype=np.int32)
    for text in texts:
        found = {entity for group in matches(text, links.get) for entity in group}
        counts[list(found)] += 1
    return np.maximum(counts, 1)


def _starts(groups: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, groups)], dtype=np.int64)


def _rows(groups: Sequence[Sequence[int]], width: int) -> sparse.csr_matrix:
    indices = np.array([entity for group in groups for entity in group], dtype=np.int32)
    return sparse.csr_matrix(
        (np.ones(len(indices), dtype=np.int8), indices, _starts(groups)), shape=(len(groups), width)
    )


def _distinct(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted({(min(a, b), max(a, b)) for a, b in pairs if a != b})


def _edges(weighted: Iterable[tuple[int, int, float]]) -> Edges:
    rows = list(weighted)
    source = np.array([a for a, _, _ in rows], dtype=np.int32)
    target = np.array([b for _, b, _ in rows], dtype=np.int32)
    return Edges(source, target, np.array([w for _, _, w in rows], dtype=np.float64))
