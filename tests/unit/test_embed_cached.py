"""Each text is embedded once, in chunks that are kept, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.models.styles import prefixes_for
from hippo_lit.protocols import TextKind, Vectors
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import HashEmbedder


class Counting(HashEmbedder):
    """Records the texts it had to embed."""

    def __init__(self, dim: int = 16) -> None:
        super().__init__(dim)
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        self.asked.append(list(texts))
        return super().embed(texts, kind)


class Instructed(Counting):
    """Tells what the model gets to see, as the real embedders do."""

    def __init__(self, instruction: str) -> None:
        super().__init__()
        self._prefixes = prefixes_for("m", "instruct", {"query_to_fact": instruction})

    @property
    def space(self) -> str:
        return "space"

    def render(self, text: str, kind: TextKind) -> str:
        return self._prefixes.of(kind) + text


@pytest.fixture
def cache() -> Iterator[Cache]:
    with Cache(None) as opened:
        yield opened


def test_equal_to_the_embedder_and_each_text_once(cache: Cache) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, cache)
    texts = ["beta", "alpha alpha", "beta", "", "beta"]
    expected = HashEmbedder(16).embed(texts, "passage")
    for _ in range(2):
        assert cached.embed(texts, "passage").tobytes() == expected.tobytes()
    assert inner.asked == [["", "beta", "alpha alpha"]]
    assert cached.embed(["gamma", "beta"], "passage").shape == (2, 16)
    assert inner.asked[1:] == [["gamma"]]
    assert (cached.name, cached.dim) == (inner.name, 16)


def test_no_texts(cache: Cache) -> None:
    assert CachedEmbedder(Counting(), cache).embed([], "fact").shape == (0, 16)


def test_an_interrupted_run_keeps_its_chunks(tmp_path: Path) -> None:
    class Failing(Counting):
        def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
            if len(self.asked) == 2:
                raise EmbeddingError("lost the server", model="m")
            return super().embed(texts, kind)

    texts = [f"text {n}" for n in range(10)]
    seen: list[tuple[int, int]] = []
    with Cache(tmp_path / "c.db") as cache:
        first = CachedEmbedder(Failing(), cache, chunk_size=3, progress=lambda *at: seen.append(at))
        with pytest.raises(EmbeddingError):
            first.embed(texts, "passage")
    with Cache(tmp_path / "c.db") as cache:
        rest = Counting()
        second = CachedEmbedder(rest, cache, chunk_size=3)
        vectors = second.embed(texts, "passage", progress=lambda *at: seen.append(at))
    assert [len(chunk) for chunk in rest.asked] == [3, 1]
    np.testing.assert_array_equal(vectors, HashEmbedder(16).embed(texts, "passage"))
    assert seen == [(3, 10), (6, 10), (3, 4), (4, 4)]


def test_kinds_share_vectors_only_where_the_model_sees_the_same(cache: Cache) -> None:
    inner = Instructed("Find facts.")
    cached = CachedEmbedder(inner, cache)
    for kind in ("passage", "fact", "query_to_passage", "query_to_fact"):
        cached.embed(["x"], kind)
    assert len(inner.asked) == 2
    silent = Counting()
    for kind in ("passage", "query_to_fact"):
        CachedEmbedder(silent, cache).embed(["x"], kind)
    assert len(silent.asked) == 2  # it does not say what it does with kinds


def test_another_instruction_leaves_documents_valid(cache: Cache) -> None:
    CachedEmbedder(Instructed("Find facts."), cache).embed(["x"], "passage")
    inner = Instructed("Find statements.")
    cached = CachedEmbedder(inner, cache)
    cached.embed(["x"], "passage")
    assert inner.asked == []
    cached.embed(["x"], "query_to_fact")
    assert inner.asked == [["x"]]


def test_embedders_do_not_mix(cache: Cache) -> None:
    CachedEmbedder(Counting(16), cache).embed(["x"], "passage")
    other = Counting(8)
    assert CachedEmbedder(other, cache).embed(["x"], "passage").shape == (1, 8)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (np.ones((1, 16), np.float32), "1 vectors for 2 texts"),
        (np.full((2, 16), np.nan, np.float32), "NaN"),
        (np.ones((2, 15), np.float32), "15 dimensions where it had 16"),
    ],
)
def test_bad_vectors_are_not_kept(cache: Cache, bad: Vectors, complaint: str) -> None:
    CachedEmbedder(Counting(), cache).embed(["known"], "passage")

    class Bad(Counting):
        def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
            return bad

    with pytest.raises(EmbeddingError, match=complaint):
        CachedEmbedder(Bad(), cache).embed(["known", "a", "b"], "passage")
    inner = Counting()
    CachedEmbedder(inner, cache).embed(["known", "a", "b"], "passage")
    assert inner.asked == [["a", "b"]]
