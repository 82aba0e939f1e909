"""What a person asks a service for, as one word of the command line: "arxiv:cat:cs.CL", a DOI, an address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hippo_lit.errors import ConfigError
from hippo_lit.sources.live.names import arxiv_id, doi, openalex_id, s2_id

ServiceName = Literal["arxiv", "s2", "openalex", "crossref"]
FORMS = (
    "arxiv:QUERY or arxiv:ID, s2:QUERY or s2:ID, openalex:QUERY or openalex:ID, crossref:QUERY or"
    " crossref:DOI, doi:DOI"
)

_PREFIX = re.compile(r"(arxiv|s2|openalex|crossref|doi):\s*(.*)", re.IGNORECASE | re.DOTALL)
_S2_FORM = re.compile(r"(CorpusId|PMID|PMCID|ACL|MAG):\s*([\w.-]+)", re.IGNORECASE)
_S2_KINDS = {"corpusid": "CorpusId"}


@dataclass(frozen=True, slots=True)
class Spec:
    """A question to a service: a `query` in its own syntax, or `ids` in the form that it takes."""

    given: str
    service: ServiceName
    query: str = ""
    ids: tuple[str, ...] = ()


def parse_spec(given: str) -> Spec | None:
    """The question that a word is, or None where it is none (then it is a path).

    Ids may be several, parted by commas; a bare DOI, arXiv id or address of one needs no prefix. A DOI is
    looked up at Crossref, one of arXiv's own at arXiv. Raises ConfigError for a prefix without a question,
    and for a DOI that is none.

    >>> parse_spec("arxiv:2101.00001v2, hep-th/9901001").ids
    ('2101.00001v2', 'hep-th/9901001')
    >>> parse_spec("s2:dense retrieval").query, parse_spec("refs.bib")
    ('dense retrieval', None)
    """
    prefixed = _PREFIX.fullmatch(given.strip())
    if prefixed is None:
        return _bare(given)
    service, asked = prefixed[1].lower(), prefixed[2].strip()
    if not asked:
        raise ConfigError(f"{given!r} asks for nothing; write {FORMS}", key="source")
    words = [word for word in re.split(r"\s*,\s*", asked) if word]
    match service:
        case "doi":
            dois = [doi(word) for word in words]
            if None in dois or not dois:
                raise ConfigError(f"{given!r} is no DOI; one looks like doi:10.1234/abc", key="source")
            return _of_dois(given, [found for found in dois if found])
        case "arxiv":
            return _either(given, "arxiv", asked, [arxiv_id(word, version=True) for word in words])
        case "s2":
            return _either(given, "s2", asked, [_s2_form(word) for word in words])
        case "openalex":
            return _either(given, "openalex", asked, [_openalex_form(word) for word in words])
        case _:
            return _either(given, "crossref", asked, [doi(word) for word in words])


def _bare(given: str) -> Spec | None:
    if found := arxiv_id(given, version=True):
        return Spec(given, "arxiv", ids=(found,))
    if (work := openalex_id(given)) and "://" in given:
        return Spec(given, "openalex", ids=(work,))
    if (paper := s2_id(given)) and "://" in given:
        return Spec(given, "s2", ids=(paper,))
    looks_like = re.match(r"(?:https?://(?:dx\.|www\.)?doi\.org/)?10\.\d{4,}", given.strip(), re.IGNORECASE)
    return _of_dois(given, [found]) if looks_like and (found := doi(given)) else None


def _of_dois(given: str, dois: list[str]) -> Spec:
    if all(arxiv := [arxiv_id(found) for found in dois]):
        return Spec(given, "arxiv", ids=tuple(found for found in arxiv if found))
    return Spec(given, "crossref", ids=tuple(dois))


def _either(given: str, service: ServiceName, query: str, ids: list[str | None]) -> Spec:
    """A list of ids, if every word is one, else a query."""
    known = tuple(found for found in ids if found)
    if known and len(known) == len(ids):
        return Spec(given, service, ids=known)
    return Spec(given, service, query=query)


def _s2_form(word: str) -> str | None:
    if found := s2_id(word):
        return found
    if found := arxiv_id(word):
        return f"ARXIV:{found}"
    if found := doi(word):
        return f"DOI:{found}"
    other = _S2_FORM.fullmatch(word)
    return f"{_S2_KINDS.get(other[1].lower(), other[1].upper())}:{other[2]}" if other else None


def _openalex_form(word: str) -> str | None:
    if found := openalex_id(word):
        return found
    return f"doi:{found}" if (found := doi(word)) else None
