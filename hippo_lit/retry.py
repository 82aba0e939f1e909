"""When a failed call to a server is tried again, after how long, and when it is given up."""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from hippo_lit.llm.parallel import pause

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

_FEW_RETRIES = {
    "empty_reply": 2,  # often a hiccup, but each one may have been paid for
    "unreachable": 1,  # a server that was never there is likely not to come
}


_told: contextvars.ContextVar[Callable[[str], None] | None] = contextvars.ContextVar("told", default=None)


@contextmanager
def telling(told: Callable[[str], None]) -> Iterator[None]:
    """What runs inside tells `told` of each call that is tried again, as it begins to wait."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


class CallFailed(Exception):  # noqa: N818 - it says what happened to one call, and never leaves an adapter
    """One call to a server failed. Adapters turn the last one into an error of ours.

    `kind` is one of ChatModelError's; `detail` is the server's own words, shortened, without keys;
    `param` the request parameter that the server blames; `again` whether trying again can help.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        again: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
        param: str = "",
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.again = again
        self.status = status
        self.retry_after_s = retry_after_s
        self.param = param
        self.attempts = 1


class Turns(Protocol):
    """Who may call when."""

    def wait_turn(self) -> float:
        """Wait until it is this call's turn; returns the seconds waited."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most `max_attempts`, each of `timeout_s`, all within `deadline_s`.

    Between attempts it waits what the server's Retry-After says, else a random time that doubles from
    `wait_s` up to `longest_wait_s` ("full jitter"). A wait that would pass the deadline is not begun:
    the call fails at once and its error carries `retry_after_s`.
    """

    max_attempts: int = 5
    timeout_s: float = 60.0
    deadline_s: float = 180.0
    wait_s: float = 0.5
    longest_wait_s: float = 20.0

    def run(self, attempt: Callable[[float], T], pace: Turns) -> T:
        """`attempt(seconds)` until it succeeds; `seconds` is what it may take.

        Waiting for a turn under `pace` does not count against the deadline. Raises the last CallFailed
        with its `attempts` filled in; other exceptions pass through at once.
        """
        from tenacity import Retrying

        deadline = time.monotonic() + self.deadline_s

        def once() -> T:
            nonlocal deadline
            deadline += pace.wait_turn()
            seconds = min(self.timeout_s, deadline - time.monotonic())
            if seconds <= 0:
                raise CallFailed("timeout", f"no answer within {self.deadline_s:g} s")
            return attempt(seconds)

        def stop(state: RetryCallState) -> bool:
            late = time.monotonic() + state.upcoming_sleep >= deadline
            return late or state.attempt_number >= self.max_attempts

        retrying = Retrying(
            retry=_again, wait=self._wait, stop=stop, sleep=pause, before_sleep=self._tell, reraise=True
        )
        try:
            return retrying(once)
        except CallFailed as failed:
            failed.attempts = retrying.statistics["attempt_number"]
            raise

    def _tell(self, state: RetryCallState) -> None:
        failed, told = _failure(state), _told.get()
        if failed is not None and told is not None:
            again = f"retrying in {state.upcoming_sleep:.1f} s"
            told(f"{failed.detail}: {again} (attempt {state.attempt_number + 1} of {self.max_attempts})")

    def _wait(self, state: RetryCallState) -> float:
        from tenacity import wait_random_exponential

        failed = _failure(state)
        if failed is not None and failed.retry_after_s is not None:
            return failed.retry_after_s
        return wait_random_exponential(multiplier=self.wait_s, max=self.longest_wait_s)(state)


def _failure(state: RetryCallState) -> CallFailed | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, CallFailed) else None


def _again(state: RetryCallState) -> bool:
    failed = _failure(state)
    if failed is None or not failed.again:
        return False
    return state.attempt_number <= _FEW_RETRIES.get(failed.kind, state.attempt_number)


class Pace:
    """Spaces the calls of one client evenly, so that a limit of requests a minute is kept."""

    def __init__(self, requests_per_minute: float | None = None) -> None:
        self._interval = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def wait_turn(self) -> float:
        """Wait until it is this call's turn; returns the seconds waited."""
        if not self._interval:
            return 0.0
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval
        pause(turn - now)
        return turn - now


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's headers ask to wait, or None.

    Reads `retry-after-ms` (milliseconds) and `Retry-After` as seconds or as an HTTP date (RFC 9110,
    section 10.2.3). What is not understood is ignored; a date that has passed means 0.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
