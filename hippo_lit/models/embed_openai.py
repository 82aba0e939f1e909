"""Embeddings by an OpenAI-compatible server."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.endpoint import Endpoint
from hippo_lit.models.styles import Style, prefixes_for
from hippo_lit.models.vectors import embeddable, unit_rows
from hippo_lit.protocols import TextKind, Vectors
from hippo_lit.retry import CallFailed, RetryPolicy
from hippo_lit.types import Usage


class OpenAIEmbedder:
    """`Embedder` through the `openai` client; safe to use from several threads.

    Base URL, key and retries as in `OpenAIChat`, but all its own. `dimensions` asks the server for
    shorter vectors, where it can. Texts longer than `max_chars` are cut, as local models cut theirs.
    `usage` adds up what all calls took; the price is in USD.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        dimensions: int | None = None,
        batch_size: int = 128,
        max_chars: int = 8000,
        timeout_s: float = 60.0,
        deadline_s: float = 180.0,
        max_attempts: int = 5,
        wait_s: float = 0.5,
        requests_per_minute: float | None = None,
        instructions: Mapping[str, str] | None = None,
        style: Style = "auto",
        price_per_million: float | None = None,
    ) -> None:
        policy = RetryPolicy(
            max_attempts=max_attempts, timeout_s=timeout_s, deadline_s=deadline_s, wait_s=wait_s
        )
        self._model = model
        self._endpoint = Endpoint(base_url, api_key_env, policy, requests_per_minute)
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._max_chars = max_chars
        self._prefixes = prefixes_for(model, style, instructions or {})
        self._price = price_per_million
        self._lock = threading.Lock()
        self._dim: int | None = dimensions
        self._usage = Usage()

    @property
    def name(self) -> str:
        """Model, server, dimensions asked for, and digest of the prefixes."""
        return f"{self._identity}/{self._prefixes.digest}"

    @property
    def space(self) -> str:
        """Identifies the vectors of documents alone: instructions of queries do not change it."""
        return f"{self._identity}/{self._prefixes.document_digest}"

    @property
    def dim(self) -> int:
        """Length of a vector; costs one call where neither `dimensions` nor an earlier call told."""
        if self._dim is None:
            self.embed(["."], "passage")
        return self._dim or 0

    @property
    def usage(self) -> Usage:
        return self._usage

    def render(self, text: str, kind: TextKind) -> str:
        """What the server gets to see of `text`."""
        return self._prefixes.of(kind) + embeddable(text)[: self._max_chars]

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit rows, shape (len(texts), dim). Raises EmbeddingError."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        rendered = [self.render(text, kind) for text in texts]
        starts = range(0, len(rendered), self._batch_size)
        return np.concatenate([self._batch(rendered[i : i + self._batch_size]) for i in starts])

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._endpoint.close()

    def __enter__(self) -> OpenAIEmbedder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._model!r}, base_url={self._endpoint.where!r})"

    def _batch(self, texts: list[str]) -> Vectors:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        try:
            data = self._endpoint.run(lambda seconds: self._endpoint.embeddings(body, seconds))
        except CallFailed as failed:
            raise EmbeddingError(
                self._endpoint.explain(failed, self._model),
                model=self._model,
                kind=failed.kind,
                status=failed.status,
                attempts=failed.attempts,
                retry_after_s=failed.retry_after_s,
            ) from failed
        self._count(data)
        vectors = unit_rows(self._in_order(data, len(texts)), len(texts), self._dim, self._model)
        with self._lock:
            self._dim = self._dim or vectors.shape[1]
        return vectors

    def _in_order(self, data: Mapping[str, Any], count: int) -> list[Any]:
        """The vectors in the order of the texts; the server says which is which."""
        items = data.get("data")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._unusable("the reply has no list of embeddings")
        if len(items) != count:
            raise self._unusable(f"it returned {len(items)} vectors for {count} texts")
        by_index: dict[int, Any] = {}
        for place, item in enumerate(items):
            index = item.get("index")
            by_index[index if isinstance(index, int) else place] = item.get("embedding")
        if set(by_index) != set(range(count)):
            raise self._unusable("the indices of its vectors are not those of the texts")
        return [by_index[index] for index in range(count)]

    def _unusable(self, what: str) -> EmbeddingError:
        return EmbeddingError(
            f"The embedder {self._model} at {self._endpoint.where} cannot be used: {what}. Check the base"
            " URL, or choose another model.",
            model=self._model,
        )

    def _count(self, data: Mapping[str, Any]) -> None:
        counts = data.get("usage")
        tokens = counts.get("prompt_tokens") if isinstance(counts, dict) else 0
        tokens = tokens if isinstance(tokens, int) else 0
        cost = None if self._price is None else tokens * self._price / 1e6
        with self._lock:
            self._usage = self._usage + Usage(1, 0, tokens, 0, cost)

    @property
    def _identity(self) -> str:
        size = f":{self._dimensions}" if self._dimensions else ""
        return f"{self._model}@{self._endpoint.where}{size}"
