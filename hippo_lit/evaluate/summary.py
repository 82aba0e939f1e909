"""What a run comes to: measures with intervals, per tag, beside latency, tokens and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hippo_lit.evaluate.answering import AnswerFigures, answer_figures
from hippo_lit.evaluate.filtering import FilterFigures, filter_figures
from hippo_lit.evaluate.measures import mean, per_query, recall_curve
from hippo_lit.evaluate.run import Answered, Run
from hippo_lit.evaluate.stats import SEED, bootstrap_interval
from hippo_lit.types import Usage


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over `queries` queries with its 95% bootstrap interval."""

    mean: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One system. Seconds are per query, texts embedded before and without explaining.

    `fallbacks` is the share of queries that another route answered, `degraded` that for which something
    failed, and `reason` what failed most often. `usage` is of retrieval and of answers in words. `tags` has
    for each tag the means by measure; `curve` is (k, recall at k).
    """

    label: str
    measures: dict[str, Figure]
    tags: dict[str, dict[str, Figure]]
    curve: list[tuple[int, float]]
    median_s: float
    p95_s: float
    usage: Usage
    fallbacks: float
    degraded: float
    reason: str
    filter: FilterFigures | None
    answering: AnswerFigures | None

    def as_json(self) -> dict[str, Any]:
        """JSON-ready; a mean over no query is null."""
        return {key: _without_nan(value) for key, value in asdict(self).items()}


def summarise(run: Run, measures: Sequence[str], *, seed: int = SEED) -> Summary:
    """Raises ConfigError, MissingExtraError for measures that cannot be computed."""
    values = per_query(run.queries, run.rankings, measures, run.written)
    tags = dict.fromkeys(tag for query in run.queries for tag in query.tags)
    answers = list(run.answers.values())
    seconds = [answer.seconds for answer in answers] or [0.0]
    return Summary(
        run.label,
        {name: _figure(list(by.values()), seed) for name, by in values.items()},
        {
            tag: {
                name: _figure([by[q.id] for q in run.queries if tag in q.tags and q.id in by], seed)
                for name, by in values.items()
            }
            for tag in tags
        },
        recall_curve(run.queries, run.rankings),
        float(np.median(seconds)),
        float(np.quantile(seconds, 0.95)),
        sum((usage for answer in answers for usage in _usages(answer)), Usage()),
        mean([float(answer.route != run.info.mode) for answer in answers]),
        mean([float(_failed(answer) is not None) for answer in answers]),
        next((reason for reason, _ in Counter(filter(None, map(_failed, answers))).most_common(1)), ""),
        filter_figures(run.queries, run.answers),
        answer_figures(run),
    )


def _usages(answer: Answered) -> Iterator[Usage]:
    yield answer.usage
    if answer.written is not None:
        yield answer.written.usage


def _failed(answer: Answered) -> str | None:
    """Why an answer is degraded; None where it is not."""
    if answer.degraded:
        return answer.reason
    written = answer.written
    return written.reason if written is not None and written.degraded else None


def _figure(values: list[float], seed: int) -> Figure:
    return Figure(mean(values), *bootstrap_interval(values, seed=seed), len(values))


def _without_nan(value: Any) -> Any:
    match value:
        case dict():
            return {key: _without_nan(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_nan(item) for item in value]
        case float() if value != value:
            return None
        case _:
            return value
