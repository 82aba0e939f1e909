"""An index without what no present paper needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hippo_lit import assemble
from hippo_lit.about import sizes
from hippo_lit.config import Settings
from hippo_lit.errors import StoreError
from hippo_lit.graph.keys import entity_key
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.passages import passage_hash, passages_of, sentence_places
from hippo_lit.remembered import recall
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.publish import open_current, sweep
from hippo_lit.storage.store import Store
from hippo_lit.types import Passage

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Compacted:
    """What went, and the bytes of each part before and after. `shared_cache`: it was left alone."""

    snapshots: int
    extractions: int
    vectors: int
    replies: int
    before: Mapping[str, int]
    after: Mapping[str, int]
    shared_cache: bool = False


def compact(folder: str | Path, given: Settings | None = None, *, replies: bool = False) -> Compacted:
    """Drop old snapshots, and extractions and vectors of texts that no present paper has.

    What several extractors found in present texts stays; vectors of another embedder than the index's do
    not. With `replies` all kept model replies go, which were paid for: what was extracted from them stays,
    but a paper that was deleted and comes back, and a question asked again, are paid for again. A cache that
    `cache.path` places outside the index is left alone, since other indexes use it.

    Each step is one transaction: killed at any moment, the index answers as before. Raises
    IndexLockedError, IndexNotFoundError, StoreError where nothing has been published yet.
    """
    path = Path(folder).expanduser()
    settings = recall(path, given)
    with Store.open(path) as store, WriterLock(path):
        snapshot = open_current(path, Snapshot)
        if snapshot is None:
            raise StoreError(
                f"nothing has been published of {path} yet: run hippo-lit index --index {path} first, so "
                "that nothing of what it needs is dropped",
                path=str(path),
            )
        before = sizes(path)
        snapshots = len(sweep(path))
        lengths = {settings.extract.passage_chars, int(snapshot.about["passage_chars"])}
        extractions = store.keep_extractions(
            passage_hash(passage) for length in sorted(lengths) for passage in _passages(store, length)
        )
        store.vacuum()
        file = assemble.cache_path(settings, path)
        shared = settings.cache.path is not None
        vectors = forgotten = 0
        if file.is_file() and not shared:
            with Cache(file) as cache:
                embedder = assemble.cached(assemble.make_embedder(settings), cache)
                if embedder.space == snapshot.about["embedder"]:
                    vectors = cache.keep_vectors(_needed(embedder, store, snapshot))
                forgotten = cache.forget_replies() if replies else 0
                cache.vacuum()
        return Compacted(snapshots, extractions, vectors, forgotten, before, sizes(path), shared)


def _passages(store: Store, length: int) -> Iterator[Passage]:
    for paper in store.papers():
        yield from passages_of(paper, length)


def _needed(embedder: CachedEmbedder, store: Store, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Space and key of every vector that building this index again would ask for."""
    batch: list[Passage] = []
    for passage in _passages(store, int(snapshot.about["passage_chars"])):
        batch.append(passage)
        if len(batch) == _BATCH:
            yield from _keys(embedder, batch)
            batch = []
    yield from _keys(embedder, batch)
    graph = snapshot.graph
    if snapshot.fact_vectors is not None:
        yield from _texts(embedder, [graph.fact(number).text for number in range(graph.n_facts)])
    if snapshot.about["recipe"]["synonyms"] == "embedding":
        yield from _texts(embedder, [entity_key(name) for name in graph.names])


def _keys(embedder: CachedEmbedder, passages: list[Passage]) -> Iterator[tuple[str, str]]:
    space, keys = embedder.part_keys(
        [passage.text for passage in passages], [sentence_places(passage) for passage in passages]
    )
    return ((space, key) for row in keys for key in row)


def _texts(embedder: CachedEmbedder, texts: list[str]) -> Iterator[tuple[str, str]]:
    space, keys = embedder.keys(texts, "fact")
    return ((space, key) for key in keys)
