"""The seams: what the core asks of the outside, and nothing else of it.

Every implementation passes the same contract tests (`tests/contract/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hippo_lit.types import Extraction, FilterOutcome, Message, Paper, Passage, Reply, ScoredFact

Vectors = NDArray[np.float32]
TextKind = Literal["passage", "fact", "query_to_fact", "query_to_passage"]


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """Identifies the vectors: equal names give equal vectors for equal texts."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector. May load the model."""
        ...

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Unit rows, shape (len(texts), dim), float32. Raises EmbeddingError."""
        ...


Spans = Sequence[tuple[int, int]]


class PartEmbedder(Embedder, Protocol):
    """An embedder that also gives vectors of a text's parts, as read in the context of the whole."""

    @property
    def space(self) -> str:
        """Identifies the vectors of documents: what an index is built in, whatever queries are told."""
        ...

    def embed_parts(
        self,
        texts: Sequence[str],
        spans: Sequence[Spans],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Vectors, Vectors]:
        """Unit rows of the texts, and of all parts `texts[i][start:end]` one after the other.

        Shapes (len(texts), dim) and (sum of the numbers of spans, dim). Raises EmbeddingError.
        """
        ...


@runtime_checkable
class ChatModel(Protocol):
    """One call: messages in, reply out. Safe to call from several threads."""

    @property
    def name(self) -> str: ...

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Answer `messages`; `schema` is a JSON schema the reply should follow if the server can.

        Raises ChatModelError; never returns an empty text.
        """
        ...


@runtime_checkable
class PaperSource(Protocol):
    """Something that yields papers. A failure raises SourceError; it never looks like "no papers"."""

    @property
    def name(self) -> str: ...

    def papers(self) -> Iterable[Paper]:
        """Every paper this source has for what it was asked."""
        ...


@runtime_checkable
class FactExtractor(Protocol):
    """Passages to entities and facts."""

    @property
    def name(self) -> str:
        """Identifies the extraction: equal names give equal results for equal passages."""
        ...

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        """One item per passage, in order: what was found, or the HippoLitError that prevented it."""
        ...


@runtime_checkable
class FactFilter(Protocol):
    """Recognition memory: which candidate facts bear on the question."""

    @property
    def name(self) -> str: ...

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:
        """A subset of `candidates`, best first. May raise ModelError."""
        ...


@runtime_checkable
class PageRank(Protocol):
    """Personalised PageRank over one fixed graph."""

    def scores(self, reset: NDArray[np.float64]) -> NDArray[np.float64]:
        """Stationary probabilities, one per node, summing to 1; all zero for an all-zero reset."""
        ...
