"""What is put before a text, by model family; and what every embedder checks."""

from __future__ import annotations

import numpy as np
import pytest

from hippo_lit.errors import ConfigError, EmbeddingError
from hippo_lit.models.styles import Prefixes, prefixes_for
from hippo_lit.models.vectors import embeddable, unit_rows

OURS = {"query_to_fact": "Find facts.", "query_to_passage": "Find papers."}
INSTRUCT = Prefixes("Instruct: Find facts.\nQuery: ", "Instruct: Find papers.\nQuery: ")
E5 = Prefixes("query: ", "query: ", "passage: ")
NOMIC = Prefixes("search_query: ", "search_query: ", "search_document: ")
BGE = Prefixes(*["Represent this sentence for searching relevant passages: "] * 2)


@pytest.mark.parametrize(
    ("model", "prefixes"),
    [
        ("minilm", Prefixes()),
        ("sentence-transformers/all-mpnet-base-v2", Prefixes()),
        ("text-embedding-3-small", Prefixes()),
        ("intfloat/multilingual-e5-large-instruct", INSTRUCT),
        ("intfloat/e5-mistral-7b-instruct", INSTRUCT),
        ("nvidia/NV-Embed-v2", INSTRUCT),
        ("Alibaba-NLP/gte-Qwen2-7B", INSTRUCT),
        ("Qwen/Qwen3-Embedding-0.6B", INSTRUCT),
        ("intfloat/e5-base-v2", E5),
        ("intfloat/multilingual-e5-small", E5),
        ("BAAI/bge-small-en-v1.5", BGE),
        ("BAAI/bge-small-zh-v1.5", Prefixes()),
        ("BAAI/bge-m3", Prefixes()),
        ("nomic-ai/nomic-embed-text-v1.5", NOMIC),
    ],
)
def test_families_by_name(model: str, prefixes: Prefixes) -> None:
    assert prefixes_for(model, "auto", OURS) == prefixes


def test_the_models_own_prompts_come_first() -> None:
    own = {"query": "Q> ", "document": "D> "}
    assert prefixes_for("intfloat/e5-base", "auto", OURS, own) == Prefixes("Q> ", "Q> ", "D> ")
    assert prefixes_for("intfloat/e5-base", "auto", OURS, {"query": "", "document": ""}) == E5
    assert prefixes_for("intfloat/e5-base", "e5", OURS, own) == E5


def test_our_instructions_replace_the_models_own() -> None:
    own = {"query": "Instruct: Given a web search query, retrieve passages\nQuery:", "document": ""}
    prefixes = prefixes_for("any", "auto", {"query_to_fact": "Find facts."}, own)
    assert prefixes == Prefixes("Instruct: Find facts.\nQuery:", own["query"])


def test_without_an_instruction_there_is_no_prefix() -> None:
    assert prefixes_for("x", "instruct", {}) == Prefixes()
    assert prefixes_for("x", "none", OURS) == Prefixes()
    assert prefixes_for("x", "own", OURS) == Prefixes()


def test_an_unknown_style_is_named() -> None:
    with pytest.raises(ConfigError, match="'e6'") as caught:
        prefixes_for("x", "e6", OURS)  # type: ignore[arg-type]
    assert caught.value.key == "style"


def test_prefixes_by_kind_and_digest() -> None:
    assert [E5.of("passage"), E5.of("fact"), E5.of("query_to_fact")] == ["passage: ", "passage: ", "query: "]
    assert [INSTRUCT.of("query_to_fact"), INSTRUCT.of("fact")] == ["Instruct: Find facts.\nQuery: ", ""]
    digests = [p.digest for p in (Prefixes(), E5, BGE, NOMIC, INSTRUCT)]
    assert len(set(digests)) == 5
    assert digests[0] == "plain"
    assert INSTRUCT.document_digest == BGE.document_digest == "plain"
    assert E5.document_digest != NOMIC.document_digest


# What every embedder checks


def test_rows_become_unit_rows_and_stay_them_bit_for_bit() -> None:
    rows = unit_rows([[3, 4], [0, 0.1]], 2, None, "m")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 1]], rtol=1e-6)
    assert unit_rows(rows, 2, 2, "m").tobytes() == rows.tobytes()


def test_large_numbers_do_not_overflow() -> None:
    np.testing.assert_allclose(unit_rows([[3e30, 4e30]], 1, 2, "m"), [[0.6, 0.8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0, 0.0]] * 3, "3 vectors for 2 texts"),
        ([[1.0, 0.0, 0.0]] * 2, "3 dimensions where it had 2"),
        ([[1.0, 0.0], [float("nan"), 0.0]], "NaN"),
        ([[1.0, 0.0], [float("inf"), 0.0]], "infinite"),
        ([[1.0, 0.0], [0.0, 0.0]], "zeros"),
        ([[1.0, 0.0], [1.0]], "different lengths"),
        ([[1.0, 0.0], None], "different lengths"),
        ([["a", "b"]] * 2, "no numbers"),
        ([], "shape"),
        ([[], []], "shape"),
    ],
)
def test_vectors_that_cannot_be_used_name_the_model(raw: list[object], complaint: str) -> None:
    with pytest.raises(EmbeddingError, match=complaint) as caught:
        unit_rows(raw, 2, 2, "bad-model")  # type: ignore[arg-type]
    assert caught.value.model == "bad-model"
    assert "bad-model" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seen"),
    [("", "."), (" \n", "."), ("a b", "a b"), ("x\udc00y", "x\ufffdy"), ("\ud835\udefd", "\U0001d6fd")],
)
def test_every_text_can_be_embedded(text: str, seen: str) -> None:
    assert embeddable(text) == seen
