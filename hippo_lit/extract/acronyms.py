"""Acronyms that a text defines: "retrieval-augmented generation (RAG)", "RAG (retrieval-augmented …)".

The long form is found as in Schwartz and Hearst (2003), "A simple algorithm for identifying abbreviation
definitions in biomedical text": from the right, every letter or digit of the short form must occur in the
words before the bracket, the first of them at the beginning of a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RELATION = "stands for"

_BRACKET = re.compile(r"\(([^()\[\]]{2,120})\)")
_SHORT = re.compile(r"[^\W_](?:[\w.&/+-]{0,10}[^\W_]\+?|\+)")


@dataclass(frozen=True, slots=True)
class Definition:
    """A short form and its long form, as the text writes them."""

    short: str
    long: str


def definitions(text: str) -> list[Definition]:
    """Every definition in `text`, in order."""
    found = []
    for bracket in _BRACKET.finditer(text):
        before = text[max(0, bracket.start() - 200) : bracket.start()].rstrip()
        last = before[before.rfind(" ") + 1 :]
        inside = re.split(r"[,;]\s", bracket[1])[0].strip()
        if _is_short(inside) and (long := _long_form(inside, before)):
            found.append(Definition(inside, long))
        elif _is_short(last) and _long_form(last, inside) == inside:
            found.append(Definition(last, inside))
    return found


def _is_short(text: str) -> bool:
    """Two to twelve characters, without spaces, more than one of them a capital or with digits."""
    if not _SHORT.fullmatch(text) or text.isdigit():
        return False
    return sum(c.isupper() for c in text) >= 2 or (text[0].isupper() and any(c.isdigit() for c in text))


def _long_form(short: str, before: str) -> str:
    """The shortest run of words at the end of `before` that spells `short`; "" where none does."""
    letters = [c.lower() for c in short if c.isalnum()]
    if len(letters) > 2 and letters[-1] == "s" and short[-1] == "s":
        letters.pop()  # the plural's
    at = len(before)
    for i in range(len(letters) - 1, -1, -1):
        at = before.lower().rfind(letters[i], 0, at)
        while i == 0 and at > 0 and before[at - 1].isalnum():
            at = before.lower().rfind(letters[i], 0, at)
        if at < 0:
            return ""
    long = before[at:]
    words = long.split()
    most = min(len(letters) + 5, 2 * len(letters))
    sound = len(words) <= most and len(long) > len(short) and not re.search(r"[.;:()]\s", long)
    return long if sound and short not in words else ""
