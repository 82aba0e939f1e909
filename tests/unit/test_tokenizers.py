from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hippo_lit.errors import ConfigError
from hippo_lit.tokenizers import (
    ENGLISH_STOP_WORDS,
    PlainTokenizer,
    StemmingTokenizer,
    Tokenizer,
    UnicodeTokenizer,
    tokenizer,
)


def test_plain_lowers_and_cuts_at_everything_but_letters_and_digits() -> None:
    assert PlainTokenizer()("Low-Rank (LoRA) v2.0_beta, naïve Größe 北京!") == [
        "low",
        "rank",
        "lora",
        "v2",
        "0",
        "beta",
        "naïve",
        "größe",
        "北京",
    ]


@pytest.mark.parametrize("name", ["plain", "stem", "unicode", "unicode-stem"])
@pytest.mark.parametrize("text", ["", " \n\t", "🙂🙂", "... --- !!!", "\x00", "+#+"])
def test_text_without_a_word_has_no_terms(name: str, text: str) -> None:
    assert tokenizer(name)(text) == []


def test_stemming_joins_word_forms_and_leaves_repeats() -> None:
    assert StemmingTokenizer()("Retrieving retrieved retrieves papers") == ["retriev"] * 3 + ["paper"]
    assert StemmingTokenizer("german")("Häuser") == ["haus"]
    assert StemmingTokenizer(stop_words=ENGLISH_STOP_WORDS)("the cats and THE dog") == ["cat", "dog"]


def test_unicode_keeps_signs_that_tell_terms_apart_and_pairs_spaceless_scripts() -> None:
    cut = UnicodeTokenizer()
    assert cut("C++ vs. C# and β-Catenin") == ["c++", "vs", "c#", "and", "β", "catenin"]
    assert cut("ＡＢＣ") == ["abc"]
    assert cut("北京大学 GPT模型 水") == ["北京", "京大", "大学", "gpt", "模型", "水"]
    assert cut("ภาษา") == ["ภา", "าษ", "ษา"]
    assert cut("Straße") == cut("STRASSE")
    assert cut("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_unicode_stem_stems_words_and_pairs_han() -> None:
    assert tokenizer("unicode-stem")("Retrieving C++ 检索模型") == ["retriev", "c++", "检索", "索模", "模型"]


@pytest.mark.parametrize(
    "made",
    [
        PlainTokenizer(),
        StemmingTokenizer(),
        StemmingTokenizer("german"),
        StemmingTokenizer(stop_words=ENGLISH_STOP_WORDS),
        UnicodeTokenizer(),
        UnicodeTokenizer("french"),
        UnicodeTokenizer("english", stop_words=ENGLISH_STOP_WORDS),
    ],
    ids=lambda made: made.name,
)
def test_a_name_leads_back_to_the_same_tokenizer(made: Tokenizer) -> None:
    text = "The naïve Retrieval-Augmented models of Größe were häufig 北京大学 C++"
    again = tokenizer(made.name)
    assert isinstance(again, Tokenizer)
    assert (again.name, again(text)) == (made.name, made(text))


def test_other_stop_words_have_another_name() -> None:
    names = {StemmingTokenizer(stop_words=words).name for words in ((), ("a",), ("b",), ENGLISH_STOP_WORDS)}
    assert len(names) == 4


@pytest.mark.parametrize(
    "name", ["", "Plain", "porter", "plain:english", "unicode:german", "stem:english-go"]
)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="plain, stem, unicode") as caught:
        tokenizer(name)
    assert caught.value.key == "tokenizer"


def test_unknown_language_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no stemmer for 'klingon'; known are arabic"):
        tokenizer("stem:klingon")


def test_a_stemmer_serves_several_threads() -> None:
    cut = StemmingTokenizer()
    text = "connections connected connecting " * 200
    with ThreadPoolExecutor(4) as pool:
        assert set(map(tuple, pool.map(cut, [text] * 40))) == {("connect",) * 600}
