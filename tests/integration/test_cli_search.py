"""`hippo-lit search`: rankings for people and for programs, and every kind of bad question."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_support import HASH, QUICK, Cli

from hippo_lit.api import HippoLit
from hippo_lit.storage.publish import CURRENT
from hippo_lit.storage.store import STORE_FILE
from hippo_lit.types import RetrievalResult


def test_a_ranking_is_a_compact_table(cli: Cli, mock_index: Path) -> None:
    lines = cli("search", "low-rank adapters", "--index", mock_index, "-k", "2", *QUICK).stdout.splitlines()
    assert re.fullmatch(r"2 papers by \w+.*", lines[0])
    assert lines[1].split() == ["#", "score", "year", "title,", "id,", "authors"]
    assert re.fullmatch(r"1  [01]\.\d{3}  20\d\d  \S.*", lines[2])
    assert re.fullmatch(r" {16}p\d{3}  \S.* et al\.", lines[3])
    assert all(line == line.rstrip() for line in lines)


def test_k_and_mode(cli: Cli, mock_index: Path) -> None:
    for mode in ("hippo", "lexical", "bm25", "dense", "hybrid"):
        found = cli(
            "search", "sparse attention", "--index", mock_index, "-k", 3, "--mode", mode, "--json", *QUICK
        )
        told = json.loads(found.stdout)
        assert told["mode"] == mode
        assert [paper["rank"] for paper in told["papers"]] == [1, 2, 3]


def test_what_was_found_is_logged_and_not_what_was_asked(cli: Cli, mock_index: Path) -> None:
    for mode in ("bm25", "hippo"):
        cli("search", "sparse", "--index", mock_index, "--mode", mode, "--metrics-log", "m.jsonl", *QUICK)
    text = Path("m.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["mode"] for line in lines] == ["bm25", "hippo"]
    assert all(line["hits"] == 10 and line["top_score"] >= line["mean_score"] > 0 for line in lines)
    assert "sparse" not in text


def test_explain_shows_facts_seeds_ways_and_times(cli: Cli, fact_index: Path) -> None:
    shown = cli("search", "What does Alpha extend?", "--index", fact_index, "--explain", *HASH).stdout
    assert re.search(r"^\+ 0\.\d\d +Alpha — extends — Beta \[a1\]$", shown, re.MULTILINE)
    assert re.search(r"^- -?0\.\d\d +Beta — was built in — Kraków \[b2\]$", shown, re.MULTILINE)
    assert re.search(r"^ +\d\.\d{3} Alpha \(the question names it\)$", shown, re.MULTILINE)
    assert "Alpha —[mention]→ a1" in shown
    assert re.search(
        r"bm25 [\d.]+ · dense [\d.]+ · hybrid [\d.]+ · held [\d.]+ · ppr [\d.]+ · lexical [\d.]+ \(bm25",
        shown,
    )
    assert re.search(
        r"^Time  embed \d+ ms · .*total \d+ ms$", re.sub(r"\n(?=·|ms|\d)", " ", shown), re.MULTILINE
    )


def test_only_who_asks_for_ways_waits_for_them(
    cli: Cli, fact_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[RetrievalResult] = []
    retrieve = HippoLit.retrieve

    def noted(*arguments: Any, **options: Any) -> RetrievalResult:
        results.append(retrieve(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(HippoLit, "retrieve", noted)
    command = ("search", "What does Alpha extend?", "--index", fact_index, *HASH)
    plain = cli(*command).stdout
    explained = cli(*command, "--explain").stdout
    told = json.loads(cli(*command, "--json").stdout)
    assert [any(paper.path for paper in result.papers) for result in results] == [False, True, True]
    assert "]→" not in plain
    assert "Alpha —[mention]→ a1" in explained
    assert told["papers"][0]["path"]


def test_the_route_and_its_reason_are_told(cli: Cli, mock_index: Path) -> None:
    strict = ("--set", "filter.min_similarity=1")
    line = cli("search", "qqq zzz", "--index", mock_index, *QUICK, *strict).stdout.splitlines()[0]
    assert re.fullmatch(r"\d+ papers? by hybrid in place of hippo: no fact survived the filter", line)


def test_a_failing_filter_is_called_degraded(cli: Cli, fact_index: Path) -> None:
    down = ("--set", "llm.base_url=http://127.0.0.1:9/v1", "--set", "llm.max_attempts=1")
    model = ("--set", "llm.kind=openai", "--set", "filter.kind=llm", *down)
    shown = cli("search", "Alpha", "--index", fact_index, *HASH, *model).stdout
    assert "by hybrid in place of hippo — DEGRADED: " in shown
    assert "127.0.0.1:9" in shown
    strict = ("--set", "retrieve.on_model_error=raise")
    assert (
        "127.0.0.1:9" in cli("search", "Alpha", "--index", fact_index, *HASH, *model, *strict, code=5).stderr
    )


def test_json_is_the_whole_result_and_nothing_else(cli: Cli, fact_index: Path) -> None:
    told = json.loads(cli("search", "Alpha", "--index", fact_index, "--json", *HASH).stdout)
    assert list(told) == ["query", "mode", "route", "papers", "degraded", "reason", "metrics", "trace"]
    first = told["papers"][0]
    assert first["paper"]["id"] == "a1"
    assert first["paper"]["references"] == ["b2", "x-9"]
    assert first["path"][-1]["target"] == "a1"
    assert told["trace"]["kept"][0]["fact"] == {"subject": "Alpha", "relation": "extends", "object": "Beta"}


@pytest.mark.parametrize(
    ("years", "allowed"),
    [("2018-2019", {2018, 2019}), ("2020", {2020}), ("2024-", {2024, 2025}), ("-2016", {2016})],
)
def test_years_restrict_what_is_ranked(cli: Cli, mock_index: Path, years: str, allowed: set[int]) -> None:
    command = (
        "search",
        "language model",
        "--index",
        mock_index,
        "-k",
        100,
        "--mode",
        "dense",
        "--json",
        *QUICK,
    )
    told = json.loads(cli(*command, "--year", years).stdout)
    assert {paper["paper"]["year"] for paper in told["papers"]} == allowed


@pytest.mark.parametrize("years", ["twenty", "20-21", "-", "", "2018-2020-2022", "2018..2020", "٢٠٢٠"])
def test_years_that_are_none(cli: Cli, mock_index: Path, years: str) -> None:
    said = cli("search", "x", "--index", mock_index, "--year", years, code=2).stderr
    assert "write 2018-2024, 2020, 2018- or -2020" in said


def test_years_the_wrong_way_round(cli: Cli, mock_index: Path) -> None:
    said = cli("search", "x", "--index", mock_index, "--year", "2024-2018", code=2).stderr
    assert "did you mean 2018-2024?" in said


def test_excluded_papers_are_gone_and_unknown_ones_are_named(cli: Cli, mock_index: Path) -> None:
    command = ("search", "sparse attention", "--index", mock_index, "--mode", "bm25", "--json", *QUICK)
    top = [paper["paper"]["id"] for paper in json.loads(cli(*command).stdout)["papers"]]
    result = cli(*command, "--exclude", top[0], "--exclude", top[1], "--exclude", "p999")
    left = [paper["paper"]["id"] for paper in json.loads(result.stdout)["papers"]]
    assert left[:8] == top[2:]
    assert json.loads(result.stdout)["reason"] == "the index holds no paper p999, which is to be excluded"
    assert result.stderr == ""


@pytest.mark.parametrize("query", ["", "   ", "\t\n"])
@pytest.mark.parametrize("command", ["search", "ask", "prior-art"])
def test_an_empty_question_is_wrong_use(cli: Cli, mock_index: Path, command: str, query: str) -> None:
    result = cli(command, query, "--index", mock_index, *QUICK, code=2)
    assert "it is empty; write what you are looking for" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "query",
    [
        "🦛📚",
        "稀疏注意力",
        "الانتباه المتفرق",
        "a" * 100_000,
        "sparse " * 14_000,
        "\udcff\udc80",
        "[red]x[/red]",
        "--",
    ],
)
def test_any_query_is_answered(cli: Cli, mock_index: Path, query: str) -> None:
    for extra in ([], ["--explain"], ["--json"]):
        result = cli("search", "--index", mock_index, *QUICK, *extra, "--", query)
        assert "error" not in result.stderr
    told = json.loads(result.stdout)
    assert told["query"] == query
    assert len(told["papers"]) <= 10


def test_a_hundred_columns_into_a_pipe_and_sixty_where_told(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("search", "low-rank adapters forget less", "--index", mock_index, "--explain", *QUICK)
    wide = cli(*command).stdout.splitlines()
    assert 60 < max(map(len, wide)) <= 100
    monkeypatch.setenv("COLUMNS", "60")
    narrow = cli(*command).stdout
    assert max(map(len, narrow.splitlines())) <= 60
    assert "\x1b" not in narrow
    for paper in ("p050", "p052"):
        assert paper in narrow


def test_what_papers_say_is_never_obeyed(cli: Cli, fact_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for colour in ("0", "1"):
        monkeypatch.setenv("FORCE_COLOR", colour)
        shown = cli("search", "Gamma helps", "--index", fact_index, "--explain", *HASH).stdout
        assert "[bold]markup[/bold] :smile: title" in re.sub(r"\x1b\[[\d;]*m", "", shown)
        assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[\d;]*m)", shown)


# An index that is not as it should be


def test_a_folder_that_is_no_index(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "absent"):
        for command in (("search", "x"), ("show", "p1"), ("info",)):
            said = cli(*command, "--index", folder, code=6).stderr
            assert f"there is no index at {folder}" in said
        assert not list(tmp_path.glob(f"{folder}/*"))


def test_an_index_of_which_nothing_is_published(cli: Cli, mock_index: Path) -> None:
    (mock_index / CURRENT).unlink()
    assert "holds no published index yet" in cli("search", "x", "--index", mock_index, *QUICK, code=6).stderr
    assert "100 papers are stored: run the index command again" in cli("info", "--index", mock_index).stdout
    assert "Facts: 0" in cli("show", "p001", "--index", mock_index).stdout
    cli("index", "mock", "--index", mock_index, *QUICK)
    cli("search", "x", "--index", mock_index, *QUICK)


@pytest.mark.parametrize("damage", ["current", "snapshot", "store"])
def test_a_damaged_index_is_named(cli: Cli, mock_index: Path, damage: str) -> None:
    if damage == "current":
        (mock_index / CURRENT).write_text("s-1-gone\n")
    elif damage == "snapshot":
        for file in (mock_index / "snapshots").rglob("*years*"):
            file.write_bytes(file.read_bytes()[:7])
    else:
        (mock_index / STORE_FILE).write_bytes(b"")
    said = cli("search", "sparse", "--index", mock_index, *QUICK, code=6).stderr
    assert said.startswith("error: ")
    assert "index" in said
    assert "internal error" not in said


def test_another_embedder_than_the_index_has(cli: Cli, mock_index: Path) -> None:
    other = (*QUICK, "--set", "embedding.dimensions=32")
    said = cli("search", "x", "--index", mock_index, *other, code=6).stderr
    assert "was indexed with the embedder hash-64, the settings name hash-32" in said


# Filters


def test_filters_of_every_kind(cli: Cli, mock_index: Path) -> None:
    command = (
        "search",
        "language model",
        "--index",
        mock_index,
        "-k",
        100,
        "--mode",
        "dense",
        "--json",
        *QUICK,
    )
    everything = [paper["paper"] for paper in json.loads(cli(*command).stdout)["papers"]]
    family = everything[0]["authors"][0].split()[-1]

    def left(*options: str) -> list[Any]:
        return [paper["paper"] for paper in json.loads(cli(*command, *options).stdout)["papers"]]

    expected = [paper for paper in everything if any(a.split()[-1] == family for a in paper["authors"])]
    assert left("--author", family.upper()) == expected
    assert left("--venue", "Nature") == []
    assert len(left("--has-abstract")) == sum(bool(paper["abstract"]) for paper in everything)
    assert left("--only", "p003", "--only", "p001", "--exclude", "p003") == [
        paper for paper in everything if paper["id"] == "p001"
    ]
    arxiv = [paper for paper in everything if "arxiv" in paper["source"].split("+")]
    assert left("--source", "arxiv") == arxiv
    assert left("--open-access", "--no-retracted") == [p for p in everything if p.get("open_access")]


def test_an_unknown_author_is_named(cli: Cli, mock_index: Path) -> None:
    shown = cli("search", "attention", "--index", mock_index, "--author", "Nobodyson", *QUICK).stdout
    assert shown.startswith("0 papers by ")
    assert 'no paper has the author "Nobodyson"' in shown
    assert '(0 of author "Nobodyson")' in " ".join(shown.split())
