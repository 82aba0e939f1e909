from __future__ import annotations

import json
from pathlib import Path

import pytest

from hippo_lit.sources.files import FileSource
from hippo_lit.sources.found import Found
from hippo_lit.sources.jsonl import read_document, read_lines
from hippo_lit.types import Paper

DATA = Path(__file__).parent / "data_sources"
A, B = '{"id": "a", "title": "A"}', '{"id": "b", "title": "B"}'


def ids(found: list[Found]) -> list[str | None]:
    return [one.paper.id if one.paper else None for one in found]


def document(text: str) -> list[Found]:
    return list(read_document([text]))


def test_own_shape() -> None:
    first, second, third = FileSource(DATA / "own.jsonl").papers()
    assert first == Paper(
        "p1", "Sparse attention on a budget", "We prune attention heads. Quality holds at half the cost.",
        2021, ("Ada Moor", "Li Na"), ("p2", "p9"), ("7",), "json", "10.5555/abc.1", "TestConf",
        "https://example.org/p1",
    )  # fmt: skip
    assert (second.id, second.year, second.authors) == ("7", 2019, ("Moor, Ada", "Na, Li"))
    assert (third.abstract, third.year, third.authors, third.references) == (
        "", None, ("Ada Moor", "Li Na"), ("p1", "p2"),
    )  # fmt: skip


def test_hipporag_corpus_is_addressed_by_content() -> None:
    source = FileSource(DATA / "mini_corpus.json")
    papers = list(source.papers())
    assert [(paper.title, paper.abstract) for paper in papers] == [
        ("Lake Orra", "Lake Orra lies north of Tamm."),
        ("Tamm", "Tamm is a town."),
        ("Tamm", "Tamm is a river."),
    ]
    assert len({paper.id for paper in papers}) == 3
    (problem,) = source.report.problems
    assert (problem.line, problem.index) == (4, 2)
    assert "repeats the record" in problem.message


@pytest.mark.parametrize(
    "text",
    [
        f"[{A}, {B}]",
        f"{A}{B}",
        f"{A}\n{B}",
        f"{A},\n{B},",
        f'{{"papers": [{A}, {B}]}}',
        f'{{"meta": {{"count": 2}}, "results": [{A}, {B}]}}',
        f'{{"total": 2, "data": [{A}, {B}]}}',
        json.dumps([json.loads(A), json.loads(B)], indent=2),
        json.dumps(json.loads(A), indent=2) + "\n" + json.dumps(json.loads(B), indent=2),
        f"[{A},\n{B},]",
    ],
)
@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x"])
def test_ways_to_lay_records_out(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    source = FileSource(path, strict=True)
    assert [paper.id for paper in source.papers()] == ["a", "b"]
    assert source.report.notes == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'[{A}, {{"id": "x" "title": 1}}, {B}]', ["a", None, "b"]),
        (f'[{A},\n{{"id": "x", "title": "an "odd quote"}},\n{B}]', ["a", None, "b"]),
        (f"[{A}, nonsense, {B}]", ["a", None, "b"]),
        (f"[{A}, nonsense}}, {B}]", ["a", None, None, "b"]),
        (f'[{A}, {{"id": "x", "tit', ["a", None]),
        (f'{{"results": [{A}, {{"id": "x" 1}}, {B}], "meta": 1}}', ["a", None, "b"]),
        (f'{{"id": "x" 1}}\n{B}', [None, "b"]),
        (f"[{A}, null, 5, [{B}], true]", ["a", None, None, None, None]),
        ("[" * 100_000, [None]),
        ('{"id": "a", "title": "T", "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n" + B, [None, "b"]),
        ("[]", []),
        ('{"results": []}', []),
    ],
)
def test_a_broken_record_costs_no_other(text: str, expected: list[str | None]) -> None:
    found = document(text)
    assert ids([one for one in found if not one.note]) == expected
    assert all(one.problem for one in found if not one.paper and not one.note)


def test_a_list_that_ends_early_is_noted() -> None:
    first, note = document(f"[{A}")
    assert first.paper is not None
    assert "cut off" in note.note


def test_lines_of_records_in_a_document_are_right() -> None:
    assert [(one.line, one.index) for one in document(f"\n[\n{A},\n\n{B}\n]\n")] == [(3, 0), (5, 1)]


def test_json_that_the_standard_leaves_open() -> None:
    lines = [
        '{"id": "x", "id": "a", "title": "last key counts", "year": NaN}',
        '{"id": NaN, "title": "T"}',
        '{"id": ' + "9" * 5000 + ', "title": "T"}',
        '{"id": "b", "title": "tab\tinside"}',
        '{"id": "c", "title": ' + "[" * 100_000,
        "[" + A + "]",
        "  ",
        '\ufeff{"id": "d", "title": "T"} {"id": "e", "title": "T"}',
    ]
    found = list(read_lines(lines))
    assert ids(found) == ["a", None, None, "b", None, None, "d", "e"]
    assert [one.line for one in found] == [1, 2, 3, 4, 5, 6, 8, 8]
    assert "nested too deeply" in found[4].problem
    assert "not a list" in found[5].problem
