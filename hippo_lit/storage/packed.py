"""Many strings as one run of bytes: taken, joined and looked up without making a Python string of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hippo_lit.storage.ragged import Piece, Starts, inner, joined, joined_starts, places, runs, starts_of
from hippo_lit.storage.string_column import StringColumn, encode, hash64


@dataclass(frozen=True, slots=True)
class Packed(Sequence[str]):
    """`data[offsets[i]:offsets[i + 1]]` is string i in UTF-8; `hashes[i]` its `hash64`, or None for all."""

    data: NDArray[np.uint8]
    offsets: Starts
    hashes: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, values: Iterable[str], *, hashed: bool = False) -> Packed:
        encoded = [encode(value) for value in values]
        hashes = np.fromiter(map(hash64, encoded), dtype=np.uint64) if hashed else None
        return cls(
            np.frombuffer(b"".join(encoded), dtype=np.uint8),
            starts_of(np.fromiter(map(len, encoded), dtype=np.int64)),
            hashes,
        )

    @classmethod
    def stored(cls, column: StringColumn) -> Packed:
        """A column's strings, where they lie on disk."""
        return cls(np.frombuffer(column.data, dtype=np.uint8), column.offsets, column.row_hashes())

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        return self.bytes(range(len(self))[row]).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        for start, end in pairwise(self.offsets.tolist()):
            yield data[start:end].decode("utf-8", "surrogatepass")

    def rows_of(self, others: Packed) -> NDArray[np.int64]:
        """The row of each of `others` among these strings, which are distinct; -1 where it is not there.

        Raises ValueError unless both are hashed.
        """
        if self.hashes is None or others.hashes is None:
            raise ValueError("strings without hashes cannot be looked up")
        # The many are looked up among the few: to sort them would take longer.
        few = np.sort(others.hashes)
        likely = np.zeros(0, dtype=np.int64)
        if len(few):
            place = np.minimum(np.searchsorted(few, self.hashes), len(few) - 1)
            likely = np.flatnonzero(few[place] == self.hashes)
        order = likely[np.argsort(self.hashes[likely], kind="stable")]
        ascending = self.hashes[order]
        firsts = np.searchsorted(ascending, others.hashes)
        ends = np.searchsorted(ascending, others.hashes, side="right")
        found = np.full(len(others), -1, dtype=np.int64)
        for i in np.flatnonzero(ends > firsts).tolist():
            wanted = others.bytes(i)
            for row in order[firsts[i] : ends[i]].tolist():  # more than one only where hashes collide
                if self.bytes(row) == wanted:
                    found[i] = row
        return found

    def bytes(self, row: int) -> bytes:
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()

    def take(self, rows: NDArray[Any]) -> Packed:
        """The strings of `rows`, in that order."""
        pieces = runs(rows)
        if 8 * len(pieces) < len(rows):
            return join(pieces, [self])
        return Packed(
            self.data[places(self.offsets, rows)],
            starts_of(self.offsets[rows + 1] - self.offsets[rows]),
            None if self.hashes is None else self.hashes[rows],
        )

    def __add__(self, other: Packed) -> Packed:
        return join([Piece(0, 0, len(self)), Piece(1, 0, len(other))], [self, other])


def join(pieces: Sequence[Piece], sources: Sequence[Packed]) -> Packed:
    """The strings that `pieces` name, end to end; hashed where all sources are."""
    offsets = [source.offsets for source in sources]
    hashes = [source.hashes for source in sources if source.hashes is not None]
    return Packed(
        joined(inner(pieces, offsets), [source.data for source in sources]),
        joined_starts(pieces, offsets),
        joined(pieces, hashes) if len(hashes) == len(sources) else None,
    )


@dataclass(frozen=True, slots=True)
class Selected(Sequence[str]):
    """Some of a sequence's strings: string i is `strings[rows[i]]`."""

    strings: Sequence[str]
    rows: NDArray[Any]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self.strings[i] for i in self.rows[row].tolist()]
        return self.strings[int(self.rows[row])]
