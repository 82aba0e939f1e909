"""Which systems are planned, and which of them an index can share."""

from __future__ import annotations

import pytest

from hippo_lit.config import Settings, load_settings
from hippo_lit.errors import ConfigError
from hippo_lit.evaluate.systems import ABLATIONS, changed, check_modes, index_key, parse_sweep, plan
from hippo_lit.resources import configs_dir

BASE = [("default", Settings())]


def labels(*arguments: object, **options: object) -> list[str]:
    return [system.label for system in plan(*arguments, **options)]  # type: ignore[arg-type]


def test_routes_under_one_configuration_keep_their_names() -> None:
    assert labels(["bm25", "hippo"], BASE) == ["bm25", "hippo"]


def test_only_what_a_configuration_changes_runs_twice() -> None:
    rules = load_settings(configs_dir() / "hipporag2.toml", environ={})
    assert labels(["bm25", "hippo"], [*BASE, ("hipporag2", rules)]) == [
        "bm25",
        "hippo@default",
        "hippo@hipporag2",
    ]


def test_ablation_switches_off_one_part_at_a_time_on_the_same_index() -> None:
    systems = plan(["hippo"], BASE, ablate=True)
    assert [s.label for s in systems] == ["hippo", *(f"hippo@no-{part}" for part in ABLATIONS)]
    assert len({index_key(system.settings) for system in systems}) == 1
    assert len({system.signature for system in systems}) == len(systems)
    with pytest.raises(ConfigError, match="add it to --systems"):
        plan(["bm25"], BASE, ablate=True)


def test_a_sweep_concerns_the_routes_that_read_the_setting() -> None:
    sweep = [parse_sweep("ppr.damping=0.3,0.7")]
    assert labels(["bm25", "hippo"], BASE, sweeps=sweep) == ["bm25", "hippo", "hippo@ppr.damping=0.3"]
    assert labels(["lexical", "hybrid"], BASE, sweeps=[("bm25.k1", [1.2])]) == [
        "lexical",
        "hybrid",
        "hybrid@bm25.k1=1.2",
    ]
    with pytest.raises(ConfigError, match=r"none of bm25 reads ppr\.damping"):
        plan(["bm25"], BASE, sweeps=sweep)
    with pytest.raises(ConfigError, match=r"there is no setting 'ppr\.dumping'"):
        plan(["hippo"], BASE, sweeps=[("ppr.dumping", [1])])
    with pytest.raises(ConfigError, match="there is no section 'nope'"):
        plan(["hippo"], BASE, sweeps=[("nope.x", [1])])


def test_sweeps_combine() -> None:
    sweeps = [("ppr.damping", [0.3, 0.7]), ("filter.per_entity", [1, 3])]
    assert labels(["hippo"], BASE, sweeps=sweeps)[1:] == [
        f"hippo@ppr.damping={a},filter.per_entity={b}" for a in (0.3, 0.7) for b in (1, 3)
    ]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"ppr.damping": 0.3}, True),
        ({"graph.citation": 0.0}, True),
        ({"filter.kind": "all"}, True),
        ({"llm.model": "other"}, True),  # no LLM extracts
        ({"graph.title_mention": 1.0}, False),
        ({"graph.synonyms": "none"}, False),
        ({"extract.kind": "simple"}, False),
        ({"embedding.model": "other"}, False),
        ({"bm25.k1": 1.2}, False),
    ],
)
def test_what_acts_on_queries_alone_shares_an_index(change: dict[str, object], same: bool) -> None:
    assert (index_key(changed(Settings(), change)) == index_key(Settings())) is same


def test_modes_and_sweeps_that_are_none() -> None:
    assert check_modes(["hippo", "bm25", "hippo"]) == ["hippo", "bm25"]
    for wrong in (["bm26"], []):
        with pytest.raises(ConfigError, match=r"of bm25, |of hippo, "):
            check_modes(wrong)
    for text in ("ppr.damping", "damping=1", "ppr.damping="):
        with pytest.raises(ConfigError, match="write it as"):
            parse_sweep(text)
    assert parse_sweep("filter.kind = linked, all") == ("filter.kind", ["linked", "all"])
