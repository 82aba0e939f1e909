"""Real processes, killed and hindered: what was committed stays, what was not leaves no trace."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hippo_lit
from hippo_lit.storage.columns import ColumnWriter
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.publish import SNAPSHOTS, open_current, publish, sweep
from hippo_lit.storage.store import STORE_FILE, Store
from hippo_lit.types import Paper

BATCH = 40
ENV = os.environ | {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent)}


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Run Python code in a process of its own."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)


def output(script: str, *arguments: object) -> str:
    process = start(script, *arguments)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out.strip()


# Killed

PUT = """
import itertools, sys
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.store import Store
from hippo_lit.types import Paper
folder, batch = sys.argv[1], int(sys.argv[2])
with WriterLock(folder), Store.open(folder) as store:
    for start in itertools.count(len(store), batch):
        store.put_papers(Paper(f"{i:07}", "T" * 2000) for i in range(start, start + batch))
        print(len(store), store.generation, flush=True)
"""


def test_killing_a_writer_loses_no_batch_and_keeps_no_half(tmp_path: Path) -> None:
    Store.open(tmp_path, create=True).close()
    dice = random.Random(4)
    for _ in range(6):
        with start(PUT, tmp_path, BATCH) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.uniform(0, 0.05))  # the moment of death: any will do
            process.kill()
            lines = process.stdout.read().splitlines()
        with WriterLock(tmp_path), Store.open(tmp_path) as store:
            count, generation = len(store), store.generation
            assert count == generation * BATCH
            if lines:
                assert count >= int(lines[-1].split()[0])
            store.verify()
            assert [paper.id for paper in store.papers()] == [f"{i:07}" for i in range(count)]


PUBLISH = """
import itertools, sys
from pathlib import Path
from hippo_lit.storage.publish import publish, sweep
folder, prefix = Path(sys.argv[1]), sys.argv[2]
for n in itertools.count():
    def write(path):
        for part in "abc":
            (path / part).write_text(f"{prefix}-{n}" * 5000)
    publish(folder, f"{prefix}-{n}", write)
    sweep(folder)
    print(n, flush=True)
"""


def read_whole(snapshot: Path) -> str:
    texts = {(snapshot / part).read_text() for part in "abc"}
    assert texts == {snapshot.name * 5000}
    return snapshot.name


def test_readers_see_whole_snapshots_while_a_publisher_runs_and_dies(tmp_path: Path) -> None:
    seen = set()
    for life in range(4):
        with start(PUBLISH, tmp_path, f"life{life}") as process:
            assert process.stdout is not None
            process.stdout.readline()
            until = time.monotonic() + 0.15
            while time.monotonic() < until:
                seen.add(open_current(tmp_path, read_whole))
            process.kill()
            lines = process.stdout.read().splitlines()
        name = open_current(tmp_path, read_whole)
        assert name is not None
        assert not lines or int(name.removeprefix(f"life{life}-")) >= int(lines[-1])
        sweep(tmp_path)
        assert [entry.name for entry in (tmp_path / SNAPSHOTS).iterdir()] == [name]
    assert len(seen) > 4


DIE_AT_EVERY_STEP = """
import os, sys, shutil
from pathlib import Path
from hippo_lit.storage.publish import current, publish, sweep
root = Path(sys.argv[1])

def write(folder):
    (folder / "data").write_text(folder.name.partition(".")[0])

def die_at(step):
    left = step
    def counted(real):
        def call(*arguments, **options):
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return real(*arguments, **options)
        return call
    for owner, name in ((os, "fsync"), (os, "open"), (Path, "open"), (Path, "mkdir"), (Path, "rename"),
                        (Path, "replace"), (Path, "write_text"), (Path, "unlink"), (shutil, "rmtree")):
        setattr(owner, name, counted(getattr(owner, name)))

states = []
for step in range(200):
    folder = root / str(step)
    folder.mkdir()
    publish(folder, "old", write)
    child = os.fork()
    if child == 0:
        die_at(step)
        publish(folder, "new", write)
        sweep(folder)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    published = current(folder)
    assert (published / "data").read_text() == published.name
    states.append(published.name)
    sweep(folder)
    assert [entry.name for entry in (folder / "snapshots").iterdir()] == [published.name]
    publish(folder, "next", write)
    assert (current(folder) / "data").read_text() == "next"
    if code == 0:
        break
    assert code == 9, code
print(*states)
"""


def test_death_at_any_step_of_publishing_leaves_one_whole_state(tmp_path: Path) -> None:
    states = output(DIE_AT_EVERY_STEP, tmp_path).split()
    assert states.count("old") > 15
    assert states.count("new") > 3
    assert states == sorted(states, reverse=True)  # first old, from one step on new


# Several at once

CREATE = """
import sys
from hippo_lit.storage.store import Store
from hippo_lit.types import Paper
with Store.open(sys.argv[1], create=True) as store:
    store.put_papers([Paper(sys.argv[2], "T")])
"""


def test_processes_that_create_the_same_index_at_once_all_find_it(tmp_path: Path) -> None:
    processes = [start(CREATE, tmp_path / "index", number) for number in range(5)]
    assert [process.communicate()[1] for process in processes] == [""] * 5
    with Store.open(tmp_path / "index") as store:
        assert (len(store), store.generation) == (5, 5)


# Read-only


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other accounts can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path
        path.chmod(0o755)


READ = """
import os, sys
from pathlib import Path
from hippo_lit.storage.columns import Columns
from hippo_lit.errors import StoreError
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.publish import open_current
from hippo_lit.storage.store import Store
from hippo_lit.types import Paper
folder = Path(sys.argv[1])
if os.getuid() == 0:  # whom no mode stops
    os.setgroups([]), os.setgid(65534), os.setuid(65534)

def refused(action):
    try:
        action()
    except StoreError as e:
        return "Check that this account may write there" in str(e)

try:
    with Store.open(folder, read_only=True) as store:
        print(len(store), len(list(store.papers())), refused(lambda: store.put_papers([Paper("z", "Z")])))
except StoreError as e:
    print(e)
print(refused(lambda: WriterLock(folder).acquire()))
columns = open_current(folder, Columns)
print(columns and columns.strings("ids")[0])
"""


def test_a_read_only_folder_can_be_read(open_folder: Path) -> None:
    with Store.open(open_folder, create=True) as store:
        store.put_papers([Paper("a", "A"), Paper("b", "B")])

    def write(folder: Path) -> None:
        with ColumnWriter(folder) as out:
            out.strings("ids", ["a", "b"])

    publish(open_folder, "one", write)
    open_folder.chmod(0o555)
    before = sorted(entry.name for entry in open_folder.iterdir())
    assert output(READ, open_folder).splitlines() == ["2 2 True", "True", "a"]
    assert sorted(entry.name for entry in open_folder.iterdir()) == before


def test_a_read_only_folder_with_a_log_gives_what_was_committed_or_an_error(open_folder: Path) -> None:
    Store.open(open_folder, create=True).close()
    with start(PUT, open_folder, 1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    log, index = (open_folder / f"{STORE_FILE}-{suffix}" for suffix in ("wal", "shm"))
    assert log.stat().st_size > 0
    open_folder.chmod(0o555)
    with_index = output(READ, open_folder).splitlines()
    open_folder.chmod(0o755)
    index.unlink()
    open_folder.chmod(0o555)
    without = output(READ, open_folder).splitlines()
    open_folder.chmod(0o755)
    with Store.open(open_folder) as store:
        assert with_index == [f"{len(store)} {len(store)} True", "True", "None"]
    assert "Copy the index to a folder of yours" in without[0]
