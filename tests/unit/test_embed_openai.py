"""The embeddings endpoint against a loopback server that returns what it should not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hippo_lit.errors import EmbeddingError
from hippo_lit.models.embed_openai import OpenAIEmbedder
from hippo_lit.testing import (
    Answer,
    HashEmbedder,
    ScriptedServer,
    connection_reset,
    embeddings,
    empty_body,
    html_page,
    json_reply,
    slow,
    status,
)
from hippo_lit.types import Usage

TEXTS = ["graphene oxide", "protein folding"]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EMBED_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def embedder(server: ScriptedServer, **settings: Any) -> OpenAIEmbedder:
    quick = {"wait_s": 0.01, "timeout_s": 1.0, "deadline_s": 3.0, "max_attempts": 3}
    return OpenAIEmbedder("embed-model", base_url=server.base_url, **(quick | settings))


def vectors(*rows: list[float] | None, order: list[int] | None = None) -> Answer:
    indices = order if order is not None else list(range(len(rows)))
    return json_reply({"data": [{"index": i, "embedding": r} for i, r in zip(indices, rows, strict=True)]})


def test_vectors_come_in_batches_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBED_KEY", "its-own")
    texts = [f"text number {n}" for n in range(7)]
    with (
        ScriptedServer([embeddings(8)]) as server,
        embedder(server, batch_size=3, api_key_env="EMBED_KEY", price_per_million=2.0) as model,
    ):
        found = model.embed(texts, "passage")
        np.testing.assert_allclose(found, HashEmbedder(8).embed(texts, "passage"), atol=1e-6)
        assert model.dim == 8
        assert model.usage == Usage(3, 0, 7, 0, pytest.approx(14e-6))
    assert [r.body["input"] for r in server.requests] == [texts[:3], texts[3:6], texts[6:]]
    assert {r.path for r in server.requests} == {"/v1/embeddings"}
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer its-own"}


def test_the_index_decides_the_order() -> None:
    with ScriptedServer([vectors([0, 2], [3, 0], order=[1, 0])]) as server, embedder(server) as model:
        assert model.embed(TEXTS, "passage").tolist() == [[1, 0], [0, 1]]


def test_dimensions_are_asked_for_and_expected() -> None:
    with ScriptedServer([embeddings(4)]) as server:
        with embedder(server, dimensions=4) as model:
            assert model.dim == 4
            assert server.requests == []
            model.embed(TEXTS, "passage")
            assert server.requests[0].body["dimensions"] == 4
        with embedder(server, dimensions=5) as model, pytest.raises(EmbeddingError, match="4 dimensions"):
            model.embed(TEXTS, "passage")


def test_no_texts_have_the_models_dimension() -> None:
    with ScriptedServer([embeddings(8)]) as server, embedder(server) as model:
        assert model.embed([], "passage").shape == (0, 8)


def test_what_servers_refuse_is_not_sent() -> None:
    with ScriptedServer([embeddings(8)]) as server, embedder(server, max_chars=10) as model:
        model.embed(["", "  ", "a\ud800", "x" * 50], "passage")
    assert server.requests[0].body["input"] == [".", ".", "a\ufffd", "x" * 10]


def test_instructions_reach_queries_only() -> None:
    settings = {"style": "instruct", "instructions": {"query_to_fact": "Find facts."}}
    with ScriptedServer([embeddings(8)]) as server, embedder(server, **settings) as model:
        for kind in ("query_to_fact", "query_to_passage", "passage"):
            model.embed(["q"], kind)
    inputs = [r.body["input"][0] for r in server.requests]
    assert inputs == ["Instruct: Find facts.\nQuery: q", "q", "q"]


@pytest.mark.parametrize(
    "hiccup", [status(429, retry_after="0"), status(500), empty_body(), connection_reset()]
)
def test_hiccups_are_tried_again(hiccup: Answer) -> None:
    with ScriptedServer([hiccup, embeddings(8)]) as server, embedder(server) as model:
        assert model.embed(TEXTS, "passage").shape == (2, 8)
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "kind", "attempts"),
    [
        (status(401), "auth", 1),
        (status(404), "not_found", 1),
        (status(400), "bad_request", 1),
        (status(500), "server", 3),
        (html_page(), "unreadable", 1),
        (status(429, retry_after="99"), "rate_limit", 1),
    ],
)
def test_failures_are_named(answer: Answer, kind: str, attempts: int) -> None:
    with (
        ScriptedServer([answer]) as server,
        embedder(server) as model,
        pytest.raises(EmbeddingError, match="embed-model") as caught,
    ):
        model.embed(TEXTS, "passage")
    assert (caught.value.model, caught.value.kind, caught.value.attempts) == ("embed-model", kind, attempts)


def test_a_server_that_never_answers() -> None:
    with (
        ScriptedServer([slow(5, status(500))]) as server,
        embedder(server, timeout_s=0.1, deadline_s=0.3) as model,
        pytest.raises(EmbeddingError) as caught,
    ):
        model.embed(TEXTS, "passage")
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (vectors([1, 0]), "1 vectors for 2 texts"),
        (vectors([1, 0], [0, 1], [1, 1]), "3 vectors for 2 texts"),
        (vectors([1, 0], [0, 1], order=[0, 0]), "indices"),
        (vectors([1, 0], [0, 1], order=[1, 2]), "indices"),
        (vectors([1, 0], [1]), "different lengths"),
        (vectors([1, 0], None), "different lengths"),
        (vectors([1, 0], [float("nan"), 1]), "NaN"),
        (vectors([1, 0], [0, 0]), "zeros"),
        (json_reply({"data": None}), "no list of embeddings"),
        (json_reply({"data": [[1, 0], [0, 1]]}), "no list of embeddings"),
        (json_reply({}), "no list of embeddings"),
    ],
)
def test_unusable_vectors_are_named(answer: Answer, complaint: str) -> None:
    with (
        ScriptedServer([answer]) as server,
        embedder(server) as model,
        pytest.raises(EmbeddingError, match=complaint) as caught,
    ):
        model.embed(TEXTS, "passage")
    assert caught.value.model == "embed-model"


def test_a_dimension_that_changes_is_an_error() -> None:
    with ScriptedServer([embeddings(8), embeddings(9)]) as server, embedder(server) as model:
        model.embed(TEXTS, "passage")
        with pytest.raises(EmbeddingError, match="9 dimensions where it had 8"):
            model.embed(TEXTS, "passage")


def test_names_tell_apart_what_gives_other_vectors() -> None:
    a, b = {"query_to_fact": "a"}, {"query_to_fact": "b"}
    settings: list[dict[str, Any]] = [
        {},
        {"base_url": "http://a/v1"},
        {"dimensions": 3},
        {"style": "e5"},
        {"style": "instruct", "instructions": a},
        {"style": "instruct", "instructions": b},
    ]
    models = [OpenAIEmbedder("m", **s) for s in settings]
    assert len({model.name for model in models}) == len(models)
    assert models[4].space == models[5].space == models[0].space
    assert OpenAIEmbedder("m", instructions=a).name == OpenAIEmbedder("m", instructions=b).name
    secret = OpenAIEmbedder("m", base_url="https://user:secret@host/v1?key=secret")
    assert "secret" not in secret.name + secret.space + repr(secret)
