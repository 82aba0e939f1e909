"""What exports do wrong in the wild, made by generators: each fault costs its own record at most."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hippo_lit.errors import DataError
from hippo_lit.sources import reading
from hippo_lit.sources.files import FileSource
from hippo_lit.types import Paper

Maker = Callable[[int], str]


def bib(n: int) -> str:
    return f"@article{{key{n},\n  title = {{Title {n}}},\n  author = {{Doe, Jo}},\n  year = {2000 + n}\n}}\n"


def ris(n: int) -> str:
    return f"TY  - JOUR\nTI  - Title {n}\nAU  - Doe, Jo\nPY  - {2000 + n}\nID  - key{n}\nER  - \n"


def wos(n: int) -> str:
    return f"PT J\nAU Doe, Jo\nTI Title {n}\nPY {2000 + n}\nUT WOS:{n}\nER\n\n"


def nbib(n: int) -> str:
    return f"\nPMID- {n + 1}\nTI  - Title {n}\nFAU - Doe, Jo\nDP  - {2000 + n}\n"


def enw(n: int) -> str:
    return f"%0 Journal Article\n%T Title {n}\n%A Doe, Jo\n%D {2000 + n}\n%M key{n}\n\n"


def csv_row(n: int) -> str:
    return f'"Title {n}","Doe, Jo",{2000 + n},key{n}\n'


def xml_record(n: int) -> str:
    return (
        f"<record><contributors><authors><author>Doe, Jo</author></authors></contributors><titles>"
        f"<title>Title {n}</title></titles><dates><year>{2000 + n}</year></dates>"
        f"<accession-num>key{n}</accession-num></record>\n"
    )


def json_line(n: int) -> str:
    return (
        json.dumps({"id": f"key{n}", "title": f"Title {n}", "authors": ["Jo Doe"], "year": 2000 + n}) + "\n"
    )


MAKERS: dict[str, tuple[Maker, str, str]] = {
    "a.bib": (bib, "", ""),
    "a.ris": (ris, "", ""),
    "a.ciw": (wos, "FN Web\nVR 1.0\n", "EF\n"),
    "a.nbib": (nbib, "", ""),
    "a.enw": (enw, "", ""),
    "a.csv": (csv_row, "title,authors,year,id\n", ""),
    "a.xml": (xml_record, "<?xml version='1.0'?><xml><records>\n", "</records></xml>\n"),
    "a.jsonl": (json_line, "", ""),
}
ALL = pytest.mark.parametrize("name", MAKERS)


def whole(name: str, count: int = 5, change: Callable[[int, str], str] = lambda n, text: text) -> str:
    make, head, tail = MAKERS[name]
    return head + "".join(change(n, make(n)) for n in range(count)) + tail


def load(path: Path, data: str | bytes) -> tuple[list[Paper], FileSource]:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    source = FileSource(path)
    papers = list(source.papers())
    report = source.report
    assert (report.read, report.papers) == (report.papers + report.skipped, len(papers))
    return papers, source


def titles(papers: list[Paper]) -> list[str]:
    return [paper.title for paper in papers]


EVERY = [f"Title {n}" for n in range(5)]


@ALL
def test_as_it_should_be(tmp_path: Path, name: str) -> None:
    papers, source = load(tmp_path / name, whole(name))
    assert titles(papers) == EVERY
    assert [paper.year for paper in papers] == list(range(2000, 2005))
    assert {paper.authors for paper in papers} == {("Jo Doe",)}
    assert (source.report.skipped, source.report.notes) == (0, ())


@ALL
@pytest.mark.parametrize("change", ["crlf", "bom", "boms", "nuls", "utf-16", "gz", "no end", "blank lines"])
def test_faults_that_cost_nothing(tmp_path: Path, name: str, change: str) -> None:
    text = whole(name)
    changed: dict[str, str | bytes] = {
        "crlf": text.replace("\n", "\r\n"),
        "bom": "\ufeff" + text,
        "boms": whole(name, change=lambda n, record: "\ufeff" * (n > 0) + record),
        "nuls": whole(name, change=lambda n, record: record.replace("Title", "Ti\0tle", n == 2) + "\0"),
        "utf-16": text.encode("utf-16"),
        "gz": gzip.compress(text.encode()),
        "no end": text.rstrip(),
        "blank lines": "\n\n \n" + text + "\n \n",
    }
    if name in ("a.xml", "a.csv", "a.jsonl") and change == "blank lines":
        changed["blank lines"] = "\n\n" + text + "\n\n"
    papers, source = load(tmp_path / name, changed[change])
    assert [title.replace("Ti tle", "Title") for title in titles(papers)] == EVERY
    assert source.report.skipped == 0


@ALL
def test_a_title_of_a_megabyte(tmp_path: Path, name: str) -> None:
    long = "Title 2 " + "word " * 200_000
    papers, _ = load(tmp_path / name, whole(name, change=lambda n, text: text.replace("Title 2", long)))
    assert titles(papers) == [long.strip() if n == 2 else f"Title {n}" for n in range(5)]


@ALL
def test_the_same_record_twice_is_one_paper(tmp_path: Path, name: str) -> None:
    make, head, tail = MAKERS[name]
    papers, source = load(tmp_path / name, head + make(1) + make(1) + make(2) + tail)
    assert titles(papers) == ["Title 1", "Title 2"]
    assert source.report.skipped == 1


@pytest.mark.parametrize("name", ["a.ris", "a.enw", "a.csv", "a.xml", "a.bib"])
def test_one_id_under_two_titles_is_two_papers(tmp_path: Path, name: str) -> None:
    text = whole(name).replace("key3", "key1")
    papers, source = load(tmp_path / name, text)
    assert titles(papers) == EVERY
    assert [paper.id.startswith("key1#") for paper in papers] == [False, False, False, True, False]
    assert "key1#" in source.report.notes[0]


BROKEN: dict[str, tuple[str, str, list[int]]] = {  # a record's text, what becomes of it, the papers left
    "a.bib": ("Title 2}", "Title 2", [0, 1, 3, 4]),
    "a.csv": ('"Title 2"', '"Title 2', [0, 1, 3, 4]),
    "a.xml": ("</title></titles><dates><year>2002", "</wrong><year>2002", [0, 1, 3, 4]),
    "a.jsonl": ('"title"', '"title', [0, 1, 3, 4]),
    "a.ris": ("TI  - Title 2\n", "", [0, 1, 3, 4]),
    "a.ciw": ("TI Title 2\n", "", [0, 1, 3, 4]),
    "a.nbib": ("TI  - Title 2\n", "", [0, 1, 3, 4]),
    "a.enw": ("%T Title 2\n", "", [0, 1, 3, 4]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_record_is_reported_with_its_line_and_costs_no_other(tmp_path: Path, name: str) -> None:
    old, new, left = BROKEN[name]
    change = lambda n, text: text.replace(old, new) if n == 2 else text  # noqa: E731
    papers, source = load(tmp_path / name, whole(name, change=change))
    assert titles(papers) == [f"Title {n}" for n in left]
    assert source.report.skipped == 1
    start = whole(name, 2).removesuffix(MAKERS[name][2]).count("\n") + 1
    assert start <= source.report.problems[0].line <= start + 8


@pytest.mark.parametrize("name", ["a.ris", "a.ciw"])
def test_missing_ends_and_tags_in_front(tmp_path: Path, name: str) -> None:
    end, first = ("ER  - \n", "TY  - JOUR\n") if name == "a.ris" else ("ER\n", "PT J\n")
    assert titles(load(tmp_path / name, whole(name).replace(end, ""))[0]) == EVERY
    moved = whole(name, change=lambda n, text: text.replace(first, "").replace(end, first + end))
    if name == "a.ciw":
        moved = first + end + moved  # else nothing tells what it is
    assert [title for title in titles(load(tmp_path / name, moved)[0]) if title] == EVERY
    no_first = whole(name, change=lambda n, text: text.replace(first, "") if n == 2 else text)
    assert titles(load(tmp_path / name, no_first)[0]) == EVERY


def test_comments_and_what_is_no_entry_in_bibtex(tmp_path: Path) -> None:
    between = [
        "@comment{not {an} entry}", "@Comment jabref-meta: x;", '@preamble{"\\newcommand{\\x}{y}"}',
        "@string{j = {Journal}}", "% a % sign", "words between @ entries",
        "@comment{@article{k, title={No}}}",
    ]  # fmt: skip
    text = "".join(f"{bib(n)}{between[n % len(between)]}\n" for n in range(14))
    papers, _ = load(tmp_path / "a.bib", text)
    assert titles(papers) == [f"Title {n}" for n in range(14)]


@ALL
def test_a_web_page_under_the_name_of_an_export(tmp_path: Path, name: str) -> None:
    for page in (
        "<!DOCTYPE html><html><body>Please log in @article{x, title={y}}</body></html>",
        '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x">\n<html><p>'
        "TY  - </p></html>",
        "\n\n<html><head><title>502</title></head></html>",
    ):
        with pytest.raises(DataError, match="a web page"):
            load(tmp_path / name, page)


@ALL
def test_binary_under_the_name_of_an_export(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="binary"):
        load(tmp_path / name, bytes(range(256)) * 20)


def test_xml_that_wants_to_be_expanded_or_fetched(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for declared in (laughs, f'<!ENTITY a9 SYSTEM "file://{secret}">'):
        text = f'<?xml version="1.0"?><!DOCTYPE xml [<!ENTITY a0 "ha">{declared}]><xml>'
        papers, source = load(
            tmp_path / "a.xml", text + xml_record(1).replace("Title", "&a9; Title") + "</xml>"
        )
        assert "entities of its own" in str(source.report.problems[0])
        assert titles(papers) == ["&a9; Title 1"]


def test_what_xml_writers_forget(tmp_path: Path) -> None:
    text = whole("a.xml").replace("Title 1", "R&D &nbsp;&amp;&bogus; &#8211; 1 \x0b")
    papers, source = load(tmp_path / "a.xml", text)
    assert titles(papers)[1] == "R&D &&bogus; – 1"
    assert source.report.skipped == 0
    deep = whole("a.xml").replace("Title 1", "<b>" * 5000 + "Title 1" + "</b>" * 5000)
    papers, source = load(tmp_path / "a.xml", deep)
    assert titles(papers) == ["Title 0", "Title 2", "Title 3", "Title 4"]
    assert "nested" in str(source.report.problems[0])
    cut = whole("a.xml")
    papers, source = load(tmp_path / "a.xml", cut[: cut.index("Title 3") + 3])
    assert titles(papers) == ["Title 0", "Title 1", "Title 2"]
    assert "cut off" in str(source.report.problems[0])


def test_pieces_of_any_size_are_one_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        whole("a.xml").replace("Title 1", "A &amp; B &nbsp; C").replace("Title 3</title>", "Title 3</wrong>")
    )
    expected = titles(load(tmp_path / "a.xml", text)[0])
    assert expected == ["Title 0", "A & B C", "Title 2", "Title 4"]
    for size in (1, 2, 3, 7, 50, 101):
        monkeypatch.setattr(reading, "PIECE_CHARS", size)
        assert titles(load(tmp_path / "a.xml", text)[0]) == expected, size


def test_an_archive_that_unpacks_to_far_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_UNPACKED", 1_000_000)
    bomb = gzip.compress(json_line(1).encode() + b"\n" * 5_000_000)
    with pytest.raises(DataError, match="unpacks to more than 1,0"):
        load(tmp_path / "a.jsonl.gz", bomb)
    lines = "".join(f"{json_line(number)}\n" for number in range(9))
    papers, source = load(tmp_path / "b.jsonl.gz", gzip.compress(lines.encode())[:-4] + b"\1\2\3\4")
    assert len(papers) == 9
    assert "damaged or cut off" in str(source.report.problems[0])
