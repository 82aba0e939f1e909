"""What each passage gives to the fact graph by itself, whatever other passages say: local parts, in columns.

Parts are made of a passage once, kept with the snapshot, and carried over to the next one as long as the
passage stays. The graph is a function of the parts alone (`derive`), so it does not matter when or in how
many steps they were made.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.graph.keys import entity_key, link_key, statement_key, title_names
from hippo_lit.graph.spread import name_hash, word_hashes
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.ragged import Starts
from hippo_lit.storage.string_column import encode, hash64
from hippo_lit.types import Extraction, Fact, Passage

Ints = NDArray[np.int32]
TITLE, NAME, END = 1, 2, 4
"""How a passage names an entity: in its title, in its text, as an end of a fact. Roles add up."""


@dataclass(frozen=True, slots=True)
class Names:
    """Surfaces as texts write them, the entities they mean, and the spellings that find those.

    Surface i means entity `surface_entity[i]`, whose key is `keys[...]`; entity e is found by spelling
    `entity_spelling[e]`, which has `spelling_words` words. `spelling_hash` and `spelling_first` are those of
    `spread.name_hash` (0: never looked for in texts). All are numbered as they first appear in the papers.
    """

    surfaces: Packed
    surface_entity: Ints
    keys: Packed
    entity_spelling: Ints
    spellings: Packed
    spelling_words: Ints
    spelling_hash: NDArray[np.uint64]
    spelling_first: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class GraphParts:
    """The local parts of passages in order.

    Passage p has `sentences[p]` sentences and names the surfaces of its records, each once, in the order of
    their first appearance, with their roles. `named_*` are the surfaces named in each sentence (title apart).
    Facts join two surfaces; `fact_statement` is a hash of the statement's identity, `fact_sentence` the
    sentence within the passage (-1: not known). `words` are the hashes of the passage's words.
    """

    names: Names
    sentences: Ints
    record_start: Starts
    record_surface: Ints
    record_role: NDArray[np.uint8]
    named_start: Starts
    named_surface: Ints
    fact_start: Starts
    fact_subject: Ints
    fact_object: Ints
    fact_statement: NDArray[np.uint64]
    fact_sentence: Ints
    fact_text: Packed
    word_start: Starts
    words: NDArray[np.uint64]

    def __len__(self) -> int:
        """Number of passages."""
        return len(self.sentences)


class PartsMaker:
    """Collects passage after passage, in order; `parts` gives their columns."""

    def __init__(self) -> None:
        self._surface: dict[str, int] = {}
        self._key: dict[str, int] = {}
        self._spelling: dict[str, int] = {}
        self._surface_entity, self._entity_spelling = array("i"), array("i")
        self._sentences = array("i")
        self._records, self._roles, self._record_start = array("i"), array("B"), array("q", [0])
        self._named, self._named_start = array("i"), array("q", [0])
        self._subjects, self._objects, self._places = array("i"), array("i"), array("i")
        self._statements, self._fact_start = array("Q"), array("q", [0])
        self._texts: list[str] = []
        self._words, self._word_start = array("Q"), array("q", [0])
        self._word_hash: dict[str, int] = {}

    def add(self, passage: Passage, sentences: int, extraction: Extraction) -> None:
        """The next passage, with its number of sentences.

        Its title as a whole is a name too, unless nothing was extracted from it: an index without an
        extractor has no graph. A mention outside the sentences counts as the title's.
        """
        roles: dict[int, int] = {}
        if extraction.mentions or extraction.facts:
            for name in title_names(passage.title).values():
                self._note(roles, name, TITLE)
        named: list[dict[int, None]] = [{} for _ in range(sentences)]
        for mention in extraction.mentions:
            if mention.kind == "name":
                inside = 0 <= mention.sentence < sentences
                surface = self._note(roles, mention.surface, NAME if inside else TITLE)
                if inside and surface >= 0:
                    named[mention.sentence][surface] = None
        for fact, sentence in zip(extraction.facts, extraction.fact_sentences, strict=True):
            self._add_fact(roles, fact, sentence if 0 <= sentence < sentences else -1)
        for group in named:
            self._named.extend(group)
            self._named_start.append(len(self._named))
        self._records.extend(roles)
        self._roles.extend(roles.values())
        self._words.extend(word_hashes(passage.text, self._word_hash))
        self._sentences.append(sentences)
        self._record_start.append(len(self._records))
        self._fact_start.append(len(self._texts))
        self._word_start.append(len(self._words))

    def _add_fact(self, roles: dict[int, int], fact: Fact, sentence: int) -> None:
        if not (entity_key(fact.subject) and entity_key(fact.object)):
            return
        subject, object_ = self._note(roles, fact.subject, END), self._note(roles, fact.object, END)
        keys = entity_key(fact.subject), entity_key(fact.object)
        self._subjects.append(subject)
        self._objects.append(object_)
        self._statements.append(hash64(encode("\t".join((*keys, statement_key(fact))))))
        self._places.append(sentence)
        parts = (fact.subject, fact.relation, fact.object)
        self._texts.append("\t".join(" ".join(part.split()) for part in parts))

    def _note(self, roles: dict[int, int], surface: str, role: int) -> int:
        """The number of a surface, noted under its role; -1 for one that names nothing."""
        number = self._numbered(surface)
        if number >= 0:
            roles[number] = roles.get(number, 0) | role
        return number

    def _numbered(self, surface: str) -> int:
        number = self._surface.get(surface)
        if number is not None:
            return number
        key = entity_key(surface)
        if not key:
            return -1
        entity = self._key.setdefault(key, len(self._key))
        if entity == len(self._entity_spelling):
            spelling = link_key(key)
            self._entity_spelling.append(self._spelling.setdefault(spelling, len(self._spelling)))
        self._surface_entity.append(entity)
        self._surface[surface] = len(self._surface)
        return len(self._surface) - 1

    def parts(self) -> GraphParts:
        """All passages added so far."""
        hashed = [name_hash(spelling) for spelling in self._spelling]
        names = Names(
            Packed.of(self._surface, hashed=True),
            _column(self._surface_entity, np.int32),
            Packed.of(self._key, hashed=True),
            _column(self._entity_spelling, np.int32),
            Packed.of(self._spelling, hashed=True),
            _column([words for words, _, _ in hashed], np.int32),
            _column([whole for _, whole, _ in hashed], np.uint64),
            _column([first for _, _, first in hashed], np.uint64),
        )
        return GraphParts(
            names=names,
            sentences=_column(self._sentences, np.int32),
            record_start=_column(self._record_start, np.int64),
            record_surface=_column(self._records, np.int32),
            record_role=_column(self._roles, np.uint8),
            named_start=_column(self._named_start, np.int64),
            named_surface=_column(self._named, np.int32),
            fact_start=_column(self._fact_start, np.int64),
            fact_subject=_column(self._subjects, np.int32),
            fact_object=_column(self._objects, np.int32),
            fact_statement=_column(self._statements, np.uint64),
            fact_sentence=_column(self._places, np.int32),
            fact_text=Packed.of(self._texts),
            word_start=_column(self._word_start, np.int64),
            words=_column(self._words, np.uint64),
        )


def _column(values: Any, dtype: type[np.generic]) -> NDArray[Any]:
    return np.array(values, dtype=dtype)
