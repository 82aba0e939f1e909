"""From what a reader found of a record, in any format, to a paper with an id of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.identifiers import clean_doi
from hippo_lit.records import paper_from_mapping
from hippo_lit.sources.found import Found
from hippo_lit.sources.markup import readable
from hippo_lit.text import clean, content_hash

_NO_ABSTRACT = re.compile(r"\[?(?:no abstract(?: available)?|abstract not available)\]?\.?", re.IGNORECASE)
NO_TITLE = re.compile(r"\s*|\[?(?:not available|no title(?: available)?)\]?\.?", re.IGNORECASE)
_ENDS_WITH_INITIAL = re.compile(r"(?:^|[\s.-])[^\W\d_]\.?$")
_FULL = re.compile(r"[^\W\d_]+\s+[^\W\d_]\.\s")  # "Jane B. Roe" is no family name


@dataclass(frozen=True, slots=True)
class Draft:
    """A record's fields as they stand in the file; `fallback_id` is what else may name it, best first."""

    title: str = ""
    abstract: str = ""
    years: Iterable[Any] = ()
    authors: Iterable[str] = ()
    dois: Iterable[Any] = ()
    venue: str = ""
    url: str = ""
    references: Iterable[str] = ()
    ids: Mapping[str, Any] = field(default_factory=dict)
    fallback_ids: Iterable[str] = ()
    retracted: bool | None = None
    open_access: Any = None


def found_paper(draft: Draft, line: int, *, source: str, index: int | None = None) -> Found:
    """The paper that a draft describes, or why it is none.

    Its id is its DOI, else its first fallback id, else a hash of title, year and first author.
    """
    title, abstract = readable(draft.title).strip(), readable(draft.abstract).strip()
    title = "" if NO_TITLE.fullmatch(title) else title
    abstract = "" if _NO_ABSTRACT.fullmatch(abstract) else abstract
    if not title and not abstract:
        return Found(line, problem="the record has neither a title nor an abstract", index=index)
    doi = next(filter(None, map(clean_doi, draft.dois)), None)
    number = next(filter(None, map(clean, draft.fallback_ids)), None)
    years, authors = list(draft.years), list(draft.authors)
    data = {
        "title": title,
        "abstract": abstract,
        "year": next((year for year in years if year), None),
        "date": years[1:],
        "authors": authors,
        "references": list(draft.references),
        "doi": doi,
        "venue": readable(draft.venue),
        "url": draft.url,
        "ids": draft.ids,
        "retracted": draft.retracted,
        "open_access": draft.open_access,
    }
    try:
        data["id"] = doi or number or "-"
        paper = paper_from_mapping(data, source=source)
        if data["id"] == "-":
            data["id"] = content_hash(paper.title, str(paper.year), *paper.authors[:1])
            paper = paper_from_mapping(data, source=source)
    except DataError as e:
        return Found(line, problem=e.message, index=index)
    return Found(line, paper, index=index)


def first_name_first(name: str) -> str:
    """ "Doe, Jo, III" as "Jo Doe III"; a name without a comma, or with many, as it is."""
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if len(parts) not in (2, 3):
        return name.strip()
    last, first, *suffix = parts
    return " ".join([first, last, *suffix])


def split_names(text: str) -> list[str]:
    """The persons of one cell, as programs part them: ";", "|", " and ", or commas where these part persons.

    >>> split_names("Doe, J.; Roe, R."), split_names("Doe J, Roe RS"), split_names("Doe, J., Roe, R.")
    (['J. Doe', 'R. Roe'], ['Doe J', 'Roe RS'], ['J. Doe', 'R. Roe'])
    >>> split_names("Smith, John A., Doe, Jane B."), split_names("Smith, John, Doe, Jane B.")
    (['John A. Smith', 'Jane B. Doe'], ['John Smith', 'Jane B. Doe'])
    """
    text = re.sub(r"\(\d+\)", "", clean(text))  # Scopus's author ids
    text = re.sub(r",?\s*\b(?:et al\.?|and others)\s*$", "", text)
    for separator in (";", "|", " and ", " & "):
        if separator in text:
            pieces = [piece.strip(" ,") for piece in text.split(separator)]
            return [first_name_first(piece) for piece in pieces if piece]
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if parts and len(parts) % 2 == 0 and _are_given(parts[1::2], parts[::2]):
        return [f"{first} {last}" for last, first in zip(parts[::2], parts[1::2], strict=True)]
    if len(parts) > 1 and all(" " in part for part in parts):
        return parts
    if len(parts) > 3:
        return parts
    return [first_name_first(text)] if text else []


def _are_given(given: Sequence[str], families: Sequence[str]) -> bool:
    """Whether every other part holds given names: all are initials, or names of which one ends with an
    initial, as no family name does.
    """
    if all(map(_is_initials, given)):
        return True
    ends = any(map(_ENDS_WITH_INITIAL.search, given))
    return ends and not any(map(_ENDS_WITH_INITIAL.search, families)) and not any(map(_FULL.match, families))


def _is_initials(text: str) -> bool:
    """ "J.", "J.-P.", "JP" or "Yu. A."; not a short name, and no name in a script without capitals."""
    parts = re.findall(r"[^\s.-]+\.?", text)
    return 0 < len(parts) <= 4 and all(map(_is_initial, parts))


def _is_initial(part: str) -> bool:
    letters = part.rstrip(".")
    return (letters.isupper() and len(letters) <= 4) or (part[2:] == "." and part.istitle())
