"""An inverted index made in steps equals the one made at once."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np
import pytest

from hippo_lit.lexical.bm25 import index_texts, weights
from hippo_lit.storage.postings import Postings, merged
from hippo_lit.storage.ragged import Piece, runs_of
from hippo_lit.tokenizers import PlainTokenizer


def same(ours: Postings, theirs: Postings) -> None:
    assert list(ours.terms) == list(theirs.terms)
    for field in fields(Postings):
        if field.name != "terms":
            np.testing.assert_array_equal(getattr(ours, field.name), getattr(theirs, field.name))
            assert getattr(ours, field.name).dtype == getattr(theirs, field.name).dtype
    np.testing.assert_array_equal(weights(ours, 1.5, 0.75), weights(theirs, 1.5, 0.75))


@pytest.mark.parametrize("seed", range(20))
def test_documents_come_and_go(seed: int) -> None:
    rng = random.Random(seed)
    words = ["a", "b", "é", "zz", "北京", "graph", "x1"]

    def texts(count: int) -> list[str]:
        return [" ".join(rng.choices(words[: rng.randint(1, 7)], k=rng.randrange(5))) for _ in range(count)]

    old, fresh = texts(rng.randrange(8)), texts(rng.randrange(5))
    kept = [row for row in range(len(old)) if rng.random() < 0.7]
    size = len(kept) + len(fresh)
    places = set(rng.sample(range(size), len(fresh)))
    mixed = iter(kept)
    whole = np.array([-1 if place in places else next(mixed) for place in range(size)], dtype=np.int64)
    new = iter(fresh)
    expected = [next(new) if row < 0 else old[row] for row in whole.tolist()]
    cut = PlainTokenizer()
    same(merged(index_texts(old, cut), index_texts(fresh, cut), runs_of(whole)), index_texts(expected, cut))


def test_nothing_left() -> None:
    cut = PlainTokenizer()
    some, none = index_texts(["a b"], cut), index_texts([], cut)
    same(merged(some, none, []), none)
    same(merged(none, some, [Piece(1, 0, 1)]), some)
