"""The pace that threads and processes keep together."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hippo_lit.errors import StoreError
from hippo_lit.retry import CallFailed
from hippo_lit.sources.live.turns import LONGEST_HOLD_S, SharedTurns

CHILD = """
import sys
from pathlib import Path
from hippo_lit.sources.live.turns import SharedTurns
turns = SharedTurns(Path(sys.argv[1]), 0.1)
for _ in range(4):
    turns.wait_turn()
"""


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("hippo_lit.sources.live.turns.pause", found.append)
    return found


def test_turns_lie_an_interval_apart_whoever_takes_them(tmp_path: Path, waited: list[float]) -> None:
    one, other = (SharedTurns(tmp_path / "turn", 3.0) for _ in range(2))
    for turns in (one, other, one):
        turns.wait_turn()
    assert waited == [0.0, pytest.approx(3.0, abs=0.5), pytest.approx(6.0, abs=0.5)]


def test_processes_share_the_pace(tmp_path: Path) -> None:
    began = time.monotonic()
    children = [subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "turn")]) for _ in range(2)]
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    assert time.monotonic() - began >= 7 * 0.1  # eight turns


def test_a_turn_that_is_too_far_off_is_refused_and_not_taken(tmp_path: Path, waited: list[float]) -> None:
    turns = SharedTurns(tmp_path / "turn", 10.0)
    turns.wait_turn()
    for _ in range(3):
        with pytest.raises(CallFailed, match="after the deadline") as caught:
            turns.wait_turn(at_most_s=5)
        assert caught.value.retry_after_s == pytest.approx(10, abs=1)
    assert waited == [0.0]


def test_a_hold_is_for_all_and_for_an_hour_at_most(tmp_path: Path, waited: list[float]) -> None:
    SharedTurns(tmp_path / "turn", 0.0).hold(50)
    SharedTurns(tmp_path / "turn", 0.0).wait_turn()
    SharedTurns(tmp_path / "turn", 0.0).hold(10**9)
    SharedTurns(tmp_path / "turn", 0.0).wait_turn()
    assert waited == [pytest.approx(50, abs=1), pytest.approx(LONGEST_HOLD_S, abs=1)]


@pytest.mark.parametrize("content", [b"", b"rubbish", b"\xff" * 900, b"nan", b"99999999999999"])
def test_a_file_that_makes_no_sense_means_that_the_turn_is_free(
    tmp_path: Path, waited: list[float], content: bytes
) -> None:
    (tmp_path / "turn").write_bytes(content)
    SharedTurns(tmp_path / "turn", 1.0).wait_turn()
    assert waited == [0.0]


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot take turns by"):
        SharedTurns(tmp_path / "absent" / "turn", 1.0).wait_turn()
