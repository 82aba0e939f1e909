"""Budgets, estimates, failures and storms through the whole program, against a server on loopback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_support import Cli

from hippo_lit import HippoLit, Paper, Settings
from hippo_lit.models.guard import Budget
from hippo_lit.testing import BatchServer, FakeChatModel, ScriptedServer, chat_reply, status

REPLY = '{"entities": ["a b"], "triples": [["a b", "is", "c d"]]}'
N = 6


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    rows = [{"id": f"p{i}", "title": f"Title {i}", "abstract": f"Thing {i} is here."} for i in range(N)]
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def command(server: ScriptedServer | BatchServer, papers: Path, *more: str) -> list[str]:
    given = ["embedding.kind=hash", "llm.kind=openai", f"llm.base_url={server.base_url}",
             "llm.max_attempts=1", "llm.concurrency=1", "llm.response_format=text", "extract.kind=llm",
             "extract.names_from=none", *more]  # fmt: skip
    return ["index", str(papers), "--index", "i", *(part for one in given for part in ("--set", one))]


PRICES = ("llm.price_in_per_million=10", "llm.price_out_per_million=100", "llm.max_tokens=10")


def used(prompt: int = 1000, reply: int = 10) -> Any:
    return chat_reply(REPLY, prompt_tokens=prompt, completion_tokens=reply)


# -- budget


def test_a_budget_of_tokens_keeps_what_was_paid_and_the_next_run_goes_on(cli: Cli, papers: Path) -> None:
    with ScriptedServer([used()]) as server:
        asked = command(server, papers, "llm.max_tokens=10")
        first = cli(*asked, "--max-tokens", 3500, code=7)
        done = len(server.requests)
        assert done * 1010 <= 3500
        assert f"facts extracted from {done} new passages, 0 failed, {N - done} left" in first.stdout
        assert f"{done * 1010:,} of 3,500 tokens are spent" in first.stderr
        assert f"{N - done} passages left without facts for now, all else is kept and indexed" in first.stderr
        assert "run the same command again to go on" in first.stderr
        assert f"not tried  {N - done} texts have no facts yet" in cli("info", "--index", "i").stdout
        second = cli(*asked)
        assert f"facts extracted from {N - done} new passages, 0 failed\n" in second.stdout
        assert len(server.requests) == N


def test_deleting_has_the_same_budget(cli: Cli, papers: Path) -> None:
    with ScriptedServer([used()]) as server:
        asked = command(server, papers, "llm.max_tokens=10")
        cli(*asked, "--max-tokens", 3500, code=7)
        done = len(server.requests)
        deleted = ("delete", f"p{N - 1}", "--index", "i")
        first = cli(*deleted, "--max-tokens", 0, code=7)
        assert first.stdout.startswith(f"deleted 1 paper; the index holds {N - 1} papers\n")
        assert f"{N - 1 - done} passages left without facts for now" in first.stderr
        assert len(server.requests) == done
        told = json.loads(cli("delete", f"p{N - 2}", "--index", "i", "--json").stdout)
        assert (told["built"]["extracted"], told["usage"]["extract"]["calls"]) == (N - 2 - done, N - 2 - done)


def test_a_server_that_is_not_there_is_told_once(cli: Cli, papers: Path) -> None:
    with ScriptedServer([used()]) as server:
        asked = command(server, papers, "llm.max_attempts=5")
    asked[asked.index("llm.max_attempts=1")] = "llm.max_attempts=5"
    result = cli(*asked, code=5)
    assert "retrying in " in result.stderr
    assert result.stderr.count("Check that the server is running and that the base URL is right") == 1
    assert "after 2 attempts" in result.stderr
    assert f"{N} passages left without facts for now" in result.stderr


def test_a_budget_of_usd_in_json(cli: Cli, papers: Path) -> None:
    with ScriptedServer([used()]) as server:
        result = cli(*command(server, papers, *PRICES), "--max-cost-usd", 0.04, "--json", code=7)
    built = json.loads(result.stdout)["built"]
    assert built["extracted"] * 0.011 <= 0.04
    assert (built["left"], built["failed"], built["degraded"]) == (N - built["extracted"], 0, False)
    assert "USD are spent" in built["stopped"]


def test_a_budget_of_usd_without_prices_is_refused_before_anything(cli: Cli, papers: Path) -> None:
    with ScriptedServer([used()]) as server:
        result = cli(*command(server, papers), "--max-cost-usd", 1, code=2)
        assert "set llm.price_in_per_million and llm.price_out_per_million" in result.stderr
        assert server.requests == []
    assert not Path("i").exists()


def test_add_takes_a_budget(tmp_path: Path) -> None:
    chosen = Settings.model_validate(
        {"embedding": {"kind": "hash"}, "extract": {"kind": "llm", "names_from": "none"}}
    )
    chat = FakeChatModel([])
    with HippoLit.open(tmp_path / "x", chosen, chat=chat) as lit:
        lit.add([Paper("p", "T", "A b.")], budget=Budget(max_tokens=0))
        assert len(lit) == 1
        assert lit.build(budget=Budget(max_tokens=0)).left == 1
    assert chat.calls == []


# -- estimate


def tree(folder: Path) -> Mapping[str, bytes]:
    """The index's content; the logs and locks that SQLite makes to read are not part of it."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


def test_an_estimate_changes_nothing_and_knows_what_is_done(cli: Cli, papers: Path) -> None:
    with ScriptedServer([used()]) as server:
        asked = command(server, papers, *PRICES)
        told = json.loads(cli(*asked, "--estimate", "--json").stdout)
        assert not Path("i").exists()
        assert server.requests == []
        assert (told["passages"], told["to_extract"], told["calls"], told["to_embed"]) == (N, N, N, N)
        assert told["completion_tokens"] == 10 * N  # what max_tokens allows
        assert told["prompt_tokens"] > 100 * N
        cost = (told["prompt_tokens"] * 10 + told["completion_tokens"] * 100) / 1e6
        assert told["cost_usd"] == pytest.approx(cost)
        half = json.loads(cli(*asked, "--estimate", "--batch", "--json").stdout)
        assert half["cost_usd"] == pytest.approx(cost / 2)

        cli(*asked, "--max-tokens", 2500, code=7)
        done = len(server.requests)
        before = tree(Path("i"))
        shown = cli(*asked, "--estimate").stdout
        assert f"{N} passages; {N - done} to extract facts from\nextract: {N - done} calls, about " in shown
        assert "embed: 0 passages with their sentences" in shown
        assert tree(Path("i")) == before
        assert len(server.requests) == done


def test_an_estimate_sees_what_a_paper_becomes(cli: Cli, papers: Path, tmp_path: Path) -> None:
    with ScriptedServer([used()]) as server:
        cli(*command(server, papers))
        other = tmp_path / "other.jsonl"
        rows = (("p0", "Title 0", "Thing 0 is here. And it is longer."), ("p1", "T", "Short."))
        views = [dict(zip(("id", "title", "abstract"), row, strict=True)) for row in rows]
        other.write_text("".join(json.dumps(view) + "\n" for view in views))
        told = json.loads(cli(*command(server, other), "--estimate", "--json").stdout)
    assert (told["passages"], told["calls"]) == (N, 1)  # p1's fuller view wins, so nothing changes there


def test_replies_that_are_kept_are_not_estimated(tmp_path: Path) -> None:
    chosen = Settings.model_validate(
        {"embedding": {"kind": "hash"}, "extract": {"kind": "llm", "names_from": "none"}}
    )
    with HippoLit.open(tmp_path / "x", chosen, chat=FakeChatModel(lambda _: REPLY)) as lit:
        lit.add([Paper("p", "T", "A b.")])
        with lit.store._db.write() as db:
            db.execute("DELETE FROM extractions")
        told = lit.estimate([{"id": "q", "title": "U", "abstract": "C d."}])
    assert (told.passages, told.to_extract, told.calls, told.cost_usd) == (2, 2, 1, None)


# -- failures


def test_every_failure_is_listed_with_its_passage(cli: Cli, papers: Path) -> None:
    with ScriptedServer(
        [used(), status(400, "not this one"), used(), chat_reply("no JSON"), used()]
    ) as server:
        cli(*command(server, papers), code=5)
        shown = cli("info", "--index", "i", "--failures").stdout.splitlines()
        assert [line.partition(": ")[0] for line in shown] == ["p1, passage 0", "p3, passage 0"]
        assert "not this one" in shown[0]
        assert shown[0].endswith("(attempts: 1)")
        told = json.loads(cli("info", "--index", "i", "--failures", "--json").stdout)
        assert told["untried"] == 0
        assert [(row["paper_id"], row["passage"], row["attempts"]) for row in told["failures"]] == [
            ("p1", 0, 1),
            ("p3", 0, 1),
        ]
        assert len(server.requests) == N
        cli(*command(server, papers))
        assert len(server.requests) == N + 2
    assert cli("info", "--index", "i", "--failures").stdout == "none\n"


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (status(401, "bad key"), "Set the environment variable OPENAI_API_KEY"),
        (status(404, "no such model"), "Check the model's name"),
        (status(402, "pay first"), "no credit left"),
    ],
)
def test_a_refused_account_stops_asking_and_keeps_what_is_there(
    cli: Cli, papers: Path, answer: Any, advice: str
) -> None:
    with ScriptedServer([used(), used(), answer]) as server:
        result = cli(*command(server, papers), code=5)
        assert len(server.requests) == 3
        assert f"facts extracted from 2 new passages, 0 failed, {N - 2} left" in result.stdout
        assert advice in result.stderr
        assert "when that is mended, run the same command again" in result.stderr
        found = json.loads(
            cli("search", "thing", "--index", "i", "--set", "embedding.kind=hash", "--json").stdout
        )
        assert found["degraded"]
        assert f"{N - 2} passages have no facts" in found["reason"]


def test_no_credit_under_429_is_told_from_too_many_calls(cli: Cli, papers: Path) -> None:
    poor = status(429, "You exceeded your current quota")
    body = json.loads(poor.body)
    body["error"]["code"] = "insufficient_quota"
    with ScriptedServer([type(poor)(429, json.dumps(body).encode(), poor.headers)]) as server:
        result = cli(*command(server, papers, "llm.max_attempts=4"), code=5)
        assert len(server.requests) == 1
    assert "no credit left" in result.stderr


def test_a_storm_of_429_in_the_middle_loses_nothing(cli: Cli, papers: Path) -> None:
    storm = status(429, "slow down")
    with ScriptedServer([used(), used(), storm, storm, storm, used()]) as server:
        first = cli(*command(server, papers), code=5)
        assert "facts extracted from 3 new passages, 3 failed" in first.stdout
        second = cli(*command(server, papers))
        assert "facts extracted from 3 new passages, 0 failed" in second.stdout
        assert len(server.requests) == N + 3
