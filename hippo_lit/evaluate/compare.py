"""Two runs side by side: which is better, by how much, and is the difference real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.evaluate.measures import mean, per_query
from hippo_lit.evaluate.run import Run
from hippo_lit.evaluate.stats import SEED, bootstrap_interval, holm, randomisation_test

_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of two runs over the same queries.

    `difference` is mean(other) - mean(base), `low` and `high` its 95% bootstrap interval, `p` from the
    paired randomisation test, `p_holm` the same corrected for all systems compared with the base. `wins` are
    queries that `other` answers better.
    """

    base: str
    other: str
    measure: str
    queries: int
    base_mean: float
    other_mean: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Move:
    """A query and its value in either run."""

    query_id: str
    base: float
    other: float


def compare_runs(
    base: Run, others: Sequence[Run], measures: Sequence[str], *, seed: int = SEED
) -> list[Comparison]:
    """Every other run against `base`, by every measure; Holm's family is the runs, measure by measure.

    Raises DataError where the runs answer different queries or have different gold.
    """
    for other in others:
        check_comparable(base, other)
    found = []
    before, *after = (per_query(run.queries, run.rankings, measures, run.written) for run in (base, *others))
    for measure in measures:
        rows = [
            compare_values((base.label, other.label), measure, before[measure], values[measure], seed=seed)
            for other, values in zip(others, after, strict=True)
        ]
        corrected = holm([row.p for row in rows])
        found += [replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True)]
    return found


def check_comparable(base: Run, other: Run) -> None:
    """Raises DataError."""
    a, b = ({query.id: (query.text, dict(query.gold)) for query in run.queries} for run in (base, other))
    if a.keys() != b.keys():
        differing = len(a.keys() ^ b.keys())
        raise DataError(
            f"{base.label} and {other.label} did not answer the same queries ({differing} are in one only):"
            " run both on one data set"
        )
    changed = sorted(query for query in a if a[query] != b[query])
    if changed:
        raise DataError(
            f"text or gold of {len(changed)} queries changed between {base.label} and {other.label}"
            f" ({', '.join(changed[:5])}): run both again"
        )


def moves(base: Run, other: Run, measure: str) -> list[Move]:
    """The queries whose value changed, the largest change first."""
    a, b = (per_query(run.queries, run.rankings, [measure], run.written)[measure] for run in (base, other))
    changed = [Move(query, a[query], b[query]) for query in a if abs(a[query] - b[query]) > _TIE]
    return sorted(changed, key=lambda move: (-abs(move.other - move.base), move.query_id))


def choose(runs: Sequence[Run], label: str) -> Run:
    """The run of that label. Raises ConfigError."""
    for run in runs:
        if run.label == label:
            return run
    raise ConfigError(
        f"no system is called {label!r}; there are {', '.join(run.label for run in runs)}", key=label
    )


def compare_values(
    labels: tuple[str, str],
    measure: str,
    a: Mapping[str, float],
    b: Mapping[str, float],
    *,
    seed: int = SEED,
) -> Comparison:
    """`b` against `a`, paired by key; both have the same keys. `p_holm` is `p`: one comparison."""
    differences = [b[query] - a[query] for query in a]
    low, high = bootstrap_interval(differences, seed=seed)
    p = randomisation_test(differences, seed=seed)
    wins = sum(d > _TIE for d in differences)
    losses = sum(d < -_TIE for d in differences)
    return Comparison(
        *labels,
        measure,
        len(differences),
        mean(list(a.values())),
        mean(list(b.values())),
        mean(differences),
        low,
        high,
        p,
        p,
        wins,
        len(differences) - wins - losses,
        losses,
    )
