"""A chat model that follows a script, and an embedder without weights."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hippo_lit.errors import ChatModelError
from hippo_lit.protocols import TextKind, Vectors
from hippo_lit.text import normalise
from hippo_lit.types import Message, Reply, Usage

Scripted = str | Reply | Exception


@dataclass(frozen=True, slots=True)
class ChatCall:
    """What a FakeChatModel was asked."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None


class FakeChatModel:
    """A `ChatModel` that answers from a list, in order, or by a function of the messages.

    A str or Reply is the answer, an exception is raised. `calls` records what was asked. One call more
    than there are replies is an AssertionError: the test expected fewer.
    """

    def __init__(
        self, replies: Sequence[Scripted] | Callable[[Sequence[Message]], Scripted], *, name: str = "fake"
    ) -> None:
        self.calls: list[ChatCall] = []
        self._replies = replies
        self._name = name
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        with self._lock:
            number = len(self.calls)
            self.calls.append(ChatCall(tuple(messages), schema))
        if callable(self._replies):
            reply = self._replies(messages)
        else:
            assert number < len(self._replies), f"call {number + 1}, but only {len(self._replies)} replies"
            reply = self._replies[number]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            reply = Reply(reply, usage=Usage(calls=1))
        if not reply.text.strip():
            raise ChatModelError("The fake model's reply is empty.", model=self.name, kind="empty_reply")
        return reply


class HashEmbedder:
    """An `Embedder` without weights: texts that share words, or parts of words, are similar.

    Every word and its character trigrams are hashed to signed dimensions and summed. The same text gives
    the same vector in every process and for every kind.
    """

    def __init__(self, dim: int = 64) -> None:
        if dim < 1:
            raise ValueError(f"dim must be at least 1, not {dim}")
        self._dim = dim

    @property
    def name(self) -> str:
        return f"hash-{self._dim}"

    @property
    def dim(self) -> int:
        return self._dim

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002 - the protocol's
        rows = np.zeros((len(texts), self._dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature in _features(text):
                digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
                value = int.from_bytes(digest, "little")
                row[value % self._dim] += 1.0 if value >> 63 else -1.0
            norm = float(np.linalg.norm(row))
            if norm:
                row /= norm
            else:
                row[0] = 1.0  # no words, or hashes that cancel out
        return rows


def _features(text: str) -> list[str]:
    words = [f" {word} " for word in normalise(text).split()]
    return words + [word[i : i + 3] for word in words for i in range(len(word) - 2)]
