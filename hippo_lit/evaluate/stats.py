"""Is a difference real: bootstrap intervals, the randomisation test, Holm's correction.

Which tests suit rankings: Smucker, Allan and Carterette (2007), "A Comparison of Statistical Significance
Tests for Information Retrieval Evaluation". All draws come from a fixed seed, so results repeat.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SEED = 0
RESAMPLES = 10_000
_BLOCK = 1_000_000
_TIE = 1e-12


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron and Tibshirani 1993, chapter 13).

    Queries are drawn with replacement; the interval is between the (1 - level) / 2 quantiles of the means
    from either side. One value gives an interval of no width, none gives (NaN, NaN).
    """
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return float("nan"), float("nan")
    if np.ptp(data) == 0.0:
        return float(data[0]), float(data[0])
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(data))
    means: list[NDArray[np.float64]] = []
    for start in range(0, resamples, rows):
        drawn = rng.integers(0, len(data), size=(min(rows, resamples - start), len(data)))
        means.append(data[drawn].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def randomisation_test(
    differences: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED
) -> float:
    """Two-sided p of the paired randomisation (sign-flip) test for a mean difference of 0 (Fisher 1935).

    If the two systems were one, each query's difference could as well have the other sign. p is the share of
    sign patterns whose mean is at least as far from 0 as the one seen: of all patterns where there are at
    most `resamples` of them, so that p is exact, else of `resamples` random ones and the one seen, so that p
    is never 0 (Phipson and Smyth 2010). Without a difference p is 1.
    """
    # Zeros keep their value under either sign, so leaving them out changes nothing but the work.
    data = np.asarray([d for d in differences if abs(d) > _TIE], dtype=np.float64)
    if not len(data):
        return 1.0
    seen = abs(float(data.sum())) - 1e-9 * float(np.abs(data).sum())
    if 2 ** len(data) <= resamples:
        patterns = np.arange(2 ** len(data))[:, None] >> np.arange(len(data)) & 1
        return float(np.mean(np.abs((2 * patterns - 1) @ data) >= seen))
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(data))
    extreme = 0
    for start in range(0, resamples, rows):
        signs = rng.integers(0, 2, size=(min(rows, resamples - start), len(data))) * 2 - 1
        extreme += int(np.count_nonzero(np.abs(signs @ data) >= seen))
    return (extreme + 1) / (resamples + 1)


def holm(ps: Sequence[float]) -> list[float]:
    """p values adjusted for their number, in the given order (Holm 1979, step-down Bonferroni).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for place, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - place) * ps[i]))
        adjusted[i] = largest
    return adjusted
