"""Entities that are probably one: by their embeddings, or by their spelling alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_BLOCK = 2048
_MOST = 100  # of one entity's synonyms, as in HippoRAG 2, which keeps a bounded number of neighbours


def by_embedding(vectors: NDArray[np.float32], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Pairs a < b of unit rows whose cosine is at least `threshold`, with the cosine (REFERENCE 2)."""
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors[start:].T
        yield from _upper(sparse.coo_matrix(np.where(cosines >= threshold, cosines, 0.0)), start)


def by_spelling(keys: Sequence[str], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Pairs a < b whose TF-IDF cosine over character 3- and 4-grams is at least `threshold`.

    Needs no model: it costs a thousandth of embedding the names, and joins "transformer" to "transformers"
    and "Jiménez" to "Jimenez", not "car" to "automobile".
    """
    if len(keys) < 2:
        return
    from sklearn.feature_extraction.text import TfidfVectorizer

    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True, dtype=np.float32)
    try:
        rows = grams.fit_transform(keys)
    except ValueError:  # no name is long enough
        return
    for start in range(0, len(keys), _BLOCK):
        block = (rows[start : start + _BLOCK] @ rows[start:].T).tocoo()
        close = block.data >= threshold
        yield from _upper(
            sparse.coo_matrix((block.data[close], (block.row[close], block.col[close])), block.shape), start
        )


def _upper(block: sparse.coo_matrix, offset: int) -> Iterator[tuple[int, int, float]]:
    above = block.col > block.row
    order = np.lexsort((block.col[above], -block.data[above], block.row[above]))
    rows, columns, values = block.row[above][order], block.col[above][order], block.data[above][order]
    kept = 0
    for i, (row, column, value) in enumerate(
        zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True)
    ):
        kept = kept + 1 if i and rows[i - 1] == row else 1
        if kept <= _MOST:
            yield row + offset, column + offset, min(float(value), 1.0)
