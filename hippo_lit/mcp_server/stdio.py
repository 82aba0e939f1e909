"""MCP over standard input and output, for a client that starts the server itself."""

from __future__ import annotations

from hippo_lit.mcp_server.server import make_server
from hippo_lit.tool.toolbox import Toolbox


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve the one client on stdin and stdout until it closes them. stdout carries nothing else."""
    server = make_server(toolbox)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
