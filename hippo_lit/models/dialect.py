"""What one server understands of the chat API, learnt from what it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hippo_lit.retry import CallFailed

ResponseFormat = Literal["auto", "json_schema", "json_object", "text"]

# From the most to the least that a server can be asked: a reply bound to the schema, JSON with the schema
# as a hint (a habit of some local servers), any JSON, plain text.
LEVELS = ("json_schema", "json_object+schema", "json_object", "text")
_OPTIONAL = ("temperature", "seed")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a request is put. `level` is one of LEVELS and matters only to requests with a schema."""

    level: str = LEVELS[0]
    dropped: frozenset[str] = frozenset()
    max_tokens_name: str = "max_tokens"
    fixed: bool = False

    @classmethod
    def of(cls, response_format: ResponseFormat) -> Dialect:
        return cls() if response_format == "auto" else cls(level=response_format, fixed=True)

    def request(
        self, body: Mapping[str, Any], max_tokens: int | None, schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The request in this dialect; parameters that are None are left out."""
        kept = {k: v for k, v in body.items() if v is not None and k not in self.dropped}
        if max_tokens is not None:
            kept[self.max_tokens_name] = max_tokens
        if schema is not None and self.level != "text":
            kept["response_format"] = _response_format(self.level, schema)
        return kept

    def adapted(self, failed: CallFailed, *, with_schema: bool, proven: bool) -> Dialect | None:
        """A dialect that avoids what `failed` refused; None where the refusal was about something else.

        `proven`: this level has worked before, so only a refusal that names it counts.
        """
        if failed.status in (400, 422):
            words = failed.param or failed.detail
            if "max_completion_tokens" in failed.detail and self.max_tokens_name == "max_tokens":
                return replace(self, max_tokens_name="max_completion_tokens")
            for name in _OPTIONAL:
                if name not in self.dropped and re.search(rf"\b{name}\b", words):
                    return replace(self, dropped=self.dropped | {name})
        if self.fixed or not with_schema or self.level == LEVELS[-1]:
            return None
        if _refuses_format(failed, proven=proven):
            return replace(self, level=LEVELS[LEVELS.index(self.level) + 1])
        return None


def _refuses_format(failed: CallFailed, *, proven: bool) -> bool:
    if failed.status == 501:
        return True
    if failed.status == 500:
        return not proven
    if failed.status not in (400, 422):
        return False
    if "response_format" in failed.param or "schema" in f"{failed.param} {failed.detail}".lower():
        return True
    return not failed.param and (not proven or "response_format" in failed.detail)


def _response_format(level: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if level == "json_schema":
        named = {"name": "reply", "schema": dict(schema), "strict": _strict(schema)}
        return {"type": "json_schema", "json_schema": named}
    if level == "json_object+schema":
        return {"type": "json_object", "schema": dict(schema)}
    return {"type": "json_object"}


def _strict(schema: object) -> bool:
    """Whether the API's strict mode takes this schema: objects are closed and every property required."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "object" or "properties" in schema:
            properties = schema.get("properties", {})
            if schema.get("additionalProperties") is not False:
                return False
            if set(schema.get("required", ())) != set(properties):
                return False
        return all(_strict(part) for part in schema.values())
    return all(_strict(part) for part in schema) if isinstance(schema, (list, tuple)) else True
