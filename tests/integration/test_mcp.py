"""The MCP server through the SDK's own client: in this process, over stdio, and over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_support import COMMAND, environment, http_server

pytest.importorskip("mcp")

from cli_support import with_facts
from mcp import Client, StdioServerParameters

from hippo_lit.api import HippoLit
from hippo_lit.config import load_settings
from hippo_lit.errors import ChatModelError
from hippo_lit.mcp_server.lanes import LIMITS, Lanes, Limits
from hippo_lit.mcp_server.server import make_server
from hippo_lit.testing import FakeChatModel
from hippo_lit.tool.toolbox import Toolbox
from hippo_lit.types import Message

QUICKLY = ["embedding.kind=hash", "extract.kind=simple"]
LLM = [
    "embedding.kind=hash",
    "llm.kind=openai",
    "extract.kind=llm",
    "extract.names_from=none",
    "filter.kind=llm",
]
READING = [
    "search_papers",
    "get_paper",
    "related_papers",
    "check_prior_art",
    "answer_question",
    "corpus_info",
]
WRITING = ["add_papers", "expand_citations"]
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def in_process(index: Path, *options: str, mode: str = "auto") -> AsyncIterator[Client]:
    writes = "--allow-write" in options
    settings = load_settings(overrides=QUICKLY, environ={})
    with HippoLit.open(index, settings, create=False, read_only=not writes) as lit:
        async with Client(make_server(Toolbox(lit, allow_write=writes)), mode=mode) as client:
            yield client


@asynccontextmanager
async def over_stdio(index: Path, *options: str, mode: str = "auto") -> AsyncIterator[Client]:
    arguments = [*COMMAND, "--index", str(index), *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment())
    async with Client(server, mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(index: Path, *options: str, mode: str = "auto") -> AsyncIterator[Client]:
    with http_server(index, *options) as (address, _):
        async with Client(address, mode=mode) as client:
            yield client


TRANSPORTS = pytest.mark.parametrize("connect", [in_process, over_stdio, over_http])


@TRANSPORTS
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_are_listed_called_and_fail_with_structure(
    connect: Connect, mode: str, mock_index: Path
) -> None:
    async def run() -> None:
        async with connect(mock_index, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == READING
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            assert all(tool.output_schema and tool.description for tool in tools)

            heard: list[str | None] = []

            async def progress(_done: float, _total: float | None, message: str | None) -> None:
                heard.append(message)

            asked = {"query": "which methods make attention sparse?", "k": 2}
            found = await client.call_tool("search_papers", asked, progress_callback=progress)
            assert not found.is_error
            papers = found.structured_content["papers"]
            assert len(papers) == 2
            assert found.content[0].text.startswith(f"[{papers[0]['id']}] {papers[0]['title']}")
            assert "embed" in heard

            again = await client.call_tool("search_papers", asked)
            assert again.content == found.content

            failed = await client.call_tool("get_paper", {"id": "P057"})
            assert failed.is_error
            assert failed.structured_content["error"]["code"] == "not_found"
            assert "p057" in failed.content[0].text
            unknown = await client.call_tool("add_papers", {"papers": [{"id": "x", "title": "X"}]})
            assert unknown.structured_content["error"]["code"] == "unknown_tool"

    asyncio.run(run())


@pytest.mark.parametrize("connect", [in_process, over_http])
def test_writing_tools_where_they_are_allowed(connect: Connect, mock_index: Path) -> None:
    async def run() -> None:
        async with connect(mock_index, "--allow-write") as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == READING + WRITING
            assert [
                tool.name for tool in tools if not (tool.annotations and tool.annotations.read_only_hint)
            ] == WRITING
            paper = {"id": "n1", "title": "Quiet Lanterns", "abstract": "Quiet lanterns are described."}
            added = await client.call_tool("add_papers", {"papers": [paper]})
            assert added.structured_content["added"] == 1
            found = await client.call_tool(
                "search_papers", {"query": "quiet lanterns", "mode": "bm25", "k": 1}
            )
            assert found.structured_content["papers"][0]["id"] == "n1"

    asyncio.run(run())


def serving(index: Path, reply: Any, **limits: Limits) -> tuple[HippoLit, Any]:
    """An index whose filter asks a model, and its server."""
    lit = HippoLit.open(
        index, load_settings(overrides=LLM, environ={}), create=False, chat=FakeChatModel(reply)
    )
    lanes: dict[Any, Limits] = {**LIMITS, **limits}
    return lit, make_server(Toolbox(lit), Lanes(lanes))


def test_a_slow_model_delays_nobodys_lexical_search_and_overload_says_busy(tmp_path: Path) -> None:
    asked, release = threading.Semaphore(0), threading.Event()

    def slow(_messages: list[Message]) -> str:
        asked.release()
        assert release.wait(60)
        return json.dumps({"facts": []})

    lit, server = serving(with_facts(tmp_path / "facts.idx"), slow, llm=Limits(1, 1, 60.0))

    async def run() -> None:
        async with Client(server) as one, Client(server) as other:
            slowly = [
                asyncio.create_task(one.call_tool("search_papers", {"query": "Alpha"})) for _ in range(2)
            ]
            await asyncio.to_thread(asked.acquire)
            for _ in range(20):
                found = await other.call_tool("search_papers", {"query": "Alpha", "mode": "lexical"})
                assert not found.is_error
            busy = await other.call_tool("search_papers", {"query": "Alpha"})
            assert busy.structured_content["error"]["code"] == "busy"
            assert busy.structured_content["error"]["retry_after_s"] >= 1
            assert not any(task.done() for task in slowly)
            release.set()
            assert not any(result.is_error for result in await asyncio.gather(*slowly))
            assert not (await other.call_tool("search_papers", {"query": "Alpha"})).is_error

    with lit:
        asyncio.run(run())


def test_cancelling_a_call_stops_its_work(tmp_path: Path) -> None:
    asked, release, ended = threading.Semaphore(0), threading.Event(), threading.Event()
    stages: list[str] = []

    def slow(_messages: list[Message]) -> str:
        asked.release()
        assert release.wait(60)
        return json.dumps({"facts": [["Alpha", "extends", "Beta"]]})

    lit, server = serving(with_facts(tmp_path / "facts.idx"), slow)
    original = Toolbox.run

    def noting(self: Toolbox, call: Any, **options: Any) -> Any:
        heard = options.pop("progress")
        try:
            return original(
                self, call, progress=lambda *told: (stages.append(told[0]), heard(*told)), **options
            )
        finally:
            ended.set()

    async def run() -> None:
        async with Client(server, mode="legacy") as client:
            task = asyncio.create_task(client.call_tool("search_papers", {"query": "Alpha"}))
            await asyncio.to_thread(asked.acquire)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.call_tool("corpus_info", {})  # the cancellation came before this
            release.set()
            assert await asyncio.to_thread(ended.wait, 60)

    with lit, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Toolbox, "run", noting)
        asyncio.run(run())
    assert "pagerank" not in stages


def test_a_refused_key_is_a_failure_that_tells_no_key(tmp_path: Path) -> None:
    def refuse(_messages: list[Message]) -> Exception:
        return ChatModelError("Incorrect API key provided: sk-secret", model="m", kind="auth")

    index = with_facts(tmp_path / "facts.idx")
    settings = load_settings(overrides=[*LLM, "retrieve.on_model_error=raise"], environ={})

    async def run() -> None:
        with HippoLit.open(index, settings, create=False, chat=FakeChatModel(refuse)) as lit:
            async with Client(make_server(Toolbox(lit))) as client:
                failed = await client.call_tool("search_papers", {"query": "Alpha"})
                assert failed.structured_content["error"]["code"] == "model_failed"
                assert "secret" not in str(failed)

    asyncio.run(run())


def test_a_degraded_result_says_so(tmp_path: Path) -> None:
    def broken(_messages: list[Message]) -> Exception:
        return ChatModelError("the server is down", model="m", kind="server")

    lit, server = serving(with_facts(tmp_path / "facts.idx"), broken)

    async def run() -> None:
        async with Client(server) as client:
            found = await client.call_tool("search_papers", {"query": "Alpha"})
            assert found.structured_content["degraded"] is True
            assert "the server is down" in found.structured_content["note"]

    with lit:
        asyncio.run(run())
