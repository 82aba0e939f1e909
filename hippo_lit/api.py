"""HippoLit: an index folder, and everything one does with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hippo_lit import assemble
from hippo_lit.asking import Asking
from hippo_lit.assemble import Parts
from hippo_lit.config import Settings
from hippo_lit.extraction import Progress
from hippo_lit.models.guard import Budget
from hippo_lit.protocols import ChatModel, Embedder
from hippo_lit.reader import EMBEDDING, Reader
from hippo_lit.remembered import recall
from hippo_lit.restriction import parse_filters
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.store import Store
from hippo_lit.types import Counts, Filters, Mode, Paper, RetrievalResult
from hippo_lit.writer import Batch, Writer, refuse_other_folders

if TYPE_CHECKING:
    from hippo_lit.changes import Change
    from hippo_lit.estimate import Estimate
    from hippo_lit.index import Built

Papers = Iterable[Paper | Mapping[str, Any]]


class HippoLit(Asking):
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
        wait_s: float = 0.0,
    ) -> None:
        """Use `open`."""
        self.path, self.settings, self.store = path, settings, store
        prompts = prompts if prompts is not None else settings.prompts.path
        own_chat = chat if chat is not None else assemble.make_chat(settings)
        own_embedder = embedder if embedder is not None else assemble.make_embedder(settings, prompts)
        self._made = [model for model in (own_chat, own_embedder) if model not in (chat, embedder)]
        parts = Parts(path, settings, own_embedder, own_chat, prompts)
        self._writer = Writer(parts, store, read_only=read_only, wait_s=wait_s)
        self._reader = Reader(parts)

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
        wait_s: float = 0.0,
    ) -> HippoLit:
        """Open the index in folder `path`, made if absent unless `create` is False.

        `settings` are laid over those that the index remembers. `embedder` and `chat` take the place of those
        that they describe, the folder `prompts` that of the shipped one and of `prompts.path`. An index made
        with another embedder is found out when a query needs vectors. A write waits `wait_s` (≥ 0) seconds
        for another writer. Raises IndexNotFoundError, FormatVersionError, IndexCorruptError, ConfigError.
        """
        folder = Path(path).expanduser()
        if create and not read_only:
            refuse_other_folders(folder)
        store = Store.open(folder, create=create and not read_only, read_only=read_only)
        try:
            return cls(
                folder,
                store,
                recall(folder, settings),
                embedder=embedder,
                chat=chat,
                prompts=Path(prompts) if prompts is not None else None,
                read_only=read_only,
                wait_s=wait_s,
            )
        except BaseException:
            store.close()
            raise

    # -- writing

    def add(
        self, papers: Papers, *, progress: Progress | None = None, budget: Budget | None = None
    ) -> Counts:
        """Add papers, or further sources' views of papers that are there, and bring the index up to date.

        Papers may be dicts with at least id and title or abstract. What was added before is not done again.
        Where the chat model fails, or the `budget` ends, the papers are indexed without the facts that are
        missing, and `hippo` answers are called degraded until a later run has found them. Raises DataError
        for a dict that cannot be a paper (nothing of its batch is stored then), IndexLockedError while
        another process writes, EmbeddingError, StoreError.
        """
        with self.writing():
            counts = self.put(papers)
            self.build(progress=progress, budget=budget)
        return counts

    def update(
        self, papers: Papers, *, progress: Progress | None = None, budget: Budget | None = None
    ) -> Counts:
        """As `add`, but each paper is then exactly what is given here: what other sources said of it goes.

        All papers are stored or, where one of them cannot be a paper, none. Raises as `add`.
        """
        with self.writing():
            counts = self._writer.replace(papers)
            self.build(progress=progress, budget=budget)
        return counts

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        source: str | None = None,
        progress: Progress | None = None,
        budget: Budget | None = None,
    ) -> int:
        """Take papers out, or only what `source` said of them, and bring the index up to date.

        A source goes by the names that filters know it by ("bibtex", "refs.bib"); without ids, all that it
        said is forgotten. Returns how many papers that concerned. What was paid for their texts is kept.
        Raises DataError (unknown: the ids) where the index holds no such paper, or nothing of it from
        `source`; EmbedderMismatchError or ConfigError where the settings name other models than the index was
        made with, since all that stays would be done again; nothing is deleted then. Raises also as `add`.
        """
        with self.writing():
            deleted = self.drop(ids, source=source)
            self.build(progress=progress, budget=budget)
        return deleted

    def put(self, papers: Papers) -> Counts:
        """Store papers without indexing them yet; `build` does that."""
        return self._writer.put(papers)

    def drop(self, ids: Iterable[str] | None = None, *, source: str | None = None) -> int:
        """`delete` in the store alone; `build` does the rest."""
        return self._writer.delete(ids, source)

    def build(
        self,
        *,
        progress: Progress | None = None,
        budget: Budget | None = None,
        batch: Batch | None = None,
        rebuild: bool = False,
    ) -> Built:
        """Extract, embed and publish what is new in the store, and remember the settings.

        Nothing is done where nothing is new; `rebuild` publishes anew all the same, which mends damage.
        `budget` ends the calls of the chat model. With `batch` these go into jobs of the provider's Batch
        API: "submit" collects what is answered and comes back at once, "wait" when all is. Failures of the
        model are in what is returned. Raises ConfigError, EmbeddingError, IndexLockedError, StoreError.
        """
        with self.writing():
            built = self._writer.build(progress, budget, batch, rebuild=rebuild)
            self.refresh()
            return built

    def estimate(self, papers: Papers = (), *, batch: bool = False) -> Estimate:
        """What adding `papers` and building would take of models, by batch jobs where `batch` is set.

        No model is asked and nothing is stored. Raises DataError, StoreError.
        """
        return self._writer.estimate(papers, batch=batch)

    def change(self) -> Change | None:
        """What the settings change in the index, and what `build` would do again for it. Asks no model."""
        return self._writer.change()

    async def aadd(self, papers: Papers) -> Counts:
        """`add`, without blocking the event loop."""
        return await asyncio.to_thread(self.add, papers)

    async def aupdate(self, papers: Papers) -> Counts:
        """`update`, without blocking the event loop."""
        return await asyncio.to_thread(self.update, papers)

    async def adelete(self, ids: Iterable[str] | None = None, *, source: str | None = None) -> int:
        """`delete`, without blocking the event loop."""
        return await asyncio.to_thread(self.delete, ids, source=source)

    def writing(self, told: Callable[[str], None] | None = None) -> AbstractContextManager[None]:
        """Holds the right to write over several writes; `told` hears who is waited for meanwhile.

        Raises IndexLockedError (path, pid, host, since) where another holds it for longer than `wait_s`.
        """
        return self._writer.session(told)

    # -- reading

    def __len__(self) -> int:
        """Number of papers that retrieval sees."""
        snapshot = self.snapshot()
        return len(snapshot) if snapshot is not None else 0

    def snapshot(self) -> Snapshot | None:
        """The state that queries are answered from; None before anything was indexed."""
        retriever = self._reader.current()
        return retriever.snapshot if retriever is not None else None

    def refresh(self) -> None:
        """Answer from the state that is current now. Raises IndexCorruptError, FormatVersionError."""
        self._reader.refresh()

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
        with self._reader.answering(mode) as retriever:
            return retriever.retrieve(query, k, mode, filters=chosen, explain=explain)

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
        """One result a query, in order, all embedded together; `exclude` has a group a query."""
        groups = exclude if exclude is not None else [()] * len(queries)
        chosen = [parse_filters(filters, years=years, exclude=group) for group in groups]
        with self._reader.answering(mode) as retriever:
            if mode in EMBEDDING:
                retriever.prepare(queries)
            return [
                retriever.retrieve(query, k, mode, filters=each, explain=explain)
                for query, each in zip(queries, chosen, strict=True)
            ]

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

    # -- closing

    def close(self) -> None:
        """Close the files, and the connections of models that were made here."""
        for model in self._made:
            if callable(close := getattr(model, "close", None)):
                close()
        self.store.close()
        self._reader.close()

    def __enter__(self) -> HippoLit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
