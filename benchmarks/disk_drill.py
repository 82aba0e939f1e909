"""A disk that fails at every single step of a write: what must hold after each.

    .venv/bin/python benchmarks/disk_drill.py [--every 1] [--json]

Needs a C compiler and Linux: `failing_disk.c`, preloaded, counts each call of this process, of Python's as of
SQLite's, that changes a file of the index, and lets the n-th fail, for n = 1, 2, … until a run passes
untouched (`--every 5` tries each fifth). Ways to fail: the process dies (as by kill -9); the disk is full,
once or from then on; a permission is lost, once or from then on. Writes: making an index, changing one,
deleting from one; facts come from a chat model whose calls are counted. Checked after each step:

- a failure is a StoreError that names a file and says what to do, nothing else;
- the index opens and answers as before or as after;
- the next run, in the same process (even n) or in another (odd n), finishes the work and leaves no litter;
- no reply is paid for twice but the one that could not be written down.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hippo_lit import HippoLit, Paper, Settings
from hippo_lit.errors import IndexCorruptError, IndexNotFoundError, StoreError
from hippo_lit.storage.publish import SNAPSHOTS
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import MODES, Message

SOURCE = Path(__file__).with_name("failing_disk.c")
SETTINGS = Settings.model_validate(
    {
        "embedding": {"kind": "hash"},
        "llm": {"kind": "openai", "concurrency": 1},
        "extract": {"kind": "llm", "names_from": "none"},
    }
)
CREATES, WRITES, SYNCS, REMOVES = 1, 2, 4, 8
WAYS = {
    "dies": (0, CREATES | WRITES | SYNCS | REMOVES, False),
    "full once": (errno.ENOSPC, CREATES | WRITES | SYNCS, False),
    "full": (errno.ENOSPC, CREATES | WRITES | SYNCS, True),
    "forbidden once": (errno.EACCES, CREATES | REMOVES, False),
    "forbidden": (errno.EACCES, CREATES | REMOVES, True),
}
OLD = (
    Paper("a", "Alpha", "Alpha extends Beta.", 2001, references=("b",)),
    Paper("b", "Beta", "Beta needs Gamma.", 2002),
)
NEW = (Paper("b", "Beta", "Beta needs Delta now.", 2002), Paper("c", "Gamma", "Gamma helps Alpha."))
Write = Callable[[HippoLit], object]
Answers = tuple[str, list[list[tuple[str, float]]]] | None
WRITES_TRIED: dict[str, tuple[tuple[Paper, ...], Write]] = {
    "create": ((), lambda lit: lit.add(OLD)),
    "change": (OLD, lambda lit: lit.add(NEW)),
    "delete": (OLD, lambda lit: lit.delete(["a"])),
}
UNTOUCHED, REFUSED, UNHARMED, DIED, WRONG = 0, 7, 8, 9, 1


class DrillError(Exception):
    """Something that must hold does not."""


@dataclass(frozen=True)
class Place:
    """Where one step is tried: the index, and beside it the file that lists what the model was asked."""

    index: Path
    asked: Path

    def open(self, *, read_only: bool = False) -> HippoLit:
        def reply(messages: Sequence[Message]) -> str:
            asked = messages[-1].content
            with self.asked.open("a") as file:
                file.write(json.dumps(asked) + "\n")
            return '{"entities": [], "triples": [["Alpha", "extends", "Beta"]]}'

        chat = FakeChatModel(reply)
        return HippoLit.open(self.index, SETTINGS, chat=chat, read_only=read_only, create=not read_only)

    def answers(self) -> Answers:
        """None where nothing is published, or not even made, yet."""
        try:
            with self.open(read_only=True) as lit:
                return told(lit)
        except IndexNotFoundError:
            return None
        except IndexCorruptError as error:
            if "creation was interrupted" not in error.message:
                raise
            return None

    def calls_made_again(self) -> int:
        asked = self.asked.read_text().splitlines() if self.asked.exists() else []
        return len(asked) - len(set(asked))


def told(lit: HippoLit) -> Answers:
    if (snapshot := lit.snapshot()) is None:
        return None
    results = [lit.retrieve("Who extends Beta?", mode=mode) for mode in MODES]
    return snapshot.name, [[(ranked.paper.id, ranked.score) for ranked in r.papers] for r in results]


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise DrillError(what)


class Disk:
    """The preloaded library, told which folder fails, and in which way."""

    def __init__(self, library: ctypes.CDLL, folder: Path, way: str) -> None:
        self._library, self._folder = library, str(folder).encode()
        self._error, self._kinds, self._lasting = WAYS[way]

    def arm(self, step: int) -> None:
        self._library.failing_disk(self._folder, step, self._error, self._kinds, self._lasting)

    def disarm(self) -> bool:
        """Whether a call failed."""
        hit = bool(self._library.failing_disk_hit())
        self._library.failing_disk(self._folder, 0, 0, 0, 0)
        return hit


def attempt(place: Place, write: Write, disk: Disk, n: int, ok: Sequence[Answers]) -> int:
    """One write with a fault at step n, in a process that is forked for it; returns its exit code."""
    try:
        disk.arm(n)
        with place.open() as lit:
            try:
                write(lit)
            except StoreError:
                disk.disarm()
                expect(told(lit) in ok, "refused, this process answers otherwise")
                if n % 2 == 0:
                    finish(lit, write)
                raise
    except StoreError as error:
        disk.disarm()
        expect(bool(error.fields.get("path")), f"no path: {error!r}")
        expect(". " in error.message, f"no advice: {error.message}")
        return REFUSED
    return UNHARMED if disk.disarm() else UNTOUCHED


def finish(lit: HippoLit, write: Write) -> None:
    with suppress(Exception):  # a delete that is done already knows its ids no more; what counts is checked
        write(lit)
    lit.build()


def step(write: Write, disk: Disk, n: int, place: Place, before: Answers, after: Answers) -> int:
    """One write with a fault at step n, and the run after it; returns how the first one ended."""
    child = os.fork()
    if child == 0:
        code = WRONG
        try:
            code = attempt(place, write, disk, n, (before, after))
        finally:
            if code == WRONG:
                disk.disarm()
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    expect(code in (UNTOUCHED, REFUSED, UNHARMED, DIED), f"it ended with {code}")
    expect(place.answers() in (before, after), "it answers otherwise than before and after")
    if code in (UNTOUCHED, UNHARMED):
        expect(place.answers() == after, "it ended well, and the work is not done")
    if code != UNTOUCHED:
        with place.open() as lit:
            finish(lit, write)
    expect(place.answers() == after, "the next run did not finish the work")
    expect(len(list((place.index / SNAPSHOTS).iterdir())) == 1, "litter is left")
    expect(place.calls_made_again() <= (code != UNTOUCHED), "a reply was paid for twice")
    return code


def steps(root: Path, library: ctypes.CDLL, name: str, way: str, every: int) -> dict[str, int]:
    """Every step of one write, failing in one way; how often it ended how."""
    old, write = WRITES_TRIED[name]
    start, end = Place(root / name / way / "old", root / "-"), Place(root / name / way / "new", root / "-")
    start.index.parent.mkdir(parents=True)
    if old:
        with start.open() as lit:
            lit.add(old)
        shutil.copytree(start.index, end.index)
    before = start.answers()
    with end.open() as lit:
        write(lit)
        after = told(lit)
    codes = dict.fromkeys((UNTOUCHED, REFUSED, UNHARMED, DIED), 0)
    n = 1
    while not codes[UNTOUCHED]:
        with tempfile.TemporaryDirectory(dir=root) as folder:
            place = Place(Path(folder, "index"), Path(folder, "asked"))
            if old:
                shutil.copytree(start.index, place.index)
            try:
                codes[step(write, Disk(library, place.index, way), n, place, before, after)] += 1
            except (DrillError, StoreError) as e:
                raise DrillError(f"{name}, {way}, step {n}: {e}") from e
        n += every
    return {"refused": codes[REFUSED], "unharmed": codes[UNHARMED], "died": codes[DIED]}


def drill(every: int, library: ctypes.CDLL) -> dict[str, dict[str, dict[str, int]]]:
    """How often each write ended how, by way to fail. Raises DrillError where something does not hold."""
    with tempfile.TemporaryDirectory() as root:
        return {
            name: {way: steps(Path(root), library, name, way, every) for way in WAYS} for name in WRITES_TRIED
        }


def preloaded() -> ctypes.CDLL:
    """The library, in a process that runs with it: this one, started again where it does not yet."""
    if "FAILING_DISK" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            library = str(Path(folder, "failing_disk.so"))
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(SOURCE), "-ldl"], check=True)
            env = os.environ | {"LD_PRELOAD": library, "FAILING_DISK": library, "OPENBLAS_NUM_THREADS": "1"}
            sys.exit(subprocess.run([sys.executable, *sys.argv], env=env, check=False).returncode)
    library = ctypes.CDLL(os.environ["FAILING_DISK"])
    library.failing_disk.argtypes = [ctypes.c_char_p, ctypes.c_long, *[ctypes.c_int] * 3]
    return library


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        found = drill(given.every, preloaded())
    except DrillError as error:
        sys.exit(f"FAILED: {error}")
    if given.json:
        print(json.dumps(found))
        return
    for name, ways in found.items():
        for way, codes in ways.items():
            print(f"{name:<8} {way:<15} " + ", ".join(f"{key} {value}" for key, value in codes.items()))


if __name__ == "__main__":
    main()
