"""Semantic Scholar's Graph API (https://api.semanticscholar.org/api-docs/graph) to papers.

Not through the package `semanticscholar`: it tries only 429 again and without Retry-After, takes every other
unforeseen status (401, 502, 503) for an empty answer, and cannot be sent to another address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hippo_lit.errors import DataError, SourceError
from hippo_lit.identifiers import from_mapping
from hippo_lit.records import paper_from_mapping, parse_year
from hippo_lit.sources.live.answers import (
    Direction,
    Neighbour,
    Page,
    Record,
    checked_page,
    chunks,
    first_key,
    mapping,
    mappings,
    paged,
    record,
    text,
)
from hippo_lit.sources.live.names import names_of, s2_id
from hippo_lit.sources.live.service import Fetch, unreadable
from hippo_lit.types import Paper

NAME, TITLE = "s2", "Semantic Scholar"
MAX_RESULTS = 1000
"""The search gives no more, whatever it claims to have."""
_FIELDS = "paperId,externalIds,title,abstract,year,publicationDate,authors,venue,url,isOpenAccess"
# Citations are left out: a famous paper has more of them than an answer may hold, and those from within a
# corpus follow from the references of the others.
_ALL_FIELDS = f"{_FIELDS},references.paperId"
_KEYS = {
    "s2": "{}", "corpusid": "CorpusId:{}", "doi": "DOI:{}", "arxiv": "ARXIV:{}", "pmid": "PMID:{}",
    "acl": "ACL:{}", "mag": "MAG:{}",
}  # fmt: skip
_PAGE = 100
_BATCH = 100
_EDGES = 1000
_OTHER_END: dict[Direction, str] = {"references": "citedPaper", "citations": "citingPaper"}


def search(fetch: Fetch, query: str, limit: int) -> Iterator[Record]:
    """Papers for a query in plain words, the most relevant first, 1,000 at most; with their references."""

    def page(start: int, number: int) -> Page:
        params = {"query": query, "fields": _FIELDS, "offset": str(start), "limit": str(number)}
        return fetch.json(
            "paper/search", params, lambda data: _results(data, start), what=f'to the search "{query}"'
        )

    for items in paged(min(limit, MAX_RESULTS), _PAGE, page):
        ids = [found for item in items if (found := s2_id(text(mapping(item).get("paperId"))))]
        try:
            full = {data["paperId"]: data for data in _batch(fetch, ids) if data} if ids else {}
        except SourceError:
            yield from (record(paper_from_record, item) for item in items)  # what arrived is kept
            raise
        for item in items:
            yield record(paper_from_record, full.get(mapping(item).get("paperId"), item))


def by_ids(fetch: Fetch, ids: Sequence[str]) -> Iterator[Record]:
    """The papers of ids as the API takes them (40 hexadecimal digits, "DOI:…", "ARXIV:…", "CorpusId:…").

    Raises SourceError at the end for those it does not know.
    """
    unknown: list[str] = []
    for some in chunks(list(dict.fromkeys(ids)), _BATCH):
        for asked, data in zip(some, _batch(fetch, some), strict=True):
            if data is None:
                unknown.append(asked)
            else:
                yield record(paper_from_record, data)
    if unknown:
        raise fetch.missing(unknown)


def neighbours(fetch: Fetch, key: str, direction: Direction, limit: int) -> Iterator[Neighbour]:
    """The papers that a paper cites, or that cite it, the first `limit` that the service gives.

    Raises SourceError, with status 404 where the service does not know the paper.
    """

    def page(start: int, number: int) -> Page:
        params = {"fields": "externalIds,title,year", "offset": str(start), "limit": str(number)}
        return fetch.json(
            f"paper/{quote(key, safe=':/')}/{direction}", params, _edges, what=f"for the {direction} of {key}"
        )

    for items in paged(limit, _EDGES, page):
        for item in items:
            other = mapping(mapping(item).get(_OTHER_END[direction]))
            if found := s2_id(text(other.get("paperId"))):
                yield Neighbour(found, _names(other), text(other.get("title")), parse_year(other.get("year")))


def key(names: Iterable[str]) -> str | None:
    """How to ask for a paper of these canonical identifiers; None where the service knows none of them."""
    return first_key(names, _KEYS)


def paper_from_record(data: Any) -> Paper:
    """The paper that a record describes; its id, and those of its references, are the service's own.

    Raises DataError where there is no id, or neither title nor abstract.
    """
    data = mapping(data)
    paper_id = s2_id(text(data.get("paperId")))
    if paper_id is None:
        problem = f'a record has no id of Semantic Scholar but "{str(data.get("paperId"))[:80]}"'
        raise DataError(problem, record=None, field="id")
    journal = text(mapping(data.get("journal")).get("name"))
    return paper_from_mapping(
        {
            "id": paper_id,
            "title": data.get("title"),
            "abstract": data.get("abstract"),
            "year": data.get("year"),
            "date": data.get("publicationDate"),
            "authors": [author.get("name") for author in mappings(data.get("authors"))],
            "references": [other.get("paperId") for other in mappings(data.get("references"))],
            "citations": [other.get("paperId") for other in mappings(data.get("citations"))],
            "doi": text(mapping(data.get("externalIds")).get("DOI")) or None,
            "ids": mapping(data.get("externalIds")),
            "open_access": data.get("isOpenAccess"),
            "venue": data.get("venue") or journal or None,
            "url": data.get("url"),
        },
        source=NAME,
    )


def _batch(fetch: Fetch, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
    """One record an id, None for an unknown one."""

    def read(data: Any) -> list[Mapping[str, Any] | None]:
        if not isinstance(data, list) or len(data) != len(ids):
            raise unreadable(f"the answer is not a list of {len(ids)} papers")
        return [item if isinstance(item, Mapping) else None for item in data]

    return fetch.json(
        "paper/batch",
        {"fields": _ALL_FIELDS},
        read,
        what=f"for {len(ids)} papers",
        body={"ids": list(ids)},
    )


def _results(data: Any, start: int) -> Page:
    data = mapping(data)
    items = data.get("data")
    if items is None and data.get("total") == 0:
        items = []
    return checked_page(items, data.get("total"), start, last=start > 0 and "next" not in data)


def _edges(data: Any) -> Page:
    if not isinstance(data, Mapping) or "data" not in data:
        raise unreadable("the answer holds no list of citations")
    items = data["data"]
    if items is None:  # the publisher does not let them be shown
        return Page([], 0, last=True)
    if not isinstance(items, list):
        raise unreadable("the answer holds no list of citations")
    more = data.get("next")
    return Page(items, more + 1 if isinstance(more, int) else 0, last=not isinstance(more, int))


def _names(data: Mapping[str, Any]) -> frozenset[str]:
    ids = mapping(data.get("externalIds"))
    return frozenset((*names_of(text(data.get("paperId"))), *from_mapping(ids)))
