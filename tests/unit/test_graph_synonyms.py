"""Pairs of names that are probably one."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from hippo_lit.graph import alike, synonyms
from hippo_lit.graph.synonyms import Pairs, by_embedding, by_spelling, nearest
from hippo_lit.storage.packed import Packed


def rows(pairs: Pairs) -> list[tuple[int, int, float]]:
    return list(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.similarity.tolist(), strict=True))


def spelled(keys: list[str], threshold: float, new: list[bool] | None = None) -> list[tuple[int, int, float]]:
    asked = None if new is None else np.array(new)
    return rows(by_spelling(Packed.of(keys), threshold, asked))


def by_hand(keys: list[str], threshold: float) -> list[tuple[int, int, float]]:
    """All pairs, n-gram by n-gram."""

    def grams(name: str) -> list[str]:
        words = [f" {word} " for word in name.split()]
        return [word[i : i + n] for word in words for n in (3, 4) for i in range(len(word) - n + 1)]

    found = []
    for b, other in enumerate(keys):
        for a, one in enumerate(keys[:b]):
            ours, theirs = grams(one), grams(other)
            shared = sum(min(ours.count(gram), theirs.count(gram)) for gram in set(ours))
            numbers = [[c for c in name.split() if c.isdigit()] for name in (one, other)]
            if shared and numbers[0] == numbers[1]:
                similarity = shared / math.sqrt(len(ours) * len(theirs))
                if similarity >= threshold:
                    found.append((a, b, similarity))
    return sorted(found)


@pytest.mark.parametrize("names", [1, 3, 4096])
def test_new_names_meet_all_others(monkeypatch: pytest.MonkeyPatch, names: int) -> None:
    monkeypatch.setattr(alike, "_NAMES", names)
    rng = random.Random(3)
    parts = ["neural", "neuron", "net", "nets", "graph", "graphs", "北京大学", "a", "!!", "2"]
    keys = sorted({" ".join(rng.choices(parts, k=rng.randint(1, 3))) for _ in range(80)} | {"?", ""})
    rng.shuffle(keys)
    new = [rng.random() < 0.2 or key in ("?", "") for key in keys]
    expected = [row for row in by_hand(keys, 0.6) if new[row[0]] or new[row[1]]]
    found = spelled(keys, 0.6, new)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    assert [row[2] for row in found] == pytest.approx([row[2] for row in expected])
    assert len(found) > 10
    assert spelled(["?", "!"], 0.6, [True, False]) == []


@pytest.fixture(params=[1, 3, 2048])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(synonyms, "_BLOCK", request.param)
    monkeypatch.setattr(alike, "_WORK", 100 * request.param)
    return int(request.param)


@pytest.mark.usefixtures("block")
def test_all_pairs_of_vectors_from_the_threshold_on() -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(20, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    found = {(a, b): value for a, b, value in rows(by_embedding(vectors, 0.5))}
    expected = {(a, b) for a in range(20) for b in range(a + 1, 20) if cosines[a, b] >= 0.5}
    assert set(found) == expected
    assert expected
    for (a, b), value in found.items():
        assert value == pytest.approx(float(cosines[a, b]), abs=1e-6)


@pytest.mark.usefixtures("block")
def test_spellings() -> None:
    keys = ["transformer", "car", "transformers", "jimenez", "automobile",
            "jimenez garcia", "jimenez garcias",
            "trellis 2", "trellis 3", "trellis", "北京大学", "北京大学"]  # fmt: skip
    found = {(keys[a], keys[b]): value for a, b, value in spelled(keys, 0.8)}
    assert found.keys() == {
        ("transformer", "transformers"), ("jimenez garcia", "jimenez garcias"), ("北京大学", "北京大学")
    }  # fmt: skip
    assert found["transformer", "transformers"] == pytest.approx(19 / math.sqrt(21 * 23))
    assert found["北京大学", "北京大学"] == 1.0


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6, 0.8, 1.0])
def test_every_pair_is_found(threshold: float) -> None:
    rng = random.Random(3)
    parts = [
        "aaaa aaaa",
        "aaaaa",
        "graph",
        "graphs",
        "net",
        "network",
        "é",
        "x",
        "12",
        "of",
        "learn",
        "learning",
        "aaaa",
    ]
    keys = [" ".join(rng.choices(parts, k=rng.randint(1, 3))) for _ in range(60)]
    found, expected = spelled(keys, threshold), by_hand(keys, threshold)
    assert [(a, b) for a, b, _ in found] == [(a, b) for a, b, _ in expected]
    assert [value for *_, value in found] == pytest.approx([value for *_, value in expected])
    new = [rng.random() < 0.3 for _ in keys]
    assert spelled(keys, threshold, new) == [row for row in found if new[row[0]] or new[row[1]]]


@pytest.mark.parametrize("keys", [[], ["one"], ["x", "y"], ["", ""], ["北", "京"]])
def test_nothing_to_compare(keys: list[str]) -> None:
    assert spelled(keys, 0.8) == []


def test_no_vectors() -> None:
    assert rows(by_embedding(np.zeros((0, 4), dtype=np.float32), 0.8)) == []


def test_an_entity_keeps_its_nearest_only() -> None:
    same = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (synonyms._MOST + 5, 1))
    found = rows(nearest(by_embedding(same, 0.8)))
    assert [b for a, b, _ in found if a == 0] == list(range(1, synonyms._MOST + 1))


def test_pairs_are_renumbered_and_joined() -> None:
    pairs = Pairs(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.9, 0.8, 0.7]))
    assert rows(pairs.renumbered(np.array([5, -1, 3]))) == [(3, 5, 0.8)]
    assert rows(pairs.renumbered(np.array([2, 1, 0])) + Pairs.none()) == [
        (0, 1, 0.7),
        (0, 2, 0.8),
        (1, 2, 0.9),
    ]
