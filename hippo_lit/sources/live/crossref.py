"""Crossref's REST API (https://api.crossref.org) to papers.

Not through the package `habanero`: it tries nothing again, gives a failed request for one DOI back as None,
and its time-out is one between two reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any
from urllib.parse import quote

from hippo_lit.errors import DataError, SourceError
from hippo_lit.records import clean_doi, paper_from_mapping
from hippo_lit.sources.csl_zotero import is_retracted
from hippo_lit.sources.live.answers import Page, Record, checked_page, mapping, mappings, paged, record, text
from hippo_lit.sources.live.service import Fetch, unreadable
from hippo_lit.sources.markup import strip_markup
from hippo_lit.types import Paper

NAME, TITLE = "crossref", "Crossref"
MAX_RESULTS = 10_000
"""Offsets end there; its cursors do not, but expire within minutes, so that a fetch could not be resumed."""
_PAGE = 100


def search(fetch: Fetch, query: str, limit: int) -> Iterator[Record]:
    """Works for a query in plain words, the most relevant first."""

    def page(start: int, number: int) -> Page:
        params = {"query.bibliographic": query, "rows": str(number), "offset": str(start)}
        return fetch.json(
            "works", params, lambda data: _results(data, start), what=f'to the search "{query}"'
        )

    pages = paged(min(limit, MAX_RESULTS), _PAGE, page)
    return (record(paper_from_item, item) for item in chain.from_iterable(pages))


def by_ids(fetch: Fetch, ids: Sequence[str]) -> Iterator[Record]:
    """The works of DOIs. Raises SourceError at the end for those that are not registered there."""
    unknown: list[str] = []
    for doi in dict.fromkeys(ids):
        try:
            item = fetch.json(f"works/{quote(doi, safe='/')}", {}, _message, what=f"for {doi}")
        except SourceError as e:
            if e.status != 404:
                raise
            unknown.append(doi)
        else:
            yield record(paper_from_item, item)
    if unknown:
        raise fetch.missing(unknown)


def paper_from_item(item: Any) -> Paper:
    """The paper that a work describes; its id is its DOI, and its references are those with a DOI.

    Raises DataError where there is no DOI, or neither title nor abstract.
    """
    item = mapping(item)
    doi = clean_doi(item.get("DOI"))
    if doi is None:
        problem = f'a work has no DOI but "{str(item.get("DOI"))[:80]}"'
        raise DataError(problem, record=None, field="id")
    references = (clean_doi(other.get("DOI")) for other in mappings(item.get("reference")))
    return paper_from_mapping(
        {
            "id": doi,
            "title": ": ".join(filter(None, (_first(item.get("title")), _first(item.get("subtitle"))))),
            "abstract": strip_markup(text(item.get("abstract"))),
            "year": item.get("issued"),
            "date": item.get("published"),
            "authors": [_author(author) for author in mappings(item.get("author"))],
            "references": [other for other in references if other],
            "doi": doi,
            "venue": _first(item.get("container-title")) or None,
            "url": item.get("URL"),
            "retracted": is_retracted(item),
        },
        source=NAME,
    )


def _first(value: Any) -> str:
    """The first of several titles, or the only one."""
    value = value[0] if isinstance(value, list) and value else value
    return strip_markup(text(value)).strip()


def _author(author: Mapping[str, Any]) -> str:
    parts = [text(author.get("given")), text(author.get("family")), text(author.get("suffix"))]
    return " ".join(filter(None, parts)) or text(author.get("name"))


def _message(data: Any) -> Any:
    message = mapping(data).get("message")
    if not isinstance(message, Mapping) or "DOI" not in message:
        raise unreadable("the answer is not a work")
    return message


def _results(data: Any, start: int) -> Page:
    message = mapping(mapping(data).get("message"))
    return checked_page(message.get("items"), message.get("total-results"), start)
