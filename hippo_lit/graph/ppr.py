"""Personalised PageRank by igraph over one fixed weighted graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.errors import ConfigError


class IgraphPageRank:
    """PRPACK over an undirected weighted graph. Immutable; build once per snapshot.

    `adjacency` is symmetric, non-negative, shape (nodes, nodes). `damping` is the probability to walk on
    rather than to jump back to the seeds, in [0, 1).

    The result x solves x = (1 - d) r + d P x, normalised to sum 1, with r the reset distribution and P
    the column-normalised adjacency; mass that reaches a node without edges is lost before normalising.
    """

    def __init__(self, adjacency: sparse.csr_matrix, damping: float = 0.5) -> None:
        import igraph
        from threadpoolctl import ThreadpoolController

        check_damping(damping)
        upper = sparse.triu(adjacency, format="coo")
        self._graph = igraph.Graph(
            n=adjacency.shape[0],
            edges=np.column_stack([upper.row, upper.col]).astype(np.int64),
            directed=False,
        )
        self._graph.es["weight"] = upper.data.astype(np.float64).tolist()
        self._damping = damping
        self._size = adjacency.shape[0]
        self._threads = ThreadpoolController()  # finds igraph's OpenMP now, since looking costs milliseconds

    def scores(self, reset: NDArray[np.float64]) -> NDArray[np.float64]:
        """One probability per node, summing to 1; all zero for an all-zero reset.

        Raises ValueError for a reset of another length, with a negative entry or one that is not finite.
        """
        jump = distribution(reset, self._size)
        if not jump.any():
            return jump
        # PRPACK's OpenMP threads wait for one another: on busy cores two take ten times as long as one.
        with self._threads.limit(limits=1, user_api="openmp"):
            ranks = self._graph.personalized_pagerank(
                directed=False,
                damping=self._damping,
                reset=jump.tolist(),
                weights="weight" if self._graph.ecount() else None,
                implementation="prpack",
            )
        return np.asarray(ranks, dtype=np.float64)


def check_damping(damping: float) -> None:
    """Raises ConfigError outside [0, 1)."""
    if not 0 <= damping < 1:
        raise ConfigError(f"ppr.damping must be in [0, 1), got {damping}", key="ppr.damping")


def distribution(reset: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """`reset` scaled to sum 1, or all zero. Raises ValueError as `IgraphPageRank.scores`."""
    if reset.shape != (size,):
        raise ValueError(f"reset has shape {reset.shape}, the graph has {size} nodes")
    low, high = float(reset.min(initial=0.0)), float(reset.max(initial=0.0))
    if not (low >= 0 and high < np.inf):  # NaN fails both
        raise ValueError("reset must be finite and non-negative")
    if not high:
        return np.zeros(size)
    scaled = reset / high
    scaled /= scaled.sum()
    return scaled
