"""What every `FactFilter` must do."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from hippo_lit.filter.linked import LinkedFilter, TopFilter
from hippo_lit.filter.llm import LLMFilter
from hippo_lit.llm.prompts import Prompt
from hippo_lit.protocols import FactFilter
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Fact, ScoredFact

CANDIDATES = [ScoredFact(Fact(f"subject {i}", "relates to", f"object {i}"), 1 - i / 10) for i in range(8)]


def _llm() -> FactFilter:
    everything = [[c.fact.subject, c.fact.relation, c.fact.object] for c in CANDIDATES]
    reply = json.dumps({"facts": [*everything, ["a", "fact", "nobody offered"]]})
    return LLMFilter(FakeChatModel(lambda _: reply), Prompt("p", "s", "$data"))


@pytest.fixture(params=[_llm, LinkedFilter, TopFilter])
def keeper(request: pytest.FixtureRequest) -> FactFilter:
    make: Callable[[], FactFilter] = request.param
    return make()


@pytest.mark.parametrize(
    "question", ["does subject 1 relate to object 1?", "", "北京 😀 \ud800", "x" * 100_000]
)
def test_kept_are_candidates_each_once(keeper: FactFilter, question: str) -> None:
    assert isinstance(keeper, FactFilter)
    outcome = keeper.keep(question, CANDIDATES)
    assert set(outcome.kept) <= set(range(len(CANDIDATES)))
    assert len(set(outcome.kept)) == len(outcome.kept) == len(outcome.similarities)
    assert all(0 <= similarity <= 1 for similarity in outcome.similarities)


def test_no_candidates_leave_nothing(keeper: FactFilter) -> None:
    assert keeper.keep("q", []).kept == ()


def test_a_name_of_its_own(keeper: FactFilter) -> None:
    assert keeper.name.strip() == keeper.name != ""
