"""The formulas of REFERENCE 2, step 4, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hippo_lit.config import SeedSettings
from hippo_lit.retrieve.candidates import Candidate
from hippo_lit.retrieve.seeds import entity_seeds, passage_seeds, reset_vector
from hippo_lit.types import Fact, ScoredFact

SPREAD = np.array([1, 2, 4, 1, 1, 1, 1, 1], dtype=np.int32)


def candidate(score: float, own: tuple[int, ...], *others: int) -> Candidate:
    return Candidate(ScoredFact(Fact("s", "r", "o"), score), 0, own, (*own, *others))


def seeds(
    *kept: tuple[Candidate, float],
    links: tuple[int, ...] = (),
    evidence: bool = False,
    most: int = 5,
    mass: float = 0.0,
) -> dict[int, float]:
    return entity_seeds(kept, links, SPREAD, evidence=evidence, max_entities=most, specific_mass=mass)


def test_a_facts_score_by_the_passages_that_hold_the_entity() -> None:
    assert seeds((candidate(0.8, (1, 2)), 1.0)) == {1: 0.8 / 2, 2: 0.8 / 4}


def test_without_rarity_nothing_is_divided_by_the_passages() -> None:
    kept = [(candidate(0.8, (1, 2)), 1.0)]
    options = {"evidence": False, "max_entities": 5, "specific_mass": 0.0}
    assert entity_seeds(kept, (3,), SPREAD, rarity=False, **options) == {3: 1.0, 1: 0.8, 2: 0.8}


def test_the_mean_over_an_entitys_facts() -> None:
    kept = [(candidate(0.8, (0, 1)), 1.0), (candidate(0.4, (1, 2)), 1.0), (candidate(0.6, (1, 3)), 1.0)]
    assert seeds(*kept) == pytest.approx({0: 0.8, 1: (0.8 + 0.4 + 0.6) / 3 / 2, 2: 0.4 / 4, 3: 0.6})


def test_the_filters_weight_scales_a_fact() -> None:
    assert seeds((candidate(0.8, (0, 1)), 0.25)) == {0: 0.2, 1: 0.1}


def test_only_the_heaviest_seed_and_ties_go_to_the_lower_number() -> None:
    kept = [(candidate(1.0, (7, 6)), 1.0), (candidate(1.0, (5, 4)), 1.0), (candidate(0.5, (3, 0)), 1.0)]
    assert list(seeds(*kept, most=3)) == [4, 5, 6]
    assert list(seeds(*reversed(kept), most=3)) == [4, 5, 6]
    assert list(seeds(*kept, most=5)) == [4, 5, 6, 7, 0]


def test_what_the_question_names_counts_fully() -> None:
    kept = [(candidate(0.2, (1, 3)), 1.0)]
    assert seeds(*kept, links=(1, 2)) == {1: 1 / 2, 2: 1 / 4, 3: 0.2}
    assert seeds(links=(2,)) == {2: 0.25}


def test_the_whole_sentence_seeds_where_it_is_evidence() -> None:
    kept = [(candidate(0.4, (0, 3), 5), 1.0)]
    assert seeds(*kept) == {0: 0.4, 3: 0.4}
    assert seeds(*kept, evidence=True) == {0: 0.4, 3: 0.4, 5: 0.4}


def test_a_score_of_zero_seeds_nothing() -> None:
    assert seeds((candidate(0.0, (0, 1)), 1.0)) == {}
    assert seeds((candidate(1.0, (0, 1)), 0.0)) == {}
    assert seeds() == {}


def test_specific_mass_damps_what_is_common() -> None:
    kept = [(candidate(0.5, (0,)), 1.0)]
    assert seeds(*kept, mass=0.5) == {0: 0.5 / 2}  # half is trusted where the seeds weigh just so much
    heavy = seeds((candidate(1.0, (0, 3, 4)), 1.0), mass=0.5)
    assert heavy == pytest.approx(dict.fromkeys((0, 3, 4), 1.0), rel=0.03)
    light = seeds((candidate(0.05, (0,)), 1.0), mass=0.5)
    assert light[0] < 0.05 * 0.01 + 1e-4
    assert seeds(*kept, mass=0.0) == {0: 0.5}


def test_passages_share_a_constant_mass_however_many_they_are() -> None:
    settings = SeedSettings(passage_share=0.2, passage_power=2.0)
    found = passage_seeds(np.array([1.0, 0.5, 0.0]), settings)
    np.testing.assert_allclose(found, [0.2 * 1 / 1.25, 0.2 * 0.25 / 1.25, 0.0])
    for count in (1, 10, 1000):
        assert passage_seeds(np.linspace(0, 1, count + 1), settings).sum() == pytest.approx(0.2)


def test_only_the_nearest_passages_seed() -> None:
    scores = np.array([0.2, 1.0, 0.9, 0.9])
    settings = SeedSettings(passage_share=0.3, passage_power=1.0, max_passages=2)
    np.testing.assert_allclose(passage_seeds(scores, settings), [0, 0.3 / 1.9, 0.3 * 0.9 / 1.9, 0])


def test_passages_each_weigh_hippo_rags_constant() -> None:
    settings = SeedSettings(passage_rule="each", passage_weight=0.05)
    np.testing.assert_allclose(passage_seeds(np.array([1.0, 0.5, 0.0]), settings), [0.05, 0.025, 0.0])


def test_passages_without_a_score_seed_nothing() -> None:
    for rule in ("share", "each"):
        settings = SeedSettings.model_validate({"passage_rule": rule})
        assert passage_seeds(np.zeros(3), settings).tolist() == [0, 0, 0]
        assert passage_seeds(np.zeros(0), settings).shape == (0,)


def test_the_reset_holds_passages_then_entities() -> None:
    assert reset_vector({0: 0.5, 2: 0.25}, np.array([0.1, 0.2]), 3).tolist() == [0.1, 0.2, 0.5, 0, 0.25]
    assert reset_vector({}, np.zeros(0), 0).shape == (0,)
