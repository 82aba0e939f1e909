"""The fact graph as arrays: entities, who mentions them, which facts join them, and every weighted edge."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.errors import IndexCorruptError
from hippo_lit.storage.columns import Columns, ColumnWriter
from hippo_lit.storage.disk import ADVICE_REBUILD
from hippo_lit.storage.packed import Selected
from hippo_lit.storage.string_column import StringColumn
from hippo_lit.types import Fact

Ints = NDArray[np.int32]
EdgeKind = Literal["mention", "fact", "cooccurrence", "synonym", "citation", "continuation"]
EDGE_KINDS: tuple[EdgeKind, ...] = (
    "mention",
    "fact",
    "cooccurrence",
    "synonym",
    "citation",
    "continuation",
)


@dataclass(frozen=True, slots=True)
class Edges:
    """Undirected edges of one kind between nodes; each pair once, source < target, ascending."""

    source: Ints
    target: Ints
    weight: NDArray[np.float64]

    def joins(self, low: int, high: int) -> bool:
        """Whether there is an edge between these nodes, low < high."""
        first, last = _between(self.source, low, low + 1)
        start, end = _between(self.target[first:last], high, high + 1)
        return end > start


@dataclass(frozen=True, slots=True)
class Walk:
    """What PageRank walks on: `FactGraph.adjacency` for these weights, and its row sums."""

    weights: Mapping[EdgeKind, float]
    adjacency: sparse.csr_matrix
    degree: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FactGraph:
    """Entities, facts and edges over the passages of one snapshot. Immutable.

    Nodes are numbered passages first (0 … n_passages - 1), then entities. `spread[e]` is the number of
    passages whose text holds entity e's name: what divides a seed's weight. Entities of sentence s are
    `stating(s)`, its title's included; `sentence_start` gives each passage's first sentence (and one
    past the last). Fact f joins entities `fact_subject[f]` and `fact_object[f]`, and is stated in the
    sentences `fact_sentence[fact_start[f]:fact_start[f + 1]]` (-1 - p: in passage p, sentence not known).
    `pair_order` sorts facts by the lower, then the higher of the entities they join.
    `stated_order` sorts `fact_sentence`, `stated_sentence` is the outcome. Entity e stands in the sentences
    `naming_sentence[naming_start[e]:naming_start[e + 1]]`. `stored` is the walk that was written with it.
    """

    n_passages: int
    names: Selected
    spread: Ints
    link_keys: Sequence[str]
    link_start: NDArray[np.int64]
    link_entity: Ints
    sentence_start: NDArray[np.int64]
    statement_start: NDArray[np.int64]
    statement_entity: Ints
    fact_subject: Ints
    fact_object: Ints
    fact_text: Selected
    fact_start: NDArray[np.int64]
    fact_sentence: Ints
    pair_order: Ints
    stated_order: Ints
    stated_sentence: Ints
    naming_start: NDArray[np.int64]
    naming_sentence: Ints
    edges: dict[EdgeKind, Edges]
    stored: Walk | None = None

    @property
    def n_entities(self) -> int:
        return len(self.spread)

    @property
    def n_sentences(self) -> int:
        return len(self.statement_start) - 1

    @property
    def n_facts(self) -> int:
        return len(self.fact_subject)

    def named(self, spelling: str) -> list[int] | None:
        """The entities that a question can call by this spelling (`keys.link_key`), or None.

        Raises TypeError for a graph that was built and not read back from its columns.
        """
        if not isinstance(self.link_keys, StringColumn):
            raise TypeError("only a graph read from a snapshot can look names up")
        row = self.link_keys.index_of(spelling)
        if row is None:
            return None
        return self.link_entity[self.link_start[row] : self.link_start[row + 1]].tolist() or None

    def fact(self, number: int) -> Fact:
        subject, relation, object_ = self.fact_text[number].split("\t")
        return Fact(subject, relation, object_)

    def passage_of(self, sentence: int) -> int:
        """The passage that holds a sentence, or that a negative "not known" sentence names."""
        if sentence < 0:
            return -1 - sentence
        return int(np.searchsorted(self.sentence_start, sentence, side="right")) - 1

    def fact_between(self, a: int, b: int) -> int | None:
        """The first fact that joins two entities, in either direction."""

        def ends(fact: int) -> tuple[int, int]:
            pair = int(self.fact_subject[fact]), int(self.fact_object[fact])
            return min(pair), max(pair)

        wanted = min(a, b), max(a, b)
        at = bisect_left(self.pair_order, wanted, key=ends)
        fact = int(self.pair_order[at]) if at < len(self.pair_order) else -1
        return fact if fact >= 0 and ends(fact) == wanted else None

    def facts_stated(self, first: int, last: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The statements of the sentences from `first` to before `last` (negative ones too), in their order:
        their places in `fact_sentence`, and the fact of each.
        """
        start, end = _between(self.stated_sentence, first, last)
        places = self.stated_order[start:end].astype(np.intp)
        return places, np.searchsorted(self.fact_start, places, side="right") - 1

    def stating(self, sentence: int) -> Ints:
        """The entities of a sentence, its title's included, ascending."""
        return self.statement_entity[self.statement_start[sentence] : self.statement_start[sentence + 1]]

    def naming(self, entity: int) -> Ints:
        """The sentences that name an entity, ascending."""
        return self.naming_sentence[self.naming_start[entity] : self.naming_start[entity + 1]]

    def walk(self, weights: Mapping[EdgeKind, float]) -> Walk:
        """What PageRank walks on with these weights: as it was stored, or made now."""
        if self.stored is not None and dict(self.stored.weights) == dict(weights):
            return self.stored
        adjacency = self.adjacency(weights)
        return Walk(dict(weights), adjacency, np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel())

    def adjacency(self, weights: Mapping[EdgeKind, float]) -> sparse.csr_matrix:
        """The symmetric weight matrix over all nodes: per kind, edge weight times `weights[kind]`, summed."""
        size = self.n_passages + self.n_entities
        used = [(self.edges[kind], weights.get(kind, 0.0)) for kind in EDGE_KINDS if kind in self.edges]
        used = [(edges, weight) for edges, weight in used if weight > 0 and len(edges.source)]
        if not used:
            return sparse.csr_matrix((size, size))
        source = np.concatenate([edges.source for edges, _ in used])
        target = np.concatenate([edges.target for edges, _ in used])
        data = np.concatenate([edges.weight * weight for edges, weight in used])
        half = sparse.coo_matrix((data, (source, target)), shape=(size, size)).tocsr()
        whole: sparse.csr_matrix = (half + half.T).tocsr()
        return whole

    def write(self, columns: ColumnWriter, weights: Mapping[EdgeKind, float]) -> None:
        """Write the graph, and what PageRank walks on with these weights."""
        walk = self.walk(weights)
        about = {"n_passages": self.n_passages, "n_sentences": self.n_sentences}
        columns.document("graph", {**about, "weights": dict(walk.weights)})
        columns.array("walk_start", walk.adjacency.indptr)
        columns.array("walk_node", walk.adjacency.indices)
        columns.array("walk_weight", walk.adjacency.data)
        columns.array("walk_degree", walk.degree)
        # Surfaces and statements are stored once, for the graph and for the parts it was derived from.
        columns.strings("surfaces", self.names.strings)
        columns.array("entity_surface", self.names.rows)
        columns.strings("spellings", self.link_keys)
        columns.strings("statement_text", self.fact_text.strings, lookup=False)
        columns.array("fact_statement", self.fact_text.rows)
        for name in (
            "spread",
            "link_start",
            "link_entity",
            "sentence_start",
            "fact_subject",
            "fact_object",
            "fact_start",
            "fact_sentence",
            "statement_start",
            "statement_entity",
            "pair_order",
            "stated_order",
            "stated_sentence",
            "naming_start",
            "naming_sentence",
        ):
            columns.array(name, getattr(self, name))
        for kind, edges in self.edges.items():
            columns.array(f"edge_{kind}_source", edges.source)
            columns.array(f"edge_{kind}_target", edges.target)
            columns.array(f"edge_{kind}_weight", edges.weight)

    @classmethod
    def read(cls, columns: Columns) -> FactGraph:
        about = columns.document("graph")
        return cls(
            n_passages=about["n_passages"],
            names=Selected(columns.strings("surfaces"), columns.array("entity_surface")),
            spread=columns.array("spread"),
            link_keys=columns.strings("spellings"),
            link_start=columns.array("link_start"),
            link_entity=columns.array("link_entity"),
            sentence_start=columns.array("sentence_start"),
            statement_start=columns.array("statement_start"),
            statement_entity=columns.array("statement_entity"),
            fact_subject=columns.array("fact_subject"),
            fact_object=columns.array("fact_object"),
            fact_text=Selected(columns.strings("statement_text"), columns.array("fact_statement")),
            fact_start=columns.array("fact_start"),
            fact_sentence=columns.array("fact_sentence"),
            pair_order=columns.array("pair_order"),
            stated_order=columns.array("stated_order"),
            stated_sentence=columns.array("stated_sentence"),
            naming_start=columns.array("naming_start"),
            naming_sentence=columns.array("naming_sentence"),
            edges={
                kind: Edges(
                    columns.array(f"edge_{kind}_source"),
                    columns.array(f"edge_{kind}_target"),
                    columns.array(f"edge_{kind}_weight"),
                )
                for kind in EDGE_KINDS
                if f"edge_{kind}_source" in columns
            },
            stored=_stored(columns, about),
        )


def _between(ascending: Ints, first: int, last: int) -> tuple[int, int]:
    """Where the values from `first` to before `last` start and end."""
    # Of another type than the column the bounds would make numpy convert all of it.
    start, end = np.searchsorted(ascending, np.array([first, last], dtype=ascending.dtype))
    return int(start), int(end)


def _stored(columns: Columns, about: Mapping[str, Any]) -> Walk:
    start, node, weight, degree = (
        columns.array(f"walk_{name}") for name in ("start", "node", "weight", "degree")
    )
    try:
        adjacency = sparse.csr_matrix((weight, node, start), shape=(len(degree), len(degree)))
    except ValueError as e:
        raise IndexCorruptError(
            f"the edges of the snapshot are damaged ({e}). {ADVICE_REBUILD}", path=None
        ) from e
    return Walk(about["weights"], adjacency, degree)
