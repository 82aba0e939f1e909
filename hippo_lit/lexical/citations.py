"""The citation graph of a corpus: who cites whom, and how many citations away a paper is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.identifiers import parse
from hippo_lit.identity import Aliases
from hippo_lit.storage.ragged import owners
from hippo_lit.storage.string_column import encode, hash64
from hippo_lit.types import Paper

Indices = NDArray[np.int32]
Hashes = NDArray[np.uint64]
Rows = tuple[NDArray[np.int64], Indices]
_MAX_HOPS = np.iinfo(np.int16).max


@dataclass(frozen=True, slots=True)
class CitationRows:
    """A graph's adjacency as (starts of shape (n + 1,), neighbours ascending), each way and both."""

    cites: Rows
    cited_by: Rows
    touching: Rows


def citation_rows(n: int, citing: NDArray[np.int64], cited: NDArray[np.int64]) -> CitationRows:
    """The rows of the edges citing[i] → cited[i], each once; those of a node to itself are left out."""
    proper = citing != cited
    citing, cited = citing[proper], cited[proper]
    return CitationRows(
        _rows(n, citing, cited),
        _rows(n, cited, citing),
        _rows(n, np.concatenate([citing, cited]), np.concatenate([cited, citing])),
    )


def id_hashes(ids: Iterable[str]) -> list[tuple[int, int]]:
    """What stands for ids in `resolved`: a hash of each as it is, and of its canonical form."""
    return [(hash64(encode(each)), hash64(encode(parse(each) or f"id:{each}"))) for each in ids]


def resolved(
    ids: Hashes, names: Hashes, named: Indices, starts: NDArray[np.int64], others: Hashes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(paper, other paper) for all of `others` that are papers of the corpus, as numbers.

    `ids` are the hashes of the papers' ids; name i, of which `names` has the hash, is that of paper
    `named[i]`. Paper p gives `others[starts[p]:starts[p + 1]]`, rows of `id_hashes`. Ids go before names.
    """
    number = _found(ids, np.arange(len(ids)), others[:, 0])
    number = np.where(number < 0, _found(names, named, others[:, 1]), number)
    known = number >= 0
    return owners(starts)[known], number[known]


def _found(hashes: Hashes, numbers: NDArray[Any], wanted: Hashes) -> NDArray[np.int64]:
    """The number that goes with each hash wanted; -1 where there is none."""
    if not len(hashes):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(hashes)
    at = np.minimum(np.searchsorted(hashes[order], wanted), len(hashes) - 1)
    return np.where(hashes[order[at]] == wanted, numbers[order[at]], -1)


class CitationGraph:
    """A directed graph over the papers of one corpus, in compressed sparse rows both ways. Immutable.

    A citation counts once however often it is stated. Citations to papers outside the corpus are left out
    and counted in `unknown`, those of a paper to itself in `self_citations`.
    """

    def __init__(self, ids: Sequence[str], edges: Iterable[tuple[str, str]] = ()) -> None:
        """`edges` are (citing id, cited id). Raises DataError if an id occurs twice."""
        number = _numbers(ids)
        ends = (number.get(paper_id, -1) for edge in edges for paper_id in edge)
        pairs = np.fromiter(ends, dtype=np.int64).reshape(-1, 2)
        known = (pairs >= 0).all(axis=1)
        self._fill(ids, number, pairs[known, 0], pairs[known, 1], unknown=int((~known).sum()))

    @classmethod
    def from_papers(cls, papers: Sequence[Paper]) -> CitationGraph:
        """The graph that the papers' `references` and `citations` state; paper i is node i.

        They may name a paper by any of its identifiers.
        """
        named = Aliases(papers).find
        cites = [(paper.id, named(cited) or cited) for paper in papers for cited in paper.references]
        cited_by = [(named(citing) or citing, paper.id) for paper in papers for citing in paper.citations]
        return cls([paper.id for paper in papers], cites + cited_by)

    @classmethod
    def from_arrays(cls, ids: Sequence[str], citing: Indices, cited: Indices) -> CitationGraph:
        """The graph of the edges citing[i] → cited[i], as node numbers; what `arrays` gives back."""
        for end in (citing, cited):
            if end.size and not (end.min() >= 0 and end.max() < len(ids)):
                raise DataError(f"a citation names a node outside 0..{len(ids) - 1}: rebuild the index")
        graph = cls.__new__(cls)
        graph._fill(ids, _numbers(ids), citing.astype(np.int64), cited.astype(np.int64), unknown=0)
        return graph

    @classmethod
    def stored(
        cls, ids: Sequence[str], find: Callable[[str], int | None], rows: CitationRows
    ) -> CitationGraph:
        """The graph of rows that were computed before; nothing is computed or copied.

        `ids` ascend, and `find` gives the number of one.
        """
        graph = cls.__new__(cls)
        graph.ids, graph._find, graph.unknown, graph.self_citations = ids, find, 0, 0
        graph._cites, graph._cited_by, graph._touching = rows.cites, rows.cited_by, rows.touching
        graph.id_order = np.arange(len(ids))
        return graph

    def _fill(
        self,
        ids: Sequence[str],
        number: dict[str, int],
        citing: NDArray[np.int64],
        cited: NDArray[np.int64],
        *,
        unknown: int,
    ) -> None:
        self.ids: Sequence[str] = tuple(ids)
        self.unknown = unknown
        self.self_citations = int((citing == cited).sum())
        self._find: Callable[[str], int | None] = number.get
        # Place of each paper when ids are sorted: what settles equal scores. Shape (n,).
        self.id_order = np.empty(len(ids), dtype=np.int64)
        self.id_order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
        rows = citation_rows(len(ids), citing, cited)
        self._cites, self._cited_by, self._touching = rows.cites, rows.cited_by, rows.touching

    def __len__(self) -> int:
        """Number of papers."""
        return len(self.ids)

    @property
    def edge_count(self) -> int:
        return len(self._cites[1])

    def arrays(self) -> tuple[Indices, Indices]:
        """All edges as (citing, cited) node numbers, each of shape (edge_count,), sorted."""
        starts, cited = self._cites
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(starts)), cited

    def forward(self, paper_id: str) -> tuple[str, ...]:
        """The papers of the corpus that it cites, in corpus order; none for an unknown id."""
        return self._row(self._cites, paper_id)

    def backward(self, paper_id: str) -> tuple[str, ...]:
        """The papers of the corpus that cite it, in corpus order; none for an unknown id."""
        return self._row(self._cited_by, paper_id)

    def hops(self, seeds: Sequence[int] | NDArray[np.integer], max_hops: int = 2) -> NDArray[np.int16]:
        """Citations, followed either way, from the nearest of `seeds` (node numbers) to every paper.

        Breadth-first, shape (n,): 0 for a seed, -1 where more than `max_hops` would be needed. Two hops reach
        direct ancestors, descendants and siblings; three reach most of a connected corpus. Raises ConfigError
        for a max_hops below 0, IndexError for a seed that is no node.
        """
        check_max_hops(max_hops)
        distance = np.full(len(self), -1, dtype=np.int16)
        frontier = np.unique(np.asarray(seeds, dtype=np.int64))
        if frontier.size and not (frontier[0] >= 0 and frontier[-1] < len(self)):
            raise IndexError(f"a seed is outside the {len(self)} papers of the graph")
        distance[frontier] = 0
        for step in range(1, max_hops + 1):
            reached = _neighbours(self._touching, frontier)
            distance[reached[distance[reached] < 0]] = step
            frontier = np.flatnonzero(distance == step)
            if not frontier.size:
                break
        return distance

    def path(self, distance: NDArray[np.int16], target: int) -> list[int]:
        """Node numbers from a seed to `target` along a shortest way, given what `hops` returned.

        Where several ways are as short, each step back goes to the paper that comes first in the corpus.
        Empty where the target was not reached.
        """
        if distance[target] < 0:
            return []
        way = [target]
        for nearer in range(int(distance[target]) - 1, -1, -1):
            around = _neighbours(self._touching, np.array([way[-1]]))
            way.append(int(around[distance[around] == nearer][0]))
        return way[::-1]

    def _row(self, rows: Rows, paper_id: str) -> tuple[str, ...]:
        node = self._find(paper_id)
        if node is None:
            return ()
        starts, neighbours = rows
        return tuple(self.ids[i] for i in neighbours[starts[node] : starts[node + 1]].tolist())


def check_max_hops(max_hops: int) -> None:
    """Raise ConfigError unless 0 ≤ max_hops ≤ 32767."""
    if not 0 <= max_hops <= _MAX_HOPS:
        raise ConfigError(f"max_hops must be between 0 and {_MAX_HOPS}, got {max_hops}", key="max_hops")


def _numbers(ids: Sequence[str]) -> dict[str, int]:
    number = {paper_id: i for i, paper_id in enumerate(ids)}
    if len(number) < len(ids):
        twice = next(paper_id for i, paper_id in enumerate(ids) if number[paper_id] != i)
        raise DataError(f"paper id {twice!r} occurs twice: merge its versions into one paper first")
    return number


def _rows(n: int, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> Rows:
    """Sorted, de-duplicated adjacency as (starts of shape (n + 1,), targets)."""
    keys = np.sort(sources * n + targets)  # np.unique hashes, which takes 13 times as long
    keys = keys[np.diff(keys, prepend=-1) != 0]
    counts = np.bincount(keys // max(n, 1), minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), (keys % max(n, 1)).astype(np.int32)


def _neighbours(rows: Rows, nodes: NDArray[np.int64]) -> Indices:
    """The rows of `nodes`, end to end."""
    starts, targets = rows
    first, counts = starts[nodes], starts[nodes + 1] - starts[nodes]
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    neighbours: Indices = targets[np.repeat(first, counts) + offsets]
    return neighbours
