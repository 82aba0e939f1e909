"""Extraction by batch jobs against a server that plays the API: left, resumed, crashed, and every bad end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hippo_lit import HippoLit, Paper, Settings, batching
from hippo_lit.compact import compact
from hippo_lit.errors import ConfigError
from hippo_lit.index import Built
from hippo_lit.models import batch_api
from hippo_lit.models.guard import Budget
from hippo_lit.models.usage import UsageMeter
from hippo_lit.storage.batches import BatchLedger
from hippo_lit.testing import BatchServer, FakeChatModel, chat_reply, status

PAPERS = [Paper(f"p{i}", f"Title {i}", f"Thing {i} extends Base {i}.") for i in range(4)]


def answer(body: Mapping[str, Any]) -> str:
    """The fact of the paper asked about."""
    number = asked(body)
    return json.dumps({"entities": [], "triples": [[f"Thing {number}", "extends", f"Base {number}"]]})


def asked(body: Mapping[str, Any]) -> str:
    return str(body["messages"][-1]["content"]).split('"title": "Title ')[1][0]


def given(server: BatchServer, **llm: Any) -> Settings:
    chosen = {"kind": "openai", "base_url": server.base_url, "max_attempts": 1, "concurrency": 2}
    return Settings.model_validate(
        {
            "embedding": {"kind": "hash"},
            "llm": chosen | {"price_in_per_million": 1000.0, "price_out_per_million": 10_000.0} | llm,
            "extract": {"kind": "llm", "names_from": "none"},
        }
    )


def run(folder: Path, server: BatchServer, how: Any = "submit", budget: Budget | None = None) -> Built:
    """One process's run: everything is opened and closed again."""
    with HippoLit.open(folder, given(server)) as lit:
        lit.put(PAPERS)
        return lit.build(batch=how, budget=budget)


def n_facts(folder: Path) -> int:
    with HippoLit.open(folder, read_only=True) as lit:
        snapshot = lit.snapshot()
        return snapshot.graph.n_facts if snapshot is not None else 0


def test_a_job_is_submitted_left_and_collected_by_another_process(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        first = run(tmp_path, server)
        assert (first.published, first.extracted, first.left, first.pending) == (True, 1, 3, True)
        assert first.notes == ("submitted job batch_1 with 3 requests",)
        assert "batch_1" in first.stopped
        assert [asked(body) for body in server.online] == ["0"]  # the probe
        rows = server.requests("batch_1")
        assert sorted(asked(row["body"]) for row in rows) == ["1", "2", "3"]
        assert {row["url"] for row in rows} == {"/v1/chat/completions"}
        assert len({row["custom_id"] for row in rows}) == 3

        waiting = run(tmp_path, server)
        assert (waiting.published, waiting.extracted, waiting.left, waiting.notes) == (False, 0, 3, ())
        assert len(server.jobs) == 1

        server.finish()
        meter = UsageMeter()
        with meter.active():
            last = run(tmp_path, server)
        assert (last.extracted, last.left, last.failed, last.pending) == (3, 0, 0, False)
        assert last.notes == ("job batch_1 completed: 3 of 3 requests answered",)
        spent = meter.stages()["extract"]
        assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (3, 21, 9)
        assert spent.cost_usd == pytest.approx(0.5 * (21 * 1000 + 9 * 10_000) / 1e6)
        assert n_facts(tmp_path) == 4

        again = run(tmp_path, server)
        assert (again.published, again.extracted, len(server.jobs), len(server.online)) == (False, 0, 1, 1)


def test_the_index_remembers_whom_it_asked_and_compacting_leaves_jobs_alone(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        compact(tmp_path, replies=True)
        server.finish()
        with HippoLit.open(tmp_path) as lit:
            assert lit.change() is None
            built = lit.build(batch="submit", rebuild=True)
        assert (built.published, built.extracted, built.left, len(server.jobs)) == (True, 3, 0, 1)
        assert len(server.online) == 1
    assert n_facts(tmp_path) == 4


def test_results_are_those_of_online_calls(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path / "batch", server)
        server.finish()
        by_jobs = run(tmp_path / "batch", server)
        one_by_one = run(tmp_path / "online", server, how=None)
    assert by_jobs.snapshot == one_by_one.snapshot


def test_waiting_polls_until_all_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "FIRST_WAIT_S", 0.001)
    with BatchServer(answer, auto=3) as server:
        built = run(tmp_path, server, "wait")
        assert server.log.count("GET /batches/batch_1") == 3
    assert (built.extracted, built.left, built.pending) == (4, 0, False)


def test_jobs_are_split_at_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "MAX_REQUESTS", 2)
    with BatchServer(answer) as server:
        run(tmp_path, server)
        assert [len(server.requests(job)) for job in server.jobs] == [2, 1]
    monkeypatch.setattr(batch_api, "MAX_BYTES", 10)
    with BatchServer(answer) as server:
        run(tmp_path / "bytes", server)
        assert [len(server.requests(job)) for job in server.jobs] == [1, 1, 1]


def test_a_plain_run_does_not_ask_what_a_job_will_answer(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        plain = run(tmp_path, server, how=None)
        assert (plain.left, plain.pending, len(server.online)) == (3, True, 1)
        assert "--batch` collects them" in plain.stopped


# -- crashes


class Crash(BaseException):
    """Stands for kill -9: nothing of ours handles it."""


def crash(*_: object) -> None:
    raise Crash


@pytest.mark.parametrize("step", ["prepare", "uploaded", "submitted", "collected"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_any_step_submits_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, when: str
) -> None:
    real = getattr(BatchLedger, step)

    def dying(*args: Any) -> None:
        if when == "after":
            real(*args)
        raise Crash

    with BatchServer(answer) as server:
        with monkeypatch.context() as patched:
            patched.setattr(BatchLedger, step, dying)
            if step == "collected":
                run(tmp_path, server)
                server.finish()
            with pytest.raises(Crash):
                run(tmp_path, server)
        run(tmp_path, server)
        assert len(server.jobs) == 1
        if step != "collected":
            server.finish()
        last = run(tmp_path, server)
        assert (last.left, last.failed, len(server.jobs)) == (0, 0, 1)
        paid = [*server.online, *(row["body"] for row in server.requests("batch_1"))]
        assert sorted(map(asked, paid)) == ["0", "1", "2", "3"]  # each once
    assert n_facts(tmp_path) == 4


def test_a_crash_between_the_cache_and_the_extractions_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        server.finish()
        with monkeypatch.context() as patched:
            patched.setattr("hippo_lit.extraction.ExtractionRun.run", crash)
            with pytest.raises(Crash):
                run(tmp_path, server)
        last = run(tmp_path, server)
        assert (last.extracted, last.left, len(server.jobs), len(server.online)) == (3, 0, 1, 1)


def test_a_job_whose_making_was_not_heard_of_is_adopted(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        server.disturb("POST /batches", None)
        first = run(tmp_path, server)
        assert (len(server.jobs), first.left, first.pending, first.degraded) == (1, 3, True, True)
        run(tmp_path, server)
        assert len(server.jobs) == 1
        server.finish()
        assert run(tmp_path, server).left == 0
        assert len(server.jobs) == 1


def test_a_job_that_was_not_made_is_made_by_the_next_run(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        server.disturb("POST /batches", status(503))
        assert run(tmp_path, server).degraded
        second = run(tmp_path, server)
        assert second.notes == ("submitted job batch_1 with 3 requests",)
        assert len([entry for entry in server.log if entry == "POST /files"]) == 1


def test_an_upload_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        server.disturb("POST /files", status(500, "disk trouble"))
        first = run(tmp_path, server)
        assert (first.left, first.pending, first.degraded, len(server.jobs)) == (3, False, True, 0)
        assert "disk trouble" in first.stopped
        assert run(tmp_path, server).pending


def test_jobs_that_cannot_be_looked_up_are_not_lost(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        server.disturb("GET /batches/batch_1", status(500, "later please"))
        built = run(tmp_path, server)
        assert built.pending
        assert "later please" in built.notes[0]
        assert len(server.jobs) == 1


def test_a_job_that_is_not_known_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_api, "MAX_REQUESTS", 2)
    with BatchServer(answer) as server:
        run(tmp_path, server)
        server.finish("batch_2")
        server.disturb("GET /batches/batch_1", status(404, "no such batch"))
        built = run(tmp_path, server)
        assert (built.extracted, built.left, built.pending, len(server.jobs)) == (1, 2, True, 2)
        assert "no such batch" in built.notes[0]
        monkeypatch.setattr(batching, "_LOST_S", 0.0)  # two days later
        server.disturb("GET /batches/batch_1", status(404, "no such batch"))
        later = run(tmp_path, server)
        assert "does not know job batch_1 any more" in later.notes[0]
        assert len(server.jobs) == 3  # asked again: one online, one in a job


# -- bad ends


def line(server: BatchServer, number: str) -> str:
    return next(row["custom_id"] for row in server.requests("batch_1") if asked(row["body"]) == number)


def test_error_lines_malformed_lines_and_missing_ids(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        refused = {"custom_id": line(server, "1"), "error": None, "response": {
            "status_code": 400, "body": {"error": {"message": "flagged by the filter"}}}}  # fmt: skip
        keep = line(server, "3")
        server.finish(
            edit=lambda rows: [
                *(row for row in rows if keep in row),
                '{"half',
                "[]",
                '{"custom_id": "other"}',
            ],
            errors=[refused],
        )
        built = run(tmp_path, server)
        assert (built.extracted, built.failed, built.left) == (1, 2, 0)
        assert built.notes == ("job batch_1 completed: 1 of 3 requests answered, 3 lines could not be used",)
        by_paper = dict(message.split(": ", 1) for message in built.failures)
        assert "flagged by the filter" in by_paper["p1"]
        assert "have no answer to it" in by_paper["p2"]
        again = run(tmp_path, server)  # both are tried again
        assert (again.pending, len(server.requests("batch_2"))) == (True, 1)  # the other one is the probe
        server.finish()
        assert run(tmp_path, server).left == 0
    with HippoLit.open(tmp_path, read_only=True) as lit:
        assert not lit.store.failures(next(iter(_extractors(lit))))


def _extractors(lit: HippoLit) -> list[str]:
    snapshot = lit.snapshot()
    assert snapshot is not None
    return [snapshot.about["extractor"]]


@pytest.mark.parametrize("state", ["expired", "cancelled"])
def test_what_a_job_did_not_reach_is_left_to_the_next_run(tmp_path: Path, state: str) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        server.finish(
            state=state,
            edit=lambda rows: rows[:1],
            errors=[
                {"custom_id": server.requests("batch_1")[1]["custom_id"], "response": None,
                 "error": {"code": f"batch_{state}", "message": "no time"}}
            ],
        )  # fmt: skip
        built = run(tmp_path, server)
        assert (built.extracted, built.left, built.failed, built.degraded) == (1, 2, 0, True)
        assert len(server.jobs) == 1
        assert run(tmp_path, server).pending
        assert len(server.requests("batch_2")) == 1


def test_a_job_that_failed_gives_its_reason_and_is_tried_again(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        server.finish(state="failed", problem={"message": "line 2 is wrong", "code": "invalid", "line": 2})
        built = run(tmp_path, server)
        assert (built.failed, built.left, built.pending) == (3, 0, False)
        assert "line 2 is wrong (line 2)" in built.failures[0]
        assert run(tmp_path, server).pending


def test_a_reply_that_broke_off_is_asked_again_in_pieces(tmp_path: Path) -> None:
    long = Paper("p9", "Title 9", " ".join(f"Sentence {i} says that a thing is so." for i in range(12)))
    with BatchServer(answer) as server, HippoLit.open(tmp_path, given(server)) as lit:
        lit.put([PAPERS[0], long])
        lit.build(batch="submit")
        cut = json.loads(chat_reply('{"entities": ["a', finish_reason="length").body)
        server.finish(edit=lambda rows: [json.dumps({
            "custom_id": json.loads(rows[0])["custom_id"],
            "response": {"status_code": 200, "body": cut}})])  # fmt: skip
        built = lit.build(batch="submit")
        assert (built.left, built.failed, built.pending) == (1, 0, True)
        assert len(server.requests("batch_2")) == 1  # of two pieces, one is the probe
        server.finish()
        assert lit.build(batch="submit").left == 0


def test_a_wrong_key_shows_at_once(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        server.disturb("POST /chat/completions", status(401, "wrong key"))
        built = run(tmp_path, server)
        assert (built.published, built.left, built.degraded, len(server.jobs)) == (True, 4, True, 0)
        assert "wrong key" in built.stopped
        assert server.log == ["POST /chat/completions"]


def test_a_budget_limits_what_is_submitted(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        one = 2048 + 2500  # a reply and more than a prompt
        built = run(tmp_path, server, budget=Budget(max_tokens=2 * one))
        assert len(server.jobs) == 1
        assert 1 <= len(server.requests("batch_1")) < 3
        assert "the budget is used up" in built.stopped
        assert built.left == 3
        assert not built.degraded


def test_batch_jobs_need_a_provider(tmp_path: Path) -> None:
    chosen = Settings.model_validate({"embedding": {"kind": "hash"}, "extract": {"kind": "simple"}})
    with HippoLit.open(tmp_path, chosen) as lit, pytest.raises(ConfigError, match=r"extract\.kind"):
        lit.build(batch="submit")
    chosen = Settings.model_validate(
        {"embedding": {"kind": "hash"}, "extract": {"kind": "llm", "names_from": "none"}}
    )
    with (
        HippoLit.open(tmp_path, chosen, chat=FakeChatModel([])) as lit,
        pytest.raises(ConfigError, match=r"llm\.kind"),
    ):
        lit.build(batch="submit")


def test_the_estimate_knows_what_is_out(tmp_path: Path) -> None:
    with BatchServer(answer) as server:
        run(tmp_path, server)
        with HippoLit.open(tmp_path, given(server)) as lit:
            told = lit.estimate(batch=True)
    assert (told.to_extract, told.calls, told.awaited) == (3, 0, 3)


Cli = Callable[..., Any]


def test_the_command_line_leaves_and_collects(cli: Cli, tmp_path: Path) -> None:
    papers = tmp_path / "papers.jsonl"
    papers.write_text(
        "".join(json.dumps({"id": p.id, "title": p.title, "abstract": p.abstract}) + "\n" for p in PAPERS)
    )
    with BatchServer(answer) as server:
        chosen = ["embedding.kind=hash", "llm.kind=openai", f"llm.base_url={server.base_url}",
                  "llm.max_attempts=1", "extract.kind=llm", "extract.names_from=none"]  # fmt: skip
        command = ["index", papers, "--index", "i", *(part for one in chosen for part in ("--set", one))]
        first = cli(*command, "--batch", code=7)
        assert "submitted job batch_1 with 3 requests" in first.stderr
        assert "3 passages left without facts for now" in first.stderr
        assert "run `hippo-lit index … --batch` again to collect them" in first.stderr
        assert "not tried  3 texts have no facts yet" in cli("info", "--index", "i").stdout
        server.finish()
        last = cli(*command, "--batch")
        assert "facts extracted from 3 new passages, 0 failed" in last.stdout
        assert "extract: 3 calls" in last.stdout
        cli(*command, "--until-done", code=2)
