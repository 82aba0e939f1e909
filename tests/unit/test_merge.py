from __future__ import annotations

import pytest

from hippo_lit.merge import Provenance, merge_papers, provenance
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


def test_of_several_ids_one_is_chosen_and_the_others_stay() -> None:
    preprint = Paper("1706.03762", "Title", doi="10.48550/arXiv.1706.03762")
    article = Paper("W5", "Title", doi="10.1/x", ids=("pmid:7",))
    mine = Paper("vaswani", "Title")
    assert merge_papers([preprint, article]) == Paper(
        "1706.03762", "Title", doi="10.1/x", ids=("openalex:W5", "pmid:7")
    )
    merged = merge_papers([merge_papers([preprint, article]), mine])
    assert (merged.id, merged.doi, merged.ids) == (
        "vaswani", "10.1/x", ("arxiv:1706.03762", "openalex:W5", "pmid:7"),
    )  # fmt: skip


def test_one_source_that_says_retracted_is_enough_and_the_bare_title_is_kept() -> None:
    marked = Paper("p", "RETRACTED: Cold fusion", retracted=True, open_access=False, source="a")
    merged = merge_papers([marked, Paper("p", "Cold fusion", open_access=True, source="b")])
    assert (merged.title, merged.retracted, merged.open_access) == ("Cold fusion", True, True)
    assert merge_papers([marked, Paper("p", "", source="b")]).title == "RETRACTED: Cold fusion"


def test_provenance_names_who_gave_a_field_and_who_contradicts() -> None:
    arxiv = Paper("1706.03762", "Deep nets", "Short.", 2017, ("A. Lee",), source="arxiv")
    s2 = Paper("x", "Deep Nets", "Longer.", 2018, ("Ann Lee",), ("r",), source="s2", venue="NeurIPS")
    other = Paper(
        "y", "Deep networks", "Longer.", 2017, ("Bo Chu",), source="z", venue="NIPS", retracted=True
    )
    found = provenance([arxiv, s2, other])
    assert found["abstract"] == Provenance(("s2", "z"))
    assert found["year"] == Provenance(("arxiv", "z"), ((2018, ("s2",)),))
    assert found["title"] == Provenance(("z",), (("Deep Nets", ("s2",)), ("Deep nets", ("arxiv",))))
    assert found["authors"] == Provenance(("s2",), ((("Bo Chu",), ("z",)),))
    assert found["venue"] == Provenance(("s2",), (("NIPS", ("z",)),))
    assert found["references"] == Provenance(("s2",))
    assert found["retracted"] == Provenance(("z",))
    assert "doi" not in found
