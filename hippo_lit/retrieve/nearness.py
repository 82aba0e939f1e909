"""The rows nearest to one query: found among all by rough cosines, put in order by exact ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hippo_lit.similarity import Codes, cosines, rough_cosines
from hippo_lit.topk import best

_LOOKED_AT = 50  # rows read exactly; the 10 best of real sentences were always among the 20 best by codes


class Nearness:
    """One query's cosines with `rows`, unit vectors of shape (n, dim), of which `rough` are the codes."""

    def __init__(self, rows: NDArray[np.floating], rough: Codes, query: NDArray[np.float32]) -> None:
        self._rows, self._query = rows, query
        self._rough = rough_cosines(rough, query)

    def best(self, k: int, among: NDArray[np.integer] | None = None) -> list[tuple[int, float]]:
        """The `k` nearest rows with their cosines, nearest first, ties by number; of `among`, ascending."""
        rough = self._rough if among is None else self._rough[among]
        near = np.sort(best(rough, max(_LOOKED_AT, 4 * k)))
        numbers = near if among is None else among[near]
        exact = cosines(self._rows[numbers], self._query)
        return [(int(numbers[i]), float(exact[i])) for i in best(exact, k)]

    def range(self) -> tuple[float, float]:
        """The lowest and the highest cosine; 0 and 0 without rows."""
        if not len(self._rough):
            return 0.0, 0.0
        far = np.sort(best(-self._rough, _LOOKED_AT))
        return float(cosines(self._rows[far], self._query).min()), self.best(1)[0][1]
