"""How well the fact filter tells which candidates bear on the question, on queries with gold facts.

A candidate is relevant where it states a gold fact: it comes from a relevant paper, and of the gold fact's
words (function words aside) at least COVERED stand in it or in the sentence that states it. Gold facts are
written by hand and candidates found by rules or models, so the words differ; numbers must be there.
Not every good fact was written down: precision is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.run import Answered, FactSeen
from hippo_lit.text import normalise
from hippo_lit.types import Fact

COVERED = 0.6
_FUNCTION_WORDS = frozenset("a an and as at by for from in is it of on that the to with".split())


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """Pooled over all queries (micro-averaged); each in [0, 1], None where there is nothing to divide by.

    `precision`: kept facts that are relevant. `recall`: relevant candidates that are kept. `offered`: gold
    facts that some candidate states, so the most that any filter could keep. `matched_back`: facts of the
    filter's replies that are candidates. `empty`: queries with candidates of which none was kept, of those
    with a relevant paper; `empty_right` of those without one, for which keeping nothing is right.
    """

    queries: int
    precision: float | None
    recall: float | None
    f1: float | None
    offered: float | None
    matched_back: float | None
    empty: float | None
    empty_right: float | None


def filter_figures(queries: Iterable[Query], answers: Mapping[str, Answered]) -> FilterFigures | None:
    """The figures; None where no query had a candidate, as in modes without facts."""
    asked = [query for query in queries if query.id in answers and answers[query.id].candidates]
    if not asked:
        return None
    with_gold = [query for query in asked if query.gold_facts]
    kept = relevant = right = gold = offered = 0
    for query in with_gold:
        facts = answers[query.id].candidates
        states = [[states_fact(seen, fact, query.relevant) for seen in facts] for fact in query.gold_facts]
        gold += len(states)
        offered += sum(any(row) for row in states)
        for i, seen in enumerate(facts):
            is_relevant = any(row[i] for row in states)
            relevant += is_relevant
            kept += seen.kept
            right += is_relevant and seen.kept
    precision, recall = _share(right, kept), _share(right, relevant)
    every = [answers[query.id] for query in asked]
    matched = sum(seen.kept for answer in every for seen in answer.candidates)
    unmatched = sum(len(answer.unmatched) for answer in every)
    empty = {query.id for query in asked if not any(s.kept for s in answers[query.id].candidates)}
    answerable = [query.id for query in asked if query.relevant]
    hopeless = [query.id for query in asked if not query.relevant]
    return FilterFigures(
        len(with_gold),
        precision,
        recall,
        _share(2 * right, kept + relevant),
        _share(offered, gold),
        _share(matched, matched + unmatched),
        _share(len(empty.intersection(answerable)), len(answerable)),
        _share(len(empty.intersection(hopeless)), len(hopeless)),
    )


def states_fact(seen: FactSeen, gold: Fact, relevant: frozenset[str]) -> bool:
    """Whether a candidate states a gold fact."""
    if relevant.isdisjoint(seen.papers):
        return False
    wanted = content_words(gold.text)
    found = content_words(f"{seen.text} {seen.sentence}")
    numbers = {word for word in wanted if word[0].isdigit()}
    return bool(wanted) and numbers <= found and len(wanted & found) >= COVERED * len(wanted)


def content_words(text: str) -> set[str]:
    """The words of a text in their normal form, without function words."""
    return set(normalise(text).split()) - _FUNCTION_WORDS


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
