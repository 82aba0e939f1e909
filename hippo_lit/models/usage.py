"""What model calls cost, counted per stage."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hippo_lit.errors import ChatModelError
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.streaming import OnText, stream_reply
from hippo_lit.protocols import ChatModel
from hippo_lit.stages import stage
from hippo_lit.types import Message, Reply, Usage

_active: contextvars.ContextVar[tuple[UsageMeter, ...]] = contextvars.ContextVar("active_meters", default=())


class UsageMeter:
    """Adds up usage per stage name; safe to use from several threads.

    Inside `with meter.active():` every `MeteredChat` also adds to this meter. That holds for the calling
    thread and for the calls `map_bounded` makes on its behalf, so that queries that run at the same time
    are counted apart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages: dict[str, Usage] = {}

    def add(self, stage: str, usage: Usage) -> None:
        with self._lock:
            self._stages[stage] = self._stages.get(stage, Usage()) + usage

    def stages(self) -> dict[str, Usage]:
        """Usage by stage name, as of now."""
        with self._lock:
            return dict(self._stages)

    @contextmanager
    def active(self) -> Iterator[UsageMeter]:
        token = _active.set((*_active.get(), self))
        try:
            yield self
        finally:
            _active.reset(token)


class MeteredChat:
    """A chat model whose calls are counted under a stage name, by every meter that is active."""

    def __init__(self, chat: ChatModel, stage: str) -> None:
        self._chat = chat
        self._stage = stage

    @property
    def name(self) -> str:
        return self._chat.name

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        return self._counted(lambda: self._chat.complete(messages, schema=schema))

    def stream(self, messages: Sequence[Message], on_text: OnText) -> Reply:
        """As `llm.streaming.Streaming`; whole where the chat model sends no pieces."""
        return self._counted(lambda: stream_reply(self._chat, messages, on_text))

    def forget(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> None:
        """Drop the reply to `messages` where the chat model keeps one."""
        forget_reply(self._chat, messages, schema=schema)

    def _counted(self, ask: Callable[[], Reply]) -> Reply:
        try:
            with stage(f"llm.{self._stage}", model=self.name):
                reply = ask()
        except ChatModelError as error:
            count(self._stage, error.fields.get("usage", Usage()))
            raise
        count(self._stage, reply.usage)
        return reply


def count(stage: str, usage: Usage) -> None:
    """Add what calls took to every meter that is active."""
    for meter in _active.get():
        meter.add(stage, usage)
