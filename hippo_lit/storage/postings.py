"""Which documents hold which term, how often: an inverted index, built at once or from an older one."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import Piece, Starts, counted, joined, kept_rows, owners, starts_of


@dataclass(frozen=True, slots=True)
class Postings:
    """`terms` ascend; term t stands in `documents[starts[t]:starts[t + 1]]`, ascending, as often as
    `frequencies` says. `lengths` are the documents' numbers of tokens.
    """

    terms: Packed
    starts: Starts
    documents: NDArray[np.int32]
    frequencies: NDArray[np.int32]
    lengths: NDArray[np.int64]

    @classmethod
    def of_sets(cls, terms: Packed, starts: Starts, documents: NDArray[np.int32], size: int) -> Postings:
        """Postings of `size` documents that hold each term once or not; their lengths are not kept."""
        once, lengths = np.ones(len(documents), dtype=np.int32), np.zeros(size, dtype=np.int64)
        return cls(terms, starts, documents, once, lengths)


def index_groups(groups: Iterable[Iterable[str]], *, hashed: bool = False) -> Postings:
    """The postings of documents given by their terms; document i is the i-th.

    `hashed` terms can be looked up.
    """
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    tokens, lengths = array("i"), array("q")
    for group in groups:
        before = len(tokens)
        tokens.extend(map(numbers.__getitem__, group))
        lengths.append(len(tokens) - before)
    words = sorted(numbers)  # by code point, which is also the order of their UTF-8
    rank = np.empty(len(words), dtype=np.int64)
    rank[[numbers[word] for word in words]] = np.arange(len(words))
    size = max(len(lengths), 1)
    # One key per occurrence, ordered by term, then document; equal keys are the term frequency.
    document = owners(starts_of(lengths))
    keys, frequencies = counted(rank[np.asarray(tokens, dtype=np.int32)] * size + document)
    term, document = np.divmod(keys, size)
    return Postings(
        Packed.of(words, hashed=hashed),
        starts_of(np.bincount(term, minlength=len(words))),
        document.astype(np.int32),
        frequencies.astype(np.int32),
        np.array(lengths, dtype=np.int64),
    )


def merged(old: Postings, fresh: Postings, pieces: Sequence[Piece]) -> Postings:
    """The postings of the documents that `pieces` name, in that order; source 0 is `old`, source 1 `fresh`.

    Documents of one source stay in their order. Equal to `index_groups` of the same documents.
    """
    lengths = joined(pieces, [old.lengths, fresh.lengths])
    size = max(len(lengths), 1)
    place = kept_rows(pieces, 0, len(old.lengths))
    document = place[old.documents]
    term, frequency = owners(old.starts), old.frequencies
    if len(place) and place.min() < 0:
        kept = document >= 0
        document, term, frequency = document[kept], term[kept], frequency[kept]
    terms, old_rank, fresh_rank = vocabulary(
        old.terms, np.bincount(term, minlength=len(old.terms)) > 0, fresh.terms
    )
    keys = old_rank[term] * size + document
    more = fresh_rank[owners(fresh.starts)] * size + kept_rows(pieces, 1, len(fresh.lengths))[fresh.documents]
    at = np.searchsorted(keys, more)
    counts = np.bincount(old_rank[term], minlength=len(terms)) + np.bincount(
        more // size, minlength=len(terms)
    )
    return Postings(
        terms,
        starts_of(counts),
        np.insert(document.astype(np.int32), at, more % size),
        np.insert(frequency, at, fresh.frequencies),
        lengths,
    )


def vocabulary(
    old: Packed, used: NDArray[np.bool_], fresh: Packed
) -> tuple[Packed, NDArray[np.int64], NDArray[np.int64]]:
    """The old terms that are used and those of `fresh`, ascending; and the rank of each old (-1: not used)
    and each fresh one. Both are given ascending.
    """
    data, ends = old.data.tobytes(), old.offsets.tolist()

    def term_at(row: int) -> bytes:
        return data[ends[row] : ends[row + 1]]

    wanted = [fresh.bytes(row) for row in range(len(fresh))]
    at = [bisect_left(range(len(old)), term, key=term_at) for term in wanted]
    known = [row < len(old) and term_at(row) == term for row, term in zip(at, wanted, strict=True)]
    fresh_at, is_known = np.array(at, dtype=np.int64), np.array(known, dtype=np.bool_)
    used = used.copy()
    used[fresh_at[is_known]] = True
    kept, added = np.flatnonzero(used), np.flatnonzero(~is_known)
    # An old term stands behind the new ones that were placed before it.
    order = np.argsort(np.concatenate([2 * kept + 1, 2 * fresh_at[added]]), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    old_rank = np.full(len(old), -1, dtype=np.int64)
    old_rank[kept] = rank[: len(kept)]
    fresh_rank = np.empty(len(fresh), dtype=np.int64)
    fresh_rank[is_known] = old_rank[fresh_at[is_known]]
    fresh_rank[added] = rank[len(kept) :]
    terms = old + fresh.take(added)
    return terms.take(np.concatenate([kept, len(old) + np.arange(len(added))])[order]), old_rank, fresh_rank
