"""One writer at a time, across processes.

The lock is the kernel's (flock), so that it vanishes with the process that held it, however that process
died and whoever has its number now. What `writer.lock` contains only tells a waiting person whom they are
waiting for.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakSet

from hippo_lit.errors import IndexLockedError, IndexNotFoundError
from hippo_lit.storage.disk import reporting
from hippo_lit.text import clean

LOCK_FILE = "writer.lock"
_POLL_S = 0.05
_FIRST_S, _TELL_S = 0.5, 10.0  # when who waits hears of it, and how often then
_MAX_BYTES = 4096


class WriterLock:
    """The right to write to the index in `folder`, held from `acquire` to `release` or as a context.

    `wait_s` (≥ 0) is how long to wait for another writer before IndexLockedError is raised. The lock
    belongs to the object: a second one in the same process is refused like any other writer, and so is
    the copy that a forked child gets.
    """

    def __init__(self, folder: Path | str, wait_s: float = 0.0) -> None:
        if not wait_s >= 0:
            raise ValueError(f"wait_s must be 0 or more seconds, got {wait_s}")
        self._folder = Path(folder)
        self._path = self._folder / LOCK_FILE
        self._wait_s = wait_s
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def acquire(self, told: Callable[[str], None] | None = None) -> None:
        """Take the lock; nothing happens if it is held already. `told` hears now and then who is waited for.

        Raises IndexLockedError (path, pid, host, since), IndexNotFoundError where the folder does not exist,
        StoreError where the lock file cannot be written.
        """
        if self.held:
            return
        with reporting("lock the index by", self._path):
            if not self._folder.is_dir():
                raise IndexNotFoundError(
                    f"there is no index folder at {self._folder}", path=str(self._folder)
                )
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._wait_for(descriptor, told)
                holder = {"pid": os.getpid(), "host": socket.gethostname(), "started": _now()}
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, json.dumps(holder).encode(), 0)
            except BaseException:
                os.close(descriptor)
                raise
        self._descriptor = descriptor
        _held.add(self)

    def release(self) -> None:
        """Give the lock up; nothing happens if it is not held. The file stays: removing it would race."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            _held.discard(self)
            with suppress(OSError):  # a disk that fails now takes nothing but a note from the next writer
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def _leave_to_parent(self) -> None:
        """In a forked child: the parent holds the lock, and must be the only one to keep it alive."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> WriterLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _wait_for(self, descriptor: int, told: Callable[[str], None] | None) -> None:
        began = time.monotonic()
        tell_at, deadline = began + _FIRST_S, began + self._wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._refusal(_read_holder(descriptor)) from e
                if told is not None and time.monotonic() >= tell_at:
                    tell_at += _TELL_S
                    who = _named(_read_holder(descriptor))
                    told(f"{self._folder} is being written by {who}: waiting, {left:,.0f} s more at most")
                time.sleep(min(_POLL_S, left))
            else:
                return

    def _refusal(self, holder: dict[str, Any]) -> IndexLockedError:
        pid, host, since = (holder.get(key) for key in ("pid", "host", "started"))
        return IndexLockedError(
            f"the index {self._folder} is being written by {_named(holder)}. "
            "Wait until it has finished, or stop it; reading goes on meanwhile.",
            path=str(self._folder),
            pid=pid,
            host=host,
            since=since,
        )


def _named(holder: dict[str, Any]) -> str:
    pid, host, since = (holder.get(key) for key in ("pid", "host", "started"))
    return clean(f"process {pid} on {host}, since {since}") if pid else "another process"


_held: WeakSet[WriterLock] = WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock._leave_to_parent()
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)


def _read_holder(descriptor: int) -> dict[str, Any]:
    """Who wrote the lock file; empty where that is unreadable, not written yet, or by one that is dead."""
    try:
        holder = json.loads(os.pread(descriptor, _MAX_BYTES, 0))
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) and not _is_dead(holder) else {}


def _is_dead(holder: dict[str, Any]) -> bool:
    """Whether the writer that is named died, and the one that has the lock now did not write its name yet."""
    pid = holder.get("pid")
    if not isinstance(pid, int) or pid <= 0 or holder.get("host") != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False  # there, and another account's
    return False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
