"""Rough codes only choose what is looked at: who is nearest, and how near, is said by the vectors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hippo_lit.retrieve.nearness import Nearness
from hippo_lit.similarity import codes, cosines, rough_cosines
from hippo_lit.topk import best


def grouped(count: int, dim: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors around a hundred topics, some numbers of which are much larger than others."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((100, dim)) * (1 + 9 * (np.arange(dim) % 50 == 0))
    rows = topics[rng.integers(0, 100, count)] + rng.standard_normal((count, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_the_best_and_their_cosines_are_those_of_every_row() -> None:
    rows = grouped(30_000, 384, 1).astype(np.float16)
    made = codes(rows)
    among = np.arange(0, 30_000, 7)
    for query in grouped(40, 384, 2):
        near, every = Nearness(rows, made, query), cosines(rows, query)
        wanted = best(every, 10)
        assert near.best(10) == [(int(row), float(every[row])) for row in wanted]
        assert near.range() == (every.min(), every.max())
        of = among[best(every[among], 5)]
        assert near.best(5, among) == [(int(row), float(every[row])) for row in of]


@pytest.mark.parametrize("dim", [1, 2, 7, 384, 1536])
def test_codes_are_127ths_of_the_largest(dim: int) -> None:
    rows, query = grouped(500, dim, 3), grouped(1, dim, 4)[0]
    made = codes(rows)
    assert np.abs(made.numbers.astype(int)).max(axis=1).tolist() == [127] * 500
    np.testing.assert_allclose(
        made.numbers * made.unit[:, None], rows, atol=float(made.unit.max()) / 2 + 1e-7, rtol=0
    )
    np.testing.assert_allclose(rough_cosines(made, query), cosines(rows, query), atol=0.01, rtol=0)


def test_ties_zeros_and_nothing() -> None:
    rows = np.array([[0, 1], [1, 0], [0, 0], [0, 1], [0, 1]], dtype=np.float16)
    query = np.array([0, 1], dtype=np.float32)
    near = Nearness(rows, codes(rows), query)
    assert near.best(4) == [(0, 1.0), (3, 1.0), (4, 1.0), (1, 0.0)]
    assert near.best(9, np.array([2, 4])) == [(4, 1.0), (2, 0.0)]
    assert near.range() == (0.0, 1.0)
    none = Nearness(rows[:0], codes(rows[:0]), query)
    assert (none.best(3), none.range()) == ([], (0.0, 0.0))
    assert near.best(3, np.zeros(0, dtype=np.int32)) == []


@pytest.mark.parametrize("size", [1, 50, 1000, 20_000])
@pytest.mark.parametrize("levels", [3, 1_000_000])
def test_best_is_what_sorting_gives(size: int, levels: int) -> None:
    scores = np.random.default_rng(size).integers(0, levels, size).astype(np.float32)
    for k in (0, 1, 10, 500, 30_000):
        assert best(scores, k).tolist() == np.argsort(-scores, kind="stable")[:k].tolist()
        assert best(np.sort(scores)[::-1], k).tolist() == list(range(min(k, size)))
