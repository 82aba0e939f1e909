"""JSON Lines and JSON documents to papers: our own shape, BEIR and HippoRAG corpora, OpenAlex works,
Semantic Scholar's papers, CSL-JSON and Zotero's items.

A document is a list of records, one record, an object that holds the list under "papers", "results",
"data" or "items", or several of these after one another. A record of HippoRAG ("title" and "text") needs no
id: its content's hash serves, so a repeated record is one paper.

Defined where JSON leaves it open: NaN and infinities are read and count as missing, of equal keys the last
counts, and line breaks within strings are allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.records import paper_from_mapping
from hippo_lit.sources import csl_zotero as other
from hippo_lit.sources.found import Found
from hippo_lit.sources.openalex import is_work, paper_from_work
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Paper

_LISTS = ("papers", "results", "data", "items")
_OWN_FIELDS = ("id", "_id", "title", "abstract", "text")
_decoder = json.JSONDecoder(strict=False)
_BETWEEN = re.compile(r"[\s,;\ufeff]*")
_LIST_START = re.compile(rf'"(?:{"|".join(_LISTS)})"\s*:\s*(?=\[)')
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
_OPENING_LINE = re.compile(r"\n(?=[{\[])")
_NO_STRUCTURE = re.compile(r"[^,\[\]{}]*")


def read_lines(lines: Iterable[str]) -> Iterator[Found]:
    """JSON Lines, one line in memory at a time; a line that is not JSON is one problem."""
    for number, line in enumerate(lines, 1):
        text = _Cursor(line)
        while text.skip():
            value, problem = text.take()
            if problem:
                yield Found(number, problem=problem)
                break
            yield from _records(value, number)


def read_document(lines: Iterable[str]) -> Iterator[Found]:
    """A JSON document. Its text is in memory whole; a broken record costs no other one."""
    text = _Cursor("".join(lines))
    while start := text.skip():
        if start == "[":
            yield from _items(text)
            continue
        line = text.line
        value, problem = text.take()
        if not problem:
            yield from _records(value, line)
        elif inner := _LIST_START.search(text.text, text.at):
            text.at = inner.end()
            yield from _items(text)
            text.to_next_value()
        else:
            yield Found(line, problem=problem)
            text.to_next_value()


def _items(text: _Cursor) -> Iterator[Found]:
    """The items of the list that opens at the cursor, which ends up behind it."""
    text.at += 1
    index, start = 0, ""
    while (start := text.skip()) and start != "]":
        line = text.line
        value, problem = text.take()
        if not problem:
            yield _record(value, line, index)
        elif text.past_broken():
            yield Found(line, problem=problem, index=index)
        else:
            yield Found(line, problem=f"{problem}; nothing after it can be read", index=index)
            text.at = len(text.text)
            return
        index += 1
    if not start:
        yield Found(text.line, note="the list is not closed; the file may be cut off")
    text.at += 1


def _records(value: Any, line: int) -> Iterator[Found]:
    """The record, or those of the list that an object wraps."""
    if isinstance(value, Mapping) and not any(field in value for field in _OWN_FIELDS):
        if isinstance(value.get("message"), Mapping):  # Crossref's envelope
            yield from _records(value["message"], line)
            return
        wrapped = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
        if wrapped is not None:
            yield from (_record(item, line, index) for index, item in enumerate(wrapped))
            return
    yield _record(value, line)


def _record(value: Any, line: int, index: int | None = None) -> Found:
    try:
        if isinstance(value, Mapping) and not is_work(value):
            if other.is_zotero(value):
                return other.zotero(value, line, index)
            if other.is_semantic_scholar(value):
                return other.semantic_scholar(value, line, index)
            if other.is_csl(value):
                return other.csl(value, line, index)
        return Found(line, _paper(value), index=index)
    except DataError as e:
        return Found(line, problem=e.message, index=index)


def _paper(value: Any) -> Paper:
    if not isinstance(value, Mapping):
        return paper_from_mapping(value)
    if is_work(value):
        return paper_from_work(value)
    title, text = value.get("title"), value.get("text")
    has_id = value.get("id") is not None or value.get("_id") is not None
    if not has_id and isinstance(title, str) and isinstance(text, str) and clean(title + text):
        value = {**value, "id": content_hash(clean(title), clean(text))}
    return paper_from_mapping(value, source="json")


class _Cursor:
    """A place in a text that only moves forward."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._counted, self._line = 0, 1

    @property
    def line(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def skip(self) -> str:
        """Move past blanks and commas; the character that follows, "" at the end."""
        between = _BETWEEN.match(self.text, self.at)
        self.at = between.end() if between else self.at
        return self.text[self.at : self.at + 1]

    def take(self) -> tuple[Any, str]:
        """The value here, moving past it; or None and the problem, without moving."""
        try:
            value, self.at = _decoder.raw_decode(self.text, self.at)
        except json.JSONDecodeError as e:
            if e.msg.startswith("Unterminated") or not self.text[e.pos :].strip():
                return None, "the JSON is cut off"
            return None, f"not JSON: {e.msg} at {clean(self.text[e.pos : e.pos + 20])}"
        except RecursionError:
            return None, "the JSON is nested too deeply to be read"
        except ValueError as e:  # a number of more digits than Python converts
            return None, f"not readable as JSON: {e}"
        return value, ""

    def past_broken(self) -> bool:
        """Move past the list item here, which is not JSON; False where its end cannot be told."""
        line_start = self.text.rfind("\n", 0, self.at) + 1
        indent = self.text[line_start : self.at]
        sibling = self.text.find(f"\n{indent}{{", self.at) if not indent.strip() else -1
        end = self._end_of_brackets()
        if sibling >= 0 and (end is None or sibling < end):
            end = sibling
        self.at = self.at if end is None else end
        return end is not None

    def _end_of_brackets(self) -> int | None:
        if self.text[self.at] not in "{[":
            plain = _NO_STRUCTURE.match(self.text, self.at + 1)
            return plain.end() if plain and plain.end() < len(self.text) else None
        depth = 0
        for mark in _STRUCTURE.finditer(self.text, self.at):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark[0], 0)
            if depth == 0:
                return mark.end()
        return None

    def to_next_value(self) -> None:
        """Move to the next line that opens an object or a list, or to the end."""
        opening = _OPENING_LINE.search(self.text, self.at)
        self.at = opening.end() if opening else len(self.text)
