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

        if not 0 <= damping < 1:
            raise ConfigError(f"ppr.damping must be in [0, 1), got {damping}", key="ppr.damping")
        upper = sparse.triu(adjacency, format="coo")
        self.graph = igraph.Graph(
            n=adjacency.shape[0],
            edges=np.column_stack([upper.row, upper.col]).astype(np.int64),
            directed=False,
        )
        self.graph.es["weight"] = upper.data.astype(np.float64).tolist()
        self._damping = damping
        self._size = adjacency.shape[0]
        self._threads = ThreadpoolController()  # finds igraph's OpenMP now, since looking costs milliseconds

    def scores(self, reset: NDArray[np.float64]) -> NDArray[np.float64]:
        """One probability per node, summing to 1; all zero for an all-zero reset.

        Raises ValueError for a reset of another length, with a negative entry or one that is not finite.
        """
        if reset.shape != (self._size,):
            raise ValueError(f"reset has shape {reset.shape}, the graph has {self._size} nodes")
        if not np.isfinite(reset).all() or (reset < 0).any():
            raise ValueError("reset must be finite and non-negative")
        if not reset.any():
            return np.zeros(self._size)
        # PRPACK's OpenMP threads wait for one another: on busy cores two take ten times as long as one.
        with self._threads.limit(limits=1, user_api="openmp"):
            ranks = self.graph.personalized_pagerank(
                directed=False,
                damping=self._damping,
                reset=(reset / reset.sum()).tolist(),
                weights="weight" if self.graph.ecount() else None,
                implementation="prpack",
            )
        return np.asarray(ranks, dtype=np.float64)
