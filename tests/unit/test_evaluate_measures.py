"""Measures against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from hippo_lit.errors import ConfigError
from hippo_lit.evaluate.answers import exact_match, normalise_answer, token_f1
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.filtering import filter_figures, states_fact
from hippo_lit.evaluate.gates import Gate, parse_gate
from hippo_lit.evaluate.measures import check_measures, depth_of, per_query, recall_curve
from hippo_lit.evaluate.run import Answered, FactSeen
from hippo_lit.types import Fact

QUERIES = [
    Query("a", "", {"x": 2, "y": 1}),
    Query("b", "", {"z": 1}),
    Query("none", "", {}),
    Query("judged", "", {"x": 0}),
]
RANKINGS = {"a": ["w", "x", "y"], "none": ["x"], "judged": ["x"]}


def test_values_by_hand() -> None:
    names = check_measures(["nDCG@2", "R@1", "R@3", "MRR@10", "HippoRecall@3"])
    assert names == ("nDCG@2", "R@1", "R@3", "RR@10", "HippoRecall@3")
    values = per_query(QUERIES, RANKINGS, names)
    gain = (2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert values["nDCG@2"] == pytest.approx({"a": gain, "b": 0.0})
    assert values["R@1"] == {"a": 0.0, "b": 0.0}
    assert values["R@3"] == {"a": 1.0, "b": 0.0}  # b has no ranking: 0, not left out
    assert values["RR@10"] == {"a": 0.5, "b": 0.0}
    # HippoRAG counts a question without gold as 0.
    assert values["HippoRecall@3"] == {"a": 1.0, "b": 0.0, "none": 0.0, "judged": 0.0}


def test_places_decide_not_ids_or_scores() -> None:
    values = per_query([Query("q", "", {"a": 1})], {"q": ["z", "a"]}, ["RR@10"])
    assert values == {"RR@10": {"q": 0.5}}


def test_nothing_to_measure_is_no_error() -> None:
    assert per_query([Query("q", "")], {}, ["R@5"]) == {"R@5": {}}


@pytest.mark.parametrize("name", ["Foo@3", "nDCG@", "", "__import__('os')"])
def test_what_is_no_measure(name: str) -> None:
    with pytest.raises(ConfigError, match="there is no measure"):
        check_measures([name])


@pytest.mark.parametrize("name", ["nDCG@0", "P@00", "HippoRecall@0", "R@1000000", "RR@99999999999999999999"])
def test_a_cutoff_has_bounds(name: str) -> None:
    with pytest.raises(ConfigError, match=r"cutoff of .* must be from 1 to 999,999"):
        check_measures([name])


def test_depth_is_the_largest_cutoff() -> None:
    assert depth_of(["R@5", "nDCG@10"]) == 10
    assert depth_of(["R@5", "AP"]) == 100
    assert depth_of(["HippoRecall@200"]) == 200


def test_the_curve_is_over_queries_with_gold() -> None:
    assert recall_curve(QUERIES, RANKINGS, (1, 2, 3)) == [(1, 0.0), (2, 0.25), (3, 0.5)]


def test_answers_as_squad_counts_them() -> None:
    assert normalise_answer("An  apple, a day—The “end”.") == "apple daythe end"
    assert exact_match("The Beatles!", ["beatles"]) == 1.0
    assert exact_match("Beatles", []) == 0.0
    assert token_f1("the cat sat", ["a cat sat down", "dog"]) == pytest.approx(2 * 2 / (2 + 3))
    assert token_f1("x x", ["x"]) == pytest.approx(2 / 3)
    assert (token_f1("the", ["a"]), token_f1("the", ["b"])) == (1.0, 0.0)
    assert exact_match("北京。", ["北京"]) == 1.0


def seen(text: str, *, kept: bool, paper: str = "p") -> FactSeen:
    return FactSeen(text, "", 0.5, kept, (paper,))


def test_a_candidate_states_a_gold_fact() -> None:
    gold = Fact("BM25", "beats", "Dragnet on 7 of 11 collections")
    assert states_fact(seen("BM25 — beats — Dragnet on 7 of 11", kept=True), gold, frozenset("p"))
    assert not states_fact(seen("BM25 — beats — Dragnet on 7 of 12", kept=True), gold, frozenset("p"))
    assert not states_fact(seen("BM25 beats Dragnet on 7 of 11", kept=True, paper="o"), gold, frozenset("p"))
    assert not states_fact(seen("Dragnet 7 11", kept=True), gold, frozenset("p"))


def test_filter_figures_are_pooled_over_queries() -> None:
    facts = (Fact("alpha", "is", "red"), Fact("beta", "is", "blue"))
    queries = [
        Query("q", "", {"p": 1}, gold_facts=facts),
        Query("empty", "", {"p": 1}, gold_facts=facts[:1]),
        Query("none", ""),
        Query("no candidates", "", {"p": 1}),
    ]
    answers = {
        "q": Answered(
            "q",
            (),
            "hippo",
            0.0,
            candidates=(
                seen("alpha red", kept=True),
                seen("gamma", kept=True),
                seen("Alpha: red!", kept=False),
            ),
            unmatched=("invented",),
        ),
        "empty": Answered("empty", (), "hybrid", 0.0, candidates=(seen("other", kept=False),)),
        "none": Answered("none", (), "hybrid", 0.0, candidates=(seen("other", kept=False),)),
        "no candidates": Answered("no candidates", (), "hybrid", 0.0),
    }
    figures = filter_figures(queries, answers)
    assert figures is not None
    assert figures.queries == 2
    assert figures.precision == 1 / 2  # alpha of alpha and gamma
    assert figures.recall == 1 / 2  # of the two that state alpha
    assert figures.f1 == 1 / 2
    assert figures.offered == 1 / 3  # alpha of q; not beta, not alpha of `empty`
    assert figures.matched_back == 2 / 3
    assert (figures.empty, figures.empty_right) == (1 / 2, 1.0)
    assert filter_figures(queries, {}) is None


def test_gates() -> None:
    gate = parse_gate(" hippo@ppr.damping=0.3  R@5 <= .75 ")
    assert gate == Gate("hippo@ppr.damping=0.3", "R@5", "<=", 0.75)
    assert [gate.crossed_by(value) for value in (0.7, 0.75, 0.8, float("nan"))] == [True, True, False, True]
    for wrong in ("hippo R@5", "hippo < 1", "hippo R@5 < 75", "hippo Foo < 0.5", ""):
        with pytest.raises(ConfigError):
            parse_gate(wrong)
