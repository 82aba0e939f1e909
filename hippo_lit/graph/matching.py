"""Finding known names in running text: the longest ones, left to right, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from hippo_lit.graph.keys import link_key
from hippo_lit.text import normalise

MAX_WORDS = 8
MAX_CHARACTERS = 16  # in scripts without spaces, where インターネットアーカイブ is one name
T = TypeVar("T")

# Scripts written without spaces give one token a character, others one a word.
_TOKEN = re.compile(
    r"([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])|"
    r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]+"
)
# A name of one such word says nothing about what a question is after, even where a title consists of it.
_FUNCTION_WORDS = frozenset(
    "a an the of in on at to for from by with and or not is was are were be been being has have had do does "
    "did can could will would may might should must who whom whose what which when where why how that this "
    "these those there here it its he she they them his her their we our you your i me my as if than then so "
    "but nor no yes all any some each every both few many more most much other another such same own only "
    "very too also just about after before during between into through over under up down out off above "
    "below again further once against without within per via".split()
)


def tokens(normal: str) -> Iterator[re.Match[str]]:
    """The words of a normalised text; group 1 holds a character of a script without spaces."""
    return _TOKEN.finditer(normal)


def tells_something(word: str) -> bool:
    """Whether a name of this one word can be looked for."""
    return len(word) > 1 and word not in _FUNCTION_WORDS


def matches(text: str, lookup: Callable[[str], T | None]) -> Iterator[T]:
    """What `lookup` knows of `text`, name by name.

    `text` is normalised and stripped of diacritics; from each position the longest run of at most
    `MAX_WORDS` words (from a character of a script without spaces: `MAX_CHARACTERS`) that `lookup` answers
    with something other than None is taken, and the search goes on behind it.
    """
    normal = link_key(normalise(text))
    words = list(tokens(normal))
    at = 0
    while at < len(words):
        start = words[at].start()
        most = MAX_CHARACTERS if words[at][1] else MAX_WORDS
        for last in range(min(len(words), at + most) - 1, at - 1, -1):
            name = normal[start : words[last].end()]
            if last == at and not tells_something(name):
                continue
            found = lookup(name)
            if found is not None:
                yield found
                at = last
                break
        at += 1
