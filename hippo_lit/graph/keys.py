"""When two names are one entity, and under which spellings a question may call it."""

from __future__ import annotations

import re
import unicodedata

from hippo_lit.text import normalise

MAX_KEY_CHARS = 100
_DETERMINER = re.compile(
    r"(?:the|an?|this|that|these|those|its|his|her|their|our|my|your|some|any|each|every|all|both|several"
    r"|many|such|other|another|no|more|most|few|which|what|whose) (?=.)"
)
_QUALIFIER = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")


def entity_key(surface: str) -> str:
    """The identity of an entity: its normal form without leading determiners and a possessive "'s".

    Empty for text without a letter or digit, and for text too long to be a name.

    >>> entity_key("The Beatles’"), entity_key("Crohn's  disease"), entity_key("a C++ compiler")
    ('beatles', 'crohn s disease', 'c++ compiler')
    """
    key = normalise(surface)
    while match := _DETERMINER.match(key):
        key = key[match.end() :]
    key = key.removesuffix(" s")
    return key if len(key) <= MAX_KEY_CHARS else ""


def title_keys(title: str) -> tuple[str, ...]:
    """The entities a title names as a whole: itself, and itself without a qualifier in brackets.

    >>> title_keys("Brother (Pearl Jam song)")
    ('brother pearl jam song', 'brother')
    """
    keys = (entity_key(title), entity_key(_QUALIFIER.sub("", title)))
    return tuple(dict.fromkeys(key for key in keys if key))


def link_key(key: str) -> str:
    """The spelling under which a key is looked up: without diacritics, so that Aschenbrodel finds
    Aschenbrödel. Marks of scripts that write vowels with them stay.
    """
    decomposed = unicodedata.normalize("NFD", key)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))
