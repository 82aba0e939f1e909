"""`hippo-lit index`: what is read, what is said, what is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_support import QUICK, Cli

from hippo_lit.api import HippoLit
from hippo_lit.errors import StoreError
from hippo_lit.storage.lock import WriterLock
from hippo_lit.storage.store import Store
from hippo_lit.testing import ScriptedServer, chat_reply, status

DATA = Path(__file__).parents[1] / "unit" / "data_sources"
TITLES = ("Sparse attention", "Dense retrieval", "Low-rank tuning")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    file = tmp_path / "papers.jsonl"
    file.write_text("".join(f'{{"id": "p{i}", "title": "{title}"}}\n' for i, title in enumerate(TITLES)))
    return file


def numbers(line: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*", line)]


def test_the_mock_corpus_and_then_nothing_to_do(cli: Cli) -> None:
    first = cli("index", "mock", "--index", "m.idx", *QUICK).stdout.splitlines()
    assert first[:4] == [
        "mock (arxiv)  read 100 = 100 papers + 0 skipped",
        "mock (s2)     read 100 = 100 papers + 0 skipped",
        "given 200 papers = 100 added + 100 changed + 0 unchanged",
        "index: 100 papers, 100 passages; facts extracted from 100 new passages, 0 failed",
    ]
    again = cli("index", "mock", "--index", "m.idx", *QUICK).stdout
    assert "given 200 papers = 0 added + 0 changed + 200 unchanged" in again
    assert "nothing to do: the index is up to date (100 papers, 100 passages)" in again


def test_figures_of_many_formats_add_up(cli: Cli) -> None:
    files = [DATA / "own.jsonl", DATA / "zoo.bib", DATA / "export.ris", DATA / "works"]
    result = cli("index", *files, "--index", "i", *QUICK)
    lines = result.stdout.splitlines()
    total = 0
    for file, line in zip(files, lines, strict=False):
        read, kept, skipped = numbers(line.removeprefix(str(file)))
        assert read == kept + skipped
        total += kept
    given, added, changed, unchanged = numbers(lines[len(files)])
    assert given == total == added + changed + unchanged
    assert numbers(lines[len(files) + 1])[0] == added


@pytest.mark.parametrize("own", ["", "arxiv+s2"])
def test_two_files_with_one_id_are_merged_and_then_nothing_to_do(cli: Cli, own: str) -> None:
    paper = {"id": "p", "title": "Sparse attention", "source": own}
    records = [{**paper, "abstract": "Long. " * 9}, {**paper, "abstract": "Short.", "year": 2020}]
    files = [Path("2019/papers+.jsonl"), Path("2020/papers+.jsonl")]
    for file, record in zip(files, records, strict=True):
        file.parent.mkdir()
        file.write_text(json.dumps(record))
    first = cli("index", *files, "--index", "i", *QUICK).stdout
    assert "given 2 papers = 1 added + 1 changed + 0 unchanged" in first
    with Store.open(Path("i"), read_only=True) as store:
        merged = store.paper("p")
    assert merged is not None
    assert (merged.abstract, merged.year) == (("Long. " * 9).strip(), 2020)
    sources = [f"{name}:{year}/papers-.jsonl" for name in (own or "json").split("+") for year in (2019, 2020)]
    assert [re.sub("~[0-9a-f]{6}$", "", part) for part in merged.source.split("+")] == sources
    again = cli("index", *(f"./{file}" for file in reversed(files)), "--index", "i", *QUICK).stdout
    assert "given 2 papers = 0 added + 0 changed + 2 unchanged" in again
    assert "nothing to do: the index is up to date (1 paper, 1 passage)" in again


def test_a_file_that_is_read_again_replaces_what_it_said(cli: Cli, papers: Path) -> None:
    cli("index", papers, "--index", "i", *QUICK)
    papers.write_text('{"id": "p0", "title": "Short"}\n')
    cli("index", papers, "--index", "i", *QUICK)
    assert cli("show", "p0", "--index", "i").stdout.startswith("Short\n")


def test_an_unreadable_reply_is_asked_for_again_by_the_next_run(cli: Cli, papers: Path) -> None:
    with ScriptedServer([chat_reply("Sorry, not today."), REPLY]) as server:
        command = ["index", papers, "--index", "i", *llm(server, "llm.response_format=text")]
        assert "facts extracted from 2 new passages, 1 failed" in cli(*command, code=5).stdout
        assert "facts extracted from 1 new passages, 0 failed" in cli(*command).stdout
        assert len(server.requests) == 4


def test_problems_stand_with_file_and_line_and_no_more_than_ten(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"id": "ok", "title": "Fine"}\n' + '{"id": "x"}\n' * 14)
    said = cli("index", file, "--index", "i", *QUICK).stderr.splitlines()
    start = said.index("14 records skipped:")
    assert said[start + 1] == f'  {file}:2: paper "x" has neither a title nor an abstract'
    assert said[start + 10].startswith(f"  {file}:11: ")
    assert said[start + 11] == "  … and 4 more"


def test_strict_stops_at_the_first_bad_record(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"id": "ok", "title": "Fine"}\n{"id": "x"}\n')
    result = cli("index", file, "--index", "i", "--strict", *QUICK, code=3)
    assert f"error: {file}:2: " in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("absent.json", None, "does not exist"),
        ("paper.pdf", b"%PDF-1.7 \x00\x01", "is a PDF"),
        ("noise.jsonl", bytes(range(256)) * 8, "is binary"),
        ("notes.txt", b"Dear diary", "is in no format known here"),
    ],
)
def test_a_file_that_cannot_be_read_stops_before_anything_is_stored(
    cli: Cli, papers: Path, tmp_path: Path, name: str, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = cli("index", papers, name, "--index", "i", *QUICK, code=3)
    assert result.stderr.startswith(f"error: {name} {problem}")
    assert not Path("i").exists()


def test_an_empty_file_gives_an_empty_index_and_a_note(cli: Cli) -> None:
    Path("empty.jsonl").touch()
    result = cli("index", "empty.jsonl", "--index", "i", *QUICK)
    assert "empty.jsonl is empty" in result.stderr
    assert "given 0 papers" in result.stdout
    found = cli("search", "anything", "--index", "i", *QUICK).stdout
    assert found.strip() == "0 papers by hippo: the index holds no papers"


def test_a_folder_without_papers_is_an_error(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    result = cli("index", "folder", "--index", "i", *QUICK, code=3)
    assert "folder holds no file to read" in result.stderr


def test_json_has_every_figure(cli: Cli, papers: Path) -> None:
    told = json.loads(cli("index", papers, "--index", "i", "--json", *QUICK).stdout)
    assert told["index"] == "i"
    read = {"read": 3, "papers": 3, "skipped": 0, "problems": [], "notes": []}
    assert told["sources"] == [{"path": str(papers), **read, "failure": None}]
    assert told["counts"] == {"added": 3, "changed": 0, "unchanged": 0}
    assert (told["built"]["published"], told["built"]["extracted"], told["built"]["failed"]) == (True, 3, 0)
    assert told["usage"] == {}
    assert told["seconds"] > 0


def test_progress_goes_to_stderr_as_plain_lines(cli: Cli, papers: Path) -> None:
    result = cli("index", papers, "--index", "i", *QUICK)
    assert "reading papers: 3/3" in result.stderr
    assert "building the graph\n" in result.stderr
    assert "\x1b" not in result.output


def llm(server: ScriptedServer, *more: str) -> list[str]:
    given = [
        "embedding.kind=hash",
        "llm.kind=openai",
        f"llm.base_url={server.base_url}",
        "llm.max_attempts=1",
        "llm.concurrency=1",
        "extract.kind=llm",
        "extract.names_from=none",
        *more,
    ]
    return [part for setting in given for part in ("--set", setting)]


REPLY = chat_reply('{"entities": ["a b"], "triples": [["a b", "is", "c d"]]}')


def test_failed_extractions_are_listed_and_tried_again_by_the_next_run(cli: Cli, papers: Path) -> None:
    with ScriptedServer([REPLY, status(500, "out of memory"), REPLY]) as server:
        command = ["index", papers, "--index", "i", *llm(server, "llm.response_format=text")]
        first = cli(*command, code=5)
        assert "facts extracted from 2 new passages, 1 failed" in first.stdout
        assert "extraction failed for 1 passage, now without facts:\n  p1: " in first.stderr
        assert "out of memory" in first.stderr
        shown = cli("info", "--index", "i").stdout
        assert re.search(r"failures +1 passages have no facts\n +p1, passage [01]: .*out of memory", shown)
        again = cli(*command)
        assert "facts extracted from 1 new passages, 0 failed" in again.stdout
        assert len(server.requests) == 4
    assert "failures   none" in cli("info", "--index", "i").stdout


def test_what_the_model_cost_is_told(cli: Cli, papers: Path) -> None:
    with ScriptedServer([REPLY]) as server:
        prices = ("llm.price_in_per_million=10", "llm.price_out_per_million=100")
        told = cli("index", papers, "--index", "i", *llm(server, *prices)).stdout
    assert "extract: 3 calls, 21 tokens in, 9 out, 0.0011 USD" in told


def test_a_wrong_key_is_told_as_such(cli: Cli, papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123")
    with ScriptedServer([status(401, "bad key sk-secret-0123")]) as server:
        result = cli("index", papers, "--index", "i", *llm(server), code=5)
    assert "Check the key in the environment variable OPENAI_API_KEY" in result.stderr
    assert "sk-secret" not in result.output


def test_an_index_that_is_being_written_is_left_alone(cli: Cli, mock_index: Path, papers: Path) -> None:
    with WriterLock(mock_index):
        result = cli("index", papers, "--index", mock_index, *QUICK, code=6)
    assert "is being written by process" in result.stderr


def test_a_table_whose_columns_and_encoding_are_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("Was;Wozu\nGröße;Ein Text\n".encode("mac-roman"))
    command = ("index", tmp_path / "t.csv", "--index", tmp_path / "t.idx", "--json", *QUICK)
    cli(*command, "--encoding", "mac-roman", "--columns", "title=Was, abstract=Wozu")
    shown = cli("search", "Größe", "--index", tmp_path / "t.idx", "--json", *QUICK).stdout
    assert json.loads(shown)["papers"][0]["paper"]["title"] == "Größe"
    assert "there is no field 'titel'" in cli(*command, "--columns", "titel=Was", code=2).stderr
    assert "FIELD=HEADER" in cli(*command, "--columns", "title", code=2).stderr
    assert "there is no encoding 'klingon'" in cli(*command, "--encoding", "klingon", code=2).stderr


def test_an_address_of_nobody_is_told_what_is_understood(cli: Cli) -> None:
    said = cli("index", "https://example.org/x", "--index", "i", *QUICK, code=2).stderr
    assert "https://example.org/x is no address that is understood: give arxiv:" in " ".join(said.split())
    assert not Path("i").exists()


def test_an_index_is_no_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    said = cli("index", "mock", "--index", tmp_path / "x", code=2).stderr
    assert "x is a file; give the folder of an index" in said
    with pytest.raises(StoreError, match="x is a file: name a folder"):
        HippoLit.open(tmp_path / "x")


def test_files_of_one_name_and_a_folder_lose_nothing(cli: Cli) -> None:
    for folder, year in (("a/refs", 2019), ("b/refs", None)):
        Path(folder).mkdir(parents=True)
        record = {
            "id": "p",
            "title": "Sparse attention",
            "abstract": "Long." if year is None else "",
            "year": year,
        }
        Path(folder, "x.jsonl").write_text(json.dumps(record))
        Path(folder, "y.jsonl").write_text(json.dumps({"id": "p", "title": "Sparse attention", "venue": "J"}))
    told = cli("index", "a/refs", "b/refs/x.jsonl", "--index", "i", *QUICK)
    assert "skipped:" not in told.stderr
    with Store.open(Path("i"), read_only=True) as store:
        merged = store.paper("p")
        assert len(store.versions("p")) == 3
    assert merged is not None
    assert (merged.abstract, merged.year, merged.venue) == ("Long.", 2019, "J")
    assert (
        "deleted what y.jsonl said of 1 paper;"
        in cli("delete", "--source", "y.jsonl", "--index", "i", *QUICK).stdout
    )
    with Store.open(Path("i"), read_only=True) as store:
        merged = store.paper("p")
    assert merged is not None
    assert merged.venue is None


def test_columns_are_for_tables_that_have_them(cli: Cli) -> None:
    Path("a.csv").write_text("Foo,Bar\nT,A\n")
    Path("a.bib").write_text("@misc{a, title={A}}")
    said = cli("index", "a.csv", "--columns", "title=Titel", "--index", "i", *QUICK, code=3).stderr
    assert 'there is no column "Titel"; the header has "Foo", "Bar"' in " ".join(said.split())
    said = cli("index", "a.bib", "--columns", "title=Titel", "--index", "i", *QUICK, code=2).stderr
    assert "--columns is for tables, and a.bib is BIBTEX" in " ".join(said.split())
    assert not Path("i").exists()
