from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from hippo_lit.errors import ConfigError
from hippo_lit.lexical.citations import CitationGraph
from hippo_lit.lexical.twopass import recency, two_pass, year_array

# a → b → c → d; e and f alone
GRAPH = CitationGraph(list("abcdef"), [("a", "b"), ("b", "c"), ("c", "d")])
YEARS = year_array([2010, 2020, None, 2015, 2012, 2020])


def test_recency_is_linear_between_the_corpus_years() -> None:
    assert recency(YEARS).tolist() == [0.0, 1.0, 0.0, 0.5, 0.2, 1.0]


@pytest.mark.parametrize("years", [[], [None], [2020], [2020, None, 2020]])
def test_recency_without_a_span_of_years_is_zero(years: list[int | None]) -> None:
    assert recency(year_array(years)).tolist() == [0.0] * len(years)


def test_final_score_by_hand() -> None:
    bm25 = np.array([4.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    result = two_pass(bm25, GRAPH, YEARS)
    assert result.distance.tolist() == [0, 1, 2, -1, 0, -1]
    assert result.graph_score.tolist() == [1.0, 0.6, 0.3, 0.0, 1.0, 0.0]
    expected = [0.5 + 0.3, 0.3 * 0.6 + 0.2, 0.3 * 0.3, 0.2 * 0.5, 0.5 / 4 + 0.3 + 0.2 * 0.2, 0.2]
    np.testing.assert_allclose(result.final, expected, rtol=1e-15)
    assert result.union.tolist() == [0, 4, 1, 2]  # d and f are neither matched nor reached


def test_the_best_hits_are_direct_and_start_the_walk() -> None:
    bm25 = np.array([4.0, 0.0, 0.0, 0.0, 1.0, 2.0])
    result = two_pass(bm25, GRAPH, YEARS, seed_hits=1)
    assert result.distance.tolist() == [0, 1, 2, -1, -1, -1]
    assert sorted(result.union.tolist()) == [0, 1, 2, 4, 5]  # weaker matches are ranked too
    assert result.graph_score[4] == 0.0
    assert two_pass(bm25, GRAPH, YEARS, seed_hits=0).distance.tolist() == [-1] * 6


def test_hops_beyond_two_are_ranked_without_graph_score() -> None:
    bm25 = np.array([1.0, 0, 0, 0, 0, 0])
    result = two_pass(bm25, GRAPH, YEARS, max_hops=3)
    assert result.distance[3] == 3
    assert result.graph_score[3] == 0.0
    assert 3 in result.union


def test_weights_are_free_and_ties_go_by_id() -> None:
    graph = CitationGraph(["z", "y", "x"], [("z", "y"), ("z", "x")])
    result = two_pass(np.array([1.0, 0.0, 0.0]), graph, year_array([2000] * 3), weights=(0, 1, 0))
    assert result.final.tolist() == [1.0, 0.6, 0.6]
    assert result.union.tolist() == [0, 2, 1]


def test_no_lexical_hit_means_no_result() -> None:
    result = two_pass(np.zeros(6), GRAPH, YEARS)
    assert result.union.tolist() == []
    np.testing.assert_allclose(result.final, 0.2 * recency(YEARS))
    assert two_pass(np.zeros(0), CitationGraph([]), year_array([])).union.tolist() == []


@pytest.mark.parametrize("weights", [(0.5, 0.5), (1, 2, 3, 4), (-0.1, 0.5, 0.5), (math.nan, 0, 1), (0, 0, 0)])
def test_bad_weights_are_refused(weights: Sequence[float]) -> None:
    with pytest.raises(ConfigError, match="three numbers"):
        two_pass(np.zeros(6), GRAPH, YEARS, weights=weights)


def test_bad_limits_are_refused() -> None:
    with pytest.raises(ConfigError, match="seed_hits"):
        two_pass(np.zeros(6), GRAPH, YEARS, seed_hits=-1)
    with pytest.raises(ConfigError, match="max_hops"):
        two_pass(np.zeros(6), GRAPH, YEARS, max_hops=-1)
