from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tiny import PAPERS, four_papers

from hippo_lit.tool.related import neighbour_entry, neighbours


def test_fact_neighbours_are_those_that_name_what_the_facts_are_about(tmp_path: Path) -> None:
    snapshot = four_papers(tmp_path / "an.idx")
    found = neighbours(snapshot, snapshot.find("b") or 0, ["facts"])  # Beta lives in Kraków
    assert [neighbour_entry(snapshot, each) for each in found] == [
        {"id": "a", "relation": "facts", "title": "Alpha", "shared": ["Beta"]}
    ]
    assert neighbours(snapshot, snapshot.find("c") or 0, ["facts"]) == []  # it states none


def test_each_neighbour_comes_once_under_its_first_relation_and_strangers_last(tmp_path: Path) -> None:
    a, b, *rest = PAPERS
    papers = (replace(a, references=("x9", "b", "d")), replace(b, citations=("y8",)), *rest)
    snapshot = four_papers(tmp_path / "an.idx", papers=papers)
    number = snapshot.find("a") or 0
    assert [
        (each.id, each.relation, each.number is None)
        for each in neighbours(snapshot, number, ["cites", "facts"])
    ] == [
        ("b", "cites", False),
        ("d", "cites", False),
        ("x9", "cites", True),
    ]
    assert [each.id for each in neighbours(snapshot, snapshot.find("b") or 0, ["cited_by"])] == ["a", "y8"]
    assert neighbour_entry(snapshot, neighbours(snapshot, number, ["cites"])[-1]) == {
        "id": "x9",
        "relation": "cites",
        "outside": True,
    }
