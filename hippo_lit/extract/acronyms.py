"""Acronyms that a text defines: "retrieval-augmented generation (RAG)", "RAG (retrieval-augmented …)".

The long form is the words before the bracket whose initials spell the short form. Where none do, it is found
as in Schwartz and Hearst (2003), "A simple algorithm for identifying abbreviation definitions in biomedical
text": from the right, every letter or digit of the short form must occur, the first at a word's beginning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RELATION = "stands for"

_BRACKET = re.compile(r"\(([^()\[\]]{2,120})\)")
_SHORT = re.compile(r"[^\W_](?:[\w&/+-]{0,10}[^\W_]\+?|\+)")


_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "to", "a", "an", "with", "by", "de", "la"))


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
    """The words at the end of `before` that spell `short`; "" where none do."""
    letters = [c.lower() for c in short if c.isalnum()]
    if len(letters) > 2 and short[-1] == "s":
        letters.pop()  # the plural's
    return _by_initials(letters, before) or _by_letters(letters, short, before)


def _by_initials(letters: list[str], before: str) -> str:
    """ "World Health Organization" for w, h, o; small words count or not, as it fits."""
    left = list(letters)
    for word in reversed(list(_WORD.finditer(before))):
        initial = word[0][0].lower()
        if initial == left[-1]:
            left.pop()
        elif word[0].lower() not in _SMALL:
            return ""
        if not left:
            return before[word.start() :]
    return ""


def _by_letters(letters: list[str], short: str, before: str) -> str:
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
