"""The stages of a call: where it can be stopped, watched and traced.

Code that takes time names its stages (`with stage("filter"):`). Between them a call that nobody waits for any
more ends; whoever watches hears of each; and a program that uses OpenTelemetry gets a span for each. A
program that does not pays nothing: the API is looked up among the modules that are loaded already.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

_TRACER = "hippo_lit"


def _unheard(_stage: str) -> None:
    """Stages that nobody watches."""


@dataclass(frozen=True, slots=True)
class Watch:
    """One call as seen from outside: `stop` ends it at its next checkpoint, and so does `deadline`, in the
    seconds of `time.monotonic`. `on_stage` is called with the name of each stage as it begins.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    deadline: float | None = None
    on_stage: Callable[[str], None] = _unheard

    @property
    def late(self) -> bool:
        return self.deadline is not None and monotonic() >= self.deadline

    @property
    def ended(self) -> bool:
        return self.stop.is_set() or self.late

    @contextmanager
    def active(self) -> Iterator[Watch]:
        """What runs inside, and the threads that are started in its context, is watched by this."""
        token = _watch.set(self)
        try:
            yield self
        finally:
            _watch.reset(token)


_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("watch", default=None)


def current() -> Watch | None:
    """Who watches this call."""
    return _watch.get()


def checkpoint() -> None:
    """Raise concurrent.futures.CancelledError where the call is to end; that is no HippoLitError, so nothing
    takes it for the failure of one item or falls back to something else.
    """
    watch = _watch.get()
    if watch is not None and watch.ended:
        raise CancelledError("the call was cancelled, or its time is up")


@contextmanager
def stage(name: str, **attributes: str | int | float | bool) -> Iterator[None]:
    """A checkpoint, a note to whoever watches, and a span `hippo_lit.<name>` with these attributes."""
    checkpoint()
    watch = _watch.get()
    if watch is not None:
        watch.on_stage(name)
    with _span(name, attributes):
        yield


@contextmanager
def _span(name: str, attributes: dict[str, Any]) -> Iterator[None]:
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        yield
        return
    # Messages of errors may quote what was asked or read: the type alone is noted.
    with api.get_tracer(_TRACER).start_as_current_span(
        f"{_TRACER}.{name}", attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        except Exception as error:
            span.set_status(api.StatusCode.ERROR, type(error).__name__)
            raise
