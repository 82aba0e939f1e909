from __future__ import annotations

from pathlib import Path

import pytest

from hippo_lit.sources.files import FileSource
from hippo_lit.sources.ris import read_ris, read_wos
from hippo_lit.types import Paper

DATA = Path(__file__).parent / "data_sources"


def record(*lines: str) -> Paper:
    (found,) = read_ris([line + "\n" for line in ("TY  - JOUR", "TI  - T", *lines, "ER  - ")])
    assert found.paper is not None, found.problem
    return found.paper


def test_an_export_with_every_fault() -> None:
    source = FileSource(DATA / "export.ris")
    papers = list(source.papers())
    assert papers[0] == Paper(
        id="10.5555/ris.1",
        title="A trial of two lines",
        abstract="First part. Second part.",
        year=2014,
        authors=("Mara Lind", "Jan Ott Jr."),
        source="ris",
        doi="10.5555/ris.1",
        venue="Journal of Tests",
        url="https://example.org/trial",
    )
    assert [(paper.title, paper.year, paper.abstract) for paper in papers[1:4]] == [
        ("No end tag", None, ""),
        ("Only an ID", None, ""),
        ("No start tag", 2019, ""),
    ]
    assert [paper.id for paper in papers[1:3]] == ["L100", "12345"]
    assert papers[2].url == "https://example.org/a;b"
    assert papers[4].id.startswith("12345#")
    assert [problem.line for problem in source.report.problems] == [31, 38]
    assert "neither a title nor an abstract" in source.report.problems[0].message
    assert "merged" in source.report.problems[1].message
    assert "export.ris:34" in source.report.notes[0]


def test_web_of_science() -> None:
    first, second = FileSource(DATA / "savedrecs.txt").papers()
    assert first == Paper(
        "10.5555/wos.1", "A tagged title", "An abstract over two lines.", 2018, ("Mara Lind", "Jan Ott"),
        source="ris", doi="10.5555/wos.1", venue="JOURNAL OF TESTS",
    )  # fmt: skip
    assert (second.id, second.title) == ("WOS:000000000000002", "Without a DOI")
    assert [found.line for found in read_wos(["FN x\n", "PT J\n", "TI a\n", "ER\n", "PT J\n", "TI b\n"])] == [
        2,
        5,
    ]


@pytest.mark.parametrize(
    "layout", ["{} - {}", "{}- {}", "  {}  - {}", "{}\t-\t{}", "{}\xa0\xa0-\xa0{}", "{}  - {}"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_careless_layout(tmp_path: Path, layout: str, newline: str) -> None:
    tags = [("TY", "JOUR"), ("AU", "Doe, Jo"), ("TI", "T"), ("AB", "A - b"), ("ER", "")]
    path = tmp_path / "x.ris"
    path.write_bytes(newline.join(layout.format(*tag) for tag in tags).encode())
    assert list(FileSource(path).papers()) == [
        Paper(record("AU  - Doe, Jo").id, "T", "A - b", authors=("Jo Doe",), source="ris")
    ]


@pytest.mark.parametrize(
    ("line", "doi"),
    [
        ("DO  - 10.5555/X", "10.5555/x"),
        ("DO  - https://doi.org/10.5555/X", "10.5555/x"),
        ("DI  - 10.5555/x", "10.5555/x"),
        ("UR  - http://dx.doi.org/10.5555/x", "10.5555/x"),
        ("L2  - http://dx.doi.org/10.5555/x", "10.5555/x"),
        ("M3  - doi: 10.5555/x", "10.5555/x"),
        ("M3  - Article", None),
        ("DO  - n/a", None),
    ],
)
def test_doi(line: str, doi: str | None) -> None:
    assert record(line).doi == doi


def test_id_without_numbers_is_the_contents() -> None:
    first = record("PY  - 2000", "AU  - Doe, Jo")
    assert first.id == record("PY  - 2000", "AU  - Doe, Jo", "AB  - any").id
    assert len({first.id, record("PY  - 2001", "AU  - Doe, Jo").id, record("PY  - 2000").id}) == 3


@pytest.mark.parametrize(
    ("line", "authors"),
    [
        ("AU  - Doe, Jo", ("Jo Doe",)),
        ("A1  - Doe, Jo, III", ("Jo Doe III",)),
        ("AU  - Liu R.", ("Liu R.",)),
        ("AU  - Doe, J.; Roe, R.", ("J. Doe", "R. Roe")),
        ("AU  - One, Two, Three, Four", ("One, Two, Three, Four",)),
        ("A2  - Editor, Ed", ()),
    ],
)
def test_authors(line: str, authors: tuple[str, ...]) -> None:
    assert record(line).authors == authors


def test_abstracts() -> None:
    assert record("N2  - Notes.").abstract == "Notes."
    assert record("N2  - Notes.", "AB  - Abstract").abstract == "Abstract"
    assert record("AB  -", "N2  - Notes.").abstract == "Notes."
    assert record("AB  - [No abstract available]").abstract == ""
    assert record("AB  - <p>H<sub>2</sub>O &amp; co</p>", "continued").abstract == "H2O & co continued"


def test_each_record_may_be_careless_in_its_own_way() -> None:
    strict = ["TY  - JOUR", "TI  - Strict", "AB  - Text that wraps", "to - a line.", "ER  - "]
    loose = ["TY - JOUR", "TI - Loose", "AU - Doe, J", "ER -"]
    tight = ["TY  -JOUR", "T1  -Tight", "PY  -2001", "ER  -"]
    read = [found.paper for found in read_ris([*strict, "", *loose, "", *tight, *strict, *strict])]
    assert [paper and (paper.title, paper.abstract, paper.authors, paper.year) for paper in read] == [
        ("Strict", "Text that wraps to - a line.", (), None),
        ("Loose", "", ("J Doe",), None),
        ("Tight", "", (), 2001),
        *[("Strict", "Text that wraps to - a line.", (), None)] * 2,
    ]


def test_a_continuation_right_after_the_start_is_no_crash() -> None:
    assert [found.paper is not None for found in read_ris(["TY  - A\n", "stray\n", "TI  - T\n"])] == [True]


def test_an_address_identifies_the_paper() -> None:
    assert record("UR  - https://arxiv.org/abs/1706.03762").ids == ("arxiv:1706.03762",)
