"""Titles as far as they tell works apart: their words, their numbers, and what says "I belong to another"."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from hippo_lit.text import normalise, without_accents

# What publishers and PubMed put before the title of a retracted paper; "Retraction of …" is the notice.
_RETRACTED = re.compile(
    r"\W*(?:retracted|withdrawn|removed)(?: (?:article|paper|chapter))?\s*(?:[:\])]|[-–—] )\W*", re.IGNORECASE
)
_SATELLITES = {
    "retraction": r"(?:retraction|withdrawal|withdrawn)\b(?: (?:notice|note|statement))?"
    r"|(?:editorial )?expression of concern|notice of retraction",
    "correction": r"(?:(?:author|authors|publisher|publishers|editorial)(?: s)? )?"
    r"(?:erratum|errata|corrigendum|corrigenda|corrections?(?= to | for |$| notice| :)|addendum)",
    "supplement": r"supplements?(?= to | for |$| :)|supplement(?:ary|al) (?:material|information|data|files?"
    r"|text|appendix|methods|figures?|tables?|notes?)|supporting information|additional file"
    r"|(?:online )?appendix(?: \w)?(?= to | for |$| :)",
    "reply": r"(?:(?:author|authors)(?: s)? )?(?:reply|response|rejoinder)(?= to |$| by | :)|in reply",
    "comment": r"(?:comments?|commentary|discussion|remarks?) (?:on\b|of\b|regarding\b|:)"
    r"|letter to the editor|letters? re\b|invited commentary",
    "review": r"book reviews?\b|review of\b|peer review\b|decision letter\b|faculty opinions",
    "data": r"(?:data|dataset|datasets|code|software|replication (?:data|package)) (?:from|for)\b",
    "front": r"editorial|preface|foreword|front matter|table of contents|author index|in this issue|obituary"
    r"|introduction to the special issue|proceedings of the|abstracts (?:of|from)",
}
_ENDINGS = {
    "supplement": r"(?:supplement(?:ary|al)|supporting) (?:materials?|information|data|appendix|file)"
    r"|supplement|appendix",
    "correction": r"erratum|corrigendum|correction",
    "retraction": r"retraction|retraction notice",
    "reply": r"(?:author|authors)(?: s)? (?:reply|response)",
}
_STARTS = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _SATELLITES.items()))
_ENDS = re.compile(".+ (?:" + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _ENDINGS.items()) + ")$")
_ROMAN = {
    "ii": "2",
    "iii": "3",
    "iv": "4",
    "v": "5",
    "vi": "6",
    "vii": "7",
    "viii": "8",
    "ix": "9",
    "x": "10",
}
_COUNTED = {"part", "chapter", "volume", "vol", "section", "paper", "lecture", "book", "number", "no"}
_MIN_WORDS, _MIN_CHARS, _MIN_IDEOGRAPHS = 3, 16, 8
_MIN_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True)
class Title:
    """`words` in normal form; `squashed` without spaces; `numbers` of it; `satellite` "" for a work itself.

    `telling`: long and particular enough that, with author and year, it names one work.
    """

    words: tuple[str, ...]
    squashed: str
    numbers: tuple[str, ...]
    satellite: str
    telling: bool


@lru_cache(maxsize=4096)
def title_of(text: str) -> Title:
    """Cut up a title. Marks of retraction do not count: they are not part of it."""
    bare = without_retraction(text)
    spaced = normalise(without_accents(bare).replace("&", " "))
    words = tuple(word for word in spaced.split() if word != "and")
    squashed = "".join(words)
    head, colon, _ = bare.partition(": ")
    marked = (
        f"{normalise(head)} :" if colon else spaced
    )  # the colon tells "Correction: …" from "Correction of …"
    satellite = (start.lastgroup if (start := _STARTS.match(marked)) else "") or ""
    satellite = satellite or (end.lastgroup if (end := _ENDS.match(spaced)) else "") or ""
    return Title(words, squashed, _numbers(words), satellite, not satellite and _is_long(words, squashed))


def is_marked_retracted(title: str) -> bool:
    """Whether the title itself says that the paper was retracted.

    >>> is_marked_retracted("RETRACTED ARTICLE: Cold fusion"), is_marked_retracted("Retraction: Cold fusion")
    (True, False)
    """
    return _RETRACTED.match(title) is not None


def without_retraction(title: str) -> str:
    """The title without the mark that it was retracted; the mark alone stays."""
    found = _RETRACTED.match(title)
    return title[found.end() :] or title if found else title


def similar(a: Title, b: Title) -> bool:
    """Whether two titles may be one work's: they differ by a subtitle or in spelling, not in a number."""
    if a.squashed == b.squashed:
        return True
    short, long = sorted((a.words, b.words), key=len)
    if len(short) >= 2 and len(long) >= len(short) + 2 and long[: len(short)] == short:
        return True
    if a.numbers != b.numbers:
        return False
    return _dice(a.squashed, b.squashed) >= _MIN_SIMILARITY


def _numbers(words: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for i, word in enumerate(words):
        last, counted = i == len(words) - 1, i > 0 and words[i - 1] in _COUNTED
        if not word.isalpha() and any(c.isdigit() for c in word):
            found.append(word.lstrip("0") or "0")
        elif word in _ROMAN and (counted or last or word not in ("v", "x")):
            found.append(_ROMAN[word])
        elif word == "i" and (counted or last):
            found.append("1")
    return tuple(sorted(found))


def _is_long(words: tuple[str, ...], squashed: str) -> bool:
    if squashed and not any("a" <= c <= "z" for c in squashed) and len(words) < _MIN_WORDS:
        return len(squashed) >= _MIN_IDEOGRAPHS  # scripts that do not part words
    return len(words) >= _MIN_WORDS and len(squashed) >= _MIN_CHARS


def _dice(a: str, b: str) -> float:
    """Share of common letter pairs, in [0, 1] (Sørensen–Dice over multisets)."""
    pairs_a, pairs_b = (Counter(pairwise(text)) for text in (a, b))
    total = pairs_a.total() + pairs_b.total()
    return 2 * (pairs_a & pairs_b).total() / total if total else 0.0
