"""OpenIE results to records: HippoRAG's `openie_results_ner_*.json`, and one record a line.

HippoRAG's file is an object with a list under "docs": {"idx", "passage", "extracted_entities",
"extracted_triples"}; its passage is a title, a line feed and a text. A line of JSONL is such a record too, or
has "_id" and "title" in place of the passage, and then speaks of a paper that is known already. Either is
read as a stream, one record in memory at a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.llm.replies import MAX_FIELD_CHARS
from hippo_lit.llm.replies import field as text_of
from hippo_lit.records import paper_from_mapping
from hippo_lit.sources.reading import file_error, look_at
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Fact, Paper

MAX_RECORD_CHARS = 64_000_000
_CHUNK = 1 << 20
_DOCS = re.compile(r'"docs"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_decoder = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class OpenieRecord:
    """What was extracted from one passage.

    `paper` is made of the passage, under the id that reading the corpus itself would give it; None where
    the record has no text, only an `id`. `dropped` counts malformed entities and triples by kind.
    """

    id: str
    paper: Paper | None
    entities: tuple[str, ...]
    facts: tuple[Fact, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)


def read_openie(path: Path) -> Iterator[OpenieRecord | DataError]:
    """The records of a file, each or why it is none, in order.

    Raises DataError for a file that is not there, is none of the two forms, or is cut off (after the
    records before the cut have been given).
    """
    records = 0
    for number, value in enumerate(_values(path), start=1):
        where = f"{path}, record {number}"
        if isinstance(value, DataError):
            yield value
            continue
        if isinstance(value, Mapping) and {"extracted_entities", "extracted_triples"} & value.keys():
            records += 1
            yield _record(value, where)
        else:
            yield DataError(
                f'{where}: neither "extracted_triples" nor "extracted_entities"', path=str(path), line=None
            )
    if not records:
        raise file_error(path, f"holds no OpenIE results; {_EXPECTED}")


_EXPECTED = 'expected is HippoRAG\'s {"docs": [{"passage", "extracted_triples"}]}, or JSONL of such records'


def _record(value: Mapping[str, Any], where: str) -> OpenieRecord | DataError:
    dropped: Counter[str] = Counter()
    facts = dict.fromkeys(_facts(value.get("extracted_triples"), dropped))
    entities = dict.fromkeys(_entities(value.get("extracted_entities"), dropped))
    title, separator, text = str(value.get("passage") or "").partition("\n")
    if not separator:
        title, text = "", title  # a passage of one line is a text
    if not clean(title + text):
        title, text = value.get("title") or "", value.get("text") or value.get("abstract") or ""
    given = next((value[key] for key in ("_id", "id") if value.get(key) is not None), None)
    if not (isinstance(text, str) and clean(text)):
        if given is None:
            return DataError(f"{where}: neither a passage nor an id", path=None, line=None)
        return OpenieRecord(clean(str(given)), None, tuple(entities), tuple(facts), dropped)
    known = given if given is not None else content_hash(clean(str(title)), clean(text))
    try:
        paper = paper_from_mapping({"id": known, "title": title, "abstract": text}, source="openie")
    except DataError as error:
        return DataError(f"{where}: {error.message}", path=None, line=None)
    return OpenieRecord(paper.id, paper, tuple(entities), tuple(facts), dropped)


def _facts(value: Any, dropped: Counter[str]) -> Iterator[Fact]:
    for item in _items(value, "triples", dropped):
        if not isinstance(item, list) or len(item) != 3:
            dropped["triples that are not three parts"] += 1
            continue
        parts = [_part(part, "triples", dropped) for part in item]
        if all(parts):
            yield Fact(*parts)


def _entities(value: Any, dropped: Counter[str]) -> Iterator[str]:
    for item in _items(value, "entities", dropped):
        if text := _part(item, "entities", dropped):
            yield text


def _items(value: Any, what: str, dropped: Counter[str]) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        dropped[f"{what} that are no list"] += 1
        return []
    return value


def _part(value: Any, what: str, dropped: Counter[str]) -> str:
    """The text of an entity, or of a part of a triple; "" where it is none, and counted."""
    text = text_of(value)
    if text:
        return text
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        dropped[f"{what} with what is no text"] += 1
    elif isinstance(value, str) and len(clean(value)) > MAX_FIELD_CHARS:
        dropped[f"{what} with more than {MAX_FIELD_CHARS} characters"] += 1
    else:
        dropped[f"{what} with nothing in a place"] += 1
    return ""


# -- reading


def _values(path: Path) -> Iterator[Any]:
    file = look_at(path)
    if file.blank:
        raise file_error(path, f"is empty; {_EXPECTED}")
    if file.format == "jsonl":
        yield from _lines(path, file.lines(lambda _line, _what: None))
    elif file.format == "json":
        yield from _docs(path, file.chunks(_CHUNK))
    else:
        raise file_error(path, f"is a bibliography ({file.format}), no OpenIE result; {_EXPECTED}")


def _lines(path: Path, lines: Iterator[str]) -> Iterator[Any]:
    """One value a line; an object with "docs" in one line is HippoRAG's file all the same."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = _decoder.decode(line.strip())
        except (ValueError, RecursionError) as error:
            if not line.endswith("\n"):
                raise _cut(path, number - 1) from error
            yield DataError(f"{path}:{number}: not JSON: {error}", path=str(path), line=number)
            continue
        if isinstance(value, dict) and isinstance(value.get("docs"), list):
            yield from value["docs"]
        else:
            yield value


def _docs(path: Path, chunks: Iterator[str]) -> Iterator[Any]:
    """The items of the list under "docs"."""
    text, at = "", 0
    while not (start := _DOCS.search(text)):
        more = next(chunks, "")
        if not more or len(text) > MAX_RECORD_CHARS:
            raise file_error(path, f'has no list under "docs"; {_EXPECTED}')
        text += more
    at, done = start.end(), 0
    while True:
        text, at, value = _take(path, text, at, chunks, done)
        if value is _END:
            return
        done += 1
        yield value


_END = object()


def _take(path: Path, text: str, at: int, chunks: Iterator[str], done: int) -> tuple[str, int, Any]:
    """The next item, and the text and place behind it; reads on until it is whole."""
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if text[at : at + 1] == "]":
            return text, at + 1, _END
        try:
            value, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            # As much again as is there, so that one long record is not parsed once a chunk.
            more = "".join(islice(chunks, max(1, (len(text) - at) // _CHUNK)))
            if not more:
                raise _cut(path, done) from error
            if len(text) - at > MAX_RECORD_CHARS:
                raise file_error(path, f"is not JSON after {done:,} records: {error}") from error
            text, at = text[at:] + more, 0
        else:
            return text, end, value


def _cut(path: Path, done: int) -> DataError:
    return DataError(
        f"{path} is cut off or not JSON after {done:,} records. Those were taken; import the whole file to "
        "have the others, which changes nothing in these.",
        path=str(path),
        line=None,
        records=done,
    )
