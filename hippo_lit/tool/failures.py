"""Errors as agents get them: a code, what happened, when to try again, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import CancelledError
from pathlib import Path

from pydantic import ValidationError

from hippo_lit.errors import (
    ChatModelError,
    ConfigError,
    DataError,
    HippoLitError,
    IndexLockedError,
    MissingExtraError,
    ModelError,
    PromptError,
    SourceError,
    StoreError,
)
from hippo_lit.render import shorten
from hippo_lit.tool.results import Failure

_LOG = logging.getLogger(__name__)
_MAX_MESSAGE_CHARS, _MAX_PROBLEMS = 600, 5
_ASK = "Tell the person who runs this server."
LOCKED_S = 30.0
_MODEL_S = 10.0


class ToolError(Exception):
    """A tool has no result. Field: `failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def tool_error(code: str, message: str, what_to_do: str, retry_after_s: float | None = None) -> ToolError:
    """The error with these fields of `results.Failure`."""
    values = {
        "code": code,
        "message": shorten(message, _MAX_MESSAGE_CHARS),
        "what_to_do": what_to_do,
        "retry_after_s": retry_after_s,
    }
    return ToolError(Failure.model_validate(values))


def invalid(error: ValidationError) -> ToolError:
    """What is wrong with arguments: where, and what was expected. What was given is not repeated."""
    problems = [
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    more = f" (and {len(problems) - _MAX_PROBLEMS} more)" if len(problems) > _MAX_PROBLEMS else ""
    message = "; ".join(problems[:_MAX_PROBLEMS]) + more
    return tool_error("invalid_arguments", message, "Call again with arguments that fit the tool's schema.")


def unknown_tool(name: str, known: Iterable[str]) -> ToolError:
    names = ", ".join(known)
    return tool_error("unknown_tool", f"there is no tool {name[:64]!r}", f"Call one of: {names}.")


def from_error(error: Exception, folder: Path) -> ToolError:
    """The tool error that stands for `error`; where the index lies on the server is not told.

    What is no HippoLitError is a bug: its type is logged, and its traceback at level DEBUG, since messages of
    foreign errors may quote what was asked or read.
    """
    if isinstance(error, ToolError):
        return error
    if isinstance(error, CancelledError):
        return tool_error("cancelled", "the call was ended before it was done", "Call again if still needed.")
    if not isinstance(error, HippoLitError):
        _LOG.error("internal error in a tool: %s", type(error).__name__)
        _LOG.debug("its traceback", exc_info=error)
        return tool_error("internal", f"a bug in hippo-lit ({type(error).__name__})", _ASK)
    code, what, wait = _meaning(error)
    message = error.message
    if isinstance(error, ChatModelError) and error.account_wide:  # providers repeat parts of the key
        message = "the provider of the language model refused this server's account, key or model"
    for path in {str(folder), str(folder.resolve())}:
        message = message.replace(path, "the index")
    return tool_error(code, message, what, wait)


def _meaning(error: HippoLitError) -> tuple[str, str, float | None]:
    """Code, advice, and seconds to wait."""
    wait = error.fields.get("retry_after_s")
    match error:
        case IndexLockedError():
            return "busy", "Another program writes to the corpus; wait, then call again.", LOCKED_S
        case StoreError():
            return "index_unavailable", _ASK, None
        case DataError() if "similar" in error.fields:
            return "not_found", "Use an id that search_papers gave.", None
        case DataError():
            return "invalid_arguments", "Mend the record, then call again.", None
        case SourceError():
            return "source_failed", "Wait, then call again; what came is kept.", wait or _MODEL_S
        case ChatModelError() if error.account_wide:
            return "model_failed", f"{_ASK} search_papers with mode bm25 needs no model.", None
        case ModelError():
            return "model_failed", "Wait and call again, or search with mode bm25.", wait or _MODEL_S
        case MissingExtraError() | PromptError() | ConfigError():
            return "configuration", _ASK, None
        case _:
            return "internal", _ASK, None
