"""Recognition without an LLM."""

from __future__ import annotations

from hippo_lit.filter.linked import LinkedFilter, TopFilter
from hippo_lit.types import Fact, ScoredFact


def fact(score: float, *anchors: str, similarity: float = 0.9, specificity: float = 0.5) -> ScoredFact:
    return ScoredFact(Fact("s", "r", str(score)), score, similarity, anchors, specificity)


def test_facts_that_name_what_the_question_names_best_first() -> None:
    given = [fact(0.1, "A"), fact(0.9), fact(0.5, "B"), fact(0.3, "A")]
    outcome = LinkedFilter(0.35, 2).keep("q", given)
    assert outcome.kept == (2, 3, 0)
    assert outcome.weights == (0.5, 0.5, 0.5)
    assert outcome.similarities == (1.0, 1.0, 1.0)


def test_so_many_facts_an_anchor() -> None:
    given = [fact(0.9, "A"), fact(0.8, "A"), fact(0.7, "A"), fact(0.6, "A", "B"), fact(0.5, "B")]
    assert LinkedFilter(0.35, 2).keep("q", given).kept == (0, 1, 3, 4)
    assert LinkedFilter(0.35, 1).keep("q", given).kept == (0, 3)


def test_from_a_similarity_on() -> None:
    given = [fact(0.9, "A", similarity=0.34), fact(0.8, "A", similarity=0.35)]
    assert LinkedFilter(0.35, 2).keep("q", given).kept == (1,)


def test_a_fact_counts_as_far_as_its_anchor_is_specific() -> None:
    given = [fact(0.9, "A", specificity=0.01), fact(0.8, "B", specificity=1.0)]
    assert LinkedFilter().keep("q", given).weights == (0.01, 1.0)


def test_where_nothing_is_named_the_nearest_fact_is_kept_but_weighs_nothing() -> None:
    given = [fact(0.2, specificity=0.0), fact(0.9, specificity=0.0)]
    outcome = LinkedFilter(0.35, 2).keep("q", given)
    assert (outcome.kept, outcome.weights) == ((1,), (0.0,))
    far = [fact(0.9, similarity=0.1, specificity=0.0)]
    assert LinkedFilter(0.35, 2).keep("q", far).kept == ()


def test_names_tell_settings_apart() -> None:
    assert len({LinkedFilter().name, LinkedFilter(0.4).name, LinkedFilter(0.35, 3).name}) == 3


def test_no_filter_keeps_the_first() -> None:
    outcome = TopFilter(2).keep("q", [fact(0.1), fact(0.9), fact(0.9)])
    assert (outcome.kept, outcome.weights) == ((1, 2), ())
    assert TopFilter(9).keep("q", [fact(0.1)]).kept == (0,)
