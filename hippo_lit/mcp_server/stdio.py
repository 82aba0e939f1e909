"""MCP over standard input and output, for a client that starts the server itself."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from hippo_lit.mcp_server.server import make_server
from hippo_lit.tool.toolbox import Toolbox

_log = logging.getLogger(__name__)
MAX_LINE_BYTES = 8 * 1024 * 1024


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve the one client on stdin and stdout until it closes them. stdout carries nothing else."""
    server = make_server(toolbox)
    import anyio
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage
    from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(_logged)
        replies: list[Any] = []

        async def refuse(why: str) -> None:
            """The SDK passes over what it cannot parse, and whoever sent it would wait for ever."""
            error = ErrorData(code=PARSE_ERROR, message=why)
            await replies[0].send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))

        # The SDK's own reader waits in a thread, which neither SIGTERM nor Ctrl-C can end.
        lines: Any = _lines(refuse) if _is_stream() else None
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            replies.append(outgoing)
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def _logged(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What a task that was stopped in the middle leaves behind is for the log: stderr is for people."""
    _log.debug("%s: %r", context.get("message"), context.get("exception"))


def _is_stream() -> bool:
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


async def _lines(refuse: Callable[[str], Awaitable[None]]) -> AsyncIterator[str]:
    """The lines of stdin that are JSON; what waits for them can be cancelled.

    `refuse` hears of others, and of one of more than MAX_LINE_BYTES.
    """
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    shared = os.dup(sys.stdin.fileno())  # the reader closes its own at the end of input
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin.buffer)
    too_long = False
    try:
        while True:
            try:
                line = await reader.readuntil()
            except asyncio.LimitOverrunError as error:
                await reader.readexactly(error.consumed)  # the rest of the line comes with the next turn
                too_long = True
                continue
            except asyncio.IncompleteReadError as end:
                if not end.partial:
                    return
                line = end.partial
            text = line.decode("utf-8", "replace").strip()
            if too_long:
                too_long = False
                await refuse(f"Parse error: a message has at most {MAX_LINE_BYTES:,} bytes")
            elif not _is_json(text):
                await refuse("Parse error: a message is one line of JSON")
            elif text:
                yield text
    finally:
        transport.close()
        os.set_blocking(shared, True)  # as the shell, which shares a terminal with us, had it
        os.close(shared)


def _is_json(text: str) -> bool:
    """Blank lines pass."""
    try:
        json.loads(text or "null")
    except (ValueError, RecursionError):
        return False
    return True
