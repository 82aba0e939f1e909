"""HippoLit: an index folder, and everything one does with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Literal

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.errors import (
    EmbedderMismatchError,
    IndexNotFoundError,
    MissingExtraError,
    ModelError,
    StoreError,
)
from hippo_lit.estimate import Estimate, estimate
from hippo_lit.extraction import Progress, silent
from hippo_lit.index import Built, Indexer
from hippo_lit.models.guard import Budget
from hippo_lit.protocols import ChatModel, Embedder
from hippo_lit.records import paper_from_mapping, paper_to_mapping
from hippo_lit.restriction import parse_filters
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.batches import BatchLedger, awaited
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.publish import open_current
from hippo_lit.storage.store import Counts, Store
from hippo_lit.types import Filters, Mode, Paper, RetrievalResult

_BATCH = 1000
_EMBEDDING: tuple[Mode, ...] = ("hippo", "dense", "hybrid")


class HippoLit:
    """One index on disk. Safe to share between threads, which can search while one of them writes; a
    context manager.

    Retrieval answers from the snapshot that was current when the index was opened or last written to by
    this object; `refresh` moves on to what other processes published since.
    """

    def __init__(
        self,
        path: Path,
        store: Store,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        prompts: Path | None = None,
        read_only: bool = False,
    ) -> None:
        """Use `open`."""
        self.path = path
        self.settings = settings
        self.store = store
        self._prompts = prompts
        self._read_only = read_only
        self._lock = RLock()  # of the retriever; never held for long
        self._write_lock = RLock()
        self._writer = WriterLock(path)
        self._chat = chat if chat is not None else assemble.make_chat(settings)
        self._plain_embedder = embedder if embedder is not None else assemble.make_embedder(settings, prompts)
        # The filter's replies are paid for, so they are kept where that can be done, read-only or not;
        # without an LLM there is nothing to keep.
        kept = settings.filter.kind == "llm"
        self._cache = Cache(assemble.cache_path(settings, path) if kept else None, on_write_error="skip")
        self._queries = Cache(None)
        self._made = [model for model in (self._chat, self._plain_embedder) if model not in (chat, embedder)]
        self._retriever: Retriever | None = None
        self._checked = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        settings: Settings | None = None,
        *,
        create: bool = True,
        read_only: bool = False,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        prompts: str | Path | None = None,
    ) -> HippoLit:
        """Open the index in folder `path`, made if absent unless `create` is False.

        `embedder` and `chat` take the place of those that `settings` describe; `prompts` is a folder that
        takes the place of the shipped one. An index made with another embedder is found out when a query
        needs vectors. Raises IndexNotFoundError, FormatVersionError, IndexCorruptError, ConfigError.
        """
        folder = Path(path).expanduser()
        if create and not read_only:
            _refuse_other_folders(folder)
        store = Store.open(folder, create=create and not read_only, read_only=read_only)
        try:
            return cls(
                folder,
                store,
                settings or Settings(),
                embedder=embedder,
                chat=chat,
                prompts=Path(prompts) if prompts is not None else None,
                read_only=read_only,
            )
        except BaseException:
            store.close()
            raise

    # -- writing

    def add(
        self,
        papers: Iterable[Paper | Mapping[str, Any]],
        *,
        progress: Progress | None = None,
        budget: Budget | None = None,
    ) -> Counts:
        """Add papers, or further sources' views of papers that are there, and bring the index up to date.

        Papers may be dicts with at least id and title or abstract. What was added before is not done
        again. Where the chat model fails, or the `budget` ends, the papers are indexed without the facts
        that are missing, and `hippo` answers are called degraded until a later run has found them; `build`
        says how many. Raises DataError for a dict that cannot be a paper (nothing of its batch is stored
        then), IndexLockedError while another process writes, EmbeddingError, StoreError.
        """
        with self._writing():
            counts = self.put(papers)
            self.build(progress=progress, budget=budget)
        return counts

    def put(self, papers: Iterable[Paper | Mapping[str, Any]]) -> Counts:
        """Store papers without indexing them yet; `build` does that."""
        counts = Counts()
        with self._writing():
            batch: list[Paper] = []
            for paper in papers:
                batch.append(_cleaned(paper))
                if len(batch) >= _BATCH:
                    counts += self.store.put_papers(batch)
                    batch = []
            return counts + self.store.put_papers(batch)

    def build(
        self,
        *,
        progress: Progress | None = None,
        budget: Budget | None = None,
        batch: Literal["submit", "wait"] | None = None,
    ) -> Built:
        """Extract, embed and publish what is new in the store; nothing is done where nothing is new.

        `budget` ends the calls of the chat model. With `batch` these go into jobs of the provider's Batch
        API: "submit" collects what is answered and comes back at once, "wait" when all is. A chat model's
        failures are no errors: they are in what is returned. Raises ConfigError, EmbeddingError,
        IndexLockedError, StoreError.
        """
        with (
            self._writing(),
            Cache(assemble.cache_path(self.settings, self.path), on_write_error="raise") as cache,
            ExitStack() as opened,
        ):
            report = progress or silent
            indexer = Indexer(
                self.path,
                self.store,
                assemble.cached(self._plain_embedder, cache),
                assemble.make_extractor(
                    self.settings,
                    self._chat,
                    cache,
                    self._prompts,
                    budget=budget,
                    held=awaited(self.path) if batch is None else frozenset(),
                ),
                assemble.make_recipe(self.settings),
                report,
            )
            if batch is not None:
                ledger = opened.enter_context(BatchLedger(self.path))
                run = assemble.make_batch_run(
                    self.settings,
                    self._chat,
                    cache,
                    self.store,
                    ledger,
                    self._prompts,
                    budget=budget,
                    wait=batch == "wait",
                )
                indexer.extraction = replace(run, progress=report)
            built = indexer.build()
            self.refresh()
            return built

    def estimate(self, papers: Iterable[Paper | Mapping[str, Any]] = (), *, batch: bool = False) -> Estimate:
        """What adding `papers` and building would take of models, by batch jobs where `batch` is set.

        No model is asked and nothing is stored. Raises DataError, StoreError.
        """
        return estimate(
            self.path,
            self.settings,
            map(_cleaned, papers),
            embedder=self._plain_embedder,
            chat=self._chat,
            prompts=self._prompts,
            batch=batch,
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The writer's lock, taken once however many steps a write has. One writing thread at a time."""
        if self._read_only:
            raise StoreError(f"{self.path} was opened read-only", path=str(self.path))
        with self._write_lock, nullcontext() if self._writer.held else self._writer:
            yield

    # -- reading

    def __len__(self) -> int:
        """Number of papers that retrieval sees."""
        snapshot = self.snapshot()
        return len(snapshot) if snapshot is not None else 0

    def snapshot(self) -> Snapshot | None:
        """The state that queries are answered from; None before anything was indexed."""
        with self._lock:
            if self._retriever is None:
                self.refresh()
            return self._retriever.snapshot if self._retriever is not None else None

    def refresh(self) -> None:
        """Answer from the state that is current now. Raises IndexCorruptError, FormatVersionError."""
        snapshot = open_current(self.path, Snapshot)
        with self._lock:
            if self._retriever and snapshot and self._retriever.snapshot.name == snapshot.name:
                return  # nothing new: keep what is warm
            self._retriever = None if snapshot is None else self._make_retriever(snapshot)
            self._checked = False

    def _make_retriever(self, snapshot: Snapshot) -> Retriever:
        return Retriever(
            snapshot,
            assemble.cached(self._plain_embedder, self._queries),
            assemble.make_filter(self.settings, self._chat, self._cache, self._prompts),
            self.settings,
        )

    def _check_embedder(self, snapshot: Snapshot) -> bool:
        """Whether queries are embedded as the snapshot's passages were; False where that cannot be told yet.

        Raises EmbedderMismatchError where they are not.
        """
        built_with = snapshot.about["embedder"]
        try:
            given = assemble.cached(self._plain_embedder, self._queries).space
        except (ModelError, MissingExtraError):
            return False  # the query meets the same failure, and `retrieve.on_model_error` says what it means
        if built_with != given:
            raise EmbedderMismatchError(
                f"{self.path} was indexed with the embedder {built_with}, the settings name {given}: give the"
                " settings it was indexed with, or index again to re-embed",
                path=str(self.path),
                found=built_with,
                expected=given,
            )
        return True

    def retrieve(
        self,
        query: str,
        k: int = 10,
        mode: Mode = "hippo",
        *,
        years: tuple[int | None, int | None] = (None, None),
        exclude: Iterable[str] = (),
        filters: Filters | Mapping[str, Any] | None = None,
        explain: bool = True,
    ) -> RetrievalResult:
        """The `k` best papers for `query`, each with the scores that put it there.

        `filters` (a `Filters` value, or a mapping as for `restriction.parse_filters`) restrict what is
        ranked, not what the graph walks through; `years` (first, last; inclusive) and `exclude` (ids) are
        two of them by themselves. With `explain` each paper carries the way from a seed to it.

        Raises ConfigError, IndexNotFoundError where nothing was indexed yet, EmbedderMismatchError for the
        modes that need vectors, and ModelError where `retrieve.on_model_error` is "raise".
        """
        chosen = parse_filters(filters, years=years, exclude=exclude)
        return self._open_retriever(mode).retrieve(query, k, mode, filters=chosen, explain=explain)

    def retrieve_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        mode: Mode = "hippo",
        *,
        years: tuple[int | None, int | None] = (None, None),
        exclude: Sequence[Iterable[str]] | None = None,
        filters: Filters | Mapping[str, Any] | None = None,
        explain: bool = False,
    ) -> list[RetrievalResult]:
        """One result a query, in order; the queries are embedded together. `exclude` has a group a query;
        `years` and `filters` are for all.
        """
        groups = exclude if exclude is not None else [()] * len(queries)
        chosen = [parse_filters(filters, years=years, exclude=group) for group in groups]
        retriever = self._open_retriever(mode)
        if mode in _EMBEDDING:
            retriever.prepare(queries)
        return [
            retriever.retrieve(query, k, mode, filters=each, explain=explain)
            for query, each in zip(queries, chosen, strict=True)
        ]

    async def aadd(self, papers: Iterable[Paper | Mapping[str, Any]]) -> Counts:
        """`add`, without blocking the event loop."""
        return await asyncio.to_thread(self.add, papers)

    async def aretrieve(
        self, query: str, k: int = 10, mode: Mode = "hippo", **options: Any
    ) -> RetrievalResult:
        """`retrieve`, without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, query, k, mode, **options)

    async def aretrieve_many(
        self, queries: Sequence[str], k: int = 10, mode: Mode = "hippo", **options: Any
    ) -> list[RetrievalResult]:
        """`retrieve_many`, without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve_many, queries, k, mode, **options)

    def _open_retriever(self, mode: Mode) -> Retriever:
        with self._lock:
            if self._retriever is None:
                self.refresh()
            if self._retriever is None:
                raise IndexNotFoundError(
                    f"{self.path} holds no published index yet: add papers first"
                    f" (hippo-lit index FILE --index {self.path})",
                    path=str(self.path),
                )
            if mode in _EMBEDDING and not self._checked and len(self._retriever.snapshot):
                self._checked = self._check_embedder(self._retriever.snapshot)
            return self._retriever

    # -- closing

    def close(self) -> None:
        """Close the files, and the connections of models that were made here."""
        for model in self._made:
            if callable(close := getattr(model, "close", None)):
                close()
        self.store.close()
        self._cache.close()
        self._queries.close()

    def __enter__(self) -> HippoLit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _refuse_other_folders(folder: Path) -> None:
    """Raise StoreError for a folder that holds things, none of them an index's: a slip of the hand."""
    try:
        there = {entry.name.partition("-")[0] for entry in folder.iterdir()}
    except OSError:
        return  # not there yet, or not readable: opening the store says so better
    if there and not there & {"store.db", "writer.lock", "snapshots", assemble.CACHE}:
        raise StoreError(
            f"{folder} is not an index and not empty: name a new or an empty folder", path=str(folder)
        )


def _cleaned(paper: Paper | Mapping[str, Any]) -> Paper:
    """A paper whose text can be stored; a Paper object passes through the same cleaning as a dict."""
    if isinstance(paper, Paper):
        return paper_from_mapping(paper_to_mapping(paper), where=f"paper {paper.id!r}")
    return paper_from_mapping(paper)
