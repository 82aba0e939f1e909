"""What a snapshot holds, derived from its papers' parts: a function of the parts, the models and the recipe.

What the last snapshot counted and compared is taken over where papers stay (`Before`); that saves time and
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hippo_lit import corpus
from hippo_lit.corpus import CorpusParts, Kept
from hippo_lit.facets import write_facets
from hippo_lit.graph.derive import Joins, derive, proper
from hippo_lit.graph.factgraph import EdgeKind, FactGraph
from hippo_lit.graph.gather import Gathered, holders, updated_holders
from hippo_lit.graph.synonyms import Pairs, by_embedding, by_spelling
from hippo_lit.lexical.bm25 import BM25Index, index_texts
from hippo_lit.lexical.citations import CitationRows, citation_rows, resolved
from hippo_lit.protocols import PartEmbedder, Vectors
from hippo_lit.similarity import codes
from hippo_lit.snapshot import BM25, COLUMNS, FORMAT, LEXICAL, PARTS, Snapshot
from hippo_lit.storage.columns import ColumnWriter
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.postings import merged
from hippo_lit.storage.ragged import Piece, inner, joined, owners
from hippo_lit.tokenizers import Tokenizer
from hippo_lit.types import Paper

Blocks = Sequence[NDArray[np.floating]]
_CODED_AT_ONCE = 10_000  # rows


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a snapshot is built with beside papers and models; part of its identity, but for `edge_weights`:
    what PageRank walks on with these is written too, and with others made when it is first asked for.
    """

    passage_chars: int
    lexical_tokenizer: Tokenizer
    lexical_title: bool
    lexical_k1: float
    lexical_b: float
    bm25_tokenizer: Tokenizer
    bm25_k1: float
    bm25_b: float
    fact_vectors: Literal["sentence", "fact"]
    synonyms: Literal["spelling", "embedding", "none"]
    synonym_threshold: float
    title_weight: float
    edge_weights: Mapping[EdgeKind, float]

    def describe(self) -> dict[str, object]:
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "edge_weights"}
        return {key: getattr(value, "name", value) for key, value in plain.items()}


@dataclass(frozen=True, slots=True)
class Before:
    """The last snapshot, its parts and what it kept; the parts that are new; the papers (and passages) of
    both that are there now, in order; and where their names come from.
    """

    snapshot: Snapshot
    parts: CorpusParts
    kept: Kept
    fresh: CorpusParts
    papers: Sequence[Piece]
    passages: Sequence[Piece]
    gathered: Gathered


@dataclass(frozen=True, slots=True)
class Derived:
    """What a snapshot holds beside the parts and the words."""

    graph: FactGraph
    citations: CitationRows
    aliases: tuple[Packed, NDArray[np.int32]]
    fact_vectors: Vectors | None
    kept: Kept


def derived(parts: CorpusParts, before: Before | None, embedder: PartEmbedder, recipe: Recipe) -> Derived:
    """Raises EmbeddingError where names or facts are embedded."""
    aliases = _aliases(parts)
    citing, cited = _citations(parts, aliases)
    first = parts.first_passage
    inside = np.ones(max(int(first[-1]) - 1, 0), dtype=np.bool_)
    inside[first[1:-1] - 1] = False  # a paper's last passage is not continued
    going_on = np.flatnonzero(inside)
    if before is None:
        counts = holders(parts.graph)
    else:
        counts = updated_holders(before.parts.graph, before.kept.holders, before.gathered, before.passages)
    kept = Kept(counts, _synonyms(parts, before, embedder, recipe))
    joins = Joins((first[citing], first[cited]), (going_on, going_on + 1), kept.synonyms)
    graph = derive(parts.graph, counts, joins, title_weight=recipe.title_weight)
    vectors = _fact_vectors(graph, before, embedder) if recipe.fact_vectors == "fact" else None
    return Derived(graph, citation_rows(len(parts), citing, cited), aliases, vectors, kept)


def _aliases(parts: CorpusParts) -> tuple[Packed, NDArray[np.int32]]:
    """The names that lead to one paper, ascending, and that paper: `identity.Aliases`, in columns."""
    names = parts.names
    works = ~parts.satellite[names.documents]
    term = owners(names.starts)
    n_works = np.bincount(term, works, minlength=len(names.terms))[term]
    sole = (works & (n_works == 1)) | ((n_works == 0) & (np.diff(names.starts)[term] == 1))
    return names.terms.take(term[sole]), names.documents[sole]


def _citations(
    parts: CorpusParts, aliases: tuple[Packed, NDArray[np.int32]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    names, named = aliases
    assert parts.ids.hashes is not None
    assert names.hashes is not None
    known = parts.ids.hashes, names.hashes, named
    citing, cited = resolved(*known, parts.reference_start, parts.references)
    cited_too, citing_too = resolved(*known, parts.citation_start, parts.citations)
    return np.concatenate([citing, citing_too]), np.concatenate([cited, cited_too])


def _synonyms(parts: CorpusParts, before: Before | None, embedder: PartEmbedder, recipe: Recipe) -> Pairs:
    names, named = parts.graph.names, proper(parts.graph)
    entities = np.flatnonzero(named)
    if recipe.synonyms == "none":
        return Pairs.none()
    if recipe.synonyms == "embedding":
        keys = [names.keys[entity] for entity in entities.tolist()]
        return by_embedding(embedder.embed(keys, "fact"), recipe.synonym_threshold).renumbered(entities)
    new, known = np.ones(len(entities), dtype=np.bool_), Pairs.none()
    if before is not None:
        origin, were = before.gathered.entity_origin[entities], proper(before.parts.graph)
        there = origin >= 0
        new[there] = ~were[origin[there]]
        now = np.full(len(were), -1, dtype=np.int64)
        now[origin[~new]] = entities[~new]
        known = before.kept.synonyms.renumbered(now)
    spellings = names.spellings.take(names.entity_spelling[entities])
    return known + by_spelling(spellings, recipe.synonym_threshold, new).renumbered(entities)


def _fact_vectors(graph: FactGraph, before: Before | None, embedder: PartEmbedder) -> Vectors:
    """One row a fact; those that the last snapshot has are not even looked up."""
    rows = graph.fact_text.rows
    origin = np.full(len(rows), -1, dtype=np.int64)
    known: NDArray[np.float16] | None = None
    if before is not None and (known := before.snapshot.fact_vectors) is not None:
        stated = np.full(len(before.parts.graph.fact_text), -1, dtype=np.int64)
        old_rows = before.snapshot.graph.fact_text.rows
        stated[old_rows] = np.arange(len(old_rows))
        graphs = before.parts.graph, before.fresh.graph
        statements = inner(before.passages, [each.fact_start for each in graphs])
        fresh = np.full(len(graphs[1].fact_text), -1, dtype=np.int64)
        origin = joined(statements, [stated, fresh])[rows]
    missing = np.flatnonzero(origin < 0)
    new = embedder.embed([graph.fact(number).text for number in missing.tolist()], "fact")
    if known is None:
        return new
    vectors = np.empty((len(rows), known.shape[1]), dtype=np.float32)
    vectors[origin >= 0] = known[origin[origin >= 0]]
    vectors[missing] = new
    return vectors


def word_indexes(
    papers: Sequence[Paper], texts: Sequence[str], before: Before | None, recipe: Recipe
) -> tuple[BM25Index, BM25Index]:
    """The two-pass retriever's index of papers, and that of passages; given the new papers and passages."""
    lexical = index_texts(
        (f"{p.title}\n{p.abstract}" if recipe.lexical_title else p.abstract for p in papers),
        recipe.lexical_tokenizer,
    )
    bm25 = index_texts(texts, recipe.bm25_tokenizer)
    if before is not None:
        lexical = merged(before.snapshot.lexical.postings, lexical, before.papers)
        bm25 = merged(before.snapshot.bm25.postings, bm25, before.passages)
    return (
        BM25Index.of(lexical, recipe.lexical_tokenizer, k1=recipe.lexical_k1, b=recipe.lexical_b),
        BM25Index.of(bm25, recipe.bm25_tokenizer, k1=recipe.bm25_k1, b=recipe.bm25_b),
    )


def write(
    target: Path,
    parts: CorpusParts,
    made: Derived,
    words: tuple[BM25Index, BM25Index],
    about: dict[str, Any],
    edge_weights: Mapping[EdgeKind, float],
) -> None:
    """Fill the folder of a snapshot; `words` are the two-pass retriever's index and that of passages."""
    (target / COLUMNS).mkdir()
    (target / PARTS).mkdir()
    with ColumnWriter(target / COLUMNS) as columns:
        columns.document("about", {"format": FORMAT, **about})
        columns.strings("paper_ids", parts.ids)
        columns.strings("aliases", made.aliases[0])
        columns.array("alias_paper", made.aliases[1])
        columns.strings("papers", parts.papers, lookup=False)
        columns.array("years", parts.years)
        write_facets(columns, parts.facets)
        columns.array("first_passage", parts.first_passage)
        passages = np.diff(parts.first_passage)
        columns.array("passage_paper", np.repeat(np.arange(len(parts), dtype=np.int32), passages))
        _write_vectors(columns, "passage", parts.passage_vectors)
        _write_coded(columns, "sentence", parts.sentence_vectors)
        if made.fact_vectors is not None:
            _write_coded(columns, "fact", [made.fact_vectors])
        rows = made.citations
        named = {"cites": rows.cites, "cited_by": rows.cited_by, "citation_touching": rows.touching}
        for name, (start, neighbours) in named.items():
            columns.array(f"{name}_start", start)
            columns.array(name, neighbours)
        made.graph.write(columns, edge_weights)
    with ColumnWriter(target / PARTS) as columns:
        corpus.write(columns, parts, made.kept)
    for index, name in zip(words, (LEXICAL, BM25), strict=True):
        index.save(target / name)


def _write_vectors(
    columns: ColumnWriter, of: str, blocks: Blocks, dtype: Any = np.float32
) -> tuple[int, ...]:
    shape = (sum(map(len, blocks)), blocks[0].shape[1])
    columns.pieces(f"{of}_vectors", blocks, shape, dtype)
    return shape


def _write_coded(columns: ColumnWriter, of: str, blocks: Blocks) -> None:
    """Vectors as halves, and the codes of these."""
    shape = _write_vectors(columns, of, blocks, np.float16)
    units = [np.zeros(0, dtype=np.float32)]

    def numbers() -> Iterator[NDArray[np.int8]]:
        for block in blocks:
            for start in range(0, len(block), _CODED_AT_ONCE):
                made = codes(block[start : start + _CODED_AT_ONCE].astype(np.float16))
                units.append(made.unit)
                yield made.numbers

    columns.pieces(f"{of}_codes", numbers(), shape, np.int8)
    columns.array(f"{of}_units", np.concatenate(units))
