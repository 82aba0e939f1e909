"""What every route reads of a query: BM25, dense and hybrid scores, of passages and of papers."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hippo_lit.config import Settings
from hippo_lit.errors import EmbedderMismatchError
from hippo_lit.lexical.twopass import TwoPassScores, two_pass
from hippo_lit.protocols import Embedder, TextKind, Vectors
from hippo_lit.similarity import cosines
from hippo_lit.snapshot import Snapshot

Floats = NDArray[np.float64]


def minmax(scores: NDArray[np.floating]) -> Floats:
    """Scores stretched to [0, 1]; all 0 where they do not differ."""
    if not scores.size:
        return np.zeros(0)
    low, high = float(scores.min()), float(scores.max())
    if high <= low:
        return np.zeros(len(scores))
    return (np.asarray(scores, dtype=np.float64) - low) / (high - low)


class Corpus:
    """A snapshot with its word indexes open; shared by all queries."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self.snapshot = snapshot
        self.settings = settings
        self.lexical_index = snapshot.lexical
        self.bm25_index = snapshot.bm25

    def by_paper(self, passage_scores: Floats) -> Floats:
        """Each paper's best passage, shape (papers,)."""
        if not len(self.snapshot):
            return np.zeros(0)
        return np.maximum.reduceat(passage_scores, self.snapshot.first_passage[:-1])


class Signals:
    """One query's scores, each computed when it is first asked for. Scores of passages unless said."""

    def __init__(self, query: str, corpus: Corpus, embedder: Embedder) -> None:
        self.query = query
        self._corpus = corpus
        self._embedder = embedder

    @cached_property
    def lesson(self) -> TwoPassScores:
        """The two-pass scores, of papers."""
        lexical = self._corpus.settings.lexical
        return two_pass(
            self._corpus.lexical_index.scores(self.query),
            self._corpus.snapshot.citations,
            self._corpus.snapshot.years,
            weights=(lexical.w_bm25, lexical.w_graph, lexical.w_recency),
            seed_hits=lexical.seed_hits,
            max_hops=lexical.max_hops,
        )

    def embed(self, *, facts: bool) -> None:
        """Embed the query now, for passages and, with `facts`, for facts.

        Raises EmbeddingError; EmbedderMismatchError for vectors of another dimension than the index has.
        """
        _ = self.query_to_passage, self.query_to_fact if facts else None

    @cached_property
    def bm25(self) -> Floats:
        return self._corpus.bm25_index.scores(self.query)

    def held(self, passages: NDArray[np.integer]) -> Floats:
        """How much of what the query says these passages hold, in [0, 1]: see `BM25Index.held`."""
        return self._corpus.bm25_index.held(self.query, passages)

    @cached_property
    def query_to_passage(self) -> Vectors:
        """The query as the embedder sees it when it looks for passages, shape (dim,)."""
        return self._embedded("query_to_passage")

    @cached_property
    def query_to_fact(self) -> Vectors:
        """The query as the embedder sees it when it looks for facts, shape (dim,)."""
        return self._embedded("query_to_fact")

    @property
    def embedded(self) -> bool:
        """Whether the query has its vector for passages already."""
        return "query_to_passage" in vars(self)

    def _embedded(self, kind: TextKind) -> Vectors:
        vector: Vectors = self._embedder.embed([self.query], kind)[0]
        found, snapshot = len(vector), self._corpus.snapshot
        if found != (expected := snapshot.passage_vectors.shape[1]):
            raise EmbedderMismatchError(
                f"{snapshot.folder} holds vectors of {expected} dimensions, and the embedder"
                f" {self._embedder.name} now gives {found}: give the settings it was indexed with, or index"
                " again under another name of the model",
                path=str(snapshot.folder),
                found=expected,
                expected=found,
            )
        return vector

    @cached_property
    def dense(self) -> Floats:
        """Cosines, in [-1, 1]."""
        return cosines(self._corpus.snapshot.passage_vectors, self.query_to_passage).astype(np.float64)

    @cached_property
    def hybrid(self) -> Floats:
        """In [0, 1]: dense_share * minmax(dense) + (1 - dense_share) * minmax(bm25), min-maxed."""
        share = self._corpus.settings.hybrid.dense_share
        return minmax(share * minmax(self.dense) + (1 - share) * minmax(self.bm25))
