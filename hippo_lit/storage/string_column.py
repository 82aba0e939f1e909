"""Strings in a mapped file: any of them by row, and the row of any of them, without loading the rest."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import IndexCorruptError
from hippo_lit.storage.disk import ADVICE_REBUILD

_PAGE_ROWS = 4096


class StringColumn(Sequence[str]):
    """`data[offsets[i]:offsets[i + 1]]` is string i in UTF-8; offsets are int64, shape (n + 1,).

    `hashes` (uint64, ascending) and `rows` (int64, same shape) find a string's row in O(log n); both are
    None for a column written without lookup.
    """

    def __init__(
        self,
        path: str,
        data: mmap.mmap | bytes,
        offsets: NDArray[np.int64],
        hashes: NDArray[np.uint64] | None,
        rows: NDArray[np.int64] | None,
    ) -> None:
        self._path, self.data, self.offsets = path, data, offsets
        self._hashes, self._rows = hashes, rows

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        return self._decode(self._bytes(range(len(self))[row]))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _PAGE_ROWS):
            ends = self.offsets[start : start + _PAGE_ROWS + 1].tolist()
            for begin, end in pairwise(ends):
                yield self._decode(self.data[begin:end])

    def index_of(self, value: str) -> int | None:
        """The first row that holds `value`; None where none does. ValueError if written without lookup."""
        if self._hashes is None or self._rows is None:
            raise ValueError("this column was written without lookup")
        data = encode(value)
        key = np.uint64(hash64(data))  # a plain int would make numpy convert the whole column to float
        at = int(np.searchsorted(self._hashes, key))
        while at < len(self._hashes) and self._hashes[at] == key:
            row = int(self._rows[at])
            if self._bytes(row) == data:  # different strings may share a hash
                return row
            at += 1
        return None

    def row_hashes(self) -> NDArray[np.uint64] | None:
        """The hash of each string by row; None for a column written without lookup."""
        if self._hashes is None or self._rows is None:
            return None
        hashes = np.empty(len(self), dtype=np.uint64)
        hashes[self._rows] = self._hashes
        return hashes

    def __contains__(self, value: object) -> bool:
        if self._hashes is None or not isinstance(value, str):
            return super().__contains__(value)
        return self.index_of(value) is not None

    def _bytes(self, row: int) -> bytes:
        return self.data[self.offsets[row] : self.offsets[row + 1]]

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as e:
            raise IndexCorruptError(
                f"the strings of {self._path} are damaged ({e}). {ADVICE_REBUILD}", path=self._path
            ) from e


def hash64(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
