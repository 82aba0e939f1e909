"""Published indexes of any size, written within minutes, with questions: what `latency.py` measures.

They have the shape of an index of abstracts: one passage a paper with six sentences, names that follow
Zipf's law, 12 mentions and 8 facts a passage, 5 citations, vectors that lie around topics. Nothing is
extracted and no model runs; columns are drawn by numpy and go through the same `derive` and `write` as those
of real papers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from words import word

from hippo_lit import Settings
from hippo_lit.assemble import make_recipe
from hippo_lit.corpus import CorpusParts, Kept
from hippo_lit.derived import Derived, word_indexes, write
from hippo_lit.facets import facets_of
from hippo_lit.graph.derive import Joins, derive
from hippo_lit.graph.keys import entity_key, link_key
from hippo_lit.graph.parts import END, NAME, GraphParts, Names
from hippo_lit.graph.synonyms import Pairs
from hippo_lit.lexical.citations import citation_rows
from hippo_lit.protocols import TextKind, Vectors
from hippo_lit.storage.packed import Packed
from hippo_lit.storage.payload import paper_to_json
from hippo_lit.storage.postings import index_groups
from hippo_lit.storage.publish import publish
from hippo_lit.storage.ragged import counted, starts_of
from hippo_lit.types import Paper

DIM = 384
SENTENCES, NAMES, WORDS, FACTS, CITED = 6, 2, 10, 8, 5
_VOCABULARY, _RELATIONS, _TOPICS, _BLOCK = 20_000, 300, 500, 10_000


def name(number: int) -> str:
    """A name of two words for each number."""
    return f"{word(number).capitalize()} {word(number % 997).capitalize()}"


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    vector: Vectors


class Asked:
    """An embedder that knows the vectors of these questions."""

    name = space = "synthetic"
    dim = DIM

    def __init__(self, questions: Sequence[Question]) -> None:
        self._vectors = {question.text: question.vector for question in questions}

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002 - the protocol's
        return np.array([self._vectors[text] for text in texts], dtype=np.float32).reshape(-1, DIM)


class _Drawn:
    """What `size` papers say, as numbers. Sentence s of passage p is row p * SENTENCES + s."""

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(size)
        self.size = size
        shape = (size * SENTENCES, NAMES)
        # The n-th name is about 1/n as frequent as the first, and a third of all stand once or twice.
        zipf = 5 * size ** rng.random(shape) * rng.random(shape) ** 0.3
        ranks = np.where(rng.random(shape) < 0.7, zipf, rng.integers(0, 20 * size, shape)).astype(np.int64)
        known = counted(ranks.ravel())[0]
        self.entities: NDArray[np.int64] = known
        self.named = np.searchsorted(known, ranks)
        self.words = (_VOCABULARY ** rng.random((size * SENTENCES, WORDS))).astype(np.int32)
        self.cited = rng.integers(0, size, (size, CITED))
        self.topic = rng.integers(0, _TOPICS, size)
        of_passage = self.named.reshape(size, SENTENCES * NAMES)
        at = rng.integers(0, SENTENCES, (size, FACTS))
        other = rng.integers(0, SENTENCES * NAMES, (size, FACTS))
        rows = np.arange(size)[:, None]
        self.fact_sentence = at
        self.subject, self.object = of_passage[rows, at * NAMES], of_passage[rows, other]
        self.relation = rng.integers(0, _RELATIONS, (size, FACTS))


def _units(rows: NDArray[np.float32]) -> Vectors:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _vectors(drawn: _Drawn, *, sentences: bool) -> Iterator[Vectors]:
    """Blocks of passages' or their sentences' vectors: a topic, the passage, and for sentences themselves."""
    topics = np.random.default_rng(1).normal(size=(_TOPICS, DIM)).astype(np.float32)
    for start in range(0, drawn.size, _BLOCK):
        rng = np.random.default_rng((2, start))
        mine = topics[drawn.topic[start : start + _BLOCK]]
        passages = mine + rng.standard_normal(mine.shape, dtype=np.float32)
        if not sentences:
            yield _units(passages)
            continue
        for at in range(0, len(passages), 1000):
            each = np.repeat(passages[at : at + 1000], SENTENCES, axis=0)
            yield _units(each + rng.standard_normal(each.shape, dtype=np.float32))


class _Blocks(Sequence[Vectors]):
    """Vectors that are drawn whenever they are read, so that they never stand in memory whole."""

    def __init__(self, drawn: _Drawn, *, sentences: bool) -> None:
        self._drawn, self._sentences = drawn, sentences

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Vectors]:
        return _vectors(self._drawn, sentences=self._sentences)

    def __getitem__(self, at: int) -> Vectors:  # type: ignore[override]
        return next(islice(self, at, None))


def _papers(drawn: _Drawn, names: Sequence[str]) -> Iterator[Paper]:
    vocabulary = [word(number) for number in range(_VOCABULARY + 1)]
    for start in range(0, drawn.size, 1000):
        stop = min(start + 1000, drawn.size)
        rows = slice(start * SENTENCES, stop * SENTENCES)
        named, words = drawn.named[rows].tolist(), drawn.words[rows].tolist()
        cited = drawn.cited[start:stop].tolist()
        texts = []
        for (first, second), said in zip(named, words, strict=True):
            text = [vocabulary[number] for number in said]
            texts.append(f"The {names[first]} {' '.join(text[:5])} {names[second]} {' '.join(text[5:])}.")
        for i in range(start, stop):
            own = texts[(i - start) * SENTENCES : (i - start + 1) * SENTENCES]
            title = f"{word(i)} {word(i % 4999)}".capitalize()
            refs = tuple(f"p{number:07}" for number in cited[i - start])
            yield Paper(f"p{i:07}", title, " ".join(own), 1990 + i % 35, references=refs)


def _graph_parts(drawn: _Drawn, names: Sequence[str]) -> GraphParts:
    size, n_names = drawn.size, len(names)
    surfaces = Packed.of(names, hashed=True)
    keys = [entity_key(each) for each in names]
    numbers = np.arange(n_names, dtype=np.int32)
    zeros = np.zeros(n_names, dtype=np.uint64)
    spellings = Packed.of(map(link_key, keys), hashed=True)
    two_words = np.full(n_names, 2, dtype=np.int32)
    everything = Names(
        surfaces, numbers, Packed.of(keys, hashed=True), numbers, spellings, two_words, zeros, zeros
    )
    passage = np.repeat(np.arange(size), SENTENCES * NAMES)
    pairs = counted(passage * n_names + drawn.named.ravel())[0]
    owner, surface = np.divmod(pairs, n_names)
    sentences = counted(np.repeat(np.arange(size * SENTENCES), NAMES) * n_names + drawn.named.ravel())[0]
    sentence, inside = np.divmod(sentences, n_names)
    subject, object_ = drawn.subject.ravel(), drawn.object.ravel()
    relations = [word(number) for number in range(_RELATIONS)]
    rows = zip(subject.tolist(), drawn.relation.ravel().tolist(), object_.tolist(), strict=True)
    statement = (subject * _RELATIONS + drawn.relation.ravel()) * n_names + object_
    return GraphParts(
        names=everything,
        sentences=np.full(size, SENTENCES, dtype=np.int32),
        record_start=starts_of(np.bincount(owner, minlength=size)),
        record_surface=surface.astype(np.int32),
        record_role=np.full(len(surface), NAME | END, dtype=np.uint8),
        named_start=starts_of(np.bincount(sentence, minlength=size * SENTENCES)),
        named_surface=inside.astype(np.int32),
        fact_start=np.arange(size + 1, dtype=np.int64) * FACTS,
        fact_subject=subject.astype(np.int32),
        fact_object=object_.astype(np.int32),
        fact_statement=statement.astype(np.uint64),
        fact_sentence=drawn.fact_sentence.ravel().astype(np.int32),
        fact_text=Packed.of(f"{names[a]}\t{relations[r]}\t{names[b]}" for a, r, b in rows),
        word_start=np.zeros(size + 1, dtype=np.int64),
        words=np.zeros(0, dtype=np.uint64),
    )


def write_index(folder: Path, size: int) -> Path:
    """Publish an index of `size` papers in `folder`, always the same; returns the snapshot's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _Drawn(size)
    names = [name(number) for number in drawn.entities.tolist()]
    papers = list(_papers(drawn, names))
    graph = _graph_parts(drawn, names)
    citing, cited = np.repeat(np.arange(size), CITED), drawn.cited.ravel()
    spread = np.bincount(graph.record_surface, minlength=len(names)).astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    made = Derived(
        derive(graph, spread, Joins((citing, cited), (none, none), Pairs.none()), title_weight=4.0),
        citation_rows(size, citing, cited),
        (Packed.of((), hashed=True), none.astype(np.int32)),
        None,
        Kept(spread, Pairs.none()),
    )
    parts = CorpusParts(
        ids=Packed.of((paper.id for paper in papers), hashed=True),
        papers=Packed.of(map(paper_to_json, papers)),
        years=np.array([paper.year for paper in papers], dtype=np.float64),
        fingerprints=np.zeros((0, 16), dtype=np.uint8),
        first_passage=np.arange(size + 1, dtype=np.int64),
        hashes=np.zeros((0, 16), dtype=np.uint8),
        failed=np.zeros(size, dtype=np.bool_),
        reference_start=np.zeros(size + 1, dtype=np.int64),
        references=np.zeros((0, 2), dtype=np.uint64),
        citation_start=np.zeros(size + 1, dtype=np.int64),
        citations=np.zeros((0, 2), dtype=np.uint64),
        passage_vectors=_Blocks(drawn, sentences=False),
        sentence_vectors=_Blocks(drawn, sentences=True),
        satellite=np.zeros(size, dtype=np.bool_),
        names=index_groups((), hashed=True),
        facets=facets_of(papers),
        graph=graph,
    )
    settings = Settings()
    recipe = make_recipe(settings)
    words = word_indexes(papers, [f"{paper.title}\n{paper.abstract}" for paper in papers], None, recipe)
    about = {
        "embedder": Asked.space, "dim": DIM, "extractor": "synthetic", "failures": 0,
        "passage_chars": recipe.passage_chars, "recipe": recipe.describe(),
    }  # fmt: skip
    return publish(
        folder,
        f"synthetic-{size}",
        lambda target: write(target, parts, made, words, about, recipe.edge_weights),
    )


def questions(size: int, count: int) -> list[Question]:
    """Questions that name two entities of one sentence, with vectors near that sentence's passage."""
    drawn = _Drawn(size)
    topics = np.random.default_rng(1).normal(size=(_TOPICS, DIM)).astype(np.float32)
    rng = np.random.default_rng(3)
    found = []
    for sentence in rng.integers(0, size * SENTENCES, count).tolist():
        first, second = (name(int(drawn.entities[number])) for number in drawn.named[sentence])
        said = " ".join(word(int(number)) for number in drawn.words[sentence][:4])
        near = topics[drawn.topic[sentence // SENTENCES]] + rng.standard_normal(DIM, dtype=np.float32)
        found.append(Question(f"which {said} of {first} is {second}?", near / np.linalg.norm(near)))
    return found
