"""The shipped doubles do what their users' tests rely on."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest

from hippo_lit.errors import ChatModelError
from hippo_lit.testing import ChatCall, FakeChatModel, HashEmbedder, ScriptedServer, chat_reply, status
from hippo_lit.types import Message, Reply, Usage

ASK = [Message("user", "q")]


def test_a_fake_answers_in_order_and_records() -> None:
    chat = FakeChatModel(["a", Reply("b", "length", Usage(1, 0, 9, 9)), ChatModelError("down")])
    assert chat.complete(ASK) == Reply("a", usage=Usage(calls=1))
    assert chat.complete(ASK, schema={"type": "object"}).finish_reason == "length"
    with pytest.raises(ChatModelError, match="down"):
        chat.complete(ASK)
    with pytest.raises(AssertionError, match="call 4, but only 3 replies"):
        chat.complete(ASK)
    assert chat.calls[:2] == [ChatCall(tuple(ASK)), ChatCall(tuple(ASK), {"type": "object"})]


def test_a_fake_may_be_a_function() -> None:
    def answer(messages: object) -> str | Exception:
        return ValueError("odd") if len(chat.calls) == 2 else "fine"

    chat = FakeChatModel(answer, name="clever")
    assert chat.name == "clever"
    assert chat.complete(ASK).text == "fine"
    with pytest.raises(ValueError, match="odd"):
        chat.complete(ASK)


def test_a_fake_never_returns_nothing() -> None:
    with pytest.raises(ChatModelError) as caught:
        FakeChatModel([" "]).complete(ASK)
    assert caught.value.kind == "empty_reply"


def test_hash_vectors_are_the_same_in_every_process() -> None:
    script = (
        "from hippo_lit.testing import HashEmbedder;"
        "print(HashEmbedder(16).embed(['deep β-catenin', ''], 'fact').tobytes().hex())"
    )
    here = HashEmbedder(16).embed(["deep β-catenin", ""], "query_to_fact").tobytes().hex()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert run.stdout.strip() == here


def test_overlap_is_similarity() -> None:
    embedder = HashEmbedder(256)
    query = embedder.embed(["low-rank adapters"], "query_to_passage")[0]
    texts = ["Low rank adapters", "a low-rank adapter for speech", "volcanic ash"]
    same, near, far = embedder.embed(texts, "passage") @ query
    assert same == pytest.approx(1.0, abs=1e-6)
    assert same > near > far + 0.2


def test_no_words_have_one_defined_place() -> None:
    vectors = HashEmbedder(4).embed(["", "!?", "😀"], "passage")
    assert vectors.tolist() == [[1, 0, 0, 0]] * 3


def test_a_dimension_of_one_is_still_a_unit_vector() -> None:
    assert np.abs(HashEmbedder(1).embed(["a b c", "ab"], "fact")).tolist() == [[1], [1]]
    with pytest.raises(ValueError, match="at least 1"):
        HashEmbedder(0)


def test_a_server_follows_its_script_and_the_last_step_repeats() -> None:
    def post() -> int:
        request = urllib.request.Request(f"{server.base_url}/x", data=b'{"n": 1}', method="POST")
        try:
            with opener.open(request) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with ScriptedServer([status(503), chat_reply("hi")]) as server:
        assert [post(), post(), post()] == [503, 200, 200]
    assert [(r.path, r.body) for r in server.requests] == [("/v1/x", {"n": 1})] * 3
    with pytest.raises(ValueError, match="empty"):
        ScriptedServer([])
