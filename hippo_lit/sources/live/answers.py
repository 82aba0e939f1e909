"""What the modules of the services share: pages of results, records that may be nonsense, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from hippo_lit.errors import DataError
from hippo_lit.sources.live.service import unreadable
from hippo_lit.types import Paper

T = TypeVar("T")
Record = Paper | DataError
"""A record of an answer: the paper, or why it cannot be one."""
Direction = Literal["references", "citations"]


@dataclass(frozen=True, slots=True)
class Page:
    """Some results. `total` is how many the service claims to have; `last`: no more follow."""

    items: Sequence[Any]
    total: int
    last: bool = False


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A paper at the other end of a citation, as far as the service tells it along the way.

    `id` is the service's own; `names` are all identifiers of it that are known, canonical.
    """

    id: str
    names: frozenset[str]
    title: str = ""
    year: int | None = None


def paged(limit: int, size: int, fetch: Callable[[int, int], Page]) -> Iterator[Sequence[Any]]:
    """The first `limit` results, page by page; `fetch(start, number)` gets one page."""
    start = 0
    while start < limit:
        page = fetch(start, min(size, limit - start))
        if page.items:
            yield page.items[: limit - start]
        start += len(page.items)
        if page.last or not page.items or start >= page.total:
            return


def checked_page(items: Any, total: Any, start: int, *, last: bool = False) -> Page:
    """A page whose parts are what they should be. Raises `unreadable`, also where it is empty though more is
    claimed: services in trouble send such pages, and they must not look like the end of the results.
    """
    if not isinstance(items, list):
        raise unreadable("the answer holds no list of results")
    if not isinstance(total, int) or isinstance(total, bool):
        raise unreadable("the answer does not say how many results there are")
    if not items and start < total and not last:
        raise unreadable(f"an empty page at {start:,}, although {total:,} results are claimed")
    return Page(items, total, last)


def record(make: Callable[[Any], Paper], raw: Any) -> Record:
    """The paper that `make` reads from a raw record, or the DataError that it raises."""
    try:
        return make(raw)
    except DataError as problem:
        return problem


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[i : i + size] for i in range(0, len(items), size))


def first_key(names: Iterable[str], forms: Mapping[str, str]) -> str | None:
    """The first of `forms` (by kind, best first) that one of the canonical identifiers fills."""
    by_kind = {kind: value for kind, _, value in (name.partition(":") for name in names)}
    return next((form.format(by_kind[kind]) for kind, form in forms.items() if kind in by_kind), None)


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; anything else in it, or in its place, is left out."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""
