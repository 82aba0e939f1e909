from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hippo_lit import tool
from hippo_lit.api import HippoLit
from hippo_lit.config import load_settings
from hippo_lit.errors import ChatModelError, ConfigError, SourceError
from hippo_lit.sentences import first_sentences
from hippo_lit.sources.mock import build_corpus
from hippo_lit.testing import FakeChatModel
from hippo_lit.tool.definition import retrieving
from hippo_lit.tool.formats import json_schema
from hippo_lit.tool.metrics import MetricsLog
from hippo_lit.tool.papers import evaluator_view, runner_view
from hippo_lit.tool.toolbox import Toolbox, ToolResult
from hippo_lit.types import Paper

SETTINGS = load_settings(overrides=["embedding.kind=hash", "extract.kind=simple"], environ={})
LLM = [
    "embedding.kind=hash",
    "llm.kind=openai",
    "extract.kind=llm",
    "extract.names_from=none",
    "filter.kind=llm",
]
SECRET = "sk-verysecret"


@pytest.fixture(scope="module")
def lit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HippoLit]:
    folder = tmp_path_factory.mktemp("toolbox") / "mock.idx"
    with HippoLit.open(folder, SETTINGS) as opened:
        opened.add(build_corpus())
        yield opened


@pytest.fixture(scope="module")
def box(lit: HippoLit) -> Toolbox:
    return Toolbox(lit)


def good(result: ToolResult, box: Toolbox, name: str) -> dict[str, Any]:
    """The content of a result that keeps its tool's schema."""
    assert not result.is_error, result.text
    schema = next(each.result for each in box.definitions if each.name == name)
    Draft202012Validator(json_schema(schema, output=True)).validate(result.content)
    return result.content


def failure(result: ToolResult) -> dict[str, Any]:
    assert result.is_error
    error: dict[str, Any] = result.content["error"]
    assert result.text.startswith(f"error {error['code']}: ")
    assert error["what_to_do"]
    return error


def test_a_search_gives_what_a_runner_reads_and_no_more(box: Toolbox, lit: HippoLit) -> None:
    asked = "does sparse attention lose accuracy?"
    content = good(box.call("search_papers", {"query": asked, "k": 3}), box, "search_papers")
    ranked = lit.retrieve(asked, 3).papers
    assert (
        content["papers"]
        == [
            {"id": r.paper.id, "title": r.paper.title, "summary": first_sentences(r.paper.abstract, 3)}
            for r in ranked
        ]
        == [runner_view(r.paper) for r in ranked]
    )


def test_a_search_gives_what_an_evaluator_reads(box: Toolbox, lit: HippoLit) -> None:
    asked = {"query": "sparse attention", "k": 2, "fields": ["year", "references"], "mode": "lexical"}
    content = good(box.call("search_papers", json.dumps(asked)), box, "search_papers")
    ranked = lit.retrieve("sparse attention", 2, "lexical").papers
    assert content["papers"] == [evaluator_view(each.paper) for each in ranked]
    assert content["papers"][0] == {
        "id": ranked[0].paper.id,
        "year": ranked[0].paper.year,
        "references": list(ranked[0].paper.references),
    }


@pytest.mark.parametrize("max_tokens", [200, 500, 1_000, 2_000])
@pytest.mark.parametrize("name", ["search_papers", "related_papers", "get_paper"])
def test_results_are_within_their_tokens_and_alike(box: Toolbox, name: str, max_tokens: int) -> None:
    query = (
        {"query": "adapters for clinical questions", "k": 50} if name == "search_papers" else {"id": "p057"}
    )
    asked = {**query, "max_tokens": max_tokens}
    one, two = box.call(name, asked), box.call(name, asked)
    assert one.tokens <= max_tokens
    assert (one.content, one.text) == (two.content, two.text)
    good(one, box, name)


def test_what_was_left_out_is_said(box: Toolbox) -> None:
    content = good(
        box.call("search_papers", {"query": "attention", "k": 50, "max_tokens": 300}), box, "search_papers"
    )
    assert content["left_out"] > 0
    assert content["left_out"] + len(content["papers"]) <= 50


def test_an_empty_result_says_why(box: Toolbox) -> None:
    asked = {"query": "attention", "filters": {"years": "1950"}}
    content = good(box.call("search_papers", asked), box, "search_papers")
    assert content["papers"] == []
    assert "the filters leave 0 of 100 papers" in content["note"]


def test_neighbours_come_in_pages_each_once(box: Toolbox, lit: HippoLit) -> None:
    snapshot = lit.snapshot()
    assert snapshot is not None
    told: list[dict[str, Any]] = []
    cursor, total = None, None
    while True:
        asked = {"id": "p057", "relations": ["cites", "cited_by"], "limit": 2, "cursor": cursor}
        page = good(box.call("related_papers", asked), box, "related_papers")
        told += page["papers"]
        total, cursor = page["total"], page.get("next_cursor")
        if cursor is None:
            break
    paper = snapshot.paper(snapshot.find("p057") or 0)
    both = {*snapshot.citations.forward("p057"), *snapshot.citations.backward("p057")}
    assert {each["id"] for each in told} == both >= set(paper.references)
    assert len(told) == total == len(both)
    asked = {"id": "p057", "relations": ["cites", "cited_by"], "limit": 1}
    cursor = box.call("related_papers", asked).content["next_cursor"]
    for other in ({"id": "p028"}, {"relations": ["cites"]}):
        elsewhere = failure(box.call("related_papers", asked | other | {"cursor": cursor}))
        assert elsewhere["code"] == "stale_cursor"
    stale = failure(box.call("related_papers", {"id": "p057", "cursor": "2-s-1-0000"}))
    assert stale["code"] == "stale_cursor"


def test_the_corpus_says_what_it_holds(box: Toolbox, lit: HippoLit) -> None:
    content = good(box.call("corpus_info"), box, "corpus_info")
    years = [paper.year for paper in build_corpus() if paper.year]
    assert content["papers"] == 100
    assert (content["first_year"], content["last_year"]) == (min(years), max(years))
    assert content["llm"] is False
    assert str(lit.path) not in json.dumps(content)


@pytest.mark.parametrize(
    ("name", "arguments", "code", "says"),
    [
        ("nothing", {}, "unknown_tool", "search_papers"),
        ("add_papers", {"papers": []}, "unknown_tool", "no tool"),
        ("get_paper", {"id": "P057"}, "not_found", "p057"),
        ("get_paper", {}, "invalid_arguments", "id: Field required"),
        ("get_paper", {"id": "p057", "path": "/etc/passwd"}, "invalid_arguments", "path: Extra"),
        ("search_papers", {"query": ""}, "invalid_arguments", "query"),
        ("search_papers", {"query": "x" * 2_001}, "invalid_arguments", "2000"),
        ("search_papers", {"query": "x", "k": 51}, "invalid_arguments", "k: "),
        ("search_papers", {"query": "x", "max_tokens": 10**9}, "invalid_arguments", "20000"),
        ("search_papers", {"query": "x", "mode": "best"}, "invalid_arguments", "mode"),
        (
            "search_papers",
            {"query": "x", "filters": {"years": "2019-2010"}},
            "invalid_arguments",
            "2010-2019",
        ),
        ("search_papers", {"query": "x", "filters": {"only": ["a"] * 201}}, "invalid_arguments", "200"),
        ("search_papers", "{not json", "invalid_arguments", "JSON"),
        ("search_papers", "[" * 100_000, "invalid_arguments", "JSON"),
        ("search_papers", '["query"]', "invalid_arguments", "arguments"),
    ],
)
def test_wrong_calls_are_errors_that_say_what_to_do(
    box: Toolbox, name: str, arguments: Any, code: str, says: str
) -> None:
    result = box.call(name, arguments)
    assert failure(result)["code"] == code
    assert says in result.text
    assert len(result.text) < 1_000


def test_what_went_wrong_is_told_without_paths_keys_or_tracebacks(
    lit: HippoLit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    box = Toolbox(lit)
    for error, code, wait in (
        (ChatModelError(f"bad key {SECRET}", model="m", kind="auth"), "model_failed", None),
        (ChatModelError("slow down", model="m", kind="rate_limit", retry_after_s=7.0), "model_failed", 7.0),
        (SourceError("down", source="s2", retry_after_s=3.0), "source_failed", 3.0),
        (ConfigError(f"see {lit.path}/settings"), "configuration", None),
        (ZeroDivisionError(f"{SECRET} in an abstract"), "internal", None),
    ):

        def fail(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(HippoLit, "retrieve", fail)
        result = box.call("search_papers", {"query": "x"})
        assert failure(result)["code"] == code
        assert failure(result).get("retry_after_s") == wait
        for told in (result.text, caplog.text):
            assert SECRET not in told
            assert str(lit.path) not in told
            assert "Traceback" not in told


def test_a_call_whose_time_is_up_ends_at_its_next_stage(box: Toolbox) -> None:
    assert failure(box.call("search_papers", {"query": "x"}, timeout_s=0.0))["code"] == "timeout"


def test_a_call_that_is_stopped_ends_at_its_next_stage(box: Toolbox) -> None:
    stop, heard = threading.Event(), []

    def progress(stage: str, _done: int, _total: int) -> None:
        heard.append(stage)
        if stage == "facts":
            stop.set()

    call = box.prepare("search_papers", {"query": "sparse attention"})
    assert failure(box.run(call, progress=progress, stop=stop))["code"] == "cancelled"
    assert heard == ["search_papers", "embed", "facts"]


def test_calls_go_in_lanes_by_what_they_need() -> None:
    def lane(mode: str, settings: Any) -> str:
        from hippo_lit.tool.arguments import SearchPapers

        return retrieving(SearchPapers.model_validate({"query": "x", "mode": mode}), settings)

    llm = load_settings(overrides=LLM, environ={})
    assert [lane(mode, llm) for mode in ("lexical", "bm25", "dense", "hippo")] == [
        "words",
        "words",
        "vectors",
        "llm",
    ]
    assert lane("hippo", SETTINGS) == "vectors"


def test_it_follows_what_others_publish(tmp_path: Path) -> None:
    folder = tmp_path / "an.idx"
    with HippoLit.open(folder, SETTINGS) as writer:
        writer.add([Paper("a", "Alpha", "Alpha is first.")])
        with HippoLit.open(folder, SETTINGS, read_only=True) as reader:
            box = Toolbox(reader)
            assert box.call("corpus_info").content["papers"] == 1
            writer.add([Paper("b", "Beta", "Beta is second.")])
            assert box.call("corpus_info").content["papers"] == 2


def test_papers_can_be_added_where_that_is_allowed(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path / "an.idx", SETTINGS) as lit:
        box = Toolbox(lit, allow_write=True)
        assert failure(box.call("search_papers", {"query": "x"}))["code"] == "index_unavailable"
        record = {
            "id": "n1",
            "title": "New",
            "abstract": "New things are found.",
            "year": 2024,
            "references": ["x"],
        }
        content = good(box.call("add_papers", {"papers": [record]}), box, "add_papers")
        assert content == {"added": 1, "changed": 0, "unchanged": 0, "papers": 1, "passages_without_facts": 0}
        found = box.call("get_paper", {"id": "n1", "fields": ["title", "year", "references"]}).content
        assert found == {"id": "n1", "title": "New", "year": 2024, "references": ["x"]}
        empty = failure(box.call("add_papers", {"papers": [{"id": "n2"}]}))
        assert empty["code"] == "invalid_arguments"
        assert "neither a title nor an abstract" in empty["message"]


def test_metrics_are_logged_without_queries_or_texts(lit: HippoLit, tmp_path: Path) -> None:
    with MetricsLog(tmp_path / "log.jsonl") as log:
        box = Toolbox(lit, metrics=log)
        result = box.call("search_papers", {"query": "sparse attention", "k": 3})
        box.call("no such tool, but a secret")
    text = (tmp_path / "log.jsonl").read_text("utf-8")
    first, second = map(json.loads, text.splitlines())
    assert first["tool"] == "search_papers"
    assert (first["ok"], first["hits"], first["route"], first["degraded"]) == (True, 3, "hippo", False)
    assert first["tokens"] == result.tokens
    assert first["top_score"] >= first["mean_score"] > 0
    assert first["seconds"] >= first["wall_time_s"] >= sum(first["stages_s"].values()) * 0.5
    assert second.items() >= {"tool": "", "ok": False, "code": "unknown_tool"}.items()
    assert first["time"].endswith("+00:00")
    assert "sparse" not in text
    assert "secret" not in text


def test_the_filter_of_a_model_sees_a_stop_before_it_is_asked(tmp_path: Path) -> None:
    triples = json.dumps({"entities": [], "triples": [["Alpha", "extends", "Beta"]]})
    settings = load_settings(overrides=LLM, environ={})
    chat = FakeChatModel([triples, triples])
    with HippoLit.open(tmp_path / "an.idx", settings, chat=chat) as lit:
        lit.add([Paper("a", "Alpha", "Alpha extends Beta.")])
        asked = len(chat.calls)
        stop = threading.Event()
        box = Toolbox(lit)
        call = box.prepare("search_papers", {"query": "Alpha"})
        assert call.lane == "llm"
        box.run(call, stop=stop, progress=lambda stage, *_: stop.set() if stage == "filter" else None)
        assert len(chat.calls) == asked


def test_the_function_for_other_apis_uses_the_index_of_the_environment(
    lit: HippoLit, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tool.call("get_paper", '{"id": "p001"}', lit).content["id"] == "p001"
    monkeypatch.setenv("HIPPO_LIT_INDEX", str(lit.path))
    assert tool.call("corpus_info").content["papers"] == 100
    monkeypatch.delenv("HIPPO_LIT_INDEX")
    with pytest.raises(ConfigError, match="HIPPO_LIT_INDEX"):
        tool.call("corpus_info")
