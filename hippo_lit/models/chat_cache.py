"""A chat model that never pays twice for the same question."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Any

from hippo_lit.errors import HippoLitError, StoreError
from hippo_lit.llm.streaming import OnText, stream_reply
from hippo_lit.protocols import ChatModel
from hippo_lit.storage.cache import Cache
from hippo_lit.text import content_hash
from hippo_lit.types import Message, Reply, Usage

CUT_OFF = ("length", "content_filter")


class CachedChat:
    """`ChatModel` that keeps replies in a `Cache`, by model, messages, schema and parameters.

    `parameters` is what else a reply depends on (base URL, temperature, seed, …); left out, it is the
    chat model's own `parameters`, where it has them. A reply from the cache costs nothing: its usage is
    one cached call. Failures and replies that were cut off are not kept, and what a
    caller finds unusable it can have forgotten. Equal calls at the same time
    are made once in a process; the others wait for that one and share its reply, or its error.

    Once a reply could not be kept (a full disk), no further one is paid for: calls that are not on the wire
    yet raise the same StoreError.
    """

    def __init__(self, chat: ChatModel, cache: Cache, *, parameters: Mapping[str, Any] | None = None) -> None:
        self._chat = chat
        self._cache = cache
        own = getattr(chat, "parameters", {}) if parameters is None else parameters
        self._parameters = _canonical(own)
        self._lock = threading.Lock()
        self._running: dict[str, Future[Reply]] = {}
        self._unkept: StoreError | None = None

    @property
    def name(self) -> str:
        return self._chat.name

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """As the chat model's own; also raises StoreError where the cache cannot be written but must."""
        return self._shared(messages, schema, lambda: self._chat.complete(messages, schema=schema))

    def stream(self, messages: Sequence[Message], on_text: OnText) -> Reply:
        """As `llm.streaming.Streaming`; a kept reply comes in one piece. Raises as `complete`."""
        sent = False

        def ask() -> Reply:
            nonlocal sent
            sent = True
            return stream_reply(self._chat, messages, on_text)

        reply = self._shared(messages, None, ask)
        if not sent:
            on_text(reply.text)
        return reply

    def _shared(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, ask: Callable[[], Reply]
    ) -> Reply:
        key = self.key(messages, schema)
        while True:
            with self._lock:
                running = self._running.get(key)
                if running is None:
                    mine = self._running[key] = Future[Reply]()
                    break
            try:
                return replace(running.result(), usage=Usage(cached_calls=1))
            except CancelledError:
                continue  # the call we waited for was interrupted: make it ourselves
        try:
            reply = self._load(key) or self._pay(key, ask)
            mine.set_result(reply)
        except HippoLitError as error:
            mine.set_exception(error)
            raise
        finally:
            mine.cancel()  # does nothing to a future that is done
            with self._lock:
                del self._running[key]
        return reply

    def forget(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> None:
        """Drop the kept reply to `messages`: for callers that found it unusable and will ask again."""
        self._cache.delete_reply(self.key(messages, schema))

    def key(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
        """The address of a call: a hash of the model, its parameters, the schema and every message."""
        turns = [part for message in messages for part in (message.role, message.content)]
        return content_hash(self._chat.name, self._parameters, _canonical(schema), *turns)

    def kept(self, key: str) -> Reply | None:
        """The reply under `key`, if it is kept; nothing is asked."""
        return self._load(key)

    def keep(self, replies: Mapping[str, Reply]) -> None:
        """Keep replies that came another way, by key, in one transaction."""
        rows = {key: _kept(reply) for key, reply in replies.items() if reply.finish_reason not in CUT_OFF}
        self._cache.put_replies(rows)

    def _pay(self, key: str, ask: Callable[[], Reply]) -> Reply:
        if (unkept := self._unkept) is not None:
            raise type(unkept)(unkept.message, **unkept.fields)
        self._cache.expect_reply()
        reply = ask()
        if reply.finish_reason not in CUT_OFF:
            try:
                self._cache.put_reply(key, _kept(reply))
            except StoreError as error:
                self._unkept = error
                raise
        return reply

    def _load(self, key: str) -> Reply | None:
        kept = self._cache.get_reply(key)
        if kept is None:
            return None
        fields = json.loads(kept)
        return Reply(fields["text"], fields["finish_reason"], Usage(cached_calls=1))


def _kept(reply: Reply) -> str:
    return json.dumps({"text": reply.text, "finish_reason": reply.finish_reason})


def _canonical(value: Mapping[str, Any] | None) -> str:
    return json.dumps(value if value is None else dict(value), sort_keys=True, ensure_ascii=True)
