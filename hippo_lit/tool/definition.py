"""What a tool is: one definition, from which MCP's tools and every API's schemas are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hippo_lit.api import HippoLit
from hippo_lit.config import Settings
from hippo_lit.extraction import Progress
from hippo_lit.tool.arguments import Arguments
from hippo_lit.tool.results import Result

Lane = Literal["words", "vectors", "llm", "write"]
"""What a call needs, which says how long it may take: calls of one lane never wait for those of another."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call in both forms, and what a log of metrics tells of it."""

    result: Result
    text: str
    measured: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool. `description` is for the model that calls it; `run` raises HippoLitError or ToolError."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    run: Callable[[HippoLit, Any, Progress], Outcome]
    lane: Callable[[Any, Settings], Lane]
    writes: bool = False
    open_world: bool = False


def words(_arguments: Any, _settings: Settings) -> Lane:
    """Neither vectors nor a model."""
    return "words"


def retrieving(arguments: Any, settings: Settings) -> Lane:
    """As the mode says, and whether a model filters facts."""
    if arguments.mode in ("lexical", "bm25"):
        return "words"
    return "llm" if arguments.mode == "hippo" and settings.filter.kind == "llm" else "vectors"


def answering(arguments: Any, settings: Settings) -> Lane:
    """A model answers where there is one."""
    return "llm" if settings.llm.kind != "none" else retrieving(arguments, settings)


def writing(_arguments: Any, _settings: Settings) -> Lane:
    """One at a time."""
    return "write"
