"""A budget is not exceeded by calls in flight either; what fails for everybody is asked once."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hippo_lit.errors import ChatModelError, ConfigError, HippoLitError
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.llm.tokens import count_tokens, extraction_tokens, prompt_tokens
from hippo_lit.models.chat_cache import CachedChat
from hippo_lit.models.guard import IN_A_ROW, Budget, Guard, GuardedChat, Price
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Message, Reply, Usage

PRICE = Price(1.0, 10.0)
PROMPT = 20  # tokens of a prompt, as the model below counts


def question(number: int) -> list[Message]:
    return [Message("user", f"What is {number}?")]


class Metered:
    """Takes PROMPT tokens in and `out` out; knows how many calls ran at once."""

    name = "metered"
    parameters: Mapping[str, Any] = {"seed": 7}

    def __init__(self, out: int = 10) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._together = threading.Barrier(2, timeout=0.02)
        self.calls = 0

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        with self._lock:
            self.calls += 1
        try:
            self._together.wait()
        except threading.BrokenBarrierError:
            self._together.reset()
        cost = PRICE.cost(PROMPT, self._out)
        return Reply("yes", usage=Usage(1, 0, PROMPT, self._out, cost))


def ask(chat: Any, numbers: Sequence[int], concurrency: int = 4) -> list[Reply | HippoLitError]:
    return list(map_bounded(lambda number: chat.complete(question(number)), numbers, concurrency))


def kinds(items: Sequence[Reply | HippoLitError]) -> list[str]:
    return [item.kind if isinstance(item, ChatModelError) else "ok" for item in items]


@pytest.mark.parametrize("limit", [0, 30, 100, 299, 1000])
def test_tokens_never_exceed_the_budget(limit: int) -> None:
    chat = Metered()
    items = ask(GuardedChat(chat, Guard(Budget(max_tokens=limit), max_reply_tokens=50)), range(60))
    spent = sum(30 for item in items if isinstance(item, Reply))
    assert spent <= limit
    assert limit - spent < 30 + 2 * 50 or len(items) == spent / 30  # no more than about a call unused
    assert set(kinds(items)) <= {"ok", "budget"}
    assert kinds(items).count("ok") == chat.calls


def test_calls_in_flight_are_reckoned_with_their_worst_case() -> None:
    running, worst = [0], [0]
    guard = Guard(Budget(max_tokens=300), max_reply_tokens=100)

    class Slow(Metered):
        def complete(self, messages: Sequence[Message], *, schema: Any = None) -> Reply:
            with self._lock:
                running[0] += 1
                worst[0] = max(worst[0], running[0])
            reply = super().complete(messages)
            with self._lock:
                running[0] -= 1
            return reply

    ask(GuardedChat(Slow(), guard), range(8), concurrency=8)
    assert worst[0] <= 2  # three times 100 tokens of reply and a prompt would not fit


def test_usd_are_counted_at_the_model_prices() -> None:
    chat = Metered(out=50)
    guard = Guard(Budget(max_cost_usd=0.0022), PRICE, max_reply_tokens=50)
    assert kinds(ask(GuardedChat(chat, guard), range(8), concurrency=1)) == ["ok"] * 4 + ["budget"] * 4
    assert guard.stopped is not None
    assert "0.0021 of 0.0022 USD are spent" in guard.stopped.message


def test_a_server_that_reports_nothing_is_reckoned_at_the_worst() -> None:
    chat = FakeChatModel(lambda _: "yes")  # whose usage is one call of no tokens
    guard = Guard(Budget(max_tokens=300), max_reply_tokens=90)
    assert (
        kinds(ask(GuardedChat(chat, guard), range(8), concurrency=1)) == ["ok"] * 3 + ["budget"] * 5
    )  # 100 tokens each


def test_a_budget_in_usd_needs_prices_and_says_which() -> None:
    with pytest.raises(ConfigError, match=r"llm\.price_in_per_million and llm\.price_out_per_million"):
        Guard(Budget(max_cost_usd=1.0))
    with pytest.raises(ConfigError):
        Budget(max_tokens=-1)
    with pytest.raises(ConfigError):
        Budget(max_cost_usd=float("nan"))


def test_kept_replies_are_served_after_the_budget_and_cost_nothing() -> None:
    with Cache(None) as cache:
        ask(CachedChat(Metered(), cache), [3])
        chat = CachedChat(GuardedChat(Metered(), Guard(Budget(max_tokens=0))), cache)
        assert kinds(ask(chat, [1, 2, 3, 4])) == ["budget", "budget", "ok", "budget"]


@pytest.mark.parametrize("kind", ["auth", "not_found", "quota"])
def test_what_every_call_would_meet_is_asked_once(kind: str) -> None:
    paid = Usage(1, 0, 5, 0, None)
    chat = FakeChatModel(lambda _: ChatModelError("no", model="m", kind=kind, usage=paid))
    items = ask(GuardedChat(chat, Guard()), range(50), concurrency=1)
    assert kinds(items) == [kind] * 50
    assert len(chat.calls) == 1
    usages = [item.usage for item in items if isinstance(item, ChatModelError)]
    assert sum(usages, Usage()) == paid  # what was not asked is not paid for


def test_a_server_that_is_down_is_left_alone_after_a_while() -> None:
    chat = FakeChatModel(lambda _: ChatModelError("is down", model="m", kind="connection"))
    items = ask(GuardedChat(chat, Guard()), range(50), concurrency=1)
    assert kinds(items) == ["connection"] * IN_A_ROW + ["given_up"] * (50 - IN_A_ROW)
    assert len(chat.calls) == IN_A_ROW


def test_a_success_between_failures_goes_on() -> None:
    error = ChatModelError("busy", model="m", kind="rate_limit")
    chat = FakeChatModel(([error] * (IN_A_ROW - 1) + [Reply("yes")]) * 3)
    items = ask(GuardedChat(chat, Guard()), range(3 * IN_A_ROW), concurrency=1)
    assert "given_up" not in kinds(items)


def test_a_bad_question_stops_nobody() -> None:
    chat = FakeChatModel(lambda _: ChatModelError("refused", model="m", kind="bad_request"))
    assert set(kinds(ask(GuardedChat(chat, Guard()), range(50)))) == {"bad_request"}


def test_the_cache_keys_are_those_of_the_model() -> None:
    with Cache(None) as cache:
        model = Metered()
        assert CachedChat(GuardedChat(model, Guard()), cache).key(question(1), None) == CachedChat(
            model, cache
        ).key(question(1), None)


def test_tokens_are_near_those_of_gpt_4o() -> None:
    # Counted with the o200k tokenizer.
    text = "Personalised PageRank over a fact graph ranks papers that no shared word connects."
    assert abs(count_tokens(text) - 16) <= 2
    reply = '{"entities": ["LoRA"], "triples": [["LoRA", "cuts", "memory"]]}'
    assert abs(count_tokens(reply) - 22) <= 4
    assert count_tokens(" \n ") == 0
    assert prompt_tokens([Message("system", text)] * 2) == 2 * (count_tokens(text) + 4)
    assert extraction_tokens([Message("user", text)], None) == 75 + count_tokens(text)
    assert extraction_tokens([Message("user", text)], 50) == 50
