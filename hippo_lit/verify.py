"""An index examined end to end: what is wrong, in which part, and what to do. Nothing is ever changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.errors import ConfigError, FormatVersionError, HippoLitError, IndexNotFoundError, StoreError
from hippo_lit.graph.factgraph import FactGraph
from hippo_lit.remembered import recall
from hippo_lit.similarity import Codes, codes
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.batches import awaited
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.disk import ADVICE_REBUILD
from hippo_lit.storage.publish import current
from hippo_lit.storage.seal import damage
from hippo_lit.storage.store import STORE_FILE, Store
from hippo_lit.types import Paper

Part = Literal["settings", "store", "cache", "batches", "snapshot", "references", "papers"]
_UNIT = 1e-3
_ROWS = 65_536
_ADVICE_STORE = (
    "Read the sources of what is damaged again with `hippo-lit index`, which mends their records; or restore "
    "store.db from a copy."
)
_ADVICE_CACHE = "Run `hippo-lit index --rebuild`: what is damaged is made again, the rest is used."
_ADVICE_BATCHES = (
    "Restore batches.db from a copy; without it, what its jobs answer is asked, and paid for, again."
)
_ADVICE_AWAITED = "Run `hippo-lit index --batch`: it collects them when they are there."
_ADVICE_BEHIND = "Run `hippo-lit index`: it brings the index up to date."


@dataclass(frozen=True, slots=True)
class Finding:
    """`damage` is something that is not as it was written; "behind" is work that was not done yet."""

    part: Part
    kind: Literal["damage", "behind"]
    problem: str
    advice: str


def verify_index(folder: str | Path, given: Settings | None = None) -> Iterator[Finding]:
    """Everything that is wrong, part by part; nothing where all is well.

    Raises IndexNotFoundError where there is no index.
    """
    path = Path(folder).expanduser()
    if not (path / STORE_FILE).is_file():
        raise IndexNotFoundError(f"there is no index at {path}", path=str(path))
    try:
        settings = recall(path, given)
    except (StoreError, ConfigError) as error:
        yield Finding("settings", "damage", error.message, "")
        settings = given or Settings()
    told: set[str] = set()  # the store is read again for its papers
    examinations: tuple[tuple[Part, str, Callable[[], Iterator[Finding]]], ...] = (
        ("store", _ADVICE_STORE, lambda: _store(path)),
        ("cache", _ADVICE_CACHE, lambda: _cache(assemble.cache_path(settings, path))),
        ("batches", _ADVICE_BATCHES, lambda: _batches(path)),
        ("snapshot", ADVICE_REBUILD, lambda: _snapshot(path)),
    )
    for part, advice, examine in examinations:
        for finding in _guarded(part, advice, examine):
            if finding.problem not in told:
                told.add(finding.problem)
                yield finding


def _guarded(part: Part, advice: str, examine: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings; an error that ends an examination is one, too."""
    try:
        yield from examine()
    except FormatVersionError as error:
        # An earlier version's is whole, and the next run brings it up to date.
        found, expected = error.fields.get("found"), error.fields.get("expected")
        old = isinstance(found, int) and isinstance(expected, int) and found < expected
        yield Finding(part, "behind" if old else "damage", error.message, _ADVICE_BEHIND if old else "")
    except HippoLitError as error:
        yield Finding(part, "damage", error.message, "" if advice in error.message else advice)


def _store(path: Path) -> Iterator[Finding]:
    with Store.open(path, read_only=True) as store:
        store.verify()
    yield from ()


def _cache(file: Path) -> Iterator[Finding]:
    if file.is_file():
        with Cache(file, read_only=True) as cache:
            for problem in cache.verify():
                yield Finding("cache", "damage", f"{file}: {problem}", _ADVICE_CACHE)


def _batches(path: Path) -> Iterator[Finding]:
    if out := len(awaited(path, verify=True)):
        yield Finding("batches", "behind", f"{out:,} replies of batch jobs are awaited", _ADVICE_AWAITED)


def _snapshot(path: Path) -> Iterator[Finding]:
    folder = current(path)
    if folder is None:
        yield Finding("snapshot", "behind", "nothing has been published yet", _ADVICE_BEHIND)
        return
    broken = damage(folder)
    for problem in broken:
        yield Finding("snapshot", "damage", problem, ADVICE_REBUILD)
    if broken:
        return  # what refers to it need not be right either
    snapshot = Snapshot(folder)
    for problem in _references(snapshot):
        yield Finding("references", "damage", problem, ADVICE_REBUILD)
    yield from _guarded("papers", _ADVICE_STORE, lambda: _papers(path, snapshot))


def _papers(path: Path, snapshot: Snapshot) -> Iterator[Finding]:
    """Whether the snapshot holds just the papers of the store. Both are in the order of ids."""
    differing: set[Paper] = set()
    with Store.open(path, read_only=True) as store:
        indexed = (snapshot.paper(number) for number in range(len(snapshot)))
        for stored, held in zip_longest(store.papers(), indexed):
            if stored != held:
                # One that is missing shifts the others: what comes on both sides goes again.
                differing ^= {paper for paper in (stored, held) if paper is not None}
    if differing:
        count = len({paper.id for paper in differing})
        problem = f"the snapshot is behind: {count:,} papers were added, changed or deleted since"
        yield Finding("papers", "behind", problem, _ADVICE_BEHIND)


# -- references between arrays


def _references(snapshot: Snapshot) -> Iterator[str]:
    """What does not fit together, in arrays that are as they were written: a fault of the writer's."""
    graph = snapshot.graph
    papers, passages, entities = len(snapshot), graph.n_passages, graph.n_entities
    sentences = int(graph.sentence_start[-1]) if len(graph.sentence_start) else 0
    yield from _offsets("first_passage", snapshot.first_passage, papers, passages)
    yield from _offsets("sentence_start", graph.sentence_start, passages, sentences)
    yield from _offsets("fact_start", graph.fact_start, graph.n_facts, len(graph.fact_sentence))
    yield from _offsets("link_start", graph.link_start, len(graph.link_keys), len(graph.link_entity))
    yield from _within("passage_paper", snapshot.passage_paper, 0, papers)
    yield from _within("link_entity", graph.link_entity, 0, entities)
    yield from _within("fact_subject", graph.fact_subject, 0, entities)
    yield from _within("fact_object", graph.fact_object, 0, entities)
    yield from _within("fact_sentence", graph.fact_sentence, -passages, sentences)
    yield from _offsets("statement_start", graph.statement_start, sentences, len(graph.statement_entity))
    yield from _within("statements", graph.statement_entity, 0, entities)
    for name, order, size in (
        ("pair_order", graph.pair_order, graph.n_facts),
        ("stated_order", graph.stated_order, len(graph.fact_sentence)),
    ):
        if not np.array_equal(np.sort(order), np.arange(size)):
            yield f"{name}: it is not an order of all"
    yield from _offsets("naming_start", graph.naming_start, entities, len(graph.naming_sentence))
    yield from _within("naming_sentence", graph.naming_sentence, 0, sentences)
    if graph.stored is not None:
        walked, nodes = graph.stored.adjacency, passages + entities
        yield from _offsets("walk_start", walked.indptr, nodes, len(walked.indices))
        yield from _within("walk_node", walked.indices, 0, nodes)
    for kind, edges in graph.edges.items():
        yield from _within(f"edges {kind}", edges.source, 0, passages + entities)
        yield from _within(f"edges {kind}", edges.target, 0, passages + entities)
        if not bool(np.all(np.isfinite(edges.weight) & (np.asarray(edges.weight) > 0))):
            yield f"edges {kind}: a weight is not above 0"
    yield from _counts(snapshot, graph, sentences)
    dim = int(snapshot.about["dim"])
    yield from _unit("passage_vectors", snapshot.passage_vectors, passages, dim)
    yield from _unit("sentence_vectors", snapshot.sentence_vectors, sentences, dim)
    yield from _coded("sentence_codes", snapshot.sentence_codes, snapshot.sentence_vectors)
    if snapshot.fact_vectors is not None:
        yield from _unit("fact_vectors", snapshot.fact_vectors, graph.n_facts, dim)
        yield from _coded("fact_codes", snapshot.fact_codes, snapshot.fact_vectors)


def _counts(snapshot: Snapshot, graph: FactGraph, sentences: int) -> Iterator[str]:
    for what, found, expected in (
        ("entity names", len(graph.names), graph.n_entities),
        ("fact texts", len(graph.fact_text), graph.n_facts),
        ("papers with words", len(snapshot.lexical), len(snapshot)),
        ("passages with words", len(snapshot.bm25), graph.n_passages),
        ("years", len(snapshot.years), len(snapshot)),
        ("rows of statements", graph.n_sentences, sentences),
    ):
        if found != expected:
            yield f"{found:,} {what} where {expected:,} are expected"


def _offsets(name: str, starts: NDArray[Any], items: int, last: int) -> Iterator[str]:
    values = np.asarray(starts)
    if len(values) != items + 1 or values[0] != 0 or values[-1] != last or bool(np.any(np.diff(values) < 0)):
        yield f"{name}: the offsets do not ascend from 0 to {last:,} in {items:,} steps"


def _within(name: str, values: NDArray[Any], low: int, high: int) -> Iterator[str]:
    if len(values) and not (low <= int(np.min(values)) and int(np.max(values)) < high):
        yield f"{name}: a number is outside {low:,} to {high - 1:,}"


def _unit(name: str, vectors: NDArray[Any], rows: int, dim: int) -> Iterator[str]:
    if len(vectors) != rows or (rows and vectors.shape[1] != dim):
        yield f"{name}: shape {vectors.shape} where {(rows, dim)} is expected"
        return
    wrong = 0
    for start in range(0, rows, _ROWS):
        lengths = np.linalg.norm(np.asarray(vectors[start : start + _ROWS], dtype=np.float64), axis=1)
        # NaN fails both comparisons; a text that an embedder knows nothing of may have a vector of zeros.
        wrong += int(np.sum(~((np.abs(lengths - 1) <= _UNIT) | (lengths == 0))))
    if wrong:
        yield f"{name}: {wrong:,} vectors are not of length 1"


def _coded(name: str, found: Codes, vectors: NDArray[Any]) -> Iterator[str]:
    if found.numbers.shape != vectors.shape or found.unit.shape != vectors.shape[:1]:
        yield f"{name}: shape {found.numbers.shape} where {vectors.shape} is expected"
        return
    wrong = 0
    for start in range(0, len(vectors), _ROWS):
        part = slice(start, start + _ROWS)
        made = codes(vectors[part])
        same = np.all(made.numbers == found.numbers[part], axis=1) & (made.unit == found.unit[part])
        wrong += int(np.sum(~same))
    if wrong:
        yield f"{name}: {wrong:,} rows are not what their vectors give"
