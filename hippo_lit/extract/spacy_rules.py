"""Entities and facts in English text without a language model: spaCy's small model and rules over it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from hippo_lit.extract.acronyms import RELATION, definitions
from hippo_lit.extract.ends import Context
from hippo_lit.extract.parsing import TITLE, Parsed, cut, read, to_doc
from hippo_lit.extract.phrases import Kind, mentions
from hippo_lit.extract.relations import links, statements
from hippo_lit.extract.simple import simple_extraction
from hippo_lit.extract.spacy_model import find_model, load_model
from hippo_lit.extract.topic import NO_TOPIC, Text, Topic, find_topic, is_name, life_facts
from hippo_lit.extract.words import FUNCTION_WORDS
from hippo_lit.types import Extraction, Fact, Mention, Passage

if TYPE_CHECKING:
    from spacy.language import Language

RULES = "2"  # raised when the same text would give other facts
MIN_ENGLISH = 0.12  # share of English function words; running text has 0.3 to 0.5
_WORD = re.compile(r"[^\W\d_]+")


class SpacyExtractor:
    """A FactExtractor. `model`: "auto" (the official en_core_web_sm, else the pinned re-upload) or a package.

    A passage that is not English gets the entities of the simple rule instead. Loads the model with the
    first passage. Raises MissingExtraError at once where it is not installed, ModelError where its files
    are not the ones that were checked.
    """

    def __init__(self, model: str = "auto", *, batch_size: int = 128) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self._folder = find_model(model)
        self._batch_size = batch_size
        self._nlp: Language | None = None

    @property
    def name(self) -> str:
        return f"spacy-{RULES}/{self._folder.name}"

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        """One Extraction a passage, in order."""
        rest = iter(passages)
        while batch := list(islice(rest, self._batch_size)):
            yield from self._extract(batch)

    def _extract(self, passages: Sequence[Passage]) -> Iterator[Extraction]:
        texts = [read(passage) if is_english(passage.text) else None for passage in passages]
        runs = [cut(text) if text is not None else [] for text in texts]
        nlp = self._loaded()
        docs = nlp.pipe((to_doc(nlp, run) for of_one in runs for run in of_one), batch_size=self._batch_size)
        for passage, text, of_one in zip(passages, texts, runs, strict=True):
            parsed = [Parsed(doc, run) for run, doc in zip(of_one, islice(docs, len(of_one)), strict=True)]
            yield simple_extraction(passage) if text is None else _extraction(text, parsed)

    def _loaded(self) -> Language:
        if self._nlp is None:
            self._nlp = load_model(self._folder)
        return self._nlp


def is_english(text: str) -> bool:
    """Whether a text is English, by its letters and its function words; a short one, by its letters."""
    words = _WORD.findall(text[:5000].lower())
    letters = "".join(words)
    if sum(c.isascii() for c in letters) < 0.7 * len(letters):
        return False
    return len(words) < 12 or sum(word in FUNCTION_WORDS for word in words) >= MIN_ENGLISH * len(words)


def _extraction(text: Text, parsed: Sequence[Parsed]) -> Extraction:
    found: dict[tuple[str, int], Kind] = {}
    facts: dict[Fact, int] = {}
    topic, topic_at = _topic(text, parsed[0]) if parsed else (NO_TOPIC, -1)
    if is_name(text.name) or topic.name:
        found[text.name, TITLE] = "name"
    for i, part in enumerate(parsed):
        context = Context(topic, topic_at if i == 0 else -1, _first_places(part))
        number = {token.i: piece.sentence for span, piece in part.spans() for token in span}
        for surface, kind, token in mentions(part.doc):
            if number[token.i] != TITLE or not topic.name:  # a name has no parts
                found.setdefault((surface, number[token.i]), kind)
        for span, piece in part.spans():
            rule = links if piece.sentence == TITLE else statements
            for subject, relation, object_, at in () if piece.aside else rule(span, context):
                facts.setdefault(Fact(subject, relation, object_), number[at.i])
    for number_, sentence in enumerate((text.title, *text.sentences), start=TITLE):
        for definition in definitions(sentence):
            facts.setdefault(Fact(definition.short, RELATION, definition.long), number_)
            found.setdefault((definition.short, number_), "name")
            found.setdefault((definition.long, number_), "phrase")
    for fact in life_facts(topic, text.sentences[0]) if text.sentences else ():
        facts.setdefault(fact, 0)
    return Extraction(
        tuple(Mention(s, n, k) for (s, n), k in found.items()), tuple(facts), tuple(facts.values())
    )


def _topic(text: Text, parsed: Parsed) -> tuple[Topic, int]:
    spans = [(span, piece) for span, piece in parsed.spans() if not piece.aside]
    title = next((span for span, piece in spans if piece.sentence == TITLE), None)
    first = next((span for span, piece in spans if piece.sentence == 0), None)
    return (NO_TOPIC, -1) if first is None else find_topic(text, first, title)


def _first_places(parsed: Parsed) -> dict[str, int]:
    places: dict[str, int] = {}
    for token in parsed.doc:
        if token.pos_ in ("NOUN", "PROPN"):
            places.setdefault(token.text.lower(), token.i)
    return places
