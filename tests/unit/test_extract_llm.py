"""CASES 2 and 6, failures as values, order, and where entities are found."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hippo_lit.errors import ChatModelError, PromptError, StoreError
from hippo_lit.extract.llm import LLMExtractor
from hippo_lit.llm.prompts import Prompt
from hippo_lit.models.chat_cache import CachedChat
from hippo_lit.models.usage import MeteredChat
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Extraction, Fact, Message, Passage, Reply

PROMPT = Prompt("p", "s", "$data")
BODY = "Deep learning is slow. The Marie Curie programme funded LoRA in Oban. LoRA cuts memory by 41%."
PASSAGE = Passage("p1", 0, "Low-rank adapters", BODY)


class Chat:
    """Answers by a function of the passage's data."""

    name = "chat"

    def __init__(self, answer: Callable[[dict[str, str]], str | Reply]) -> None:
        self._answer = answer
        self.asked: list[dict[str, str]] = []

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        assert schema is not None
        data = json.loads(messages[-1].content)
        self.asked.append(data)
        answer = self._answer(data)
        return answer if isinstance(answer, Reply) else Reply(answer)


def one(answer: str | Reply, passage: Passage = PASSAGE) -> Extraction | Exception:
    (item,) = LLMExtractor(Chat(lambda _: answer), PROMPT).extract([passage])
    return item


def reply(entities: list[Any], triples: list[Any]) -> str:
    return json.dumps({"entities": entities, "triples": triples})


def error_kind(item: Extraction | Exception) -> str:
    assert isinstance(item, ChatModelError), item
    return str(item.kind)


def test_entities_and_facts_come_with_their_sentences() -> None:
    answer = reply(
        ["Deep learning", "Marie Curie programme", "low-rank adapters", "Mars"],
        [["LoRA", "cuts memory by", "41%"], ["Marie Curie programme", "funded", "LoRA"]],
    )
    found = one(answer)
    assert isinstance(found, Extraction)
    assert found.facts == (
        Fact("LoRA", "cuts memory by", "41%"),
        Fact("Marie Curie programme", "funded", "LoRA"),
    )
    assert found.fact_sentences == (2, 1)
    assert [(m.surface, m.sentence, m.kind) for m in found.mentions] == [
        ("Deep learning", 0, "phrase"),  # its capital is the sentence's
        ("Marie Curie programme", 1, "name"),
        ("low-rank adapters", -1, "phrase"),
        ("Mars", -1, "name"),
        ("LoRA", 1, "name"),
        ("41%", 2, "name"),
    ]


def test_scripts_without_spaces_find_their_sentence() -> None:
    passage = Passage("p", 0, "北京", "上海在东部。北京大学位于北京。")
    found = one(reply(["北京大学"], []), passage)
    assert isinstance(found, Extraction)
    assert [(m.surface, m.sentence, m.kind) for m in found.mentions] == [("北京大学", 1, "name")]


@pytest.mark.parametrize(
    "answer",
    [reply([], []), '{"entities": [], "triples": null}', '{"entities": []}', "[]", "```json\n[]\n```"],
)
def test_nothing_found_is_an_empty_extraction(answer: str) -> None:
    assert one(answer) == Extraction()


@pytest.mark.parametrize(
    "answer",
    [
        "There are no entities.",
        '{"answer": 42}',
        '{"triples": [["a", "b"], ["a", null, "c"]]}',
        '{"entities": "none", "triples": "none"}',
        "<think>hm</think>",
    ],
)
def test_an_unusable_reply_is_an_error_and_not_an_empty_extraction(answer: str) -> None:
    assert error_kind(one(answer)) == "unreadable"


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ('["Oban", "LoRA"]', 0),
        ('[["LoRA", "cuts", "memory"]]', 1),
        ('**Entities**\n["Oban"]\n**Triples**\n[["LoRA", "cuts", "memory"]]', 1),
        (
            '{"Named_Entities": ["Oban"], "Facts": [{"subject": "LoRA", "verb": "cuts", "object": "RAM"}]}',
            1,
        ),
        ('{"entities": ["Oban"]}\n{"triples": [["LoRA", "cuts", "memory"], ["a", "b"]]}', 1),
    ],
)
def test_other_shapes_are_understood(answer: str, facts: int) -> None:
    found = one(answer)
    assert isinstance(found, Extraction)
    assert len(found.facts) == facts
    assert {"Oban", "LoRA"} & {m.surface for m in found.mentions}


def test_a_cut_reply_is_read_again_in_smaller_pieces() -> None:
    passage = Passage(
        "p", 0, "T", "Alpha binds beta in every cell that we tried. " * 3 + "Gamma is inert. " * 8
    )

    def answer(data: dict[str, str]) -> Reply:
        if len(data["text"]) > 200:
            return Reply('{"entities": ["Alpha"], "triples": [["Alpha", "binds", "beta"], ["Ga', "length")
        name = "Alpha" if "Alpha" in data["text"] else "Gamma"
        return Reply(reply([name], [[name, "is", "studied"]]))

    chat = Chat(answer)
    (found,) = LLMExtractor(chat, PROMPT).extract([passage])
    assert isinstance(found, Extraction)
    assert [f.subject for f in found.facts] == ["Alpha", "Gamma"]
    assert len(chat.asked) == 3
    assert " ".join(data["text"] for data in chat.asked[1:]) == chat.asked[0]["text"]


@pytest.mark.parametrize(
    "answer",
    [
        Reply('{"entities": ["a"], "triples": [["a", "b", "c"]', "length"),
        Reply('{"entities": ["a"], "triples": [["a", "b", "c"]]}', "length"),
        Reply('{"entities": ["a"], "triples": [["a", "b"', "stop"),
        Reply("<think>the budget went here", "length"),
    ],
)
def test_a_reply_that_stays_cut_is_an_error(answer: Reply) -> None:
    long = Passage("p", 0, "T", "One plain sentence of some length stands here. " * 10)
    assert error_kind(one(answer, long)) == "truncated"
    assert error_kind(one(answer)) == "truncated"


@pytest.mark.parametrize(
    "bad", ["Sorry, not today.", '{"answer": 42}', '{"entities": ["a"], "triples": [["a", "b"']
)
def test_an_unusable_reply_is_asked_for_again_and_a_readable_one_is_not(bad: str) -> None:
    fake = FakeChatModel([bad, reply(["Oban"], [])])
    with Cache(None) as cache:
        extractor = LLMExtractor(MeteredChat(CachedChat(fake, cache), "extract"), PROMPT)
        (failed,) = extractor.extract([PASSAGE])
        assert error_kind(failed) in ("unreadable", "truncated")
        for _ in range(2):
            (found,) = extractor.extract([PASSAGE])
            assert isinstance(found, Extraction)
            assert [mention.surface for mention in found.mentions] == ["Oban"]
    assert len(fake.calls) == 2


def test_a_piece_that_breaks_off_is_asked_for_again_the_others_are_not() -> None:
    first, second = "Alpha is studied in every cell here. " * 5, "Gamma is inert in all of our tests. " * 4
    refused = "Sorry."

    def answer(messages: Sequence[Message]) -> str:
        text = json.loads(messages[-1].content)["text"]
        if "Alpha" in text and "Gamma" in text:
            return '{"entities": ["Alpha", "Ga'
        return reply(["Alpha"], []) if "Alpha" in text else refused

    fake = FakeChatModel(answer)
    with Cache(None) as cache:
        extractor = LLMExtractor(CachedChat(fake, cache), PROMPT)
        passage = Passage("p", 0, "T", (first + second).strip())
        (failed,) = extractor.extract([passage])
        assert error_kind(failed) == "unreadable"
        refused = reply(["Gamma"], [])
        before = [json.loads(call.messages[-1].content)["text"] for call in fake.calls]
        (found,) = extractor.extract([passage])
    after = [json.loads(call.messages[-1].content)["text"] for call in fake.calls[len(before) :]]
    assert isinstance(found, Extraction)
    assert [mention.surface for mention in found.mentions] == ["Alpha", "Gamma"]
    whole, alpha, gamma = before
    assert (alpha, gamma) == (first.strip(), second.strip())
    assert after == [whole, gamma]  # what was said of alpha was readable, and is kept


def test_a_long_passage_is_read_in_pieces_of_whole_sentences() -> None:
    sentences = [f"Sentence number {i} is about gene ABC{i}." for i in range(20)]
    chat = Chat(lambda data: reply([data["text"].split()[-1].rstrip(".")], []))
    (found,) = LLMExtractor(chat, PROMPT, max_chars=250).extract([Passage("p", 0, "T", " ".join(sentences))])
    assert isinstance(found, Extraction)
    assert " ".join(data["text"] for data in chat.asked) == " ".join(sentences)
    assert all(len(data["text"]) <= 250 for data in chat.asked)
    assert [m.sentence for m in found.mentions] == [5, 11, 17, 19]


def test_items_come_in_order_and_never_more_calls_at_once_than_allowed() -> None:
    running, peak, lock = 0, 0, threading.Lock()
    full = threading.Barrier(3)

    def answer(data: dict[str, str]) -> str:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        full.wait(timeout=5)
        with lock:
            running -= 1
        return reply([data["title"]], [])

    passages = [Passage("p", i, f"title {i}", "x") for i in range(12)]
    found = list(LLMExtractor(Chat(answer), PROMPT, concurrency=3).extract(passages))
    assert [f.mentions[0].surface for f in found if isinstance(f, Extraction)] == [p.title for p in passages]
    assert peak == 3


def test_one_failed_call_is_one_failed_item() -> None:
    def answer(data: dict[str, str]) -> str:
        if data["title"] == "t1":
            raise ChatModelError("too many", model="chat", status=429, kind="rate_limit")
        return reply([data["title"]], [])

    items = list(
        LLMExtractor(Chat(answer), PROMPT).extract([Passage("p", i, f"t{i}", "x") for i in range(3)])
    )
    assert error_kind(items[1]) == "rate_limit"
    assert isinstance(items[0], Extraction)
    assert isinstance(items[2], Extraction)


def test_an_error_that_concerns_no_passage_stops_the_run() -> None:
    def answer(data: dict[str, str]) -> str:
        raise StoreError("disk full", path="x")

    chat = Chat(answer)
    with pytest.raises(StoreError):
        list(
            LLMExtractor(chat, PROMPT, concurrency=2).extract([Passage("p", i, "t", "x") for i in range(500)])
        )
    assert len(chat.asked) < 50


def test_a_blank_passage_costs_no_call() -> None:
    chat = Chat(lambda _: "never")
    assert list(LLMExtractor(chat, PROMPT).extract([Passage("p", 0, " ", "\n")])) == [Extraction()]
    assert chat.asked == []


def test_the_name_and_the_parts() -> None:
    chat = Chat(lambda _: "")
    assert LLMExtractor(chat, PROMPT).name != LLMExtractor(chat, Prompt("p", "t", "$data")).name
    with pytest.raises(PromptError):
        LLMExtractor(chat, Prompt("p", "s", "$text"))
    with pytest.raises(ValueError, match="max_chars"):
        LLMExtractor(chat, PROMPT, max_chars=10)
