"""MCP over standard input and output, for a client that starts the server itself."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import sys
from collections.abc import AsyncIterator
from typing import Any

from hippo_lit.mcp_server.server import make_server
from hippo_lit.tool.toolbox import Toolbox

_log = logging.getLogger(__name__)
MAX_LINE_BYTES = 8 * 1024 * 1024
_TOO_LONG = "too long"  # no JSON, so that the client is told so


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve the one client on stdin and stdout until it closes them. stdout carries nothing else."""
    server = make_server(toolbox)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(_logged)
        # The SDK's own reader waits in a thread, which neither SIGTERM nor Ctrl-C can end.
        lines: Any = _lines() if _is_stream() else None
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def _logged(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What a task that was stopped in the middle leaves behind is for the log: stderr is for people."""
    _log.debug("%s: %r", context.get("message"), context.get("exception"))


def _is_stream() -> bool:
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


async def _lines() -> AsyncIterator[str]:
    """The lines of stdin, each of at most MAX_LINE_BYTES; what waits for them can be cancelled."""
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    shared = os.dup(sys.stdin.fileno())  # the reader closes its own at the end of input
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin.buffer)
    try:
        while True:
            try:
                line = await reader.readline()
            except ValueError:
                yield _TOO_LONG
                continue
            if not line:
                return
            yield line.decode("utf-8", "replace")
    finally:
        transport.close()
        os.set_blocking(shared, True)  # as the shell, which shares a terminal with us, had it
        os.close(shared)
