"""Progress on stderr: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

from hippo_lit.cli.output import console, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

T = TypeVar("T")
LABELS = {
    "read": "reading papers",
    "cite": "following citations",
    "extract": "extracting facts",
    "embed": "embedding",
    "graph": "building the graph",
    "words": "indexing words",
    "batch": "awaiting batch jobs",
}
EVERY_S, RARELY_S = 5.0, 60.0


class Report(Protocol):
    """Called as (stage, done, total); a total of 0 is one that is not known. `note` is shown beside."""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None: ...


@contextmanager
def reporting() -> Iterator[Report]:
    """Where progress goes: bars that vanish when the block ends, or plain lines."""
    if not sys.stderr.isatty():
        yield Lines(partial(say, stream=sys.stderr))
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<18}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        yield _Bars(bars)


def counted(items: Iterable[T], report: Report, stage: str) -> Iterator[T]:
    """`items`, reported as they pass; how many there are is known at the end."""
    done = 0
    for item in items:
        done += 1
        report(stage, done, 0)
        yield item
    report(stage, done, done)


class Lines:
    """A line when a stage begins, one now and then while it runs, and one at its end.

    At most one every EVERY_S seconds, and fewer the longer a stage runs, down to one every RARELY_S.
    """

    def __init__(self, write: Callable[[str], None] = say, clock: Callable[[], float] = monotonic) -> None:
        self._write = write
        self._clock = clock
        self._paces: dict[str, _Pace] = {}
        self._began: dict[str, float] = {}
        self._last = 0.0

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        if done == total == 0:
            return  # nothing to do in this stage
        now = self._clock()
        first = stage not in self._paces
        if first:
            self._paces[stage] = _Pace()
            self._began[stage] = self._last = now
        rate = self._paces[stage].rate(done, now)
        name = LABELS.get(stage, stage)
        if total == 1:  # a stage that is one step has no numbers to show
            if first:
                self._write(name)
            return
        ends = done >= total > 0
        every = min(RARELY_S, max(EVERY_S, (now - self._began[stage]) / 20))
        if ends or (first and total) or now - self._last >= every:
            self._last = now
            self._write(f"{name}: {_numbers(done, total)}{_pace(rate, total - done)}{note and f', {note}'}")


class _Bars:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, tuple[TaskID, _Pace]] = {}

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        if done == total == 0:
            return
        if stage not in self._tasks:
            task = self._bars.add_task(LABELS.get(stage, stage), total=total or None, rate="", note="")
            self._tasks[stage] = task, _Pace()
        task, pace = self._tasks[stage]
        rate = pace.rate(done, monotonic())
        shown = _rate(rate) if rate else ""
        self._bars.update(task, completed=done, total=total or None, rate=shown, note=note)


class _Pace:
    """Items a second since the first one, so that the time a model takes to load does not count."""

    def __init__(self) -> None:
        self._start: tuple[int, float] | None = None

    def rate(self, done: int, now: float) -> float:
        """0.0 as long as there is none."""
        if self._start is None:
            self._start = (done, now) if done else None
            return 0.0
        first, began = self._start
        return (done - first) / (now - began) if now > began else 0.0


def _numbers(done: int, total: int) -> str:
    return f"{done:,}/{total:,}" if total else f"{done:,}"


def _pace(rate: float, left: int) -> str:
    if not rate:
        return ""
    return f" ({_rate(rate)}, {_time(left / rate)} left)" if left > 0 else f" ({_rate(rate)})"


def _rate(rate: float) -> str:
    """Items a second; a minute where that is less than one a second."""
    return f"{rate:,.1f}/s" if rate >= 1 else f"{rate * 60:,.1f}/min"


def _time(seconds: float) -> str:
    """A time to wait, as exactly as it matters."""
    if seconds < 120:
        return f"{seconds:,.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"
