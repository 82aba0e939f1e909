"""OpenAlex works, as its API and its snapshot give them (the 2023 and the 2026 schema), to papers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.identifiers import from_mapping, parse
from hippo_lit.records import paper_from_mapping
from hippo_lit.sources.markup import readable
from hippo_lit.types import Paper

_WORK_ID = re.compile(r"(?:https?://(?:api\.)?openalex\.org/(?:works/)?)?(W\d+)", re.IGNORECASE)
_CERTAIN = ("abstract_inverted_index", "authorships")
_LIKELY = ("referenced_works", "host_venue", "primary_location", "publication_year")


def is_work(record: Mapping[str, Any]) -> bool:
    """Whether a record is an OpenAlex work rather than one of our own."""
    if any(field in record for field in _CERTAIN):
        return True
    return _short_id(record.get("id")) is not None and any(field in record for field in _LIKELY)


def paper_from_work(work: Mapping[str, Any]) -> Paper:
    """The paper that a work describes; its id and its references are short ids ("W2741809807").

    Raises DataError where there is no work's id, or neither title nor abstract.
    """
    ids = _mapping(work.get("ids"))
    work_id = _short_id(work.get("id")) or _short_id(ids.get("openalex"))
    if work_id is None:
        problem = f'the record is not an OpenAlex work: its id is "{str(work.get("id"))[:80]}", not "W…"'
        raise DataError(problem, record=None, field="id")
    places = [_mapping(work.get(key)) for key in ("primary_location", "best_oa_location")]
    venues = [_mapping(place.get("source")) for place in places] + [_mapping(work.get("host_venue"))]
    # Before the abstract was an inverted index it was MAG's, and pyalex adds it as plain text.
    abstract = abstract_text(work.get("abstract_inverted_index")) or work.get("abstract")
    return paper_from_mapping(
        {
            "id": work_id,
            "title": _plain(work.get("title") or work.get("display_name")),
            "abstract": _plain(abstract),
            "year": work.get("publication_year"),
            "date": work.get("publication_date"),
            "authors": [_author(_mapping(entry)) for entry in _list(work.get("authorships"))],
            "references": [_short_id(other) for other in _list(work.get("referenced_works"))],
            "doi": work.get("doi") or ids.get("doi"),
            "venue": next((name for venue in venues if (name := venue.get("display_name"))), None),
            "ids": [*from_mapping(ids), *_arxiv_ids(work)],
            "retracted": work.get("is_retracted"),
            "open_access": _mapping(work.get("open_access")).get("is_oa"),
            "url": places[0].get("landing_page_url") or work.get("doi"),
        },
        source="openalex",
    )


def abstract_text(index: Any) -> str:
    """The text of an inverted index {word: [positions]}, in order of position; gaps close up.

    What is no word or no position is left out. A text, as some copies of the data hold, stays.
    """
    if isinstance(index, str):
        return index
    index = _mapping(index)
    index = _mapping(index.get("InvertedIndex")) or index  # MAG wraps it with its length
    places = [
        (position, word)
        for word, positions in index.items()
        for position in _list(positions)
        if isinstance(word, str) and isinstance(position, int) and not isinstance(position, bool)
    ]
    return " ".join(word for _, word in sorted(places))


def _short_id(value: Any) -> str | None:
    found = _WORK_ID.fullmatch(value.strip()) if isinstance(value, str) else None
    return found[1].upper() if found else None


def _arxiv_ids(work: Mapping[str, Any]) -> list[str]:
    """The arXiv ids under which a work also lies; a repository's copy of an article is that article."""
    places = [*_list(work.get("locations")), work.get("primary_location"), work.get("best_oa_location")]
    addresses = [_mapping(place).get(key) for place in places for key in ("landing_page_url", "pdf_url")]
    found = (parse(address) for address in addresses if isinstance(address, str))
    return [name for name in found if name and name.startswith("arxiv:")]


def _author(entry: Mapping[str, Any]) -> str | None:
    name = _mapping(entry.get("author")).get("display_name") or entry.get("raw_author_name")
    return name if isinstance(name, str) else None


def _plain(value: Any) -> Any:
    return readable(value) if isinstance(value, str) else value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
