"""The lesson's retriever: every source behind one call, two passes over their merged papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Literal

from hippo_lit.errors import ConfigError, SourceError
from hippo_lit.identity import groups_of
from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.lexical.citations import CitationGraph, check_max_hops
from hippo_lit.lexical.twopass import (
    DEFAULT_WEIGHTS,
    TwoPassScores,
    check_seed_hits,
    check_weights,
    two_pass,
    year_array,
)
from hippo_lit.merge import merge_papers
from hippo_lit.protocols import PaperSource
from hippo_lit.text import is_whole
from hippo_lit.tokenizers import Tokenizer
from hippo_lit.types import Metrics, Paper, RankedPaper, RetrievalResult, Step


class RetrievalClient:
    """Loads its sources once, merges their papers by id, and answers queries from BM25 and citations.

    A caller sees papers and scores, never which service they came from, so real services replace the mock
    ones without a change. Immutable after construction; safe to share between threads.
    """

    def __init__(
        self,
        sources: Iterable[PaperSource],
        *,
        weights: Sequence[float] = DEFAULT_WEIGHTS,
        seed_hits: int = 10,
        max_hops: int = 2,
        tokenizer: Tokenizer | None = None,
        include_title: bool = False,
        on_source_error: Literal["raise", "partial"] = "raise",
    ) -> None:
        """Fetch everything and index it.

        `weights` are (bm25, graph, recency); the `seed_hits` best lexical hits are direct and start a walk
        of at most `max_hops` citations; BM25 reads the abstracts, with `include_title` the titles too.

        Raises SourceError if a source fails. With `on_source_error="partial"` only if none gives anything:
        what arrived serves, and every result is `degraded` and says why. Raises ConfigError for bad settings.
        """
        check_weights(weights)
        check_seed_hits(seed_hits)
        check_max_hops(max_hops)
        if on_source_error not in ("raise", "partial"):
            raise ConfigError(
                f"on_source_error must be 'raise' or 'partial', got {on_source_error!r}",
                key="on_source_error",
            )
        self.weights = tuple(weights)
        self.seed_hits = seed_hits
        self.max_hops = max_hops
        views, self._failures = _load(sources, partial=on_source_error == "partial")
        self.papers = tuple(map(merge_papers, groups_of(views)))
        texts = (f"{p.title}\n{p.abstract}" if include_title else p.abstract for p in self.papers)
        self._index = BM25Index.build(texts, tokenizer)
        self._graph = CitationGraph.from_papers(self.papers)
        self._years = year_array(paper.year for paper in self.papers)

    def __len__(self) -> int:
        """Number of papers after merging."""
        return len(self.papers)

    def retrieve(self, query: str, k: int = 10) -> RetrievalResult:
        """The `k` best papers of the union of lexical and citation hits, best final score first.

        A blank query has an empty result with all metrics 0; so has one that no abstract shares a term
        with, but for its wall time. Metrics are over the papers returned. Raises ConfigError for k < 1.
        """
        if not is_whole(k) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, got {k!r}", key="k")
        degraded, reason = bool(self._failures), "; ".join(self._failures)
        if not query.strip():
            return RetrievalResult(query, "lexical", "lexical", degraded=degraded, reason=reason)
        began = perf_counter()
        scores = two_pass(
            self._index.scores(query),
            self._graph,
            self._years,
            weights=self.weights,
            seed_hits=self.seed_hits,
            max_hops=self.max_hops,
        )
        papers = tuple(self._ranked(scores, int(i), rank) for rank, i in enumerate(scores.union[:k], start=1))
        return RetrievalResult(
            query,
            "lexical",
            "lexical",
            papers,
            degraded=degraded,
            reason=reason,
            metrics=_metrics(papers, perf_counter() - began),
        )

    def _ranked(self, scores: TwoPassScores, i: int, rank: int) -> RankedPaper:
        distance = int(scores.distance[i])
        final = float(scores.final[i])
        return RankedPaper(
            paper=self.papers[i],
            rank=rank,
            score=final,
            bm25_score=float(scores.bm25[i]),
            graph_distance=distance if distance >= 0 else None,
            recency_score=float(scores.recency[i]),
            final_score=final,
            scores={"bm25": float(scores.bm25[i]), "graph": float(scores.graph_score[i])},
            path=self._path(scores, i) if distance > 0 else (),
        )

    def _path(self, scores: TwoPassScores, i: int) -> tuple[Step, ...]:
        way = [self.papers[j].id for j in self._graph.path(scores.distance, i)]
        return tuple(
            Step(source, "citation", target, "cites" if target in self._graph.forward(source) else "cited by")
            for source, target in pairwise(way)
        )


def _load(sources: Iterable[PaperSource], *, partial: bool) -> tuple[list[Paper], list[str]]:
    """What every source gave, and what failed."""
    views: list[Paper] = []
    failures: list[SourceError] = []
    answered = 0
    for source in sources:
        arrived = False
        try:
            for paper in source.papers():
                views.append(paper)
                arrived = True
        except SourceError as e:
            failure = SourceError(
                f"source {source.name!r} failed: {e.message}", **{**e.fields, "source": source.name}
            )
            if not partial:
                raise failure from e
            failures.append(failure)
            answered += arrived
        else:
            answered += 1
    if failures and not answered:
        raise SourceError(
            f"no source answered: {'; '.join(f.message for f in failures)}",
            source=", ".join(f.source for f in failures),
            status=failures[0].fields.get("status"),
            retry_after_s=failures[0].fields.get("retry_after_s"),
        ) from failures[0]
    return views, [failure.message for failure in failures]


def _metrics(papers: Sequence[RankedPaper], seconds: float) -> Metrics:
    if not papers:
        return Metrics(wall_time_s=seconds)
    total = math.fsum(ranked.final_score for ranked in papers)
    return Metrics(len(papers), total / len(papers), papers[0].final_score, seconds)
