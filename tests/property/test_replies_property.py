from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hippo_lit.errors import ChatModelError
from hippo_lit.extract.llm import LLMExtractor
from hippo_lit.filter.llm import LLMFilter
from hippo_lit.llm.prompts import Prompt
from hippo_lit.llm.replies import UnreadableReplyError, names, read_reply, triples
from hippo_lit.types import Extraction, Fact, Message, Passage, Reply, ScoredFact

PROMPT = Prompt("p", "s", "$data")

# Text at random seldom looks like a reply; text from these pieces mostly does.
PIECES = st.one_of(
    st.sampled_from(list("\"'[]{}(),:#\\\n \ud800\x00é")),
    st.sampled_from(["...", "//", "/*", "*/", "\\u", "\\ud83d", "null", "True", "1e999", '"facts"']),
    st.sampled_from(["<think>", "</think>", "```json\n", "```", "[[ ## facts ## ]]", "**Entities**"]),
    st.sampled_from(['"entities": [', '"triples": [[', '["LoRA", "reduces", "memory"]']),
)
REPLIES = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))
WORDS = st.text(alphabet="abc β+#\"'\\{}[],:", min_size=1, max_size=12).filter(
    lambda t: t.strip() == t and " ".join(t.split()) == t
)
TRIPLES = st.lists(st.tuples(WORDS, WORDS, WORDS).map(list), max_size=6)


class Chat:
    name = "chat"

    def __init__(self, text: str, finish_reason: str) -> None:
        self._reply = Reply(text, finish_reason)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        return self._reply


@given(REPLIES)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        reply = read_reply(text)
    except UnreadableReplyError:
        return
    facts, dropped = triples(list(reply.values))
    entities, _ = names(list(reply.values))
    assert dropped >= 0
    assert all(fact.subject and fact.relation and fact.object for fact in facts)
    json.dumps([entities, [fact.text for fact in facts]]).encode("utf-8")


@given(TRIPLES)
def test_valid_json_is_read_as_it_is(value: list[list[str]]) -> None:
    answer = {"facts": value}
    assert read_reply(json.dumps(answer)).values == (answer,)
    assert read_reply(f"Here: {json.dumps(answer, ensure_ascii=False)} done").values == (answer,)


@given(TRIPLES.filter(bool), st.data())
def test_a_cut_reply_gives_whole_facts_of_it_only(value: list[list[str]], data: st.DataObject) -> None:
    text = json.dumps({"facts": value}, ensure_ascii=False)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    try:
        reply = read_reply(cut)
    except UnreadableReplyError:
        return
    assert reply.broken_off
    facts, _ = triples(list(reply.values))
    plain = all(c not in field for triple in value for field in triple for c in "\"'\\")
    if plain:  # a cut right after an inner quote looks like an end
        assert {fact.text for fact in facts} <= {" ".join(triple) for triple in value}


FACTS = st.builds(Fact, WORDS, WORDS, WORDS)


@given(REPLIES, st.lists(FACTS, max_size=6), st.integers(1, 4), st.floats(0, 1))
def test_what_a_filter_keeps_are_candidates(text: str, facts: list[Fact], most: int, cutoff: float) -> None:
    candidates = [ScoredFact(fact, 0.5) for fact in facts]
    keeper = LLMFilter(Chat(text, "stop"), PROMPT, cutoff=cutoff, max_facts=most)
    try:
        outcome = keeper.keep(text, candidates)
    except ChatModelError:
        return
    assert set(outcome.kept) <= set(range(len(candidates)))
    assert len(set(outcome.kept)) == len(outcome.kept) == len(outcome.similarities) <= most
    assert all(0 <= similarity <= 1 for similarity in outcome.similarities)


@given(REPLIES, st.text(max_size=60), st.text(max_size=200), st.sampled_from(["stop", "length"]))
def test_any_reply_is_an_extraction_or_an_error_item(text: str, title: str, body: str, reason: str) -> None:
    (item,) = LLMExtractor(Chat(text, reason), PROMPT, concurrency=1).extract([Passage("p", 0, title, body)])
    if isinstance(item, ChatModelError):
        assert item.kind in ("unreadable", "truncated")
    else:
        assert isinstance(item, Extraction)
        assert len(item.facts) == len(item.fact_sentences)
