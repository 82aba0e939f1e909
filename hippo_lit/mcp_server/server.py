"""MCP's requests answered by a toolbox: the tools are listed, called, watched and cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from hippo_lit import __version__
from hippo_lit.errors import MissingExtraError
from hippo_lit.mcp_server.lanes import Lanes
from hippo_lit.tool.definition import Definition
from hippo_lit.tool.definitions import INSTRUCTIONS
from hippo_lit.tool.failures import ToolError
from hippo_lit.tool.formats import json_schema
from hippo_lit.tool.toolbox import Toolbox, ToolResult

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

_PROGRESS_EVERY_S = 0.25
_WARM_AFTER_S = 0.5  # loading a model takes the processor from the first lexical answer


def require_sdk() -> None:
    """Raises MissingExtraError where the MCP SDK is not installed."""
    try:
        import mcp  # noqa: F401 - whether it can be
    except ImportError as error:
        raise MissingExtraError(
            "serving MCP needs the package mcp: pip install 'hippo-lit[mcp]'", package="mcp", extra="mcp"
        ) from error


def make_server(toolbox: Toolbox, lanes: Lanes | None = None) -> Server[Any]:
    """A server of `toolbox`; its lifespan loads the embedder in the background and closes the lanes."""
    require_sdk()
    import mcp_types as types
    from mcp.server.lowlevel import Server

    running = lanes or Lanes()
    listed = types.ListToolsResult(tools=[_tool(tool) for tool in toolbox.definitions])
    schemas = {tool.name: tool.input_schema for tool in listed.tools}

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            call = toolbox.prepare(params.name, params.arguments)
            heard = _Progress(context, asyncio.get_running_loop())
            result = await running.run(
                call.lane,
                lambda stop, seconds: toolbox.run(call, progress=heard, timeout_s=seconds, stop=stop),
            )
        except ToolError as error:
            result = toolbox.failed(params.name, error)
        return _answer(result)

    @asynccontextmanager
    async def lifespan(_server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        closing = threading.Event()

        def warm() -> None:
            if not closing.wait(_WARM_AFTER_S):
                toolbox.warm()

        threading.Thread(target=warm, name="hippo-lit-warming", daemon=True).start()
        try:
            yield {}
        finally:
            closing.set()
            running.close()

    return Server(
        "hippo-lit",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        lifespan=lifespan,
        get_tool_input_schema=schemas.get,
    )


class _Progress:
    """Passes progress on from a worker thread, now and then; a client that did not ask gets none."""

    def __init__(self, context: ServerRequestContext[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._steps = 0
        self._last = -_PROGRESS_EVERY_S

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._steps += 1
        now = monotonic()
        if done and now - self._last < _PROGRESS_EVERY_S:
            return  # within a stage; that another one begins is always told
        self._last = now
        numbers = f": {done:,}/{total:,}" if total else ""
        told = self._tell(float(self._steps), f"{stage}{numbers}")
        try:
            asyncio.run_coroutine_threadsafe(told, self._loop)
        except RuntimeError:  # the loop is closed: nobody listens any more
            told.close()

    async def _tell(self, steps: float, message: str) -> None:
        """A client that went away hears nothing; its call is cancelled elsewhere."""
        import anyio

        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._context.session.report_progress(steps, message=message)


def _tool(tool: Definition) -> types.Tool:
    import mcp_types as types

    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=json_schema(tool.arguments),
        output_schema=json_schema(tool.result, output=True),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=tool.open_world,
        ),
    )


def _answer(result: ToolResult) -> types.CallToolResult:
    import mcp_types as types

    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=result.content,
        is_error=result.is_error,
    )
