"""Snowballing: the papers that those of an index cite, or that cite them, join the index.

Candidates are ranked by how many papers of the index they are linked with, the newer first among equals: what
many of the papers at hand cite is more likely part of their subject than what one of them does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hippo_lit.api import HippoLit
from hippo_lit.assemble import make_services
from hippo_lit.errors import ConfigError, DataError, SourceError
from hippo_lit.extraction import Progress, silent
from hippo_lit.identifiers import identifiers
from hippo_lit.sources.live.answers import Direction, Neighbour
from hippo_lit.sources.live.citations import Citations
from hippo_lit.types import Counts, Paper

if TYPE_CHECKING:
    from hippo_lit.index import Built

Directions = Literal["both", "references", "citations"]
CitationService = Literal["s2", "openalex"]
_DIRECTIONS: dict[Directions, tuple[Direction, ...]] = {
    "both": ("references", "citations"),
    "references": ("references",),
    "citations": ("citations",),
}
_FAILURES_IN_A_ROW = 3  # then the service is taken to be down


@dataclass(frozen=True, slots=True)
class Joined:
    """A paper that joined, and why: the ids of papers that it cites, and that cite it. `hop` is from 1."""

    paper: Paper
    hop: int
    cites: tuple[str, ...]
    cited_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """What `expand` did.

    Of `seeds` papers that were to be asked about, `asked` were answered. `unknown` are the ids of those that
    the service does not know; `capped` of those with more neighbours than were looked at. `candidates` is how
    many linked papers were not in the index, `links` how many citations between its papers were learnt.
    `failures` are what kept answers away; with `stopped` the rest was not asked about, and it says why.
    `requests` went over the network.
    """

    joined: tuple[Joined, ...]
    seeds: int
    asked: int
    candidates: int
    links: int
    unknown: tuple[str, ...]
    capped: tuple[str, ...]
    failures: tuple[SourceError, ...]
    stopped: str
    requests: int
    counts: Counts
    built: Built


@dataclass(slots=True)
class _Candidate:
    neighbour: Neighbour
    cites: set[str] = field(default_factory=set)
    cited_by: set[str] = field(default_factory=set)

    @property
    def order(self) -> tuple[int, int, str]:
        return -len(self.cites | self.cited_by), -(self.neighbour.year or 0), self.neighbour.id


@dataclass(slots=True)
class _Tally:
    seeds: int = 0
    asked: int = 0
    candidates: int = 0
    unknown: list[str] = field(default_factory=list)
    capped: list[str] = field(default_factory=list)
    failures: list[SourceError] = field(default_factory=list)
    stopped: str = ""
    links: set[tuple[str, str]] = field(default_factory=set)  # (citing, cited), both in the index
    joined: list[Joined] = field(default_factory=list)


def expand(
    lit: HippoLit,
    *,
    hops: int = 1,
    direction: Directions = "both",
    limit: int = 200,
    source: CitationService = "s2",
    max_requests: int | None = None,
    progress: Progress = silent,
) -> Expansion:
    """Add at most `limit` papers around those of the index, and the citations among all of them.

    The next hop starts from the papers of the last one; each has an equal part of `limit`. The result depends
    on the index and the service's answers alone. Answers are kept (`sources.cache`), so that a run that was
    interrupted, repeated, asks only for the rest. Where some answers fail, the others count; after three
    failures in a row, or `max_requests` over the network, no more is asked for.

    Raises ConfigError, IndexLockedError, StoreError, ModelError.
    """
    _check(hops, direction, limit, source, max_requests)
    papers = {paper.id: paper for paper in lit.store.papers()}
    known = {name: paper.id for paper in papers.values() for name in identifiers(paper)}
    tally = _Tally()
    with make_services(lit.settings) as services:
        citations = services.citations(source, max_requests)
        seeds: Sequence[Paper] = [papers[paper_id] for paper_id in sorted(papers)]
        for hop in range(1, hops + 1):
            share = (limit - len(tally.joined)) // (hops + 1 - hop)
            found = _candidates(citations, seeds, _DIRECTIONS[direction], known, tally, progress)
            best = sorted(found.values(), key=lambda candidate: candidate.order)[:share]
            joined = list(_fetched(citations, best, hop, tally))
            tally.joined += joined
            seeds = [entry.paper for entry in joined]
            known |= {name: entry.paper.id for entry in joined for name in identifiers(entry.paper)}
            papers |= {entry.paper.id: entry.paper for entry in joined}
            if tally.stopped or not seeds:
                break
    counts = lit.put([*(entry.paper for entry in tally.joined), *_link_views(papers, tally, source)])
    built = lit.build(progress=progress)
    return Expansion(
        tuple(tally.joined),
        tally.seeds,
        tally.asked,
        tally.candidates,
        len(tally.links),
        tuple(tally.unknown),
        tuple(tally.capped),
        tuple(tally.failures),
        tally.stopped,
        citations.quota.made,
        counts,
        built,
    )


def _check(hops: int, direction: str, limit: int, source: str, max_requests: int | None) -> None:
    for key, number in (("hops", hops), ("limit", limit), ("max_requests", max_requests)):
        if number is not None and number < 1:
            raise ConfigError(f"{key} must be at least 1, got {number}", key=key)
    for key, value, allowed in (
        ("direction", direction, tuple(_DIRECTIONS)),
        ("source", source, ("s2", "openalex")),
    ):
        if value not in allowed:
            raise ConfigError(f"{key} must be one of {', '.join(allowed)}, got {value!r}", key=key)


def _candidates(
    citations: Citations,
    seeds: Sequence[Paper],
    directions: Sequence[Direction],
    known: dict[str, str],
    tally: _Tally,
    progress: Progress,
) -> dict[str, _Candidate]:
    """What the seeds are linked with and the index does not hold, by the service's id."""
    found: dict[str, _Candidate] = {}
    tally.seeds += len(seeds)
    in_a_row = 0
    for number, seed in enumerate(seeds, 1):
        progress("cite", number - 1, len(seeds))
        key = citations.key(seed)
        if key is None:
            tally.unknown.append(seed.id)
            continue
        try:
            for direction in directions:
                around = citations.around(key, direction)
                if around.capped:
                    tally.capped.append(seed.id)
                for neighbour in around.neighbours:
                    _note(neighbour, seed.id, direction, known, found, tally)
            tally.asked += 1
            in_a_row = 0
        except SourceError as failure:
            if failure.status == 404:
                tally.unknown.append(seed.id)
                continue
            if failure.kind == "budget":
                tally.stopped = f"all {citations.quota.allowed:,} requests that were allowed are made"
                break
            tally.failures.append(failure)
            in_a_row += 1
            if in_a_row == _FAILURES_IN_A_ROW:
                tally.stopped = f"{citations.service.title} failed {in_a_row} times in a row"
                break
    progress("cite", len(seeds), len(seeds))
    tally.candidates += len(found)
    return found


def _note(
    neighbour: Neighbour,
    seed: str,
    direction: Direction,
    known: dict[str, str],
    found: dict[str, _Candidate],
    tally: _Tally,
) -> None:
    """Count one citation: as a link within the index, or for a candidate."""
    own = next((known[name] for name in sorted(neighbour.names) if name in known), None)
    if own == seed:
        return
    if own is not None:
        tally.links.add((seed, own) if direction == "references" else (own, seed))
        return
    candidate = found.setdefault(neighbour.id, _Candidate(neighbour))
    (candidate.cited_by if direction == "references" else candidate.cites).add(seed)


def _fetched(citations: Citations, best: Sequence[_Candidate], hop: int, tally: _Tally) -> Iterator[Joined]:
    """The chosen candidates as papers, as far as the service gives them, in their order."""
    papers: dict[str, Paper] = {}
    try:
        if best:
            for record in citations.papers([candidate.neighbour.id for candidate in best]):
                if not isinstance(record, DataError):
                    papers[record.id] = record
    except SourceError as failure:
        tally.failures.append(failure)
    for candidate in best:
        if paper := papers.get(candidate.neighbour.id):
            yield Joined(paper, hop, tuple(sorted(candidate.cites)), tuple(sorted(candidate.cited_by)))


def _link_views(papers: dict[str, Paper], tally: _Tally, source: str) -> Iterable[Paper]:
    """The citations that were learnt, under the ids that the index itself uses.

    They are views of their own (source "s2-links"): the service's view names papers by the service's ids,
    and is replaced whenever the paper is fetched again.
    """
    links = set(tally.links)
    for entry in tally.joined:
        links |= {(entry.paper.id, cited) for cited in entry.cites}
        links |= {(citing, entry.paper.id) for citing in entry.cited_by}
    cited_by: dict[str, list[str]] = {}
    for citing, cited in sorted(links):
        cited_by.setdefault(citing, []).append(cited)
    for citing, references in cited_by.items():
        paper = papers[citing]
        abstract = "" if paper.title else paper.abstract  # a view must have one of them
        yield Paper(citing, paper.title, abstract, references=tuple(references), source=f"{source}-links")
