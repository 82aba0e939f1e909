from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hippo_lit.errors import DataError
from hippo_lit.sources.files import FileSource
from hippo_lit.sources.markup import strip_markup
from hippo_lit.sources.openalex import abstract_text, is_work, paper_from_work
from hippo_lit.types import Paper

DATA = Path(__file__).parent / "data_sources"


def test_works_of_both_schemas() -> None:
    source = FileSource(DATA / "works")
    assert list(source.papers()) == [
        Paper(
            "W100", "Effects of Lactobacillus on H2O uptake & growth", "We fed mice. We waited.", 2016,
            ("Mara Lind", "J. Ott"), ("W101",), (), "openalex", "10.5555/oa.100", "Journal of Tests",
            "https://example.org/100",
        ),
        Paper(
            "W200", "A work of the newer schema", "Last word", 2024, ("Noor Aziz",), ("W100",), (),
            "openalex", "10.5555/oa.200", "PeerTest", "https://doi.org/10.5555/oa.200",
        ),
    ]  # fmt: skip
    (problem,) = source.report.problems
    assert '"W101" has neither a title nor an abstract' in problem.message
    assert problem.index == 1


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ({"a": [1], "b": [0, 2]}, "b a b"),
        ({"IndexLength": 2, "InvertedIndex": {"x": [1], "y": [0]}}, "y x"),
        ("already text", "already text"),
        ({"a": [10**12], "b": [3]}, "b a"),
        ({"a": "0", "b": [True, 1.5, "2"], "c": [-1]}, "c"),
        (None, ""), ([], ""), (7, ""), ({}, ""),
    ],
)  # fmt: skip
def test_inverted_index(index: Any, text: str) -> None:
    assert abstract_text(index) == text


@pytest.mark.parametrize("work_id", ["W5", "https://openalex.org/W5", "https://api.openalex.org/works/w5"])
def test_ids_are_short(work_id: str) -> None:
    work = {
        "id": work_id,
        "display_name": "T",
        "authorships": None,
        "referenced_works": [work_id, "W6", "A7", 8],
    }
    assert paper_from_work(work) == Paper("W5", "T", references=("W6",), source="openalex")


def test_what_is_no_work_is_refused() -> None:
    with pytest.raises(DataError, match="not an OpenAlex work"):
        paper_from_work({"id": "https://openalex.org/A1", "authorships": []})
    assert not is_work({"id": "https://openalex.org/W1", "title": "T", "authors": ["ours"]})
    assert not is_work({"id": "x", "referenced_works": ["y"]})
    assert is_work({"id": "https://openalex.org/W1", "title": "T", "publication_year": 2000})


def test_markup_goes_and_mathematics_stays() -> None:
    assert strip_markup(
        "<jats:p>a &lt; b</jats:p><p>x<sup>2</sup>, p<0.05 and q>1 &amp; <b>bold</b></p>"
    ) == (" a < b  x², p<0.05 and q>1 & bold ")


def test_identifiers_retraction_and_open_access_of_a_work() -> None:
    work = {
        "id": "https://openalex.org/W2963403868",
        "title": "Attention is all you need",
        "doi": "https://doi.org/10.5555/1",
        "ids": {"openalex": "https://openalex.org/W2963403868", "doi": "https://doi.org/10.5555/1",
                "mag": "2963403868", "pmid": "https://pubmed.ncbi.nlm.nih.gov/29456894"},
        "locations": [{"landing_page_url": "http://arxiv.org/abs/1706.03762"}, {"pdf_url": None}, None],
        "is_retracted": True,
        "open_access": {"is_oa": False},
    }  # fmt: skip
    paper = paper_from_work(work)
    assert paper.ids == ("arxiv:1706.03762", "mag:2963403868", "pmid:29456894")
    assert (paper.retracted, paper.open_access) == (True, False)
    bare = paper_from_work({"id": "W1", "title": "T", "ids": None, "open_access": None, "is_retracted": None})
    assert (bare.ids, bare.retracted, bare.open_access) == ((), False, None)
