"""Who may reach the server over HTTP, what they may send, and what is told in logs."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cli_support import QUICK, Cli
from mcp_support import COMMAND, http_server

pytest.importorskip("mcp")

from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from hippo_lit.errors import ConfigError
from hippo_lit.mcp_server.http import BearerToken, check_binding, is_loopback

TOKEN = "a-long-random-token-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def body(method: str = "tools/list", **params: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "0"},
    },
}
MODERN = ACCEPT | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}


def post(address: str, content: Any = None, **headers: str) -> httpx2.Response:
    modern = content is None
    return httpx2.post(
        address,
        content=content if isinstance(content, bytes) else json.dumps(body() if modern else content),
        headers={"Content-Type": "application/json", **(MODERN if modern else ACCEPT), **headers},
        timeout=30,
    )


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Client]:
    """The SDK's client, with the token."""
    async with (
        httpx2.AsyncClient(headers=BEARER) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def address(mock_template: Path) -> Iterator[str]:
    with http_server(
        mock_template, "--allowed-host", "papers.example:8443", env={"HIPPO_LIT_MCP_TOKEN": TOKEN}
    ) as (
        served,
        _,
    ):
        yield served


@pytest.mark.parametrize("content", [None, INITIALIZE])
def test_a_token_is_asked_for_in_either_protocol(address: str, content: Any) -> None:
    for wrong in (
        {},
        {"Authorization": TOKEN},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer"},
    ):
        refused = post(address, content, **wrong)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    assert post(address, content, **BEARER).status_code == 200


@pytest.mark.parametrize("content", [None, INITIALIZE])
def test_names_that_are_not_this_servers_are_refused(address: str, content: Any) -> None:
    port = address.rpartition(":")[2].partition("/")[0]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1:1",
        "localhost.evil.example",
        "127.0.0.1",
    ):
        assert post(address, content, **BEARER, Host=host).status_code == 421, host
    for origin in ("http://evil.example", "null", f"http://evil.example:{port}", "http://127.0.0.1:1"):
        assert post(address, content, **BEARER, Origin=origin).status_code == 403, origin
    for host in (f"localhost:{port}", f"[::1]:{port}", "papers.example:8443"):
        assert post(address, content, **BEARER, Host=host, Origin=f"https://{host}").status_code == 200, host


def test_what_is_sent_is_bounded(address: str) -> None:
    assert post(address, b"x" * (256 * 1024 + 1), **BEARER).status_code == 413
    deep = post(address, b"[" * 100_000, **BEARER)
    assert deep.status_code == 400
    assert "Traceback" not in deep.text


def test_the_sdks_client_sends_the_token(address: str) -> None:
    async def run() -> None:
        async with connected(address) as client:
            found = await client.call_tool("search_papers", {"query": "attention", "mode": "lexical", "k": 1})
            assert len(found.structured_content["papers"]) == 1

    asyncio.run(run())


def test_neither_queries_nor_texts_nor_tokens_reach_the_log(mock_index: Path, tmp_path: Path) -> None:
    async def run(served: str) -> None:
        async with connected(served) as client:
            await client.call_tool("search_papers", {"query": "sparse attention zanzibar"})
            await client.call_tool("search_papers", {"query": "zanzibar", "filters": {"years": "zanzibar"}})
            await client.call_tool("get_paper", {"id": "zanzibar"})

    log = tmp_path / "metrics.jsonl"
    with http_server(mock_index, "--metrics-log", str(log), env={"HIPPO_LIT_MCP_TOKEN": TOKEN}) as (
        served,
        process,
    ):
        asyncio.run(run(served))
        post(served, Authorization="Bearer zanzibar")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
        assert process.stderr is not None
        said = process.stderr.read()
    assert said == "interrupted\n"
    told = log.read_text("utf-8")
    assert [json.loads(line)["ok"] for line in told.splitlines()] == [True, False, False]
    for private in ("zanzibar", "sparse", "Trellis", TOKEN):
        assert private not in told


def test_only_loopback_is_served_without_a_token(cli: Cli, mock_index: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "papers.example", ""):
        assert not is_loopback(host)
        with pytest.raises(ConfigError, match="HIPPO_LIT_MCP_TOKEN"):
            check_binding(host, None)
    for host in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"):
        check_binding(host, None)
    with pytest.raises(ConfigError, match="16 ASCII characters"):
        check_binding("127.0.0.1", "short")
    refused = cli("mcp", *QUICK, "--index", mock_index, "--transport", "http", "--host", "0.0.0.0", code=2)
    assert "HIPPO_LIT_MCP_TOKEN" in refused.stderr


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    async def app(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError("let through")

    async def send(_message: Any) -> None:
        pass

    monkeypatch.setattr("hippo_lit.mcp_server.http.hmac.compare_digest", compare)
    guarded = BearerToken(app, TOKEN)
    for headers in (
        [(b"authorization", b"Bearer x")],
        [(b"authorization", b"a"), (b"authorization", b"b")],
        [],
    ):
        asyncio.run(guarded({"type": "http", "headers": headers}, None, send))  # type: ignore[arg-type]
    assert compared == [(b"Bearer x", f"Bearer {TOKEN}".encode())]


def test_a_taken_port_and_a_missing_index_are_said_before_serving(
    cli: Cli, mock_index: Path, address: str
) -> None:
    port = address.rpartition(":")[2].partition("/")[0]
    taken = cli("mcp", *QUICK, "--index", mock_index, "--transport", "http", "--port", port, code=2)
    assert "choose another --port" in taken.stderr
    assert "error:" in cli("mcp", *QUICK, "--index", "no.idx", code=6).stderr


def test_no_argument_of_any_tool_is_a_path_or_an_address() -> None:
    from hippo_lit.tool import schemas

    names = {
        name for each in schemas("anthropic", allow_write=True) for name in each["input_schema"]["properties"]
    }
    assert not {
        name for name in names if any(part in name for part in ("path", "file", "url", "uri", "folder"))
    }
    assert COMMAND[2] == "mcp"
