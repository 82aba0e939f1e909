"""What every `FactExtractor` must do."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from hippo_lit.errors import MissingExtraError
from hippo_lit.extract.llm import LLMExtractor
from hippo_lit.extract.simple import NoExtractor, SimpleExtractor
from hippo_lit.extract.spacy_rules import SpacyExtractor
from hippo_lit.llm.prompts import Prompt
from hippo_lit.protocols import FactExtractor
from hippo_lit.sentences import split_sentences
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Extraction, Passage

PASSAGES = [
    Passage(
        "a", 0, "Statins and blood pressure", "Statins reduce cholesterol. They do not act on Oslo (OSL)."
    ),
    Passage("b", 0, "", ""),
    Passage("c", 0, " \n", "\t"),
    Passage("d", 0, "检索增强生成", "北京大学和清华大学。 😀"),
    Passage("e", 0, "\x00\ud800 ((([", "“\" ( [ <b> 2) {111} \\beta $x$ ``'' … --- "),
    Passage("f", 0, "One", "word"),
    Passage(
        "g", 0, "Marie Curie", "Marie Curie (7 November 1867 – 4 July 1934) was a physicist. She won. " * 30
    ),
]


def _llm() -> FactExtractor:
    reply = {"entities": ["Statins"], "triples": [["Statins", "reduce", "cholesterol"]]}
    return LLMExtractor(FakeChatModel(lambda _: json.dumps(reply)), Prompt("p", "s", "$data"))


def _spacy() -> FactExtractor:
    pytest.importorskip("spacy")
    try:
        return SpacyExtractor(batch_size=3)
    except MissingExtraError:
        pytest.skip("no spaCy model is installed")


@pytest.fixture(
    scope="module", params=[_llm, NoExtractor, SimpleExtractor, pytest.param(_spacy, marks=pytest.mark.model)]
)
def extractor(request: pytest.FixtureRequest) -> FactExtractor:
    make: Callable[[], FactExtractor] = request.param
    return make()


def test_one_item_a_passage_in_order(extractor: FactExtractor) -> None:
    assert isinstance(extractor, FactExtractor)
    together = list(extractor.extract(PASSAGES))
    alone = [item for passage in PASSAGES for item in extractor.extract([passage])]
    assert together == alone
    assert all(isinstance(item, Extraction) for item in together)


def test_no_passages_give_no_items(extractor: FactExtractor) -> None:
    assert list(extractor.extract([])) == []


def test_sentences_are_those_of_the_passage(extractor: FactExtractor) -> None:
    for passage, found in zip(PASSAGES, extractor.extract(PASSAGES), strict=True):
        assert isinstance(found, Extraction)
        sentences = range(-1, len(split_sentences(passage.body)))
        assert all(mention.sentence in sentences for mention in found.mentions)
        assert all(number in sentences for number in found.fact_sentences)
        assert len(found.facts) == len(found.fact_sentences)


def test_what_is_found_is_clean_and_found_once(extractor: FactExtractor) -> None:
    for found in extractor.extract(PASSAGES):
        assert isinstance(found, Extraction)
        texts = [m.surface for m in found.mentions]
        texts += [part for f in found.facts for part in (f.subject, f.relation, f.object)]
        assert all(text and text == " ".join(text.split()) and len(text) <= 300 for text in texts)
        assert all(text.isprintable() for text in texts)
        assert len(set(found.mentions)) == len(found.mentions)
        assert len(set(found.facts)) == len(found.facts)


def test_blank_passages_hold_nothing(extractor: FactExtractor) -> None:
    assert list(extractor.extract(PASSAGES[1:3])) == [Extraction(), Extraction()]


def test_a_name_of_its_own(extractor: FactExtractor) -> None:
    assert extractor.name
    assert extractor.name == extractor.name.strip()
