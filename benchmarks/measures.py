"""Recall and nDCG by ir-measures, over rankings of paper ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures


def per_query(
    gold: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]], measures: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Measure to query to value, in percent; a query without a ranking counts 0."""
    run = {
        query: {paper: float(len(ranking) - place) for place, paper in enumerate(ranking)}
        for query, ranking in rankings.items()
    }
    wanted = [ir_measures.parse_measure(name) for name in measures]
    values: dict[str, dict[str, float]] = {str(name): dict.fromkeys(gold, 0.0) for name in wanted}
    for metric in ir_measures.iter_calc(wanted, gold, run):
        values[str(metric.measure)][metric.query_id] = 100 * metric.value
    return values


def means(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean over the queries of each measure."""
    return {name: sum(by_query.values()) / max(len(by_query), 1) for name, by_query in values.items()}
