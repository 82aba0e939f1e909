"""Okapi BM25 over an inverted index whose postings already hold the finished weights.

    idf(t)     = ln((N - df + 0.5) / (df + 0.5) + 1)
    tf_norm(t) = f (k1 + 1) / (f + k1 (1 - b + b dl / avgdl))
    score(d,q) = sum over t in q of idf(t) tf_norm(t)

(Robertson and Zaragoza 2009, with Lucene's +1 inside the logarithm, which keeps idf positive.) bm25s computes
the same (method "lucene" times k1 + 1; a parity test holds us to it) and as fast, but it fails on an empty
corpus and an empty query, builds document by document in 2.3 times the memory, holds its vocabulary as a
dictionary read at every start, and does not say what each term contributed. So the postings are numpy
columns of our own, and the vocabulary is searched where it lies on disk.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import (
    ConfigError,
    FormatVersionError,
    IndexCorruptError,
    IndexNotFoundError,
)
from hippo_lit.storage.columns import map_array
from hippo_lit.storage.disk import reporting
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.postings import Postings, index_groups
from hippo_lit.tokenizers import PlainTokenizer, Tokenizer
from hippo_lit.tokenizers import tokenizer as tokenizer_named
from hippo_lit.topk import best_above_zero

FORMAT = 2
_COLUMNS = {
    "terms": np.uint8,  # the vocabulary in UTF-8, sorted, end to end
    "term_ends": np.int64,  # where each term ends in `terms`
    "starts": np.int64,  # where each term's postings start; one more than there are terms
    "documents": np.int32,  # per posting, ascending within a term
    "frequencies": np.int32,  # per posting
    "weights": np.float64,  # per posting, idf times tf_norm
    "lengths": np.int64,  # of each document, in tokens
}


class BM25Index:
    """Scores every document of a fixed corpus against a query. Immutable; safe to share between threads."""

    def __init__(
        self, columns: dict[str, NDArray[Any]], size: int, tokenizer: Tokenizer, k1: float, b: float
    ) -> None:
        """Use `build` or `load`. `size` is the number of documents; `columns` are those of `_COLUMNS`."""
        self.tokenizer = tokenizer
        self.k1 = k1
        self.b = b
        self._size = size
        self._columns = columns
        self._documents = np.asarray(columns["documents"])  # a plain view slices faster than a memmap
        self._weights = np.asarray(columns["weights"])
        self._starts = columns["starts"].data
        self._terms = columns["terms"].data
        self._ends = columns["term_ends"].data

    @classmethod
    def build(
        cls, texts: Iterable[str], tokenizer: Tokenizer | None = None, *, k1: float = 1.5, b: float = 0.75
    ) -> BM25Index:
        """Index `texts`; document i is the i-th. The default tokenizer is `PlainTokenizer`.

        Documents without a term count in N and in the mean length, and never score. Raises ConfigError for
        k1 < 0 or b outside [0, 1].
        """
        tokenizer = tokenizer or PlainTokenizer()
        return cls.of(index_texts(texts, tokenizer), tokenizer, k1=k1, b=b)

    @classmethod
    def of(cls, postings: Postings, tokenizer: Tokenizer, *, k1: float = 1.5, b: float = 0.75) -> BM25Index:
        """The index of postings that `tokenizer` made. Raises ConfigError as `build`."""
        if not (math.isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
            raise ConfigError(f"BM25 needs k1 >= 0 and 0 <= b <= 1, got k1={k1}, b={b}", key="bm25")
        columns: dict[str, NDArray[Any]] = {
            "terms": postings.terms.data,
            "term_ends": postings.terms.offsets[1:],
            "starts": postings.starts,
            "documents": postings.documents,
            "frequencies": postings.frequencies,
            "weights": weights(postings, k1, b),
            "lengths": postings.lengths,
        }
        return cls(columns, len(postings.lengths), tokenizer, k1, b)

    @property
    def postings(self) -> Postings:
        """What the index was made of."""
        columns = {name: np.asarray(column) for name, column in self._columns.items()}
        return Postings(
            Packed(columns["terms"], np.concatenate([[0], columns["term_ends"]])),
            *(columns[name] for name in ("starts", "documents", "frequencies", "lengths")),
        )

    def __len__(self) -> int:
        return self._size

    def scores(self, query: str) -> NDArray[np.float64]:
        """BM25 of every document, shape (n,); a term counts as often as the query holds it."""
        scores = np.zeros(self._size)
        for _, count, postings in self._matches(query):
            weights = self._weights[postings]  # np.add.at: a third of the time of +=, see docs/speed.md
            np.add.at(scores, self._documents[postings], weights if count == 1 else count * weights)
        return scores

    def held(self, query: str, documents: NDArray[np.integer]) -> NDArray[np.float64]:
        """How much of what `query` says each of these documents holds, in [0, 1].

        The idf of the query's terms that stand in the document over that of all its terms that stand in any
        document; 0 everywhere where none does.
        """
        held, total = np.zeros(len(documents)), 0.0
        wanted = np.asarray(documents, dtype=self._documents.dtype)
        for _, _, postings in self._matches(query):
            idf = _idf(self._size, postings.stop - postings.start)
            holding = self._documents[postings]
            at = np.minimum(np.searchsorted(holding, wanted), len(holding) - 1)
            held[holding[at] == wanted] += idf
            total += idf
        return held / total if total else held

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The best `k` documents with a score above 0 as (index, score), best first, ties by index."""
        scores = self.scores(query)
        return [(int(i), float(scores[i])) for i in best_above_zero(scores, k)]

    def contributions(self, query: str, index: int) -> dict[str, float]:
        """What each query term adds to the score of document `index`; terms that add nothing are left out."""
        if not 0 <= index < self._size:
            raise IndexError(f"no document {index} in an index of {self._size}")
        found = {}
        for term, count, postings in self._matches(query):
            at = postings.start + int(np.searchsorted(self._documents[postings], index))
            if at < postings.stop and self._documents[at] == index:
                found[term] = count * float(self._weights[at])
        return found

    def save(self, folder: str | Path) -> None:
        """Write the index into `folder` (made if absent), one file per column. Raises StoreError."""
        folder = Path(folder)
        meta = {
            "format": FORMAT,
            "documents": self._size,
            "tokenizer": self.tokenizer.name,
            "k1": self.k1,
            "b": self.b,
        }
        with reporting("write the BM25 index to", folder):
            folder.mkdir(parents=True, exist_ok=True)
            for name, column in self._columns.items():
                np.save(folder / f"{name}.npy", column, allow_pickle=False)
            (folder / "bm25.json").write_text(json.dumps(meta), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, tokenizer: Tokenizer | None = None) -> BM25Index:
        """Open what `save` wrote, memory-mapped: nothing is read before it is needed.

        `tokenizer` is only needed if the index was built with one that `tokenizers.tokenizer` cannot make.
        Raises IndexNotFoundError, FormatVersionError, IndexCorruptError; ConfigError for another tokenizer.
        """
        folder = Path(folder)
        try:
            meta = json.loads((folder / "bm25.json").read_text(encoding="utf-8"))
            if meta["format"] != FORMAT:
                raise FormatVersionError(
                    f"the BM25 index in {folder} has format {meta['format']}, this version reads {FORMAT}: "
                    "rebuild it",
                    path=str(folder),
                    found=meta["format"],
                    expected=FORMAT,
                )
            columns = {name: map_array(folder / f"{name}.npy") for name in _COLUMNS}
            size, built_with, k1, b = meta["documents"], meta["tokenizer"], meta["k1"], meta["b"]
            _check(columns, size)
        except FileNotFoundError as e:
            raise IndexNotFoundError(
                f"no BM25 index in {folder}: {e.filename} is missing", path=str(folder)
            ) from e
        except (OSError, ValueError, KeyError, TypeError, EOFError) as e:
            raise IndexCorruptError(
                f"the BM25 index in {folder} is damaged ({e}): rebuild it", path=str(folder)
            ) from e
        tokenizer = tokenizer or tokenizer_named(built_with)
        if tokenizer.name != built_with:
            raise ConfigError(
                f"the BM25 index in {folder} was built with tokenizer {built_with!r}, "
                f"not {tokenizer.name!r}: open it with that one or rebuild it",
                key="tokenizer",
            )
        return cls(columns, size, tokenizer, k1, b)

    def _matches(self, query: str) -> Iterator[tuple[str, int, slice]]:
        for term, count in Counter(self.tokenizer(query)).items():
            number = self._find(term.encode("utf-8", "surrogatepass"))
            if number >= 0:
                yield term, count, slice(self._starts[number], self._starts[number + 1])

    def _find(self, term: bytes) -> int:
        number = bisect_left(range(len(self._ends)), term, key=self._term)
        return number if number < len(self._ends) and self._term(number) == term else -1

    def _term(self, number: int) -> bytes:
        return bytes(self._terms[self._ends[number - 1] if number else 0 : self._ends[number]])


def index_texts(texts: Iterable[str], tokenizer: Tokenizer) -> Postings:
    """The postings of `texts`; document i is the i-th."""
    return index_groups(map(tokenizer, texts))


def weights(postings: Postings, k1: float, b: float) -> NDArray[np.float64]:
    """idf times tf_norm of each posting."""
    size, df = len(postings.lengths), np.diff(postings.starts)
    mean = postings.lengths.mean() if len(postings.documents) else 1.0
    norm = k1 * (1 - b + b * (postings.lengths / mean))
    frequencies = postings.frequencies
    found: NDArray[np.float64] = frequencies * (k1 + 1) / (frequencies + norm[postings.documents])
    found *= np.repeat(_idf(size, df), df)
    return found


def _idf(size: int, document_frequencies: Any) -> Any:
    return np.log((size - document_frequencies + 0.5) / (document_frequencies + 0.5) + 1)


def _check(columns: dict[str, NDArray[Any]], size: int) -> None:
    """Raise ValueError where columns do not fit together, so that a cut file never gives silent nonsense."""
    for name, dtype in _COLUMNS.items():
        if columns[name].dtype != dtype or columns[name].ndim != 1:
            raise ValueError(f"column {name} has another type")
    terms, ends, starts, documents = (columns[n] for n in ("terms", "term_ends", "starts", "documents"))
    postings = {len(documents), len(columns["weights"]), len(columns["frequencies"])}
    fits = len(starts) == len(ends) + 1 and postings == {int(starts[-1])} and len(columns["lengths"]) == size
    if not fits or len(terms) != (ends[-1] if len(ends) else 0) or (len(documents) and size < 1):
        raise ValueError("its columns do not fit together")
