"""`hippo-lit mcp`: an index as tools for agents."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Annotated, Literal

import typer

from hippo_lit.cli.options import Config, IndexFolder, MetricsFile, Overrides, read_settings
from hippo_lit.cli.output import say

_AllowWrite = Annotated[
    bool, typer.Option("--allow-write", help="Also offer add_papers and expand_citations.")
]
_AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host", metavar="NAME", help="A name that clients reach this server by; repeated: any."
    ),
]


def mcp(
    folder: IndexFolder,
    transport: Annotated[
        Literal["stdio", "http"], typer.Option("--transport", help="How clients connect.")
    ] = "stdio",
    host: Annotated[str, typer.Option("--host", help="Address to bind (http).")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port (http); 0: a free one.")] = 8765,
    allowed_host: _AllowedHost = None,
    allow_write: _AllowWrite = False,
    metrics_log: MetricsFile = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Serve an index as tools for agents, by the Model Context Protocol.

    Over stdio the client starts this command itself. Over HTTP the server answers at /mcp and binds loopback;
    any other --host needs a token in HIPPO_LIT_MCP_TOKEN, which clients send as a bearer token (on loopback
    it is asked for where it is set), and --allowed-host for names that proxies or clients use. The tools only
    read, unless --allow-write is given. Needs pip install 'hippo-lit[mcp]'.
    """
    from hippo_lit.mcp_server.server import require_sdk

    require_sdk()
    from hippo_lit.api import HippoLit
    from hippo_lit.mcp_server.http import TOKEN, check_binding, serve_http
    from hippo_lit.mcp_server.stdio import serve_stdio
    from hippo_lit.tool.metrics import MetricsLog
    from hippo_lit.tool.toolbox import Toolbox

    token = os.environ.get(TOKEN) or None
    if transport == "http":
        check_binding(host, token)
    settings = read_settings(config, overrides)
    with ExitStack() as open_until_the_end:
        enter = open_until_the_end.enter_context
        metrics = enter(MetricsLog(metrics_log)) if metrics_log else None
        lit = enter(HippoLit.open(folder, settings, create=False, read_only=not allow_write))
        toolbox = Toolbox(lit, allow_write=allow_write, metrics=metrics)
        if transport == "stdio":
            serve_stdio(toolbox)
        else:
            hosts = allowed_host or ()
            serve_http(
                toolbox,
                host=host,
                port=port,
                hosts=hosts,
                token=token,
                listening=lambda at: say(f"serving {at}"),
            )
