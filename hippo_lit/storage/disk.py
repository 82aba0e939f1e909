"""What the durable parts ask of the file system: bytes that are there for good, errors that help."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hippo_lit.errors import StoreError

ADVICE_SPACE = "Free some space on that disk and run the command again; nothing that was committed is lost."
ADVICE_PERMISSION = "Check that this account may write there, or work on a copy of the index."
ADVICE_REBUILD = (
    "Run `hippo-lit index --rebuild`: the snapshot is built from the store; nothing is paid for twice."
)
_ADVICE = {
    errno.ENOSPC: ADVICE_SPACE,
    errno.EDQUOT: ADVICE_SPACE,
    errno.EACCES: ADVICE_PERMISSION,
    errno.EPERM: ADVICE_PERMISSION,
    errno.EROFS: ADVICE_PERMISSION,
}
_ADVICE_OTHER = "Check the path and the disk, then run the command again."


@contextmanager
def reporting(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a StoreError: "cannot <doing> <path>: why. What to do."."""
    try:
        yield
    except OSError as e:
        reason = os.strerror(e.errno) if e.errno else str(e)
        if e.filename and str(e.filename) != str(path):
            reason += f" ({e.filename})"
        advice = _ADVICE.get(e.errno or 0, _ADVICE_OTHER)
        raise StoreError(f"cannot {doing} {path}: {reason}. {advice}", path=str(path)) from e


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's entries, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """`sync` everything under a folder, contents before the folders that name them."""
    for parent, _, files in os.walk(folder, topdown=False):
        for file in files:
            sync(Path(parent, file))
        sync(Path(parent))
