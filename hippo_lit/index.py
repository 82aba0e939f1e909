"""From the store's papers to a published snapshot: extract, embed, build, publish; only what is new."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import FormatVersionError, IndexCorruptError
from hippo_lit.extraction import Extracted, Extracting, ExtractionRun, Progress, silent
from hippo_lit.facets import write_facets
from hippo_lit.graph.build import GraphBuilder
from hippo_lit.graph.factgraph import FactGraph
from hippo_lit.graph.synonyms import by_embedding, by_spelling
from hippo_lit.identity import Aliases
from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.lexical.citations import CitationGraph
from hippo_lit.lexical.twopass import year_array
from hippo_lit.passages import passage_hash, passages_of, sentence_places
from hippo_lit.protocols import FactExtractor, PartEmbedder, Vectors
from hippo_lit.snapshot import BM25, COLUMNS, FORMAT, LEXICAL, Snapshot
from hippo_lit.storage.columns import ColumnWriter
from hippo_lit.storage.disk import reporting
from hippo_lit.storage.payload import paper_to_json
from hippo_lit.storage.publish import CURRENT, open_current, publish, sweep
from hippo_lit.storage.store import Store
from hippo_lit.text import content_hash
from hippo_lit.tokenizers import Tokenizer
from hippo_lit.types import Extraction, Paper, Passage


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a snapshot is built with beside papers and models; part of its identity."""

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

    def describe(self) -> dict[str, object]:
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {key: getattr(value, "name", value) for key, value in plain.items()}


@dataclass(frozen=True, slots=True)
class Built:
    """What `Indexer.build` did. `published` is False where the current snapshot was up to date.

    `failed` passages were tried in vain, `left` ones were not tried, for the reason in `stopped`; both are
    indexed without facts and taken up by the next run. `degraded`: it stopped because a model or an account
    failed. `pending`: batch jobs were submitted whose replies will come. `notes` tell what else was done.
    """

    snapshot: str
    published: bool
    papers: int = 0
    passages: int = 0
    extracted: int = 0
    failed: int = 0
    failures: tuple[str, ...] = ()
    left: int = 0
    stopped: str = ""
    degraded: bool = False
    pending: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Derived:
    """What a snapshot holds beside papers and words."""

    first_passage: NDArray[np.int64]
    passage_vectors: Vectors
    sentence_vectors: Vectors
    fact_vectors: Vectors | None
    citations: CitationGraph
    graph: FactGraph


@dataclass(slots=True)
class Indexer:
    """Turns what the store holds into the next snapshot of `folder`.

    The result depends on the papers, the models and the recipe alone, not on the order or the number of
    steps in which papers arrived. A passage whose extraction fails is recorded, tried again by the next
    run, and meanwhile indexed without facts.
    """

    folder: Path
    store: Store
    embedder: PartEmbedder
    extractor: FactExtractor
    recipe: Recipe
    progress: Progress = field(default=silent)
    extraction: Extracting | None = None
    """How facts are got; by default from `extractor`, a call at a time."""

    def build(self, *, rebuild: bool = False) -> Built:
        """Bring the snapshot up to date; with `rebuild` write it anew although it seems to be.

        Raises ModelError, StoreError.
        """
        papers = list(self.store.papers())
        passages = [passage for paper in papers for passage in passages_of(paper, self.recipe.passage_chars)]
        hashes = [passage_hash(passage) for passage in passages]
        extraction = self.extraction or ExtractionRun(self.store, self.extractor, self.progress)
        facts = extraction.run(passages, hashes)
        done = facts.done
        state = self._state(papers, sorted(set(hashes) - done.keys()))

        def built(*, published: bool) -> Built:
            return _built(state, facts, published=published, papers=len(papers), passages=len(passages))

        damaged = rebuild
        try:
            current = None if rebuild else open_current(self.folder, Snapshot)
        except (FormatVersionError, IndexCorruptError) as error:
            if (error.fields.get("found") or 0) > FORMAT:
                raise  # a newer version wrote it, and still serves from it
            current, damaged = None, True
        if current is not None and current.name == state:
            return built(published=False)
        # All that can fail for another reason than the disk comes before anything is written.
        parts = self._derive(papers, passages, [done.get(text_hash, Extraction()) for text_hash in hashes])
        if damaged:  # its name may be the new one's, and a damaged folder is not to be mistaken for it
            with reporting("replace the snapshot of", self.folder):
                (self.folder / CURRENT).unlink(missing_ok=True)
        publish(self.folder, state, lambda target: self._write(target, papers, passages, parts, facts))
        sweep(self.folder)
        return built(published=True)

    def _state(self, papers: Sequence[Paper], failed: Sequence[str]) -> str:
        """The snapshot's name: equal for equal content, models, recipe and failed passages, however they
        failed.
        """
        fingerprints = [f"{paper_id} {digest}" for paper_id, digest in self.store.fingerprints()]
        recipe = json.dumps(self.recipe.describe(), sort_keys=True)
        parts = [str(FORMAT), self.embedder.space, self.extractor.name, recipe, *fingerprints, *failed]
        return f"s-{len(papers)}-{content_hash(*parts)[:16]}"

    # -- deriving

    def _derive(
        self, papers: Sequence[Paper], passages: Sequence[Passage], extractions: Sequence[Extraction]
    ) -> _Derived:
        spans = [sentence_places(passage) for passage in passages]
        passage_vectors, sentence_vectors = self._embed(passages, spans)
        self.progress("graph", 0, 1)
        citations = CitationGraph.from_papers(papers)
        passages_each = Counter(passage.paper_id for passage in passages)
        first_passage = np.cumsum([0, *(passages_each[paper.id] for paper in papers)], dtype=np.int64)
        graph = self._graph(passages, spans, extractions, citations, first_passage)
        fact_vectors = self._embed_facts(graph) if self.recipe.fact_vectors == "fact" else None
        self.progress("graph", 1, 1)
        return _Derived(first_passage, passage_vectors, sentence_vectors, fact_vectors, citations, graph)

    def _embed(
        self, passages: Sequence[Passage], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> tuple[Vectors, Vectors]:
        """Vectors of the passages and, in order, of all their sentences."""
        texts = [passage.text for passage in passages]
        self.progress("embed", 0, len(texts))
        return self.embedder.embed_parts(
            texts, spans, progress=lambda done, total: self.progress("embed", done, total)
        )

    def _embed_facts(self, graph: FactGraph) -> Vectors:
        texts = [graph.fact(number).text for number in range(graph.n_facts)]
        return self.embedder.embed(texts, "fact")

    def _graph(
        self,
        passages: Sequence[Passage],
        spans: Sequence[Sequence[tuple[int, int]]],
        extractions: Sequence[Extraction],
        citations: CitationGraph,
        first_passage: NDArray[np.int64],
    ) -> FactGraph:
        builder = GraphBuilder(title_weight=self.recipe.title_weight)
        for passage, sentences, extraction in zip(passages, spans, extractions, strict=True):
            builder.add(passage, len(sentences), extraction)
        citing, cited = citations.arrays()
        ranges = [range(int(a), int(b)) for a, b in pairwise(first_passage)]
        return builder.build(
            citations=zip(first_passage[citing].tolist(), first_passage[cited].tolist(), strict=True),
            continuations=(pair for passages in ranges for pair in pairwise(passages)),
            synonyms=self._synonyms(builder.names()),
        )

    def _synonyms(self, names: Mapping[str, int]) -> Iterator[tuple[int, int, float]]:
        keys, threshold = list(names), self.recipe.synonym_threshold
        pairs: Iterable[tuple[int, int, float]] = ()
        match self.recipe.synonyms:
            case "spelling":
                pairs = by_spelling(keys, threshold)
            case "embedding":
                pairs = by_embedding(self.embedder.embed(keys, "fact"), threshold)
            case "none":
                pass
        for a, b, similarity in pairs:
            yield names[keys[a]], names[keys[b]], similarity

    # -- writing

    def _write(
        self,
        target: Path,
        papers: Sequence[Paper],
        passages: Sequence[Passage],
        parts: _Derived,
        facts: Extracted,
    ) -> None:
        recipe = self.recipe
        (target / COLUMNS).mkdir()
        with ColumnWriter(target / COLUMNS) as columns:
            columns.document(
                "about",
                {
                    "format": FORMAT,
                    "embedder": self.embedder.space,
                    "dim": int(parts.passage_vectors.shape[1]),
                    "extractor": self.extractor.name,
                    "passage_chars": recipe.passage_chars,
                    "recipe": recipe.describe(),
                    "failures": len(facts.failures) + facts.left,  # distinct texts without facts
                },
            )
            columns.strings("paper_ids", (paper.id for paper in papers))
            numbers = {paper.id: number for number, paper in enumerate(papers)}
            names = sorted(Aliases(papers).names.items())
            columns.strings("aliases", (name for name, _ in names))
            columns.array("alias_paper", np.array([numbers[owner] for _, owner in names], dtype=np.int32))
            columns.strings("papers", (paper_to_json(paper) for paper in papers), lookup=False)
            columns.array("years", year_array(paper.year for paper in papers))
            write_facets(columns, papers)
            columns.array("first_passage", parts.first_passage)
            columns.array(
                "passage_paper",
                np.repeat(np.arange(len(papers), dtype=np.int32), np.diff(parts.first_passage)),
            )
            columns.array("passage_vectors", parts.passage_vectors)
            columns.array("sentence_vectors", parts.sentence_vectors)
            if parts.fact_vectors is not None:
                columns.array("fact_vectors", parts.fact_vectors)
            citing, cited = parts.citations.arrays()
            columns.array("citing", citing)
            columns.array("cited", cited)
            parts.graph.write(columns)
        self.progress("words", 0, 1)
        BM25Index.build(
            (f"{p.title}\n{p.abstract}" if recipe.lexical_title else p.abstract for p in papers),
            recipe.lexical_tokenizer,
            k1=recipe.lexical_k1,
            b=recipe.lexical_b,
        ).save(target / LEXICAL)
        BM25Index.build(
            (passage.text for passage in passages), recipe.bm25_tokenizer, k1=recipe.bm25_k1, b=recipe.bm25_b
        ).save(target / BM25)
        self.progress("words", 1, 1)


def _built(state: str, facts: Extracted, *, published: bool, papers: int, passages: int) -> Built:
    return Built(
        state,
        published,
        papers,
        passages,
        extracted=facts.new,
        failed=len(facts.failures),
        failures=facts.failures,
        left=facts.left,
        stopped=facts.stopped,
        degraded=facts.degraded,
        pending=facts.pending,
        notes=facts.notes,
    )
