"""Personalised PageRank in the neighbourhood of its seeds: what it costs does not grow with the graph.

The system of `linear` is solved over a set of nodes that begins with the seeds. What flows out of the set
shows in the residual of its neighbours; those where it is large for their degree join it, and so on until
none is. On an undirected graph the walk from v to u, by degree, is as likely as that from u to v (Andersen,
Chung and Lang 2006 rest on the same), so a residual of at most eps times the degree everywhere leaves no
score further than eps / (1 - d) times its node's degree from the true one.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.graph.linear import LinearPageRank, dot, row_sums
from hippo_lit.graph.ppr import distribution
from hippo_lit.storage.ragged import places

Floats = NDArray[np.float64]
TOLERANCE = 1e-4
SMALL = 1_000_000
"""Directed edges up to which a pass over the whole graph costs no more than finding a part of it."""
_MOST = 0.2  # of the graph's edges in the part, above which all of it is quicker
_PASSES = 4  # over a part before it grows again
_ROUNDS = 100  # a guard: about ten are needed


class LocalPageRank:
    """PageRank that leaves nodes at 0 which the seeds hardly reach. Safe to share between threads.

    A score is at most `tolerance` times the highest away from the true one at a node of the mean degree, and
    k times that at one of k times that degree; they sum to 1 less what was left out. Where the graph has at
    most `small` edges, or the seeds reach much of it, the whole is solved as by `LinearPageRank`.
    """

    def __init__(
        self,
        adjacency: sparse.csr_matrix,
        damping: float = 0.5,
        *,
        degree: Floats | None = None,
        tolerance: float = TOLERANCE,
        small: int = SMALL,
    ) -> None:
        self._adjacency = adjacency
        self._degree = row_sums(adjacency) if degree is None else degree
        self._damping, self._tolerance, self._small = damping, tolerance, small
        self._whole = LinearPageRank(adjacency, damping, degree=self._degree)
        self._mean = float(self._degree.mean()) if adjacency.nnz > small else 0.0
        self._space = threading.local()

    def scores(self, reset: Floats) -> Floats:
        """As `LinearPageRank.scores`, within the tolerance."""
        edges = self._adjacency.nnz
        if edges <= self._small:
            return self._whole.scores(reset)
        jump = distribution(reset, self._adjacency.shape[0])
        seeds, starts = np.flatnonzero(jump), self._adjacency.indptr
        most = int(_MOST * edges)
        if int((starts[seeds + 1] - starts[seeds]).sum()) > most:
            return self._whole.scores(reset)
        if not len(seeds):
            return jump
        part = _Part(self._adjacency, self._degree, self._damping, self._places())
        try:
            part.start(seeds, jump[seeds])
            found = part.solved(self._tolerance / self._mean, most=most)
        finally:
            part.leave()  # also where it is interrupted, so that the next query begins clean
        if found is None:
            return self._whole.scores(reset)
        scores = np.zeros(len(jump))
        scores[part.nodes] = found
        alone = seeds[self._degree[seeds] <= 0]
        scores[alone] = jump[alone]
        # Of what starts elsewhere nothing is lost on the way: in all it makes 1 / (1 - d) of itself.
        kept = float(jump[alone].sum())
        scores /= kept + (1 - kept) / (1 - self._damping)
        return scores

    def _places(self) -> NDArray[np.int32]:
        """Where a thread notes the number of a node in its part; -1 everywhere between two queries."""
        if not hasattr(self._space, "places"):
            self._space.places = np.full(self._adjacency.shape[0], -1, dtype=np.int32)
        found: NDArray[np.int32] = self._space.places
        return found


class _Part:
    """Nodes met so far, numbered as they were met, the seeds first. Those whose edges were read are inside,
    in the order of `_rows`; the solution is over them, and 0 at all others.
    """

    def __init__(
        self, adjacency: sparse.csr_matrix, degree: Floats, damping: float, numbers: NDArray[np.int32]
    ) -> None:
        self._adjacency, self._degree, self._damping, self._numbers = adjacency, degree, damping, numbers
        self.nodes, self._rows = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._place = np.zeros(0, dtype=np.int32)  # among `_rows`; -1: outside
        self._scale, self._right, self._solution = np.zeros(0), np.zeros(0), np.zeros(0)
        self._ends, self._others, self._weights = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)

    def start(self, seeds: NDArray[np.int64], weights: Floats) -> None:
        self._meet(seeds)
        self._enter(np.arange(len(seeds)))
        self._right = weights * self._scale[: len(seeds)]

    def leave(self) -> None:
        """Wipe the notes of who was met."""
        self._numbers[self.nodes] = -1

    def solved(self, tolerance: float, *, most: int) -> Floats | None:
        """Scores of the nodes met, in units of 1 - d, or None where more than `most` edges matter.

        Those outside get what flows to them at once. A score misses at most `tolerance` times its node's
        degree times the highest score.
        """
        least = 0.0
        for _ in range(_ROUNDS):
            missing = self._improved(least)
            found = self._solution / self._scale_inside()
            least = tolerance * float(found.max(initial=0.0)) * (1 - self._damping)
            entering = np.flatnonzero((missing > least) & (self._place < 0))
            if len(entering):
                if not self._enter(entering, most):
                    return None
            elif float(missing[self._rows].max(initial=0.0)) <= least:
                scores = missing / self._scale**2
                scores[self._rows] = np.maximum(found, 0.0)
                return scores
        return None

    def _scale_inside(self) -> Floats:
        return self._scale[self._rows]

    def _meet(self, nodes: NDArray[np.integer]) -> None:
        """Number nodes that were not met before; any may be given many times."""
        turn = np.arange(len(nodes), dtype=np.int32)
        self._numbers[nodes] = turn
        fresh = nodes[self._numbers[nodes] == turn]  # of those given many times, the last
        self._numbers[fresh] = np.arange(len(self.nodes), len(self.nodes) + len(fresh), dtype=np.int32)
        degree = self._degree[fresh]  # above 0, but for seeds without edges, which stay by themselves
        scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
        self.nodes = np.concatenate([self.nodes, fresh])
        self._place = np.concatenate([self._place, np.full(len(fresh), -1, dtype=np.int32)])
        self._scale = np.concatenate([self._scale, scale])

    def _enter(self, numbers: NDArray[np.int64], most: int | None = None) -> bool:
        """Read the edges of these nodes; False where they would be more than `most`."""
        nodes, starts = self.nodes[numbers], self._adjacency.indptr
        counts = starts[nodes + 1] - starts[nodes]
        held = int(self._ends[-1])
        if most is not None and held + int(counts.sum()) > most:
            return False
        at = places(starts, nodes)
        others = self._adjacency.indices[at]
        self._meet(others[self._numbers[others] < 0])
        self._place[numbers] = np.arange(len(self._rows), len(self._rows) + len(numbers), dtype=np.int32)
        self._rows = np.concatenate([self._rows, numbers])
        self._ends = np.concatenate([self._ends, held + np.cumsum(counts)])
        self._others = np.concatenate([self._others, self._numbers[others]])
        self._weights = np.concatenate([self._weights, self._adjacency.data[at]])
        return True

    def _improved(self, least: float) -> Floats:
        """The residual by degree at all nodes met, after some passes of conjugate gradients inside, which end
        where it is below `least` / 2 there.
        """
        size, scale, walk = len(self._rows), self._scale_inside(), self._damping
        among = self._place[self._others]
        kept = among >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[self._ends]
        inner = sparse.csr_matrix((self._weights[kept], among[kept], ends), shape=(size, size))
        solution, residual = np.zeros(size), np.zeros(size)
        solution[: len(self._solution)] = self._solution
        residual[: len(self._right)] = self._right
        residual += walk * scale * (inner @ (scale * solution)) - solution
        direction, square = residual.copy(), dot(residual, residual)
        for _ in range(_PASSES):
            if float((np.abs(residual) * scale).max()) <= least / 2 or not square:
                break
            passed = direction - walk * scale * (inner @ (scale * direction))
            step = square / dot(direction, passed)
            solution += step * direction
            residual -= step * passed
            before, square = square, dot(residual, residual)
            direction *= square / before
            direction += residual
        self._solution = solution
        shape = (len(self.nodes), size)
        edges = sparse.csc_matrix((self._weights, self._others, self._ends), shape=shape)
        flow = np.asarray(edges @ (scale * solution), dtype=np.float64)
        missing: Floats = walk * flow * self._scale**2
        missing[self._rows] = np.abs(residual) * scale
        return missing
