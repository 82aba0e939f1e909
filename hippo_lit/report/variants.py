"""Which systems are variants of another, and the lines through the values of a swept setting."""

from __future__ import annotations

from collections.abc import Sequence

from hippo_lit.evaluate.run import Run
from hippo_lit.evaluate.summary import Summary

Line = tuple[str, list[tuple[float, float]]]


def is_variant(label: str) -> bool:
    """Whether a system is one of `--ablate` or `--sweep`: hippo@no-filter, hippo@ppr.damping=0.3."""
    _, _, what = label.partition("@")
    return what.startswith("no-") or "=" in what


def sweep_lines(runs: Sequence[Run], summaries: Sequence[Summary], measure: str) -> dict[str, list[Line]]:
    """Setting to a line for each route, through the means at its values, where it alone is swept by numbers.

    The system whose settings were swept is on the line, at its own value.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    means = {summary.label: summary.measures[measure].mean for summary in summaries}
    for summary in summaries:
        route, _, what = summary.label.partition("@")
        key, separator, value = what.partition("=")
        if not separator or "," in what:
            continue
        try:
            number = float(value)
        except ValueError:
            continue
        found.setdefault(key, {}).setdefault(route, []).append((number, means[summary.label]))
    for key, by_route in found.items():
        section, _, name = key.partition(".")
        for route, points in by_route.items():
            base = next((r for r in runs if r.info.mode == route and not is_variant(r.label)), None)
            own = base.info.settings[section][name] if base is not None else None
            if base is not None and isinstance(own, int | float):
                points.append((float(own), means[base.label]))
    return {key: [(route, sorted(points)) for route, points in by.items()] for key, by in found.items()}
