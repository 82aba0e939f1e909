"""CSL-JSON, Zotero's items (API and Better BibTeX) and Semantic Scholar's records to papers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hippo_lit.records import paper_from_mapping
from hippo_lit.sources.built import Draft, found_paper
from hippo_lit.sources.found import Found
from hippo_lit.sources.markup import readable

_NO_PAPERS = ("attachment", "note", "annotation")
_EXTRA = re.compile(r"^\s*(DOI|PMID|PMCID|arXiv)\s*:\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_VENUES = (
    "publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "websiteTitle",
    "journalAbbreviation", "university", "institution", "repository",
)  # fmt: skip
_RETRACTIONS = ("retraction", "removal", "withdrawal")
_CSL_MARKS = (
    "container-title",
    "issued",
    "accessed",
    "citation-key",
    "title-short",
    "publisher-place",
)

_CSL_TYPES = frozenset(
    ("article-journal", "article-magazine", "article-newspaper", "paper-conference", "entry-dictionary",
     "entry-encyclopedia", "post-weblog", "review-book")
)  # fmt: skip
"""Those that no other form has."""


def is_zotero(record: Mapping[str, Any]) -> bool:
    """Whether this is an item of Zotero, bare or as its API wraps it."""
    data = record.get("data")
    return "itemType" in record or (isinstance(data, Mapping) and "itemType" in data)


def is_csl(record: Mapping[str, Any]) -> bool:
    """Whether this is an item of CSL-JSON, or of Crossref, whose own form it is."""
    if not isinstance(record.get("type"), str) or "authors" in record:  # "authors" is our own
        return False
    if record["type"] in _CSL_TYPES:
        return True
    people = record.get("author")
    named = isinstance(people, list) and any(isinstance(one, Mapping) and "family" in one for one in people)
    return named or any(mark in record for mark in _CSL_MARKS)


def is_retracted(record: Mapping[str, Any]) -> bool:
    """Whether Crossref says that a work was retracted, by its publisher or by Retraction Watch.

    That stands in "updated-by"; "update-to" is the notice's. A correction, a partial retraction and an
    expression of concern leave a work standing.
    """
    updates = (one for one in _list(record.get("updated-by")) if isinstance(one, Mapping))
    return any(_text(one.get("type")).strip().lower() in _RETRACTIONS for one in updates)


def is_semantic_scholar(record: Mapping[str, Any]) -> bool:
    """Whether this is a paper of Semantic Scholar's API or bulk files."""
    return any(mark in record for mark in ("corpusid", "corpusId", "externalids", "externalIds", "paperId"))


def zotero(record: Mapping[str, Any], line: int, index: int | None) -> Found:
    """The paper that a Zotero item describes; its id is its DOI, else its citation key, else its own key."""
    item = record["data"] if isinstance(record.get("data"), Mapping) else record
    kind = item.get("itemType")
    if kind in _NO_PAPERS:
        return Found(line, problem=f"the Zotero {kind} is no paper itself", index=index, harmless=True)
    extra = {name.lower(): value for name, value in _EXTRA.findall(_text(item.get("extra")))}
    people = [one for one in _list(item.get("creators")) if isinstance(one, Mapping)]
    authors = [one for one in people if one.get("creatorType") == "author"] or [
        one for one in people if one.get("creatorType") not in ("editor", "translator", "reviewedAuthor")
    ]
    keys = (
        item.get("citationKey"),
        item.get("citekey"),
        item.get("itemKey"),
        record.get("key"),
        item.get("key"),
    )
    archive = _text(item.get("archiveID")) if "arxiv" in _text(item.get("archiveID")).lower() else ""
    draft = Draft(
        title=_text(
            item.get("title") or item.get("caseName") or item.get("nameOfAct") or item.get("subject")
        ),
        abstract=_text(item.get("abstractNote")),
        years=[item.get("date"), item.get("dateDecided") or item.get("dateEnacted") or item.get("issueDate")],
        authors=[_zotero_name(one) for one in authors],
        dois=[item.get("DOI"), extra.get("doi"), item.get("url")],
        venue=next((text for key in _VENUES if (text := _text(item.get(key)))), ""),
        url=_text(item.get("url")),
        ids={"pmid": extra.get("pmid"), "pmcid": extra.get("pmcid"), "arxiv": extra.get("arxiv") or archive},
        fallback_ids=[key for key in keys if isinstance(key, str)],
    )
    return found_paper(draft, line, source="zotero", index=index)


def csl(record: Mapping[str, Any], line: int, index: int | None) -> Found:
    """The paper that a CSL item describes; its id is its DOI, else its PMID, else its own id."""
    pmid = record.get("PMID")
    own = record.get("id")
    dates = ("issued", "published", "published-print", "published-online", "original-date", "submitted")
    draft = Draft(
        title=_text(record.get("title")),
        abstract=_text(record.get("abstract")),
        years=[record.get(key) for key in dates if record.get(key)],
        authors=[name for one in _list(record.get("author")) if (name := _csl_name(one))],
        dois=[record.get("DOI"), own, record.get("URL")],
        venue=_text(record.get("container-title") or record.get("event-title") or record.get("event")),
        url=_text(record.get("URL")),
        references=[
            one["DOI"].lower()
            for one in _list(record.get("reference"))
            if isinstance(one, Mapping) and isinstance(one.get("DOI"), str)
        ],
        ids={"pmid": pmid, "pmcid": record.get("PMCID")},
        fallback_ids=[f"pmid:{pmid}" if isinstance(pmid, str | int) and pmid else "", _text(own)],
        retracted=is_retracted(record) or None,
    )
    return found_paper(draft, line, source="csl", index=index)


def semantic_scholar(record: Mapping[str, Any], line: int, index: int | None) -> Found:
    """The paper of a Semantic Scholar record, under the id that it has there."""
    known = {**_mapping(record.get("externalIds")), **_mapping(record.get("externalids"))}
    doi = next((value for key, value in known.items() if str(key).lower() == "doi"), None)
    journal = _mapping(record.get("journal")).get("name")
    texts = {key: readable(_text(record.get(key))) for key in ("title", "abstract")}
    data = {**record, **texts, "doi": doi or record.get("doi"), "venue": record.get("venue") or journal}
    return Found(line, paper_from_mapping(data, source="s2"), index=index)


def _zotero_name(person: Mapping[str, Any]) -> str:
    parts = (_text(person.get("firstName")), _text(person.get("lastName")))
    return " ".join(filter(None, parts)) or _text(person.get("name"))


def _csl_name(person: Any) -> str:
    if not isinstance(person, Mapping):
        return _text(person)
    family = [_text(person.get(key)) for key in ("non-dropping-particle", "family")]
    parts = [
        _text(person.get("given")),
        _text(person.get("dropping-particle")),
        *family,
        _text(person.get("suffix")),
    ]
    return " ".join(filter(None, parts)) or _text(person.get("literal") or person.get("name"))


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = next((one for one in value if isinstance(one, str)), "")
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 64:
        return str(value)
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
