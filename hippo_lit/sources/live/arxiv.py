"""arXiv's Atom API (https://info.arxiv.org/help/api/user-manual.html) to papers.

Not through the package `arxiv`: it ignores Retry-After and has no time-out, and it takes arXiv's errors,
which come as a feed of one entry, for papers. The feed itself is small enough for the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from xml.etree import ElementTree as ET

from hippo_lit.errors import DataError
from hippo_lit.records import paper_from_mapping
from hippo_lit.retry import CallFailed
from hippo_lit.sources.latex import plain_latex
from hippo_lit.sources.live.answers import Page, Record, checked_page, chunks, paged, record
from hippo_lit.sources.live.names import arxiv_id
from hippo_lit.sources.live.service import Fetch, refused, unreadable
from hippo_lit.types import Paper

NAME, TITLE = "arxiv", "arXiv"
MAX_RESULTS = 30_000
"""The API ends there."""
PAGE = 200
_IDS = 100
_NS = {
    "atom": "http://www.w3.org/2005/Atom",
    "arxiv": "http://arxiv.org/schemas/atom",
    "search": "http://a9.com/-/spec/opensearch/1.1/",
}
_DOCTYPE = re.compile(rb"<!DOCTYPE", re.IGNORECASE)


def search(fetch: Fetch, query: str, limit: int) -> Iterator[Record]:
    """Papers for a query in arXiv's own syntax ("cat:cs.CL AND abs:retrieval"), the best first."""

    def page(start: int, number: int) -> Page:
        params = {"search_query": query, "start": str(start), "max_results": str(number)}
        params |= {"sortBy": "relevance", "sortOrder": "descending"}
        return fetch.get("query", params, lambda raw: read_feed(raw, start), what=f'to the search "{query}"')

    return (
        record(paper_from_entry, entry)
        for entry in chain.from_iterable(paged(min(limit, MAX_RESULTS), PAGE, page))
    )


def by_ids(fetch: Fetch, ids: Sequence[str]) -> Iterator[Record]:
    """The papers of arXiv ids, with or without a version. Raises SourceError at the end for unknown ones."""
    unknown = {base: given for given in ids if (base := arxiv_id(given))}
    for some in chunks(list(dict.fromkeys(ids)), _IDS):
        params = {"id_list": ",".join(some), "start": "0", "max_results": str(len(some))}
        page = fetch.get("query", params, read_ids_feed, what=f"for {', '.join(some)}")
        for entry in page.items:
            found = record(paper_from_entry, entry)
            if isinstance(found, Paper):
                unknown.pop(found.id, None)
            yield found
    if unknown:
        raise fetch.missing(unknown.values())


def read_feed(raw: bytes, start: int) -> Page:
    """The entries of a feed that begins at `start`.

    Raises CallFailed for what is no feed, an error that looks like one, and an empty page with more to come.
    """
    entries, total = _entries(raw)
    return checked_page(entries, total, start)


def read_ids_feed(raw: bytes) -> Page:
    """As `read_feed`, for a list of ids, of which some may be unknown."""
    entries, total = _entries(raw)
    return Page(entries, total, last=True)


def words(raw: bytes) -> str:
    """What an answer with an error status says."""
    try:
        entry = _root(raw).find("atom:entry/atom:summary", _NS)
    except CallFailed as no_feed:
        return no_feed.detail
    return _text(entry)


def paper_from_entry(entry: ET.Element) -> Paper:
    """The paper that an entry describes; its id is arXiv's, without the version. Raises DataError."""
    address = _text(entry.find("atom:id", _NS))
    paper_id = arxiv_id(address)
    if paper_id is None:
        raise DataError(f'an entry of the feed has no arXiv id but "{address[:80]}"', record=None, field="id")
    authors = (_text(author.find("atom:name", _NS)) for author in entry.iterfind("atom:author", _NS))
    return paper_from_mapping(
        {
            "id": paper_id,
            "title": _readable(_text(entry.find("atom:title", _NS))),
            "abstract": _readable(_text(entry.find("atom:summary", _NS))),
            "year": _text(entry.find("atom:published", _NS)),
            "authors": list(authors),
            "doi": _text(entry.find("arxiv:doi", _NS)),
            "venue": _text(entry.find("arxiv:journal_ref", _NS)),
            "url": f"https://arxiv.org/abs/{paper_id}",
            "open_access": True,
        },
        source=NAME,
    )


def _entries(raw: bytes) -> tuple[list[ET.Element], int]:
    root = _root(raw)
    total = _text(root.find("search:totalResults", _NS))
    if not total.isdecimal():
        raise unreadable("the feed does not say how many results there are")
    entries = root.findall("atom:entry", _NS)
    for entry in entries:
        if "/api/errors" in _text(entry.find("atom:id", _NS)):
            raise refused(_text(entry.find("atom:summary", _NS)) or "an error without a reason")
    return entries, int(total)


def _root(raw: bytes) -> ET.Element:
    if _DOCTYPE.search(raw):  # a web page; and no entity is ever declared to us
        raise unreadable("the answer is not a feed but a document with a type of its own")
    try:
        root = ET.fromstring(raw)  # noqa: S314 - without a DOCTYPE there are no entities to expand
    except (ET.ParseError, ValueError, LookupError) as e:
        raise unreadable(f"the answer is not XML: {e}") from e
    if root.tag != f"{{{_NS['atom']}}}feed":
        raise unreadable(f"the answer is not a feed but <{root.tag}>")
    return root


def _readable(text: str) -> str:
    """Without the TeX that authors type."""
    return plain_latex(text) if "\\" in text or "$" in text else text


def _text(element: ET.Element | None) -> str:
    return (element.text or "").strip() if element is not None else ""
