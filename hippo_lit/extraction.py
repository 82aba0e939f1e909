"""One run of an extractor over the passages that lack facts; every result is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, TypeVar

from hippo_lit.errors import ChatModelError, DataError
from hippo_lit.protocols import FactExtractor
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Passage

_BATCH = 256
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Called as (stage, done, total)."""


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a run left behind: `done` by passage hash, whenever it was extracted, and `new` of this run.

    `failed` has the message of each passage that was tried in vain, by hash. `left` counts those that were
    not tried, and `stopped` says why: the budget is used up, the account is refused, replies are awaited.
    `notes` tell what else a person should know.
    """

    done: Mapping[str, Extraction]
    new: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    left: int = 0
    stopped: str = ""
    pending: bool = False
    """Whether jobs were submitted whose replies will come."""
    degraded: bool = False
    """Whether it stopped because a model or an account failed, not because it was told to."""
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(self.failed.values())


class Extracting(Protocol):
    """What an index asks for the facts of its passages."""

    def run(self, passages: Sequence[Passage], hashes: Sequence[str]) -> Extracted:
        """The extractions of `passages`, whose hashes are given. Raises StoreError, ConfigError."""
        ...


@dataclass(slots=True)
class ExtractionRun:
    """`Extracting` by an extractor, a call at a time, into `store`.

    A passage that fails is recorded with its reason and tried again by the next run. Nothing that
    concerns one passage ends the run. Passages that an error left untried are not recorded as failed.
    """

    store: Store
    extractor: FactExtractor
    progress: Progress = field(default=silent)

    def run(self, passages: Sequence[Passage], hashes: Sequence[str]) -> Extracted:
        """All extractions, what is new, what failed and what is left. Raises StoreError."""
        done = self.store.extractions(self.extractor.name, hashes)
        missing = {h: p for h, p in zip(hashes, passages, strict=True) if h not in done}
        failed: dict[str, str] = {}
        untried: list[ChatModelError] = []
        new = 0
        self.progress("extract", 0, len(missing))
        for batch in _batches(iter(missing.items()), _BATCH):
            found: list[tuple[str, Extraction | Exception]] = []
            try:
                outcomes = self.extractor.extract([passage for _, passage in batch])
                for (text_hash, passage), outcome in zip(batch, outcomes, strict=True):
                    if isinstance(outcome, Extraction):
                        found.append((text_hash, outcome))
                        done[text_hash] = outcome
                        new += 1
                    elif isinstance(outcome, ChatModelError) and outcome.untried:
                        untried.append(outcome)
                    else:
                        found.append((text_hash, outcome))
                        failed[text_hash] = f"{passage.paper_id}: {outcome}"
                    self.progress("extract", new + len(failed) + len(untried), len(missing))
            finally:  # what was found before an interruption is kept
                for text_hash, refused in self._keep(found):
                    del done[text_hash]
                    new -= 1
                    failed[text_hash] = f"{missing[text_hash].paper_id}: {refused}"
        return Extracted(
            done,
            new,
            failed,
            len(untried),
            stopped=_why(untried),
            pending=any(error.kind == "pending" for error in untried),
            degraded=any(error.kind not in ("pending", "budget") for error in untried),
        )

    def _keep(self, found: Sequence[tuple[str, Extraction | Exception]]) -> list[tuple[str, DataError]]:
        """Commit results; those that the store refuses become failures, so that they take no others along."""
        try:
            self.store.put_extractions(self.extractor.name, found)
        except DataError:
            refused = []
            for text_hash, outcome in found:
                try:
                    self.store.put_extractions(self.extractor.name, [(text_hash, outcome)])
                except DataError as error:
                    self.store.put_extractions(self.extractor.name, [(text_hash, error)])
                    refused.append((text_hash, error))
            return refused
        return []


def _why(untried: Sequence[ChatModelError]) -> str:
    """The first reason that a person can do something about; else the first."""
    acted = [error for error in untried if error.kind != "pending"]
    return (acted or list(untried))[0].message if untried else ""


def _batches(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(items, size)):
        yield batch
