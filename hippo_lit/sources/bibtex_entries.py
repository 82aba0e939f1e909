"""From BibTeX text to entries: fields as plain strings, @string and "#" resolved, LaTeX still in them.

bibtexparser splits the text into blocks; what its value middleware does not do (concatenation, and fields
that a missing comma has run together) is done here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Faults common in the wild at which the parser gives an entry up: the brace on a line of its own (which
# BibTeX even allows), no comma after the citation key, no citation key.
_ENTRY = r"^[ \t]*@[ \t]*(?!(?:string|comment|preamble)\b)\w+"
_FIELD = r"[A-Za-z][\w.+:-]*\s*=\s*[\"{\w]"
_BRACE_BELOW = re.compile(r"^([ \t]*@[ \t]*\w+)([ \t]*\n\s*)([{(])", re.MULTILINE)
_NO_COMMA = re.compile(
    rf"({_ENTRY}\s*[{{(]\s*[^\s,={{}}()\"#]+)(?=\s+{_FIELD})", re.MULTILINE | re.IGNORECASE
)
_NO_KEY = re.compile(rf"({_ENTRY}\s*[{{(])(?=\s*{_FIELD})", re.MULTILINE | re.IGNORECASE)
_ANY_START = re.compile(r"[ \t]*@[ \t]*\w+\s*(?:[{(]|$)")
CHUNK_CHARS, MAX_ENTRY_CHARS = 200_000, 20_000_000
_STRAY = re.compile(_ENTRY, re.MULTILINE | re.IGNORECASE)

_BRACES = re.compile(r"(?<!\\)[{}]")
_QUOTE_OR_BRACES = re.compile(r"(?<!\\)[{}\"]")
_BARE_WORD = re.compile(r"[^\s#{}\"=,]+")
_NEXT_FIELD = re.compile(r"\s*=\s*(?=[\"{\w])")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `kind` and the fields' names are in lower case; `line` counts from 1."""

    line: int
    kind: str
    key: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An entry that cannot be parsed, and why."""

    line: int
    problem: str


def entries(lines: Iterable[str], chunk_chars: int = CHUNK_CHARS) -> Iterator[Entry | BadEntry]:
    """The entries of BibTeX lines (without their ends), in order, `chunk_chars` in memory at a time.

    Of a field given twice the first that is not empty counts. An entry that is longer than MAX_ENTRY_CHARS
    is cut there.
    """
    strings: dict[str, str] = {}
    for first, text in _chunks(lines, chunk_chars):
        yield from _entries(text, first, strings)


def _chunks(lines: Iterable[str], chunk_chars: int) -> Iterator[tuple[int, str]]:
    """Pieces of the text that end where an entry may begin, each with the lines before it."""
    chunk: list[str] = []
    size = first = 0
    for number, line in enumerate(lines):
        if size > chunk_chars and (_ANY_START.match(line) or size > MAX_ENTRY_CHARS):
            yield first, "\n".join(chunk) + "\n"
            chunk, size, first = [], 0, number
        chunk.append(line)
        size += len(line) + 1
    yield first, "\n".join(chunk)


def _entries(text: str, first: int, strings: dict[str, str]) -> Iterator[Entry | BadEntry]:
    from bibtexparser import model, parse_string

    # Its warnings would go to the terminal where nobody set logging up; we report the blocks ourselves.
    logging.getLogger("bibtexparser").addHandler(logging.NullHandler())
    for block in parse_string(_repaired(text), parse_stack=[]).blocks:
        line = first + (block.start_line or 0) + 1
        bad = isinstance(block, model.ParsingFailedBlock)
        whole = block.ignore_error_block if bad else block  # set where only a key or a field is repeated
        if isinstance(whole, model.String):
            strings[whole.key.lower()] = dict(_fields("value", whole.value, strings)).get("value", "")
        elif isinstance(whole, model.Entry):
            yield Entry(line, whole.entry_type.lower(), whole.key, _entry_fields(whole, strings))
        elif bad:
            yield BadEntry(line, f"the entry cannot be parsed: {_reason(block.error)}")
        elif isinstance(block, model.ImplicitComment):
            for stray in _STRAY.finditer(block.comment):
                at = line + block.comment.count("\n", 0, stray.start())
                yield BadEntry(at, f'"{stray[0].strip()}" is not followed by "{{"')


def _repaired(text: str) -> str:
    text = _BRACE_BELOW.sub(r"\1\3\2", text)
    return _NO_KEY.sub(r"\1,", _NO_COMMA.sub(r"\1,", text))


def _entry_fields(entry: Any, strings: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for field in entry.fields:
        # A comment that stands before the name has run into it.
        name = field.key.split("\n")[-1].strip()
        for found, value in _fields(name, field.value, strings):
            if value.strip() and not fields.get(found.lower()):
                fields[found.lower()] = value
    return fields


def _fields(name: str, expression: str, strings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The value of an expression like `{A} # jan # "B"`; several fields where a comma is missing."""
    value, glued, at = "", True, 0
    while at < len(expression):
        c = expression[at]
        if c.isspace() or c == "#":
            glued = glued or c == "#"
            at += 1
            continue
        if c in '{"':
            operand, at = _enclosed(expression, at)
        elif word := _BARE_WORD.match(expression, at):
            if following := _NEXT_FIELD.match(expression, word.end()):
                yield name, value
                name, value, glued, at = word[0], "", True, following.end()
                continue
            operand, at = strings.get(word[0].lower(), word[0]), word.end()
        else:
            operand, at = c, at + 1
        value += operand if glued else f" {operand}"
        glued = False
    yield name, value


def _enclosed(text: str, start: int) -> tuple[str, int]:
    """What stands between the brace or quote at `start` and its partner, and the place behind that."""
    quoted = text[start] == '"'
    depth = 0
    for mark in (_QUOTE_OR_BRACES if quoted else _BRACES).finditer(text, start + 1 if quoted else start):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth <= 0 and (not quoted or mark[0] == '"'):
            return text[start + 1 : mark.start()], mark.end()
    return text[start + 1 :], len(text)


def _reason(error: Exception) -> str:
    reason = " ".join(str(getattr(error, "abort_reason", error)).split())
    return reason.removesuffix(".") or type(error).__name__
