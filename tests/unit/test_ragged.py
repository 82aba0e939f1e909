"""Rows of different lengths, and strings as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from hippo_lit.storage.packed import Packed, Selected, join
from hippo_lit.storage.ragged import (
    Piece,
    counted,
    first_seen,
    inner,
    joined,
    joined_starts,
    kept_rows,
    owners,
    places,
    runs,
    runs_of,
    starts_of,
)

OLD, FRESH = starts_of([2, 0, 3]), starts_of([1])
PIECES = [Piece(0, 1, 3), Piece(1, 0, 1)]


def test_rows_of_two_sources_are_joined_by_runs() -> None:
    inside = inner(PIECES, [OLD, FRESH])
    assert inside == [Piece(0, 2, 5), Piece(1, 0, 1)]
    assert joined(inside, [np.arange(5), np.array([9])]).tolist() == [2, 3, 4, 9]
    assert joined_starts(PIECES, [OLD, FRESH]).tolist() == [0, 0, 3, 4]
    assert kept_rows(PIECES, 0, 3).tolist() == [-1, 0, 1]
    assert kept_rows(PIECES, 1, 1).tolist() == [2]
    assert joined([], [np.arange(3)]).tolist() == []


def test_runs() -> None:
    assert runs(np.array([3, 4, 5, 1, 2, 9])) == [Piece(0, 3, 6), Piece(0, 1, 3), Piece(0, 9, 10)]
    assert runs(np.array([], dtype=np.int64)) == []
    assert runs_of(np.array([0, 1, -1, -1, 2, 5, -1])) == [
        Piece(0, 0, 2), Piece(1, 0, 2), Piece(0, 2, 3), Piece(0, 5, 6), Piece(1, 2, 3)
    ]  # fmt: skip
    assert runs_of(np.array([], dtype=np.int64)) == []
    assert runs_of(np.array([-1])) == [Piece(1, 0, 1)]
    assert runs_of(np.array([0, -1])) == [Piece(0, 0, 1), Piece(1, 0, 1)]


def test_places_and_owners() -> None:
    assert places(OLD, np.array([2, 0])).tolist() == [2, 3, 4, 0, 1]
    assert owners(OLD).tolist() == [0, 0, 2, 2, 2]


def test_numbers_in_order_of_appearance() -> None:
    order, rank = first_seen(np.array([4, 1, 4, 0]), 5)
    assert order.tolist() == [4, 1, 0]
    assert rank.tolist() == [2, 1, -1, -1, 0]
    keys, counts = counted(np.array([5, 2, 5]))
    assert (keys.tolist(), counts.tolist()) == ([2, 5], [1, 2])
    assert [part.tolist() for part in counted(np.array([], dtype=np.int64))] == [[], []]


@pytest.mark.parametrize("values", [[], ["", "a", "北京", "\ud800", "é"], [str(i) for i in range(40)]])
def test_strings_come_back(values: list[str]) -> None:
    packed = Packed.of(values, hashed=True)
    assert list(packed) == values == packed[:]
    backwards = np.arange(len(values))[::-1]
    for rows in (backwards, np.arange(len(values)), np.arange(len(values)) // 2):
        assert list(packed.take(rows)) == [values[i] for i in rows]
    assert list(packed + packed.take(backwards)) == values + values[::-1]
    assert packed.rows_of(packed.take(backwards)).tolist() == backwards.tolist()
    assert packed.rows_of(Packed.of(["not there"], hashed=True)).tolist() == [-1]
    assert list(Selected(packed, backwards)) == values[::-1]


def test_equal_hashes_are_told_apart() -> None:
    same = np.zeros(2, dtype=np.uint64)
    values = Packed.of(["one", "two"])
    clash = Packed(values.data, values.offsets, same)
    assert clash.rows_of(Packed(values.data, values.offsets, same)).tolist() == [0, 1]
    with pytest.raises(ValueError, match="without hashes"):
        values.rows_of(clash)
    assert join([Piece(0, 0, 2)], [values]).hashes is None
