"""An index as tools that language models call: the same definitions for MCP, OpenAI and Anthropic.

>>> from hippo_lit import tool
>>> tools = tool.schemas("openai")                                       # doctest: +SKIP
>>> tool.call("search_papers", '{"query": "sparse attention"}').text     # doctest: +SKIP
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hippo_lit.api import HippoLit
    from hippo_lit.tool.formats import SchemaFormat
    from hippo_lit.tool.toolbox import Toolbox, ToolResult

_INDEX = "HIPPO_LIT_INDEX"
_opening = threading.Lock()


def schemas(form: SchemaFormat = "openai", *, allow_write: bool = False) -> list[dict[str, Any]]:
    """The tools as an API's request takes them: "openai" (chat completions), "openai-responses", "anthropic",
    or "json-schema", which has the schemas of results too.
    """
    from hippo_lit.tool.definitions import definitions
    from hippo_lit.tool.formats import tool_schemas

    return tool_schemas(definitions(allow_write=allow_write), form)


def call(
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    lit: HippoLit | None = None,
    *,
    allow_write: bool = False,
    timeout_s: float | None = None,
) -> ToolResult:
    """Call a tool, with the arguments as a model wrote them, on `lit` or, without it, on the index that the
    environment variable HIPPO_LIT_INDEX names (opened once, with the settings of the environment).

    Failures are results with `is_error`. Raises only where there is no index to call on: ConfigError,
    IndexNotFoundError and the like.
    """
    from hippo_lit.tool.toolbox import Toolbox

    box = Toolbox(lit, allow_write=allow_write) if lit is not None else _of_environment(allow_write)
    return box.call(name, arguments, timeout_s=timeout_s)


def _of_environment(allow_write: bool) -> Toolbox:
    from hippo_lit.errors import ConfigError

    folder = os.environ.get(_INDEX, "").strip()
    if not folder:
        raise ConfigError(f"no index to call on: pass lit=, or set {_INDEX}", key=_INDEX)
    with _opening:
        return _opened(folder, allow_write)


@lru_cache(maxsize=4)
def _opened(folder: str, allow_write: bool) -> Toolbox:
    from hippo_lit.api import HippoLit
    from hippo_lit.config import load_settings
    from hippo_lit.tool.toolbox import Toolbox

    lit = HippoLit.open(folder, load_settings(), create=False, read_only=not allow_write)
    return Toolbox(lit, allow_write=allow_write)
