"""When two names are one entity, and under which spellings a question may call it."""

from __future__ import annotations

import re
import unicodedata

from hippo_lit.text import normalise
from hippo_lit.types import Fact

MAX_KEY_CHARS = 100
# Looked for in the text itself: in normal form, "A* search" and "A-Team" would begin with an article too.
_DETERMINER = re.compile(
    r"[\W_]*(?:the|an?|this|that|these|those|its|his|her|their|our|my|your|some|any|each|every|all|both"
    r"|several|many|such|other|another|no|more|most|few|which|what|whose)\s+(?=.*\w)",
    re.IGNORECASE | re.DOTALL,
)
_ARTICLE = re.compile(r"(?:the|an?) (?=.)")
_POSSESSIVE = re.compile(r"['’ʼ＇]s[\W_]*$", re.IGNORECASE)  # of "Crohn’s", not of "protein S"
_QUALIFIER = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")


def entity_key(surface: str) -> str:
    """The identity of an entity: its normal form without leading determiners and a possessive "'s".

    Empty for text without a letter or digit, and for text too long to be a name.

    >>> entity_key("The Beatles’"), entity_key("Crohn's  disease"), entity_key("a C++ compiler")
    ('beatles', 'crohn s disease', 'c++ compiler')
    """
    if len(surface) > 10 * MAX_KEY_CHARS:
        return ""
    start = 0
    while match := _DETERMINER.match(surface, start):
        start = match.end()
    key = normalise(_POSSESSIVE.sub("", surface[start:]))
    return key if len(key) <= MAX_KEY_CHARS else ""


def statement_key(fact: Fact) -> str:
    """When two facts about the same entities say the same: in other words than articles they agree.

    "no effect on" and "an effect on" differ, though "effect" is one entity in both.
    """
    parts = (normalise(part) for part in (fact.subject, fact.relation, fact.object))
    return "\t".join(part[match.end() :] if (match := _ARTICLE.match(part)) else part for part in parts)


def title_names(title: str) -> dict[str, str]:
    """The entities a title names as a whole, by key: itself, and itself without a qualifier in brackets.

    >>> title_names("Brother (Pearl Jam song)")
    {'brother pearl jam song': 'Brother (Pearl Jam song)', 'brother': 'Brother'}
    """
    names: dict[str, str] = {}
    for name in (title, _QUALIFIER.sub("", title)):
        if key := entity_key(name):
            names.setdefault(key, name)
    return names


def link_key(key: str) -> str:
    """The spelling under which a key is looked up: without diacritics, so that Aschenbrodel finds
    Aschenbrödel. Marks of scripts that write vowels with them stay.
    """
    decomposed = unicodedata.normalize("NFD", key)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))
