"""Paper services on the command line, and behind RetrievalClient."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_support import QUICK, Cli
from live_world import World, hex_id, serving

from hippo_lit.assemble import make_services
from hippo_lit.config import load_settings
from hippo_lit.lexical.client import RetrievalClient
from hippo_lit.testing.server import Answer, status


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def options(world: World, tmp_path: Path) -> Iterator[list[str]]:
    with serving(world, tmp_path / "cache") as chosen:
        yield [*QUICK, "--index", "my.idx", *(part for one in chosen for part in ("--set", one))]


def test_services_and_files_become_one_corpus(cli: Cli, options: list[str], world: World) -> None:
    Path("refs.bib").write_text("@article{k, title={On Files}, author={Ada A}, year={2020}}", "utf-8")
    Path("s2:a file").write_text('{"id": "x", "title": "In a file that is named so"}\n', "utf-8")
    sources = ["arxiv:all:sparse", "s2:words", "refs.bib", "s2:a file"]
    told = json.loads(cli("index", *sources, *options, "--json").stdout)
    assert [(s["path"], s["papers"], s["failure"]) for s in told["sources"]] == [
        ("arxiv:all:sparse", 2, None),
        ("s2:words", 2, None),
        ("refs.bib", 1, None),
        ("s2:a file", 1, None),
    ]
    assert told["built"]["papers"] == 6
    asked = len(world.asked)
    told = json.loads(cli("index", *sources, *options, "--json").stdout)
    assert (told["counts"]["unchanged"], told["built"]["published"]) == (6, False)
    assert len(world.asked) == asked  # kept answers


def test_one_service_down_does_not_stop_the_others(cli: Cli, options: list[str], world: World) -> None:
    world.down["s2"] = status(429, retry_after="4000")
    result = cli("index", "s2:words", "arxiv:all:sparse", *options, code=4)
    assert "incomplete: s2:words: 0 papers came, then: Semantic Scholar has no answer" in result.stderr
    assert "asks to wait 4000 s" in result.stderr
    assert "index: 2 papers" in result.stdout
    assert json.loads(cli("info", "--index", "my.idx", "--json").stdout)["papers"] == 2
    told = json.loads(cli("index", "s2:words", "arxiv:all:sparse", *options, "--json", code=4).stdout)
    failure = told["sources"][0]["failure"]
    assert (failure["source"], failure["kind"]) == ("s2", "rate_limit")
    assert failure["retry_after_s"] > 3000


def test_the_limit_is_per_search(cli: Cli, options: list[str]) -> None:
    told = json.loads(cli("index", "arxiv:all:x", "s2:x", *options, "--limit", 1, "--json").stdout)
    assert [source["papers"] for source in told["sources"]] == [1, 1]


@pytest.mark.parametrize(
    ("wrong", "words"), [("arxiv:", "asks for nothing; write arxiv:QUERY"), ("doi:nothing", "is no DOI")]
)
def test_a_question_that_is_none_is_wrong_use(cli: Cli, options: list[str], wrong: str, words: str) -> None:
    assert words in cli("index", wrong, *options, code=2).stderr
    assert not Path("my.idx").exists()


def test_expand_says_what_joined_and_why(cli: Cli, options: list[str]) -> None:
    cli("index", "s2:words", *options)
    told = cli("expand", *options, "--limit", 2).stdout.splitlines()
    a, b, c, d = (hex_id(letter) for letter in "abcd")
    assert told[0] == f"+ Paper D  {d}, 2021: cites {a}, {b}"
    assert told[1] == f"+ Paper C  {c}, 2015: cited by {a}, {b}"
    assert told[2].startswith(
        "asked about 2 of 2 papers (4 requests): 4 linked papers outside the index, 2 joined"
    )
    assert told[3] == "index: 4 papers, 4 passages; 0 without facts"
    told = json.loads(cli("expand", *options, "--limit", 1, "--direction", "references", "--json").stdout)
    assert [(entry["title"], entry["cited_by"]) for entry in told["joined"]] == [("Paper G", [a])]


def test_expand_tells_what_is_missing(cli: Cli, options: list[str], world: World) -> None:
    cli("index", "s2:words", *options)
    world.down["s2"] = Answer(200, b"<html>maintenance</html>")
    result = cli("expand", *options, code=4)
    assert "2 answers are missing:" in result.stderr
    assert "not JSON but begins '<html>maintenance</html>'" in result.stderr
    assert "index: 2 papers" in result.stdout


def test_expand_needs_an_index(cli: Cli, options: list[str]) -> None:
    assert "there is no index at my.idx" in cli("expand", *options, code=6).stderr


def test_two_passes_over_live_sources(world: World, tmp_path: Path) -> None:
    with serving(world, tmp_path) as chosen:
        with make_services(load_settings(overrides=chosen, environ={})) as services:
            client = RetrievalClient([services.source("arxiv:all:sparse"), services.source("s2:words")])
            result = client.retrieve("bbb")
        assert [(r.paper.title, r.graph_distance) for r in result.papers] == [("Paper B", 0), ("Paper A", 1)]
        assert [(step.source, step.target, step.detail) for step in result.papers[1].path] == [
            (hex_id("b"), hex_id("a"), "cites")
        ]
        assert client.retrieve("sparse").papers[0].paper.source == "arxiv"
        world.down["s2"] = Answer(503)
        with make_services(load_settings(overrides=chosen, environ={})) as services:
            sources = [services.source("arxiv:all:sparse"), services.source("s2:other words")]
            partial = RetrievalClient(sources, on_source_error="partial").retrieve("sparse")
        assert (len(partial.papers), partial.degraded) == (2, True)
        assert "source 's2:other words' failed: Semantic Scholar has no answer" in partial.reason
