"""Which names may be spelled alike: those that share enough of their rarest n-grams.

Two names of r and s ≥ r n-grams whose shared ones over sqrt(r · s) reach a threshold t share at least t · r,
and so at least t² · s. Whoever shares n of s shares m of every s - n + m of them (Bayardo, Ma and Srikant,
2007, for m = 1). So it is enough to compare names that share m of their rarest, whatever order says what is
rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.graph.ngrams import BITS, MIX, OTHER, Hashes, NGrams, Numbers, hashed, least, ngrams, short_of
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import counted, places

Candidates = Iterator[tuple[Numbers, Numbers]]
_WORK = 4_000_000  # comparisons made together
_SHARED = 6  # n-grams that must be common before a pair is looked at in full
_SAMPLE = 50_000  # names that tell which n-grams are rare
_NAMES = 16_384  # names looked at together, so that their n-grams stay in the processor's cache


@dataclass(frozen=True, slots=True)
class _Asked:
    """N-grams to look for, the name that each is of, and for each name how many must be shared."""

    probes: Hashes
    owner: Numbers
    common: Numbers

    @property
    def table(self) -> NDArray[np.bool_]:
        """By `short`, which may be one of the probes."""
        found = np.zeros(1 << BITS, dtype=np.bool_)
        found[short_of(self.probes)] = True
        return found


@dataclass(frozen=True, slots=True)
class _Held:
    """The `short` of n-grams that may be looked for, and the name that holds each."""

    short: NDArray[np.int32]
    holders: Numbers


def candidates_of(names: Packed, asked: Numbers, threshold: float) -> Candidates:
    """Pairs (name asked for, other name) among which are all that are alike; blocks, repetitions included.

    Only the n-grams of the names asked for are kept; those of all others are looked at in passing.
    """
    own = ngrams(names.take(asked))
    # What is rare decides how long it takes, not what is found: so a sample tells.
    sample = np.arange(0, len(names), max(len(names) // _SAMPLE, 1))
    own = replace(own, frequency=own.frequency + ngrams(names.take(sample)).frequency)
    must = least(own.sizes, threshold**2)
    common = np.zeros(len(names), dtype=np.int64)
    common[asked] = np.minimum(must, _SHARED)
    probes, row = _rarest(own, np.arange(len(asked)), own.sizes - must + common[asked])
    if len(probes):
        ours = _Asked(probes, asked[row], common)
        sizes, held = _passing(names, ours.table)
        yield from _sharing(sizes, ours, held, least(sizes, threshold**2), threshold)


def _passing(names: Packed, wanted: NDArray[np.bool_]) -> tuple[Numbers, _Held]:
    """How many n-grams each name has, and those of them that may be wanted."""
    sizes, found, holders = [], [], []
    for start in range(0, len(names), _NAMES):
        block = names.take(np.arange(start, min(start + _NAMES, len(names))))
        values, at, lengths = hashed(block)
        ends = np.cumsum(lengths)
        counts = np.bincount(at, minlength=int(ends[-1]))  # up to two begin at one place
        sizes.append(np.add.reduceat(counts, ends - lengths))
        short = short_of(values)
        likely = np.flatnonzero(wanted[short])
        found.append(short[likely])
        holders.append(start + np.searchsorted(ends, at[likely], side="right"))
    return np.concatenate(sizes), _Held(np.concatenate(found), np.concatenate(holders))


def _tiny(grams: NGrams, threshold: float) -> Candidates:
    """As `candidates_of`, for names that may share one n-gram only, with names that have no fewer."""
    sizes = grams.sizes
    must = least(sizes, threshold)
    common = np.minimum(must, _SHARED)
    probes, owner = _rarest(grams, np.flatnonzero((sizes > 0) & (must < 2)), sizes - must + common)
    if len(probes):
        ours = _Asked(probes, owner, common)
        at = np.flatnonzero(ours.table[grams.short])
        holders = np.searchsorted(grams.start, at, side="right") - 1
        yield from _sharing(sizes, ours, _Held(grams.short[at], holders), sizes, threshold)


def candidates_among(grams: NGrams, threshold: float) -> Candidates:
    """Pairs of names, the one with fewer n-grams first, among which are all that are alike.

    The two rarest n-grams that alike names share are among the rarest of each, so names meet at the pairs of
    those: few meet at any pair, where thousands share one n-gram. Time grows as the names do.
    """
    yield from _tiny(grams, threshold)
    sizes = grams.sizes
    few, more = least(sizes, threshold), least(sizes, threshold**2)
    tokens, owner = _rarest(grams, np.flatnonzero(sizes > 0), sizes - np.maximum(more, 2) + 2, distinct=True)
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    length = np.bincount(owner, minlength=len(sizes))[owner]
    following = length - 1 - rank
    one = np.repeat(np.arange(len(owner)), following)
    other = np.arange(len(one)) + np.repeat(
        np.arange(len(owner)) + 1 - (np.cumsum(following) - following), following
    )
    keys = tokens[one] * MIX + (tokens[other] ^ (tokens[other] >> np.uint64(31))) * OTHER
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
            values = values + (np.arange(len(values)) - since).astype(np.uint64) * OTHER
        rank = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen = rank < enough[block][owner]
        found.append((values[chosen], block[owner[chosen]]))
    return np.concatenate([values for values, _ in found]), np.concatenate([names for _, names in found])


def _sharing(sizes: Numbers, asked: _Asked, held: _Held, fewest: Numbers, threshold: float) -> Candidates:
    """Pairs (name asked for, other) that share enough probes; the other has at least `fewest` n-grams."""
    # Probes of one `short` count as one, which can only find more.
    number = np.cumsum(asked.table) - 1
    names, row = np.unique(asked.owner, return_inverse=True)
    n = int(number[-1]) + 1
    asks = _matrix(row, number[short_of(asked.probes)], (len(names), n))
    holds = _matrix(number[held.short], held.holders, (n, len(sizes)))
    work = np.cumsum(asks @ holds.getnnz(axis=1))
    fewest, most = np.maximum(fewest, 1), np.floor(sizes / max(threshold**2, 1e-9) + 1e-9)
    at = 0
    while at < len(names):
        end = int(np.searchsorted(work, (work[at - 1] if at else 0) + _WORK, side="right"))
        end = max(end, at + 1)
        shared = (asks[at:end] @ holds).tocoo()
        enough = np.flatnonzero(shared.data >= asked.common[names[at:end]][shared.row])
        one, other = names[at:end][shared.row[enough]], shared.col[enough].astype(np.int64)
        fits = (one != other) & (sizes[other] >= fewest[one]) & (sizes[other] <= most[one])
        yield one[fits], other[fits]
        at = end


def _matrix(row: Numbers, column: Numbers, shape: tuple[int, int]) -> sparse.csr_matrix:
    """How often each place is named."""
    return sparse.csr_matrix((np.ones(len(row), dtype=np.int32), (row, column)), shape=shape)
