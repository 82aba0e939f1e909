"""Moving in and out, and what an index remembers, on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cli_support import HASH, QUICK, Cli

from hippo_lit.storage.store import Store

PAPERS = (
    {"id": "a", "title": "Alpha", "abstract": "Alpha extends Beta. It is old.", "year": 2001},
    {"id": "b", "title": "Beta", "abstract": "Beta was built in Kraków.", "references": ["a"]},
)


def written(path: Path, rows: tuple[dict[str, object], ...] = PAPERS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_search_needs_no_setting_that_the_index_was_made_with(cli: Cli, tmp_path: Path) -> None:
    cli("index", written(tmp_path / "p.jsonl"), "--index", "i", *QUICK)
    found = cli("search", "Who extends Beta?", "--index", "i")
    assert found.stdout.startswith("2 papers by hippo")
    assert found.stderr == ""
    again = cli("index", tmp_path / "p.jsonl", "--index", "i")
    assert "nothing to do" in again.stdout
    wrong = cli("search", "x", "--index", "i", "--set", "embedding.dimensions=8", code=6)
    assert "Search without settings of embedding, since the index remembers its own" in wrong.stderr
    said = cli("search", "Beta", "--index", "i", "--set", "graph.synonyms=none").stderr
    assert 'graph.synonyms = "none" has no effect on a search: the index was built with "spelling"' in said


def test_a_file_of_settings_and_a_json_error_bring_no_hints(cli: Cli, tmp_path: Path) -> None:
    cli("index", written(tmp_path / "p.jsonl"), "--index", "i", *QUICK)
    (tmp_path / "mine.toml").write_text('[graph]\nsynonyms = "none"\n')
    assert cli("search", "Beta", "--index", "i", "--config", tmp_path / "mine.toml").stderr == ""
    wrong = ("--set", "graph.synonyms=none", "--set", "embedding.dimensions=8", "--json")
    error = json.loads(cli("search", "Beta", "--index", "i", *wrong, code=6).stderr)["error"]
    assert error["exit_code"] == 6


def test_what_a_change_means_is_said_before_it_is_done(cli: Cli, tmp_path: Path) -> None:
    cli("index", written(tmp_path / "p.jsonl"), "--index", "i", *QUICK)
    said = cli("index", "--index", "i", "--set", "embedding.dimensions=8").stderr
    assert "the embedder changes from hash-64" in said
    assert "2 of 2 passages will be embedded again, the others come from the cache" in said
    assert "the extractor" not in said
    assert "until the new state is published, searches are answered from the present one" in said
    back = cli("index", "--index", "i", "--set", "embedding.dimensions=64").stderr
    assert "0 of 2 passages will be embedded again" in back
    said = cli("index", "--index", "i", "--set", "extract.kind=none").stderr
    assert "the extractor, its model or its prompt changes from" in said
    assert "2 of 2 passages will be read again" in said
    assert "embedder" not in said
    recipe = cli("index", "--index", "i", "--set", "bm25.k1=2").stderr
    assert "the index is built in another way (bm25_k1 1.5 → 2.0)" in recipe
    assert "nothing to do" in cli("index", "--index", "i").stdout


def test_without_a_path_there_must_be_an_index(cli: Cli) -> None:
    assert "there is no index at i" in cli("index", "--index", "i", code=6).stderr
    assert "there is no index at i" in cli("index", "--estimate", "--index", "i", code=6).stderr
    assert not Path("i").exists()


def test_estimating_and_deleting_need_no_setting_either(cli: Cli, tmp_path: Path) -> None:
    cli("index", written(tmp_path / "p.jsonl"), "--index", "i", *QUICK)
    told = json.loads(cli("index", "--estimate", "--index", "i", "--json").stdout)
    assert (told["passages"], told["to_extract"], told["to_embed"]) == (2, 0, 0)
    changed = cli("index", "--estimate", "--index", "i", "--set", "embedding.dimensions=8", "--json")
    assert json.loads(changed.stdout)["to_embed"] == 2
    assert cli("delete", "a", "--index", "i").stdout.startswith("deleted 1 paper")


def test_openie_in_and_an_index_on_it(cli: Cli, tmp_path: Path) -> None:
    record = {
        "idx": "chunk-0",
        "passage": "Alpha\nAlpha extends Beta.",
        "extracted_entities": ["Alpha", "Beta"],
        "extracted_triples": [["Alpha", "extends", "Beta"], ["one", "two"]],
    }
    file = tmp_path / "openie_results_ner_gpt.json"
    file.write_text(json.dumps({"docs": [record]}))
    said = cli("import-openie", file, "--index", "i").stdout
    assert "1 records = 1 imported + 0 unchanged + 0 in conflict + 0 skipped" in said
    assert "left out: 1 triples that are not three parts" in said
    assert "hippo-lit index --index i --set extract.kind=imported" in said
    imported = ("--set", "extract.kind=imported", "--set", "extract.names_from=none")
    cli("index", "--index", "i", *HASH, *imported)
    assert "Alpha — extends — Beta" in cli("search", "Alpha", "--index", "i", "--explain").stdout
    assert json.loads(cli("import-openie", file, "--index", "i", "--json").stdout)["unchanged"] == 1
    assert "nothing to do" in cli("index", "--index", "i").stdout
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"a": 1}')
    assert "holds no OpenIE results" in cli("import-openie", wrong, "--index", "i", code=3).stderr


def test_papers_out_and_in_again(cli: Cli, mock_index: Path, tmp_path: Path) -> None:
    out = tmp_path / "papers.jsonl"
    assert "100 papers written" in cli("export", "papers", "--index", mock_index, "--out", out).stderr
    cli("index", out, "--index", "again", *QUICK)
    read_from = re.compile(rf":{tmp_path.name}/papers\.jsonl~[0-9a-f]{{6}}")
    with Store.open(mock_index, read_only=True) as first, Store.open("again", read_only=True) as second:
        for given, back in zip(first.papers(), second.papers(), strict=True):
            assert read_from.sub("", back.source) == given.source
            fields = ("id", "title", "abstract", "year", "authors", "references", "citations", "doi", "venue")
            assert [getattr(back, f) for f in fields] == [getattr(given, f) for f in fields]


def test_a_source_that_names_a_file_stays_when_it_is_read_again(cli: Cli, tmp_path: Path) -> None:
    cli("index", written(tmp_path / "p.jsonl"), "--index", "i", *QUICK)
    cli("export", "papers", "--index", "i", "--out", tmp_path / "out.jsonl")
    cli("index", tmp_path / "out.jsonl", "--index", "again", *QUICK)
    with Store.open("i", read_only=True) as first, Store.open("again", read_only=True) as second:
        assert list(first.papers()) == list(second.papers())


def test_facts_and_graph_to_stdout(cli: Cli, fact_index: Path) -> None:
    lines = cli("export", "facts", "--index", fact_index).stdout.splitlines()
    assert json.loads(lines[0]) == {
        "subject": "Alpha",
        "relation": "extends",
        "object": "Beta",
        "paper": "a1",
        "sentence": "Alpha extends Beta.",
    }
    assert cli("export", "graph", "--index", fact_index).stdout.startswith("<?xml")
    assert "graph are written as graphml" in cli(
        "export", "graph", "--format", "jsonl", "--index", fact_index, code=2
    ).stderr.replace("\n", " ")


def test_an_export_appears_whole_or_not_at_all(cli: Cli, tmp_path: Path) -> None:
    cli("import-openie", _one(tmp_path), "--index", "i")
    out = tmp_path / "facts.jsonl"
    out.write_text("before")
    said = cli("export", "facts", "--index", "i", "--out", out, code=6).stderr
    assert "holds no published index yet" in said
    assert out.read_text() == "before"
    assert [file.name for file in tmp_path.glob("*.tmp-*")] == []


def _one(folder: Path) -> Path:
    row = {"passage": "T\ntext.", "extracted_entities": [], "extracted_triples": []}
    return written(folder / "o.jsonl", (row,))
