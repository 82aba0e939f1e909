"""Personalised PageRank against the linear system that defines it, and against igraph itself."""

from __future__ import annotations

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.errors import ConfigError
from hippo_lit.graph.ppr import IgraphPageRank
from hippo_lit.protocols import PageRank

Floats = NDArray[np.float64]
WEIGHTS = st.sampled_from([0.0, 0.0, 0.0, 0.3, 1.0, 2.0, 4.0])


def closed_form(adjacency: Floats, reset: Floats, damping: float) -> Floats:
    """x = (1 - d) r + d P x with the columns of P normalised; mass at dangling nodes is lost; x to sum 1."""
    strength = adjacency.sum(axis=0)
    walk = adjacency / np.where(strength > 0, strength, 1)
    x: Floats = np.linalg.solve(np.eye(len(adjacency)) - damping * walk, (1 - damping) * reset / reset.sum())
    return x / x.sum()


def rank(adjacency: Floats, reset: list[float], damping: float = 0.5) -> Floats:
    return IgraphPageRank(sparse.csr_matrix(adjacency), damping).scores(np.array(reset))


def test_four_nodes_by_hand() -> None:
    # 0 -1- 1 -3- 2, and 3 alone; the reset is at 0 and 3, half and half, damping 1/2.
    adjacency = np.zeros((4, 4))
    adjacency[0, 1] = adjacency[1, 0] = 1
    adjacency[1, 2] = adjacency[2, 1] = 3
    # x0 = 1/4 + 1/2 · 1/4 x1;  x1 = 1/2 x0 + 1/2 x2;  x2 = 1/2 · 3/4 x1;  x3 = 1/4.
    # So x1 (1 - 3/16 - 1/16) = 1/8: x1 = 1/6, x0 = 13/48, x2 = 1/16; together 3/4.
    expected = np.array([13 / 48, 1 / 6, 1 / 16, 1 / 4]) / (3 / 4)
    np.testing.assert_allclose(rank(adjacency, [1, 0, 0, 1]), expected, atol=1e-12)
    np.testing.assert_allclose(closed_form(adjacency, np.array([1, 0, 0, 1]), 0.5), expected, atol=1e-15)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Floats, float]:
    size = draw(st.integers(1, 8))
    adjacency = np.zeros((size, size))
    for a in range(size):
        for b in range(a):
            adjacency[a, b] = adjacency[b, a] = draw(WEIGHTS)
    reset = draw(
        st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.05, 1.0, 7.0]), min_size=size, max_size=size).filter(any)
    )
    return adjacency, np.array(reset), draw(st.sampled_from([0.0, 0.1, 0.5, 0.85, 0.99]))


@settings(deadline=None)
@given(problems())
def test_it_is_the_closed_form(problem: tuple[Floats, Floats, float]) -> None:
    adjacency, reset, damping = problem
    found = IgraphPageRank(sparse.csr_matrix(adjacency), damping).scores(reset)
    np.testing.assert_allclose(found, closed_form(adjacency, reset, damping), atol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0).all()


@settings(deadline=None)
@given(problems())
def test_it_is_the_direct_call(problem: tuple[Floats, Floats, float]) -> None:
    adjacency, reset, damping = problem
    if not adjacency.any():
        return
    edges = [(int(a), int(b)) for a, b in np.argwhere(np.triu(adjacency))]
    graph = igraph.Graph(n=len(adjacency), edges=edges, directed=False)
    direct = graph.personalized_pagerank(
        directed=False, damping=damping, reset=reset.tolist(), implementation="prpack",
        weights=[float(adjacency[a, b]) for a, b in edges],
    )  # fmt: skip
    found = IgraphPageRank(sparse.csr_matrix(adjacency), damping).scores(reset)
    np.testing.assert_allclose(found, direct, atol=1e-12)


def test_a_larger_sparse_graph() -> None:
    half = sparse.triu(sparse.random(300, 300, density=0.01, random_state=3), k=1)
    adjacency = sparse.csr_matrix(half + half.T)
    reset = np.random.default_rng(3).random(300) * (np.arange(300) % 7 == 0)
    found = IgraphPageRank(adjacency, 0.5).scores(reset)
    np.testing.assert_allclose(found, closed_form(adjacency.toarray(), reset, 0.5), atol=1e-12)


def test_the_scale_of_the_reset_does_not_matter() -> None:
    adjacency = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0.0]])
    one = rank(adjacency, [0.2, 0.0, 0.6])
    for scale in (1e-200, 1e-3, 1e200):
        np.testing.assert_allclose(rank(adjacency, [0.2 * scale, 0.0, 0.6 * scale]), one, atol=1e-12)


def test_defined_where_there_is_little() -> None:
    assert isinstance(IgraphPageRank(sparse.csr_matrix((1, 1))), PageRank)
    assert rank(np.zeros((0, 0)), []).tolist() == []
    assert rank(np.zeros((1, 1)), [3.0]).tolist() == [1.0]
    assert rank(np.zeros((3, 3)), [0.0, 0.0, 0.0]).tolist() == [0, 0, 0]
    np.testing.assert_allclose(rank(np.zeros((3, 3)), [0.0, 1.0, 3.0]), [0, 0.25, 0.75], atol=1e-12)
    connected = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0.0]])
    assert rank(connected, [0.0, 0.0, 0.0]).tolist() == [0, 0, 0]
    np.testing.assert_allclose(rank(connected, [0.0, 0.0, 1.0]), [0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("reset", [[1.0], [1.0, -0.1], [np.nan, 1.0], [np.inf, 1.0]])
def test_bad_resets(reset: list[float]) -> None:
    with pytest.raises(ValueError, match="reset"):
        rank(np.zeros((2, 2)), reset)


@pytest.mark.parametrize("damping", [-0.1, 1.0, 1.5, float("nan")])
def test_bad_damping(damping: float) -> None:
    with pytest.raises(ConfigError, match="damping"):
        IgraphPageRank(sparse.csr_matrix((1, 1)), damping)
