"""Reading model replies: what surrounds the answer, how the answer is written, what it may hold.

A reply is data. Whatever it says, reading it ends in values of the declared shape or in
UnreadableReplyError; nothing in it is evaluated, and nothing is added that it does not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hippo_lit.llm.lenient_json import read_values
from hippo_lit.text import clean
from hippo_lit.types import Fact

MAX_REPLY_CHARS = 200_000
MAX_FIELD_CHARS = 300
MAX_FACTS = 500
MAX_NESTING = 8

_TAG = r"(?:think|thinking|thought|thoughts|reasoning|reflection|analysis)"
_REASONING = re.compile(rf"\s*<({_TAG})>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_REASONING_END = re.compile(rf"</{_TAG}>", re.IGNORECASE)
_HEADER = re.compile(r"\[\[\s?##[^\n\]]{0,80}##\s?\]\]")
_SUBJECT = ("subject", "subj", "head", "s")
_RELATION = ("relation", "predicate", "verb", "rel", "r", "p")
_OBJECT = ("object", "obj", "tail", "o")
_NAME = ("name", "entity", "text", "surface", "mention")


class UnreadableReplyError(ValueError):
    """The reply holds no value of the expected shape. Callers raise ChatModelError(kind="unreadable")."""


@dataclass(frozen=True, slots=True)
class ReadReply:
    """The lists and dicts of a reply, in order. `broken_off`: the text ends before its last one does."""

    values: tuple[Any, ...]
    broken_off: bool

    def member(self, *names: str) -> list[Any]:
        """The values found under any of these keys (in any case) in the top-level dicts, in order."""
        dicts = (value for value in self.values if isinstance(value, dict))
        return [d[key] for d in dicts for key in d if key.strip().lower() in names]

    @property
    def lists(self) -> list[list[Any]]:
        """The values that stand as bare lists."""
        return [value for value in self.values if isinstance(value, list)]


def strip_reasoning(text: str) -> str:
    """What follows the reasoning: a `<think>` block, one that only closes, or one that never does ("").

    A reply that begins with its answer is left alone, so that an entity "</think> token" survives.
    """
    start = 0
    while match := _REASONING.match(text, start):
        start = match.end()
    text = text[start:]
    if text.lstrip()[:1] not in ("{", "[", "`"):
        text = _REASONING_END.split(text)[-1]
    return text.strip()


def read_reply(text: str) -> ReadReply:
    """Everything in the reply that is JSON or was meant to be. Raises UnreadableReplyError if nothing is.

    Numbers come as they are written, as text.
    """
    answer = _HEADER.sub("\n", strip_reasoning(text[:MAX_REPLY_CHARS]))
    values, broken_off = read_values(answer)
    if not values:
        start = clean(answer[:200])[:80]
        raise UnreadableReplyError(
            f"no JSON in the reply, which begins {start!r}" if start else "an empty answer"
        )
    return ReadReply(tuple(values), broken_off or len(text) > MAX_REPLY_CHARS)


def triples(value: object) -> tuple[list[Fact], int]:
    """The facts in a value, each once, and how many pieces of it were no fact and were dropped.

    A fact is three texts or numbers in a list, or a dict with keys such as subject, predicate and object;
    facts may be nested in lists and dicts. Dropped are null, booleans, bare texts, two or four elements,
    empty fields, and fields over MAX_FIELD_CHARS.
    """
    facts: dict[Fact, None] = {}
    dropped = 0
    for fact in _facts(value, 0):
        if fact is None or (fact not in facts and len(facts) >= MAX_FACTS):
            dropped += 1
        else:
            facts[fact] = None
    return list(facts), dropped


def names(value: object) -> tuple[list[str], int]:
    """The texts in a value, each once, and how many pieces were dropped; as `triples`, for entity lists.

    An entity may be a text, a number, or a dict that names it.
    """
    found: dict[str, None] = {}
    dropped = 0
    for item in _leaves(value, 0):
        name = field(item)
        if not name or (name not in found and len(found) >= MAX_FACTS):
            dropped += 1
        else:
            found[name] = None
    return list(found), dropped


def _facts(value: object, depth: int) -> Iterator[Fact | None]:
    if depth > MAX_NESTING:
        yield None
    elif isinstance(value, dict):
        yield from _facts_in_dict(value, depth)
    elif not isinstance(value, list | tuple):
        yield None
    elif any(isinstance(item, list | tuple | dict) for item in value):
        for item in value:
            yield from _facts(item, depth + 1)
    elif value:
        yield _fact(*value) if len(value) == 3 else None
    elif depth > 1:
        yield None


def _facts_in_dict(value: dict[Any, Any], depth: int) -> Iterator[Fact | None]:
    keys = {str(key).strip().lower(): key for key in value}
    parts = [
        next((value[keys[n]] for n in group if n in keys), None) for group in (_SUBJECT, _RELATION, _OBJECT)
    ]
    containers = [item for item in value.values() if isinstance(item, list | tuple | dict)]
    if any(part is not None for part in parts):
        yield _fact(*parts)
    elif containers:
        for item in containers:
            yield from _facts(item, depth + 1)
    elif value or depth:
        yield None


def _fact(subject: object, relation: object, object_: object) -> Fact | None:
    parts = [field(part) for part in (subject, relation, object_)]
    return Fact(*parts) if all(parts) else None


def _leaves(value: object, depth: int) -> Iterator[object]:
    if isinstance(value, list | tuple) and depth <= MAX_NESTING:
        for item in value:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, dict):
        yield next((item for key, item in value.items() if str(key).strip().lower() in _NAME), None)
    else:
        yield value


def field(value: object) -> str:
    """The text of one element; "" for null, booleans, containers, and text that is blank or too long."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = clean(str(value)) if isinstance(value, str) or abs(value) < 1e300 else ""
    return text if len(text) <= MAX_FIELD_CHARS else ""
