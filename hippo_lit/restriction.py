"""Filters as the outside writes them (command line, Python, agents), checked in one place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from hippo_lit.errors import ConfigError
from hippo_lit.text import clean, is_whole
from hippo_lit.types import Filters

Years = tuple[int | None, int | None]

_RANGE = re.compile(r"\s*(\d{4})?\s*(?:([-–])\s*(\d{4})?)?\s*", re.ASCII)
KEYS = (
    "years", "authors", "venues", "sources", "open_access", "has_abstract", "retracted", "only", "exclude",
)  # fmt: skip
"""What a mapping of filters may hold."""


def parse_years(text: str) -> Years:
    """First and last year, both inclusive, of "2018-2024", "2020", "2018-" or "-2020". Raises ConfigError.

    >>> parse_years("2018-2024"), parse_years("-2020")
    ((2018, 2024), (None, 2020))
    """
    match = _RANGE.fullmatch(text)
    if not match or not (match[1] or match[3]):
        raise _error("years", f"{text!r} is no range of years; write 2018-2024, 2020, 2018- or -2020")
    first = int(match[1]) if match[1] else None
    last = (int(match[3]) if match[3] else None) if match[2] else first
    return _in_order(first, last, text)


def parse_filters(
    given: Filters | Mapping[str, Any] | None = None, *, years: Any = None, exclude: Iterable[str] = ()
) -> Filters:
    """One checked value of what was given: `Filters`, or a mapping of `KEYS`, and two filters by themselves.

    "years" is a text as for `parse_years`, a number, or a pair of (first, last), None where open; "authors",
    "venues" and "sources" are a text or a list of them; "only" and "exclude" are lists of ids; the others are
    true, false or None. `years` replaces what `given` says, `exclude` adds to it. Raises ConfigError (key).
    """
    if isinstance(given, Filters):
        values = {field.name: getattr(given, field.name) for field in fields(Filters)}
        values["years"] = (values.pop("first_year"), values.pop("last_year"))
    elif given is None or isinstance(given, Mapping):
        values = {str(key): value for key, value in (given or {}).items()}
    else:
        raise _error("filters", f"filters are a Filters value or a mapping, not {type(given).__name__}")
    if unknown := sorted(values.keys() - set(KEYS)):
        raise _error(unknown[0], f"there is no filter {unknown[0]!r}; there are {', '.join(KEYS)}")
    first, last = _years(values.get("years"))
    if years is not None and tuple(_years(years)) != (None, None):
        first, last = _years(years)
    only = values.get("only")
    return Filters(
        first,
        last,
        authors=_texts("authors", values.get("authors"), one=True),
        venues=_texts("venues", values.get("venues"), one=True),
        sources=_texts("sources", values.get("sources"), one=True),
        open_access=_switch("open_access", values.get("open_access")),
        has_abstract=_switch("has_abstract", values.get("has_abstract")),
        retracted=_switch("retracted", values.get("retracted")),
        only=None if only is None else _texts("only", only),
        exclude=tuple(dict.fromkeys(_texts("exclude", values.get("exclude")) + _texts("exclude", exclude))),
    )


def _years(value: Any) -> Years:
    if value is None:
        return None, None
    if isinstance(value, str):
        return parse_years(value)
    if is_whole(value):
        return int(value), int(value)
    ends = tuple(value) if isinstance(value, Iterable) else ()
    if len(ends) != 2 or not all(end is None or is_whole(end) for end in ends):
        raise _error("years", f"years are a pair (first, last) of numbers or None, not {value!r}")
    first, last = (None if end is None else int(end) for end in ends)
    return _in_order(first, last, value)


def _in_order(first: int | None, last: int | None, given: object) -> Years:
    if first is not None and last is not None and last < first:
        raise _error("years", f"{given!r} ends before it begins; did you mean {last}-{first}?")
    return first, last


def _texts(key: str, value: Any, *, one: bool = False) -> tuple[str, ...]:
    if isinstance(value, str):
        if not one:
            raise _error(key, f"{key} takes ids, not one text: write {key}=[{value!r}]")
        value = [value]
    if value is None:
        return ()
    if not isinstance(value, Iterable):
        raise _error(key, f"{key} takes a list of texts, not {type(value).__name__}")
    texts = tuple(value)
    for text in texts:
        if not isinstance(text, str):
            raise _error(key, f"{key} takes texts, and {text!r} is none")
        if one and not clean(text):
            raise _error(key, f"{key} holds an empty text; leave it out to have all")
    return texts


def _switch(key: str, value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise _error(key, f"{key} is true, false or None, not {value!r}")


def _error(key: str, problem: str) -> ConfigError:
    return ConfigError(problem, key=key)
