"""A chat model as recognition memory: it picks, among the candidates, the facts that bear on a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from typing import Any

from hippo_lit.errors import ChatModelError
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.prompts import Prompt
from hippo_lit.llm.replies import MAX_NESTING, ReadReply, UnreadableReplyError, field, read_reply, triples
from hippo_lit.protocols import ChatModel
from hippo_lit.text import clean, normalise
from hippo_lit.types import FilterOutcome, ScoredFact

MAX_QUESTION_CHARS = 4000
MAX_REPLY_FACTS = 50
KEYS = ("facts", "fact", "triples", "relevant_facts", "fact_after_filter")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}


class LLMFilter:
    """A FactFilter. `prompt` takes one variable, $data.

    The reply's facts are matched back to the candidates, first exactly (under `text.normalise`), then by
    `difflib.get_close_matches` at `cutoff` in [0, 1]; what resembles no candidate is reported, not kept.
    """

    def __init__(self, chat: ChatModel, prompt: Prompt, *, cutoff: float = 0.6, max_facts: int = 4) -> None:
        if not 0 <= cutoff <= 1 or max_facts < 1:
            raise ValueError(f"cutoff must be in [0, 1] and max_facts at least 1, not {cutoff}, {max_facts}")
        prompt.check_variables("data")
        self._chat = chat
        self._prompt = prompt
        self._cutoff = cutoff
        self._max_facts = max_facts

    @property
    def name(self) -> str:
        return f"llm/{self._chat.name}/{self._prompt.hash[:12]}/{self._cutoff:g}/{self._max_facts}"

    def keep(self, question: str, candidates: Sequence[ScoredFact]) -> FilterOutcome:
        """At most `max_facts` of the candidates, in the reply's order; no call where there are none.

        An empty list in the reply is an answer: nothing is relevant. Raises ChatModelError, with kind
        "unreadable" or "truncated" where the reply holds no list of facts; such a reply is not left in a chat
        model's cache, so that the next query asks again.
        """
        if not candidates:
            return FilterOutcome(())
        data = {
            "question": clean(question[:MAX_QUESTION_CHARS]),
            "limit": self._max_facts,
            "candidates": [[c.fact.subject, c.fact.relation, c.fact.object] for c in candidates],
        }
        messages = self._prompt.render(data=data)
        reply = self._chat.complete(messages, schema=SCHEMA)
        try:
            texts = _facts(read_reply(reply.text))
        except UnreadableReplyError as e:
            forget_reply(self._chat, messages, schema=SCHEMA)
            kind = "truncated" if reply.finish_reason == "length" else "unreadable"
            message = f"the fact filter's reply cannot be used: {e}"
            raise ChatModelError(message, model=self._chat.name, status=None, kind=kind) from e
        return self._match(texts, candidates)

    def _match(self, texts: Sequence[str], candidates: Sequence[ScoredFact]) -> FilterOutcome:
        forms: dict[str, int] = {}
        for i, candidate in enumerate(candidates):
            forms.setdefault(_form(candidate.fact.text), i)
        kept: dict[int, float] = {}
        unmatched: dict[str, None] = {}
        for text in texts:
            form = _form(text)
            close = [form] if form in forms else get_close_matches(form, forms, n=1, cutoff=self._cutoff)
            if not close:
                unmatched[text] = None
            elif (index := forms[close[0]]) not in kept and len(kept) < self._max_facts:
                kept[index] = SequenceMatcher(None, close[0], form).ratio()
        return FilterOutcome(tuple(kept), tuple(unmatched), tuple(kept.values()))


def _form(text: str) -> str:
    return normalise(text) or clean(text)


def _facts(reply: ReadReply) -> list[str]:
    """The reply's facts as texts, best first. Raises UnreadableReplyError where it lists none at all."""
    listed: list[Any] = reply.member(*KEYS)[-1:] or reply.lists
    if not listed:
        listed = [value for value in reply.values if isinstance(value, dict) and triples(value)[0]]
    if not listed:
        raise UnreadableReplyError("it is JSON, but holds no list of facts")
    if not all(value is None or isinstance(value, list | dict) for value in listed):
        raise UnreadableReplyError("its facts are not a list")
    texts = list(dict.fromkeys(islice(_texts(listed, 0), MAX_REPLY_FACTS)))
    if not texts and reply.broken_off:
        raise UnreadableReplyError("it breaks off before the first fact")
    return texts


def _texts(value: object, depth: int) -> Iterator[str]:
    """Facts in whatever shape: only what matches a candidate is kept, so any arity may be tried."""
    if isinstance(value, str):
        if text := field(value):
            yield text
    elif isinstance(value, dict):
        yield from (fact.text for fact in triples(value)[0])
    elif isinstance(value, list) and depth <= MAX_NESTING:
        fields = [field(item) for item in value]
        sentences = all(text.count(" ") > 1 for text in fields)  # whole facts rather than parts of one
        if sentences or any(isinstance(item, list | dict) for item in value):
            for item in value:
                yield from _texts(item, depth + 1)
        elif any(fields):
            yield " ".join(text for text in fields if text)
