"""Replies in pieces: from a server, from one that cannot, and through cache, guard and meter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hippo_lit.errors import ChatModelError
from hippo_lit.llm.streaming import Streaming, stream_reply
from hippo_lit.models.chat import OpenAIChat
from hippo_lit.models.chat_cache import CachedChat
from hippo_lit.models.guard import Guard, GuardedChat
from hippo_lit.models.usage import MeteredChat, UsageMeter
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import FakeChatModel
from hippo_lit.testing.server import Answer, Behaviour, Recorded, ScriptedServer, chat_reply, status
from hippo_lit.types import Message, Reply, Usage

ASKED = (Message("user", "hi"),)
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


def piece(text: str | None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def events(*chunks: Any, done: bool = True) -> Answer:
    lines = [": keep-alive\n\n", *(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)]
    body = "".join([*lines, "data: [DONE]\n\n" if done else ""])
    return Answer(body=body.encode(), headers={"Content-Type": "text/event-stream"})


def stream(*script: Behaviour) -> tuple[Reply, list[str], list[Recorded]]:
    pieces: list[str] = []
    with ScriptedServer(script) as server:
        chat = OpenAIChat(
            "m",
            base_url=server.base_url,
            wait_s=0.001,
            price_in_per_million=1.0,
            price_out_per_million=2.0,
        )
        with chat:
            return chat.stream(ASKED, pieces.append), pieces, server.requests


def test_pieces_make_the_reply_and_are_paid_for() -> None:
    reply, pieces, requests = stream(events(piece(""), piece("Hel"), piece(None), piece("lo"), END, USAGE))
    assert (reply.text, reply.finish_reason, pieces) == ("Hello", "stop", ["Hel", "lo"])
    assert reply.usage == Usage(1, 0, 7, 3, 13e-6)
    assert requests[0].body["stream"] is True
    assert requests[0].body["stream_options"] == {"include_usage": True}


def test_a_server_that_sends_no_pieces() -> None:
    reply, pieces, _ = stream(chat_reply("Hello"))
    assert (reply.text, pieces, reply.usage.prompt_tokens) == ("Hello", ["Hello"], 7)


def test_a_server_that_refuses_to_stream_is_asked_plainly() -> None:
    def answer(request: Recorded) -> Answer:
        return status(400, "stream is not supported") if "stream" in request.body else chat_reply("Hello")

    reply, pieces, requests = stream(answer)
    assert (reply.text, pieces, len(requests)) == ("Hello", ["Hello"], 2)


def test_a_failure_before_the_first_piece_is_tried_again() -> None:
    reply, pieces, requests = stream(status(503), events(piece("Hello"), END))
    assert (reply.text, pieces, len(requests)) == ("Hello", ["Hello"], 2)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (events(piece("Hel"), done=False), "connection"),
        (events(piece("Hel"), {"error": {"message": "overloaded", "code": 503}}), "server"),
    ],
)
def test_a_failure_after_it_is_not(broken: Answer, kind: str) -> None:
    pieces: list[str] = []
    with ScriptedServer([broken]) as server, OpenAIChat("m", base_url=server.base_url) as chat:
        with pytest.raises(ChatModelError) as caught:
            chat.stream(ASKED, pieces.append)
        assert (caught.value.kind, pieces, len(server.requests)) == (kind, ["Hel"], 1)


def test_an_empty_stream_is_no_reply() -> None:
    with pytest.raises(ChatModelError) as caught:
        stream(events(piece(""), END))
    assert caught.value.kind == "empty_reply"


def test_layers_around_a_model_pass_pieces_on() -> None:
    pieces: list[str] = []
    with ScriptedServer([events(piece("Hel"), piece("lo"), END, USAGE)]) as server, Cache(None) as cache:
        inner = OpenAIChat("m", base_url=server.base_url)
        chat = MeteredChat(CachedChat(GuardedChat(inner, Guard()), cache), "answer")
        assert isinstance(chat, Streaming)
        with inner, UsageMeter().active() as meter:
            first = stream_reply(chat, ASKED, pieces.append)
            assert pieces == ["Hel", "lo"]
            second = stream_reply(chat, ASKED, pieces.append)
            plain = chat.complete(ASKED)
        assert (len(server.requests), pieces[2:]) == (1, ["Hello"])
    assert first.text == second.text == plain.text == "Hello"
    assert meter.stages() == {"answer": Usage(1, 2, 7, 3)}


def test_a_model_without_streaming_gives_one_piece() -> None:
    pieces: list[str] = []
    assert stream_reply(FakeChatModel(["Hello"]), ASKED, pieces.append).text == "Hello"
    assert pieces == ["Hello"]
