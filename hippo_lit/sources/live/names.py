"""The names of a paper across services, each written one way: "doi:10.1/x", "arxiv:2101.00001", "s2:…"."""

from __future__ import annotations

import re
from typing import Literal

from hippo_lit.records import clean_doi
from hippo_lit.types import Paper

Kind = Literal["arxiv", "doi", "s2", "openalex"]

_ARXIV = re.compile(
    r"(?:https?://(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/|arxiv:\s*)?"
    r"([a-z-]+(?:\.[a-z]{2})?/\d{7}|\d{4}\.\d{4,5})(v\d+)?(?:\.pdf)?/?",
    re.IGNORECASE,
)
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+)", re.IGNORECASE)
_S2 = re.compile(
    r"(?:https?://(?:www\.)?semanticscholar\.org/paper/(?:[^/\s]+/)?)?([0-9a-f]{40})", re.IGNORECASE
)
_OPENALEX = re.compile(r"(?:https?://(?:api\.)?openalex\.org/(?:works/)?)?(W\d+)", re.IGNORECASE)


def arxiv_id(text: str, *, version: bool = False) -> str | None:
    """The bare arXiv id that a text is, in lower case, with its version if that is asked for.

    >>> arxiv_id("https://arxiv.org/abs/2101.00001v2"), arxiv_id("hep-th/9901001"), arxiv_id("abc")
    ('2101.00001', 'hep-th/9901001', None)
    """
    text = text.strip()
    if doi := _ARXIV_DOI.fullmatch(clean_doi(text) or ""):
        text = doi[1]
    found = _ARXIV.fullmatch(text)
    if not found:
        return None
    return (found[1] + (found[2] or "" if version else "")).lower()


def s2_id(text: str) -> str | None:
    """The 40 hexadecimal digits of Semantic Scholar's id, bare or in its address."""
    found = _S2.fullmatch(text.strip())
    return found[1].lower() if found else None


def openalex_id(text: str) -> str | None:
    """The short id of an OpenAlex work, bare or in its address.

    >>> openalex_id("https://openalex.org/w2741809807")
    'W2741809807'
    """
    found = _OPENALEX.fullmatch(text.strip())
    return found[1].upper() if found else None


def doi(text: str) -> str | None:
    """The DOI that a text is, bare, labelled or as an address; None where it is more than that."""
    text = text.strip()
    return (
        clean_doi(text)
        if text and not re.search(r"\s", re.sub(r"^doi\s*[:=]?\s*", "", text, flags=re.I))
        else None
    )


def names_of(*texts: str | None) -> frozenset[str]:
    """Every name that one of `texts` (ids, DOIs, addresses) is; a DOI of arXiv's own is an arXiv id too."""
    found: set[str] = set()
    for given in filter(None, texts):
        for kind, read in (("arxiv", arxiv_id), ("s2", s2_id), ("openalex", openalex_id), ("doi", doi)):
            if name := read(given):
                found.add(f"{kind}:{name}")
    return frozenset(found)


def names_of_paper(paper: Paper) -> frozenset[str]:
    return names_of(paper.id, paper.doi, paper.url)
