"""What a filter prompt is tried on: queries, their candidates, what the rest of the route makes of a choice.

The candidates of a question do not depend on the filter, so they are found once. `ranking` then answers with
any choice of them, without a model: the same graph walk as in `search`.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from hippo_lit import assemble
from hippo_lit.config import Settings
from hippo_lit.errors import DataError, IndexNotFoundError
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.filtering import states_fact
from hippo_lit.evaluate.run import FactSeen
from hippo_lit.evaluate.runner import Runner
from hippo_lit.evaluate.systems import changed
from hippo_lit.extraction import Progress, silent
from hippo_lit.protocols import Embedder
from hippo_lit.render import fact_text
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.publish import open_current
from hippo_lit.text import content_hash
from hippo_lit.types import FilterOutcome, Filters, ScoredFact

_choice: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar("choice", default=())


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its candidates. `relevant` are indices of those that state a gold fact."""

    query: Query
    candidates: tuple[ScoredFact, ...]
    relevant: frozenset[int] = frozenset()

    @property
    def id(self) -> str:
        return self.query.id


class _Chosen:
    """A FactFilter that keeps what was chosen before."""

    name = "chosen"

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:  # noqa: ARG002
        kept = tuple(i for i in _choice.get() if i < len(candidates))
        return FilterOutcome(kept, similarities=(1.0,) * len(kept))


class Bench:
    """One published index, ready to be asked. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot, embedder: Embedder, settings: Settings) -> None:
        raising = changed(settings, {"retrieve.on_model_error": "raise"})
        self.snapshot = snapshot
        self._retriever = Retriever(snapshot, embedder, _Chosen(), raising)

    @classmethod
    @contextmanager
    def open(
        cls,
        data: Dataset,
        settings: Settings,
        store: Path,
        *,
        index: Path | None = None,
        progress: Progress = silent,
    ) -> Iterator[tuple[Bench, Cache]]:
        """A bench over an index of your own, or over one of the set's papers that is kept in `store`; and the
        file of replies there.

        Raises IndexNotFoundError, ConfigError, EmbeddingError, StoreError.
        """
        runner = Runner(data, store, index=index, progress=progress)
        with runner.opened(settings) as (folder, embedder):
            snapshot = open_current(folder, Snapshot)
            if snapshot is None:
                raise IndexNotFoundError(
                    f"{folder} holds no published index yet: add papers first"
                    f" (hippo-lit index FILE --index {folder})",
                    path=str(folder),
                )
            with Cache(assemble.cache_path(settings, store)) as replies:
                yield cls(snapshot, embedder, settings), replies

    def case(self, query: Query) -> Case:
        """A query with its candidates."""
        found = self._retriever.retrieve(query.text, 1, explain=False).trace.candidates
        relevant = {
            i
            for i, candidate in enumerate(found)
            if any(states_fact(_seen(candidate), fact, query.relevant) for fact in query.gold_facts)
        }
        return Case(query, found, frozenset(relevant))

    def cases(self, queries: Sequence[Query], progress: Progress = silent) -> list[Case]:
        """The queries that can tell something of a filter: with candidates, and with gold facts or the
        knowledge that nothing answers them. Raises DataError where there is none.
        """
        self._retriever.prepare([query.text for query in queries])
        found = []
        for done, query in enumerate(queries, start=1):
            if query.gold_facts or not query.relevant:
                case = self.case(query)
                if case.candidates:
                    found.append(case)
            progress("candidates", done, len(queries))
        if not any(case.query.gold_facts for case in found):
            raise DataError(
                "none of these queries has gold facts and candidates: label some with `hippo-lit label`, and"
                " give an index that holds facts"
            )
        return found

    def ranking(self, case: Case, kept: Sequence[int], k: int) -> list[str]:
        """The ids of the `k` best papers where the filter keeps these candidates."""
        token = _choice.set(tuple(kept))
        first, last = case.query.years
        try:
            found = self._retriever.retrieve(
                case.query.text,
                k,
                filters=Filters(first, last, exclude=case.query.leave_out),
                explain=False,
            )
        finally:
            _choice.reset(token)
        return [ranked.paper.id for ranked in found.papers]


class _Split(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def split(self) -> str: ...


Q = TypeVar("Q", bound=_Split)


def halves(queries: Sequence[Q]) -> tuple[list[Q], list[Q]]:
    """(to tune on, held out), of queries or of whatever else has an id and a split: by the splits "tune" and
    "test" where a set has them, else by a hash of the id, so that one stays on its side whatever else the set
    holds.
    """
    if any(query.split in ("tune", "test") for query in queries):
        held = [query for query in queries if query.split == "test"]
        return [query for query in queries if query.split in ("tune", "train")], held
    odd = {query.id: int(content_hash("half", query.id)[0], 16) % 2 for query in queries}
    return [q for q in queries if odd[q.id]], [q for q in queries if not odd[q.id]]


def _seen(fact: ScoredFact) -> FactSeen:
    return FactSeen(fact_text(fact), fact.sentence, fact.similarity, kept=False, papers=fact.paper_ids)
