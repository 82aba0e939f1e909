"""Which papers an answer cites, checked against those that were shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_GROUP = re.compile(r"[\[【]([^\[\]【】\n]{1,300})[\]】]")
_SEPARATOR = re.compile(r"\s*[,;，；、]\s*")
_LIKE_AN_ID = re.compile(r"[\d:/]")
_NO_CITATION = ("sic", "...", "…")


@dataclass(frozen=True, slots=True)
class Citations:
    """`known` ids were shown, in the order of their first citation; `unknown` are what else is cited."""

    known: tuple[str, ...]
    unknown: tuple[str, ...]


def find_citations(text: str, shown: Sequence[str], passages: str = "") -> Citations:
    """The citations in `text`: ids in square brackets, several of them parted by commas or semicolons.

    An id that was shown counts in parentheses too, in whatever case. Brackets that stand in the `passages`
    themselves, as in "the [MASK] token", cite nothing, unless what they hold looks like an id (a digit, a
    colon or a slash in it): a passage cannot vouch for a paper that was not shown.
    """
    forms = {paper_id.casefold(): paper_id for paper_id in shown if paper_id}
    known: dict[int, str] = {}
    if forms:
        ids = _any_of(forms)
        group, one = _group_of(ids), re.compile(ids, re.IGNORECASE)
        for found in group.finditer(text):
            for each in one.finditer(found[1]):
                known[found.start(1) + each.start()] = forms.get(each[0].casefold(), each[0])
        text = group.sub(lambda found: " " * len(found[0]), text)
    unknown: dict[str, None] = {}
    for found in _GROUP.finditer(text):
        for part in _SEPARATOR.split(found[1]):
            name = part.strip()
            if name.casefold() in forms:
                known[found.start()] = forms[name.casefold()]
            elif _is_citation(name, found[0], passages):
                unknown[name] = None
    return Citations(tuple(dict.fromkeys(known[at] for at in sorted(known))), tuple(unknown))


def without_citations(text: str, cited: Sequence[str]) -> str:
    """`text` without the brackets that cite any of `cited`, and without the spaces before them.

    >>> without_citations("In Kraków [p3; p4] (1999).", ["p3", "p4"])
    'In Kraków (1999).'
    """
    names = [name for name in cited if name]
    if not names:
        return text
    return re.sub(rf"\s*{_group_of(_any_of(names)).pattern}", "", text, flags=re.IGNORECASE)


def _any_of(names: Iterable[str]) -> str:
    # The longest first: one id may begin another.
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def _group_of(ids: str) -> re.Pattern[str]:
    return re.compile(
        rf"[\[【(（]\s*((?:{ids})(?:{_SEPARATOR.pattern}(?:{ids}))*)\s*[\]】)）]", re.IGNORECASE
    )


def _is_citation(name: str, group: str, passages: str) -> bool:
    if not any(c.isalnum() for c in name) or name.casefold() in _NO_CITATION:
        return False
    return bool(_LIKE_AN_ID.search(name)) or group not in passages
