"""The highest of many scores, always in the same order: highest first, ties by index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STRIDE = 16  # one score in so many tells how high the best are


def best(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """Indices of the `k` highest scores, highest first, ties by index. In O(n + k log k)."""
    if not 0 < k < scores.size:
        return np.argsort(-scores, kind="stable")[: max(k, 0)]
    sample = scores[::_STRIDE]
    if k < sample.size:  # at least k of all reach what k of the sample reach, and hardly more than that
        reached = np.flatnonzero(scores >= _least(sample, k))
        reached = reached[scores[reached] >= _least(scores[reached], k)]
    else:
        reached = np.flatnonzero(scores >= _least(scores, k))
    return reached[np.argsort(-scores[reached], kind="stable")][:k]


def _least(scores: NDArray[np.floating], k: int) -> np.floating:
    """The k-th highest; NaN counts as lower than all."""
    found: np.floating = -np.partition(-scores, k - 1)[k - 1]
    return found


def best_above_zero(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """As `best`, of those scores alone that are above 0."""
    positive = np.flatnonzero(scores > 0)
    return positive[best(scores[positive], k)]
