"""The sentences of given papers that are nearest to a text: what can be said without a chat model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hippo_lit.answer.values import Extract
from hippo_lit.errors import MissingExtraError, ModelError
from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.protocols import Embedder
from hippo_lit.similarity import cosines
from hippo_lit.snapshot import Snapshot
from hippo_lit.tokenizers import tokenizer
from hippo_lit.topk import best

PER_PAPER = 2


class NearestSentences:
    """Finds them in one snapshot, by the sentence vectors of the index or, with `vectors` off or where the
    embedder fails, by BM25 over the sentences at hand. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot, embedder: Embedder, *, vectors: bool = True) -> None:
        self._snapshot = snapshot
        self._embedder = embedder
        self._vectors = vectors

    def find(
        self, text: str, paper_ids: Sequence[str], k: int, per_paper: int = PER_PAPER
    ) -> tuple[Extract, ...]:
        """At most `k` sentences, best first, at most `per_paper` of each paper.

        By words, only sentences that share one with `text`. Papers without an abstract have no sentence.
        """
        where = [(paper_id, row) for paper_id in paper_ids for row in self._rows(paper_id)]
        if not where or not text.strip():
            return ()
        scores, by = self._scores(text, [row for _, row in where])
        found: list[Extract] = []
        taken: dict[str, int] = {}
        for i in best(scores, len(where)):
            paper_id, row = where[i]
            if len(found) == k or (by == "words" and scores[i] <= 0):
                break
            if taken.get(paper_id, 0) < per_paper:
                taken[paper_id] = taken.get(paper_id, 0) + 1
                found.append(Extract(paper_id, self._snapshot.sentence(row), float(scores[i]), by))
        return tuple(found)

    def _rows(self, paper_id: str) -> range:
        """The numbers of a paper's sentences."""
        number = self._snapshot.find(paper_id)
        if number is None:
            return range(0)
        first, last = (int(passage) for passage in self._snapshot.first_passage[number : number + 2])
        start = self._snapshot.graph.sentence_start
        return range(int(start[first]), int(start[last]))

    def _scores(self, text: str, rows: list[int]) -> tuple[NDArray[np.floating], Literal["vectors", "words"]]:
        if self._vectors:
            try:
                query = self._embedder.embed([text], "query_to_fact")[0]
            except (ModelError, MissingExtraError):
                pass  # retrieval met the same failure, and its result says so
            else:
                if len(query) == self._snapshot.sentence_vectors.shape[1]:
                    return cosines(self._snapshot.sentence_vectors[rows], query), "vectors"
        sentences = [self._snapshot.sentence(row) for row in rows]
        return BM25Index.build(sentences, tokenizer("unicode-stem")).scores(text), "words"
