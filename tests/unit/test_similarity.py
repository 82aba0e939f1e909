from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hippo_lit.similarity import cosines
from hippo_lit.topk import best


def units(count: int, dim: int, seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, dim), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("dim", [1, 2, 7, 64, 384, 1536])
def test_halves_are_multiplied_exactly(dim: int) -> None:
    rows, query = units(300, dim, 1).astype(np.float16), units(1, dim, 2)[0]
    exact = rows.astype(np.float64) @ query.astype(np.float64)
    np.testing.assert_allclose(cosines(rows, query), exact, atol=1e-6, rtol=0)


def test_the_nearest_rows_are_those_of_full_precision() -> None:
    rows, queries = units(20_000, 384, 3), units(50, 384, 4)
    halves = rows.astype(np.float16)
    for query in queries:
        near, full = cosines(halves, query), cosines(rows, query)
        assert np.abs(near - full).max() < 1e-4
        tenth = full[best(full, 10)[-1]]
        assert full[best(near, 10)].min() >= tenth - 1e-4  # who stands in for another is as near


def test_one_row_no_row_and_rows_on_disk(tmp_path: Path) -> None:
    query = units(1, 4, 5)[0]
    assert cosines(np.zeros((0, 4), np.float16), query).shape == (0,)
    assert cosines(query[None].astype(np.float16), query) == pytest.approx([1.0], abs=1e-3)
    assert cosines(np.zeros((2, 4), np.float16), query).tolist() == [0, 0]
    np.save(tmp_path / "rows.npy", np.tile(query, (3, 1)).astype(np.float16))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert cosines(mapped[1:], query) == pytest.approx([1.0, 1.0], abs=1e-3)
