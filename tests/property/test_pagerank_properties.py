"""The engines of PageRank against igraph: the same scores, and what the local one leaves out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.errors import ConfigError
from hippo_lit.graph.linear import LinearPageRank
from hippo_lit.graph.local import TOLERANCE, LocalPageRank
from hippo_lit.graph.ppr import IgraphPageRank
from hippo_lit.protocols import PageRank

Floats = NDArray[np.float64]
SHAPES = ["random", "star", "chain", "disconnected", "isolated", "empty", "one", "papers"]


def graph(shape: str, size: int, rng: np.random.Generator) -> sparse.csr_matrix:
    """A symmetric weight matrix without a diagonal."""
    match shape:
        case "empty" | "one":
            size = 1 if shape == "one" else size
            a = b = np.zeros(0, dtype=np.int64)
        case "star":
            a, b = np.zeros(size - 1, dtype=np.int64), np.arange(1, size)
        case "chain":
            a, b = np.arange(size - 1), np.arange(1, size)
        case "disconnected":
            a, b = rng.integers(0, size, (2, 2 * size))
            kept = (a < size // 2) == (b < size // 2)
            a, b = a[kept], b[kept]
        case "papers":  # the first third cite one another and mention the others, few of them often
            papers = max(size // 3, 1)
            a = rng.integers(0, papers, 4 * size)
            named = papers + (rng.random(3 * size) ** 3 * (size - papers)).astype(np.int64)
            b = np.concatenate([np.minimum(named, size - 1), rng.integers(0, papers, size)])
        case _:
            a, b = rng.integers(0, size // 2 if shape == "isolated" else size, (2, 3 * size))
    kept = a != b
    weight = rng.choice([0.3, 1.0, 3.0, 4.0], size=int(kept.sum()))
    half = sparse.coo_matrix((weight, (a[kept], b[kept])), shape=(size, size)).tocsr()
    return (half + half.T).tocsr()


def close_to(found: Floats, expected: Floats) -> None:
    """Equal within 1e-6 of the highest score, and in one order up to ties within that."""
    assert found.shape == expected.shape
    assert (found >= 0).all()
    allowed = 1e-6 * expected.max()
    np.testing.assert_allclose(found, expected, atol=allowed, rtol=0)
    first, second = np.argsort(-found, kind="stable")[:100], np.argsort(-expected, kind="stable")[:100]
    np.testing.assert_allclose(expected[first], expected[second], atol=2 * allowed, rtol=0)


@settings(deadline=None, max_examples=150)
@given(
    shape=st.sampled_from(SHAPES),
    size=st.integers(2, 300),
    seed=st.integers(0, 2**32 - 1),
    seeds=st.sampled_from([1, 3, 10, 300]),
    damping=st.sampled_from([0.3, 0.5, 0.7, 0.85, 0.9]),
)
def test_the_engines_give_one_answer(shape: str, size: int, seed: int, seeds: int, damping: float) -> None:
    rng = np.random.default_rng(seed)
    adjacency = graph(shape, size, rng)
    reset = np.zeros(adjacency.shape[0])
    reset[rng.integers(0, len(reset), seeds)] = rng.random(seeds) ** 4
    reset[rng.integers(0, len(reset))] = 1.0
    expected = IgraphPageRank(adjacency, damping).scores(reset)
    close_to(LinearPageRank(adjacency, damping).scores(reset), expected)
    close_to(LocalPageRank(adjacency, damping).scores(reset), expected)  # small: solved as a whole
    close_to(LocalPageRank(adjacency, damping, small=0, tolerance=1e-9).scores(reset), expected)
    local = LocalPageRank(adjacency, damping, small=0).scores(reset)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    allowed = TOLERANCE * expected.max() * np.maximum(degree / max(degree.mean(), 1e-300), 1e-9)
    assert (np.abs(local - expected) <= allowed + 1e-6 * expected.max()).all()


def two_worlds(size: int) -> sparse.csr_matrix:
    """Neighbourhoods of 10 nodes along a ring of `size`, far from one another."""
    offsets = np.arange(1, 6)
    a = np.repeat(np.arange(size), len(offsets))
    b = (a + np.tile(offsets, size)) % size
    half = sparse.coo_matrix((np.ones(len(a)), (a, b)), shape=(size, size)).tocsr()
    return (half + half.T).tocsr()


def test_the_local_engine_stays_near_its_seeds_and_says_the_same_of_them() -> None:
    adjacency = two_worlds(20_000)
    reset = np.zeros(20_000)
    reset[[50, 12_000]] = 3.0, 1.0
    engine = LocalPageRank(adjacency, 0.7, small=0)
    found, expected = engine.scores(reset), IgraphPageRank(adjacency, 0.7).scores(reset)
    assert 0 < (found > 0).sum() < 500
    assert (
        np.argsort(-found, kind="stable")[:10].tolist() == np.argsort(-expected, kind="stable")[:10].tolist()
    )
    np.testing.assert_allclose(found, expected, atol=TOLERANCE * expected.max(), rtol=0)
    assert found.sum() <= 1.0
    other = np.zeros(20_000)
    other[7] = 1.0
    engine.scores(other)
    assert (engine.scores(reset) == found).all()  # nothing of one query is left for the next


def test_seeds_without_edges_keep_what_they_are_given() -> None:
    adjacency = sparse.csr_matrix(np.diag([1.0, 0, 0], 1) + np.diag([1.0, 0, 0], -1))
    reset = np.array([1.0, 0.0, 2.0, 0.0])
    expected = IgraphPageRank(adjacency, 0.5).scores(reset)
    for engine in (LinearPageRank(adjacency), LocalPageRank(adjacency, small=0)):
        np.testing.assert_allclose(engine.scores(reset), expected, atol=1e-3 * expected.max())
        assert isinstance(engine, PageRank)


@pytest.mark.parametrize("engine", [LinearPageRank, LocalPageRank])
def test_bad_input(engine: type[LinearPageRank]) -> None:
    adjacency = sparse.csr_matrix((2, 2))
    with pytest.raises(ConfigError, match="damping"):
        engine(adjacency, 1.0)
    for reset in ([1.0], [1.0, -0.1], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="reset"):
            engine(adjacency, 0.5).scores(np.array(reset))
    assert engine(adjacency, 0.5).scores(np.zeros(2)).tolist() == [0, 0]
    assert engine(sparse.csr_matrix((0, 0)), 0.5).scores(np.zeros(0)).tolist() == []
