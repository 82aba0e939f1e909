"""A file being written, with its size and checksum."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hippo_lit.storage.disk import reporting

# Against decay, not against forgery: whoever can change a file can change the sum beside it. CRC-32 finds
# every flipped bit and every burst of up to 32 of them, and misses one in 2^32 of all else. It takes a sixth
# of the time of BLAKE2, and adding a few papers writes, and checks, every file of an index.
SUM = "crc32"
_BLOCK = 1 << 20


class CheckedFile:
    """A file being written; its size and checksum go into `entries` when it is closed."""

    def __init__(self, path: Path, entries: dict[str, dict[str, Any]]) -> None:
        self._path, self._entries = path, entries
        self._size, self._sum = 0, 0

    def write(self, data: bytes | memoryview) -> int:
        self._size += len(data)
        self._sum = crc32(data, self._sum)
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
        self._entries[self._path.name] = {"bytes": self._size, SUM: written(self._sum)}


def buffer(values: NDArray[Any]) -> memoryview:
    """The bytes of an array that is not empty, without a copy where they lie in order."""
    contiguous: Any = np.ascontiguousarray(values)
    return memoryview(contiguous).cast("B")


def checksum(file: BinaryIO) -> str:
    """The checksum of what is left of a file, as `CheckedFile` counts it."""
    value = 0
    while block := file.read(_BLOCK):
        value = crc32(block, value)
    return written(value)


def written(value: int) -> str:
    return f"{value:08x}"
