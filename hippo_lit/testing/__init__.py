"""Doubles for tests: a scripted chat model, an embedder without weights, a misbehaving server.

They are shipped for the tests of whoever builds on this package; none needs a network or a key::

    chat = FakeChatModel(["first reply", ChatModelError("down", kind="server")])
    with ScriptedServer([status(429, retry_after="1"), chat_reply("hello")]) as server:
        OpenAIChat("any-model", base_url=server.base_url)
"""

from hippo_lit.testing.batch_server import BatchServer
from hippo_lit.testing.doubles import ChatCall, FakeChatModel, HashEmbedder
from hippo_lit.testing.server import (
    Answer,
    Behaviour,
    Recorded,
    ScriptedServer,
    chat_reply,
    connection_reset,
    dripping,
    dropped_body,
    embeddings,
    empty_body,
    html_page,
    json_reply,
    refusing,
    slow,
    status,
    truncated_json,
)

__all__ = [
    "Answer",
    "BatchServer",
    "Behaviour",
    "ChatCall",
    "FakeChatModel",
    "HashEmbedder",
    "Recorded",
    "ScriptedServer",
    "chat_reply",
    "connection_reset",
    "dripping",
    "dropped_body",
    "embeddings",
    "empty_body",
    "html_page",
    "json_reply",
    "refusing",
    "slow",
    "status",
    "truncated_json",
]
