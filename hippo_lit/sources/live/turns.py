"""One request at a time and not too often, whatever the number of threads and processes that ask."""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

from hippo_lit.llm.parallel import pause
from hippo_lit.retry import CallFailed
from hippo_lit.storage.disk import reporting

LONGEST_HOLD_S = 3600.0
_MAX_BYTES = 64


class SharedTurns:
    """Spaces requests `interval_s` apart, across all who use the same file.

    The file holds the time (seconds since 1970) of the next free turn. It is locked only while a turn is
    taken, never while it is waited for.
    """

    def __init__(self, file: Path, interval_s: float) -> None:
        self._file = file
        self._interval_s = interval_s

    def wait_turn(self, at_most_s: float = math.inf) -> float:
        """Wait until it is this request's turn; returns the seconds waited.

        Raises CallFailed (kind "rate_limit") where that would take longer than `at_most_s`.
        """
        now = time.time()

        def take(free: float) -> float:
            turn = max(now, free)
            return turn + self._interval_s if turn - now <= at_most_s else free

        wait = max(0.0, self._change(take) - now)
        if wait > at_most_s:
            problem = f"the next request may be made in {wait:.0f} s, after the deadline"
            raise CallFailed("rate_limit", problem, retry_after_s=wait)
        pause(wait)
        return wait

    def hold(self, seconds: float) -> None:
        """Nobody's turn comes for so long, an hour at most: the service asked for it."""
        until = time.time() + min(seconds, LONGEST_HOLD_S)
        self._change(lambda free: max(free, until))

    def _change(self, change: Callable[[float], float]) -> float:
        """Replace the time of the next free turn; returns what it was."""
        with reporting("take turns by", self._file):
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # released when the descriptor is closed
                free = _time(os.pread(descriptor, _MAX_BYTES, 0))
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{change(free):.6f}".encode(), 0)
            finally:
                os.close(descriptor)
        return free


def _time(written: bytes) -> float:
    """The time that was written; 0.0 where it is unreadable, or so far off that the clock was set back."""
    try:
        free = float(written)
    except ValueError:
        return 0.0
    return free if free <= time.time() + 2 * LONGEST_HOLD_S else 0.0
