from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippo_lit.text import clean, content_hash, normalise

ANY_TEXT = st.text(st.characters())  # lone surrogates included


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("", ""),
        (" \t\r\n\x0b\x0c", ""),
        ("two\n\n  words", "two words"),
        ("no-break\u00a0space\u3000wide\u2028line", "no-break space wide line"),
        ("A\x00B", "A B"),
        ("bell\x07 and\x1b[31m colour", "bell and [31m colour"),
        ("C1 \x85 control", "C1 control"),
        ("DEL\x7f", "DEL"),
        ("\ufeffBOM at the start", "BOM at the start"),
        ("lone \ud800 high, lone \udfff low", "lone high, lone low"),
        ("not a character: \uffff\ufffe", "not a character:"),
        ("cafe\u0301", "café"),
        ("\u1112\u1161\u11ab", "한"),
        ("right\u202eto left\u202c, \u2066isolated\u2069, \u200fmark", "rightto left, isolated, mark"),
        ("zero\u200bwidth\u2060", "zerowidth"),
        # What carries meaning stays: joiners of Persian, Indic scripts and emoji, variation selectors, signs.
        ("می\u200cخواهم क्\u200dष 👩\u200d🔬 ❤\ufe0f", "می\u200cخواهم क्\u200dष 👩\u200d🔬 ❤\ufe0f"),
        ("x² ≤ ½, 10 µm, ﬁne, Å", "x² ≤ ½, 10 µm, ﬁne, Å"),
    ],
)
def test_clean(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@pytest.mark.parametrize(
    ("name", "key"),
    [
        # signs that tell terms apart
        ("C++", "c++"),
        ("C#", "c#"),
        ("C", "c"),
        ("C++, C# and C", "c++ c# and c"),
        ("a + b", "a b"),
        ("+3", "3"),
        ("Ca2+ channel", "ca2+ channel"),
        ("3′ end", "3′ end"),
        ("#hashtag", "hashtag"),
        # letters of every script
        ("β-catenin", "β catenin"),
        ("Β-CATENIN", "β catenin"),
        ("北京大学", "北京大学"),
        ("北京大学（清华）", "北京大学 清华"),
        ("جامعة القاهرة", "جامعة القاهرة"),
        ("Московский Университет", "московский университет"),
        ("दिल्ली विश्वविद्यालय", "दिल्ली विश्वविद्यालय"),
        ("서울대학교", "서울대학교"),
        # case and width
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("Σίσυφος", "σίσυφοσ"),
        ("ＢＥＲＴ", "bert"),
        ("ﬁne-tuning", "fine tuning"),
        # signs that NFKC writes plainly
        ("R²", "r2"),
        ("H₂O", "h2o"),
        ("10 µm", "10 μm"),
        ("K (kelvin)", "k kelvin"),
        # spaces and punctuation
        ("  BERT ", "bert"),
        ("bài toán “lớn”", "bài toán lớn"),
        ("low_rank-adaptation/LoRA", "low rank adaptation lora"),
        ("e.g.", "e g"),
        ("…!?", ""),
        ("🙂", ""),
        ("", ""),
    ],
)
def test_normalise(name: str, key: str) -> None:
    assert normalise(name) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "Cafe\u0301"),
        ("Müller", "MÜLLER"),
        ("entity", " entity\u00a0"),
        ("İzmir", "i\u0307zmir"),
        ("ﬃ", "FFI"),
        ("数据集", "\u6570\u636e\u96c6"),
    ],
)
def test_two_spellings_of_one_name(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("C++", "C#"), ("C", "C++"), ("Müller", "Muller"), ("α", "β")])
def test_different_names_stay_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(ANY_TEXT)
def test_clean_is_safe_and_done_once(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    assert not any(unicodedata.category(c) == "Cc" for c in cleaned)


@given(ANY_TEXT)
def test_normalise_is_done_once_and_keeps_only_words(text: str) -> None:
    key = normalise(text)
    assert normalise(key) == key
    assert all(c.isalnum() or c in " +#′" or unicodedata.category(c)[0] == "M" for c in key)
    assert key == " ".join(key.split())


@given(ANY_TEXT)
def test_normalise_does_not_see_case(text: str) -> None:
    assert normalise(text.casefold()) == normalise(text)


def test_every_assigned_character_alone() -> None:
    for letter in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(letter) not in ("Cn", "Co"):
            assert normalise(normalise(letter)) == normalise(letter), f"U+{ord(letter):04X}"
            assert clean(clean(letter)) == clean(letter), f"U+{ord(letter):04X}"


def test_content_hash_keeps_parts_apart() -> None:
    assert content_hash("ab", "c") != content_hash("a", "bc") != content_hash("abc")
    assert content_hash("") != content_hash()
    assert content_hash("\ud800") != content_hash("\ud801")


def test_content_hash_is_the_same_in_every_version() -> None:
    # Stores address their rows by it: another value would orphan what was paid for.
    assert content_hash("a paper", "Ünïcode") == "c9c2a58f2175cc1fcf2cf67f8cbaa9a7"
