"""A chat completion that comes in pieces, put together as if it had come whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hippo_lit.llm.streaming import OnText
from hippo_lit.retry import CallFailed

STREAMED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What a request for pieces says besides."""


class StreamedReply:
    """Collects the chunks of one call; hands their text on. `data` is the last chunk that counts tokens."""

    def __init__(self, on_text: OnText) -> None:
        self.data: Mapping[str, Any] = {}
        self._on_text = on_text
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._finish_reason: str | None = None

    @property
    def begun(self) -> bool:
        """Whether any text was handed on."""
        return bool(self._texts)

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Read a chunk, or a whole completion of a server that sends no chunks."""
        if isinstance(chunk.get("usage"), dict):
            self.data = chunk
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            return
        self._refusals.append(text_of(delta.get("refusal")))
        if text := text_of(delta.get("content")):
            self._texts.append(text)
            self._on_text(text)

    def completion(self) -> dict[str, Any]:
        """The completion object. Raises CallFailed where the last piece is missing."""
        if self._finish_reason is None:
            raise CallFailed("connection", "the reply broke off in the middle", again=True)
        message = {"content": "".join(self._texts), "refusal": "".join(self._refusals)}
        return {"choices": [{"message": message, "finish_reason": self._finish_reason}]}


def text_of(content: object) -> str:
    """A message's content: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "".join(text_of(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
