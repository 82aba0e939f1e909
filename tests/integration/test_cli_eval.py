"""`hippo-lit eval` and `compare` as people and CI use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import QUICK, Cli

from hippo_lit.api import HippoLit
from hippo_lit.testing.server import ScriptedServer, chat_reply

TINY = ("--systems", "bm25,hippo", "--measures", "R@5 nDCG@10", "--split", "test", *QUICK)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def test_the_tables(cli: Cli, kept: Path) -> None:
    shown = cli("eval", "mock", *TINY, "--store", kept)
    out = shown.stdout
    assert "mock-test: 100 papers, 47 queries, 40 of them with a relevant paper." in " ".join(out.split())
    lines = out.splitlines()
    (head,) = (line for line in lines if line.startswith("system") and "ms, 95%" in line)
    assert head.split()[:3] == ["system", "R@5", "nDCG@10"]
    assert any(line.startswith("system") and "multi-hop (10)" in line for line in lines)
    assert "Compared with hippo: * is real (p < 0.05 after Holm)" in lines
    assert "The filter, on the gold facts" in lines


def test_json_is_all_that_is_on_stdout(cli: Cli, kept: Path) -> None:
    told = json.loads(cli("eval", "mock", *TINY, "--store", kept, "--json").stdout)
    assert (told["dataset"], told["queries"], told["with_relevant_paper"]) == ("mock-test", 47, 40)
    bm25, hippo = told["systems"]
    assert (bm25["label"], hippo["label"]) == ("bm25", "hippo")
    assert 0 < bm25["measures"]["R@5"]["low"] < bm25["measures"]["R@5"]["mean"] < 1
    assert bm25["filter"] is None
    assert hippo["filter"]["matched_back"] == 1.0
    assert bm25["tags"]["none"]["R@5"] == {"mean": None, "low": None, "high": None, "queries": 0}
    assert [(row["other"], row["measure"]) for row in told["comparisons"]] == [
        ("bm25", "R@5"),
        ("bm25", "nDCG@10"),
    ]


def test_runs_are_kept_gone_on_with_and_compared(cli: Cli, kept: Path, tmp_path: Path) -> None:
    arguments = ("eval", "mock", *TINY, "--store", kept, "--out", "runs", "--html", "report.html")
    assert "read from" not in cli(*arguments).stderr
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count('class="query"') == 47
    again = cli(*arguments)
    assert "bm25: read from runs\nhippo: read from runs\n" in again.stderr
    told = json.loads(cli("compare", "runs/bm25", "runs/hippo.run", "--moved", 1, "--json").stdout)
    (first, *_) = told["comparisons"]
    assert (told["a"]["label"], told["b"]["label"], first["measure"]) == ("bm25", "hippo", "nDCG@10")
    (move,) = told["moved"]
    assert abs(move["other"] - move["base"]) > 0
    assert len(move["base_ranking"]) <= 100
    shown = cli("compare", "runs/bm25", "runs/hippo", "--moved", 2).stdout
    assert f"\n{move['query_id']}  " in shown
    assert "queries moved by nDCG@10; the most:" in shown
    assert "  bm25 (bm25)\n" in shown


def test_gates_for_ci(cli: Cli, kept: Path) -> None:
    passed = cli("eval", "mock", *TINY, "--store", kept, "--fail-if", "hippo R@5 < 0.1")
    assert "failed" not in passed.stderr
    failed = cli(
        "eval",
        "mock",
        *TINY,
        "--store",
        kept,
        "--fail-if",
        "hippo R@5 < 0.1",
        "--fail-if",
        "bm25 P@1<1",
        code=1,
    )
    assert "failed: bm25 P@1 < 1: it is 0." in failed.stderr
    assert "hippo R@5 <" not in failed.stderr


def test_mistakes_are_known_before_anything_runs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(HippoLit, "open", lambda *_a, **_k: pytest.fail("opened an index"))
    for arguments, message in (
        (("--systems", "bm26"), "there is no system 'bm26'"),
        (("--measures", "Foo@3"), "there is no measure 'Foo@3'"),
        (("--fail-if", "hipo R@5 < 1"), "--fail-if: no system is called 'hipo'"),
        (("--baseline", "x"), "--baseline: no system is called 'x'"),
        (("--sweep", "ppr.damping=2"), "ppr.damping = 2"),
        (("--sweep", "ppr.dampin=0.2"), "did you mean ppr.damping"),
        (("--config", "nope"), "no settings are shipped under the name 'nope'"),
    ):
        assert message in cli("eval", "mock", *arguments, code=2).stderr
    assert "there is no data set 'nowhere'" in cli("eval", "nowhere", code=3).stderr
    assert "no finished run at" in cli("compare", "a", "b", code=3).stderr
    assert list(tmp_path.iterdir()) == []


def test_an_index_of_ones_own_with_a_file_of_questions(cli: Cli, mock_index: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(
        '{"id": "1", "text": "block selection router", "gold": ["Block Selection in Transformer Routing"]}\n'
    )
    told = json.loads(
        cli("eval", "mine.jsonl", "--index", mock_index, "--systems", "bm25", *QUICK, "--json").stdout
    )
    assert told["systems"][0]["measures"]["RR@10"]["mean"] == 1.0
    assert told["papers"] == 100


def test_ablations_and_sweeps(cli: Cli, mock_index: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"id": "1", "text": "the router of Gatehouse", "gold": ["p005"]}\n')
    options = ("--systems", "hippo", "--index", mock_index, *QUICK)
    shown = cli("eval", "mine.jsonl", *options, "--ablate", "--sweep", "ppr.damping=0.3,0.7").stdout
    labels = [line.split()[0] for line in shown.splitlines() if line.startswith("hippo")]
    assert labels[:3] == ["hippo", "hippo@no-filter", "hippo@no-entity-linking"]
    assert "hippo@ppr.damping=0.3" in labels
    assert "hippo@ppr.damping=0.7" not in labels  # that is hippo


def test_an_interruption_says_how_to_go_on(cli: Cli, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HippoLit, "retrieve", interrupted)
    stopped = cli("eval", "mock", *TINY, "--store", kept, "--out", "runs", code=130)
    assert "interrupted; what was done is kept: run the same command again to go on" in stopped.stderr
    assert "with --out DIR" in cli("eval", "mock", *TINY, "--store", kept, code=130).stderr


def test_answers_are_asked_for_by_their_measures(
    cli: Cli, mock_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    (tmp_path / "mine.jsonl").write_text(
        '{"id": "1", "text": "the router of Gatehouse", "gold": ["p005"], "answers": ["block selection"]}\n'
    )
    options = (
        "eval",
        "mine.jsonl",
        "--index",
        mock_index,
        "--systems",
        "bm25",
        *QUICK,
        "--measures",
        "EM R@5",
    )
    assert "llm.kind is none" in cli(*options, code=2).stderr
    with ScriptedServer([chat_reply("Thought: p005.\nAnswer: Block selection [p005].")]) as server:
        llm = ("--set", "llm.kind=openai", "--set", f"llm.base_url={server.base_url}", "--out", "runs")
        told = json.loads(cli(*options, *llm, "--json", "--fail-if", "bm25 F1 < 1").stdout)
        (system,) = told["systems"]
        assert (system["measures"]["EM"]["mean"], system["measures"]["F1"]["mean"]) == (1.0, 1.0)
        assert (system["usage"]["calls"], system["answering"]["grounded"]) == (1, 1.0)
        shown = cli(*options, *llm, "--html", "report.html").stdout
        assert len(server.requests) == 1
    assert "The answers, on the questions with gold answers" in shown
    assert '"written":{"text":"Block selection."' in (tmp_path / "report.html").read_text("utf-8")
    assert "EM" in cli("compare", "runs/bm25", "runs/bm25", "--measures", "EM F1").stdout
    (tmp_path / "mute.jsonl").write_text('{"id": "1", "text": "router", "gold": ["p005"]}\n')
    mute = cli("eval", "mute.jsonl", "--index", mock_index, "--measures", "EM", code=2)
    assert "no query of mute has answers" in mute.stderr


def test_runs_of_other_tools_are_compared(cli: Cli, kept: Path, tmp_path: Path) -> None:
    cli("eval", "mock", *TINY, "--store", kept, "--out", "runs")
    ours, theirs = tmp_path / "runs" / "bm25.run", tmp_path / "theirs.txt"
    theirs.write_text(ours.read_text().replace(" bm25\n", " lucene\n"))
    same = json.loads(cli("compare", "runs/bm25", theirs, "--json").stdout)
    assert (same["b"]["label"], same["b"]["mode"], same["moved"]) == ("lucene", "foreign", [])
    assert {(row["difference"], row["p"]) for row in same["comparisons"]} == {(0.0, 1.0)}
    moved = cli("compare", theirs, "runs/hippo", "--moved", 1).stdout
    assert "compared with lucene (foreign) on mock-test" in " ".join(moved.split())
    assert "  lucene (foreign)\n" in moved
    # Two files that say nothing of what is relevant.
    alone = ("compare", theirs, theirs, "--json")
    assert "add --dataset DATASET" in cli(*alone, code=2).stderr
    by_set = cli(*alone, "--dataset", "mock")
    assert "theirs.txt ranks nothing for" in by_set.stderr  # the other half of mock
    by_qrels = json.loads(cli(*alone, "--qrels", "runs/qrels.txt").stdout)
    assert by_qrels["comparisons"][0]["base_mean"] == pytest.approx(same["comparisons"][0]["base_mean"])
    assert "give one of them" in cli(*alone, "--qrels", "q", "--dataset", "mock", code=2).stderr
