"""The highest of many scores, always in the same order: highest first, ties by index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def best(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Indices of the `k` highest scores, highest first, ties by index. In O(n + k log k)."""
    if 0 < k < scores.size:
        least = -np.partition(-scores, k - 1)[k - 1]
        reached = np.flatnonzero(scores >= least)
        return reached[np.argsort(-scores[reached], kind="stable")][:k]
    return np.argsort(-scores, kind="stable")[: max(k, 0)]


def best_above_zero(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """As `best`, of those scores alone that are above 0."""
    positive = np.flatnonzero(scores > 0)
    return positive[best(scores[positive], k)]
