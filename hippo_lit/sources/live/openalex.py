"""OpenAlex's API (https://docs.openalex.org) to papers; `sources.openalex` reads the works themselves.

Not through the package `pyalex`: its address, key and retries are one global for the whole process, and a
request of it has no time-out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any
from urllib.parse import quote

from hippo_lit.errors import SourceError
from hippo_lit.records import parse_year
from hippo_lit.sources.live.answers import (
    Direction,
    Neighbour,
    Page,
    Record,
    checked_page,
    chunks,
    first_key,
    mapping,
    paged,
    record,
    text,
)
from hippo_lit.sources.live.names import names_of, openalex_id
from hippo_lit.sources.live.service import Fetch, unreadable
from hippo_lit.sources.openalex import paper_from_work

NAME, TITLE = "openalex", "OpenAlex"
MAX_RESULTS = 10_000
"""Pages end there."""
_FIELDS = (
    "id,doi,ids,title,display_name,publication_year,publication_date,type,authorships,primary_location,"
    "best_oa_location,referenced_works,abstract_inverted_index,open_access,is_retracted"
)
_EDGE_FIELDS = "id,doi,ids,title,publication_year"
_KEYS = {
    "openalex": "{}", "doi": "doi:{}", "pmid": "pmid:{}", "mag": "mag:{}", "arxiv": "doi:10.48550/arxiv.{}"
}  # fmt: skip
_PAGE = 100
_BATCH = 50  # ids in one filter


def search(fetch: Fetch, query: str, limit: int) -> Iterator[Record]:
    """Works for a query in plain words, the most relevant first."""
    pages = _works(
        fetch, {"search": query, "select": _FIELDS}, min(limit, MAX_RESULTS), f'to the search "{query}"'
    )
    return (record(paper_from_work, mapping(work)) for work in chain.from_iterable(pages))


def by_ids(fetch: Fetch, ids: Sequence[str]) -> Iterator[Record]:
    """The works of ids, "W…" or "doi:10.…". Raises SourceError at the end for unknown ones."""
    unknown: list[str] = []
    works = [work for given in ids if (work := openalex_id(given))]
    for some in chunks(list(dict.fromkeys(works)), _BATCH):
        left = dict.fromkeys(some)
        for work in _by_work_ids(fetch, some, _FIELDS):
            left.pop(openalex_id(text(work.get("id"))) or "", None)
            yield record(paper_from_work, work)
        for merged in left:  # a work that was merged into another one answers under its old id alone
            yield from _one(fetch, merged, unknown)
    for given in dict.fromkeys(given for given in ids if not openalex_id(given)):
        yield from _one(fetch, given, unknown)
    if unknown:
        raise fetch.missing(unknown)


def neighbours(fetch: Fetch, key: str, direction: Direction, limit: int) -> Iterator[Neighbour]:
    """The works that a work cites, or the newest that cite it, `limit` at most.

    Raises SourceError, with status 404 where the service does not know the work.
    """
    work = _get(fetch, key, "id,referenced_works")
    if direction == "citations":
        params = {"filter": f"cites:{openalex_id(text(work.get('id')))}", "select": _EDGE_FIELDS}
        params["sort"] = "publication_date:desc"
        found = chain.from_iterable(_works(fetch, params, limit, f"for the citations of {key}"))
    else:
        cited = work.get("referenced_works")
        ids = (
            [short for other in cited if (short := openalex_id(text(other)))]
            if isinstance(cited, list)
            else []
        )
        found = chain.from_iterable(
            _by_work_ids(fetch, some, _EDGE_FIELDS) for some in chunks(ids[:limit], _BATCH)
        )
    for other in map(mapping, found):
        if short := openalex_id(text(other.get("id"))):
            names = names_of(short, text(other.get("doi")))
            yield Neighbour(short, names, text(other.get("title")), parse_year(other.get("publication_year")))


def key(names: Iterable[str]) -> str | None:
    """How to ask for a work of these canonical identifiers; None where the service knows none of them."""
    return first_key(names, _KEYS)


def _one(fetch: Fetch, given: str, unknown: list[str]) -> Iterator[Record]:
    """The work of one id; one that is not known is added to `unknown`."""
    try:
        work = _get(fetch, given, _FIELDS)
    except SourceError as e:
        if e.status != 404:
            raise
        unknown.append(given)
    else:
        yield record(paper_from_work, work)


def _get(fetch: Fetch, key: str, fields: str) -> Any:
    def read(data: Any) -> Any:
        if openalex_id(text(mapping(data).get("id"))) is None:
            raise unreadable("the answer is not a work")
        return data

    return fetch.json(f"works/{quote(key, safe=':/')}", {"select": fields}, read, what=f"for {key}")


def _by_work_ids(fetch: Fetch, ids: Sequence[str], fields: str) -> list[Any]:
    params = {"filter": f"openalex:{'|'.join(ids)}", "select": fields, "per-page": str(_BATCH)}

    def read(data: Any) -> list[Any]:
        works = mapping(data).get("results")
        if not isinstance(works, list):
            raise unreadable("the answer holds no list of works")
        return [mapping(work) for work in works]

    return fetch.json("works", params, read, what=f"for {len(ids)} works")


def _works(fetch: Fetch, params: dict[str, str], limit: int, what: str) -> Iterator[Sequence[Any]]:
    size = str(min(_PAGE, limit))  # the same for every page, since pages are counted
    numbers = count(1)

    def page(start: int, _number: int) -> Page:
        place = {"page": str(next(numbers)), "per-page": size}
        return fetch.json("works", {**params, **place}, lambda data: _results(data, start), what=what)

    return paged(limit, _PAGE, page)


def _results(data: Any, start: int) -> Page:
    return checked_page(mapping(data).get("results"), mapping(mapping(data).get("meta")).get("count"), start)
