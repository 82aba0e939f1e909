"""Why a paper was found: the most probable way from a seed to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hippo_lit.graph.factgraph import EDGE_KINDS, FactGraph, Walk
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.ragged import places
from hippo_lit.types import Step

MAX_STEPS = 4
_HUB = 1000
"""Nodes of more edges are not searched on from: a walk that comes there goes anywhere. A way leads through
one only where the searches from the seeds and from the paper meet there."""

Nodes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Reached:
    """Nodes, ascending, that some number of edges leads to or from, with the best probability of each, and
    the node next to it on that way.
    """

    nodes: Nodes
    probability: NDArray[np.float64]
    beside: Nodes
    behind: _Reached | None = None

    @classmethod
    def at(cls, chances: Mapping[int, float]) -> _Reached:
        nodes = np.array(sorted(chances), dtype=np.int64)
        return cls(nodes, np.array([chances[node] for node in nodes.tolist()]), nodes)

    def way(self, node: int) -> list[int]:
        """From this node to where the search began."""
        beside = int(self.beside[np.searchsorted(self.nodes, node)])
        return [node] if self.behind is None else [node, *self.behind.way(beside)]


class Paths:
    """Ways from the seeds of one query, nodes with what each weighs, through the graph.

    A way is as probable as a walk that takes it: the weight of its seed times the product, over its edges, of
    their shares of the weight at the nodes they leave. The most probable of at most three edges is shown; of
    four where there is none. What is searched are the edges around the seeds and around
    the paper, however large the graph.
    """

    def __init__(self, snapshot: Snapshot, walk: Walk, seeds: Mapping[int, float]) -> None:
        self._snapshot = snapshot
        self._graph: FactGraph = snapshot.graph
        self._adjacency, self._degree = walk.adjacency, walk.degree
        self._seeds = _Reached.at(seeds)

    def to_paper(self, paper: int) -> tuple[Step, ...]:
        """The way to a paper's nearest passage; empty where it takes more than MAX_STEPS edges."""
        seeds = self._seeds.nodes.tolist()
        passages = [node for node in self._snapshot.passages_in(paper) if node not in seeds]
        if not passages or not seeds:
            return ()
        target = _Reached.at(dict.fromkeys(passages, 1.0))
        near = self._spread(target, back=True)
        short = [self._met(self._around, each) for each in (target, near, self._far(near, self._around))]
        best = max(filter(None, short), key=lambda way: way[0], default=None)
        if best is None:
            best = self._met(self._further, self._far(near, self._further))
        return tuple(self._step(a, b) for a, b in pairwise(best[1])) if best else ()

    @cached_property
    def _around(self) -> _Reached:
        return self._spread(self._seeds)

    @cached_property
    def _further(self) -> _Reached:
        return self._spread(self._around)

    def _far(self, near: _Reached, forth: _Reached) -> _Reached:
        return self._spread(near, back=True, among=forth.nodes)

    def _spread(self, reached: _Reached, *, back: bool = False, among: Nodes | None = None) -> _Reached:
        """What one more edge leads to, of the nodes `among` these; with `back`, where it can come from."""
        starts = self._adjacency.indptr
        counts = starts[reached.nodes + 1] - starts[reached.nodes]
        open_ = counts <= (len(self._adjacency.indices) if reached.behind is None else _HUB)
        nodes, counts = reached.nodes[open_], counts[open_]
        at = places(starts, nodes)
        others = self._adjacency.indices[at].astype(np.int64)
        beside, probability = np.repeat(nodes, counts), np.repeat(reached.probability[open_], counts)
        if among is not None:
            near = np.minimum(np.searchsorted(among, others), max(len(among) - 1, 0))
            counted = among[near] == others if len(among) else np.zeros(len(others), dtype=np.bool_)
            at, others, beside, probability = (
                at[counted],
                others[counted],
                beside[counted],
                probability[counted],
            )
        probability *= self._adjacency.data[at] / self._degree[others if back else beside]
        order = np.lexsort((-probability, others))
        first = order[np.diff(others[order], prepend=-1) > 0]
        return _Reached(others[first], probability[first], beside[first], reached)

    @staticmethod
    def _met(forth: _Reached, back: _Reached) -> tuple[float, list[int]] | None:
        """The most probable way through a node that both reach, and its probability."""
        common, here, there = np.intersect1d(forth.nodes, back.nodes, assume_unique=True, return_indices=True)
        if not len(common):
            return None
        both = forth.probability[here] * back.probability[there]
        best = int(np.argmax(both))
        node = int(common[best])
        return float(both[best]), [*forth.way(node)[::-1], *back.way(node)[1:]]

    def _step(self, a: int, b: int) -> Step:
        kind = self._kind(min(a, b), max(a, b))
        n = self._graph.n_passages
        number = self._graph.fact_between(a - n, b - n) if kind == "fact" else None
        detail = self._graph.fact(number).text if number is not None else ""
        return Step(self._name(a), kind, self._name(b), detail)

    def _kind(self, low: int, high: int) -> str:
        for kind in ("fact", *EDGE_KINDS):
            edges = self._graph.edges.get(kind)
            if edges is not None and edges.joins(low, high):
                return str(kind)
        return "mention"

    def _name(self, node: int) -> str:
        if node < self._graph.n_passages:
            return self._snapshot.paper_ids[int(self._snapshot.passage_paper[node])]
        return self._graph.names[node - self._graph.n_passages]
