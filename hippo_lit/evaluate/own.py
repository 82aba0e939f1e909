"""Our own query files: JSON Lines, one query a line.

    {"id": "q1", "text": "…", "gold": ["p3"] or {"p3": 2}, "tags": […], "leave_out": ["p9"],
     "year": [2016, null], "gold_facts": [["subject", "relation", "object"]], "answers": […], "split": "test"}

Only id and text are needed. Gold may name papers by id, title or text. Of `answers` any one is right; "" says
that the papers do not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hippo_lit.evaluate.dataset import Dataset, Query, Years
from hippo_lit.evaluate.files import bad, json_lines, papers_of, text_in
from hippo_lit.evaluate.gold import GoldFinder
from hippo_lit.sources import mock
from hippo_lit.text import clean
from hippo_lit.types import Fact, Paper

CORPUS_NAMES = ("papers.jsonl", "corpus.jsonl", "corpus.jsonl.gz", "papers.json", "papers.bib", "papers.ris")
QUERIES = "queries.jsonl"
_ID, _TEXT = ("id", "_id", "query_id"), ("text", "query", "question")
_REST = ("gold", "tags", "leave_out", "year", "gold_facts", "answers", "split")
READ = frozenset((*_ID, *_TEXT, *_REST, "why"))
"""The fields of a query; "why" is for people."""


def mock_dataset() -> Dataset:
    """The 100 papers and 94 queries that come with hippo-lit."""
    return _over_mock("mock", mock.queries(), QUERIES)


def mock_answers() -> Dataset:
    """The 100 papers and questions with short answers, or without one."""
    return _over_mock("mock-answers", mock.answered(), "answered.jsonl")


def _over_mock(name: str, records: list[dict[str, Any]], file: str) -> Dataset:
    papers = mock.build_corpus()
    queries, notes = queries_from(enumerate(records, start=1), papers, Path("mock_corpus") / file)
    return Dataset(name, papers, queries, tuple(notes))


def read_own(path: Path, papers: Sequence[Paper] = ()) -> Dataset:
    """The queries of a file, or of `queries.jsonl` in a folder, over the papers beside it or those given.

    Raises DataError where either is missing or malformed.
    """
    file = path / QUERIES if path.is_dir() else path
    notes: list[str] = []
    if not papers:
        beside = [file.parent / name for name in CORPUS_NAMES]
        corpus = next((candidate for candidate in beside if candidate.is_file()), None)
        if corpus is None:
            raise bad(
                file, None, f"there are no papers beside it ({', '.join(CORPUS_NAMES)}): give --index DIR"
            )
        papers, notes = papers_of(corpus)
    queries, more = queries_from(json_lines(file), papers, file)
    return Dataset(path.stem, papers, queries, tuple(notes + more))


def queries_from(
    records: Iterable[tuple[int, Mapping[str, Any]]], papers: Iterable[Paper], path: Path
) -> tuple[list[Query], list[str]]:
    """Queries, and notes on their gold. Raises DataError."""
    finder = GoldFinder(papers)
    queries, unread = [], Counter[str]()
    for line, record in records:
        queries.append(_query(record, finder, path, line))
        unread.update(key for key in record if key not in READ)
    notes = [f'the field "{clean(key)[:40]}" of {count} is not read' for key, count in unread.most_common(5)]
    return unique(queries, path), finder.notes + notes


def unique(queries: list[Query], path: Path) -> list[Query]:
    """The queries. Raises DataError where there are none, or two share an id."""
    if not queries:
        raise bad(path, None, "holds no query")
    seen: set[str] = set()
    for query in queries:
        if query.id in seen:
            raise bad(path, None, f"two queries have the id {query.id!r}")
        seen.add(query.id)
    return queries


def _query(record: Mapping[str, Any], finder: GoldFinder, path: Path, line: int) -> Query:
    query_id = text_in(record, _ID, path, line)
    gold: dict[str, int] = {}
    for reference, grade in _grades(record.get("gold"), path, line).items():
        for paper in finder.find(reference, query_id):
            gold[paper] = max(grade, gold.get(paper, 0))
    return Query(
        query_id,
        text_in(record, _TEXT, path, line),
        gold,
        _texts(record, "tags", path, line),
        _texts(record, "leave_out", path, line),
        _years(record.get("year"), path, line),
        _facts(record.get("gold_facts"), path, line),
        _texts(record, "answers", path, line),
        str(record.get("split") or ""),
    )


def _grades(value: Any, path: Path, line: int) -> dict[str, int]:
    if value is None:
        return {}
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return dict.fromkeys(value, 1)
    if isinstance(value, dict) and all(type(grade) is int and grade >= 0 for grade in value.values()):
        return value
    raise bad(path, line, '"gold" must be a list of ids, or an object of ids and whole grades from 0 on')


def _texts(record: Mapping[str, Any], name: str, path: Path, line: int) -> tuple[str, ...]:
    value = record.get(name) or []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise bad(path, line, f'"{name}" must be a list of texts')
    return tuple(map(clean, value))


def _years(value: Any, path: Path, line: int) -> Years:
    if value is None:
        return None, None
    if isinstance(value, list) and len(value) == 2 and all(v is None or type(v) is int for v in value):
        return value[0], value[1]
    raise bad(path, line, '"year" must be [first, last], each a year or null')


def _facts(value: Any, path: Path, line: int) -> tuple[Fact, ...]:
    if value is None:
        return ()
    if isinstance(value, list):
        triples = [item for item in value if isinstance(item, list) and len(item) == 3]
        if len(triples) == len(value) and all(isinstance(part, str) for item in triples for part in item):
            return tuple(Fact(*item) for item in triples)
    raise bad(path, line, '"gold_facts" must be a list of [subject, relation, object]')
