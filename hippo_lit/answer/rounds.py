"""Several retrievals that follow one another, merged (IRCoT: Trivedi et al. 2023, "Interleaving Retrieval
with Chain-of-Thought Reasoning for Knowledge-Intensive Multi-Step Questions").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hippo_lit.answer.replies import read_thought, repeats
from hippo_lit.answer.shown import as_shown
from hippo_lit.answer.values import LoopEnd, Round
from hippo_lit.errors import ChatModelError, ModelError
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.prompts import Prompt
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.protocols import ChatModel
from hippo_lit.types import Paper, RetrievalResult

Retrieve = Callable[[str, int], RetrievalResult]
"""`k` papers for a query, under the mode and filters of the caller."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A paper with 1 / the best rank that any round gave it, and the numbers of the rounds that ranked it."""

    paper: Paper
    score: float
    rounds: tuple[int, ...]


def merge(results: Sequence[RetrievalResult]) -> list[Merged]:
    """Every paper of the results, best first: the maximum over them of 1 / rank, ties to the earlier result.

    Ranks are the scale that all rounds share. Scores are not: a round that no fact matched is answered by
    the hybrid route, whose scores lie close together in [0, 1], while PageRank's fall off steeply from
    about 1e-3; nor are they after min-max, by which the tenth of a flat list would pass the second of a
    steep one.
    """
    papers: dict[str, Paper] = {}
    best: dict[str, tuple[int, int]] = {}
    rounds: dict[str, list[int]] = {}
    for number, result in enumerate(results):
        for ranked in result.papers:
            key = ranked.paper.id
            papers.setdefault(key, ranked.paper)
            rounds.setdefault(key, []).append(number)
            best[key] = min(best.get(key, (ranked.rank, number)), (ranked.rank, number))
    order = sorted(best, key=best.__getitem__)
    return [Merged(papers[key], 1 / best[key][0], tuple(rounds[key])) for key in order]


def as_rounds(results: Sequence[RetrievalResult]) -> tuple[Round, ...]:
    """What each retrieval found, and what of it no earlier one had."""
    known: set[str] = set()
    rounds = []
    for number, result in enumerate(results, start=1):
        ids = tuple(ranked.paper.id for ranked in result.papers)
        added = tuple(paper_id for paper_id in ids if paper_id not in known)
        known.update(ids)
        rounds.append(Round(number, result.query, ids, added, result.route, result.degraded, result.reason))
    return tuple(rounds)


@dataclass(frozen=True, slots=True)
class Chain:
    """The results of the rounds, the thoughts between them, and why there were no more.

    `reason` says what failed where `end` is "failed".
    """

    results: tuple[RetrievalResult, ...]
    thoughts: tuple[str, ...] = ()
    end: LoopEnd = "one_step"
    reason: str = ""


def retrieve_in_steps(
    question: str,
    retrieve: Retrieve,
    chat: ChatModel,
    prompt: Prompt,
    *,
    steps: int,
    k: int,
    paper_chars: int,
    strict: bool = False,
) -> Chain:
    """Retrieve for the question and then, up to `steps` rounds in all, for one thought after the other.

    The model sees the best `k` papers of all rounds so far and its own thoughts. The loop ends before: when
    a thought says "So the answer is:", repeats the question or another thought, is empty or nothing to
    search by, or where the model fails; then ModelError is raised if `strict`.
    """
    results = [retrieve(question, k)]
    thoughts: list[str] = []

    def chain(end: LoopEnd, reason: str = "") -> Chain:
        return Chain(tuple(results), tuple(thoughts), end, reason)

    while len(results) < steps:
        papers = [merged.paper for merged in merge(results)[:k]]
        data = {"question": question, "papers": as_shown(papers, paper_chars), "thoughts": thoughts}
        messages = prompt.render(data=data)
        try:
            reply = chat.complete(messages)
            thought, known = read_thought(reply.text)
        except UnreadableReplyError:
            forget_reply(chat, messages)
            return chain("unusable")
        except ModelError as error:
            if isinstance(error, ChatModelError) and error.fields.get("kind") == "empty_reply":
                return chain("empty")
            if strict:
                raise
            return chain("failed", error.message)
        if not known and repeats(thought, [question, *thoughts]):
            return chain("repeated")
        thoughts.append(thought)
        if known:
            return chain("answer")
        results.append(retrieve(thought, k))
    return chain("limit" if steps > 1 else "one_step")
