"""Entities that are probably one: by their embeddings, or by their spelling alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import Starts, counted, places, starts_of

_BLOCK = 2048
_MOST = 100  # of one entity's synonyms, as in HippoRAG 2, which keeps a bounded number of neighbours
_WORK = 4_000_000  # comparisons made together
_SHARED = 3  # n-grams that must be common before a pair is looked at in full
_BITS = 22  # of the tables that n-grams are counted in
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

    Two names of s and r ≥ s n-grams that are alike share at least threshold · s; a name of s shares at least
    threshold² · s with any name that is alike. Whoever shares n of s shares m of every s - n + m of them
    (Bayardo, Ma and Srikant 2007, for m = 1), so it is enough to look up a name's rarest.
    """
    grams, start = _ngrams(names)
    sizes = np.diff(start)
    asked = np.flatnonzero(sizes > 0 if new is None else (sizes > 0) & new)
    if not len(asked):
        return Pairs.none()
    all_new = len(asked) == np.count_nonzero(sizes)  # then each pair is found from its smaller name
    least = np.ceil((threshold if all_new else threshold**2) * sizes - 1e-9).astype(np.int64)
    short = (grams >> np.uint64(64 - _BITS)).astype(np.int32)
    frequency = np.bincount(short, minlength=1 << _BITS)
    probes, owner = _rarest(grams, short, start, asked, frequency, sizes - least + np.minimum(least, _SHARED))
    fitting = np.ceil(threshold**2 * sizes - 1e-9), np.floor(sizes / max(threshold**2, 1e-9) + 1e-9)
    fewest, most = (sizes if all_new else fitting[0])[owner], fitting[1][owner]
    index = _Index(grams, short, start, probes)
    first, last = index.ranges(probes, np.maximum(fewest, 1), most)
    work = np.cumsum(last - first)
    found, at = [Pairs.none()], 0
    while at < len(probes):
        end = int(np.searchsorted(work, (work[at - 1] if at else 0) + _WORK, side="right"))
        end = int(np.searchsorted(owner, owner[min(max(end, at + 1), len(probes)) - 1], side="right"))
        one, other, shared = index.sharing(owner[at:end], first[at:end], last[at:end])
        likely = shared >= np.minimum(least[one], _SHARED)
        one, other = one[likely], other[likely]
        found.append(
            _verified(names, grams, start, np.minimum(one, other), np.maximum(one, other), threshold)
        )
        at = end
    return _distinct(found)


def _distinct(found: Sequence[Pairs]) -> Pairs:
    """All of these pairs, each once: two new names find one another from both sides."""
    a, b = (np.concatenate([getattr(pairs, name) for pairs in found]) for name in ("a", "b"))
    similarity = np.concatenate([pairs.similarity for pairs in found])
    order = np.lexsort((b, a))
    a, b, similarity = a[order], b[order], similarity[order]
    first = np.ones(len(a), dtype=np.bool_)
    first[1:] = (np.diff(a) != 0) | (np.diff(b) != 0)
    return Pairs(a[first], b[first], similarity[first])


def _ngrams(names: Packed) -> tuple[NDArray[np.uint64], Starts]:
    """A hash for each run of 3 or 4 characters within a word (the spaces around it count), name by name."""
    points, lengths = _padded(names)
    c = points.astype(np.uint64)
    inside = c[1:-1] != 32
    three = np.flatnonzero(inside)
    four = np.flatnonzero(inside[:-1] & inside[1:])
    mix, other = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
    packed = (c[:-2] << np.uint64(42)) | (c[1:-1] << np.uint64(21)) | c[2:]
    values = np.concatenate([packed[three] * mix, packed[four] * other + (c[four + 3] + np.uint64(1)) * mix])
    values = (values ^ (values >> np.uint64(29))) * other
    ends = np.cumsum(lengths)
    owner = np.searchsorted(ends, np.concatenate([three, four]), side="right")
    order = np.argsort(owner, kind="stable")
    return values[order], starts_of(np.bincount(owner, minlength=len(lengths)))


def _padded(names: Packed) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The characters of all names, each name between two spaces, and how many each has so."""
    data = names.data.tobytes().decode("utf-8", "surrogatepass")
    points = np.frombuffer(data.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    leading = np.concatenate([[0], np.cumsum((names.data & 0xC0) != 0x80)])  # UTF-8's first bytes
    offsets = leading[names.offsets]
    lengths = np.diff(offsets) + 2
    padded = np.full(int(lengths.sum()), 32, dtype=np.uint32)
    padded[places(starts_of(lengths) + 1, np.arange(len(names)))[_kept(lengths)]] = points
    return padded, lengths


def _kept(lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """All places of rows of these lengths but the last two of each."""
    kept = np.ones(int(lengths.sum()), dtype=np.bool_)
    ends = np.cumsum(lengths)
    kept[ends - 1] = kept[ends - 2] = False
    return kept


def _rarest(
    grams: NDArray[np.uint64],
    short: NDArray[np.int32],
    start: Starts,
    asked: NDArray[np.int64],
    frequency: NDArray[np.int64],
    enough: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Of each name asked for its `enough` rarest n-grams, and the name each is of, by name."""
    at = places(start, asked)
    sizes = np.diff(start)[asked]
    owner = np.repeat(np.arange(len(asked)), sizes)
    order = np.lexsort((frequency[short[at]], owner))
    rank = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    chosen = rank < enough[asked][owner]
    return grams[at[order[chosen]]], asked[owner[chosen]]


class _Index:
    """Which names hold an n-gram, by their sizes, for the n-grams that are looked for."""

    def __init__(
        self, grams: NDArray[np.uint64], short: NDArray[np.int32], start: Starts, probes: NDArray[np.uint64]
    ) -> None:
        wanted = np.zeros(1 << _BITS, dtype=np.bool_)
        wanted[(probes >> np.uint64(64 - _BITS)).astype(np.int64)] = True
        at = np.flatnonzero(wanted[short])
        names = np.searchsorted(start, at, side="right") - 1
        self._grams = np.unique(probes)
        number = np.minimum(np.searchsorted(self._grams, grams[at]), len(self._grams) - 1)
        known = self._grams[number] == grams[at]
        names, number = names[known], number[known]
        sizes = np.diff(start)
        self._size = int(sizes.max()) + 1
        keys = number * self._size + sizes[names]
        order = np.argsort(keys, kind="stable")
        self._keys, self._names = keys[order], names[order]

    def ranges(
        self, probes: NDArray[np.uint64], fewest: NDArray[Any], most: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the names that hold each probe stand, of those that have `fewest` to `most` n-grams."""
        base = np.searchsorted(self._grams, probes) * self._size
        limits = (np.minimum(limit, self._size - 1).astype(np.int64) for limit in (fewest, most))
        low, high = (base + limit for limit in limits)
        return np.searchsorted(self._keys, low), np.searchsorted(self._keys, high, side="right")

    def sharing(
        self, owner: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(a probe's owner, another name in the probe's range, in how many of the owner's it is)."""
        counts = last - first
        at = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        one, other = np.repeat(owner, counts), self._names[at]
        size = int(other.max(initial=0)) + 1
        keys, shared = counted((one * size + other)[one != other])
        one, other = np.divmod(keys, size)
        return one, other, shared


def _verified(
    names: Packed,
    grams: NDArray[np.uint64],
    start: Starts,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    threshold: float,
) -> Pairs:
    """Those pairs that are alike, by counting."""
    sizes = np.diff(start)
    found = [Pairs.none()]
    for at in range(0, len(a), _BLOCK * 32):
        left, right = a[at : at + _BLOCK * 32], b[at : at + _BLOCK * 32]
        involved, inverse = np.unique(np.concatenate([left, right]), return_inverse=True)
        distinct, column = np.unique(grams[places(start, involved)], return_inverse=True)
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
