"""Pairs of names that are probably one."""

from __future__ import annotations

import numpy as np
import pytest

from hippo_lit.graph import synonyms
from hippo_lit.graph.synonyms import by_embedding, by_spelling


@pytest.fixture(params=[1, 3, 2048])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(synonyms, "_BLOCK", request.param)
    return int(request.param)


@pytest.mark.usefixtures("block")
def test_all_pairs_of_vectors_from_the_threshold_on() -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(20, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    found = {(a, b): value for a, b, value in by_embedding(vectors, 0.5)}
    expected = {(a, b) for a in range(20) for b in range(a + 1, 20) if cosines[a, b] >= 0.5}
    assert set(found) == expected
    assert expected
    for (a, b), value in found.items():
        assert value == pytest.approx(float(cosines[a, b]), abs=1e-6)


@pytest.mark.usefixtures("block")
def test_spellings() -> None:
    keys = ["transformer", "car", "transformers", "jimenez", "automobile", "jiménez garcía", "jimenez garcia"]
    pairs = {(keys[a], keys[b]) for a, b, _ in by_spelling(keys, 0.6)}
    assert ("transformer", "transformers") in pairs
    assert not any("car" in pair for pair in pairs)
    assert all(0.6 <= value <= 1.0 for _, _, value in by_spelling(keys, 0.6))


def test_blocks_do_not_change_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"{word}{ending}" for word in ("alpha", "beta", "gamma") for ending in ("", "s", " one", " ones")]
    whole = list(by_spelling(keys, 0.3))
    monkeypatch.setattr(synonyms, "_BLOCK", 5)
    assert [(a, b) for a, b, _ in by_spelling(keys, 0.3)] == [(a, b) for a, b, _ in whole]
    assert len({(a, b) for a, b, _ in whole}) == len(whole)
    assert all(a < b for a, b, _ in whole)


@pytest.mark.parametrize("keys", [[], ["one"], ["x", "y"], ["", ""], ["北", "京"]])
def test_nothing_to_compare(keys: list[str]) -> None:
    assert list(by_spelling(keys, 0.8)) == []


def test_no_vectors() -> None:
    assert list(by_embedding(np.zeros((0, 4), dtype=np.float32), 0.8)) == []


def test_an_entity_keeps_its_nearest_only() -> None:
    same = np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (synonyms._MOST + 5, 1))
    found = list(by_embedding(same, 0.8))
    assert sum(a == 0 for a, _, _ in found) == synonyms._MOST
