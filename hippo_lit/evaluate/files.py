"""Reading the files of a data set; whatever is wrong with one is a DataError that names the line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hippo_lit.errors import DataError
from hippo_lit.sources.files import FileSource
from hippo_lit.text import clean
from hippo_lit.types import Paper


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file that are not blank, with their numbers."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"no such file: {path}", path=str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path} as UTF-8 text: {error}", path=str(path)) from error
    # Not splitlines: a line separator inside a text is no end of a record.
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if line.strip():
            yield number, line


def bad(path: Path, line: int | None, what: str) -> DataError:
    where = str(path) if line is None else f"{path}, line {line}"
    return DataError(f"{where}: {what}", path=str(path), line=line)


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSON Lines file, with their line numbers."""
    for number, line in lines_of(path):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise bad(path, number, f"not JSON ({error})") from error
        if not isinstance(value, dict):
            raise bad(path, number, "a record must be a JSON object")
        yield number, value


def json_list(path: Path) -> list[Mapping[str, Any]]:
    """The objects of a JSON document that is a list."""
    try:
        value = json.loads("\n".join(line for _, line in lines_of(path)))
    except (ValueError, RecursionError) as error:
        raise bad(path, None, f"not JSON ({error})") from error
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise bad(path, None, "must be a list of JSON objects")
    return value


def papers_of(path: Path) -> tuple[list[Paper], list[str]]:
    """The papers of a file or folder that `hippo-lit index` reads, and what was skipped."""
    source = FileSource(path)
    papers = list(source.papers())
    report = source.report
    notes = (
        [
            f"{report.skipped} records of {path.name} are no papers of their own; the first: "
            f"{report.problems[0].message}"
        ]
        if report.problems
        else []
    )
    if not papers:
        raise bad(path, None, "holds no paper")
    return papers, notes


def answers_in(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The gold answers of a question, by the names that HippoRAG's files give them, each once."""
    found: dict[str, None] = {}
    for name in ("answer", "answers", "answer_aliases", "possible_answers"):
        value = record.get(name)
        for answer in value if isinstance(value, list) else [value]:
            if isinstance(answer, str | int | float) and not isinstance(answer, bool) and clean(str(answer)):
                found[clean(str(answer))] = None
    return tuple(found)


def text_in(record: Mapping[str, Any], names: tuple[str, ...], path: Path, line: int | None) -> str:
    """The first of the fields `names` that holds text or a number, cleaned. Raises DataError."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and clean(str(value)):
            return clean(str(value))
    raise bad(path, line, f'has no "{names[0]}"' + (f" (or {', '.join(names[1:])})" if names[1:] else ""))
