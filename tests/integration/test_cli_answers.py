"""`ask` and `prior-art` from the outside: with a server on loopback, and without any model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import HASH, Cli

from hippo_lit.testing.server import Recorded, ScriptedServer, chat_reply, status


def llm(server: ScriptedServer, *more: str) -> list[str]:
    given = ["llm.kind=openai", f"llm.base_url={server.base_url}", "llm.max_attempts=1", *more]
    return [part for setting in given for part in ("--set", setting)]


PRICED = ("llm.price_in_per_million=100", "llm.price_out_per_million=100")


def test_ask_streams_and_says_what_it_cost(cli: Cli, fact_index: Path) -> None:
    with ScriptedServer([chat_reply("Thought: a1.\nAnswer: Alpha extends \x1b[31mBeta [a1].")]) as server:
        result = cli("ask", "What does Alpha extend?", "--index", fact_index, *HASH, *llm(server, *PRICED))
        again = cli("ask", "What does Alpha extend?", "--index", fact_index, *HASH, *llm(server, *PRICED))
        assert len(server.requests) == 1
    assert result.stdout.startswith("Alpha extends [31mBeta [a1].\n")
    assert "a1  2018  Alpha" in result.stdout
    assert "answer: 1 calls, 7 tokens in, 3 out, 0.0010 USD" in result.stdout
    assert "0 calls (1 more from the cache)" in again.stdout


def test_ask_in_json(cli: Cli, fact_index: Path) -> None:
    with ScriptedServer(
        [chat_reply("Where is Beta from, then?"), chat_reply("Answer: Kraków [b2].")]
    ) as server:
        found = cli(
            "ask", "Whence Alpha?", "--steps", 2, "--json", "--index", fact_index, *HASH, *llm(server)
        )
    answer = json.loads(found.stdout)
    assert (answer["kind"], answer["text"], answer["citations"]) == ("answer", "Kraków [b2].", ["b2"])
    assert (answer["loop_end"], answer["thoughts"]) == ("limit", ["Where is Beta from, then?"])
    assert (answer["cost"]["calls"], answer["usage"]["ircot"]["prompt_tokens"]) == (2, 7)


def test_a_refused_key_leaves_extracts(cli: Cli, fact_index: Path) -> None:
    with ScriptedServer([status(401, "bad key")]) as server:
        result = cli("ask", "What extends Beta?", "--index", fact_index, *HASH, *llm(server))
        assert len(server.requests) == 1
        strict = llm(server, "retrieve.on_model_error=raise")
        cli("ask", "What extends Beta?", "--index", fact_index, *HASH, *strict, code=5)
    assert "DEGRADED" in result.stdout
    assert "bad key" in result.stdout
    assert "Alpha extends Beta. [a1]" in result.stdout


def test_ask_without_a_model(cli: Cli, fact_index: Path) -> None:
    result = cli(
        "ask", "What extends Beta?", "--index", fact_index, "--explain", *HASH, "--set", "llm.kind=none"
    )
    assert "Alpha extends Beta. [a1]" in result.stdout
    assert "Note: no chat model is set" in result.stdout
    assert "Round 1 by" in result.stdout
    assert "\x1b" not in result.stdout


def judge(request: Recorded) -> Any:
    if "take a hypothesis apart" in request.body["messages"][0]["content"]:
        return chat_reply('{"claims": []}')
    quote = {"paper": "a1", "claim": 0, "stance": "supports", "quote": "Alpha extends Beta."}
    return chat_reply(json.dumps({"evidence": [quote]}))


def test_prior_art(cli: Cli, fact_index: Path) -> None:
    with ScriptedServer([judge]) as server:
        options = ("--index", fact_index, *HASH, *llm(server))
        result = cli("prior-art", "Alpha extends Beta.", *options)
        art = json.loads(cli("prior-art", "Alpha extends Beta.", "--json", *options).stdout)
        assert len(server.requests) == 2
    assert result.stdout.startswith("Shown before (confidence 0.50): support for it: 1 paper (a1)")
    assert "supports: “Alpha extends Beta.”" in result.stdout
    assert "3 papers of 2018 to 2020, with 1 queries by hippo" in result.stdout
    assert (art["verdict"], art["cost"]["cached_calls"]) == ("shown_before", 2)


def test_prior_art_without_a_model(cli: Cli, fact_index: Path) -> None:
    result = cli("prior-art", "Alpha extends Beta.", "--index", fact_index, *HASH, "--set", "llm.kind=none")
    assert result.stdout.startswith("No verdict: no chat model judged the papers")
    assert "“Alpha extends Beta.”" in result.stdout
    empty = cli("prior-art", " ", "--index", fact_index, *HASH, "--set", "llm.kind=none", code=2)
    assert "it is empty; write what you are looking for" in empty.stderr


@pytest.mark.parametrize("command", ["ask", "prior-art"])
def test_schemas_need_no_index(cli: Cli, command: str) -> None:
    schema = json.loads(cli(command, "--schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"usage", "cost", "degraded", "reason"} <= set(schema["required"])
