"""Noun phrases as a reader would look them up: without articles, fillers and leftovers of punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from hippo_lit.extract.words import NUMERALS, WEAK, is_generic

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

NAME_LABELS = frozenset(
    "PERSON NORP FAC ORG GPE LOC PRODUCT EVENT WORK_OF_ART LAW LANGUAGE".split()
)
MAX_WORDS = 8
MAX_CHARS = 90

_LEFT = frozenset("compound amod nmod nummod punct npadvmod advmod quantmod poss case cc conj det neg".split())
_EDGES = " \t\n\"'“”‘’`´,.;:!?*•-–—/|\\<>=~_"
_COMPLEMENTS = frozenset("of in for on to with between from against among".split())
_NAME_LIKE = re.compile(r"[A-Z][\w-]*[A-Z]|[a-z]+[A-Z]|[A-Z][\w-]*\d|[A-Z]{2}")


def kind_of(text: str, *, named: bool) -> Literal["name", "phrase"]:
    """"name" for what the recogniser takes for a name, and for acronyms, gene symbols and model names."""
    return "name" if named or _NAME_LIKE.search(text) else "phrase"


def entity_at(token: Token) -> Span | None:
    """The recognised entity, of any label, that `token` is part of."""
    if not token.ent_type_:
        return None
    start = token.i
    while start > 0 and token.doc[start].ent_iob_ == "I":
        start -= 1
    end = token.i + 1
    while end < len(token.doc) and token.doc[end].ent_iob_ == "I":
        end += 1
    return token.doc[start:end]


def phrase_span(head: Token) -> Span:
    """The contiguous words that head a noun phrase: its entity, or `head` with what modifies it."""
    entity = entity_at(head)
    left = head.i
    if entity is not None and entity.root.i == head.i and entity.label_ in NAME_LABELS:
        return entity
    sentence_start = head.sent.start
    while left > sentence_start and _modifies(head.doc[left - 1], head):
        left -= 1
    if entity is not None:
        left, right = min(left, entity.start), max(head.i + 1, entity.end)
        return head.doc[left:right]
    return head.doc[left : head.i + 1]


def _modifies(token: Token, head: Token) -> bool:
    for _ in range(6):
        if token.dep_ not in _LEFT or (token.dep_ == "punct" and token.text not in "-–/'’"):
            return False
        token = token.head
        if token.i == head.i:
            return True
    return False


def trimmed(span: Span, *, numbers: bool) -> str:
    """The text of a span without weak words in front, and without `numbers` where they are not wanted."""
    doc, start, end = span.doc, span.start, span.end
    while start < end and _is_weak(doc[start], numbers):
        start += 1
    while end > start and doc[end - 1].text in ("'s", "’s", "'", "’", "-", "–"):
        end -= 1
    return tidy(doc[start:end].text)


def _is_weak(token: Token, numbers: bool) -> bool:
    if token.text.lower() in WEAK or token.tag_ in ("DT", "PRP$", "WDT", "WP$", "PDT", "CC"):
        return True
    if token.is_punct or token.is_space:
        return True
    return not numbers and (token.like_num or token.text.lower() in NUMERALS) and token.ent_type_ not in NAME_LABELS


def tidy(text: str) -> str:
    """Without quotes, dashes and unpaired brackets at the edges; "" for what cannot name anything."""
    text = " ".join(text.split()).strip(_EDGES)
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) != text.count(closing):
            text = text.strip(opening + closing).strip(_EDGES)
            if text.count(opening) != text.count(closing):
                return ""
    if len(text) > MAX_CHARS or text.count(" ") >= MAX_WORDS + 4 or "http" in text:
        return ""
    return text


def mentions(span: Doc | Span) -> Iterator[tuple[str, Literal["name", "phrase"], Token]]:
    """(text, kind, head) of the names and noun phrases in a parsed text, in no order."""
    heads = set()
    for entity in span.ents:
        if entity.label_ in NAME_LABELS and (text := _name(entity)):
            heads.add(entity.root.i)
            yield text, "name", entity.root
    for chunk in span.noun_chunks:
        head = chunk.root
        if head.i in heads or head.pos_ == "PRON" or head.ent_type_ in NAME_LABELS:
            continue
        if text := _phrase(head):
            yield text, kind_of(text, named=False), head


def _name(entity: Span) -> str:
    text = trimmed(entity, numbers=True)
    letters = sum(c.isalpha() for c in text)
    if letters < 2 or (letters < 0.5 * len(text) and letters < 4) or text[0] in "([":
        return ""
    # The recogniser often takes one common noun at the start of a sentence for a name.
    return "" if " " not in text and (text.islower() or is_generic(text)) else text


def _phrase(head: Token) -> str:
    if head.pos_ not in ("NOUN", "PROPN") or (head.ent_type_ and head.ent_type_ not in NAME_LABELS):
        return ""
    text = trimmed(phrase_span(head), numbers=False)
    if sum(c.isalpha() for c in text) < 2 or text.count(" ") >= MAX_WORDS or "%" in text or "=" in text:
        return ""
    return "" if " " not in text and (is_generic(text) or len(text) < 3 and not text.isupper()) else text
