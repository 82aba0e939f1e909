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
