"""A chat model as recognition memory: it picks, among the candidates, the facts that bear on a question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
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
        messages = self._prompt.render(data=request(question, candidates, self._max_facts))
        reply = self._chat.complete(messages, schema=SCHEMA)
        try:
            found = read_matches(reply.text, candidates, cutoff=self._cutoff, max_facts=self._max_facts)
        except UnreadableReplyError as e:
            forget_reply(self._chat, messages, schema=SCHEMA)
            kind = "truncated" if reply.finish_reason == "length" else "unreadable"
            message = f"the fact filter's reply cannot be used: {e}"
            raise ChatModelError(message, model=self._chat.name, status=None, kind=kind) from e
        return outcome(found)


@dataclass(frozen=True, slots=True)
class Match:
    """A fact of a reply, and what became of it.

    `candidate` is the index of the candidate that it is, or resembles most; `similarity`, in [0, 1], how
    much. `dropped` says why it is not kept; "" where it is.
    """

    text: str
    candidate: int
    similarity: float
    dropped: str = ""


UNMATCHED, REPEATED, OVER = "resembles no candidate", "kept already", "over the limit"


def request(question: str, candidates: Sequence[ScoredFact], max_facts: int) -> dict[str, Any]:
    """What the prompt's $data holds."""
    return {
        "question": clean(question[:MAX_QUESTION_CHARS]),
        "limit": max_facts,
        "candidates": [[c.fact.subject, c.fact.relation, c.fact.object] for c in candidates],
    }


def read_matches(
    reply: str, candidates: Sequence[ScoredFact], *, cutoff: float, max_facts: int
) -> tuple[Match, ...]:
    """Each fact of a reply in its order, matched back. Raises UnreadableReplyError, and ValueError where
    there is no candidate.
    """
    forms: dict[str, int] = {}
    for i, candidate in enumerate(candidates):
        forms.setdefault(_form(candidate.fact.text), i)
    found: list[Match] = []
    kept: set[int] = set()
    for text in _facts(read_reply(reply), forms):
        form = _form(text)
        close = [form] if form in forms else get_close_matches(form, forms, n=1, cutoff=cutoff)
        nearest = close[0] if close else max(forms, key=lambda known: _ratio(known, form))
        index = forms[nearest]
        if not close:
            dropped = UNMATCHED
        elif index in kept:
            dropped = REPEATED
        else:
            dropped = OVER if len(kept) >= max_facts else ""
        if not dropped:
            kept.add(index)
        found.append(Match(text, index, _ratio(nearest, form), dropped))
    return tuple(found)


def outcome(matches: Sequence[Match]) -> FilterOutcome:
    """What a reply keeps."""
    kept = [match for match in matches if not match.dropped]
    unmatched = dict.fromkeys(match.text for match in matches if match.dropped == UNMATCHED)
    return FilterOutcome(
        tuple(match.candidate for match in kept),
        tuple(unmatched),
        tuple(match.similarity for match in kept),
    )


def _ratio(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b).ratio()


def _form(text: str) -> str:
    return normalise(text) or clean(text)


def _facts(reply: ReadReply, known: Collection[str]) -> list[str]:
    """The reply's facts as texts, best first. Raises UnreadableReplyError where it lists none at all."""
    listed: list[Any] = reply.member(*KEYS)[-1:] or reply.lists
    if not listed:
        listed = [value for value in reply.values if isinstance(value, dict) and triples(value)[0]]
    if not listed:
        raise UnreadableReplyError("it is JSON, but holds no list of facts")
    if not all(value is None or isinstance(value, list | dict) for value in listed):
        raise UnreadableReplyError("its facts are not a list")
    texts = list(dict.fromkeys(islice(_texts(listed, known, 0), MAX_REPLY_FACTS)))
    if not texts and reply.broken_off:
        raise UnreadableReplyError("it breaks off before the first fact")
    return texts


def _texts(value: object, known: Collection[str], depth: int) -> Iterator[str]:
    """Facts in whatever shape: only what matches a candidate is kept, so any arity may be tried."""
    if isinstance(value, str):
        if text := field(value):
            yield text
    elif isinstance(value, dict):
        yield from (fact.text for fact in triples(value)[0])
    elif isinstance(value, list) and depth <= MAX_NESTING:
        fields = [field(item) for item in value]
        joined = " ".join(text for text in fields if text)
        # Three long texts are a fact where facts stand, or where a candidate says so; else each is a fact.
        whole = len(fields) == 3 and (depth > 1 or _form(joined) in known)
        sentences = not whole and all(text.count(" ") > 1 for text in fields)
        if sentences or any(isinstance(item, list | dict) for item in value):
            for item in value:
                yield from _texts(item, known, depth + 1)
        elif any(fields):
            yield joined
