"""Statistics against scipy and against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from hippo_lit.evaluate.stats import bootstrap_interval, holm, randomisation_test


def test_exact_p_by_hand() -> None:
    # Eight sign patterns; only +++ and --- are as far out as 1 + 2 + 3.
    assert randomisation_test([1, 2, 3]) == 2 / 8
    # Sums of ±1 ±2 ±3 with |sum| >= 4 (that of 1 - 2 - 3): 6, 4, -4, -6.
    assert randomisation_test([1, -2, -3]) == 4 / 8
    assert randomisation_test([0.1] * 4) == 2 / 16  # sums that only rounding makes differ are equal


def test_zeros_change_nothing_and_no_difference_is_no_evidence() -> None:
    assert randomisation_test([1, 2, 3, 0, 0]) == 2 / 8
    assert randomisation_test([0.0, 0.0]) == randomisation_test([]) == 1.0


def test_p_as_scipy_computes_it() -> None:
    rng = np.random.default_rng(3)
    for size, shift in ((10, 0.3), (12, 0.0)):  # exact
        data = rng.normal(shift, 1, size)
        expected = reference.permutation_test(
            (data, np.zeros(size)),
            lambda a, b: np.mean(a - b),
            permutation_type="samples",
            n_resamples=np.inf,
        )
        assert randomisation_test(data.tolist()) == pytest.approx(expected.pvalue, abs=1e-12)
    data = rng.normal(0.25, 1, 80)  # sampled
    expected = reference.permutation_test(
        (data, np.zeros(80)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    assert randomisation_test(data.tolist()) == pytest.approx(expected.pvalue, abs=0.01)


def test_p_is_never_zero_and_repeats() -> None:
    data = [1.0] * 50
    assert randomisation_test(data, resamples=999) == 1 / 1000
    mixed = np.random.default_rng(0).normal(0.1, 1, 60).tolist()
    assert randomisation_test(mixed) == randomisation_test(mixed)


def test_p_is_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(7)
    ps = [randomisation_test(rng.normal(0, 1, 30).tolist(), resamples=499, seed=i) for i in range(400)]
    assert reference.kstest(ps, "uniform").pvalue > 0.01


def test_interval_as_scipy_computes_it() -> None:
    data = np.random.default_rng(5).beta(2, 3, 90)
    expected = reference.bootstrap(
        (data,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(2)
    ).confidence_interval
    low, high = bootstrap_interval(data.tolist())
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.003)
    assert low < data.mean() < high


def test_interval_by_hand() -> None:
    # Of two values the mean of two draws is 0, ½, 1 with ¼, ½, ¼: the 2.5% quantiles are the ends.
    assert bootstrap_interval([0.0, 1.0]) == (0.0, 1.0)
    assert bootstrap_interval([0.0, 1.0], level=0.4) == (0.5, 0.5)


def test_intervals_of_nothing_and_of_one_value() -> None:
    assert bootstrap_interval([0.3]) == bootstrap_interval([0.3, 0.3]) == (0.3, 0.3)
    assert all(map(math.isnan, bootstrap_interval([])))


def test_holm_by_hand() -> None:
    # Holm (1979): the smallest times 4, the next times 3 …, never less than the one before, at most 1.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
