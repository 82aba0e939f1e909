"""One published state of an index: everything a query needs, mapped from disk, never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import FormatVersionError, IndexCorruptError, IndexNotFoundError
from hippo_lit.facets import Facets
from hippo_lit.identifiers import parse
from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.lexical.citations import CitationGraph, CitationRows
from hippo_lit.passages import passages_of
from hippo_lit.protocols import Vectors
from hippo_lit.sentences import split_sentences
from hippo_lit.similarity import Codes
from hippo_lit.storage.columns import Columns
from hippo_lit.storage.disk import ADVICE_REBUILD
from hippo_lit.storage.payload import paper_from_json
from hippo_lit.types import Fact, Paper, Passage

if TYPE_CHECKING:
    from hippo_lit.graph.factgraph import FactGraph

Halves = NDArray[np.float16]

FORMAT = 9
COLUMNS, LEXICAL, BM25 = "columns", "lexical", "bm25"
PARTS = "parts"
"""What only the next indexing run reads: see `corpus`."""


class Snapshot:
    """Papers, passages, vectors, word indexes, citations and the fact graph, read-only.

    Papers are numbered in the order of their ids; passages follow their papers. Raises IndexCorruptError
    or FormatVersionError (found, expected) where files are missing or of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns = Columns(folder / COLUMNS)
        found = self.about.get("format")
        if found != FORMAT:
            raise FormatVersionError(
                f"the snapshot {folder} has format {found!r}, and this version of hippo-lit reads format "
                f"{FORMAT}. {ADVICE_REBUILD}",
                path=str(folder),
                found=found,
                expected=FORMAT,
            )
        # One query asks for many sentences of few papers, and cutting up a long one takes 30 ms. What is kept
        # must not keep this object, which holds dozens of files open: it is to go with its last user.
        this = proxy(self)
        self._passages: Callable[[int], list[Passage]] = lru_cache(maxsize=64)(lambda paper: this._cut(paper))
        # Opened now, since a writer may replace this state and remove its files at any time.
        self.lexical = _words(folder, LEXICAL)
        """BM25 of the two-pass retriever, over papers."""
        self.bm25 = _words(folder, BM25)
        """BM25 over the passages' titles and texts."""

    @property
    def name(self) -> str:
        """Identifies this state of the index."""
        return self.folder.name

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """What the index was built with: embedder, extractor, passage length, counts."""
        return dict(self.columns.document("about"))

    def __len__(self) -> int:
        """Number of papers."""
        return len(self.paper_ids)

    @cached_property
    def paper_ids(self) -> Sequence[str]:
        return self.columns.strings("paper_ids")

    def find(self, name: str) -> int | None:
        """The number of the paper that an id, or any identifier in any form, leads to; None without one."""
        number = self.columns.strings("paper_ids").index_of(name)
        if number is not None:
            return number
        row = self.columns.strings("aliases").index_of(parse(name) or f"id:{name}")
        return None if row is None else int(self.columns.array("alias_paper")[row])

    def paper(self, number: int) -> Paper:
        return paper_from_json(self.columns.strings("papers")[number])

    @cached_property
    def years(self) -> NDArray[np.float64]:
        """Publication years, NaN where unknown."""
        return self.columns.array("years")

    @cached_property
    def facets(self) -> Facets:
        """What filters ask of papers."""
        return Facets(self.columns)

    @cached_property
    def passage_paper(self) -> NDArray[np.int32]:
        """The paper of each passage."""
        return self.columns.array("passage_paper")

    @cached_property
    def first_passage(self) -> NDArray[np.int64]:
        """Each paper's first passage, and one past the last; length papers + 1."""
        return self.columns.array("first_passage")

    def passages_in(self, paper: int) -> range:
        """The numbers of a paper's passages. Raises IndexCorruptError where they cannot be that."""
        first, last = self.first_passage[paper : paper + 2].tolist()
        if not 0 <= first <= last <= len(self.passage_paper):  # a damaged one would stand for billions
            raise IndexCorruptError(
                f"the snapshot {self.folder} is damaged: paper {paper} has passages {first} to {last}."
                f" {ADVICE_REBUILD}",
                path=str(self.folder),
            )
        return range(first, last)

    @cached_property
    def passage_vectors(self) -> Vectors:
        return self.columns.array("passage_vectors")

    @cached_property
    def sentence_vectors(self) -> Halves:
        """One row a sentence, in half precision: see `similarity`."""
        return self.columns.array("sentence_vectors")

    @cached_property
    def fact_vectors(self) -> Halves | None:
        """As sentences, one row a fact; None where facts are scored by the sentences that state them."""
        return self.columns.array("fact_vectors") if "fact_vectors" in self.columns else None

    @cached_property
    def sentence_codes(self) -> Codes:
        return self._codes("sentence")

    @cached_property
    def fact_codes(self) -> Codes:
        """Of `fact_vectors`, where these are there."""
        return self._codes("fact")

    def _codes(self, of: str) -> Codes:
        return Codes(self.columns.array(f"{of}_codes"), self.columns.array(f"{of}_units"))

    @cached_property
    def graph(self) -> FactGraph:
        from hippo_lit.graph.factgraph import FactGraph  # brings scipy, which words alone do without

        return FactGraph.read(self.columns)

    @cached_property
    def citations(self) -> CitationGraph:
        rows = (
            (self.columns.array(f"{name}_start"), self.columns.array(name))
            for name in ("cites", "cited_by", "citation_touching")
        )
        return CitationGraph.stored(
            self.paper_ids, self.columns.strings("paper_ids").index_of, CitationRows(*rows)
        )

    def _cut(self, paper: int) -> list[Passage]:
        return passages_of(self.paper(paper), self.about["passage_chars"])

    def passage(self, number: int) -> Passage:
        paper = int(self.passage_paper[number])
        return self._passages(paper)[number - int(self.first_passage[paper])]

    def sentence(self, number: int) -> str:
        """The text of a sentence; its passage's title for a negative number (place not known)."""
        passage = self.graph.passage_of(number)
        if number < 0:
            return self.passage(passage).title
        return self._sentences(passage)[number - int(self.graph.sentence_start[passage])]

    @cached_property
    def _sentences(self) -> Callable[[int], list[str]]:
        """The sentences of a passage; those of the last few hundred are kept, since candidates recur."""
        this = proxy(self)
        return lru_cache(maxsize=512)(lambda passage: split_sentences(this.passage(passage).body))

    def facts_of(self, paper: int) -> list[tuple[str, Fact]]:
        """The facts that a paper states, in the order of its text, each after the sentence that states it."""
        graph = self.graph
        places, facts = self._stated(paper)
        return [
            (self.sentence(int(graph.fact_sentence[place])), graph.fact(int(fact)))
            for place, fact in zip(places, facts, strict=True)
        ]

    def fact_entities(self, paper: int) -> NDArray[np.int32]:
        """The entities that the facts of a paper join, sorted, each once."""
        _, facts = self._stated(paper)
        ends = np.concatenate([self.graph.fact_subject[facts], self.graph.fact_object[facts]])
        return np.unique(ends)

    def _stated(self, paper: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The statements of a paper: where they stand in `graph.fact_sentence`, and the fact of each."""
        graph = self.graph
        first, last = (int(number) for number in self.first_passage[paper : paper + 2])
        start, end = (int(number) for number in graph.sentence_start[[first, last]])
        unknown = graph.facts_stated(-last, -first)  # -1 - passage: see FactGraph
        known = graph.facts_stated(start, end)
        return np.concatenate([unknown[0], known[0]]), np.concatenate([unknown[1], known[1]])


def _words(folder: Path, name: str) -> BM25Index:
    try:
        return BM25Index.load(folder / name)
    except IndexNotFoundError as e:  # of a snapshot that is there
        raise IndexCorruptError(
            f"the snapshot {folder} is damaged: {e.message}. {ADVICE_REBUILD}", path=str(folder)
        ) from e
