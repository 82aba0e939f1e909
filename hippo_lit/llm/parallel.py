"""Many calls at once: in order, bounded, and stopped quickly when the caller stops."""

from __future__ import annotations

import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from hippo_lit import stages
from hippo_lit.errors import HippoLitError

T = TypeVar("T")
R = TypeVar("R")

_stopped: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("stopped", default=None)


def map_bounded(
    fn: Callable[[T], R], items: Iterable[T], concurrency: int, *, look_ahead: int | None = None
) -> Iterator[R | HippoLitError]:
    """Yield `fn(item)` for every item, in order, with at most `concurrency` calls at once.

    A HippoLitError becomes a value, so that one failure does not throw away the others; any other
    exception is a bug and is raised at its item's turn. `items` is read lazily: at most `look_ahead`
    items (default 4 × concurrency) are started but not yet yielded, so a slow call holds up its
    successors rather than filling the memory with them.

    Each call runs in a copy of the caller's context. When the caller stops early (an exception,
    Ctrl-C, closing the iterator), what has not started is cancelled, calls that wait to retry give
    up, and calls that are on the wire are waited for, since they are paid for and their replies are
    cached.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    ahead = max(concurrency, look_ahead if look_ahead is not None else 4 * concurrency)
    stopped = threading.Event()
    pending: deque[Future[R]] = deque()
    source = iter(items)
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="hippo-lit")

    def run(item: T) -> R:
        _stopped.set(stopped)
        return fn(item)

    try:
        while True:
            while len(pending) < ahead:
                try:
                    item = next(source)
                except StopIteration:
                    break
                pending.append(pool.submit(contextvars.copy_context().run, run, item))
            if not pending:
                return
            future = pending.popleft()
            try:
                result: R | HippoLitError = future.result()
            except HippoLitError as error:
                result = error
            yield result
    finally:
        stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)


def pause(seconds: float) -> None:
    """Sleep; raise CancelledError as soon as the caller of `map_bounded`, or who watches, has stopped."""
    watch = stages.current()
    stopped = _stopped.get() or (watch.stop if watch else None)
    if stopped is None:
        time.sleep(max(0.0, seconds))
        return
    left = watch.deadline - time.monotonic() if watch and watch.deadline is not None else seconds
    stopped.wait(max(0.0, min(seconds, left)))
    check_stopped()


def check_stopped() -> None:
    """Raise CancelledError once the caller of `map_bounded`, or who watches the call, has stopped."""
    stages.checkpoint()
    stopped = _stopped.get()
    if stopped is not None and stopped.is_set():
        raise CancelledError("the caller of map_bounded has stopped")
