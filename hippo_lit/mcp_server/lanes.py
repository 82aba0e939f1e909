"""Bounded work: a pool and a queue for each kind of call, so that slow ones hold up none but their like."""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

from hippo_lit.tool.definition import Lane
from hippo_lit.tool.failures import tool_error
from hippo_lit.tool.toolbox import ToolResult, timed_out

_SMOOTHING = 0.2  # weight of the last call in the running mean of how long calls take
_GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`workers` calls at once, `queue` more may wait; each is given `seconds`, waiting included."""

    workers: int
    queue: int
    seconds: float


LIMITS: Mapping[Lane, Limits] = {
    "words": Limits(2, 64, 20.0),
    "vectors": Limits(2, 64, 60.0),
    "llm": Limits(8, 32, 180.0),
    "write": Limits(1, 4, 1_800.0),
}
"""Searching is bound by the processor, asking a model by waiting for it."""


class Lanes:
    """Runs calls in threads. For the one event loop that awaits them."""

    def __init__(self, limits: Mapping[Lane, Limits] = LIMITS) -> None:
        self._lanes = {name: _Lane(name, limit) for name, limit in limits.items()}

    async def run(self, lane: Lane, work: Callable[[threading.Event, float], ToolResult]) -> ToolResult:
        """`work(stop, seconds)` in a thread of `lane`. Raises ToolError: busy (with `retry_after_s`) where
        its queue is full, timeout where its time is up. When the awaiting task is cancelled, `stop` is set.
        """
        return await self._lanes[lane].run(work)

    def close(self) -> None:
        """Stop what runs, at its next stage, and start nothing more."""
        for lane in self._lanes.values():
            lane.close()


class _Lane:
    def __init__(self, name: str, limits: Limits) -> None:
        self.limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix=f"hippo-lit-{name}")
        self._running: dict[Future[ToolResult], threading.Event] = {}
        self._lock = threading.Lock()
        self._mean_s = 1.0

    async def run(self, work: Callable[[threading.Event, float], ToolResult]) -> ToolResult:
        limits, stop = self.limits, threading.Event()
        deadline = monotonic() + limits.seconds
        future = self._start(work, stop, deadline)
        try:
            # Work ends by itself at its next stage once its time is up; this is for the stage that hangs.
            return await asyncio.wait_for(asyncio.wrap_future(future), limits.seconds + _GRACE_S)
        except TimeoutError:
            raise timed_out(limits.seconds) from None
        finally:
            stop.set()  # nobody waits any more, however this ended

    def close(self) -> None:
        with self._lock:
            for stop in self._running.values():
                stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(
        self, work: Callable[[threading.Event, float], ToolResult], stop: threading.Event, deadline: float
    ) -> Future[ToolResult]:
        def timed() -> ToolResult:
            began = monotonic()
            try:
                return work(stop, max(0.0, deadline - began))
            finally:
                self._mean_s += _SMOOTHING * (monotonic() - began - self._mean_s)

        with self._lock:
            waiting = len(self._running)
            if waiting >= self.limits.workers + self.limits.queue:
                wait = math.ceil(max(1.0, self._mean_s * self.limits.queue / self.limits.workers))
                raise tool_error(
                    "busy", f"{waiting} calls of this kind are under way", "Wait, then call again.", wait
                )
            # A call that timed out keeps its place until its thread is free: that is what is bounded.
            future = self._pool.submit(contextvars.copy_context().run, timed)
            self._running[future] = stop
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[ToolResult]) -> None:
        with self._lock:
            self._running.pop(future, None)
