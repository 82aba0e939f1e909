"""A file being written, with its size and checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.storage.disk import reporting


class CheckedFile:
    """A file being written; its size and checksum go into `entries` when it is closed."""

    def __init__(self, path: Path, entries: dict[str, dict[str, Any]]) -> None:
        self._path, self._entries = path, entries
        self._size, self._hash = 0, digest()

    def write(self, data: bytes | memoryview) -> int:
        self._size += len(data)
        self._hash.update(data)
        with reporting("write", self._path):
            return self._file.write(data)

    def __enter__(self) -> CheckedFile:
        with reporting("write", self._path):
            self._file = self._path.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with reporting("write", self._path):
            self._file.close()  # flushes: a full disk may show only here
        self._entries[self._path.name] = {"bytes": self._size, "blake2b": self._hash.hexdigest()}


def buffer(values: NDArray[Any]) -> memoryview:
    """The bytes of an array that is not empty, without a copy where they lie in order."""
    contiguous: Any = np.ascontiguousarray(values)
    return memoryview(contiguous).cast("B")


def digest() -> hashlib.blake2b:
    """The checksum of a snapshot's files."""
    return hashlib.blake2b(digest_size=16)
