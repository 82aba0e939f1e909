"""Names found in running text."""

from __future__ import annotations

import time

import pytest

from hippo_lit.graph.keys import entity_key, link_key
from hippo_lit.graph.matching import MAX_WORDS, matches


def found(text: str, *names: str) -> list[str]:
    known = {link_key(entity_key(name)): name for name in names}
    return list(matches(text, known.get))


def test_the_longest_name_from_each_position() -> None:
    assert found("Was Ada King in New York City?", "New York", "New York City", "York", "Ada") == [
        "Ada",
        "New York City",
    ]
    assert found("graph of graph of graph", "graph") == ["graph"] * 3


def test_articles_possessives_and_accents_do_not_hide_a_name() -> None:
    names = ("The Beatles", "Aschenbrödel", "Obama")
    assert found("the BEATLES' Obama’s aschenbrodel", *names) == ["The Beatles", "Obama", "Aschenbrödel"]


@pytest.mark.parametrize("name", ["The Who", "It", "no", "Her", "s", "C"])
def test_one_function_word_or_letter_is_no_name(name: str) -> None:
    assert found("Who is it? No, her C's", name) == []


def test_function_words_inside_a_name_count() -> None:
    assert found("What is the bank of America", "Bank of America") == ["Bank of America"]
    assert found("I saw it follows here", "It Follows") == ["It Follows"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("which C++ compilers", "C++"),
        ("is C# managed", "C#"),
        ("β-catenin binds", "β-catenin"),
        ("北京大学的学生有多少?", "北京大学"),
        ("请问北京大学在哪里", "北京大学"),
        ("使用インターネットアーカイブ的资料", "インターネットアーカイブ"),
        ("BERT模型是什么", "BERT"),
        ("تقع جامعة القاهرة في مصر", "جامعة القاهرة"),
        ("Где находится Москва?", "Москва"),
    ],
)
def test_every_script(text: str, name: str) -> None:
    assert found(text, name) == [name]


def test_no_name_inside_a_word_of_a_spaced_script() -> None:
    assert found("the catenin of concatenation", "cat", "nation") == []
    assert found("C and D", "C++", "C#") == []


def test_names_of_more_words_are_not_found() -> None:
    words = [f"w{i}" for i in range(MAX_WORDS + 1)]
    assert found(" ".join(words), " ".join(words[:-1])) == [" ".join(words[:-1])]
    assert found(" ".join(words), " ".join(words)) == []


def test_something_other_than_none_is_found() -> None:
    assert list(matches("alpha beta", {"alpha": 0, "beta": []}.get)) == [0, []]  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", " ", "?!…", "\ud800\x00", "🎉"])
def test_nothing_to_find(text: str) -> None:
    assert found(text, "graph") == []


@pytest.mark.parametrize("unit", ["graph theory ", "图论", "x"])
def test_time_grows_with_the_text_alone(unit: str) -> None:
    calls = 0

    def lookup(name: str) -> None:
        nonlocal calls
        calls += 1

    def seconds(length: int) -> float:
        began = time.process_time()
        assert list(matches((unit * length)[:length], lookup)) == []
        return time.process_time() - began

    seconds(1000)
    assert seconds(100_000) < 2
    assert calls <= 101_000 * 16
