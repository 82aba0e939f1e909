"""What filters ask of papers, as columns of a snapshot: authors, venues, sources, and three truth values.

A facet is a sorted list of keys and, for each, the rows that carry it, so that a filter over a hundred
thousand papers reads a few of them and parses none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hippo_lit.names import fold, fold_venue, is_named, looked_up, words_of
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.postings import Postings, index_groups, merged
from hippo_lit.storage.ragged import Piece, joined, runs_of
from hippo_lit.storage.string_column import StringColumn
from hippo_lit.types import Paper

Rows = NDArray[np.int32]
HAS_ABSTRACT, OPEN_ACCESS, RETRACTED = 1, 2, 4
_LEN_SLACK = 2


@dataclass(frozen=True, slots=True)
class FacetParts:
    """The facets of papers in order, as inverted indexes; `author_word` is one over the authors."""

    flags: NDArray[np.uint8]
    venue: Postings
    source: Postings
    author: Postings
    author_word: Postings


_WHICH_FOLDER = re.compile("~[0-9a-f]{6}$")
_FACETS = ("venue", "source", "author", "author_word")


def facets_of(papers: Sequence[Paper]) -> FacetParts:
    """The facets of papers in the order of their numbers."""
    author = _inverted(paper.authors for paper in papers)
    return FacetParts(
        np.array([_flags(paper) for paper in papers], dtype=np.uint8),
        _inverted([fold_venue(paper.venue or "")] for paper in papers),
        _inverted(source_keys(paper.source) for paper in papers),
        author,
        _inverted(map(words_of, author.terms)),
    )


def gather_facets(old: FacetParts, fresh: FacetParts, pieces: Sequence[Piece]) -> FacetParts:
    """The papers that `pieces` name, in that order; source 0 is `old`, source 1 `fresh`."""
    author = merged(old.author, fresh.author, pieces)
    before = old.author.terms.rows_of(author.terms)
    new = (author.terms[row] for row in np.flatnonzero(before < 0).tolist())
    return FacetParts(
        joined(pieces, [old.flags, fresh.flags]),
        merged(old.venue, fresh.venue, pieces),
        merged(old.source, fresh.source, pieces),
        author,
        merged(old.author_word, _inverted(map(words_of, new)), runs_of(before)),
    )


def write_facets(columns: ColumnWriter, parts: FacetParts) -> None:
    """The columns that `Facets` and `read_facets` read."""
    columns.array("flags", parts.flags)
    for name in _FACETS:
        facet: Postings = getattr(parts, name)
        columns.strings(f"{name}_keys", facet.terms)
        columns.array(f"{name}_start", facet.starts)
        columns.array(f"{name}_rows", facet.documents)


def read_facets(columns: Columns) -> FacetParts:
    flags = columns.array("flags")
    facets: dict[str, Postings] = {}
    for name in _FACETS:
        keys, rows = Packed.stored(columns.strings(f"{name}_keys")), columns.array(f"{name}_rows")
        # Of authors' words the documents are the authors, which come before them.
        size = len(facets["author"].terms) if name == "author_word" else len(flags)
        facets[name] = Postings.of_sets(keys, columns.array(f"{name}_start"), rows, size)
    return FacetParts(flags, **facets)


def source_keys(source: str) -> Iterator[str]:
    """The names under which filters and deletions find this source: "json", "a.jsonl", "refs/a.jsonl" and
    "refs/a.jsonl~3f9a1c" for "json:refs/a.jsonl~3f9a1c".
    """
    for part in source.split("+"):
        kind, _, label = part.partition(":")
        bare = _WHICH_FOLDER.sub("", label)
        yield from map(fold, (part, kind, label, bare, bare.rpartition("/")[2], f"{kind}:{bare}"))


def is_from(source: str, name: str) -> bool:
    """Whether all that a record of `source` says is from `name`, by `source_keys`."""
    wanted = fold(name)
    return wanted != "" and (
        fold(source) == wanted or all(wanted in source_keys(part) for part in source.split("+"))
    )


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


def _inverted(groups: Iterable[Iterable[str]]) -> Postings:
    """One facet from the keys of each row; empty keys do not count."""
    return index_groups((dict.fromkeys(filter(None, keys)) for keys in groups), hashed=True)


def _joined(parts: Sequence[Rows]) -> Rows:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


def _flags(paper: Paper) -> int:
    return (
        HAS_ABSTRACT * bool(paper.abstract)
        + OPEN_ACCESS * (paper.open_access is True)
        + RETRACTED * paper.retracted
    )
