"""One index as a set of tools: arguments in, a bounded result or a structured failure out."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import Any

from pydantic import ValidationError

from hippo_lit.api import HippoLit
from hippo_lit.errors import HippoLitError
from hippo_lit.extraction import Progress, silent
from hippo_lit.llm.tokens import count_tokens
from hippo_lit.stages import Watch, stage
from hippo_lit.storage.publish import CURRENT
from hippo_lit.tool.arguments import Arguments
from hippo_lit.tool.definition import Definition, Lane, Outcome
from hippo_lit.tool.definitions import definitions
from hippo_lit.tool.failures import ToolError, from_error, invalid, tool_error, unknown_tool
from hippo_lit.tool.fit import compact
from hippo_lit.tool.metrics import MetricsLog

MAX_ARGUMENT_CHARS = 8_000_000


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gives back: `content` by the tool's schema, and the same as compact `text`.

    With `is_error`, `content` is {"error": {"code", "message", "retry_after_s", "what_to_do"}}.
    """

    content: dict[str, Any]
    text: str
    is_error: bool = False
    measured: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """An estimate for the form that takes more of them."""
        return max(count_tokens(self.text), count_tokens(compact(self.content)))


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose arguments are in order."""

    tool: Definition
    arguments: Arguments
    lane: Lane


class Toolbox:
    """The tools of one index. Safe to share between threads; it follows what other processes publish."""

    def __init__(
        self, lit: HippoLit, *, allow_write: bool = False, metrics: MetricsLog | None = None
    ) -> None:
        self.lit = lit
        self.definitions = definitions(allow_write=allow_write)
        self._tools = {tool.name: tool for tool in self.definitions}
        self._metrics = metrics
        self._published = self._mark()

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        progress: Progress = silent,
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Validate and dispatch; `arguments` may be the JSON text that a model wrote.

        Nothing that a model or a paper may cause is raised: failures are results with `is_error`.
        """
        try:
            call = self.prepare(name, arguments)
        except ToolError as error:
            return self.failed(name, error)
        return self.run(call, progress=progress, timeout_s=timeout_s)

    def prepare(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Call:
        """The call that is meant. Raises ToolError (unknown_tool, invalid_arguments)."""
        tool = self._tools.get(name)
        if tool is None:
            raise unknown_tool(name, self._tools)
        try:
            checked = tool.arguments.model_validate(_read(arguments))
        except ValidationError as error:
            raise invalid(error) from error
        return Call(tool, checked, tool.lane(checked, self.lit.settings))

    def run(
        self,
        call: Call,
        *,
        progress: Progress = silent,
        timeout_s: float | None = None,
        stop: threading.Event | None = None,
    ) -> ToolResult:
        """Run a call in this thread. It ends between two stages once `stop` is set or its time is up."""
        began = perf_counter()
        deadline = None if timeout_s is None else monotonic() + timeout_s
        watch = Watch(stop or threading.Event(), deadline, lambda name: progress(name, 0, 0))
        try:
            with watch.active(), stage(call.tool.name):
                self._follow()
                done = call.tool.run(self.lit, call.arguments, progress)
        except CancelledError as error:
            late = watch.late and not watch.stop.is_set()
            return self.failed(call.tool.name, timed_out(timeout_s) if late else self._meaning(error), began)
        except Exception as error:  # noqa: BLE001 - the outermost boundary: an agent gets no traceback
            return self.failed(call.tool.name, self._meaning(error), began)
        return self._succeeded(call, done, began)

    def warm(self) -> None:
        """Load what the first search by vectors would wait for. Failures are left to that search."""
        with suppress(HippoLitError):
            if self.lit.snapshot() is not None:
                paid = self.lit.settings.filter.kind == "llm"
                self.lit.retrieve("warm", 1, "dense" if paid else "hippo", explain=False)

    def failed(self, name: str, error: ToolError, began: float | None = None) -> ToolResult:
        """The result that tells of a failure; it is logged like any other."""
        failure = error.failure
        content = {"error": failure.model_dump(exclude_none=True)}
        wait = f" Retry after {failure.retry_after_s:g} s." if failure.retry_after_s is not None else ""
        text = f"error {failure.code}: {failure.message.rstrip('.?!')}. {failure.what_to_do}{wait}"
        known = name if name in self._tools else ""
        self._log({"tool": known, "ok": False, "code": failure.code}, began)
        return ToolResult(content, text, is_error=True)

    def _succeeded(self, call: Call, done: Outcome, began: float) -> ToolResult:
        content = done.result.model_dump(mode="json", exclude_none=True)
        result = ToolResult(content, done.text, measured=done.measured)
        self._log({"tool": call.tool.name, "ok": True, "tokens": result.tokens, **done.measured}, began)
        return result

    def _log(self, values: Mapping[str, Any], began: float | None) -> None:
        if self._metrics is not None:
            seconds = {} if began is None else {"seconds": perf_counter() - began}
            self._metrics.write({**values, **seconds})

    def _meaning(self, error: Exception) -> ToolError:
        return from_error(error, self.lit.path)

    def _mark(self) -> tuple[int, int] | None:
        """Changes whenever a state is published."""
        try:
            found = (self.lit.path / CURRENT).stat()
        except OSError:
            return None  # nothing published, or not readable: the call itself meets that
        return found.st_ino, found.st_mtime_ns

    def _follow(self) -> None:
        mark = self._mark()
        if mark != self._published:
            self.lit.refresh()
            self._published = mark


def timed_out(timeout_s: float | None) -> ToolError:
    """The failure of a call whose time is up."""
    limit = "" if timeout_s is None else f" of {timeout_s:g} s"
    return tool_error(
        "timeout",
        f"the call took longer than its limit{limit}",
        "Ask for less (k, steps, hops), or call again later.",
        10.0,
    )


def _read(arguments: Mapping[str, Any] | str | None) -> Any:
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    if len(arguments) > MAX_ARGUMENT_CHARS:
        raise tool_error("invalid_arguments", "the arguments are too long", "Send less.")
    if not arguments.strip():
        return {}
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError) as error:
        what = "Write the arguments as one JSON object."
        raise tool_error("invalid_arguments", "the arguments are no JSON", what) from error
