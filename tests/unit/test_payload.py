from __future__ import annotations

import pytest

from hippo_lit.storage.payload import extraction_from_json, extraction_to_json, paper_from_json, paper_to_json
from hippo_lit.types import Extraction, Fact, Mention, Paper

PAPER = Paper("p", "Título", "", 2020, ("李明",), ("r",), (), "s2", None, "V", "u")


def test_a_paper_comes_back_exactly_and_readably() -> None:
    assert paper_from_json(paper_to_json(PAPER)) == PAPER
    assert "李明" in paper_to_json(PAPER)


def test_lone_surrogates_survive_in_escaped_form() -> None:
    paper = Paper("p", "broken \ud800 title")
    text = paper_to_json(paper)
    assert text.isascii()
    assert paper_from_json(text) == paper


@pytest.mark.parametrize(
    "paper",
    [
        Paper("p", "T", year="2020"),  # type: ignore[arg-type]
        Paper("p", "T", year=True),
        Paper("p", None),  # type: ignore[arg-type]
        Paper("p", "T", authors=("A", None)),  # type: ignore[arg-type]
        Paper("p", "T", doi=object()),  # type: ignore[arg-type]
    ],
)
def test_what_could_not_be_read_back_is_refused(paper: Paper) -> None:
    with pytest.raises(ValueError, match=r"."):
        paper_to_json(paper)


def test_an_extraction_comes_back_exactly() -> None:
    extraction = Extraction(
        (Mention("BRCA1", 0), Mention("tumour growth", -1, "phrase")),
        (Fact("BRCA1", "slows", "growth"),),
        (0,),
    )
    assert extraction_from_json(extraction_to_json(extraction)) == extraction
    assert extraction_from_json(extraction_to_json(Extraction())) == Extraction()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        '{"mentions": [["a", 0, "verb"]], "facts": [], "fact_sentences": []}',
        '{"mentions": [["a", "0", "name"]], "facts": [], "fact_sentences": []}',
        '{"mentions": [], "facts": [["a", "b"]], "fact_sentences": []}',
        '{"mentions": [], "facts": {}, "fact_sentences": []}',
        '{"mentions": [], "facts": [], "fact_sentences": [true]}',
    ],
)
def test_foreign_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        extraction_from_json(text)
    with pytest.raises(ValueError, match=r"."):
        paper_from_json(text)
