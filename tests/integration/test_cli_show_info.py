"""`hippo-lit show` and `hippo-lit info`: neither needs a model."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cli_support import QUICK, Cli

from hippo_lit.api import HippoLit
from hippo_lit.config import load_settings


def test_a_paper_its_facts_and_its_citations(cli: Cli, fact_index: Path) -> None:
    assert cli("show", "a1", "--index", fact_index).stdout.splitlines() == [
        "Alpha",
        "a1 · 2018",
        "Ada Lovelace",
        "",
        "Alpha extends Beta. It needs no data.",
        "",
        "Facts: 2",
        "  “Alpha extends Beta.”",
        "      Alpha — extends — Beta",
        "  “It needs no data.”",
        "      Alpha — needs — no data",
        "Cites: 1 in the index, 1 outside it",
        "  b2  Beta (2020)",
        "  x-9",
        "Cited by: 0 in the index, 1 outside it",
        "  y-8",
    ]
    assert (
        "Cited by: 1 in the index, 0 outside it\n  a1  Alpha (2018)"
        in cli("show", "b2", "--index", fact_index).stdout
    )


def test_a_paper_as_json(cli: Cli, fact_index: Path) -> None:
    told = json.loads(cli("show", "b2", "--index", fact_index, "--json").stdout)
    assert told.pop("paper")["venue"] == "V"
    assert told.pop("provenance")["venue"] == {"sources": [""], "others": []}
    sentence = "Beta was built in Kraków."
    assert told == {
        "facts": [{"subject": "Beta", "relation": "was built in", "object": "Kraków", "sentence": sentence}],
        "cites": [],
        "cites_outside": [],
        "cited_by": [{"id": "a1", "title": "Alpha", "year": 2018}],
        "cited_by_outside": [],
        "records": [{"id": "b2", "source": ""}],
        "kept_apart": [],
    }


def test_an_unknown_id_names_close_ones(cli: Cli, mock_index: Path) -> None:
    said = cli("show", "P053", "--index", mock_index, code=3).stderr
    assert said == f"error: {mock_index} holds no paper 'P053'; similar ids: p053\n"
    assert "similar ids: p053" in cli("show", "p0533", "--index", mock_index, code=3).stderr
    assert "similar" not in cli("show", "zzz", "--index", mock_index, code=3).stderr


def test_wild_text_is_shown_as_text(cli: Cli, fact_index: Path) -> None:
    shown = cli("show", "w3", "--index", fact_index).stdout
    assert shown.startswith("Wild [31mRED [0m [bold]markup[/bold] :smile: title\nw3 · no year\n")
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_counts_and_models(cli: Cli, fact_index: Path) -> None:
    shown = cli("info", "--index", fact_index).stdout
    rows = dict(re.findall(r"^(\S[\w ]*?)  +(.*)$", shown, re.MULTILINE))
    assert rows["papers"] == "3"
    assert rows["facts"] == "4"
    assert rows["edges"].startswith("mention ")
    assert rows["citations"] == "1 between papers of the index"
    assert rows["embedder"] == "hash-64 (64 dimensions)"
    assert rows["extractor"].startswith("llm-")
    assert rows["settings"] == "passages, words and graph are built as by default"
    assert rows["failures"] == "none"
    assert re.fullmatch(
        r"[\d.]+ kB \(store [\d.]+ kB, cache [\d.]+ kB, snapshots [\d.]+ kB\)", rows["on disk"]
    )


def test_settings_that_differ_are_named(cli: Cli) -> None:
    cli("index", "mock", "--index", "i", *QUICK, "--set", "bm25.k1=2", "--set", "extract.passage_chars=500")
    shown = cli("info", "--index", "i").stdout
    assert "passage_chars = 500 (default 4000)" in shown
    assert "bm25_k1 = 2.0 (default 1.5)" in shown
    told = json.loads(cli("info", "--index", "i", "--json").stdout)
    assert told["recipe_changes"] == {"passage_chars": [500, 4000], "bm25_k1": [2.0, 1.5]}
    assert told["papers"] == 100
    assert told["passages"] > 100
    assert told["edges"]["continuation"] == told["passages"] - 100


def test_where_the_data_come_from_and_who_disagrees(cli: Cli) -> None:
    records = [
        {"id": "1706.03762", "title": "Attention", "abstract": "Heads.", "year": 2017, "source": "arxiv"},
        {
            "id": "W1",
            "title": "RETRACTED: Attention",
            "year": 2018,
            "arxiv": "1706.03762v2",
            "source": "works",
        },
        {"id": "e", "title": "Erratum: Attention", "arxiv": "1706.03762", "source": "other"},
    ]
    index = Path("views.idx")
    settings = load_settings(overrides=["embedding.kind=hash", "extract.kind=simple"], environ={})
    with HippoLit.open(index, settings) as lit:
        lit.add(records)
    shown = cli("show", "https://arxiv.org/abs/1706.03762v2", "--index", index).stdout
    lines = shown.splitlines()
    assert lines[:4] == [
        "Attention",
        "1706.03762 · 2017 · source: arxiv+works",
        "RETRACTED, says works",
        "openalex:W1",
    ]
    assert "Merged from 2 records: 1706.03762 (arxiv), W1 (works)" in lines
    at = lines.index("  year: arxiv")
    assert lines[at + 1] == "      works says: 2018"
    assert "Shares arxiv:1706.03762 with e, but one belongs to the other" in lines
    told = json.loads(cli("show", "W1", "--index", index, "--json").stdout)
    assert told["records"] == [{"id": "1706.03762", "source": "arxiv"}, {"id": "W1", "source": "works"}]
    assert told["provenance"]["year"] == {
        "sources": ["arxiv"], "others": [{"value": 2018, "sources": ["works"]}],
    }  # fmt: skip
    assert told["kept_apart"] == [
        {"identifier": "arxiv:1706.03762", "id": "e", "reason": "one belongs to the other"}
    ]
    found = cli("search", "attention heads", "--index", index, "--mode", "bm25", *QUICK).stdout
    assert "RETRACTED Attention" in found
    assert "RETRACTED Erratum" not in found
