"""A hand-written corpus of 100 papers, and two sources that serve it as arXiv and Semantic Scholar would."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.types import Paper

TOPICS = (
    "attention_sparsity",
    "retrieval_augmentation",
    "low_rank_adapters",
    "dataset_distillation",
    "evaluation_harnesses",
)


def build_corpus() -> list[Paper]:
    """The 100 papers in order of id ("p001" …), with references and the citations that follow from them.

    Five topics of 20 papers, each a connected citation graph, with some citations between topics.
    """
    return list(_corpus())


class _MockClient:
    """A source over a fixed corpus. `served` is what this service would tell of each paper."""

    name = "mock"

    def __init__(self, corpus: Iterable[Paper] | None = None) -> None:
        """`corpus` defaults to `build_corpus()`."""
        self._papers = [self._served(paper) for paper in (_corpus() if corpus is None else corpus)]

    def papers(self) -> Iterator[Paper]:
        """Every paper, in corpus order."""
        return iter(self._papers)

    def search(self, query: str, limit: int = 10) -> list[Paper]:
        """The `limit` papers whose title and abstract match `query` best, by BM25; none without a match."""
        return [self._papers[i] for i, _ in self._index.search(query, limit)]

    @cached_property
    def _index(self) -> BM25Index:
        return BM25Index.build(f"{paper.title}\n{paper.abstract}" for paper in self._papers)

    def _served(self, paper: Paper) -> Paper:
        raise NotImplementedError


class ArxivMockClient(_MockClient):
    """Title, abstract, year and authors; arXiv knows no citations."""

    name = "arxiv"

    def _served(self, paper: Paper) -> Paper:
        return Paper(paper.id, paper.title, paper.abstract, paper.year, paper.authors, source=self.name)


class SemanticScholarMockClient(_MockClient):
    """What arXiv gives, and references and citations too."""

    name = "s2"

    def _served(self, paper: Paper) -> Paper:
        return replace(paper, source=self.name)


@cache
def _corpus() -> Sequence[Paper]:
    folder = files("hippo_lit") / "sources" / "mock_corpus"
    records = [
        json.loads(line)
        for topic in TOPICS
        for line in (folder / f"{topic}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    cited_by: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for cited in record["references"]:
            cited_by[cited].append(record["id"])
    return sorted(
        (
            Paper(
                id=record["id"],
                title=record["title"],
                abstract=record["abstract"],
                year=record["year"],
                authors=tuple(record["authors"]),
                references=tuple(record["references"]),
                citations=tuple(cited_by[record["id"]]),
                source="mock",
            )
            for record in records
        ),
        key=lambda paper: paper.id,
    )


def queries() -> list[dict[str, Any]]:
    """The labelled queries over the corpus, in order: id, text, tags, split, gold (paper id to grade).

    Those with a short answer have `answers`, forms of it that are right; "" where no paper says.
    """
    return _records("queries.jsonl")


def hypotheses() -> list[dict[str, Any]]:
    """Statements and what the corpus says of them, in order: id, text, verdict, split, gold, evidence.

    The verdict is "shown", "contradicted", "partly" or "absent" (no paper speaks of it: `gold` and `evidence`
    are empty). `evidence` are the sentences that decide, verbatim, as {"paper", "sentence"}; `gold` are
    their papers.
    """
    return _records("hypotheses.jsonl")


def extractions() -> list[dict[str, Any]]:
    """Papers of the corpus as passages labelled by hand, in order: id, split, entities, triples.

    Entities and triples are those of title and abstract that a careful reader would want in a graph.
    """
    return _records("extractions.jsonl")


def answered() -> list[dict[str, Any]]:
    """Questions with short answers, in order: id, text, answers, gold (the papers that hold them), split.

    Those without answers are questions that no paper of the corpus answers.
    """
    return _records("answered.jsonl")


def _records(name: str) -> list[dict[str, Any]]:
    lines = (files("hippo_lit") / "sources" / "mock_corpus" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line]
