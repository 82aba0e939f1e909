"""What each paper gives to a snapshot by itself: made once, kept with the snapshot, carried to the next one.

A snapshot is a function of these parts, in the order of the papers' ids. `gather` takes those of papers that
stay from the snapshot before and joins them with those of papers that are new: runs of rows are copied, and
the result equals, bit by bit, parts that are made all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.facets import FacetParts, facets_of, gather_facets, read_facets
from hippo_lit.graph.gather import Gathered
from hippo_lit.graph.gather import gather as gather_graph
from hippo_lit.graph.parts import GraphParts, Names, PartsMaker
from hippo_lit.graph.synonyms import Pairs
from hippo_lit.identifiers import identifiers
from hippo_lit.lexical.citations import id_hashes
from hippo_lit.lexical.twopass import year_array
from hippo_lit.protocols import Vectors
from hippo_lit.snapshot import PARTS, Snapshot
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.storage.packed import Packed, join
from hippo_lit.storage.payload import paper_to_json
from hippo_lit.storage.postings import Postings, index_groups, merged
from hippo_lit.storage.ragged import Piece, Starts, inner, joined, joined_starts, owners, places, starts_of
from hippo_lit.titles import title_of
from hippo_lit.types import Extraction, Paper, Passage

Hashes = NDArray[np.uint64]
Digests = NDArray[np.uint8]  # 16 bytes a row


@dataclass(frozen=True, slots=True)
class Indexed:
    """A paper on its way into an index: its passages, their hashes, and what was found in each (None: the
    extraction failed).
    """

    paper: Paper
    fingerprint: str
    passages: Sequence[Passage]
    hashes: Sequence[str]
    found: Sequence[Extraction | None]


@dataclass(frozen=True, slots=True)
class CorpusParts:
    """The parts of papers, in columns.

    `fingerprints` and, by passage, `hashes` are 128-bit hashes of content; `failed` says whose extraction
    failed. `references` and `citations` are `id_hashes`; `names` says which papers have which identifier,
    `satellite` which papers belong to another. Vectors come in blocks, to be read one after the
    other. `first_passage` gives each paper's first passage and one past the last.
    """

    ids: Packed
    papers: Packed
    years: NDArray[np.float64]
    fingerprints: Digests
    first_passage: Starts
    hashes: Digests
    failed: NDArray[np.bool_]
    reference_start: Starts
    references: Hashes
    citation_start: Starts
    citations: Hashes
    passage_vectors: Sequence[Vectors]
    sentence_vectors: Sequence[NDArray[np.floating]]
    satellite: NDArray[np.bool_]
    names: Postings
    facets: FacetParts
    graph: GraphParts

    def __len__(self) -> int:
        """Number of papers."""
        return len(self.ids)

    def failed_hashes(self, papers: NDArray[np.int64]) -> set[str]:
        """The passages of these papers whose extraction failed, by hash."""
        rows = places(self.first_passage, papers)
        return {row.tobytes().hex() for row in self.hashes[rows[self.failed[rows]]]}

    def has_failed(self) -> NDArray[np.bool_]:
        """Which papers have a passage whose extraction failed."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[owners(self.first_passage)[self.failed]] = True
        return found

    def failures_of(self, paper: int) -> list[bool]:
        """For each passage of a paper whether its extraction failed."""
        failed: list[bool] = self.failed[self.first_passage[paper] : self.first_passage[paper + 1]].tolist()
        return failed


def make(
    papers: Sequence[Indexed],
    sentences: Iterable[int],
    passage_vectors: Vectors,
    sentence_vectors: NDArray[np.floating],
) -> CorpusParts:
    """The parts of these papers; `sentences` counts those of each passage."""
    maker = PartsMaker()
    passages = [passage for each in papers for passage in each.passages]
    found = [outcome for each in papers for outcome in each.found]
    for passage, count, extraction in zip(passages, sentences, found, strict=True):
        maker.add(passage, count, extraction or Extraction())
    return CorpusParts(
        ids=Packed.of((each.paper.id for each in papers), hashed=True),
        papers=Packed.of(paper_to_json(each.paper) for each in papers),
        years=year_array(each.paper.year for each in papers),
        fingerprints=_digests(each.fingerprint for each in papers),
        first_passage=starts_of([len(each.passages) for each in papers]),
        hashes=_digests(text_hash for each in papers for text_hash in each.hashes),
        failed=np.array([outcome is None for outcome in found], dtype=np.bool_),
        reference_start=starts_of([len(each.paper.references) for each in papers]),
        references=_ids(each.paper.references for each in papers),
        citation_start=starts_of([len(each.paper.citations) for each in papers]),
        citations=_ids(each.paper.citations for each in papers),
        passage_vectors=[passage_vectors],
        sentence_vectors=[sentence_vectors],
        satellite=np.array([bool(title_of(each.paper.title).satellite) for each in papers], dtype=np.bool_),
        names=index_groups((identifiers(each.paper) for each in papers), hashed=True),
        facets=facets_of([each.paper for each in papers]),
        graph=maker.parts(),
    )


def gather(
    old: CorpusParts, fresh: CorpusParts, pieces: Sequence[Piece]
) -> tuple[CorpusParts, Gathered, list[Piece]]:
    """The papers that `pieces` name, in that order; source 0 is `old`, source 1 `fresh`.

    Also says where names come from, and which passages were joined.
    """
    both = (old, fresh)
    passages = inner(pieces, [each.first_passage for each in both])
    sentences = inner(passages, [starts_of(each.graph.sentences) for each in both])
    gathered = gather_graph(old.graph, fresh.graph, passages)

    def ragged(start: str, values: str) -> dict[str, Any]:
        starts = [getattr(each, start) for each in both]
        return {
            start: joined_starts(pieces, starts),
            values: joined(inner(pieces, starts), [getattr(each, values) for each in both]),
        }

    def rows(name: str, where: Sequence[Piece]) -> NDArray[Any]:
        return joined(where, [getattr(each, name) for each in both])

    def blocks(name: str, where: Sequence[Piece]) -> list[Any]:
        whole = [_whole(getattr(each, name)) for each in both]
        return [whole[piece.source][piece.start : piece.stop] for piece in where] or [whole[0][:0]]

    parts = CorpusParts(
        ids=join(pieces, [each.ids for each in both]),
        papers=join(pieces, [each.papers for each in both]),
        years=rows("years", pieces),
        fingerprints=rows("fingerprints", pieces),
        first_passage=joined_starts(pieces, [each.first_passage for each in both]),
        hashes=rows("hashes", passages),
        failed=rows("failed", passages),
        **ragged("reference_start", "references"),
        **ragged("citation_start", "citations"),
        passage_vectors=blocks("passage_vectors", passages),
        sentence_vectors=blocks("sentence_vectors", sentences),
        satellite=rows("satellite", pieces),
        names=merged(old.names, fresh.names, pieces),
        facets=gather_facets(old.facets, fresh.facets, pieces),
        graph=gathered.parts,
    )
    return parts, gathered, passages


# What `Snapshot` does not hold itself. The rest lies among its columns: a file is written once.
_PARTS = (
    "fingerprints",
    "hashes",
    "failed",
    "reference_start",
    "references",
    "citation_start",
    "citations",
    "satellite",
)
_STRINGS = {"surfaces", "spellings", "fact_text"}


@dataclass(frozen=True, slots=True)
class Kept:
    """What was counted and compared for a snapshot, and need not be again for what stays: see
    `gather.holders` and `synonyms.by_spelling`.
    """

    holders: NDArray[np.int64]
    synonyms: Pairs


def write(columns: ColumnWriter, parts: CorpusParts, kept: Kept) -> None:
    """Write into the folder `PARTS` what a snapshot does not hold itself."""
    for name in _PARTS:
        columns.array(name, getattr(parts, name))
    for part in fields(GraphParts):
        if part.name not in {"names", *_STRINGS}:
            columns.array(part.name, getattr(parts.graph, part.name))
    columns.strings("keys", parts.graph.names.keys)
    for part in fields(Names):
        if part.name not in {"keys", *_STRINGS}:
            columns.array(part.name, getattr(parts.graph.names, part.name))
    columns.strings("names", parts.names.terms)
    columns.array("name_start", parts.names.starts)
    columns.array("name_paper", parts.names.documents)
    columns.array("holders", kept.holders)
    columns.array("synonym_a", kept.synonyms.a)
    columns.array("synonym_b", kept.synonyms.b)
    columns.array("synonym_similarity", kept.synonyms.similarity)


def read(snapshot: Snapshot) -> tuple[CorpusParts, Kept]:
    """The parts of a snapshot's papers, mapped from disk. Raises IndexCorruptError."""
    own, shared = Columns(snapshot.folder / PARTS), snapshot.columns
    names = Names(
        surfaces=Packed.stored(shared.strings("surfaces")),
        keys=Packed.stored(own.strings("keys")),
        spellings=Packed.stored(shared.strings("spellings")),
        **{part.name: own.array(part.name) for part in fields(Names) if part.name not in {"keys", *_STRINGS}},
    )
    graph = GraphParts(
        names=names,
        fact_text=Packed.stored(shared.strings("statement_text")),
        **{
            part.name: own.array(part.name)
            for part in fields(GraphParts)
            if part.name not in {"names", *_STRINGS}
        },
    )
    parts = CorpusParts(
        ids=Packed.stored(shared.strings("paper_ids")),
        papers=Packed.stored(shared.strings("papers")),
        years=snapshot.years,
        first_passage=snapshot.first_passage,
        passage_vectors=[snapshot.passage_vectors],
        sentence_vectors=[snapshot.sentence_vectors],
        names=Postings.of_sets(
            Packed.stored(own.strings("names")),
            own.array("name_start"),
            own.array("name_paper"),
            len(snapshot),
        ),
        facets=read_facets(shared),
        graph=graph,
        **{name: own.array(name) for name in _PARTS},
    )
    pairs = Pairs(own.array("synonym_a"), own.array("synonym_b"), own.array("synonym_similarity"))
    return parts, Kept(own.array("holders"), pairs)


def _digests(hashes: Iterable[str]) -> Digests:
    data = b"".join(map(bytes.fromhex, hashes))
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, 16)


def _ids(groups: Iterable[Sequence[str]]) -> Hashes:
    rows = [row for ids in groups for row in id_hashes(ids)]
    return np.array(rows, dtype=np.uint64).reshape(-1, 2)


def _whole(blocks: Sequence[Vectors]) -> Vectors:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
