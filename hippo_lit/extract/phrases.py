"""Noun phrases as a reader would look them up: without articles, fillers and leftovers of punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from hippo_lit.extract.words import DEGREES, DETERMINERS, NUMERALS, STATISTICS, WEAK, is_generic, words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

NAME_LABELS = words("PERSON NORP FAC ORG GPE LOC PRODUCT EVENT WORK_OF_ART LAW LANGUAGE")
MAX_WORDS = 8
MAX_CHARS = 90

Kind = Literal["name", "phrase"]

_LEFT = words("compound amod nmod nummod punct npadvmod advmod quantmod poss case cc conj det neg")
_TRAILING = ("'s", "’s", "'", "’", "-", "–")
_EDGES = " \t\n\"'“”‘’`´,.;:!?*•-–—/|\\<>=~_"
_ACRONYM = re.compile(r"[A-Za-zα-ω]*[A-Z][\w+/-]*[A-Z\d][\w+]*|[a-z]{1,3}[A-Z]\w+|[A-Z]{2,}")


def is_marked(token: Token) -> bool:
    """Whether `prepare` marked this (merged) token as a name: the title, or a quoted work."""
    return token.i in token.doc.user_data["names"]


def subject_of(verb: Token) -> Token | None:
    """The grammatical subject, or a marked name before the verb that the parser did not see as one."""
    subject = next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass")), None)
    return subject if subject is not None else next((child for child in verb.lefts if is_marked(child)), None)


def entity_at(token: Token) -> Span | None:
    """The recognised entity, of any label, that `token` is part of."""
    if not token.ent_type_:
        return None
    start, end = token.i, token.i + 1
    while start > 0 and token.doc[start].ent_iob_ == "I":
        start -= 1
    while end < len(token.doc) and token.doc[end].ent_iob_ == "I":
        end += 1
    return token.doc[start:end]


def name_at(token: Token) -> Span | None:
    """The name that `token` is part of, if it is part of one."""
    if is_marked(token):
        return token.doc[token.i : token.i + 1]
    entity = entity_at(token) if token.ent_type_ in NAME_LABELS else None
    if entity is None:
        return None
    start = entity.start  # the recogniser may miss first names: "Sacha Baron [Cohen]"
    while start > 0 and _is_first_name(token.doc[start - 1], start, entity.end):
        start -= 1
    return token.doc[start : _after_number(token, entity.end)]


def _after_number(head: Token, end: int) -> int:
    """The end of "District 85", "number 6": a number that follows its noun is a part of the name."""
    doc = head.doc
    follows = end < len(doc) and doc[end].like_num and doc[end].head.i == head.i and doc[end].dep_ == "nummod"
    return end + 1 if follows else end


def _is_first_name(token: Token, start: int, end: int) -> bool:
    return bool(
        token.is_title and token.pos_ == "PROPN" and token.dep_ == "compound" and start <= token.head.i < end
    )


def phrase_span(head: Token) -> Span:
    """The contiguous words of a noun phrase up to its head: the name, or the head with its modifiers."""
    if (name := name_at(head)) is not None:
        return name
    left = head.i
    while left > 0 and _modifies(head.doc[left - 1], head):
        left -= 1
    right = head.i + 1
    if (entity := entity_at(head)) is not None:  # a date or an amount
        left, right = min(left, entity.start), max(right, entity.end)
    return head.doc[left : _after_number(head, right)]


def _modifies(token: Token, head: Token) -> bool:
    for _ in range(6):
        if token.dep_ not in _LEFT or (token.dep_ == "punct" and token.text not in "-–/'’"):
            return False
        if token.dep_ in ("cc", "conj") and token.head.dep_ == "nmod":  # "Madagascar and various islands"
            return False
        token = token.head
        if token.i == head.i:
            return True
    return False


def trimmed(span: Span, *, numbers: bool) -> str:
    """The text of a span without articles; for a mention also without `numbers` and weak adjectives."""
    doc, start, end = span.doc, span.start, span.end
    while start < end and _is_weak(doc[start], numbers) and not _is_hyphenated(doc, start):
        start += 1
    while end - start > 1 and (doc[end - 1].pos_ == "ADP" or doc[end - 1].text in _TRAILING):
        end -= 1
    return tidy(doc[start:end].text)


def _is_weak(token: Token, numbers: bool) -> bool:
    low = token.text.lower()
    if is_marked(token):
        return False
    if token.ent_type_ in NAME_LABELS:  # "New Hampshire", but "the Netherlands" without its article
        return low in ("the", "a", "an") or token.is_punct
    if low in DEGREES:  # "the most common cancer" is not "the common cancer"
        return not _degree_counts(token)
    if low in DETERMINERS or token.tag_ in ("DT", "PRP$", "WDT", "WP$", "PDT", "CC") or token.is_punct:
        return True
    return not numbers and (low in WEAK or token.like_num or low in NUMERALS)


def _degree_counts(token: Token) -> bool:
    following = token.doc[token.i + 1] if token.i + 1 < len(token.doc) else None
    return following is not None and following.pos_ in ("ADJ", "ADV", "VERB")


def _is_hyphenated(doc: Doc, i: int) -> bool:
    return i + 1 < len(doc) and doc[i + 1].text in "-–" and not doc[i].whitespace_ and doc[i].text not in "-–"


def tidy(text: str) -> str:
    """Without quotes, dashes and unpaired brackets at the edges; "" for what cannot name anything."""
    text = " ".join(text.split()).strip(_EDGES)
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) != text.count(closing):
            text = text.strip(opening + closing).strip(_EDGES)
            if text.count(opening) != text.count(closing):
                return ""
    unpaired = text.count('"') % 2 or text.count("“") != text.count("”")
    too_long = len(text) > MAX_CHARS or text.count(" ") >= MAX_WORDS + 4
    return "" if unpaired or too_long or "http" in text else text


def mentions(doc: Doc) -> Iterator[tuple[str, Kind, Token]]:
    """(text, kind, head) of the names and noun phrases in a parsed text."""
    heads = set(doc.user_data["names"])
    for i in sorted(heads):
        yield doc[i].text, "name", doc[i]
    for entity in doc.ents:
        if entity.label_ in NAME_LABELS and entity.root.i not in heads and (text := _name(entity)):
            heads.add(entity.root.i)
            yield text, "name", entity.root
    for chunk in doc.noun_chunks:
        head = chunk.root
        if head.i in heads or head.pos_ not in ("NOUN", "PROPN"):
            continue
        text = _phrase(head)
        if text:
            yield text, "name" if _ACRONYM.fullmatch(text) else "phrase", head
        for token in phrase_span(head):
            if token.text != text and _ACRONYM.fullmatch(token.text) and _is_acronym(token):
                yield token.text, "name", token


def _is_acronym(token: Token) -> bool:
    return len(token.text) > 1 and token.text not in STATISTICS and token.ent_type_ not in NAME_LABELS


def _name(entity: Span) -> str:
    text = trimmed(entity, numbers=True)
    letters = sum(c.isalpha() for c in text)
    if letters < 2 or (letters < 0.5 * len(text) and letters < 4) or text[0] in "([" or text in STATISTICS:
        return ""
    # The recogniser often takes a common noun at the start of a sentence for a name.
    return "" if " " not in text and (text.islower() or is_generic(text)) else text


def _phrase(head: Token) -> str:
    if head.ent_type_ and head.ent_type_ not in NAME_LABELS:
        return ""
    text = trimmed(phrase_span(head), numbers=False)
    if sum(c.isalpha() for c in text) < 2 or text.count(" ") >= MAX_WORDS or "%" in text or "=" in text:
        return ""
    if " " in text:
        return text
    return "" if is_generic(text) or text in STATISTICS or (len(text) < 3 and not text.isupper()) else text
