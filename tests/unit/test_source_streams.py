"""Files of any size: what is read does not depend on where blocks end, and memory not on the file's size."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hippo_lit.sources import found as found_module
from hippo_lit.sources.bibtex_entries import Entry, entries
from hippo_lit.sources.files import FileSource
from hippo_lit.sources.found import Found, settle_ids, settled
from hippo_lit.sources.jsonl import read_document
from hippo_lit.sources.reading import PIECE_CHARS
from hippo_lit.types import Paper

TEXT = "Retrieval over facts, ranked by a random walk. " * 200


def record(format: str, n: int) -> str:
    match format:
        case "bib":
            return f"@article{{k{n},\n title = {{Title {n}}},\n note = {{{TEXT}}}\n}}\n"
        case "ris":
            return f"TY  - JOUR\nID  - k{n}\nTI  - Title {n}\nN1  - {TEXT}\nER  - \n\n"
        case "ciw":
            return f"PT J\nTI Title {n}\nCR {TEXT}\nUT k{n}\nER\n\n"
        case "json":
            comma = "," if n else "["
            return comma + json.dumps({"id": f"k{n}", "title": f"Title {n}", "notes": TEXT})
        case _:  # one long line, as Zotero's API gives it, within an envelope
            comma = "," if n else '{"papers": ['
            return comma + json.dumps({"id": f"k{n}", "title": f"Title {n}", "notes": TEXT})


@pytest.mark.parametrize("ending", ["bib", "ris", "ciw", "json", "wrapped.json"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, ending: str) -> None:
    path, records = tmp_path / f"a.{ending}", 1_200
    with path.open("w") as file:
        file.writelines(record(ending, n) for n in range(records))
        file.write({"json": "]", "wrapped.json": "]}"}.get(ending, ""))
    assert path.stat().st_size > 11_000_000
    source = FileSource(path)
    small = tmp_path / f"b.{ending}"
    small.write_text(record(ending, 0) + {"json": "]", "wrapped.json": "]}"}.get(ending, ""))
    list(FileSource(small).papers())  # what the first use imports is not counted
    tracemalloc.start()
    try:
        papers = sum(1 for _ in source.papers())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (papers, source.report.skipped) == (records, 0)
    assert peak < 8_000_000


def test_a_long_file_is_settled_as_a_short_one() -> None:
    records = [
        Found(1, Paper("a", "One", abstract="")),
        Found(2, Paper("b", "Two", abstract="")),
        Found(3, problem="none"),
        Found(4, Paper("a", "One", abstract="Text.")),
        Found(5, Paper("b", "Another", abstract="")),
        Found(6, Paper("a", "One", abstract="", year=2020)),
    ]
    assert list(settled(lambda: iter(records), at_once=2)) == settle_ids(records)
    assert settle_ids(records)[0].paper == Paper("a", "One", abstract="Text.", year=2020)


def test_entries_do_not_depend_on_where_chunks_end() -> None:
    text = '@string{j = "Journal"}\n\n@article{a,\n journal = j\n}\n stray @\n@misc\n{b, title={B}}\n@misc{c}'
    lines = text.split("\n")
    whole = list(entries(lines))
    assert list(entries(lines, chunk_chars=1)) == whole
    assert [(e.line, e.key) for e in whole if isinstance(e, Entry)] == [(3, "a"), (7, "b"), (9, "c")]


def documents() -> Iterator[str]:
    good = '{"id": "a", "title": "A [b] \\"c\\" é"}'
    yield f'[\n {good},\n {{"id": "b", "title": "B", "year": 2020}}, 12345678901234567890]'
    yield f'[\n {{"id": "x", "title": oops}},\n {good}\n]'
    yield f"[{good}, {{broken: [1, 2]}}, {good}"
    yield f'{{"meta": {{"n": 1}}, "results": [{good}]}}\n{{"papers": [{{"id": "b", "title": "B"}}]}}'
    yield f'{{"papers": [{good}, nonsense {{"a": 1}}, {{"id": "c", "title": "C"}}]}}'
    yield "{broken\n" + good
    yield '[{"id": "a", "title": "never closed'


@pytest.mark.parametrize("text", list(documents()))
@pytest.mark.parametrize("size", [1, 3, 50])
def test_json_does_not_depend_on_where_blocks_end(text: str, size: int) -> None:
    def pieces() -> Iterable[str]:
        return (text[i : i + size] for i in range(0, len(text), size))

    assert list(read_document(pieces(), block_chars=1)) == list(read_document([text]))


def test_a_reference_leads_to_an_entry_far_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_module, "AT_ONCE_CHARS", 0)
    path = tmp_path / "a.bib"
    middle = "".join(f"@misc{{m{n}, title={{M{n}}}}}\n" for n in range(50))
    path.write_text(
        f"@inproceedings{{a, title={{A}}, crossref={{P}}}}\n{middle}@proceedings{{p, year=2020}}\n"
    )
    first, *_ = FileSource(path).papers()
    assert (first.title, first.year) == ("A", 2020)


@pytest.mark.parametrize("ending", ["a.ris", "a.bib", "a.enw", "a.nbib", "a.csv", "a.txt"])
def test_line_ends_of_any_system(tmp_path: Path, ending: str) -> None:
    texts = {
        "a.ris": "TY  - JOUR\nTI  - One\nAB  - Of é\nER  - \nTY  - JOUR\nTI  - Two\nER  - \n",
        "a.bib": "@misc{a,\n title={One},\n abstract={Of é}\n}\n@misc{b,\n title={Two}\n}\n",
        "a.enw": "%0 Article\n%T One\n%X Of é\n\n%0 Article\n%T Two\n",
        "a.nbib": "PMID- 1\nTI  - One\nAB  - Of é\n\nPMID- 2\nTI  - Two\n",
        "a.txt": "FN Web of Science\nVR 1.0\nPT J\nTI One\nAB Of é\nER\n\nPT J\nTI Two\nER\n\nEF\n",
        "a.csv": "title,abstract\nOne,Of é\nTwo,\n",
    }
    path = tmp_path / ending
    for end in ("\n", "\r\n", "\r"):
        for encoding in ("utf-8", "cp1252", "utf-16"):
            path.write_bytes(texts[ending].replace("\n", end).encode(encoding))
            papers = [(paper.title, paper.abstract) for paper in FileSource(path).papers()]
            assert papers == [("One", "Of é"), ("Two", "")], (end, encoding)


def test_an_odd_byte_far_behind_the_head(tmp_path: Path) -> None:
    """The head tells nothing of it: what is not UTF-8 is read as its line has it, and that is said."""
    path = tmp_path / "a.ris"
    filler = "".join(f"TY  - JOUR\nID  - {n}\nTI  - Title {n}\nER  - \n" for n in range(3_000))
    path.write_bytes(filler.encode() + "TY  - JOUR\nTI  - Größe\nER  - \n".encode("cp1252"))
    source = FileSource(path)
    assert [paper.title for paper in source.papers()][-1] == "Größe"
    (note,) = source.report.notes
    assert note == f"{path}:12002: not valid UTF-8; what is not, here and below, was read as Windows-1252"


def test_a_letter_across_two_pieces_of_one_long_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for shift in range(4):
        title = "x" * (PIECE_CHARS - 30 + shift) + "測試資料é" * 20
        path.write_text(json.dumps([{"id": "a", "title": title}], ensure_ascii=False))
        (paper,) = FileSource(path).papers()
        assert paper.title == title
