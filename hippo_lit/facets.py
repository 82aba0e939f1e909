"""What filters ask of papers, as columns of a snapshot: authors, venues, sources, and three truth values.

A facet is a sorted list of keys and, for each, the rows that carry it, so that a filter over a hundred
thousand papers reads a few of them and parses none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hippo_lit.names import fold, fold_venue, is_named, looked_up, words_of
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.storage.string_column import StringColumn
from hippo_lit.types import Paper

Rows = NDArray[np.int32]
HAS_ABSTRACT, OPEN_ACCESS, RETRACTED = 1, 2, 4
_LEN_SLACK = 2


def write_facets(columns: ColumnWriter, papers: Sequence[Paper]) -> None:
    """The columns that `Facets` reads, for papers in the order of their numbers."""
    columns.array("flags", np.array([_flags(paper) for paper in papers], dtype=np.uint8))
    _write(columns, "venue", ([fold_venue(paper.venue or "")] for paper in papers))
    _write(columns, "source", (source_keys(paper.source) for paper in papers))
    authors = _write(columns, "author", (paper.authors for paper in papers))
    _write(columns, "author_word", map(words_of, authors))


def source_keys(source: str) -> Iterator[str]:
    """The names under which a filter finds a paper of this source: "json", "refs/a.jsonl" and
    "a.jsonl" for "json:refs/a.jsonl".
    """
    for part in source.split("+"):
        kind, _, label = part.partition(":")
        yield from map(fold, (part, kind, label, label.rpartition("/")[2]))


class Facets:
    """The facets of one snapshot, mapped from disk."""

    def __init__(self, columns: Columns) -> None:
        self.flags: NDArray[np.uint8] = columns.array("flags")
        """One sum of HAS_ABSTRACT, OPEN_ACCESS and RETRACTED a paper."""
        self._venue, self._source = Facet(columns, "venue"), Facet(columns, "source")
        self._author, self._author_word = Facet(columns, "author"), Facet(columns, "author_word")

    def by_author(self, wanted: str) -> Rows:
        """The papers of everybody who `names.is_named` so."""
        candidates = {int(row) for word in looked_up(wanted) for row in self._author_word.rows(word)}
        chosen = [row for row in candidates if is_named(self._author.keys[row], wanted)]
        return _joined([self._author.rows_of(row) for row in chosen])

    def by_venue(self, wanted: str) -> Rows:
        return self._venue.rows(fold_venue(wanted))

    def by_source(self, wanted: str) -> Rows:
        return self._source.rows(fold(wanted))

    def near_authors(self, wanted: str, most: int = 3) -> list[str]:
        """Authors that may have been meant, as the papers write them."""
        family = [fold(wanted.partition(",")[0])] if "," in wanted else fold(wanted).split()[-1:]
        words = self._author_word.near(" ".join(family), most)
        names = [self._author.keys[int(row)] for word in words for row in self._author_word.rows(word)[:most]]
        return list(dict.fromkeys(names))[:most]

    def near_venues(self, wanted: str, most: int = 3) -> list[int]:
        """For each venue that may have been meant, one paper that names it."""
        return [
            int(self._venue.rows(key)[0]) for key in self._venue.near(fold_venue(wanted), most, within=True)
        ]

    def near_sources(self, wanted: str, most: int = 5) -> list[str]:
        close = self._source.near(fold(wanted), most, within=True)
        return close or [key for key in self._source.keys if " " not in key][:most]


class Facet:
    """Keys in ascending order, and the rows of each, ascending."""

    def __init__(self, columns: Columns, name: str) -> None:
        self.keys: StringColumn = columns.strings(f"{name}_keys")
        self._start: NDArray[np.int64] = columns.array(f"{name}_start")
        self._rows: Rows = columns.array(f"{name}_rows")

    def rows(self, key: str) -> Rows:
        """The rows of a key; none where it is not known."""
        number = self.keys.index_of(key)
        return self._rows[:0] if number is None else self.rows_of(number)

    def rows_of(self, number: int) -> Rows:
        return self._rows[self._start[number] : self._start[number + 1]]

    def near(self, wanted: str, most: int, *, within: bool = False) -> list[str]:
        """Keys that are spelled like `wanted`, or, with `within`, hold it as words of theirs.

        Compared are those that begin with the same letter, so that it stays quick among 100,000.
        """
        import difflib

        if not wanted:
            return []
        first = bisect_left(self.keys, wanted[0])
        last = bisect_left(self.keys, chr(min(ord(wanted[0]) + 1, 0x10FFFF)))
        slack = max(_LEN_SLACK, len(wanted) // 3)
        alike = [key for key in self.keys[first:last] if abs(len(key) - len(wanted)) <= slack]
        close = difflib.get_close_matches(wanted, alike, n=most)
        if within and len(close) < most:
            close += [key for key in self.keys if f" {wanted} " in f" {key} " and key != wanted]
        return list(dict.fromkeys(close))[:most]


def _write(columns: ColumnWriter, name: str, groups: Iterable[Iterable[str]]) -> list[str]:
    """One facet from the keys of each row; empty keys do not count. Returns the keys in order."""
    rows: dict[str, list[int]] = {}
    for row, keys in enumerate(groups):
        for key in dict.fromkeys(filter(None, keys)):
            rows.setdefault(key, []).append(row)
    ordered = sorted(rows)
    columns.strings(f"{name}_keys", ordered)
    starts = accumulate((len(rows[key]) for key in ordered), initial=0)
    columns.array(f"{name}_start", np.fromiter(starts, dtype=np.int64, count=len(ordered) + 1))
    columns.array(f"{name}_rows", _joined([np.array(rows[key], dtype=np.int32) for key in ordered]))
    return ordered


def _joined(parts: Sequence[Rows]) -> Rows:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


def _flags(paper: Paper) -> int:
    return (
        HAS_ABSTRACT * bool(paper.abstract)
        + OPEN_ACCESS * (paper.open_access is True)
        + RETRACTED * paper.retracted
    )
