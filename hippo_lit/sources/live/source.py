"""A question to a service as a PaperSource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hippo_lit.errors import DataError
from hippo_lit.sources.files import MAX_PROBLEMS, SourceReport
from hippo_lit.sources.live.answers import Record
from hippo_lit.sources.live.service import Fetch, Service
from hippo_lit.types import Paper


class LiveSource:
    """What a service has for one question; a PaperSource.

    Papers are fetched page by page as they are asked for; whoever stops asking stops the fetch. A failure
    raises SourceError after all papers that arrived before it. `report` tells what came of the records.
    """

    def __init__(
        self,
        name: str,
        service: Service,
        ask: Callable[[Fetch], Iterable[Record]],
        most: int | None = None,
    ) -> None:
        """`name` is the question as it was put ("arxiv:cat:cs.CL"); `most` is how many results the service
        gives at most, where more are asked for.
        """
        self.name = name
        self.service = service
        self._ask = ask
        self._most = most
        self._papers = 0
        self._problems: list[DataError] = []
        self._skipped = 0

    @property
    def report(self) -> SourceReport:
        """What `papers()` met so far, in its latest run."""
        read = self._papers + self._skipped
        notes = [f"{self.name}: {self.service.title} gives no more than {read:,} results to a search"]
        capped = self._most is not None and read >= self._most
        problems = tuple(self._problems)
        return SourceReport(read, self._papers, self._skipped, problems, tuple(notes if capped else ()))

    def papers(self) -> Iterator[Paper]:
        """Every paper once, in the order of the answer. May be called again; the deadline starts anew.

        Raises SourceError (source, status, retry_after_s).
        """
        self._papers = self._skipped = 0
        self._problems = []
        seen: set[str] = set()
        for found in self._ask(self.service.begin()):
            if isinstance(found, DataError):
                self._skip(found)
            elif found.id in seen:  # pages move while they are read
                self._skip(DataError(f'"{found.id}" came twice', record=found.id, field="id"))
            else:
                seen.add(found.id)
                self._papers += 1
                yield found

    def _skip(self, problem: DataError) -> None:
        self._skipped += 1
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(DataError(f"{self.name}: {problem.message}", **problem.fields))
