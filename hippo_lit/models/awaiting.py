"""A chat model that asks nobody: it answers from what is kept and notes what it would have to ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hippo_lit.errors import ChatModelError
from hippo_lit.models.chat_cache import CachedChat
from hippo_lit.types import Message, Reply


@dataclass(frozen=True, slots=True)
class Request:
    """A call that was not made. `key` is its address in the cache of replies."""

    key: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None


class AwaitingChat:
    """A `ChatModel` over the replies that `cached` keeps; each distinct call beyond them goes to `wanted`
    once, and is answered by ChatModelError of kind "pending".

    `known` has outcomes that are not kept as replies, by key: a reply that was cut off, an error.
    """

    def __init__(
        self,
        cached: CachedChat,
        wanted: Callable[[Request], None],
        known: Mapping[str, Reply | ChatModelError] | None = None,
        *,
        forgetful: bool = True,
    ) -> None:
        self._forgetful = forgetful
        self._cached = cached
        self._wanted = wanted
        self._known = known or {}
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._cached.name

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        key = self._cached.key(messages, schema)
        found = self._cached.kept(key) or self._known.get(key)
        if isinstance(found, ChatModelError):
            raise found
        if found is not None:
            return found
        with self._lock:
            if key not in self._seen:
                self._seen.add(key)
                self._wanted(Request(key, tuple(messages), schema))
        raise ChatModelError("the reply is awaited", model=self.name, status=None, kind="pending")

    def forget(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> None:
        """Drop the kept reply as CachedChat does; nothing where this chat is not `forgetful`."""
        if self._forgetful:
            self._cached.forget(messages, schema=schema)


class HoldingChat:
    """A `ChatModel` over `cached` that does not ask what batch jobs will answer: that would be paid twice."""

    def __init__(self, cached: CachedChat, held: Collection[str]) -> None:
        self._cached = cached
        self._held = held

    @property
    def name(self) -> str:
        return self._cached.name

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """As `cached`; ChatModelError of kind "pending" for a call that is held and has no reply yet."""
        key = self._cached.key(messages, schema)
        if key in self._held and self._cached.kept(key) is None:
            why = "replies of batch jobs are awaited: `hippo-lit index --batch` collects them"
            raise ChatModelError(why, model=self.name, status=None, kind="pending")
        return self._cached.complete(messages, schema=schema)

    def forget(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> None:
        """Drop the kept reply, as CachedChat does."""
        self._cached.forget(messages, schema=schema)
