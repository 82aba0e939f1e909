"""Small charts as SVG text: no script, no fonts or colours of their own, all labels escaped.

Colours are classes (`s0` … `s7`) that the page's style sheet gives for light and dark. Every chart is drawn
at WIDTH units, which is about a phone's width, so that its text stays readable there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from hippo_lit.render import printable, shorten

WIDTH = 360
SERIES = 8
"""So many systems can be told apart by colour and dash."""

_LEFT, _RIGHT, _ROW = 116, 12, 22
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 4", "4 2", "1 2", "10 2 2 2")
Interval = tuple[float, float, float]
"""Mean, low and high."""


def intervals(rows: Sequence[tuple[str, Interval]], title: str, *, zero: bool = False) -> str:
    """A dot with its interval for each row, in percent; with `zero` on a scale around 0, for differences."""
    known = [value for _, values in rows for value in values if value == value]
    low, high = (min(known, default=0.0), max(known, default=1.0)) if zero else (0.0, 1.0)
    if zero:
        widest = max(abs(low), abs(high), 0.01)
        low, high = -widest, widest
    height = 14 + _ROW * len(rows) + 26
    parts = list(_scale(low, high, height - 24, percent=True, signed=zero))
    for number, (label, (mean, start, end)) in enumerate(rows):
        y = 14 + _ROW * number + _ROW / 2
        parts.append(_text(0, y + 4, shorten(label, 18), "label"))
        if mean != mean:
            parts.append(_text(_x(0.5, 0, 1), y + 4, "no query", "tick middle"))
            continue
        colour = f"s{number % SERIES}" if not zero else "s0"
        a, m, b = (_x(value, low, high) for value in (start, mean, end))
        figure = f"{100 * mean:{'+' if zero else ''}.1f} ({100 * start:.1f} to {100 * end:.1f})"
        parts.append(
            f'<g class="{colour}"><title>{_e(label)}: {figure}</title>'
            f'<line class="stroke" x1="{a:.1f}" x2="{b:.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="fill" cx="{m:.1f}" cy="{y}" r="4.5"/></g>'
        )
    return _svg(title, height, parts)


def bars(groups: Mapping[str, Sequence[float]], labels: Sequence[str], title: str) -> str:
    """For each group a bar for each label, of lengths 0 to 1; NaN has no bar."""
    thick = 9
    parts = []
    y = 6.0
    for name, values in groups.items():
        parts.append(_text(0, y + thick * len(values) / 2 + 4, shorten(name, 18), "label"))
        for number, (label, value) in enumerate(zip(labels, values, strict=True)):
            if value == value:
                width = _x(value, 0, 1) - _LEFT
                told = f"{name}, {label}: {100 * value:.1f}"
                parts.append(_bar(_LEFT, y, width, thick - 1, number, told))
            y += thick
        y += 8
    return _svg(title, y + 24, [*_scale(0, 1, y, percent=True), *parts])


def lines(
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    title: str,
    *,
    log: bool = False,
    zoom: bool = False,
) -> str:
    """One line for each series of (x, share from 0 to 1); `log` spaces x by its logarithm.

    With `zoom` the scale is that of the values rather than 0 to 100%.
    """
    place = math.log if log else float
    xs = sorted({x for _, points in series for x, _ in points})
    ys = [y for _, points in series for _, y in points if y == y]
    if not ys:
        return _svg(title, 40, [_text(WIDTH / 2, 24, "no data", "tick middle")])
    low, high = place(xs[0]), place(xs[-1])
    margin = max(max(ys) - min(ys), 0.02) / 2
    bottom, top = (max(0.0, min(ys) - margin), min(1.0, max(ys) + margin)) if zoom else (0.0, 1.0)
    left, height = 38, 200

    def at(x: float, y: float) -> tuple[float, float]:
        across = (place(x) - low) / (high - low) if high > low else 0.5
        up = (y - bottom) / (top - bottom)
        return left + across * (WIDTH - left - _RIGHT), 10 + (1 - up) * (height - 40)

    parts = []
    for share in _ticks(bottom, top):
        _, y = at(xs[0], share)
        parts.append(f'<line class="grid" x1="{left}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(left - 5, y + 4, f"{100 * share:g}", "tick end"))
    parts += [_text(at(x, bottom)[0], height - 12, f"{x:g}", "tick middle") for x in xs]
    for number, (label, points) in enumerate(series):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (at(x, y) for x, y in points if y == y))
        dash = f' stroke-dasharray="{_DASHES[number % SERIES]}"' if number % SERIES else ""
        parts.append(
            f'<polyline class="line s{number % SERIES}"{dash} points="{path}"><title>{_e(label)}</title>'
            "</polyline>"
        )
    return _svg(title, height, parts)


def histogram(values: Sequence[float], edges: Sequence[float], title: str, number: int) -> str:
    """How many values lie between neighbouring edges (ascending, evenly drawn), as columns."""
    counts = [0] * (len(edges) - 1)
    for value in values:
        place = next((i for i, edge in enumerate(edges[1:]) if value < edge), len(counts) - 1)
        counts[place] += 1
    tallest, height = max(counts, default=0) or 1, 110
    wide = (WIDTH - 2 * _RIGHT) / max(len(counts), 1)
    parts = []
    for i, count in enumerate(counts):
        tall = (height - 42) * count / tallest
        told = f"{edges[i]:g} to {edges[i + 1]:g} ms: {count}"
        parts.append(_bar(_RIGHT + i * wide + 1, height - 22 - tall, wide - 2, tall, number, told))
    every = max(1, len(edges) // 6)
    parts += [
        _text(_RIGHT + i * wide, height - 8, f"{edges[i]:g}", "tick middle")
        for i in range(0, len(edges), every)
    ]
    parts.append(
        f'<line class="grid" x1="{_RIGHT}" x2="{WIDTH - _RIGHT}" y1="{height - 22}" y2="{height - 22}"/>'
    )
    parts.append(_text(0, 14, shorten(title, 40), "label"))
    return _svg(f"{title}: milliseconds a query", height, parts)


def time_edges(milliseconds: Sequence[float]) -> list[float]:
    """Edges 1, 2, 5, 10 … around the values, so that all systems share one scale."""
    steps = [m * 10.0**e for e in range(-2, 6) for m in (1, 1.5, 2, 3, 5, 7)]
    low, high = min(milliseconds, default=1.0), max(milliseconds, default=10.0)
    first = max(0, sum(step <= low for step in steps) - 1)
    last = min(len(steps) - 1, sum(step <= high for step in steps))
    return steps[first : max(last, first + 1) + 1]


def _scale(low: float, high: float, bottom: float, *, percent: bool, signed: bool = False) -> Iterator[str]:
    factor = 100 if percent else 1
    for value in _ticks(low, high):
        x = _x(value, low, high)
        strong = " zero" if signed and abs(value) < 1e-12 else ""
        yield f'<line class="grid{strong}" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom:.1f}"/>'
        number = 0.0 if abs(value) < 1e-12 else factor * value
        yield _text(x, bottom + 16, f"{number:+g}" if signed and number else f"{number:g}", "tick middle")


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers."""
    rough = (high - low) / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(m * unit for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _x(value: float, low: float, high: float) -> float:
    return _LEFT + (value - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)


def _bar(x: float, y: float, width: float, height: float, number: int, told: str) -> str:
    return (
        f'<rect class="fill s{number % SERIES}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}"'
        f' height="{height:.1f}"><title>{_e(told)}</title></rect>'
    )


def _text(x: float, y: float, text: str, classes: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{_e(text)}</text>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{_e(title)}">'
    return f"{head}{''.join(parts)}</svg>"


def _e(text: str) -> str:
    return escape(printable(text))
