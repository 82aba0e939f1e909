"""The hippo route: candidates → filter → seeds → PageRank → rank."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hippo_lit.config import PprSettings, Settings
from hippo_lit.graph.factgraph import EdgeKind, Walk
from hippo_lit.graph.linear import LinearPageRank
from hippo_lit.graph.local import LocalPageRank
from hippo_lit.graph.ppr import IgraphPageRank
from hippo_lit.protocols import FactFilter, PageRank
from hippo_lit.retrieve.candidates import Candidate, FactRecall
from hippo_lit.retrieve.seeds import entity_seeds, passage_seeds, reset_vector
from hippo_lit.retrieve.signals import Signals, minmax
from hippo_lit.retrieve.spread import Spread
from hippo_lit.snapshot import Snapshot
from hippo_lit.types import Seed

Floats = NDArray[np.float64]
Clock = Callable[[str], AbstractContextManager[None]]
"""`with clock("stage"):` measures that stage."""


class HippoRoute:
    """The route over one snapshot. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot, fact_filter: FactFilter, settings: Settings) -> None:
        self._graph = snapshot.graph
        self._recall = FactRecall(snapshot)
        self._filter = fact_filter
        self._settings = settings
        self.walk = self._graph.walk(edge_weights(settings))
        self._pagerank = page_rank(self.walk, settings.ppr)

    def run(self, signals: Signals, clock: Clock) -> Spread:
        """Raises ModelError where embedding or filtering fails."""
        if not self._graph.n_entities:
            return Spread(None, reason="the index holds no facts")
        limits, seeding = self._settings.filter, self._settings.seeds
        with clock("facts"):
            links = self._recall.links(signals.query)
            candidates = self._recall.candidates(
                signals.query_to_fact,
                links,
                top_k=limits.linking_top_k,
                per_entity=limits.per_entity,
            )
        scored = tuple(candidate.scored for candidate in candidates)
        with clock("filter"):
            outcome = self._filter.keep(signals.query, scored)
        kept = [candidates[i] for i in outcome.kept]
        weights = outcome.weights or (1.0,) * len(kept)
        found = Spread(None, None, "", scored, tuple(c.scored for c in kept), outcome.unmatched)
        if not kept:
            return replace(found, reason="no fact survived the filter")
        with clock("seeds"):
            named = links if seeding.link_question else []
            entities = entity_seeds(
                list(zip(kept, weights, strict=True)),
                named,
                self._graph.spread,
                evidence=seeding.evidence == "sentence",
                max_entities=seeding.max_entities,
                specific_mass=seeding.specific_mass,
                rarity=seeding.rarity,
            )
            scores = signals.hybrid if seeding.passage_score == "hybrid" else minmax(signals.dense)
            passages = passage_seeds(scores, seeding)
        with clock("pagerank"):
            reset = reset_vector(entities, passages, self._graph.n_entities)
            if not reset.any():
                return replace(found, reason="nothing seeds: no kept fact and no passage has any weight")
            ppr = self._pagerank.scores(reset)[: self._graph.n_passages]
        return replace(
            found,
            scores=self._nearest_first(self._blend(ppr, signals), signals),
            ppr=ppr,
            seeds=tuple(
                self._explain(entity, weight, kept, set(named)) for entity, weight in entities.items()
            ),
            entity_seeds=entities,
        )

    def _blend(self, ppr: Floats, signals: Signals) -> Floats:
        """PageRank over its maximum, times exp(hybrid_weight * (hybrid - 1)): both must speak for a passage.

        The product puts the near of two passages that the graph reaches equally well first; a sum would let
        whichever has the wider range decide.
        """
        top = float(ppr.max(initial=0.0))
        if top <= 0:
            return np.zeros(len(ppr))
        weight = self._settings.rank.hybrid_weight
        scores, reached = np.zeros(len(ppr)), np.flatnonzero(ppr)
        scores[reached] = ppr[reached] / top
        if weight:
            scores[reached] *= np.exp(weight * (signals.hybrid[reached] - 1.0))
        return scores

    def _nearest_first(self, scores: Floats, signals: Signals) -> Floats:
        """`scores`, in [0, 1], halved below the passage nearest to the question, where it holds enough of it.

        What a passage says itself is better evidence than what leads to it. Whoever asks for a chain of
        papers names things that no single one of them holds: there the graph alone decides.
        """
        nearest = int(np.argmax(signals.hybrid))
        if signals.held(np.array([nearest]))[0] < self._settings.rank.nearest_first or not scores[nearest]:
            return scores
        placed = scores / 2
        placed[nearest] += 0.5
        return placed

    def _explain(self, entity: int, weight: float, kept: list[Candidate], named: set[int]) -> Seed:
        name = self._graph.names[entity]
        if entity in named:
            return Seed(name, weight, "the question names it")
        for candidate in kept:
            if entity in candidate.own:
                return Seed(name, weight, f"fact: {candidate.scored.fact.text}")
        stated = next(c for c in kept if entity in c.evidence)
        return Seed(name, weight, f"same sentence as: {stated.scored.fact.text}")


def page_rank(walk: Walk, settings: PprSettings) -> PageRank:
    """The engine that the settings name, over this graph."""
    match settings.engine:
        case "igraph":
            return IgraphPageRank(walk.adjacency, settings.damping)
        case "linear":
            return LinearPageRank(walk.adjacency, settings.damping, degree=walk.degree)
        case "auto":
            return LocalPageRank(walk.adjacency, settings.damping, degree=walk.degree)


def edge_weights(settings: Settings) -> dict[EdgeKind, float]:
    graph = settings.graph
    return {
        "mention": graph.mention,
        "fact": graph.fact,
        "cooccurrence": graph.cooccurrence,
        "synonym": graph.synonym,
        "citation": graph.citation,
        "continuation": graph.continuation,
    }
