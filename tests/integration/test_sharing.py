"""One index, many processes: readers see whole states and move on, writers come one after the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cli_support import QUICK

import hippo_lit
from hippo_lit import HippoLit, Paper, load_settings
from hippo_lit.errors import IndexLockedError
from hippo_lit.storage.lock import WriterLock

SETTINGS = load_settings(None, [setting for setting in QUICK if setting != "--set"], environ={})
ENV = {name: value for name, value in os.environ.items() if not name.startswith(("HIPPO_LIT_", "OPENAI_"))}
ENV |= {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent)}
PATIENCE_S = 90
STATES, PAPERS = 5, 6


def state(number: int) -> list[Paper]:
    """Every paper of a state names its number, so that a mixture of two states shows."""
    text = f"Longformer number {number} uses Sparse Attention."
    cites = [(f"p{(i + 1) % PAPERS}",) for i in range(PAPERS)]
    return [
        Paper(f"p{i}", f"Version {number}", text, 2000 + number, references=cites[i]) for i in range(PAPERS)
    ]


READ = """
import sys
from hippo_lit import HippoLit, load_settings
from hippo_lit.types import MODES
folder, last = sys.argv[1], int(sys.argv[2])
given = load_settings(None, sys.argv[3:], environ={})
seen = []
with HippoLit.open(folder, given, create=False, read_only=True) as lit:
    while not seen or seen[-1] < last:
        lit.refresh()
        name = lit.snapshot().name
        versions = set()
        for mode in MODES:
            result = lit.retrieve("Longformer uses Sparse Attention", 20, mode)
            assert result.trace.snapshot == name, (result.trace.snapshot, name)
            assert not result.degraded, result.reason
            assert len(result.papers) in (0, 6), result
            versions |= {ranked.paper.year - 2000 for ranked in result.papers}
            versions |= {int(ranked.paper.title.split()[1]) for ranked in result.papers}
        assert len(versions) == 1, versions
        version = versions.pop()
        if not seen:
            print("reading", flush=True)
        if not seen or version != seen[-1]:
            seen.append(version)
print(*seen)
"""


@contextmanager
def started(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=ENV) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    assert said or process.stderr is None, process.stderr.read() if process.stderr else ""
    return said


def test_readers_see_whole_states_only_and_move_on(tmp_path: Path) -> None:
    given = [setting for setting in QUICK if setting != "--set"]
    with HippoLit.open(tmp_path / "i", SETTINGS) as lit, ExitStack() as stack:
        lit.update(state(0))
        readers = [stack.enter_context(started(READ, lit.path, STATES, *given)) for _ in range(3)]
        assert [line(reader) for reader in readers] == ["reading"] * 3
        for number in range(1, STATES + 1):
            lit.update(state(number))
        for reader in readers:
            out, error = reader.communicate(timeout=PATIENCE_S)
            assert reader.returncode == 0, error
            seen = [int(word) for word in out.split()]
            assert seen == sorted(seen)
            assert seen[-1] == STATES


HOLD = """
import sys
from hippo_lit import HippoLit, load_settings
with HippoLit.open(sys.argv[1], load_settings(None, sys.argv[2:], environ={})) as lit, lit.writing():
    lit.put([{"id": "held", "title": "Held"}])
    print("held", flush=True)
    if sys.stdin.read():
        lit.build()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process in the middle of a write; anything on its standard input lets it finish."""
    given = [setting for setting in QUICK if setting != "--set"]
    with HippoLit.open(tmp_path / "i", SETTINGS) as lit:
        lit.add(state(0))
    with started(HOLD, tmp_path / "i", *given) as process:
        assert line(process) == "held"
        yield process


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "hippo_lit.cli", *map(str, arguments), *QUICK]
    return subprocess.run(program, capture_output=True, text=True, env=ENV, timeout=PATIENCE_S, check=False)


def test_a_second_writer_is_told_who_holds_the_index(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    with HippoLit.open(tmp_path / "i", SETTINGS) as lit:
        for write in (lambda: lit.add(state(1)), lambda: lit.delete(["p1"]), lit.build):
            with pytest.raises(IndexLockedError) as caught:
                write()
            assert caught.value.pid == holder.pid
            assert caught.value.since
        assert len(lit) == PAPERS  # reading goes on
    done = command("delete", "p1", "--index", tmp_path / "i", "--wait", "0.2", "--json")
    assert done.returncode == 6
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert (error["type"], error["pid"]) == ("IndexLockedError", holder.pid)


def test_a_second_writer_that_waits_has_its_turn(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    program = [sys.executable, "-m", "hippo_lit.cli", "delete", "p1", "held", "--index", str(tmp_path / "i")]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*program, "--wait", str(PATIENCE_S), *QUICK], stdout=pipe, stderr=pipe, text=True, env=ENV
    ) as waiting:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1.0)  # enough for it to come to the lock; it must not come past it
        holder.communicate("go on", timeout=PATIENCE_S)
        out, error = waiting.communicate(timeout=PATIENCE_S)
    assert waiting.returncode == 0, error
    assert out.startswith(f"deleted 2 papers; the index holds {PAPERS - 1} papers")


def test_a_killed_writer_stands_in_nobodys_way(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait(PATIENCE_S)
    with HippoLit.open(tmp_path / "i", SETTINGS) as lit:
        assert len(lit) == PAPERS  # the last published state
        lit.build()
        assert len(lit) == PAPERS + 1  # and what was committed since
    WriterLock(tmp_path / "i").acquire()
