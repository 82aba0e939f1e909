from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hippo_lit.errors import DataError
from hippo_lit.protocols import PaperSource
from hippo_lit.sources.files import MAX_PROBLEMS, FileSource
from hippo_lit.types import Paper

DATA = Path(__file__).parent / "data_sources"
ONE = '{"id": "a", "title": "Ä one"}\n'


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def load(path: Path, **options: Any) -> tuple[list[Paper], FileSource]:
    source = FileSource(path, **options)
    papers = list(source.papers())
    assert source.report.papers == len(papers)
    assert source.report.read == source.report.papers + source.report.skipped
    return papers, source


def test_is_a_paper_source_with_the_path_as_its_name() -> None:
    source = FileSource(DATA / "own.jsonl")
    assert isinstance(source, PaperSource)
    assert source.name == str(DATA / "own.jsonl")


def test_skips_are_counted_reported_and_handed_on() -> None:
    skips: list[DataError] = []
    papers, source = load(DATA / "own.jsonl", on_skip=skips.append)
    assert [paper.id for paper in papers] == ["p1", "7", "p3"]
    assert tuple(skips) == source.report.problems
    assert [(skip.line, skip.path) for skip in skips] == [
        (n, str(DATA / "own.jsonl")) for n in (4, 5, 6, 8, 9)
    ]
    assert (
        skips[0].message
        == f'{DATA / "own.jsonl"}:4: the record has a blank "id"; give every paper an id of its own'
    )
    assert "cut off" in skips[-1].message


def test_strict_stops_at_the_first_bad_record() -> None:
    papers = FileSource(DATA / "own.jsonl", strict=True).papers()
    assert [next(papers).id for _ in range(3)] == ["p1", "7", "p3"]
    with pytest.raises(DataError, match="blank") as caught:
        next(papers)
    assert caught.value.line == 4


def test_reading_again_starts_a_new_report() -> None:
    source = FileSource(DATA / "own.jsonl")
    assert list(source.papers()) == list(source.papers())
    assert (source.report.read, source.report.papers, source.report.skipped) == (8, 3, 5)


def test_problems_are_capped_and_counts_are_not(write: Any) -> None:
    _, source = load(write("a.jsonl", "no json\n" * 250 + ONE))
    assert (source.report.read, source.report.skipped) == (251, 250)
    assert len(source.report.problems) == MAX_PROBLEMS


def test_a_repeated_record_is_harmless_and_a_clash_is_not(write: Any) -> None:
    path = write("a.jsonl", ONE + ONE)
    papers, source = load(path, strict=True)
    assert len(papers) == 1
    assert "repeats the record" in source.report.problems[0].message
    clash = write("b.jsonl", ONE + ONE.replace("one", "two"))
    papers, source = load(clash)
    assert [paper.title for paper in papers] == ["Ä one"]
    assert f"{clash}:1, which is kept" in source.report.problems[0].message
    with pytest.raises(DataError, match="already that of"):
        load(clash, strict=True)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_and_gzip(write: Any, encoding: str, packed: bool) -> None:
    data = ONE.encode(encoding)
    path = write("a.jsonl.gz" if packed else "a.jsonl", gzip.compress(data) if packed else data)
    papers, source = load(path)
    assert papers == [Paper("a", "Ä one", source="json")]
    assert [("Windows-1252" in note) for note in source.report.notes] == [True] * (encoding == "cp1252")


@pytest.mark.parametrize("name", ["a.bib", "a.ris", "a.txt"])
def test_utf16_bibliographies(write: Any, name: str) -> None:
    text = "@misc{k, title={Größe}}" if name == "a.bib" else "TY  - JOUR\r\nTI  - Größe\r\nER  - \r\n"
    for encoding in ("utf-16", "utf-16-le", "utf-8-sig"):
        papers, _ = load(write(name, text.encode(encoding)))
        assert [paper.title for paper in papers] == ["Größe"]


def test_each_line_is_decoded_as_fits_it(write: Any) -> None:
    broken = '{"id": "c", "title": "Größe für die Übung ?"}'.encode().replace(b"?", b"\xff")
    lines = [ONE.strip().encode("cp1252"), '{"id": "b", "title": "中文"}'.encode(), broken]
    papers, _ = load(write("a.jsonl", b"\n".join(lines)))
    assert [paper.title for paper in papers] == ["Ä one", "中文", "Größe für die Übung \ufffd"]


def test_nul_bytes_and_lone_surrogates_are_cleaned(write: Any) -> None:
    papers, _ = load(write("a.jsonl", b'{"id": "a\x00b", "title": "x\xed\xa0\x80y \\udc00 \\ud83d\\ude00"}'))
    assert papers == [Paper("a b", "x y 😀", source="json")]


@pytest.mark.parametrize("content", ["", " \n\t\n", "\ufeff", " " * 200_000])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.bib", "a.ris", "a.unknown"])
def test_an_empty_file_is_no_papers_and_says_so(write: Any, name: str, content: str) -> None:
    path = write(name, content)
    papers, source = load(path)
    assert papers == []
    assert source.report.notes == (f"{path} is empty",)


def test_content_decides_before_the_name(write: Any) -> None:
    assert load(write("a.bib", ONE))[0][0].source == "json"
    assert load(write("a.json", "@misc{k, title={T}}"))[0][0].source == "bibtex"
    assert load(write("notes", "Database: Scopus\n\nTY  - JOUR\nTI  - T\nER  - "))[0][0].source == "ris"
    assert load(write("big.txt", " " * 100_000 + ONE))[0][0].source == "json"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.pdf", b"%PDF-1.7 ...", "is a PDF; take"),
        ("a.jsonl", b"SQLite format 3\x00", "an SQLite database; export"),
        ("a.json", b"PK\x03\x04....", "unpack it"),
        ("a.bib", bytes(range(32)) * 9, "is binary, not text"),
        ("a.bib", "<!DOCTYPE html><html>", "is a web page; download"),
        ("a.ris", "just words", "holds no RIS record"),
        ("a.txt", "a,b\n1,x", "in no format known here; known are JSONL"),
        ("a.csv", "a,b\n1,x", "holds no CSV record"),
        ("a.xml", "<?xml version='1.0'?><kml/>", "XML of a kind that is not read .<kml>"),
        ("a.gz", b"\x1f\x8b\x08junk", "damaged or cut off"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_to_do(write: Any, name: str, content: Any, says: str) -> None:
    path = write(name, content)
    with pytest.raises(DataError, match=says) as caught:
        list(FileSource(path).papers())
    assert (caught.value.path, caught.value.line) == (str(path), None)


@pytest.mark.parametrize("records", [40, 3000])
def test_of_a_cut_off_gzip_what_was_read_stays(write: Any, records: int) -> None:
    lines = "".join(f'{{"id": {n}, "title": "{os.urandom(20).hex()}"}}\n' for n in range(records))
    path = write("a.jsonl.gz", gzip.compress(lines.encode())[:-100])
    source = FileSource(path)
    papers = list(source.papers())
    assert [paper.id for paper in papers] == [str(n) for n in range(len(papers))]
    assert records * 0.8 < len(papers) < records
    (problem,) = source.report.problems
    assert (source.report.skipped, problem.path) == (1, str(path))
    assert "cut off" in problem.message
    in_folder = FileSource(path.parent)
    assert list(in_folder.papers()) == papers
    assert (in_folder.report.skipped, in_folder.report.problems[0].message) == (1, problem.message)
    with pytest.raises(DataError, match="fetch it again"):
        list(FileSource(path, strict=True).papers())


def test_missing_special_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        list(FileSource(tmp_path / "none.jsonl").papers())
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(DataError, match="neither a file nor a folder"):
        list(FileSource(tmp_path / "pipe.jsonl").papers())


def test_a_beir_folder_is_its_corpus() -> None:
    papers, _ = load(DATA / "beir")
    assert papers == [
        Paper(
            "d1", "Caching keys and values", "Keys are cached.", 2020, ("Ida Vik",), ("d2",), ("d3",), "json",
            url="https://example.org/d1",
        ),
        Paper("d2", "", "A passage without a title.", source="json"),
    ]  # fmt: skip


def test_a_folder_is_its_files_in_order_and_a_broken_one_costs_no_other(write: Any, tmp_path: Path) -> None:
    write("f/b.bib", "@misc{k, title={T}}")
    write("f/c.json", b"%PDF-1.7")
    write("f/a.jsonl", ONE)
    write("f/d.ris", "TY  - JOUR\nTI  - Clash\nID  - a\nER  - ")
    write("f/.hidden.json", "{")
    write("f/readme.md", "no")
    papers, source = load(tmp_path / "f")
    assert [paper.id for paper in papers] == ["a", "k"]
    assert ["PDF" in str(problem) for problem in source.report.problems] == [True, False]
    with pytest.raises(DataError, match="PDF"):
        load(tmp_path / "f", strict=True)


def test_a_folder_without_known_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no file to read"):
        list(FileSource(tmp_path).papers())


def test_what_a_file_says_reaches_messages_without_control_characters(write: Any) -> None:
    _, source = load(write("a.bib", "@misc{k\x1b[31m\x07" + "y" * 900 + ", author={A}}"))
    said = source.report.problems[0].message.partition("a.bib:1: ")[2]
    assert said.isprintable()
    assert len(said) <= 400


def test_a_line_of_many_megabytes_is_read(write: Any) -> None:
    long = "word " * 1_000_000
    path = write("a.jsonl", json.dumps({"id": "long", "title": "T", "abstract": long}) + "\n" + ONE)
    papers, _ = load(path)
    assert len(papers[0].abstract) == len(long) - 1
    assert papers[1].id == "a"
