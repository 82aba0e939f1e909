"""The writing side of an index: papers in, changed and out, and the state that is published of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from hippo_lit import assemble
from hippo_lit.assemble import Parts
from hippo_lit.errors import (
    ConfigError,
    DataError,
    EmbedderMismatchError,
    FormatVersionError,
    IndexCorruptError,
    MissingExtraError,
    ModelError,
    StoreError,
)
from hippo_lit.extraction import Progress, silent
from hippo_lit.facets import is_from
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.models.guard import Budget
from hippo_lit.protocols import FactExtractor
from hippo_lit.records import paper_from_mapping, paper_to_mapping
from hippo_lit.remembered import SETTINGS_FILE, remember
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.batches import BatchLedger, awaited
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.publish import open_current, sweep
from hippo_lit.storage.store import Store
from hippo_lit.types import Counts, Paper

if TYPE_CHECKING:  # what only writing needs is imported by what writes: a search must not wait for it
    from hippo_lit.changes import Change
    from hippo_lit.estimate import Estimate
    from hippo_lit.index import Built

Batch = Literal["submit", "wait"]

_BATCH = 1000
_NAMED = 10


class Writer:
    """Everything that changes an index; used by `HippoLit`, which says what each part does.

    Writes of one object take turns between its threads; between processes, and between objects, the
    writer's lock admits one at a time. `wait_s` is how long to wait for it.
    """

    def __init__(self, parts: Parts, store: Store, *, read_only: bool, wait_s: float) -> None:
        self._parts, self._path, self._store = parts, parts.path, store
        if not wait_s >= 0:
            raise ConfigError(f"wait_s must be 0 or more seconds, got {wait_s}", key="wait_s")
        self._read_only = read_only
        self._turn = RLock()
        self._lock = WriterLock(parts.path, wait_s)

    @contextmanager
    def session(self, told: Callable[[str], None] | None = None) -> Iterator[None]:
        """The right to write, taken once however many steps a write has. One writing thread at a time.

        `told` hears who is waited for.
        """
        if self._read_only:
            raise StoreError(f"{self._path} was opened read-only", path=str(self._path))
        with self._turn:
            if self._lock.held:
                yield
                return
            self._lock.acquire(told)
            try:
                yield
            finally:
                self._lock.release()

    def put(self, papers: Iterable[Paper | Mapping[str, Any]]) -> Counts:
        """Store what papers say, a batch at a time."""
        counts, cleaned = Counts(), map(_cleaned, papers)
        with self.session():
            while batch := list(islice(cleaned, _BATCH)):
                counts += self._store.put_papers(batch)
        return counts

    def replace(self, papers: Iterable[Paper | Mapping[str, Any]]) -> Counts:
        """Store papers that are then exactly what is given here; all of them or none."""
        with self.session():
            return self._store.put_papers(map(_cleaned, papers), replace=True)

    def delete(self, given: Iterable[str] | None, source: str | None) -> int:
        """Forget papers, or what `source` said of them, of all where None is given; all of them or none.

        Returns how many there were.
        """
        if isinstance(given, str):
            raise ConfigError(f"ids takes ids, not one text: write ids=[{given!r}]", key="ids")
        if given is None and source is None:
            raise ConfigError("say which ids to delete, or which source", key="ids")
        ids = None if given is None else tuple(given)
        with self.session():
            shown = self._shown()
            self._refuse_other_models(shown)
            wanted = None
            if source is not None:
                wanted = {stored for stored in self._store.all_sources() if is_from(stored, source)}
            if ids is None:
                ids = self._all_from(source or "", wanted or set(), shown)
            unknown = [paper_id for paper_id in ids if not self._holds(paper_id, source, wanted, shown)]
            if unknown:
                raise self._unknown(unknown, source)
            # Several names may mean one paper; one may stand in the published state alone.
            papers = {self._store.resolve(name) or (shown and shown.find(name)) for name in ids}
            self._store.delete(ids, source=wanted)
        return len(papers)

    def build(
        self, progress: Progress | None, budget: Budget | None, batch: Batch | None, *, rebuild: bool
    ) -> Built:
        """Extract, embed and publish what is new in the store; remember the settings that did it."""
        from hippo_lit.index import Indexer

        parts, report = self._parts, progress or silent
        with self.session(), self._cache() as cache, ExitStack() as opened:
            held = awaited(self._path) if batch is None else frozenset()
            indexer = Indexer(
                self._path,
                self._store,
                self._cached(cache),
                self._extractor(cache, budget, held),
                assemble.make_recipe(parts.settings),
                report,
            )
            if batch is not None:
                run = assemble.make_batch_run(
                    parts.settings,
                    parts.chat,
                    cache,
                    self._store,
                    opened.enter_context(BatchLedger(self._path)),
                    parts.prompts,
                    budget=budget,
                    wait=batch == "wait",
                )
                indexer.extraction = replace(run, progress=report)
            built = indexer.build(rebuild=rebuild)
            remember(self._path, parts.settings)
            if not built.published:
                sweep(self._path)  # a writer that died after publishing left its files
            return built

    def estimate(self, papers: Iterable[Paper | Mapping[str, Any]], *, batch: bool) -> Estimate:
        """What adding `papers` would take of models; nothing is stored."""
        from hippo_lit.estimate import estimate

        parts = self._parts
        return estimate(
            self._path,
            parts.settings,
            map(_cleaned, papers),
            embedder=parts.embedder,
            chat=parts.chat,
            prompts=parts.prompts,
            batch=batch,
        )

    def change(self) -> Change | None:
        """What the settings change in the published state; None also where that cannot be told yet."""
        from hippo_lit.changes import compare

        shown = self._shown()
        if shown is None:
            return None
        with Cache(assemble.cache_path(self._parts.settings, self._path), on_write_error="skip") as cache:
            try:
                embedder = self._cached(cache).space
            except (ModelError, MissingExtraError):
                return None  # to build meets the same failure, and says what it means
            extractor = self._extractor(cache).name
        recipe = assemble.make_recipe(self._parts.settings)
        return compare(shown, embedder, extractor, recipe, lambda: self.estimate((), batch=False))

    # -- inside

    def _cache(self) -> Cache:
        return Cache(assemble.cache_path(self._parts.settings, self._path), on_write_error="raise")

    def _cached(self, cache: Cache) -> CachedEmbedder:
        return assemble.cached(self._parts.embedder, cache)

    def _extractor(
        self, cache: Cache, budget: Budget | None = None, held: frozenset[str] = frozenset()
    ) -> FactExtractor:
        parts = self._parts
        return assemble.make_extractor(
            parts.settings, parts.chat, cache, parts.prompts, self._store, budget=budget, held=held
        )

    def _shown(self) -> Snapshot | None:
        """The published state; None also where it cannot be read, which building again mends."""
        try:
            return open_current(self._path, Snapshot)
        except (FormatVersionError, IndexCorruptError):
            return None

    def _refuse_other_models(self, shown: Snapshot | None) -> None:
        """To delete must not mean to extract and embed everything that stays once more."""
        if shown is None or not len(shown):
            return
        with self._cache() as cache:
            embedder, extractor = self._cached(cache).space, self._extractor(cache).name
        advice = "give the settings it was indexed with (it remembers them), or index again first"
        if (built_with := shown.about["embedder"]) != embedder:
            raise EmbedderMismatchError(
                f"{self._path} was indexed with the embedder {built_with}, the settings name {embedder}:"
                f" {advice}",
                path=str(self._path),
                found=built_with,
                expected=embedder,
            )
        if (built_with := shown.about["extractor"]) != extractor:
            raise ConfigError(
                f"{self._path} was indexed with the extractor {built_with}, the settings name {extractor}:"
                f" {advice}",
                key="extract.kind",
            )

    def _all_from(self, source: str, wanted: set[str], shown: Snapshot | None) -> tuple[str, ...]:
        """The papers of which the sources `wanted` say something. Raises DataError where there are none."""
        ids = set(self._store.ids_from(wanted))
        if shown is not None:  # see `_holds`
            ids |= {
                paper_id
                for row in shown.facets.by_source(source)
                if self._holds(paper_id := shown.paper(int(row)).id, source, wanted, shown)
            }
        if not ids:
            there = sorted({part for stored in self._store.all_sources() for part in _parts(stored)})
            more = f" and {len(there) - _NAMED:,} more" if len(there) > _NAMED else ""
            raise DataError(
                f"{self._path} holds nothing from the source {source!r}; nothing was deleted; there are"
                f" {', '.join(there[:_NAMED]) or 'none'}{more}",
                path=str(self._path),
                line=None,
            )
        return tuple(sorted(ids))

    def _holds(
        self, paper_id: str, source: str | None, wanted: set[str] | None, shown: Snapshot | None
    ) -> bool:
        """Whether there is something to delete: in the store, or only in the published state still.

        The latter is left where a run that deletes is interrupted; asked again, it is to finish the work.
        """
        sources = self._store.sources(paper_id)
        if sources if wanted is None else not wanted.isdisjoint(sources):
            return True
        number = shown.find(paper_id) if shown is not None else None
        if shown is None or number is None:
            return False
        gone = _parts(shown.paper(number).source) - _parts("+".join(sources))
        return not sources if source is None else any(is_from(part, source) for part in gone)

    def _unknown(self, ids: Sequence[str], source: str | None) -> DataError:
        named = ", ".join(map(repr, ids[:_NAMED]))
        more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
        what = "" if source is None else f" from the source {source!r}"
        known = {} if source is None else {i: found for i in ids if (found := self._store.sources(i))}
        hint = "".join(f"; {i!r} is from {', '.join(known[i])}" for i in list(known)[:_NAMED])
        return DataError(
            f"{self._path} holds no paper {named}{more}{what}; nothing was deleted{hint}",
            path=str(self._path),
            line=None,
            unknown=list(ids),
        )


def refuse_other_folders(folder: Path) -> None:
    """Raise StoreError for a folder that holds things, none of them an index's: a slip of the hand."""
    try:
        there = {entry.name.partition("-")[0] for entry in folder.iterdir()}
    except OSError:
        return  # not there yet, or not readable: opening the store says so better
    if there and not there & {"store.db", "writer.lock", "snapshots", assemble.CACHE, SETTINGS_FILE}:
        raise StoreError(
            f"{folder} is not an index and not empty: name a new or an empty folder", path=str(folder)
        )


def _parts(source: str) -> set[str]:
    return set(filter(None, source.split("+")))


def _cleaned(paper: Paper | Mapping[str, Any]) -> Paper:
    """A paper whose text can be stored; a Paper object passes through the same cleaning as a dict."""
    if isinstance(paper, Paper):
        return paper_from_mapping(paper_to_mapping(paper), where=f"paper {paper.id!r}")
    return paper_from_mapping(paper)
