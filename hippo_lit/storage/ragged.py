"""Rows of different lengths in flat arrays: `values[starts[i]:starts[i + 1]]` is row i.

Joining such rows from two sources, old and fresh, costs one copy a run of rows that stay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Starts = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `start` to `stop` of source number `source`."""

    source: int
    start: int
    stop: int


def starts_of(counts: Any) -> Starts:
    """Where rows of these lengths start, and one past the last; shape (rows + 1,)."""
    counts = np.asarray(counts, dtype=np.int64)
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def inner(pieces: Sequence[Piece], starts: Sequence[Starts]) -> list[Piece]:
    """The elements of the rows that `pieces` name; `starts` has one entry a source."""
    return [Piece(p.source, int(starts[p.source][p.start]), int(starts[p.source][p.stop])) for p in pieces]


def joined(pieces: Sequence[Piece], arrays: Sequence[NDArray[Scalar]]) -> NDArray[Scalar]:
    """The rows that `pieces` name, end to end."""
    if not pieces:
        return arrays[0][:0].copy()
    return np.concatenate([arrays[p.source][p.start : p.stop] for p in pieces])


def joined_starts(pieces: Sequence[Piece], starts: Sequence[Starts]) -> Starts:
    """The starts of the rows that `pieces` name, once they stand end to end."""
    return starts_of(joined(pieces, [np.diff(each) for each in starts]))


def kept_rows(pieces: Sequence[Piece], source: int, size: int) -> NDArray[np.int64]:
    """For each of the `size` rows of a source its place in the joined rows; -1 where it has none."""
    places = np.full(size, -1, dtype=np.int64)
    at = 0
    for piece in pieces:
        if piece.source == source:
            places[piece.start : piece.stop] = np.arange(at, at + piece.stop - piece.start)
        at += piece.stop - piece.start
    return places


def runs(rows: NDArray[Any], source: int = 0) -> list[Piece]:
    """Row numbers as pieces of neighbours, in the order given."""
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    firsts, lasts = rows[np.concatenate([[0], breaks])], rows[np.concatenate([breaks - 1, [len(rows) - 1]])]
    return [Piece(source, a, b + 1) for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True)]


def runs_of(rows: NDArray[np.int64]) -> list[Piece]:
    """Where each row of a whole comes from: `rows[i]` of source 0 or, where that is -1, the next one of
    source 1. Neighbours that stay neighbours are one piece.
    """
    fresh = rows < 0
    numbers = np.where(fresh, np.cumsum(fresh) - 1, rows)
    breaks = np.flatnonzero((np.diff(numbers) != 1) | (np.diff(fresh) != 0)) + 1
    firsts = np.concatenate([[0], breaks])[: len(rows)]
    lengths = np.diff(firsts, append=len(rows))
    columns = (fresh[firsts].tolist(), numbers[firsts].tolist(), lengths.tolist())
    return [Piece(int(source), start, start + n) for source, start, n in zip(*columns, strict=True)]


def places(starts: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Where the elements of `rows` stand in the flat array, row after row."""
    first, counts = starts[rows], starts[rows + 1] - starts[rows]
    found: NDArray[np.int64] = np.arange(counts.sum()) + np.repeat(
        first - (np.cumsum(counts) - counts), counts
    )
    return found


def owners(starts: Starts) -> NDArray[np.int64]:
    """The row of each element."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def first_seen(values: NDArray[Any], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers below `size` that `values` holds, in the order of their first places; and for each number
    its rank in that order (-1: not there).
    """
    place = np.full(size, len(values), dtype=np.int64)
    place[values[::-1]] = np.arange(len(values) - 1, -1, -1)  # of equal numbers the last written stays
    seen = np.flatnonzero(place < len(values))
    order = seen[np.argsort(place[seen])]
    rank = np.full(size, -1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    return order, rank


def counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct keys, ascending, and how often each occurs."""
    keys = np.sort(keys)  # np.unique hashes first, which takes many times as long
    first = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1)) if len(keys) else np.zeros(0, dtype=np.int64)
    return keys[first], np.diff(first, append=len(keys))
