"""Names counted in texts."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hippo_lit.graph import spread
from hippo_lit.graph.keys import entity_key, link_key
from hippo_lit.graph.matching import MAX_WORDS
from hippo_lit.graph.spread import holding, name_hash, words_of


def counts(texts: list[str], names: list[str]) -> list[int]:
    words, starts = words_of(texts)
    hashed = [name_hash(link_key(entity_key(name))) for name in names]
    columns = [
        np.array([row[i] for row in hashed], dtype)
        for i, dtype in enumerate((np.int32, np.uint64, np.uint64))
    ]
    lengths, whole, first = columns
    found: list[int] = holding(words, starts, whole, first, lengths).tolist()
    return found


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("York", 2),
        ("New York City", 1),
        ("New York", 2),
        ("Yor", 0),
        ("it", 0),  # one function word
        ("北京大学", 1),
        ("大学", 1),
        ("Jimenez", 1),
        ("the City", 1),
        ("City New", 0),  # not across passages
        ("", 0),
    ],
)
def test_a_name_counts_within_longer_ones_and_once_a_passage(name: str, count: int) -> None:
    texts = ["It is New York, York and New York City", "New York! 北京大学", "北京 大 学 Jiménez", ""]
    assert counts(texts, [name]) == [count]


def test_names_of_too_many_words_are_not_looked_for() -> None:
    words = [f"w{i}" for i in range(MAX_WORDS + 1)]
    assert counts([" ".join(words)], [" ".join(words), " ".join(words[1:])]) == [0, 1]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 21])
def test_equal_to_looking_at_every_place(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "_CHUNK", chunk)
    rng = random.Random(5)
    vocabulary = [f"word{i}" for i in range(6)]
    texts = [" ".join(rng.choices(vocabulary, k=rng.randrange(12))) for _ in range(30)]
    names = sorted({" ".join(rng.choices(vocabulary, k=rng.randint(1, 4))) for _ in range(60)})
    assert counts(texts, names) == [sum(f" {name} " in f" {text} " for text in texts) for name in names]
    assert counts([], names) == [0] * len(names)
