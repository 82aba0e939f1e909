"""Derived state, published whole or not at all.

::

    index/
    ├── CURRENT                   the name of the published snapshot
    └── snapshots/
        ├── s-20-43c0d19e7fa2b856/          complete: written, synced, then renamed to this name
        └── s-21-9b04e6c1a37d58f2.tmp-4711/ being written by process 4711, or left over from its death

A reader opens the snapshot that CURRENT names and maps its files; it keeps that state even when the
folder is removed later. Publishing and sweeping are for the holder of the writer lock; reading is for all.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from hippo_lit.errors import IndexCorruptError, StoreError
from hippo_lit.storage.disk import ADVICE_REBUILD, reporting, sync, sync_tree
from hippo_lit.storage.seal import seal

CURRENT = "CURRENT"
SNAPSHOTS = "snapshots"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_TMP = ".tmp-"
_ATTEMPTS = 8

T = TypeVar("T")


def publish(folder: Path, name: str, write: Callable[[Path], None]) -> Path:
    """Let `write` fill a fresh folder, then make it the current snapshot; returns its path.

    `name` is made of letters, digits, "_" and "-", and is not the current snapshot's: ValueError
    otherwise. If anything fails, CURRENT is untouched, what was written is removed where possible, and the
    error of `write` passes through; a full disk or a lost permission is a StoreError.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a snapshot's name is made of letters, digits, '_' and '-', not {name!r}")
    snapshots, target = folder / SNAPSHOTS, folder / SNAPSHOTS / name
    if target.is_dir() and _is_current(folder, name):
        raise ValueError(f"snapshot {name!r} is published already, and readers may be using it")
    tmp = snapshots / f"{name}{_TMP}{os.getpid()}"
    pointer = snapshots / f"{CURRENT}{_TMP}{os.getpid()}"
    leftovers = [tmp, pointer]
    try:
        with reporting("write a snapshot to", folder):
            snapshots.mkdir(exist_ok=True)
            _remove(tmp)
            _remove(target)  # complete, but a crash came before CURRENT could name it
            tmp.mkdir()
            write(tmp)
            seal(tmp)
            sync_tree(tmp)
            tmp.rename(target)
            leftovers.append(target)
            sync(snapshots)
            pointer.write_text(name + "\n", encoding="ascii")
            sync(pointer)
            pointer.replace(folder / CURRENT)
            sync(folder)
    except BaseException:
        # An interrupt can arrive at any point: ask the disk, not a variable, whether CURRENT has moved.
        if not _is_current(folder, name):
            for leftover in leftovers:
                with suppress(OSError):
                    _remove(leftover)
        raise
    return target


def current(folder: Path) -> Path | None:
    """The published snapshot's folder; None where nothing has been published yet.

    Raises IndexCorruptError where CURRENT holds no plain name, or names a snapshot that is not there.
    """
    name = _read_current(folder)
    for _ in range(_ATTEMPTS):
        if name is None:
            return None
        path = folder / SNAPSHOTS / name
        with reporting("read", path):
            if path.is_dir() and not path.is_symlink():
                return path
        # A writer may have published and swept between the two looks.
        before, name = name, _read_current(folder)
        if name == before:
            break
    raise IndexCorruptError(
        f"{folder / CURRENT} names the snapshot {name!r}, which is not there. {ADVICE_REBUILD}",
        path=str(folder),
    )


def open_current(folder: Path, opener: Callable[[Path], T]) -> T | None:
    """`opener(current(folder))`, tried again where the snapshot was replaced and swept meanwhile.

    None where nothing has been published. An error of `opener` passes through if CURRENT has not moved.
    """
    for _ in range(_ATTEMPTS):
        path = current(folder)
        if path is None:
            return None
        try:
            return opener(path)
        except (StoreError, FileNotFoundError):
            if current(folder) == path:
                raise
    raise StoreError(
        f"snapshots of {folder} are replaced faster than they can be opened. Open the index again later.",
        path=str(folder),
    )


def sweep(folder: Path, keep: int = 0) -> list[str]:
    """Remove what dead writers left, and old snapshots; returns the names removed, sorted.

    `keep` (≥ 0) is how many of the newest snapshots stay beside the current one. Where nothing is
    published, only leftovers go. Raises StoreError where something cannot be removed.
    """
    if keep < 0:
        raise ValueError(f"keep must be 0 or more, got {keep}")
    snapshots, published = folder / SNAPSHOTS, current(folder)
    if not snapshots.is_dir():
        return []
    with reporting("remove old snapshots from", snapshots):
        leftovers = [entry for entry in snapshots.iterdir() if _TMP in entry.name]
        old: list[Path] = []
        if published is not None:
            others = (e for e in snapshots.iterdir() if e != published and e not in leftovers)
            old = sorted(others, key=lambda e: (e.stat().st_mtime_ns, e.name), reverse=True)[keep:]
        for entry in leftovers + old:
            _remove(entry)
    return sorted(entry.name for entry in leftovers + old)


def _read_current(folder: Path) -> str | None:
    """The name in CURRENT. It is data: only a plain name is ever joined to a path."""
    path = folder / CURRENT
    with reporting("read", path):
        try:
            with path.open("rb") as file:
                content = file.read(256)
        except FileNotFoundError:
            return None
    name = content.decode("ascii", "replace").removesuffix("\n")
    if not _NAME.fullmatch(name):
        raise IndexCorruptError(
            f"{path} does not hold the name of a snapshot. {ADVICE_REBUILD}", path=str(folder)
        )
    return name


def _is_current(folder: Path, name: str) -> bool:
    try:
        return _read_current(folder) == name
    except IndexCorruptError:
        return False  # publishing is what mends it


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there. A snapshot vanishes in one step, never by halves."""
    if path.is_dir() and not path.is_symlink():
        if _TMP not in path.name:
            path = path.rename(path.with_name(f"{path.name}{_TMP}{os.getpid()}"))
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
