"""The first author's family name, as far as it tells papers apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hippo_lit.text import without_accents

_SUFFIX = {"jr", "sr", "ii", "iii", "iv", "phd", "md"}
_GROUP = re.compile(r"\b(?:collaboration|consortium|group|team|committee|network|investigators|initiative)\b")
_INITIALS = re.compile(r"[A-Z]{1,3}(?:-?[A-Z])?|(?:[A-Z]\.[- ]?)+")


def first_family(authors: Sequence[str]) -> str:
    """The first author's family name, in lower case without accents; "" where there is none.

    Of a name of several words the last counts, which holds for "van der Maaten" and "García Márquez" in
    every order; a group goes by its whole name.

    >>> first_family(["Laurens van der Maaten"]), first_family(["Márquez, G. G."]), first_family(["Smith JA"])
    ('maaten', 'marquez', 'smith')
    """
    name = next((author.strip() for author in authors if author.strip()), "")
    if _GROUP.search(_folded(name)):
        return _folded(name).removeprefix("the ").replace(" ", "")
    family, comma, _ = name.partition(",")
    words = family.split()
    if not comma and len(words) > 1 and _INITIALS.fullmatch(words[-1]) and not _INITIALS.fullmatch(words[0]):
        words = words[:-1]  # as PubMed writes: family name, then initials
    bare = [word for word in map(_folded, words) if word]
    while len(bare) > 1 and bare[-1] in _SUFFIX:
        bare.pop()
    return bare[-1].replace(" ", "") if bare else ""


def _folded(text: str) -> str:
    plain = without_accents(text).casefold()
    return " ".join("".join(c if c.isalnum() or c.isspace() else " " for c in plain).split())
