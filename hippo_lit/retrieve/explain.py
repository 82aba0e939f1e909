"""Why a paper was found: the shortest strong way from a seed to it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from hippo_lit.graph.factgraph import EDGE_KINDS, FactGraph
from hippo_lit.snapshot import Snapshot
from hippo_lit.types import Step

MAX_STEPS = 4


class Paths:
    """Ways from the seeds of one query, given as nodes, through the graph.

    An edge is as long as the walk from the seed's side finds it unlikely: -log of its share of the weight
    at the node it leaves, so the way shown is one that PageRank took with the highest probability.
    """

    def __init__(self, snapshot: Snapshot, adjacency: sparse.csr_matrix, seeds: Iterable[int]) -> None:
        self._snapshot = snapshot
        self._graph: FactGraph = snapshot.graph
        self._adjacency = adjacency
        sources = list(seeds)
        self._before = self._search(sources) if sources else None

    def _search(self, sources: list[int]) -> np.ndarray:
        total = np.asarray(self._adjacency.sum(axis=1)).ravel()
        length = self._adjacency.copy()
        length.data = 1e-9 - np.log(length.data / np.repeat(total, np.diff(length.indptr)))
        _, before, _ = csgraph.dijkstra(length, indices=sources, min_only=True, return_predecessors=True)
        return np.asarray(before)

    def to_paper(self, paper: int) -> tuple[Step, ...]:
        """The way to a paper's nearest passage; empty where it takes more than MAX_STEPS edges."""
        if self._before is None:
            return ()
        start, end = self._snapshot.first_passage[paper : paper + 2]
        ways = [self._way(int(node)) for node in range(start, end)]
        ways = [way for way in ways if 1 < len(way) <= MAX_STEPS + 1]
        if not ways:
            return ()
        way = min(ways, key=len)
        return tuple(self._step(a, b) for a, b in pairwise(way))

    def _way(self, node: int) -> list[int]:
        way = [node]
        while len(way) <= MAX_STEPS + 1 and (before := int(self._before[way[-1]])) >= 0:  # type: ignore[index]
            way.append(before)
        return way[::-1]

    def _step(self, a: int, b: int) -> Step:
        kind = self._kind(min(a, b), max(a, b))
        detail = self._fact_between(a, b) if kind == "fact" else ""
        return Step(self._name(a), kind, self._name(b), detail)

    def _kind(self, low: int, high: int) -> str:
        for kind in ("fact", *EDGE_KINDS):
            edges = self._graph.edges.get(kind)
            if edges is not None and bool(((edges.source == low) & (edges.target == high)).any()):
                return str(kind)
        return "mention"

    def _fact_between(self, a: int, b: int) -> str:
        n = self._graph.n_passages
        subject, object_ = self._graph.fact_subject, self._graph.fact_object
        there = (subject == a - n) & (object_ == b - n) | (subject == b - n) & (object_ == a - n)
        found = np.flatnonzero(there)
        return self._graph.fact(int(found[0])).text if found.size else ""

    def _name(self, node: int) -> str:
        if node < self._graph.n_passages:
            return self._snapshot.paper_ids[int(self._snapshot.passage_paper[node])]
        return self._graph.names[node - self._graph.n_passages]
