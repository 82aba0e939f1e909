"""Replies in pieces, from chat models that can; from the others, whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from hippo_lit.protocols import ChatModel
from hippo_lit.types import Message, Reply

OnText = Callable[[str], None]


@runtime_checkable
class Streaming(Protocol):
    """What a `ChatModel` that sends its replies in pieces offers besides."""

    def stream(self, messages: Sequence[Message], on_text: OnText) -> Reply:
        """As `complete`; `on_text` gets the reply's text piece by piece, before the call returns.

        Raises ChatModelError, also after some pieces: what was sent is then not a reply.
        """
        ...


def stream_reply(chat: ChatModel, messages: Sequence[Message], on_text: OnText) -> Reply:
    """The reply of `chat`, in pieces where it can; in one piece where it cannot. Raises ChatModelError."""
    if isinstance(chat, Streaming):
        return chat.stream(messages, on_text)
    reply = chat.complete(messages)
    on_text(reply.text)
    return reply
