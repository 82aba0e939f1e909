"""One published state, read back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tiny import PAPERS, Angles, Scripted, four_papers, settings, snapshot

from hippo_lit.errors import FormatVersionError, IndexCorruptError
from hippo_lit.passages import passages_of
from hippo_lit.sentences import split_sentences
from hippo_lit.snapshot import COLUMNS, FORMAT, LEXICAL, Snapshot
from hippo_lit.types import Extraction, Fact, Paper


def test_papers_come_back_by_number_and_by_id(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    assert len(made) == 4
    assert list(made.paper_ids) == list("abcd")
    assert [made.paper(number) for number in range(4)] == list(PAPERS)
    assert [made.find(i) for i in ("a", "d", "e", "", "A", "\ud800")] == [0, 3, None, None, None, None]
    assert made.years[:2].tolist() == [2001, 2005]
    assert made.name == made.folder.name
    assert made.about["format"] == FORMAT


def test_passages_and_sentences_of_a_paper_in_pieces(tmp_path: Path) -> None:
    abstract = "This is a sentence that is counted. " * 40
    given = settings(extract={"kind": "simple", "passage_chars": 300})
    papers = [Paper("a", "Short", "One. Two."), Paper("b", "Long", abstract), Paper("c", "Bare", "")]
    made = snapshot(tmp_path, papers, Angles({}), Scripted({}), given)
    pieces = [passage for paper in papers for passage in passages_of(paper, 300)]
    assert [made.passage(number) for number in range(len(pieces))] == pieces
    assert made.passage_paper.tolist() == [0, *[1] * (len(pieces) - 2), 2]
    sentences = [sentence for passage in pieces for sentence in split_sentences(passage.body)]
    assert [made.sentence(number) for number in range(len(sentences))] == sentences
    assert made.sentence_vectors.shape == (len(sentences), 2)
    assert made.passage_vectors.shape == (len(pieces), 2)
    assert made.sentence(-1) == "Short"
    assert made.sentence(-len(pieces)) == "Bare"


def test_facts_of_a_paper(tmp_path: Path) -> None:
    said = {"Delta": Extraction((), (Fact("Delta", "is", "x"), Fact("Alpha", "likes", "Beta")), (-1, -1))}
    made = four_papers(tmp_path, found=said)
    assert made.facts_of(0) == [
        ("Alpha likes Beta.", Fact("Alpha", "likes", "Beta")),
        ("Alpha is old.", Fact("Alpha", "is", "old")),
    ]
    assert made.facts_of(2) == []
    assert sorted(made.facts_of(3), key=str) == [
        ("Delta", Fact("Alpha", "likes", "Beta")),
        ("Delta", Fact("Delta", "is", "x")),
    ]


def test_an_empty_state(tmp_path: Path) -> None:
    made = snapshot(tmp_path, [], Angles({}), Scripted({}))
    assert (len(made), made.graph.n_passages, made.citations.edge_count) == (0, 0, 0)
    assert len(made.lexical) == len(made.bm25) == 0


def test_another_format_is_named(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    path = made.folder / COLUMNS / "about.json"
    about = path.read_text()
    path.write_text(about.replace(f'"format": {FORMAT}', '"format": 2'))
    with pytest.raises(FormatVersionError, match="has format 2") as caught:
        Snapshot(made.folder)
    assert (caught.value.found, caught.value.expected) == (2, FORMAT)
    assert json.loads(about)["embedder"] == "angles"


def test_missing_files_are_named(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    (made.folder / COLUMNS / "years.npy").unlink()
    with pytest.raises(IndexCorruptError, match="years"):
        Snapshot(made.folder)


def test_a_missing_word_index_is_named(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    (made.folder / LEXICAL / "bm25.json").unlink()
    with pytest.raises(IndexCorruptError, match=r"bm25\.json is missing.* Run `hippo-lit index --rebuild`"):
        Snapshot(made.folder)


def test_an_open_state_outlives_its_files(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    shutil.rmtree(made.folder)
    assert made.paper(1).title == "Beta"
    assert made.bm25.scores("kraków")[1] > 0
    assert made.lexical.scores("kraków")[1] > 0
    assert made.graph.named("krakow")
    assert made.citations.edge_count == 0


def test_passages_that_no_paper_can_have_are_damage(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    assert [list(made.passages_in(paper)) for paper in range(4)] == [[0], [1], [2], [3]]
    made.first_passage = np.array([0, 1, 2, 3, 2**62])
    with pytest.raises(IndexCorruptError, match="paper 3 has passages"):
        made.passages_in(3)
