"""One query in, one explained ranking out: modes, fallbacks, filters and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hippo_lit.config import Settings
from hippo_lit.errors import ConfigError, EmbeddingError, MissingExtraError, ModelError
from hippo_lit.models.usage import UsageMeter
from hippo_lit.protocols import Embedder, FactFilter
from hippo_lit.retrieve.allowed import Allowed, allowed
from hippo_lit.retrieve.signals import Corpus, Signals
from hippo_lit.retrieve.spread import Spread
from hippo_lit.snapshot import Snapshot
from hippo_lit.stages import stage as stage_of_call
from hippo_lit.text import is_whole
from hippo_lit.topk import best
from hippo_lit.types import MODES, Filters, Metrics, Mode, RankedPaper, RetrievalResult, Step, Trace

if TYPE_CHECKING:
    from hippo_lit.retrieve.hippo import HippoRoute

Floats = NDArray[np.float64]
_NO_SPREAD = Spread(None)
_NEAREST = 3  # passages that explain a ranking which no entity seeded
NEXT: dict[Mode, Mode] = {"hippo": "hybrid", "hybrid": "bm25", "dense": "bm25"}
"""Which route answers when one fails."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one route makes of a query: scores of papers, NaN for those it has nothing to say of.

    `scores` is None where the route cannot answer this query; `spread` then says why.
    """

    route: Mode
    scores: Floats | None
    spread: Spread = _NO_SPREAD


class Retriever:
    """Answers queries from one snapshot, always the same one. Safe to share between threads."""

    def __init__(
        self, snapshot: Snapshot, embedder: Embedder, fact_filter: FactFilter, settings: Settings
    ) -> None:
        self.snapshot = snapshot
        self._embedder = embedder
        self._filter = fact_filter
        self._settings = settings

    @cached_property
    def _corpus(self) -> Corpus:
        return Corpus(self.snapshot, self._settings)

    @cached_property
    def _allowed(self) -> Callable[[Filters], Allowed]:
        """What filters leave; kept for the last few, since many queries come with the same."""
        snapshot = self.snapshot  # not self: a cycle would keep a state that nobody uses any more
        return lru_cache(maxsize=8)(lambda filters: allowed(filters, snapshot))

    @cached_property
    def _hippo(self) -> HippoRoute:
        from hippo_lit.retrieve.hippo import HippoRoute  # brings scipy, which other routes do without

        return HippoRoute(self.snapshot, self._filter, self._settings)

    def retrieve(
        self,
        query: str,
        k: int = 10,
        mode: Mode = "hippo",
        *,
        filters: Filters | None = None,
        explain: bool = True,
    ) -> RetrievalResult:
        """The `k` best papers for `query`; fewer where fewer have anything to do with it.

        A blank query and an empty corpus have an empty result. `explain` adds to each paper the way from a
        seed to it. `filters` restrict what is ranked; where they leave nothing, or ask for somebody whom the
        index does not know, `reason` says so. Raises ConfigError for a bad k or mode, and ModelError or
        MissingExtraError where a model fails and `retrieve.on_model_error` is "raise".
        """
        if not isinstance(query, str):
            raise ConfigError(f"a query is a text, not {type(query).__name__}", key="query")
        if not is_whole(k) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, got {k!r}", key="k")
        k = int(k)
        if mode not in MODES:
            raise ConfigError(f"there is no mode {mode!r}; choose one of {', '.join(MODES)}", key="mode")
        began = perf_counter()
        trace = Trace(snapshot=self.snapshot.name)
        if not query.strip() or not len(self.snapshot):
            reason = "the query is empty" if len(self.snapshot) else "the index holds no papers"
            return RetrievalResult(query, mode, mode, reason=reason, trace=trace)
        seconds: dict[str, float] = {}
        meter = UsageMeter()
        signals = Signals(query, self._corpus, self._embedder)
        with meter.active():
            answer, reason, failed = self._answer(mode, signals, seconds)
        with _timed(seconds, "rank"):
            left = self._allowed(filters or Filters())
            papers = self._ranked(answer, signals, left.mask, k)
        reason = _join(reason, left.reason(len(papers)))
        if explain:
            with _timed(seconds, "explain"):
                papers = self._explained(papers, answer, signals)
        spread = answer.spread
        if mode == "hippo" and (failures := self.snapshot.about["failures"]):
            reason = _join(
                reason,
                f"{failures:,} passage{' has' if failures == 1 else 's have'} no facts:"
                " their extraction failed or is to come",
            )
            failed = True
        return RetrievalResult(
            query,
            mode,
            answer.route,
            papers,
            degraded=failed,
            reason=reason,
            metrics=_metrics(papers, perf_counter() - began),
            trace=replace(
                trace,
                candidates=spread.candidates,
                kept=spread.kept,
                unmatched=spread.unmatched,
                seeds=spread.seeds,
                usage=meter.stages(),
                seconds=seconds,
            ),
        )

    def prepare(self, queries: Sequence[str]) -> None:
        """Embed many queries at once, so that a caching embedder has them ready. Failures show up later."""
        with suppress(ModelError, MissingExtraError):
            for kind in ("query_to_fact", "query_to_passage"):
                self._embedder.embed([query for query in queries if query.strip()], kind)

    # -- routes

    def _answer(self, mode: Mode, signals: Signals, seconds: dict[str, float]) -> tuple[_Answer, str, bool]:
        """The answer of the first route that has one, why it was not `mode`'s, and whether a model failed."""
        reason, failed, spread = "", False, _NO_SPREAD
        route = mode
        while True:
            try:
                answer = self._try(route, signals, seconds)
            except (ModelError, MissingExtraError) as error:
                if self._settings.retrieve.on_model_error == "raise" or route not in NEXT:
                    raise
                reason, failed = _join(reason, str(error)), True
                if isinstance(error, EmbeddingError) and not signals.embedded:
                    route = "bm25"  # the routes between would ask the embedder the same again
                    continue
            else:
                if answer.scores is not None:
                    return (
                        answer if answer.spread.scores is not None else replace(answer, spread=spread),
                        reason,
                        failed,
                    )
                spread = answer.spread
                reason = _join(reason, spread.reason)
            route = NEXT[route]

    def _try(self, route: Mode, signals: Signals, seconds: dict[str, float]) -> _Answer:
        by_paper = self._corpus.by_paper
        if route in ("hippo", "hybrid", "dense"):
            with _timed(seconds, "embed"):
                signals.embed(facts=route == "hippo")
        if route == "hippo":
            spread = self._hippo.run(signals, lambda stage: _timed(seconds, stage))
            scores = None if spread.scores is None else _above_zero(by_paper(spread.scores))
            return _Answer(route, scores, spread)
        with _timed(seconds, route):
            match route:
                case "lexical":
                    return _Answer(route, _only(signals.lesson.final, signals.lesson.union))
                case "bm25":
                    return _Answer(route, _above_zero(by_paper(signals.bm25)))
                case "dense":
                    return _Answer(route, by_paper(signals.dense))
                case "hybrid":
                    return _Answer(route, by_paper(signals.hybrid))  # the last has 0, and is ranked too

    # -- ranking

    def _ranked(
        self, answer: _Answer, signals: Signals, allowed: NDArray[np.bool_], k: int
    ) -> tuple[RankedPaper, ...]:
        scores = answer.scores if answer.scores is not None else np.full(len(allowed), np.nan)
        eligible = np.flatnonzero(allowed & ~np.isnan(scores))
        order = eligible[best(scores[eligible], k)]
        lesson = signals.lesson
        passages = [self.snapshot.passages_in(int(i)) for i in order]
        known = self._known(answer, signals, passages)
        return tuple(
            RankedPaper(
                paper=self.snapshot.paper(int(i)),
                rank=rank,
                score=float(scores[i]),
                bm25_score=float(lesson.bm25[i]),
                graph_distance=int(lesson.distance[i]) if lesson.distance[i] >= 0 else None,
                recency_score=float(lesson.recency[i]),
                final_score=float(lesson.final[i]),
                scores={name: values[rank - 1] for name, values in known.items()},
            )
            for rank, i in enumerate(order, start=1)
        )

    @staticmethod
    def _known(answer: _Answer, signals: Signals, passages: Sequence[range]) -> dict[str, list[float]]:
        """Of each paper, given by its passages, the best score by everything that this query computed."""
        every = np.array([number for each in passages for number in each], dtype=np.int64)
        starts = np.cumsum([0, *map(len, passages)])[:-1]
        scores = {"bm25": signals.bm25[every]}
        for name in ("dense", "hybrid"):
            if name in vars(signals):
                scores[name] = getattr(signals, name)[every]
        if answer.spread.ppr is not None:
            scores["held"] = signals.held(every)
            scores["ppr"] = answer.spread.ppr[every]
        return {
            name: np.maximum.reduceat(values, starts).tolist() if len(starts) else []
            for name, values in scores.items()
        }

    def _explained(
        self, papers: tuple[RankedPaper, ...], answer: _Answer, signals: Signals
    ) -> tuple[RankedPaper, ...]:
        numbers = [self.snapshot.find(ranked.paper.id) for ranked in papers]
        ways: list[tuple[Step, ...]]
        if answer.route == "lexical":
            ways = [self._citation_way(signals, number) for number in numbers if number is not None]
        elif answer.spread.ppr is not None:
            from hippo_lit.retrieve.explain import Paths

            paths = Paths(self.snapshot, self._hippo.walk, self._sources(answer, signals))
            ways = [paths.to_paper(number) for number in numbers if number is not None]
        else:
            return papers
        return tuple(replace(ranked, path=way) for ranked, way in zip(papers, ways, strict=True))

    def _sources(self, answer: _Answer, signals: Signals) -> dict[int, float]:
        """The nodes rank spread from, and their weights: the seed entities or, where none seeds, the nearest
        passages.
        """
        first_entity = self.snapshot.graph.n_passages
        if seeds := answer.spread.entity_seeds:
            return {first_entity + entity: weight for entity, weight in seeds.items()}
        return {int(passage): float(signals.hybrid[passage]) for passage in best(signals.hybrid, _NEAREST)}

    def _citation_way(self, signals: Signals, number: int) -> tuple[Step, ...]:
        distance = signals.lesson.distance
        if distance[number] <= 0:
            return ()
        graph, ids = self.snapshot.citations, self.snapshot.paper_ids
        way = graph.path(distance, number)
        return tuple(
            Step(ids[a], "citation", ids[b], "cites" if ids[b] in graph.forward(ids[a]) else "cited by")
            for a, b in pairwise(way)
        )


def _above_zero(scores: Floats) -> Floats:
    return np.where(scores > 0, scores, np.nan)


def _only(scores: Floats, numbers: NDArray[np.intp]) -> Floats:
    kept = np.full(len(scores), np.nan)
    kept[numbers] = scores[numbers]
    return kept


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    began = perf_counter()
    try:
        with stage_of_call(stage):
            yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - began


def _join(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _metrics(papers: tuple[RankedPaper, ...], seconds: float) -> Metrics:
    if not papers:
        return Metrics(wall_time_s=seconds)
    total = math.fsum(ranked.score for ranked in papers)
    return Metrics(len(papers), total / len(papers), papers[0].score, seconds)
