"""Replies that a cache must not keep: those that turned out unusable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from hippo_lit.protocols import ChatModel
from hippo_lit.types import Message


@runtime_checkable
class Forgetting(Protocol):
    """What a `ChatModel` that keeps replies offers besides."""

    def forget(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> None:
        """Drop the kept reply to this call, if there is one."""
        ...


def forget_reply(
    chat: ChatModel, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None
) -> None:
    """Let the next equal call be made anew: a no-op for models that keep nothing.

    Raises StoreError where the model's cache cannot be written but must.
    """
    if isinstance(chat, Forgetting):
        chat.forget(messages, schema=schema)
