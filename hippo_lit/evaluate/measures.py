"""Ranking measures by ir-measures, HippoRAG's recall under its own name, and EM and F1 of answers.

A query without a relevant paper has no right ranking, so it has no value by any measure but HippoRecall;
`measured` says how many queries a mean is over. A query whose ranking is empty has 0. EM and F1 (`answers`)
are over the queries that have gold answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hippo_lit.errors import ConfigError, DataError, MissingExtraError
from hippo_lit.evaluate.answers import exact_match, token_f1
from hippo_lit.evaluate.dataset import Query

if TYPE_CHECKING:
    from ir_measures.measures import Measure

DEFAULT = ("nDCG@10", "R@5", "R@100", "RR@10")
CURVE = (1, 2, 3, 5, 10, 20, 50, 100)
MOST = 999_999
"""The deepest cutoff."""
_HIPPO = re.compile(r"HippoRecall@([1-9]\d{0,5})")
_CUTOFF = re.compile(r"@(\d+)")
OF_ANSWERS: Mapping[str, Callable[[str, Sequence[str]], float]] = {"EM": exact_match, "F1": token_f1}
"""Measures of answers in words, not of rankings."""

Values = Mapping[str, Mapping[str, float]]
"""Measure to query id to value."""


def check_measures(names: Iterable[str]) -> tuple[str, ...]:
    """The names as they are reported ("MRR@10" is "RR@10"), each once.

    Known are ir-measures' own, `HippoRecall@k`, and `EM` and `F1`. Raises ConfigError for a name that is no
    measure.
    """
    checked = tuple(dict.fromkeys(name if _is_own(name) else str(_parsed(name)) for name in names))
    if not checked:
        raise ConfigError("name at least one measure, such as nDCG@10", key="measures")
    return checked


def depth_of(names: Iterable[str]) -> int:
    """How many papers must be ranked for these measures: the largest cutoff, and 100 where there is none."""
    return max((int(cut) for name in names for cut in _CUTOFF.findall(name) or ["100"]), default=100)


def per_query(
    queries: Sequence[Query],
    rankings: Mapping[str, Sequence[str]],
    names: Sequence[str],
    written: Mapping[str, str] | None = None,
) -> dict[str, dict[str, float]]:
    """Measure to query to value in [0, 1], for `names` as `check_measures` gives them.

    `written` are answers in words by query. Raises DataError where EM or F1 is asked and one is missing.
    """
    judged = [query for query in queries if query.relevant]
    values: dict[str, dict[str, float]] = {}
    theirs = [name for name in names if not _is_own(name)]
    parsed = [_parsed(name) for name in theirs]
    values = {name: dict.fromkeys((query.id for query in judged), 0.0) for name in theirs}
    if parsed and judged:
        import ir_measures

        gold = {query.id: dict(query.gold) for query in judged}
        run = {query.id: _falling(rankings.get(query.id, ())) for query in judged}
        for metric in ir_measures.iter_calc(parsed, gold, run):
            if metric.query_id in gold:
                values[str(metric.measure)][metric.query_id] = float(metric.value)
    for name in names:
        if found := _HIPPO.fullmatch(name):
            values[name] = {
                query.id: recall(rankings.get(query.id, ()), query.relevant, int(found[1]))
                for query in queries
            }
        elif name in OF_ANSWERS:
            values[name] = _of_answers(OF_ANSWERS[name], queries, written or {})
    return {name: values[name] for name in names}


def recall(ranking: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """|first k ∩ relevant| / |relevant|; 0 for a query without a relevant paper, as HippoRAG counts it.

    Gutiérrez et al. (2025), "From RAG to Memory"; over ids, where HippoRAG compares texts.

    >>> recall(["a", "x", "b"], frozenset("ab"), 2)
    0.5
    """
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def recall_curve(
    queries: Iterable[Query], rankings: Mapping[str, Sequence[str]], ks: Sequence[int] = CURVE
) -> list[tuple[int, float]]:
    """(k, mean recall at k) over the queries that have a relevant paper."""
    judged = [query for query in queries if query.relevant]
    return [
        (k, mean([recall(rankings.get(query.id, ()), query.relevant, k) for query in judged])) for k in ks
    ]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; NaN of nothing."""
    return sum(values) / len(values) if values else float("nan")


def _of_answers(
    score: Callable[[str, Sequence[str]], float], queries: Sequence[Query], written: Mapping[str, str]
) -> dict[str, float]:
    asked = [query for query in queries if query.answers]
    if missing := [query.id for query in asked if query.id not in written]:
        raise DataError(
            f"the run has no answer in words to {len(missing)} queries ({', '.join(missing[:5])}): make it"
            " with `hippo-lit eval … --measures 'EM F1'`"
        )
    return {query.id: score(written[query.id], query.answers) for query in asked}


def _is_own(name: str) -> bool:
    return name in OF_ANSWERS or _HIPPO.fullmatch(name) is not None


def _falling(ranking: Sequence[str]) -> dict[str, float]:
    # Places, not scores: ties are broken as the system broke them.
    return {paper: float(len(ranking) - place) for place, paper in enumerate(ranking)}


def _parsed(name: str) -> Measure:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError(
            "measures need the package ir-measures: pip install 'hippo-lit[eval]'",
            package="ir-measures",
            extra="eval",
        ) from error
    # ir-measures takes a cutoff of 0, and then ends the process.
    if not all(1 <= int(cutoff) <= MOST for cutoff in _CUTOFF.findall(name)):
        raise ConfigError(f"the cutoff of {name!r} must be from 1 to {MOST:,}", key="measures")
    try:
        return ir_measures.parse_measure(name)
    except (NameError, ValueError) as error:
        raise ConfigError(
            f"there is no measure {name!r}: write nDCG@10, R@5, P@10, RR@10, AP, Success@5 or another of"
            " ir-measures, or HippoRecall@5; for answers EM and F1",
            key="measures",
        ) from error
