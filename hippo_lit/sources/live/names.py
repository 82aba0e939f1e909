"""Identifiers as the services want them: the value alone, without the kind that `identifiers` puts first."""

from __future__ import annotations

import re

from hippo_lit.identifiers import canonical, clean_doi, parse

_VERSION = re.compile(r"(v\d+)(?:\.pdf)?/?$", re.IGNORECASE)
_LABEL = re.compile(r"^doi\s*[:=]?\s*", re.IGNORECASE)


def arxiv_id(text: str, *, version: bool = False) -> str | None:
    """The bare arXiv id that a text is, with the version that it names if that is asked for.

    >>> arxiv_id("https://arxiv.org/abs/2101.00001v2"), arxiv_id("hep-th/9901001v1", version=True)
    ('2101.00001', 'hep-th/9901001v1')
    """
    found = _value("arxiv", parse(text))
    named = _VERSION.search(text.strip()) if found and version else None
    return f"{found}{named[1].lower()}" if named else found


def s2_id(text: str) -> str | None:
    """The 40 hexadecimal digits of Semantic Scholar's id, bare or in its address."""
    return _value("s2", canonical("s2", text))


def openalex_id(text: str) -> str | None:
    """The short id of an OpenAlex work, bare or in its address.

    >>> openalex_id("https://openalex.org/w2741809807")
    'W2741809807'
    """
    return _value("openalex", canonical("openalex", text))


def doi(text: str) -> str | None:
    """The DOI that a text is, bare, labelled or as an address; None where the text holds more than that."""
    text = text.strip()
    return None if re.search(r"\s", _LABEL.sub("", text)) else clean_doi(text)


def names_of(*texts: str) -> frozenset[str]:
    """The canonical forms of `texts` as far as they are identifiers."""
    return frozenset(found for text in texts if (found := parse(text)))


def _value(kind: str, name: str | None) -> str | None:
    return name.partition(":")[2] if name and name.startswith(f"{kind}:") else None
