from __future__ import annotations

import pytest

from hippo_lit.merge import merge_papers
from hippo_lit.types import Paper

ARXIV = Paper("p", "Low-rank adapters", "Short.", 2021, ("Ann Lee", "Bo Chu"), ("r2",), source="arxiv")
S2 = Paper(
    "p", "Low-rank adapters, revisited", "A longer abstract.", None, ("A. Lee", "B. Chu"),
    ("r9", "r1"), ("c1",), "s2", "10.1/x", "NeurIPS",
)  # fmt: skip


def test_the_fuller_field_wins() -> None:
    assert merge_papers([ARXIV, S2]) == Paper(
        "p",
        "Low-rank adapters, revisited",
        "A longer abstract.",
        2021,
        ("Ann Lee", "Bo Chu"),
        ("r1", "r2", "r9"),
        ("c1",),
        "arxiv+s2",
        "10.1/x",
        "NeurIPS",
        None,
    )


def test_conflicting_years_give_the_earliest() -> None:
    assert merge_papers([Paper("p", "T", year=2022), Paper("p", "T", year=2020)]).year == 2020


def test_a_longer_author_list_wins_over_longer_names() -> None:
    few, many = ("Maximiliane Mustermann",), ("A", "B")
    assert merge_papers([Paper("p", "T", authors=few), Paper("p", "T", authors=many)]).authors == many


def test_a_single_version_keeps_its_own_order() -> None:
    assert merge_papers([S2, S2]) is S2


def test_sources_that_were_merged_before_are_named_once() -> None:
    again = Paper("p", "T", source="s2+arxiv")
    assert merge_papers([again, ARXIV, Paper("p", "U")]).source == "arxiv+s2"


def test_there_must_be_a_version() -> None:
    with pytest.raises(ValueError, match="versions of one paper"):
        merge_papers([])
