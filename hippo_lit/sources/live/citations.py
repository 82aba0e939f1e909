"""The citations around a paper, from a service that has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from hippo_lit.identifiers import identifiers
from hippo_lit.sources.live.answers import Direction, Neighbour, Record
from hippo_lit.sources.live.service import Fetch, Quota, Service
from hippo_lit.types import Paper

MAX_NEIGHBOURS = 1000


class CitationModule(Protocol):
    """What the module of a service with citations offers."""

    def key(self, names: Iterable[str]) -> str | None: ...

    def neighbours(self, fetch: Fetch, key: str, direction: Direction, limit: int) -> Iterator[Neighbour]: ...

    def by_ids(self, fetch: Fetch, ids: Sequence[str]) -> Iterator[Record]: ...


@dataclass(frozen=True, slots=True)
class Around:
    """The neighbours of a paper in one direction. `capped`: there may be more than MAX_NEIGHBOURS."""

    neighbours: tuple[Neighbour, ...]
    capped: bool


class Citations:
    """One service's citations. Each call is a fetch with its own deadline; `quota` is for all of them."""

    def __init__(self, service: Service, module: CitationModule, quota: Quota) -> None:
        self.service = service
        self.quota = quota
        self._module = module

    @property
    def name(self) -> str:
        return self.service.name

    def key(self, paper: Paper) -> str | None:
        """How the service is asked for this paper; None where nothing says how it may know it."""
        return self._module.key(sorted(identifiers(paper)))

    def around(self, key: str, direction: Direction) -> Around:
        """The papers that a paper cites, or that cite it, in the service's order.

        Raises SourceError, with status 404 for a paper that the service does not know, and with kind "budget"
        where the quota does not suffice.
        """
        found = self._module.neighbours(self.service.begin(self.quota), key, direction, MAX_NEIGHBOURS)
        neighbours = tuple(found)
        return Around(neighbours, len(neighbours) >= MAX_NEIGHBOURS)

    def papers(self, ids: Sequence[str]) -> Iterator[Record]:
        """The papers of the service's own ids. Raises SourceError at the end for those that it lacks."""
        return self._module.by_ids(self.service.begin(), ids)  # a chosen paper is never too much
