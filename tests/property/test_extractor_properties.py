from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hippo_lit.errors import MissingExtraError
from hippo_lit.extract.acronyms import definitions
from hippo_lit.extract.prepare import prepare
from hippo_lit.extract.simple import SimpleExtractor
from hippo_lit.extract.spacy_rules import SpacyExtractor
from hippo_lit.extract.spans import pieces
from hippo_lit.sentences import split_sentences
from hippo_lit.types import Extraction, Passage

PLAIN = (
    "Statins reduce the risk of is a film not who It He 1964 95% and which effect between than if no was in"
)
MARKS = (
    "( ) [1] \" “Gone  Away” (RAG) , . : - 's '' `` {111} β-catenin C++ 北京大学 نموذج \x00 \ud800 😀 \u2019"
)
WORDS = st.sampled_from([*PLAIN.split(), *MARKS.split(), "\n", "Mary Stone", ". "])
TEXTS = st.one_of(st.text(max_size=120), st.lists(WORDS, max_size=40).map(" ".join))


def check(passage: Passage, found: object) -> None:
    assert isinstance(found, Extraction)
    sentences = range(-1, len(split_sentences(passage.body)))
    assert all(m.surface and m.sentence in sentences for m in found.mentions)
    assert all(f.subject and f.relation and f.object for f in found.facts)
    assert all(number in sentences for number in found.fact_sentences)


@given(TEXTS, TEXTS)
def test_the_simple_rule_reads_any_text(title: str, body: str) -> None:
    passage = Passage("p", 0, title, body)
    (found,) = SimpleExtractor().extract([passage])
    check(passage, found)


@pytest.mark.model
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS)
def test_the_rules_over_spacy_read_any_text(title: str, body: str) -> None:
    passage = Passage("p", 0, title, body)
    try:
        (found,) = _extractor().extract([passage])
    except MissingExtraError:
        pytest.skip("no spaCy model is installed")
    check(passage, found)


_loaded: list[SpacyExtractor] = []


def _extractor() -> SpacyExtractor:
    if not _loaded:
        _loaded.append(SpacyExtractor())
    return _loaded[0]


@given(TEXTS, st.lists(TEXTS.filter(bool), max_size=2))
def test_marked_names_lie_in_the_prepared_text(sentence: str, names: list[str]) -> None:
    prepared = prepare(sentence, tuple(names))
    ends = 0
    for start, end in prepared.names:
        assert 0 <= ends <= start < end <= len(prepared.text)
        ends = end


@given(TEXTS)
def test_definitions_stand_in_the_text(text: str) -> None:
    assert all(d.short in text and d.long in text for d in definitions(text))


@given(TEXTS, st.integers(1, 50))
def test_pieces_lose_nothing_but_space(text: str, most: int) -> None:
    found = pieces(text, most)
    assert all(len(piece) <= most for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())
