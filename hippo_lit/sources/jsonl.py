"""JSON Lines and JSON documents to papers: our own shape, BEIR and HippoRAG corpora, OpenAlex works,
Semantic Scholar's papers, CSL-JSON and Zotero's items.

A document is a list of records, one record, an object that holds the list under "papers", "results",
"data" or "items", or several of these after one another. A record of HippoRAG ("title" and "text") needs no
id: its content's hash serves, so a repeated record is one paper.

Defined where JSON leaves it open: NaN and infinities are read and count as missing, of equal keys the last
counts, and line breaks within strings are allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.records import paper_from_mapping
from hippo_lit.sources import csl_zotero as other
from hippo_lit.sources.found import Found
from hippo_lit.sources.json_cursor import BLOCK_CHARS, LISTS, Cursor
from hippo_lit.sources.openalex import is_work, paper_from_work
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Paper

MAX_WHOLE_CHARS = 1_000_000
"""Of an object that is read whole; a longer one is taken for the envelope of a list."""
_OWN_FIELDS = ("id", "_id", "title", "abstract", "text")


def read_lines(lines: Iterable[str]) -> Iterator[Found]:
    """JSON Lines, one line in memory at a time; a line that is not JSON is one problem."""
    for number, line in enumerate(lines, 1):
        text = Cursor((line,))
        while text.skip():
            value, problem = text.take()
            if problem:
                yield Found(number, problem=problem)
                break
            yield from _records(value, number)


def read_document(lines: Iterable[str], block_chars: int = BLOCK_CHARS) -> Iterator[Found]:
    """A JSON document, a block in memory at a time; a broken record costs no other one."""
    text = Cursor(lines, block_chars)
    while start := text.skip():
        if start == "[":
            yield from _items(text)
            continue
        line = text.line
        value, problem = text.take(MAX_WHOLE_CHARS)
        if problem and text.into_list():
            yield from _items(text)
            text.to_next_value()
            continue
        if problem:
            value, problem = text.take()
        if not problem:
            yield from _records(value, line)
        else:
            yield Found(line, problem=problem)
            text.to_next_value()


def _items(text: Cursor) -> Iterator[Found]:
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
            text.to_end()
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
        wrapped = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
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
