"""A checksum for every file of a snapshot, so that a changed byte is found, wherever it is.

Files that a folder of columns lists in its manifest have theirs there; SEAL holds those of all others, the
manifests included.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hippo_lit.errors import IndexCorruptError, StoreError
from hippo_lit.storage.checked_file import checksum
from hippo_lit.storage.columns import MANIFEST, Columns
from hippo_lit.storage.disk import ADVICE_REBUILD, reporting

SEAL = "SEAL"


def seal(folder: Path) -> None:
    """Write SEAL into a finished snapshot. Raises StoreError."""
    sums = {file.relative_to(folder).as_posix(): _sum(file) for file in _loose(folder)}
    with reporting("write", folder / SEAL):
        (folder / SEAL).write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def damage(folder: Path) -> list[str]:
    """What is not as it was written, one line a file or folder of columns; empty where all is well.

    Reads every byte. Raises StoreError where the disk refuses.
    """
    try:
        sums = _read(folder / SEAL)
    except IndexCorruptError as error:
        return [error.message]
    there = {file.relative_to(folder).as_posix(): file for file in _loose(folder)}
    found = [f"{folder / name} is missing" for name in sorted(sums.keys() - there.keys())]
    found += [f"{there[name]} is not a file of this snapshot" for name in sorted(there.keys() - sums.keys())]
    found += [
        f"{file} is not what was written"
        for name, file in sorted(there.items())
        if name in sums and _sum(file) != sums[name]
    ]
    for columns in _columns(folder):
        try:
            Columns(columns).verify()
        except StoreError as error:
            found.append(error.message.removesuffix(f". {ADVICE_REBUILD}"))
    return found


def _read(path: Path) -> dict[str, Any]:
    with reporting("read", path):
        try:
            sums = json.loads(path.read_bytes())
        except FileNotFoundError as e:
            raise IndexCorruptError(
                f"{path} is missing: an earlier version wrote this snapshot", path=str(path)
            ) from e
        except (ValueError, RecursionError) as e:
            raise IndexCorruptError(f"{path} cannot be read ({e})", path=str(path)) from e
    if not isinstance(sums, dict):
        raise IndexCorruptError(f"{path} is no table of checksums", path=str(path))
    return sums


def _columns(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_dir() and (path / MANIFEST).is_file())


def _loose(folder: Path) -> Iterator[Path]:
    """The files that no manifest vouches for."""
    columns = set(_columns(folder))
    for file in sorted(folder.rglob("*")):
        vouched = file.parent in columns and file.name != MANIFEST
        if file.is_file() and not vouched and file != folder / SEAL:
            yield file


def _sum(file: Path) -> str:
    with reporting("read", file), file.open("rb") as stream:
        return checksum(stream)
