"""In how many passages a name stands, counted over hashes of words instead of text.

A passage holds a name where the name's words follow one another in it, within longer names too, so that the
count of one name does not depend on what other names there are. Words are those of `matching`; a hash of 64
bits stands for each, and its lowest bit says whether a space stands before the word ("北京 大学" is not
"北京大学").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hippo_lit.graph.keys import link_key
from hippo_lit.graph.matching import MAX_CHARACTERS, MAX_WORDS, tells_something, tokens
from hippo_lit.storage.ragged import Starts, starts_of
from hippo_lit.storage.string_column import encode, hash64
from hippo_lit.text import normalise

Hashes = NDArray[np.uint64]
_MASK = 2**64 - 1
_FACTOR = 0x9E3779B97F4A7C15  # odd: multiplying by it loses nothing
_CHUNK = 1 << 21  # words looked at together
_BITS = 22  # of the tables that sort most places out


def word_hashes(text: str, known: dict[str, int]) -> Iterator[int]:
    """A hash for each word of `text`; `known` saves hashing a word twice."""
    normal = link_key(normalise(text))
    for token in tokens(normal):
        word, start = token[0], token.start()
        value = known.get(word)
        if value is None:
            value = known.setdefault(word, hash64(encode(word)) & ~1)
        yield value | (start > 0 and normal[start - 1] == " ")


def name_hash(spelling: str) -> tuple[int, int, int]:
    """(number of words, hash of all, hash of the first) of a spelling; hashes are 0 where it is one that
    `matching.matches` would never find.
    """
    found = list(tokens(spelling))
    most = MAX_CHARACTERS if found and found[0][1] else MAX_WORDS
    if not found or len(found) > most or (len(found) == 1 and not tells_something(found[0][0])):
        return len(found), 0, 0
    words = list(word_hashes(spelling, {}))
    whole = first = words[0] & ~1
    for value in words[1:]:
        whole = (whole * _FACTOR + value) & _MASK
    return len(found), whole, first


def holding(
    words: Hashes, word_start: Starts, hashes: Hashes, firsts: Hashes, lengths: NDArray[np.int32]
) -> NDArray[np.int64]:
    """How many of the passages hold each name; shape of `hashes`.

    `words[word_start[p]:word_start[p + 1]]` are passage p's; names are given as `name_hash` gives them.
    """
    counts = np.zeros(len(hashes), dtype=np.int64)
    wanted = np.flatnonzero(hashes)
    if not len(wanted) or not len(words):
        return counts
    by_length = [wanted[lengths[wanted] == n] for n in range(1, int(lengths[wanted].max()) + 1)]
    begins = np.zeros(1 << _BITS, dtype=np.uint32)  # bit n - 1: a name of n words begins like this
    for n, names in enumerate(by_length):
        np.bitwise_or.at(begins, _short(firsts[names]), np.uint32(1 << n))
    tables = [_Table(names, hashes[names]) for names in by_length]
    for first, last in _chunks(word_start):
        start = int(word_start[first])
        stream = words[start : int(word_start[last])]
        passage = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(word_start[first : last + 1]))
        flags = begins[_short(stream)]
        at = np.flatnonzero(flags)  # few, where few names are looked for
        flags = flags[at]
        found = [
            table.held(stream, passage, at[(flags & np.uint32(1 << n)) > 0], n + 1)
            for n, table in enumerate(tables)
            if len(table.names)
        ]
        for names, passages in found:
            key = np.sort(names * (last - first) + passages)
            key = key[np.diff(key, prepend=-1) != 0]
            counts += np.bincount(key // (last - first), minlength=len(counts))
    return counts


class _Table:
    """Names of one number of words, looked up by hash."""

    def __init__(self, names: NDArray[np.int64], hashes: Hashes) -> None:
        order = np.argsort(hashes)
        self.names, self._hashes = names[order], hashes[order]
        self._maybe = np.zeros(1 << _BITS, dtype=np.bool_)
        self._maybe[_short(hashes)] = True

    def held(
        self, stream: Hashes, passage: NDArray[np.int32], at: NDArray[np.int64], length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(name, passage) wherever one of the names begins at one of the places `at`; pairs may recur."""
        at = at[at + length <= len(stream)]
        at = at[passage[at] == passage[at + (length - 1)]]
        value = stream[at] & np.uint64(_MASK - 1)
        for further in range(1, length):
            value = value * np.uint64(_FACTOR) + stream[at + further]
        likely = self._maybe[_short(value)]
        at, value = at[likely], value[likely]
        row = np.minimum(np.searchsorted(self._hashes, value), len(self._hashes) - 1)
        same = self._hashes[row] == value
        return self.names[row[same]], passage[at[same]].astype(np.int64)


def _short(hashes: Hashes) -> NDArray[np.int64]:
    return ((hashes >> np.uint64(1)) & np.uint64((1 << _BITS) - 1)).astype(np.int64)


def _chunks(word_start: Starts) -> Iterator[tuple[int, int]]:
    """Ranges of passages of about `_CHUNK` words."""
    first, n = 0, len(word_start) - 1
    while first < n:
        last = int(np.searchsorted(word_start, word_start[first] + _CHUNK, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def words_of(texts: list[str]) -> tuple[Hashes, Starts]:
    """The words of texts, as `holding` takes them."""
    known: dict[str, int] = {}
    rows = [list(word_hashes(text, known)) for text in texts]
    return np.array([value for row in rows for value in row], dtype=np.uint64), starts_of([*map(len, rows)])
