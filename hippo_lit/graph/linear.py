"""Personalised PageRank by conjugate gradients: the numbers of `IgraphPageRank` in a dozen passes.

On an undirected graph x = (1 - d) r + d A D⁻¹ x becomes, with x = D^½ y, the symmetric positive definite
system (I - d D^-½ A D^-½) y = (1 - d) D^-½ r, of a condition number of at most (1 + d) / (1 - d).
At d = 0.7, where that is 5.7, conjugate gradients (Hestenes and Stiefel 1952) take at worst 2.6 passes over
the edges for a digit, and the power method 6.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.graph.ppr import check_damping, distribution

Floats = NDArray[np.float64]
TOLERANCE = 1e-7
_MOST_PASSES = 1000  # a guard: at d = 0.99 about 160 are needed


class LinearPageRank:
    """Exact PageRank over an undirected weighted graph, as `IgraphPageRank`; opens at no cost.

    `degree` are the row sums of `adjacency`, if known. It ends when a pass moves no score by more than
    `tolerance` times the highest; since passes gain a factor of 2.4 or more on the average (d = 0.7), what is
    missing then is no more than that.
    """

    def __init__(
        self,
        adjacency: sparse.csr_matrix,
        damping: float = 0.5,
        *,
        degree: Floats | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        check_damping(damping)
        self._adjacency = adjacency
        self._degree = row_sums(adjacency) if degree is None else degree
        self._damping = damping
        self._tolerance = tolerance
        self._checked = False

    def scores(self, reset: Floats) -> Floats:
        """One probability per node, summing to 1; all zero for an all-zero reset.

        Raises ValueError for a reset of another length, with a negative entry or one that is not finite.
        """
        jump = distribution(reset, self._adjacency.shape[0])
        if not jump.any():
            return jump
        degree = self._degree
        scale = np.zeros(len(jump))
        np.divide(1.0, np.sqrt(degree), out=scale, where=degree > 0)
        self._check()
        found = self._solved(jump * scale, scale)
        found *= np.sqrt(degree)
        np.copyto(found, jump, where=degree <= 0)  # nothing flows into a node without edges
        # Both are in units of 1 - d, which goes in normalising.
        np.maximum(found, 0.0, out=found)
        found /= found.sum()
        return found

    def _check(self) -> None:
        """See once whether the adjacency holds together: scipy trusts it, and a damaged one ends the process.

        Raises ValueError.
        """
        if not self._checked:
            self._adjacency.check_format(full_check=True)
            self._checked = True

    def _solved(self, right: Floats, scale: Floats) -> Floats:
        """y of (I - d S) y = right, with S the adjacency scaled on both sides."""
        walk, root = self._damping, np.sqrt(self._degree)
        solution, residual, direction = np.zeros(len(right)), right.copy(), right.copy()
        square = dot(residual, residual)
        for _ in range(_MOST_PASSES):
            if not square:
                break
            passed = direction - walk * scale * (self._adjacency @ (scale * direction))
            step = square / dot(direction, passed)
            solution += step * direction
            residual -= step * passed
            moved = np.abs(direction)
            moved *= root
            if step * float(moved.max()) <= self._tolerance * float((solution * root).max()):
                break
            before, square = square, dot(residual, residual)
            direction *= square / before
            direction += residual
        return solution


def row_sums(adjacency: sparse.csr_matrix) -> Floats:
    """The weighted degree of each node."""
    return np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()


def dot(a: Floats, b: Floats) -> float:
    """The sum of products, on this thread: BLAS spreads longer vectors over threads, and on busy cores waits
    for them for longer than everything else here takes.
    """
    return float(np.einsum("i,i->", a, b))
