"""Nothing is paid for twice, failures are not kept, and usage is counted where it belongs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hippo_lit.errors import ChatModelError, StoreError
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.models.chat import OpenAIChat
from hippo_lit.models.chat_cache import CachedChat
from hippo_lit.models.usage import MeteredChat, UsageMeter
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Message, Reply, Usage

ASK = [Message("user", "q")]
DOWN = ChatModelError("down", model="fake", kind="server", usage=Usage(1, 0, 5, 0))


@pytest.fixture
def cache() -> Iterator[Cache]:
    with Cache(None) as opened:
        yield opened


def test_the_second_time_is_free(cache: Cache) -> None:
    fake = FakeChatModel([Reply("é\n", "stop", Usage(1, 0, 10, 5, 0.1))])
    chat = CachedChat(fake, cache)
    assert chat.name == "fake"
    assert chat.complete(ASK) == Reply("é\n", "stop", Usage(1, 0, 10, 5, 0.1))
    assert chat.complete(ASK) == Reply("é\n", "stop", Usage(cached_calls=1))
    assert CachedChat(fake, cache).complete(ASK).text == "é\n"


def test_whatever_the_reply_depends_on_is_in_the_key(cache: Cache) -> None:
    fake = FakeChatModel(lambda messages: f"reply {len(fake.calls)}")
    settings = {"seed": 1, "base_url": "a"}
    chat = CachedChat(fake, cache, parameters=settings)
    other = CachedChat(FakeChatModel(["other"], name="other"), cache, parameters=settings)
    texts = [
        chat.complete(ASK).text,
        chat.complete([Message("user", "qq")]).text,
        chat.complete([Message("system", "q")]).text,
        chat.complete([Message("user", "q"), Message("user", "")]).text,
        chat.complete(ASK, schema={}).text,
        chat.complete(ASK, schema={"type": "object"}).text,
        CachedChat(fake, cache, parameters={"seed": 2, "base_url": "a"}).complete(ASK).text,
        other.complete(ASK).text,
    ]
    assert len(set(texts)) == len(texts)
    same = CachedChat(fake, cache, parameters={"base_url": "a", "seed": 1})
    assert same.complete(ASK).text == "reply 1"


def test_a_chat_models_own_parameters_count(cache: Cache) -> None:
    def key(**settings: Any) -> str:
        with OpenAIChat("m", **settings) as model:
            return CachedChat(model, cache).key(ASK, None)

    keys = [
        key(),
        key(base_url="http://a/v1"),
        key(base_url="http://b/v1"),
        key(temperature=0.5),
        key(max_tokens=9),
        key(seed=1),
    ]
    assert len(set(keys)) == len(keys)
    assert key(timeout_s=1.0, max_attempts=9) == key()


def test_failures_and_cut_off_replies_are_not_kept(cache: Cache) -> None:
    cut = Reply('{"facts": [', "length", Usage(calls=1))
    fake = FakeChatModel([DOWN, cut, cut, "whole"])
    chat = CachedChat(fake, cache)
    with pytest.raises(ChatModelError):
        chat.complete(ASK)
    assert chat.complete(ASK) == cut
    assert chat.complete(ASK) == cut
    assert chat.complete(ASK).text == "whole"
    assert chat.complete(ASK).usage == Usage(cached_calls=1)


def test_an_unusable_reply_can_be_forgotten(cache: Cache) -> None:
    chat = CachedChat(FakeChatModel(["garbage", "good"]), cache)
    assert chat.complete(ASK).text == "garbage"
    chat.forget(ASK)
    assert chat.complete(ASK).text == "good"


def test_metering_hides_nothing_of_forgetting(cache: Cache) -> None:
    chat = MeteredChat(CachedChat(FakeChatModel(["garbage", "good"]), cache), "s")
    assert chat.complete(ASK, schema={}).text == "garbage"
    chat.forget(ASK)  # another call: without a schema
    assert chat.complete(ASK, schema={}).text == "garbage"
    chat.forget(ASK, schema={})
    assert chat.complete(ASK, schema={}).text == "good"


def test_a_model_that_keeps_nothing_has_nothing_to_forget() -> None:
    MeteredChat(FakeChatModel([]), "s").forget(ASK)


class Gated:
    """Answers only when told to, and counts."""

    name = "gated"

    def __init__(self, outcome: str | BaseException) -> None:
        self.outcome = outcome
        self.calls = 0
        self.entered, self.gate = threading.Event(), threading.Event()

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        self.calls += 1
        self.entered.set()
        assert self.gate.wait(5)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return Reply(self.outcome, usage=Usage(1, 0, 10, 5))


def together(gated: Gated, cache: Cache) -> list[Reply | BaseException]:
    chat = CachedChat(gated, cache)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(chat.complete, ASK)
        assert gated.entered.wait(5)
        others = [pool.submit(chat.complete, ASK) for _ in range(3)]
        gated.gate.set()
        return [f.exception() or f.result() for f in (first, *others)]


def test_equal_calls_at_once_are_paid_once(cache: Cache) -> None:
    gated = Gated("answer")
    replies = together(gated, cache)
    assert gated.calls == 1
    usages = [reply.usage for reply in replies if isinstance(reply, Reply)]
    assert usages == [Usage(1, 0, 10, 5)] + [Usage(cached_calls=1)] * 3


def test_an_interrupted_call_is_made_by_another(cache: Cache) -> None:
    class InterruptedOnce(Gated):
        def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
            self.outcome = CancelledError() if self.calls == 0 else "answer"
            return super().complete(messages, schema=schema)

    gated = InterruptedOnce("")
    first, *others = together(gated, cache)
    assert isinstance(first, CancelledError)
    assert [o.text for o in others if isinstance(o, Reply)] == ["answer"] * 3
    assert gated.calls == 2


def test_a_cache_that_cannot_be_written_still_answers(cache: Cache) -> None:
    cache._skip = True
    cache._db.execute("PRAGMA query_only = ON")
    chat = CachedChat(FakeChatModel(["one", "two"]), cache)
    assert [chat.complete(ASK).text, chat.complete(ASK).text] == ["one", "two"]
    assert not cache.writable


# Usage


def test_nothing_is_paid_for_that_cannot_be_kept(tmp_path: Path) -> None:
    chat = FakeChatModel(["never asked"])
    with Cache(tmp_path / "c.db") as cache:
        cache._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="readonly"):
            CachedChat(chat, cache).complete(ASK)
    assert not chat.calls


def test_usage_is_counted_per_stage_even_of_failures() -> None:
    meter = UsageMeter()
    paid = Reply("x", usage=Usage(1, 0, 10, 5, 0.5))
    filtering = MeteredChat(FakeChatModel([paid, DOWN, ChatModelError("no usage")]), "filter")
    answering = MeteredChat(FakeChatModel([paid]), "answer")
    with meter.active():
        filtering.complete(ASK)
        for _ in range(2):
            with pytest.raises(ChatModelError):
                filtering.complete(ASK)
        answering.complete(ASK)
    assert meter.stages() == {"filter": Usage(2, 0, 15, 5, 0.5), "answer": Usage(1, 0, 10, 5, 0.5)}


def test_only_active_meters_count() -> None:
    chat = MeteredChat(FakeChatModel(["a", "b", "c"]), "s")
    outer, inner = UsageMeter(), UsageMeter()
    with outer.active():
        chat.complete(ASK)
        with inner.active():
            chat.complete(ASK)
    chat.complete(ASK)
    assert (outer.stages()["s"].calls, inner.stages()["s"].calls) == (2, 1)


def test_queries_at_the_same_time_are_counted_apart() -> None:
    chat = MeteredChat(FakeChatModel(lambda messages: "x"), "s")

    def query(calls: int) -> int:
        with UsageMeter().active() as meter:
            for _ in map_bounded(chat.complete, [ASK] * calls, 3):
                pass
            return meter.stages()["s"].calls

    assert list(map_bounded(query, [1, 5, 9], 3)) == [1, 5, 9]
