"""Entities and facts by a chat model: one call a passage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from hippo_lit.errors import ChatModelError, HippoLitError, ModelError
from hippo_lit.extract.spans import SentenceFinder, pieces
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.llm.prompts import Prompt
from hippo_lit.llm.replies import ReadReply, UnreadableReplyError, names, read_reply, triples
from hippo_lit.protocols import ChatModel
from hippo_lit.types import Extraction, Fact, Mention, Passage

RULES = "1"  # raised when the same reply would be read differently
ENTITY_KEYS = ("entities", "named_entities", "named entities", "entity")
TRIPLE_KEYS = ("triples", "triplets", "facts", "relations", "statements")
MIN_CHARS = 200

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entities": {"type": "array", "items": {"type": "string"}},
        "triples": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        },
    },
    "required": ["entities", "triples"],
    "additionalProperties": False,
}


class LLMExtractor:
    """A FactExtractor. `prompt` takes one variable, $data.

    A passage body over `max_chars` characters is read in pieces of whole sentences. A reply that breaks
    off is never taken for a complete one: the piece is read again in smaller ones, and where one of those
    breaks off too, the passage's item is ChatModelError(kind="truncated"). What cannot be used is not left
    in a chat model's cache, so that the next run asks again.
    """

    def __init__(
        self, chat: ChatModel, prompt: Prompt, *, concurrency: int = 8, max_chars: int = 6000
    ) -> None:
        if max_chars < MIN_CHARS:
            raise ValueError(f"max_chars must be at least {MIN_CHARS}, not {max_chars}")
        prompt.check_variables("data")
        self._chat = chat
        self._prompt = prompt
        self._concurrency = concurrency
        self._max_chars = max_chars

    @property
    def name(self) -> str:
        return f"llm-{RULES}/{self._chat.name}/{self._prompt.hash[:12]}/{self._max_chars}"

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        """One item a passage, in order; at most `concurrency` calls at once.

        A failed call and an unreadable reply are ChatModelError items; "no entities, no triples" is an
        empty Extraction. What concerns no passage (a full disk under the cache of replies) is raised. After
        a wrong key or an unknown model every further passage asks in vain, unless `chat` stops asking as
        `models.guard.GuardedChat` does.
        """
        for item in map_bounded(self._extract, passages, self._concurrency):
            if isinstance(item, HippoLitError) and not isinstance(item, ModelError):
                raise item
            yield item

    def _extract(self, passage: Passage) -> Extraction:
        if not passage.text.strip():
            return Extraction()
        entities: list[str] = []
        facts: list[Fact] = []
        texts = pieces(passage.body, self._max_chars) or [""]
        for found in self._read_all(passage.title, texts):
            entities += found[0]
            facts += found[1]
        return _extraction(passage, entities, list(dict.fromkeys(facts)))

    def _read_all(
        self, title: str, texts: Sequence[str], *, retry: bool = True
    ) -> Iterator[tuple[list[str], list[Fact]]]:
        """What each of `texts` says. One whose reply is awaited does not keep the others from being asked."""
        awaited: ChatModelError | None = None
        for text in texts:
            try:
                yield from self._read(title, text, retry=retry)
            except ChatModelError as error:
                if error.kind != "pending":
                    raise
                awaited = error
        if awaited is not None:
            raise awaited

    def _read(self, title: str, text: str, *, retry: bool = True) -> Iterator[tuple[list[str], list[Fact]]]:
        messages = self._prompt.render(data={"title": title, "text": text})
        reply = self._chat.complete(messages, schema=SCHEMA)
        cut = reply.finish_reason == "length"
        try:
            read = read_reply(reply.text)
            if not (cut or read.broken_off):
                yield read_extraction(read)
                return
            forget_reply(self._chat, messages, schema=SCHEMA)
        except UnreadableReplyError as e:
            forget_reply(self._chat, messages, schema=SCHEMA)
            if not cut:
                raise self._error("unreadable", str(e)) from e
        smaller = pieces(text, 2 * len(text) // 3) if retry and len(text) >= MIN_CHARS else []
        if len(smaller) < 2:
            raise self._error("truncated", "it breaks off; raise the model's max_tokens")
        yield from self._read_all(title, smaller, retry=False)

    def _error(self, kind: str, why: str) -> ChatModelError:
        message = f"the extraction reply cannot be used: {why}"
        return ChatModelError(message, model=self._chat.name, status=None, kind=kind)


def read_extraction(reply: ReadReply) -> tuple[list[str], list[Fact]]:
    """Entities and facts of a complete reply. Raises UnreadableReplyError where it has neither key."""
    entity_values, triple_values = reply.member(*ENTITY_KEYS), reply.member(*TRIPLE_KEYS)
    for value in reply.lists:  # no dict around them: a list of texts is entities, other lists are triples
        (entity_values if all(isinstance(item, str) for item in value) else triple_values).append(value)
    if not any(v is None or isinstance(v, list | dict) for v in entity_values + triple_values):
        raise UnreadableReplyError("it is JSON, but lists neither entities nor triples")
    entities, no_entities = names([v for v in entity_values if isinstance(v, list | dict)])
    facts, no_facts = triples([v for v in triple_values if isinstance(v, list | dict)])
    if not entities and not facts and no_entities + no_facts:
        raise UnreadableReplyError("none of its entities and triples has the right shape")
    return entities, facts


def _extraction(passage: Passage, entities: Sequence[str], facts: Sequence[Fact]) -> Extraction:
    finder = SentenceFinder(passage.title, passage.body)
    ends = [end for fact in facts for end in (fact.subject, fact.object)]
    surfaces = dict.fromkeys([*entities, *ends])
    mentions = (Mention(s, sentence := finder.find(s), kind_of(s, finder, sentence)) for s in surfaces)
    where = tuple(finder.find(fact.subject, fact.object, fact.relation) for fact in facts)
    return Extraction(tuple(mentions), tuple(facts), where)


def kind_of(surface: str, finder: SentenceFinder, sentence: int) -> Literal["name", "phrase"]:
    """ "name" for digits, capitals that no sentence start explains, and scripts without case."""
    if surface == surface.lower() == surface.upper() or any(c.isdigit() for c in surface):
        return "name"
    if any(c.isupper() for c in surface[1:]):
        return "name"
    if not surface[:1].isupper():
        return "phrase"
    opens = sentence >= 0 and finder.sentences[sentence].startswith(surface)
    return "phrase" if opens and " " in surface else "name"
