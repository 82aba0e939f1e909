"""Answers in words: asked once, kept, scored, and gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hippo_lit.answer.values import Answer
from hippo_lit.config import Settings, load_settings
from hippo_lit.errors import ConfigError, DataError
from hippo_lit.evaluate.answering import answer_figures, as_written, check_answering
from hippo_lit.evaluate.compare import compare_runs
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.run import Run
from hippo_lit.evaluate.runner import Runner
from hippo_lit.evaluate.saved import RunFolder, load_run
from hippo_lit.evaluate.summary import summarise
from hippo_lit.evaluate.systems import plan
from hippo_lit.testing.server import Answer as Sent
from hippo_lit.testing.server import Recorded, ScriptedServer, chat_reply, status
from hippo_lit.types import Paper, Usage

PAPERS = [
    Paper("p/1", "Halden bridge", "The Halden bridge was designed by Runa Feld. It opened in 1931."),
    Paper("p/2", "Runa Feld", "Runa Feld was born in Turku."),
]
QUERIES = [
    Query("q1", "Who designed the Halden bridge?", {"p/1": 1}, answers=("Runa Feld", "R. Feld")),
    Query("q2", "Where was Runa Feld born?", {"p/2": 1}, answers=("in the town of Turku",)),
    Query("q3", "What does it weigh?", answers=("",)),
    Query("q4", "Halden", {"p/1": 1}),
]
DATA = Dataset("tiny", PAPERS, QUERIES)
REPLIES = {
    "designed": "Thought: p/1.\nAnswer: Runa Feld [p/1].",
    "born": "Thought: p/2.\nAnswer: in Turku [p/2; p/9]",
    "weigh": "Thought: none.\nAnswer: The papers here do not say.",
}


def reply(request: Recorded) -> Sent:
    asked = request.body["messages"][-1]["content"]
    question = json.loads(asked.partition("<data>")[2].partition("</data>")[0])["question"]
    return chat_reply(next(text for word, text in REPLIES.items() if word in question))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with ScriptedServer([reply]) as running:
        yield running


def settings(server: ScriptedServer, *more: str) -> Settings:
    return load_settings(
        overrides=[
            "embedding.kind=hash",
            "extract.kind=simple",
            "llm.kind=openai",
            f"llm.base_url={server.base_url}",
            "llm.max_attempts=1",
            "llm.price_in_per_million=1",
            "llm.price_out_per_million=2",
            *more,
        ],
        environ={},
    )


def run(store: Path, given: Settings, runs: Path | None = None, *, answers: bool = True) -> Run:
    systems = plan(["bm25"], [("", given)], answers=answers)
    (made,) = Runner(DATA, store, runs=RunFolder(runs) if runs else None).run(systems)
    return made


def test_answers_are_scored_without_their_citations(server: ScriptedServer, tmp_path: Path) -> None:
    made = run(tmp_path / "store", settings(server))
    assert made.written == {"q1": "Runa Feld.", "q2": "in Turku", "q3": ""}
    assert len(server.requests) == 3  # q4 has no gold answer to compare with
    summary = summarise(made, ["EM", "F1", "R@5"])
    means = {name: (figure.mean, figure.queries) for name, figure in summary.measures.items()}
    # q1 is right, q2 has 2 of 4 words after "the", q3 rightly says nothing.
    assert means["EM"] == (pytest.approx(2 / 3), 3)
    assert means["F1"] == (pytest.approx((1 + 2 * 2 / (2 + 4) + 1) / 3), 3)
    assert means["R@5"] == (1.0, 3)
    assert summary.usage == Usage(3, 0, 21, 9, pytest.approx((21 * 1 + 9 * 2) / 1e6))
    figures = answer_figures(made)
    assert figures is not None
    assert figures == summary.answering
    assert (figures.asked, figures.degraded) == (3, 0.0)
    assert figures.grounded == figures.not_said == pytest.approx(1 / 3)  # p/9 was not shown
    assert json.loads(json.dumps(summary.as_json(), allow_nan=False))["answering"]["asked"] == 3


def test_they_are_kept_and_rankings_are_not_made_again(server: ScriptedServer, tmp_path: Path) -> None:
    given, runs = settings(server), tmp_path / "runs"
    plain = run(tmp_path / "store", given, runs, answers=False)
    assert (plain.written, len(server.requests)) == ({}, 0)
    with pytest.raises(DataError, match=r"no answer in words to 3 queries \(q1, q2, q3\)"):
        summarise(plain, ["EM"])
    first = run(tmp_path / "store", given, runs)
    assert {q: a.seconds for q, a in first.answers.items()} == {
        q: a.seconds for q, a in plain.answers.items()
    }  # those of the run without answers
    assert load_run(runs / "bm25") == first
    assert run(tmp_path / "store", given, runs) == first
    assert run(tmp_path / "store", given, runs, answers=False) == first  # what was paid for stays
    assert len(server.requests) == 3
    other = run(tmp_path / "store", settings(server, "answer.top_k=1"), runs)
    assert other.info.key == first.info.key
    assert len(server.requests) > 3
    (em,) = compare_runs(first, [other], ["EM"])
    assert (em.queries, em.difference) == (3, 0.0)


def test_what_failed_is_asked_again_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    sick = ["born"]

    def sometimes(request: Recorded) -> Sent:
        asked = request.body["messages"][-1]["content"]
        return status(500) if any(f"{word}?" in asked for word in sick) else reply(request)

    with ScriptedServer([sometimes]) as server:
        given = settings(server, "llm.concurrency=1")
        made = run(tmp_path / "store", given, tmp_path / "runs")
        summary = summarise(made, ["EM", "F1"])
        assert made.written["q2"] == ""
        assert summary.degraded == 0.25
        assert "500" in summary.reason
        assert summary.measures["F1"].mean == pytest.approx(2 / 3)
        asked = len(server.requests)
        sick.clear()
        again = run(tmp_path / "store", given, tmp_path / "runs")
        assert len(server.requests) == asked + 1
    assert again.written["q2"] == "in Turku"
    assert summarise(again, ["EM"]).degraded == 0.0


def test_a_model_that_must_not_fail_ends_the_run_and_keeps_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with ScriptedServer([reply, status(401, "bad key")]) as server:
        given = settings(server, "llm.concurrency=1", "retrieve.on_model_error=raise")
        with pytest.raises(Exception, match="bad key"):
            run(tmp_path / "store", given, tmp_path / "runs")
    key = json.loads((tmp_path / "runs" / "bm25.jsonl").read_text("utf-8").partition("\n")[0])["key"]
    kept = RunFolder(tmp_path / "runs").partial("bm25", key)
    assert [query for query, answer in kept.items() if answer.written] == ["q1"]


def test_nothing_to_ask_or_nobody_is_known_before(server: ScriptedServer) -> None:
    check_answering(DATA, [settings(server)])
    with pytest.raises(ConfigError, match="no query of none has answers"):
        check_answering(Dataset("none", PAPERS, QUERIES[3:]), [settings(server)])
    with pytest.raises(ConfigError, match=r"llm\.kind is none"):
        check_answering(DATA, [settings(server), load_settings(environ={})])


def test_settings_of_answers_make_systems_differ_only_where_there_are_answers(server: ScriptedServer) -> None:
    sweep = [("answer.top_k", [3, 5])]
    labels = [s.label for s in plan(["bm25"], [("", settings(server))], sweeps=sweep, answers=True)]
    assert labels == ["bm25", "bm25@answer.top_k=3"]  # 5 is the default
    with pytest.raises(ConfigError, match=r"none of bm25 reads answer\.top_k"):
        plan(["bm25"], [("", settings(server))], sweeps=sweep)


@pytest.mark.parametrize("kind", ["extracts", "none"])
def test_sentences_are_no_answer(kind: str) -> None:
    answer = Answer("q", kind, "Turku is a town. [p/2]", citations=("p/2",), degraded=True, reason="x")  # type: ignore[arg-type]
    assert (as_written(answer, "k").text, as_written(answer, "k").degraded) == ("", True)
