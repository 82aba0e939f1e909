"""Entities that are probably one: by their embeddings, or by their spelling alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.graph.alike import candidates_among, candidates_of
from hippo_lit.graph.ngrams import NGrams, may_share, ngrams, signatures
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import places, starts_of

_BLOCK = 2048
_MOST = 100  # of one entity's synonyms, as in HippoRAG 2, which keeps a bounded number of neighbours
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs a < b with their similarity in [0, 1]; each pair once, ascending."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    similarity: NDArray[np.float64]

    @classmethod
    def none(cls) -> Pairs:
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))

    def __add__(self, other: Pairs) -> Pairs:
        a, b = np.concatenate([self.a, other.a]), np.concatenate([self.b, other.b])
        order = np.lexsort((b, a))
        return Pairs(a[order], b[order], np.concatenate([self.similarity, other.similarity])[order])

    def renumbered(self, numbers: NDArray[np.int64]) -> Pairs:
        """Entity i as `numbers[i]`; pairs with one of -1 are left out."""
        a, b = numbers[self.a], numbers[self.b]
        kept = (a >= 0) & (b >= 0)
        a, b, similarity = a[kept], b[kept], self.similarity[kept]
        return Pairs.none() + Pairs(np.minimum(a, b), np.maximum(a, b), similarity)


def nearest(pairs: Pairs) -> Pairs:
    """Of each entity's pairs with higher numbers the `_MOST` most similar, ties to the lower number."""
    order = np.lexsort((pairs.b, -pairs.similarity, pairs.a))
    a = pairs.a[order]
    place = np.arange(len(a)) - np.searchsorted(a, a)
    kept = np.sort(order[place < _MOST])
    return Pairs(pairs.a[kept], pairs.b[kept], pairs.similarity[kept])


def by_embedding(vectors: NDArray[np.float32], threshold: float) -> Pairs:
    """Pairs of unit rows whose cosine is at least `threshold`, with the cosine (REFERENCE 2)."""
    found = Pairs.none()
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors[start:].T
        row, column = np.nonzero(np.triu(cosines >= threshold, 1))
        close = np.minimum(cosines[row, column].astype(np.float64), 1.0)
        found += Pairs(row + start, column + start, close)
    return found


def by_spelling(names: Packed, threshold: float, new: NDArray[np.bool_] | None = None) -> Pairs:
    """Pairs of names, at least one of them `new` (default: all), that are spelled alike.

    They share n-grams, of 3 and 4 characters within words, such that shared / sqrt(own · other's) is at
    least `threshold`, and hold the same numbers ("Trellis 2" is not "Trellis"). So whether two names are
    alike depends on the two alone. Joins "transformer" to "transformers", not "car" to "automobile".
    """
    if new is None or new.all():
        grams = ngrams(names)
        among = candidates_among(grams, threshold)
        signature, found = signatures(grams), [Pairs.none()]
        found += [_alike(names, grams, signature, *pair, threshold) for pair in among]
        return _distinct(found)
    asked, found = np.flatnonzero(new), [Pairs.none()]
    for one, other in candidates_of(names, asked, threshold) if len(asked) else ():
        involved, number = np.unique(np.concatenate([one, other]), return_inverse=True)
        theirs = names.take(involved)
        grams, (one, other) = ngrams(theirs), np.split(number, 2)
        pairs = _alike(theirs, grams, signatures(grams), one, other, threshold)
        found.append(Pairs(involved[pairs.a], involved[pairs.b], pairs.similarity))
    return _distinct(found)


def _alike(
    names: Packed,
    grams: NGrams,
    signature: NDArray[np.uint64],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    threshold: float,
) -> Pairs:
    """Those of the candidates that are alike."""
    likely = may_share(signature, grams.sizes, one, other, threshold)
    one, other = one[likely], other[likely]
    return _verified(names, grams, np.minimum(one, other), np.maximum(one, other), threshold)


def _distinct(found: Sequence[Pairs]) -> Pairs:
    """All of these pairs, each once: many were found more than once."""
    a, b = (np.concatenate([getattr(pairs, name) for pairs in found]) for name in ("a", "b"))
    similarity = np.concatenate([pairs.similarity for pairs in found])
    order = np.lexsort((b, a))
    a, b, similarity = a[order], b[order], similarity[order]
    first = np.ones(len(a), dtype=np.bool_)
    first[1:] = (np.diff(a) != 0) | (np.diff(b) != 0)
    return Pairs(a[first], b[first], similarity[first])


def _verified(
    names: Packed,
    grams: NGrams,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    threshold: float,
) -> Pairs:
    """Those pairs that are alike, by counting."""
    sizes = grams.sizes
    found = [Pairs.none()]
    for at in range(0, len(a), _BLOCK * 32):
        left, right = a[at : at + _BLOCK * 32], b[at : at + _BLOCK * 32]
        involved, inverse = np.unique(np.concatenate([left, right]), return_inverse=True)
        distinct, column = np.unique(grams.values[places(grams.start, involved)], return_inverse=True)
        rows = sparse.csr_matrix(
            (np.ones(len(column), dtype=np.int32), column, starts_of(sizes[involved])),
            shape=(len(involved), len(distinct)),
        )
        rows.sum_duplicates()
        shared = rows[inverse[: len(left)]].minimum(rows[inverse[len(left) :]]).sum(axis=1)
        similarity = np.asarray(shared).ravel() / np.sqrt(sizes[left].astype(np.float64) * sizes[right])
        close = np.flatnonzero(similarity >= threshold)
        numbers = [_DIGITS.findall(names[i]) for i in left[close].tolist()]
        others = [_DIGITS.findall(names[i]) for i in right[close].tolist()]
        close = close[[ours == theirs for ours, theirs in zip(numbers, others, strict=True)]]
        found.append(Pairs(left[close], right[close], np.minimum(similarity[close], 1.0)))
    return sum(found[1:], start=found[0])
