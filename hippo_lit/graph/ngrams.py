"""The n-grams of names, as hashes, and what can be told of two names by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import Starts, places, starts_of

Numbers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
BITS = 22  # of the table that n-grams are counted in
_WIDTH = 4  # 64-bit words of a signature
MIX, OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


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


def least(sizes: Numbers, threshold: float) -> Numbers:
    """How many n-grams names of these sizes must share with one that has no fewer."""
    found: Numbers = np.ceil(threshold * sizes - 1e-9).astype(np.int64)
    return found


def ngrams(names: Packed) -> NGrams:
    """A hash for each run of 3 or 4 characters within a word (the spaces around it count), name by name."""
    values, at, lengths = hashed(names)
    owner = np.searchsorted(np.cumsum(lengths), at, side="right")
    order = np.argsort(owner, kind="stable")
    start = starts_of(np.bincount(owner, minlength=len(lengths)))
    values = values[order]
    short = short_of(values)
    return NGrams(values, start, short, np.bincount(short, minlength=1 << BITS))


def short_of(values: Hashes) -> NDArray[np.int32]:
    return (values >> np.uint64(64 - BITS)).astype(np.int32)


def hashed(names: Packed) -> tuple[Hashes, Numbers, NDArray[np.int64]]:
    """The hashes of all n-grams, where each begins among the characters, and how many of these names have."""
    points, lengths = _padded(names)
    c = points.astype(np.uint64)
    inside = c[1:-1] != 32
    three = np.flatnonzero(inside)
    four = np.flatnonzero(inside[:-1] & inside[1:])
    packed = (c[:-2] << np.uint64(42)) | (c[1:-1] << np.uint64(21)) | c[2:]
    values = np.concatenate([packed[three] * MIX, packed[four] * OTHER + (c[four + 3] + np.uint64(1)) * MIX])
    values = (values ^ (values >> np.uint64(29))) * OTHER
    return values, np.concatenate([three, four]), lengths


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
