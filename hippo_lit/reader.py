"""The reading side of an index: the published state that queries are answered from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from hippo_lit import assemble
from hippo_lit.assemble import Parts
from hippo_lit.errors import (
    EmbedderMismatchError,
    HippoLitError,
    IndexCorruptError,
    IndexNotFoundError,
    MissingExtraError,
    ModelError,
)
from hippo_lit.llm.prompts import Prompt
from hippo_lit.models.guard import Budget
from hippo_lit.protocols import ChatModel
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.disk import ADVICE_REBUILD
from hippo_lit.storage.publish import current, open_current
from hippo_lit.storage.seal import damage
from hippo_lit.types import Mode

if TYPE_CHECKING:  # what answers and checks is imported by who asks for it: a search must not wait for it
    from hippo_lit.answer.answering import Answerer
    from hippo_lit.answer.extracts import NearestSentences
    from hippo_lit.answer.prior_art import PriorArtChecker

EMBEDDING: tuple[Mode, ...] = ("hippo", "dense", "hybrid")
"""The modes that compare a query's vector with those of the index."""


class Reader:
    """Opens the published state and keeps it, warm, until `refresh` finds another. Safe to share between
    threads: who has a retriever keeps its state, whatever is published meanwhile.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Replies are paid for, so they are kept where that can be done, read-only or not; without a chat
        # model there is nothing to keep.
        kept = assemble.cache_path(parts.settings, parts.path) if parts.chat is not None else None
        self._replies = Cache(kept, on_write_error="skip")
        self._queries = Cache(None)
        self._refreshing = Lock()
        self._retriever: Retriever | None = None
        self._checked = ""  # the state whose embedder was found to be ours

    def current(self) -> Retriever | None:
        """The state in use; None before anything was published."""
        if self._retriever is None:
            self.refresh()
        return self._retriever

    def refresh(self) -> None:
        """Move on to the state that is current now. Raises IndexCorruptError, FormatVersionError."""
        with self._refreshing:  # one after the other, so that no thread puts an older state back
            published = current(self._parts.path)
            if self._retriever and published and self._retriever.snapshot.name == published.name:
                return  # nothing new: keep what is warm
            snapshot = open_current(self._parts.path, Snapshot)
            self._retriever = None if snapshot is None else self._make(snapshot)

    @contextmanager
    def answering(self, mode: Mode) -> Iterator[Retriever]:
        """The state in use, fit for `mode`, as long as it answers.

        Raises IndexNotFoundError, EmbedderMismatchError; IndexCorruptError in place of an error that nobody
        expects, where the checksums say that it is the files and not a bug.
        """
        retriever = self._fit_for(mode)
        try:
            yield retriever
        except HippoLitError:
            raise
        except Exception as error:
            folder = retriever.snapshot.folder
            broken = damage(folder) if folder.is_dir() else []
            if not broken:
                raise
            raise IndexCorruptError(
                f"the snapshot is damaged: {'; '.join(broken)}. {ADVICE_REBUILD}", path=str(folder)
            ) from error

    def answerer(self, budget: Budget | None = None) -> Answerer:
        """Who answers one question, within `budget`; by extracts where there is no chat model.

        Raises PromptError, and ConfigError for a budget in USD without prices.
        """
        from hippo_lit.answer.answering import Answerer, AnswerModels

        settings, stages = self._parts.settings, self._stages(budget)
        models = None if stages is None else AnswerModels(answer=stages("answer"), ircot=stages("ircot"))
        return Answerer(models, settings.answer, strict=settings.retrieve.on_model_error == "raise")

    def prior_art_checker(self, budget: Budget | None = None) -> PriorArtChecker:
        """Who checks one hypothesis; without a verdict where there is no chat model. Raises as `answerer`."""
        from hippo_lit.answer.prior_art import PriorArtChecker, PriorArtModels

        settings, stages = self._parts.settings, self._stages(budget)
        models = None
        if stages is not None:
            models = PriorArtModels(stages("prior_art_claims"), stages("prior_art"), settings.llm.concurrency)
        return PriorArtChecker(models, settings.prior_art, strict=settings.retrieve.on_model_error == "raise")

    def _stages(self, budget: Budget | None) -> Callable[[str], tuple[ChatModel, Prompt]] | None:
        parts = self._parts
        if parts.chat is None:
            return None
        return assemble.make_stages(parts.settings, parts.chat, self._replies, parts.prompts, budget)

    def sentences(self, snapshot: Snapshot, mode: Mode) -> NearestSentences:
        """The sentences of a state, by vectors for the modes that compare those."""
        from hippo_lit.answer.extracts import NearestSentences

        embedder = assemble.cached(self._parts.embedder, self._queries)
        return NearestSentences(snapshot, embedder, vectors=mode in EMBEDDING)

    def close(self) -> None:
        self._replies.close()
        self._queries.close()

    def _fit_for(self, mode: Mode) -> Retriever:
        retriever = self.current()
        if retriever is None:
            path = self._parts.path
            raise IndexNotFoundError(
                f"{path} holds no published index yet: add papers first"
                f" (hippo-lit index FILE --index {path})",
                path=str(path),
            )
        unchecked = self._checked != retriever.snapshot.name and len(retriever.snapshot)
        if mode in EMBEDDING and unchecked and self._check_embedder(retriever.snapshot):
            self._checked = retriever.snapshot.name
        return retriever

    def _make(self, snapshot: Snapshot) -> Retriever:
        parts = self._parts
        return Retriever(
            snapshot,
            assemble.cached(parts.embedder, self._queries),
            assemble.make_filter(parts.settings, parts.chat, self._replies, parts.prompts),
            parts.settings,
        )

    def _check_embedder(self, snapshot: Snapshot) -> bool:
        """Whether queries are embedded as the snapshot's passages were; False where that cannot be told yet.

        Raises EmbedderMismatchError where they are not.
        """
        path, built_with = self._parts.path, snapshot.about["embedder"]
        try:
            given = assemble.cached(self._parts.embedder, self._queries).space
        except (ModelError, MissingExtraError):
            return False  # the query meets the same failure, and `retrieve.on_model_error` says what it means
        if built_with != given:
            raise EmbedderMismatchError(
                f"{path} was indexed with the embedder {built_with}, the settings name {given}. Search"
                " without settings of embedding, since the index remembers its own; or embed it again with"
                f" the new ones: hippo-lit index --index {path} with the same --config or --set",
                path=str(path),
                found=built_with,
                expected=given,
            )
        return True
