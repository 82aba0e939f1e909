from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from hippo_lit.about import describe_index, describe_paper, similar_ids
from hippo_lit.api import HippoLit
from hippo_lit.config import Settings
from hippo_lit.errors import DataError, IndexNotFoundError
from hippo_lit.snapshot import Snapshot
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Fact, Message, Paper

SETTINGS = Settings.model_validate(
    {
        "embedding": {"kind": "hash"},
        "llm": {"kind": "openai"},
        "extract": {"kind": "llm", "names_from": "none", "passage_chars": 200},
    }
)
LONG = " ".join(f"Sentence number {i} says that Node{i} follows Node{i - 1}." for i in range(1, 9))


def reading(messages: Sequence[Message]) -> str:
    """Every "X follows Y" of the passage as a triple, the last one first."""
    found = re.findall(r"(Node\d+) follows (Node\d+)", messages[-1].content)
    return json.dumps({"entities": [], "triples": [[x, "follows", y] for x, y in reversed(found)]})


def opened(folder: Path, papers: list[Paper], chat: FakeChatModel) -> Snapshot:
    with HippoLit.open(folder, SETTINGS, chat=chat) as lit:
        lit.add(papers)
        snapshot = lit.snapshot()
    assert snapshot is not None
    return snapshot


def test_facts_come_in_the_order_of_the_text_with_their_sentences(tmp_path: Path) -> None:
    papers = [Paper("a", "Other"), Paper("b", "Nodes", LONG), Paper("c", "Last", "Node1 follows Node0.")]
    snapshot = opened(tmp_path, papers, FakeChatModel(reading))
    assert len(snapshot.passage_paper) > 3
    assert snapshot.facts_of(0) == []
    assert snapshot.facts_of(1) == [
        (
            f"Sentence number {i} says that Node{i} follows Node{i - 1}.",
            Fact(f"Node{i}", "follows", f"Node{i - 1}"),
        )
        for i in range(1, 9)
    ]
    assert snapshot.facts_of(2) == [("Node1 follows Node0.", Fact("Node1", "follows", "Node0"))]


def test_a_fact_of_no_known_sentence_stands_under_the_title(tmp_path: Path) -> None:
    invented = '{"entities": [], "triples": [["Zeta", "outdoes", "Eta"]]}'
    snapshot = opened(tmp_path, [Paper("b", "Second", "Beta is here.")], FakeChatModel([invented]))
    assert snapshot.facts_of(0) == [("Second", Fact("Zeta", "outdoes", "Eta"))]


def test_a_paper_that_is_stored_but_not_indexed_yet(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, SETTINGS, chat=FakeChatModel([])) as lit:
        lit.put([Paper("a", "A", references=("b",))])
    described = describe_paper(tmp_path, "a")
    assert (described.paper.title, described.facts, described.cites_outside) == ("A", (), ("b",))
    index = describe_index(tmp_path)
    assert (index.stored, index.papers, index.snapshot) == (1, 0, "")
    with pytest.raises(DataError, match="holds no paper 'x'") as caught:
        describe_paper(tmp_path, "x")
    assert caught.value.similar == []


def test_there_must_be_an_index(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError):
        describe_index(tmp_path)
    with pytest.raises(IndexNotFoundError):
        describe_paper(tmp_path, "a")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("W1", ["w1"]),
        ("/w1", ["openalex/W1", "w1", "W12"]),
        ("10.1000/XYZ", ["10.1000/xyz"]),
        ("w13", ["w1", "W12"]),
        ("", []),
        ("qqqqq", []),
    ],
)
def test_similar_ids(wanted: str, found: list[str]) -> None:
    ids = ["10.1000/xyz", "W12", "openalex/W1", "w1", "z"]
    assert sorted(similar_ids(wanted, ids)) == sorted(found)


def test_any_name_of_a_paper_finds_it_its_views_and_what_was_kept_apart(tmp_path: Path) -> None:
    arxiv = Paper("1706.03762", "Attention is all you need", "Node2 follows Node1.", 2017, source="arxiv")
    linked = Paper("W1", "Attention is all you need", year=2018, ids=("arxiv:1706.03762",), source="openalex")
    extra = Paper(
        "e", "Appendix to Attention is all you need", references=("arXiv:1706.03762",), ids=linked.ids
    )
    snapshot = opened(tmp_path, [arxiv, linked, extra], FakeChatModel(reading))
    assert snapshot.find("https://arxiv.org/abs/1706.03762v3") == snapshot.find("W1") == 0
    assert snapshot.find("W2") is None
    described = describe_paper(tmp_path, "openalex:W1")
    assert [view.id for view in described.views] == ["1706.03762", "W1"]
    assert [paper.id for paper in described.cited_by] == ["e"]
    assert described.provenance["year"].others == ((2018, ("openalex",)),)
    assert described.kept_apart == (("arxiv:1706.03762", "e", "one belongs to the other"),)
    described = describe_paper(tmp_path, "e")
    assert ([paper.id for paper in described.cites], described.cites_outside) == (["1706.03762"], ())
    with HippoLit.open(tmp_path, SETTINGS, chat=FakeChatModel([])) as lit:
        found = lit.retrieve("attention", mode="bm25", exclude=["arXiv:1706.03762"])
    assert [ranked.paper.id for ranked in found.papers] == ["e"]
