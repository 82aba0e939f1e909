"""The parts of passages that stay and of passages that are new, as the parts of all of them made at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.graph.parts import GraphParts, Names
from hippo_lit.graph.spread import holding
from hippo_lit.storage.packed import Packed, join
from hippo_lit.storage.ragged import (
    Piece,
    first_seen,
    inner,
    joined,
    joined_starts,
    kept_rows,
    places,
    starts_of,
)

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Parts of all passages, and where their names come from: for each entity and each spelling its number
    among the old ones, -1 for a new one.
    """

    parts: GraphParts
    entity_origin: Numbers
    spelling_origin: Numbers


def gather(old: GraphParts, fresh: GraphParts, pieces: Sequence[Piece]) -> Gathered:
    """The passages that `pieces` name, in that order; source 0 is `old`, source 1 `fresh`.

    Equal to what one `PartsMaker` makes of the same passages, bit by bit.
    """
    surfaces = _Table(old.names.surfaces, fresh.names.surfaces)
    keys = _Table(old.names.keys, fresh.names.keys)
    spellings = _Table(old.names.spellings, fresh.names.spellings)

    # Numbered as the two tables stand end to end, then by first appearance.
    records = surfaces.joined(
        inner(pieces, [old.record_start, fresh.record_start]), old.record_surface, fresh.record_surface
    )
    surface_order, surface_rank = first_seen(records, surfaces.size)
    entities = surfaces.column(old.names.surface_entity, keys.numbers[fresh.names.surface_entity])
    entities = entities[surface_order]
    key_order, key_rank = first_seen(entities, keys.size)
    found_by = keys.column(old.names.entity_spelling, spellings.numbers[fresh.names.entity_spelling])
    found_by = found_by[key_order]
    spelling_order, spelling_rank = first_seen(found_by, spellings.size)

    def of_spellings(old_values: NDArray[Any], fresh_values: NDArray[Any]) -> NDArray[Any]:
        return spellings.column(old_values, fresh_values)[spelling_order]

    names = Names(
        surfaces.strings.take(surface_order),
        key_rank[entities].astype(np.int32),
        keys.strings.take(key_order),
        spelling_rank[found_by].astype(np.int32),
        spellings.strings.take(spelling_order),
        of_spellings(old.names.spelling_words, fresh.names.spelling_words),
        of_spellings(old.names.spelling_hash, fresh.names.spelling_hash),
        of_spellings(old.names.spelling_first, fresh.names.spelling_first),
    )

    def renumbered(numbers: Numbers) -> NDArray[np.int32]:
        return surface_rank[numbers].astype(np.int32)

    recorded = inner(pieces, [old.record_start, fresh.record_start])
    sentences = inner(pieces, [starts_of(old.sentences), starts_of(fresh.sentences)])
    named = inner(sentences, [old.named_start, fresh.named_start])
    facts = inner(pieces, [old.fact_start, fresh.fact_start])
    parts = GraphParts(
        names=names,
        sentences=joined(pieces, [old.sentences, fresh.sentences]),
        record_start=joined_starts(pieces, [old.record_start, fresh.record_start]),
        record_surface=renumbered(records),
        record_role=joined(recorded, [old.record_role, fresh.record_role]),
        named_start=joined_starts(sentences, [old.named_start, fresh.named_start]),
        named_surface=renumbered(surfaces.joined(named, old.named_surface, fresh.named_surface)),
        fact_start=joined_starts(pieces, [old.fact_start, fresh.fact_start]),
        fact_subject=renumbered(surfaces.joined(facts, old.fact_subject, fresh.fact_subject)),
        fact_object=renumbered(surfaces.joined(facts, old.fact_object, fresh.fact_object)),
        fact_statement=joined(facts, [old.fact_statement, fresh.fact_statement]),
        fact_sentence=joined(facts, [old.fact_sentence, fresh.fact_sentence]),
        fact_text=join(facts, [old.fact_text, fresh.fact_text]),
        word_start=joined_starts(pieces, [old.word_start, fresh.word_start]),
        words=joined(inner(pieces, [old.word_start, fresh.word_start]), [old.words, fresh.words]),
    )
    return Gathered(parts, keys.origin(key_order), spellings.origin(spelling_order))


def holders(parts: GraphParts) -> Numbers:
    """In how many of the passages each spelling stands."""
    return _holding(parts, np.arange(len(parts)), parts.names)


def updated_holders(old: GraphParts, before: Numbers, gathered: Gathered, pieces: Sequence[Piece]) -> Numbers:
    """`holders` of the gathered parts, given those of the old ones: only what is new is looked at.

    Kept passages are searched for new spellings, new passages for all, and what passages that went held
    is taken off.
    """
    names, origin = gathered.parts.names, gathered.spelling_origin
    known = origin >= 0
    counts = np.zeros(len(origin), dtype=np.int64)
    gone = np.flatnonzero(kept_rows(pieces, 0, len(old)) < 0)
    counts[known] = (before - _holding(old, gone, old.names))[origin[known]]
    stay = np.zeros(len(gathered.parts), dtype=np.bool_)
    stay[kept_rows(pieces, 0, len(old))[kept_rows(pieces, 0, len(old)) >= 0]] = True
    new = np.where(known, np.uint64(0), names.spelling_hash)
    counts += _holding(gathered.parts, np.flatnonzero(stay), names, new)
    return counts + _holding(gathered.parts, np.flatnonzero(~stay), names)


def _holding(
    parts: GraphParts, passages: Numbers, names: Names, hashes: NDArray[np.uint64] | None = None
) -> Numbers:
    words, starts = parts.words, parts.word_start
    if len(passages) < len(parts):
        words, starts = words[places(starts, passages)], starts_of(np.diff(starts)[passages])
    hashes = names.spelling_hash if hashes is None else hashes
    return holding(words, starts, hashes, names.spelling_first, names.spelling_words)


class _Table:
    """Old strings and those fresh ones that are not among them, end to end."""

    def __init__(self, old: Packed, fresh: Packed) -> None:
        found = old.rows_of(fresh)
        self._unknown = np.flatnonzero(found < 0)
        self._old_size = len(old)
        self.numbers = found
        """The number of each fresh string."""
        self.numbers[self._unknown] = len(old) + np.arange(len(self._unknown))
        self.strings = old + fresh.take(self._unknown)
        self.size = len(self.strings)

    def column(self, old: NDArray[Any], fresh: NDArray[Any]) -> NDArray[Any]:
        """One value a string, given those of the old and of all fresh ones."""
        return np.concatenate([old, fresh[self._unknown]])

    def joined(self, pieces: Sequence[Piece], old: NDArray[np.int32], fresh: NDArray[np.int32]) -> Numbers:
        """Old and fresh numbers of strings as numbers of this table."""
        return joined(pieces, [old.astype(np.int64), self.numbers[fresh]])

    def origin(self, order: Numbers) -> Numbers:
        return np.where(order < self._old_size, order, -1)
