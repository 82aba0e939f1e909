"""The neighbours of a paper: by citations both ways, and by what its facts are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hippo_lit.snapshot import Snapshot
from hippo_lit.tool.fit import safe_name, safe_title

_SHARED = 3


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A paper beside another. `number` is None outside the corpus; `shared` are entities, rarest first."""

    id: str
    relation: str
    number: int | None = None
    shared: tuple[int, ...] = ()


def neighbours(snapshot: Snapshot, number: int, relations: Iterable[str]) -> list[Neighbour]:
    """The papers around paper `number`, relation by relation, each once: under the first it stands in.

    Citations within the corpus come in its order, those that lead out of it last, as the paper gives them.
    Fact neighbours are papers with sentences that name what the paper's facts are about; they come by the
    sum of 1 / spread over the entities named, best first.
    """
    found: dict[str, Neighbour] = {}
    for relation in dict.fromkeys(relations):
        around = _by_facts(snapshot, number) if relation == "facts" else _cited(snapshot, number, relation)
        for neighbour in around:
            found.setdefault(neighbour.id, neighbour)
    found.pop(snapshot.paper_ids[number], None)
    return list(found.values())


def neighbour_entry(snapshot: Snapshot, neighbour: Neighbour) -> dict[str, Any]:
    """As `results.RelatedPaper` has it."""
    if neighbour.number is None:  # its id is no paper's own, only what some text says
        return {"id": safe_name(neighbour.id), "relation": neighbour.relation, "outside": True}
    entry: dict[str, Any] = {"id": neighbour.id, "relation": neighbour.relation}
    if title := safe_title(snapshot.paper(neighbour.number).title):
        entry["title"] = title
    if neighbour.shared:
        entry["shared"] = [safe_name(snapshot.graph.names[entity]) for entity in neighbour.shared]
    return entry


def _cited(snapshot: Snapshot, number: int, relation: str) -> Iterator[Neighbour]:
    paper = snapshot.paper(number)
    if relation == "cites":
        known, stated = snapshot.citations.forward(paper.id), paper.references
    else:
        known, stated = snapshot.citations.backward(paper.id), paper.citations
    yield from (Neighbour(other, relation, snapshot.find(other)) for other in known)
    yield from (Neighbour(other, relation) for other in stated if snapshot.find(other) is None)


def _by_facts(snapshot: Snapshot, number: int) -> Iterator[Neighbour]:
    graph = snapshot.graph
    wanted = np.zeros(max(1, graph.n_entities), dtype=np.bool_)
    wanted[snapshot.fact_entities(number)] = True
    hits = np.flatnonzero(wanted[graph.statement_entity])
    sentences = np.searchsorted(graph.statement_start, hits, side="right") - 1
    passages = np.searchsorted(graph.sentence_start, sentences, side="right") - 1
    pairs = snapshot.passage_paper[passages].astype(np.int64) * len(wanted) + graph.statement_entity[hits]
    papers, entities = np.divmod(np.unique(pairs), len(wanted))  # a pair counts once; sorted by paper
    spread = np.maximum(1, graph.spread[entities])
    scores = np.bincount(papers, 1.0 / spread, minlength=len(snapshot))
    scores[number] = 0.0
    order = np.argsort(-scores, kind="stable")
    for other in order[: np.count_nonzero(scores)]:
        first, last = np.searchsorted(papers, [other, other + 1])
        rarest = first + np.argsort(spread[first:last], kind="stable")[:_SHARED]
        yield Neighbour(snapshot.paper_ids[other], "facts", int(other), tuple(entities[rarest].tolist()))
