"""Which names may be spelled alike: those that share enough of their rarest n-grams.

Two names of r and s ≥ r n-grams whose shared ones over sqrt(r · s) reach a threshold t share at least t · r,
and so at least t² · s. Whoever shares n of s shares m of every s - n + m of them (Bayardo, Ma and Srikant,
2007, for m = 1). So it is enough to compare names that share m of their rarest, whatever order says what is
rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import Starts, counted, places, starts_of

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Candidates = Iterator[tuple[Numbers, Numbers]]
_WORK = 4_000_000  # comparisons made together
_SHARED = 3  # n-grams that must be common before a pair is looked at in full
_WIDTH = 4  # 64-bit words of a signature
_BITS = 22  # of the table that n-grams are counted in
_MIX, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class NGrams:
    """Hashes of names' n-grams, repetitions included: name i has `values[start[i]:start[i + 1]]`.

    `frequency` counts the n-grams of one value of `short`.
    """

    values: Hashes
    start: Starts
    short: NDArray[np.int32]
    frequency: Numbers

    @property
    def sizes(self) -> Numbers:
        return np.diff(self.start)

    def least(self, threshold: float) -> Numbers:
        """How many n-grams each name must share with one that has no fewer."""
        found: Numbers = np.ceil(threshold * self.sizes - 1e-9).astype(np.int64)
        return found


def ngrams(names: Packed) -> NGrams:
    """A hash for each run of 3 or 4 characters within a word (the spaces around it count), name by name."""
    points, lengths = _padded(names)
    c = points.astype(np.uint64)
    inside = c[1:-1] != 32
    three = np.flatnonzero(inside)
    four = np.flatnonzero(inside[:-1] & inside[1:])
    packed = (c[:-2] << np.uint64(42)) | (c[1:-1] << np.uint64(21)) | c[2:]
    values = np.concatenate(
        [packed[three] * _MIX, packed[four] * _OTHER + (c[four + 3] + np.uint64(1)) * _MIX]
    )
    values = (values ^ (values >> np.uint64(29))) * _OTHER
    ends = np.cumsum(lengths)
    owner = np.searchsorted(ends, np.concatenate([three, four]), side="right")
    order = np.argsort(owner, kind="stable")
    start = starts_of(np.bincount(owner, minlength=len(lengths)))
    values = values[order]
    short = (values >> np.uint64(64 - _BITS)).astype(np.int32)
    return NGrams(values, start, short, np.bincount(short, minlength=1 << _BITS))


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


def signatures(grams: NGrams) -> Hashes:
    """For each name which of 64 * `_WIDTH` bits its n-grams set, shape (names, _WIDTH)."""
    found = np.zeros((len(grams.sizes), _WIDTH), dtype=np.uint64)
    there = np.flatnonzero(grams.sizes)
    bit = np.uint64(1) << (grams.values & np.uint64(63))
    column = (grams.values >> np.uint64(6)) % np.uint64(_WIDTH)
    if len(there):
        for number in range(_WIDTH):
            set_here = np.where(column == number, bit, np.uint64(0))
            found[there, number] = np.bitwise_or.reduceat(set_here, grams.start[there])
    return found


def may_share(
    signature: Hashes, sizes: Numbers, a: Numbers, b: Numbers, threshold: float
) -> NDArray[np.bool_]:
    """False for pairs that cannot be alike: a bit that one sets alone is an n-gram they do not share."""
    need = threshold * np.sqrt(sizes[a].astype(np.float64) * sizes[b]) - 1e-9
    ours, theirs = signature[a], signature[b]
    shared = np.minimum(
        sizes[a] - np.bitwise_count(ours & ~theirs).sum(axis=1, dtype=np.int64),
        sizes[b] - np.bitwise_count(theirs & ~ours).sum(axis=1, dtype=np.int64),
    )
    found: NDArray[np.bool_] = shared >= need
    return found


def candidates_of(grams: NGrams, asked: Numbers, threshold: float, *, larger: bool = False) -> Candidates:
    """Pairs (name asked for, other name) among which are all that are alike; blocks, repetitions included.

    With `larger` only names that have no fewer n-grams than the one asked for.
    """
    sizes = grams.sizes
    least = grams.least(threshold if larger else threshold**2)
    common = np.minimum(least, _SHARED)
    probes, owner = _rarest(grams, asked, sizes - least + common)
    if not len(probes):
        return
    fewest = sizes if larger else grams.least(threshold**2)
    most = np.floor(sizes / max(threshold**2, 1e-9) + 1e-9)
    index = _Index(grams, probes)
    first, last = index.ranges(probes, np.maximum(fewest, 1)[owner], most[owner])
    work = np.cumsum(last - first)
    at = 0
    while at < len(probes):
        end = int(np.searchsorted(work, (work[at - 1] if at else 0) + _WORK, side="right"))
        end = int(np.searchsorted(owner, owner[min(max(end, at + 1), len(probes)) - 1], side="right"))
        one, other, shared = index.sharing(owner[at:end], first[at:end], last[at:end])
        likely = shared >= common[one]
        yield one[likely], other[likely]
        at = end


def candidates_among(grams: NGrams, threshold: float) -> Candidates:
    """Pairs of names, the one with fewer n-grams first, among which are all that are alike.

    The two rarest n-grams that alike names share are among the rarest of each, so names meet at the pairs of
    those: few meet at any pair, where thousands share one n-gram. Time grows as the names do.
    """
    sizes, few, more = grams.sizes, grams.least(threshold), grams.least(threshold**2)
    tiny = np.flatnonzero((sizes > 0) & (few < 2))  # may share one n-gram only
    yield from candidates_of(grams, tiny, threshold, larger=True)
    tokens, owner = _rarest(grams, np.flatnonzero(sizes > 0), sizes - np.maximum(more, 2) + 2, distinct=True)
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    length = np.bincount(owner, minlength=len(sizes))[owner]
    following = length - 1 - rank
    one = np.repeat(np.arange(len(owner)), following)
    other = np.arange(len(one)) + np.repeat(
        np.arange(len(owner)) + 1 - (np.cumsum(following) - following), following
    )
    keys = tokens[one] * _MIX + (tokens[other] ^ (tokens[other] >> np.uint64(31))) * _OTHER
    asks = rank[other] < (sizes - few + 2)[owner[other]]
    order = np.argsort(keys)
    keys, asks, owner = keys[order], asks[order], owner[one[order]]
    ends = np.searchsorted(keys, keys, side="right")
    yield from _meeting(owner, ends - np.arange(len(keys)) - 1, asks, sizes, threshold)


def _meeting(
    owner: Numbers, following: Numbers, asks: NDArray[np.bool_], sizes: Numbers, threshold: float
) -> Candidates:
    """Pairs of names at one key: entry i meets the `following[i]` entries after it."""
    entries = np.flatnonzero(following)
    work = np.cumsum(following[entries])
    at = 0
    while at < len(entries):
        end = int(np.searchsorted(work, (work[at - 1] if at else 0) + _WORK, side="right"))
        rows = entries[at : max(end, at + 1)]
        counts = following[rows]
        one = np.repeat(rows, counts)
        other = np.arange(len(one)) + np.repeat(rows + 1 - (np.cumsum(counts) - counts), counts)
        # The smaller asks; of two of one size either may.
        turned = sizes[owner[one]] > sizes[owner[other]]
        one, other = np.where(turned, other, one), np.where(turned, one, other)
        small, large = sizes[owner[one]], sizes[owner[other]]
        asking = asks[one] | (asks[other] & (small == large))
        fits = asking & (small >= threshold**2 * large - 1e-9) & (owner[one] != owner[other])
        pairs, _ = counted(owner[one[fits]] * len(sizes) + owner[other[fits]])
        a, b = np.divmod(pairs, len(sizes))
        yield a, b
        at += len(rows)


def _rarest(
    grams: NGrams, asked: Numbers, enough: Numbers, *, distinct: bool = False
) -> tuple[Hashes, Numbers]:
    """Of each name asked for its `enough` rarest n-grams, rarest first, and the name each is of.

    `distinct`: an n-gram that a name repeats becomes another one each time.
    """
    found = []
    for block in np.array_split(asked, max(len(asked) // 50_000, 1)):  # small sorts are the faster ones
        at, sizes = places(grams.start, block), grams.sizes[block]
        owner = np.repeat(np.arange(len(block)), sizes)
        order = np.lexsort((grams.values[at], grams.frequency[grams.short[at]], owner))
        values = grams.values[at[order]]
        if distinct:
            new = np.ones(len(values), dtype=np.bool_)
            new[1:] = (values[1:] != values[:-1]) | (owner[1:] != owner[:-1])
            since = np.maximum.accumulate(np.where(new, np.arange(len(values)), 0))
            values = values + (np.arange(len(values)) - since).astype(np.uint64) * _OTHER
        rank = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = rank < enough[block][owner]
        found.append((values[chosen], block[owner[chosen]]))
    return np.concatenate([values for values, _ in found]), np.concatenate([names for _, names in found])


class _Index:
    """Which names hold an n-gram, by their sizes, for the n-grams that are looked for."""

    def __init__(self, grams: NGrams, probes: Hashes) -> None:
        wanted = np.zeros(1 << _BITS, dtype=np.bool_)
        wanted[(probes >> np.uint64(64 - _BITS)).astype(np.int64)] = True
        at = np.flatnonzero(wanted[grams.short])
        names = np.searchsorted(grams.start, at, side="right") - 1
        self._grams = np.unique(probes)
        number = np.minimum(np.searchsorted(self._grams, grams.values[at]), len(self._grams) - 1)
        known = self._grams[number] == grams.values[at]
        names, number = names[known], number[known]
        sizes = grams.sizes
        self._size = int(sizes.max()) + 1
        keys = number * self._size + sizes[names]
        order = np.argsort(keys, kind="stable")
        self._keys, self._names = keys[order], names[order]

    def ranges(self, probes: Hashes, fewest: NDArray[Any], most: NDArray[Any]) -> tuple[Numbers, Numbers]:
        """Where the names that hold each probe stand, of those that have `fewest` to `most` n-grams."""
        base = np.searchsorted(self._grams, probes) * self._size
        limits = (np.minimum(limit, self._size - 1).astype(np.int64) for limit in (fewest, most))
        low, high = (base + limit for limit in limits)
        return np.searchsorted(self._keys, low), np.searchsorted(self._keys, high, side="right")

    def sharing(self, owner: Numbers, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """(a probe's owner, another name in the probe's range, in how many of the owner's it is)."""
        counts = last - first
        at = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        one, other = np.repeat(owner, counts), self._names[at]
        size = int(other.max(initial=0)) + 1
        keys, shared = counted((one * size + other)[one != other])
        one, other = np.divmod(keys, size)
        return one, other, shared
