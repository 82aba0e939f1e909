"""Papers cut into passages."""

from __future__ import annotations

import time

import pytest

from hippo_lit.passages import passage_hash, passages_of
from hippo_lit.sentences import sentence_spans
from hippo_lit.types import Paper, Passage


def bodies(abstract: str, most: int = 20, title: str = "T") -> list[str]:
    found = passages_of(Paper("p", title, abstract), most)
    assert [passage.number for passage in found] == list(range(len(found)))
    assert {(passage.paper_id, passage.title) for passage in found} == {("p", title)}
    return [passage.body for passage in found]


def test_most_papers_are_one_passage() -> None:
    assert bodies("One. Two.") == ["One. Two."]
    assert bodies("word") == ["word"]
    assert passages_of(Paper("p", "Only a title"), 200) == [Passage("p", 0, "Only a title", "")]


def test_text_is_cleaned() -> None:
    assert passages_of(Paper("p", " A\x00 b ", "x\n\n\ud800 y"), 200) == [Passage("p", 0, "A b", "x y")]


def test_long_abstracts_are_cut_at_sentences() -> None:
    assert bodies("One is here. Two is. Three is here.") == ["One is here. Two is.", "Three is here."]
    assert bodies("One is here. Two is. Three is here.", 19) == ["One is here.", "Two is.", "Three is here."]


def test_long_sentences_are_cut_hard() -> None:
    assert bodies("x" * 45) == ["x" * 20, "x" * 20, "x" * 5]


@pytest.mark.parametrize("most", [7, 8, 9, 10, 11, 23])
@pytest.mark.parametrize("title", ["T", ""])
def test_nothing_is_lost_and_spans_fit_the_text(most: int, title: str) -> None:
    text = "aa bb cc dd ee ff gg. Hh ii jj kk ll mm. " * 3
    found = passages_of(Paper("p", title, text), most)
    assert "".join("".join(p.body.split()) for p in found) == "".join(text.split())
    for passage in found:
        assert 0 < len(passage.body) <= most
        assert passage.body == passage.body.strip()
        # What the index relies on to place sentences in the text that is embedded:
        shift = len(passage.text) - len(passage.body)
        for start, end in sentence_spans(passage.body):
            assert passage.text[shift + start : shift + end] == passage.body[start:end]


@pytest.mark.parametrize("unit", ["x", "word ", "A sentence stands here. ", "字", "。"])
def test_two_hundred_thousand_characters(unit: str) -> None:
    began = time.perf_counter()
    found = passages_of(Paper("p", "T", (unit * 200_000)[:200_000]), 4000)
    assert time.perf_counter() - began < 3
    assert 50 <= len(found) <= 60
    assert max(len(passage.body) for passage in found) <= 4000


def test_the_hash_is_of_title_and_body_alone() -> None:
    one = passage_hash(Passage("p", 0, "T", "body"))
    assert passage_hash(Passage("q", 7, "T", "body")) == one
    assert (
        len({one, passage_hash(Passage("p", 0, "T b", "ody")), passage_hash(Passage("p", 0, "", "T"))}) == 3
    )
