"""Snowballing over a small world (`live_world`): a and b are in the index, b cites a, both cite c."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from live_world import World, doi, hex_id, serving

from hippo_lit.api import HippoLit
from hippo_lit.config import load_settings
from hippo_lit.errors import ConfigError
from hippo_lit.expand import Expansion, expand
from hippo_lit.testing.server import Answer
from hippo_lit.types import Paper

PAPERS = (
    Paper(doi("a"), "Paper A", "Only aaa is told here.", 2018, doi=doi("a")),
    Paper("mine", "Paper B", "Only bbb is told here.", 2019, doi=doi("b")),
    Paper("strange", "Nobody knows this", "At all."),
)
Run = Callable[..., Expansion]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def lit(world: World, tmp_path: Path) -> Iterator[HippoLit]:
    with serving(world, tmp_path / "cache") as chosen:
        settings = load_settings(
            overrides=["embedding.kind=hash", "extract.kind=simple", *chosen], environ={}
        )
        with HippoLit.open(tmp_path / "my.idx", settings) as lit:
            lit.add(PAPERS)
            yield lit


def letters(expansion: Expansion) -> list[str]:
    return [entry.paper.title[-1].lower() for entry in expansion.joined]


def test_the_best_linked_join_first_then_the_newest(lit: HippoLit) -> None:
    expansion = expand(lit, limit=10)
    # c and d have two links each, e and g one; d is newer than c, e than g.
    assert letters(expansion) == ["d", "c", "e", "g"]
    d, c, e, g = expansion.joined
    assert (d.cites, d.cited_by, d.hop) == ((doi("a"), "mine"), (), 1)
    assert (c.cites, c.cited_by) == ((), (doi("a"), "mine"))
    assert (e.cites, g.cited_by) == ((doi("a"),), (doi("a"),))
    assert d.paper.id == hex_id("d")
    assert (expansion.seeds, expansion.asked, expansion.candidates, expansion.links) == (3, 2, 4, 1)
    assert (expansion.unknown, expansion.failures, expansion.stopped) == (("strange",), (), "")
    assert expansion.counts.added == 4
    assert expansion.built.papers == 7


def test_the_citation_graph_reaches_beyond_the_first_search(lit: HippoLit) -> None:
    before = lit.retrieve("bbb", mode="lexical")
    assert [ranked.paper.id for ranked in before.papers] == ["mine"]
    expand(lit, limit=10)
    after = lit.retrieve("bbb", mode="lexical")
    distances = {ranked.paper.title: ranked.graph_distance for ranked in after.papers}
    assert distances == {
        "Paper B": 0,
        "Paper A": 1,  # the citation within the index was learnt, too
        "Paper C": 1,
        "Paper D": 1,
        "Paper E": 2,
        "Paper G": 2,
    }


def test_the_limit_and_the_direction_are_kept(lit: HippoLit) -> None:
    assert letters(expand(lit, limit=1, direction="references")) == ["c"]
    assert letters(expand(lit, limit=1, direction="citations")) == ["d"]


def test_two_hops_share_the_limit(lit: HippoLit) -> None:
    expansion = expand(lit, hops=2, limit=4)
    assert [
        (letter, entry.hop) for letter, entry in zip(letters(expansion), expansion.joined, strict=True)
    ] == [
        ("d", 1),
        ("c", 1),
        ("f", 2),  # cites d
    ]
    assert expansion.joined[2].cites == (hex_id("d"),)


def test_openalex_can_be_asked_instead(lit: HippoLit) -> None:
    expansion = expand(lit, source="openalex", limit=2)
    assert letters(expansion) == ["d", "c"]
    assert expansion.joined[0].paper.id == f"W{ord('d')}"
    assert expansion.joined[0].cites == (doi("a"), "mine")


def test_the_same_again_asks_nothing_twice(lit: HippoLit, world: World, tmp_path: Path) -> None:
    first = expand(lit, limit=2)
    asked = len(world.asked)
    with HippoLit.open(tmp_path / "other.idx", lit.settings) as other:
        other.add(reversed(PAPERS))
        again = expand(other, limit=2)
    assert again.joined == first.joined
    assert (len(world.asked), again.requests) == (asked, 0)


def test_a_paper_that_fails_costs_only_itself(lit: HippoLit, world: World) -> None:
    world.broken = {"a"}
    expansion = expand(lit, limit=10)
    assert letters(expansion) == ["d", "c"]  # what b knows of
    (failure,) = expansion.failures
    assert (failure.status, failure.source) == (500, "s2")
    assert (expansion.asked, expansion.stopped) == (1, "")


def test_a_service_that_is_down_is_left_alone(lit: HippoLit, world: World) -> None:
    world.down["s2"] = Answer(503)
    lit.add([Paper(f"p{n}", f"Title {n}", doi=f"10.2/{n}") for n in range(9)])
    expansion = expand(lit)
    assert (expansion.joined, len(expansion.failures)) == ((), 3)
    assert expansion.stopped == "Semantic Scholar failed 3 times in a row"
    assert len(world.asked) == 3
    assert len(lit) == 12


def test_a_budget_of_requests_is_kept_and_the_next_run_goes_on(lit: HippoLit, world: World) -> None:
    expansion = expand(lit, limit=10, max_requests=2)
    assert expansion.requests == 2
    assert expansion.stopped == "all 2 requests that were allowed are made"
    assert expansion.failures == ()
    assert letters(expansion) == ["d", "e", "c", "g"]  # what a knows of
    asked = len(world.asked)
    expand(lit, limit=10, direction="references", max_requests=1)
    assert len([path for path in world.asked[asked:] if "batch" not in path]) == 1


@pytest.mark.parametrize(
    "wrong", [{"hops": 0}, {"limit": 0}, {"max_requests": 0}, {"direction": "up"}, {"source": "arxiv"}]
)
def test_wrong_settings_are_refused(lit: HippoLit, wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"must be"):
        expand(lit, **wrong)
