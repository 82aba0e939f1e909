"""What a run comes to: measures with intervals, per tag, beside latency, tokens and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hippo_lit.evaluate.filtering import FilterFigures, filter_figures
from hippo_lit.evaluate.measures import mean, per_query, recall_curve
from hippo_lit.evaluate.run import Run
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
    failed. `tags` has for each tag the means by measure; `curve` is (k, recall at k).
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
    filter: FilterFigures | None

    def as_json(self) -> dict[str, Any]:
        """JSON-ready; a mean over no query is null."""
        return {key: _without_nan(value) for key, value in asdict(self).items()}


def summarise(run: Run, measures: Sequence[str], *, seed: int = SEED) -> Summary:
    """Raises ConfigError, MissingExtraError for measures that cannot be computed."""
    values = per_query(run.queries, run.rankings, measures)
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
        sum((answer.usage for answer in answers), Usage()),
        mean([float(answer.route != run.info.mode) for answer in answers]),
        mean([float(answer.degraded) for answer in answers]),
        filter_figures(run.queries, run.answers),
    )


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
