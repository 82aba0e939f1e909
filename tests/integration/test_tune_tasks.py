"""Extraction and answering tried, scored and tuned by the commands; and what goes wrong on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli_support import Cli

import hippo_lit
from hippo_lit.evaluate.own import mock_answers
from hippo_lit.llm.prompts import load_prompt
from hippo_lit.resources import prompts_dir
from hippo_lit.testing import Answer, Recorded, ScriptedServer, chat_reply
from hippo_lit.tune.extract_task import ExtractTask
from hippo_lit.tune.passages import mock_passages
from hippo_lit.tune.working import WorkingCopy

MARK = "Write down every statement."


def asked(turn: dict[str, str]) -> Any:
    return json.loads(turn["content"].partition("<data>")[2].partition("</data>")[0])


class Student:
    """Does half of the work; told MARK, all of it. Writes MARK when asked for instructions."""

    def __init__(self) -> None:
        self.passages = {passage.case.title: passage.case for passage in mock_passages()}
        self.questions = {query.text: query for query in mock_answers().queries}

    def __call__(self, request: Recorded) -> Answer:
        turns = request.body["messages"]
        return chat_reply(self.said(turns), prompt_tokens=900, completion_tokens=100)

    def said(self, turns: Sequence[dict[str, str]]) -> str:
        if not turns[-1]["content"].startswith("<data>"):  # an optimizer asks for instructions
            if "new_instruction" in turns[0]["content"] + turns[-1]["content"]:
                return json.dumps({"new_instruction": MARK})
            fields = ("proposed_instruction", "observations", "summary")
            return "".join(f"[[ ## {field} ## ]]\n{MARK}\n\n" for field in fields) + "[[ ## completed ## ]]"
        data, told = asked(turns[-1]), MARK in turns[0]["content"]
        if "question" in data:
            query = self.questions[data["question"]]
            if told and not query.answers:
                return "Answer: The papers here do not say."
            return f"Answer: {query.answers[0]} [{min(query.relevant)}]" if told else "Answer: 42 [p999]"
        gold = ExtractTask().demonstration(self.passages[data["title"]])
        return json.dumps(gold if told else {"entities": gold["entities"], "triples": gold["triples"][:2]})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer([Student()]) as opened:
        yield opened


def llm(url: str) -> list[str]:
    given = {
        "kind": "openai",
        "model": "scripted",
        "base_url": url,
        "price_in_per_million": "0.15",
        "price_out_per_million": "0.6",
    }
    return [part for key, value in given.items() for part in ("--set", f"llm.{key}={value}")]


@pytest.fixture
def asking(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return llm(server.base_url)


def draft(cli: Cli, name: str) -> Path:
    made = Path(cli("prompt", "new", name).stdout.strip())
    (made / "system.md").write_text(f"{MARK}\n", "utf-8")
    return made


@pytest.mark.parametrize("name", ["extract", "answer"])
def test_the_loop_by_hand(cli: Cli, asking: list[str], server: ScriptedServer, name: str) -> None:
    draft(cli, name)
    cli("prompt", "check", name, "v1")
    told = json.loads(cli("tune", "score", name, "--prompt", "v1", "--json", *asking).stdout)["models"][0]
    current, v1 = (row["measures"]["F1"]["mean"] for row in told["prompts"])
    assert current < 0.6
    assert v1 == 1.0
    assert told["verdicts"][0]["better"] is True
    calls = len(server.requests)
    again = cli("tune", "score", name, "--prompt", "v1", *asking).stdout
    assert "v1 compared with current: better by F1" in again
    assert len(server.requests) == calls
    assert "v1 is in use" in cli("prompt", "promote", name, "v1").stderr
    cli("prompt", "rollback", name)


def test_extraction_is_tried_on_a_paper_and_on_any_text(cli: Cli, asking: list[str]) -> None:
    shown = cli("prompt", "try", "extract", "-q", "p005", *asking).stdout
    assert "Passage\n  1. Block Selection in Transformer Routing\n  2. Full pairwise" in shown
    assert "+ Gatehouse — is — a small router" in shown
    assert "+ entities: Gatehouse; blocks of 64 tokens" in shown


def test_answers_are_tried_with_the_papers_that_they_may_cite(cli: Cli, asking: list[str]) -> None:
    question = mock_answers().queries[0].text
    shown = cli("prompt", "try", "answer", "-q", question, *asking).stdout
    assert "[p028] MedFolio: Clinical Questions Answered from Guidelines" in shown
    assert "+ 42 [p999]" in shown
    assert "- [p999]\n      dropped: was not shown" in shown


@pytest.mark.filterwarnings("default")  # DSPy's own
@pytest.mark.parametrize(("name", "optimizer"), [("extract", "gepa"), ("answer", "mipro")])
def test_an_optimizer_finds_the_better_prompt_and_says_how_far_it_is(
    cli: Cli, asking: list[str], server: ScriptedServer, name: str, optimizer: str
) -> None:
    pytest.importorskip("dspy")
    command = (
        "tune",
        name,
        "--optimizer",
        optimizer,
        "--candidates",
        2,
        "--budget-usd",
        2,
        "--json",
        *asking,
    )
    done = cli(*command)
    told = json.loads(done.stdout)
    assert told["version"] == "v1"
    assert told["models"][0]["verdicts"][0]["better"] is True
    found = load_prompt(Path("hippo-prompts/versions") / name / "v1")
    assert MARK in found.system
    assert found.user == load_prompt(prompts_dir() / name).user
    stage = "gepa, replies" if optimizer == "gepa" else "mipro, trials"
    lines = [line for line in done.stderr.splitlines() if line.startswith(stage)]
    assert lines
    assert "USD spent" in lines[-1]
    if optimizer == "mipro":
        assert ": 5/5" in lines[-1]
        assert "best F1 100.0" in lines[-1]
    calls = len(server.requests)
    assert json.loads(cli(*command).stdout)["version"] == "v1"
    assert len(server.requests) == calls


# -- what goes wrong


def test_a_model_that_answers_nonsense_is_scored_nothing_and_asked_again(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with ScriptedServer([chat_reply("I am a teapot.\x1b[2J")]) as server:
        for _ in range(2):
            told = json.loads(cli("tune", "score", "extract", "--json", *llm(server.base_url)).stdout)
            (row,) = told["models"][0]["prompts"]
            assert row["measures"]["F1"]["mean"] == 0.0
            assert len(row["failed"]) == 12
        assert len(server.requests) == 24
        shown = cli("prompt", "try", "extract", "-q", "Some text.", *llm(server.base_url)).stdout
    assert "cannot be read: no JSON" in shown
    assert "\x1b" not in shown


@pytest.mark.filterwarnings("default")
def test_an_optimizer_over_nonsense_finds_nothing_or_nothing_better(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dspy")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with ScriptedServer([chat_reply("I am a teapot.")]) as server:
        asking = [*llm(server.base_url), "--candidates", "1", "--promote"]
        done = cli("tune", "extract", "--optimizer", "bootstrap", "--json", *asking)
        assert json.loads(done.stdout) == {"version": None, "models": []}
        assert "found nothing better" in done.stderr
        failed = cli("tune", "extract", "--optimizer", "mipro", *asking[:-1], code=5).stderr
    assert "its reply cannot be read" in failed


@pytest.mark.parametrize("name", ["extract", "answer"])
def test_a_budget_of_nothing_asks_nothing(
    cli: Cli, asking: list[str], server: ScriptedServer, name: str
) -> None:
    for command in (("tune", "score", name), ("tune", name), ("prompt", "try", name, "-q", "Where is p005?")):
        failed = cli(*command, "--budget-usd", 0, *asking, code=5)
        assert "budget is used up: 0.0000 of 0 USD" in failed.stderr
    assert server.requests == []
    assert not list(Path("hippo-prompts").glob("versions/*/v*"))


def test_sets_that_hold_nothing_say_so(cli: Cli, asking: list[str], server: ScriptedServer) -> None:
    Path("empty.jsonl").touch()
    Path("papers.jsonl").write_text('{"id": "a", "title": "T", "abstract": "B"}\n', "utf-8")
    Path("bare.jsonl").write_text('{"id": "q", "text": "t", "gold": ["a"], "split": "test"}\n', "utf-8")
    one = '{"id": "a", "text": "t", "entities": [], "triples": [], "split": "tune"}\n'
    Path("one.jsonl").write_text(one, "utf-8")
    for name, data, message in (
        ("extract", "empty.jsonl", "holds no labelled passage"),
        ("extract", "one.jsonl", "this half of the set has no labelled passage"),
        ("extract", "nowhere.jsonl", "is no file of labelled passages"),
        ("answer", "empty.jsonl", "holds no query"),
        ("answer", "bare.jsonl", 'none of these questions has "answers"'),
    ):
        assert message in cli("tune", "score", name, "--data", data, *asking, code=3).stderr
    assert "measured by F1 and entity-F1" in cli(
        "tune", "score", "extract", "--metric", "R@5", *asking, code=2
    ).stderr.replace("\n", " ")
    assert server.requests == []


def test_a_prompt_folder_without_a_file_names_it(cli: Cli, asking: list[str]) -> None:
    (draft(cli, "extract") / "user.md").unlink()
    assert "user.md" in cli("tune", "score", "extract", "--prompt", "v1", *asking, code=2).stderr
    assert "error: user.md: it is missing" in cli("prompt", "check", "extract", "v1", code=1).stderr


def test_two_sessions_may_share_a_folder_of_prompts(tmp_path: Path) -> None:
    prompts = {
        n: load_prompt(prompts_dir() / "extract").__class__("extract", f"Try {n}.", "$data")
        for n in range(12)
    }

    def session(number: int) -> str:
        copy = WorkingCopy(tmp_path / "prompts")
        version = copy.new("extract", prompts[number])
        copy.promote("extract", version, "forced")
        copy.keep_score("extract", {"candidate": prompts[number].hash})
        return version

    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(session, prompts))
    copy = WorkingCopy(tmp_path / "prompts")
    assert sorted(versions) == sorted(f"v{n}" for n in range(1, 13))
    assert [copy.load("extract", version).hash for version in versions] == [p.hash for p in prompts.values()]
    assert len(copy.scores("extract")) == 12
    assert len(copy.history("extract")) == 13
    assert copy.in_use("extract") == copy.history("extract")[-1].version


@pytest.mark.filterwarnings("default")
def test_ctrl_c_in_a_search_and_the_same_command_goes_on(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dspy")
    student, held, released = Student(), threading.Event(), threading.Event()

    def answer(request: Recorded) -> Answer:
        if len(server.requests) == 9:
            held.set()
            released.wait(60)
        return student(request)

    env = {key: value for key, value in os.environ.items() if not key.startswith(("HIPPO_LIT_", "OPENAI_"))}
    env |= {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent), "OPENAI_API_KEY": "k"}
    program = [sys.executable, "-c", "from hippo_lit.cli import main; main()"]
    server = ScriptedServer([answer])
    with server:
        asking = [*llm(server.base_url), "--set", "llm.concurrency=2", "--candidates", "1"]
        command = ["tune", "extract", "--optimizer", "bootstrap", *asking]
        with subprocess.Popen([*program, *command], stderr=subprocess.PIPE, env=env, cwd=tmp_path) as process:
            assert held.wait(60)
            process.send_signal(signal.SIGINT)
            released.set()
            _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said.decode()
        assert "run the same command again to go on" in said.decode()
        first = len(server.requests)
        assert first < 24
        assert "Traceback" not in said.decode()
        assert "closed database" not in said.decode()
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        cli(*command)
    bodies = [json.dumps(request.body, sort_keys=True) for request in server.requests]
    twice = len(bodies) - len(set(bodies))
    assert twice <= 2  # at most what was on its way when it was interrupted
