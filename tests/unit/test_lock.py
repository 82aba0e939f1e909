from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import hippo_lit
from hippo_lit.errors import IndexLockedError, IndexNotFoundError, StoreError
from hippo_lit.storage import lock
from hippo_lit.storage.lock import LOCK_FILE, WriterLock

HOLD = """
import sys
from hippo_lit.storage.lock import WriterLock
with WriterLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of `tmp_path` until its stdin is closed."""
    env = os.environ | {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with process:
        yield process
        process.kill()


def test_a_second_process_is_told_who_writes(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(IndexLockedError, match=f"process {holder.pid} on ") as caught:
        WriterLock(tmp_path).acquire()
    assert (caught.value.pid, caught.value.host) == (holder.pid, socket.gethostname())
    assert caught.value.path == str(tmp_path)


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert json.loads((tmp_path / LOCK_FILE).read_text())["pid"] == holder.pid
    with WriterLock(tmp_path):
        assert json.loads((tmp_path / LOCK_FILE).read_text())["pid"] == os.getpid()


def test_waiting_ends_when_the_other_writer_does(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None
    timer = threading.Timer(0.1, holder.stdin.close)
    timer.start()
    with WriterLock(tmp_path, wait_s=30) as lock:
        assert lock.held
    timer.join()


def test_who_waits_hears_for_whom(
    tmp_path: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_FIRST_S", 0.0)
    assert holder.stdin is not None
    timer = threading.Timer(0.2, holder.stdin.close)
    timer.start()
    heard: list[str] = []
    WriterLock(tmp_path, wait_s=30).acquire(heard.append)
    timer.join()
    [once] = heard
    assert once.startswith(f"{tmp_path} is being written by process {holder.pid} on ")
    assert once.endswith(": waiting, 30 s more at most")


def test_one_object_one_holder_even_within_a_process(tmp_path: Path) -> None:
    first, second = WriterLock(tmp_path), WriterLock(tmp_path, wait_s=0.01)
    with first:
        first.acquire()  # held already: nothing happens
        with pytest.raises(IndexLockedError, match=f"process {os.getpid()}"):
            second.acquire()
        assert not second.held
    first.release()
    with second:
        assert second.held


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1]", b"[" * 4000, b'{"pid": null}', b'{"host": 3}'])
def test_an_unreadable_holder_is_another_process(tmp_path: Path, content: bytes) -> None:
    with WriterLock(tmp_path):
        (tmp_path / LOCK_FILE).write_bytes(content)
        with pytest.raises(IndexLockedError, match="written by another process"):
            WriterLock(tmp_path).acquire()


def test_no_folder_no_lock(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError):
        WriterLock(tmp_path / "absent").acquire()


def test_a_lock_file_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(StoreError, match="cannot lock"):
        WriterLock(tmp_path).acquire()


@pytest.mark.parametrize("wait_s", [-1, float("nan")])
def test_waiting_takes_no_negative_time(tmp_path: Path, wait_s: float) -> None:
    with pytest.raises(ValueError, match="wait_s"):
        WriterLock(tmp_path, wait_s)


def test_since_when_is_told_too(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(IndexLockedError) as caught:
        WriterLock(tmp_path).acquire()
    since = datetime.fromisoformat(caught.value.since)
    assert timedelta(seconds=-1) <= datetime.now(UTC) - since < timedelta(minutes=5)
    assert f"since {caught.value.since}" in caught.value.message


def test_a_number_that_lives_on_as_another_program_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text(json.dumps({"pid": os.getppid(), "host": socket.gethostname()}))
    with WriterLock(tmp_path) as lock:
        assert lock.held


def test_a_dead_writer_is_not_blamed_for_a_live_one(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    with WriterLock(tmp_path):
        (tmp_path / LOCK_FILE).write_text(json.dumps({"pid": dead.pid, "host": socket.gethostname()}))
        with pytest.raises(IndexLockedError, match="written by another process"):
            WriterLock(tmp_path).acquire()
        (tmp_path / LOCK_FILE).write_text(json.dumps({"pid": dead.pid, "host": "elsewhere"}))
        with pytest.raises(IndexLockedError, match=f"process {dead.pid} on elsewhere"):
            WriterLock(tmp_path).acquire()


def test_what_is_released_names_nobody(tmp_path: Path) -> None:
    with WriterLock(tmp_path):
        assert (tmp_path / LOCK_FILE).stat().st_size
    assert (tmp_path / LOCK_FILE).read_bytes() == b""


FORK = """
import os, sys, time
from hippo_lit.errors import IndexLockedError
from hippo_lit.storage.lock import WriterLock
lock = WriterLock(sys.argv[1])
lock.acquire()
if os.fork():
    print(os.wait()[1], flush=True)
    if os.fork() == 0:  # outlives the parent
        sys.stdin.read()
    os._exit(0)
assert not lock.held
try:
    lock.acquire()
except IndexLockedError as error:
    os._exit(error.pid != os.getppid())
os._exit(3)
"""


def test_a_forked_child_neither_has_the_lock_nor_keeps_it_alive(tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent)}
    with subprocess.Popen(
        [sys.executable, "-c", FORK, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        assert parent.stdout.readline() == "0\n"
        assert parent.wait(30) == 0
        with WriterLock(tmp_path, wait_s=10) as lock:  # though the second child still lives
            assert lock.held
