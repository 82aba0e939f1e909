"""The real OpenAI client, a loopback server that plays the model, and the tools between them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from cli_support import Cli
from jsonschema import Draft202012Validator
from openai import OpenAI

from hippo_lit import tool
from hippo_lit.testing.server import Answer, Recorded, ScriptedServer, chat_reply, json_reply

EXAMPLE = Path(__file__).parents[2] / "examples" / "openai_tools.py"


def wanting(name: str, arguments: str) -> Answer:
    """A completion in which the model calls a tool."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    return json_reply(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": choices}
    )


def answering(request: Recorded) -> Answer:
    """The model cites the first paper that the tool gave it."""
    told = request.body["messages"][-1]
    assert (told["role"], told["tool_call_id"]) == ("tool", "call_1")
    return chat_reply(f"See {told['content'].partition(']')[0]}].")


def test_a_model_calls_a_tool_and_uses_its_result(mock_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPO_LIT_INDEX", str(mock_index))
    ask = runpy.run_path(str(EXAMPLE))["ask"]
    asked = json.dumps({"query": "seven years of sparse attention", "mode": "bm25", "k": 1, "filters": None})
    script = [wanting("search_papers", '{"query": 1}'), wanting("search_papers", asked), answering]
    with ScriptedServer(script) as server, OpenAI(base_url=server.base_url, api_key="none") as client:
        assert ask("What replicates?", client) == "See [p020]."
        first, second, third = server.requests
    assert first.body["tools"] == tool.schemas("openai")
    assert "error invalid_arguments: query" in second.body["messages"][-1]["content"]
    assert "Seven Years of Sparse Attention" in third.body["messages"][-1]["content"]


def test_the_example_is_a_command(
    mock_index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIPPO_LIT_INDEX", str(mock_index))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr("sys.argv", ["openai_tools.py", "What", "replicates?"])
    with ScriptedServer([chat_reply("Nothing.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        (request,) = server.requests
    assert capsys.readouterr().out == "Nothing.\n"
    assert request.body["messages"][0]["content"] == "What replicates?"


@pytest.mark.parametrize("form", ["openai", "openai-responses", "anthropic", "json-schema"])
def test_the_schemas_on_the_command_line(cli: Cli, form: str) -> None:
    printed: Any = json.loads(cli("tool-schema", "--format", form).stdout)
    assert printed == tool.schemas(form)  # type: ignore[arg-type]
    for each in printed:
        schema = each.get("function", each).get("parameters") or each["input_schema"]
        Draft202012Validator.check_schema(schema)
    more: Any = json.loads(cli("tool-schema", "--format", form, "--allow-write").stdout)
    assert len(more) == len(printed) + 2
