"""Filters applied to a snapshot: which papers may be ranked, and what to say where these are few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hippo_lit.facets import HAS_ABSTRACT, OPEN_ACCESS, RETRACTED
from hippo_lit.snapshot import Snapshot
from hippo_lit.types import Filters

Mask = NDArray[np.bool_]
_LISTED = 3
_FLAGS = (
    ("open_access", OPEN_ACCESS, "known to be open access", "not known to be open access"),
    ("has_abstract", HAS_ABSTRACT, "with an abstract", "without an abstract"),
    ("retracted", RETRACTED, "retracted", "not retracted"),
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """`mask` has one truth value a paper. `counts` says for each filter, in words, how many papers pass it
    alone; `unknown` names what was asked for and no paper has, with what may have been meant.
    """

    mask: Mask
    counts: tuple[tuple[str, int], ...] = ()
    unknown: tuple[str, ...] = ()

    def reason(self, ranked: int) -> str:
        """What a result of `ranked` papers should say of the filters; "" where nothing."""
        said = list(self.unknown)
        if self.counts and not ranked:
            each = ", ".join(f"{count:,} {what}" for what, count in self.counts)
            together = int(self.mask.sum())
            nothing = "" if not together else ", and none of these has anything to do with the query"
            said.append(f"the filters leave {together:,} of {len(self.mask):,} papers ({each}){nothing}")
        return "; ".join(said)


def allowed(filters: Filters, snapshot: Snapshot) -> Allowed:
    """What `filters` leave of `snapshot`."""
    counts: list[tuple[str, int]] = []
    unknown: list[str] = []
    mask = np.ones(len(snapshot), dtype=np.bool_)
    for what, passing in _masks(filters, snapshot, unknown):
        counts.append((what, int(passing.sum())))
        mask &= passing
    mask.flags.writeable = False
    return Allowed(mask, tuple(counts), tuple(unknown))


def _masks(filters: Filters, snapshot: Snapshot, unknown: list[str]) -> Iterator[tuple[str, Mask]]:
    """Each filter that is set, in words, with the papers that pass it; adds to `unknown`."""
    size, facets = len(snapshot), snapshot.facets
    first, last = filters.first_year, filters.last_year
    if first is not None or last is not None:
        years = snapshot.years
        inside = (years >= (-np.inf if first is None else first)) & (
            years <= (np.inf if last is None else last)
        )
        yield f"of the years {'' if first is None else first}–{'' if last is None else last}", inside

    def any_of(kind: str, names: Sequence[str], rows: Callable[[str], NDArray[np.int32]]) -> Mask:
        passing = np.zeros(size, dtype=np.bool_)
        for name in names:
            found = rows(name)
            passing[found] = True
            if not len(found):
                near = _near(snapshot, kind, name)
                hint = f"; near ones: {', '.join(near)}" if near else ""
                unknown.append(f'no paper has the {kind} "{name}"{hint}')
        return passing

    for kind, names, rows in (
        ("author", filters.authors, facets.by_author),
        ("venue", filters.venues, facets.by_venue),
        ("source", filters.sources, facets.by_source),
    ):
        if names:
            listed = ", ".join(f'"{name}"' for name in names[:_LISTED])
            yield f"of {kind} {listed}{'…' if len(names) > _LISTED else ''}", any_of(kind, names, rows)
    for field, flag, so, not_so in _FLAGS:
        wanted = getattr(filters, field)
        if wanted is not None:
            yield so if wanted else not_so, ((facets.flags & flag) > 0) == wanted
    if filters.only is not None:
        passing, strangers = _having(snapshot, filters.only)
        if strangers:
            unknown.append(f"the index holds no paper {_listed(strangers)}")
        yield "of the ids given", passing
    if filters.exclude:
        passing, strangers = _having(snapshot, filters.exclude)
        if strangers:
            unknown.append(f"the index holds no paper {_listed(strangers)}, which is to be excluded")
        yield "not excluded", ~passing


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_LISTED]) + (f" and {len(ids) - _LISTED:,} more" if len(ids) > _LISTED else "")


def _having(snapshot: Snapshot, ids: Sequence[str]) -> tuple[Mask, list[str]]:
    passing = np.zeros(len(snapshot), dtype=np.bool_)
    strangers = []
    for paper_id in ids:
        number = snapshot.find(paper_id)
        if number is None:
            strangers.append(paper_id)
        else:
            passing[number] = True
    return passing, strangers


def _near(snapshot: Snapshot, kind: str, name: str) -> list[str]:
    if kind == "author":
        return snapshot.facets.near_authors(name)
    if kind == "source":
        return snapshot.facets.near_sources(name)
    return [snapshot.paper(number).venue or "" for number in snapshot.facets.near_venues(name)]
