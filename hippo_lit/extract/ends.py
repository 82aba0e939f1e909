"""The subject and the object of a statement as texts that stand on their own, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hippo_lit.extract.phrases import is_marked, name_at, phrase_span, tidy, trimmed
from hippo_lit.extract.topic import NO_TOPIC, Topic
from hippo_lit.extract.words import EVALUATIVE, PRONOUNS, is_generic, words

if TYPE_CHECKING:
    from spacy.tokens import Token

_COMPLEMENTS = words("of in for on to with from against among")
_ANAPHORIC = words("this that these those such another both each either former latter same")
_SORTING = words("with without from")  # "heifers from farm A", "adults with asthma"
_DENYING = words("no neither")
_COUNTS = words("CARDINAL QUANTITY PERCENT MONEY ORDINAL TIME DATE")


@dataclass(frozen=True, slots=True)
class Context:
    """What the passage is about, which token first says so, and where each noun (lower case) first stands."""

    topic: Topic = NO_TOPIC
    topic_at: int = -1
    seen: Mapping[str, int] = field(default_factory=dict)


class End(NamedTuple):
    """A subject or object, and the words of it that belong into the relation ("no"; "2018 impact factor")."""

    text: str
    extra: str = ""


NOTHING = End("")


def ends(head: Token, context: Context, *, subject: bool) -> list[End]:
    """The noun phrase at `head` and those coordinated with it."""
    if subject and head.i == context.topic_at:
        others = [token for token in conjuncts(head) if token.text not in context.topic.name]
    else:
        others = conjuncts(head)
    found = (end(token, context, subject=subject) for token in (head, *others))
    return [e for e in found if e.text]


def conjuncts(head: Token) -> list[Token]:
    """The nouns coordinated with `head` that follow it in the same list."""
    found = []
    listed = [
        c
        for c in head.rights
        if c.dep_ == "appos" and not _has_article(c) and any(g.dep_ == "conj" for g in c.rights)
    ]
    for token in (*head.conjuncts, *listed, *(t for c in listed for t in c.conjuncts)):
        if token.i < head.i or not (token.pos_ in ("NOUN", "PROPN") or is_marked(token)):
            continue
        if (token.ent_type_ in _COUNTS) != (head.ent_type_ in _COUNTS):
            continue
        between = head.doc[head.i : token.i]
        if any(t.text in ";:()" or t.text.lower() in ("but", "not") for t in between):
            break
        found.append(token)
    return found[:8]


def _name_of(head: Token) -> str:
    of = next((child for child in head.rights if child.text == "of" and child.i == head.i + 1), None)
    inner = next((child for child in of.children if child.dep_ == "pobj"), None) if of is not None else None
    name = name_at(inner) if inner is not None else None
    return trimmed(name, numbers=True) if name is not None else ""


def _has_article(noun: Token) -> bool:
    return any(child.dep_ == "det" for child in noun.lefts)


def end(head: Token, context: Context, *, subject: bool) -> End:
    """What `head` and its modifiers name. Pronouns and "the film" are resolved where that is safe."""
    topic = context.topic
    if head.i == context.topic_at:
        return End(topic.name)
    if head.pos_ == "PRON":
        return End(topic.pronoun(head.text)) if subject else NOTHING
    if resolved := topic.noun(head):
        return End(resolved)
    if (name := name_at(head)) is not None:
        text = trimmed(name, numbers=True)
        if name.end == head.i + 1 and (further := _name_of(head)):  # "Elisabeth of Bavaria"
            text = f"{text} of {further}"
        return End(topic.same(text) or text) if _names_something(text) else NOTHING
    counted = head.ent_type_ in _COUNTS
    substantive = head.pos_ == "ADJ" and any(child.dep_ == "det" for child in head.lefts)  # "a single"
    if head.pos_ not in ("NOUN", "PROPN") and not counted and not substantive:
        return NOTHING
    text = trimmed(phrase_span(head), numbers=True)
    possessor = next((child for child in head.lefts if child.dep_ == "poss" and child.tag_ == "PRP$"), None)
    if possessor is not None:
        owner = topic.pronoun(possessor.text) if subject else ""
        return End(owner, text) if owner else NOTHING
    return _common(head, text, context, subject=subject, counted=counted)


def _common(head: Token, text: str, context: Context, *, subject: bool, counted: bool) -> End:
    """A common noun, a date or an amount; nothing where it could be anything."""
    determiners = [
        child.text.lower() for child in head.lefts if child.dep_ in ("det", "predet", "neg", "amod")
    ]
    denied = next((word for word in determiners if word in _DENYING), "")
    complement = complement_of(head)
    if complement and text:
        text = tidy(f"{text} {complement}")
    else:
        unnamed = _is_empty(head, text) or _is_vague(head, text, determiners, context, subject=subject)
        if unnamed or (counted and (subject or not _is_measure(head, text))):
            return NOTHING
    if not _names_something(text):
        return NOTHING
    if subject and denied:
        return End(f"{denied} {text}")
    return End(context.topic.same(text) or text, denied)


def _is_measure(head: Token, text: str) -> bool:
    """Whether a date or an amount can be an object: "1934", "41%"; a bare count only after "is"."""
    return any(c.isdigit() for c in text) and (head.ent_type_ != "CARDINAL" or bool(head.dep_ == "attr"))


def _is_empty(head: Token, text: str) -> bool:
    """ "a novel approach": a noun that needs a complement, and adjectives that only judge."""
    return is_generic(head.text) and all(word.lower() in EVALUATIVE for word in text.split()[:-1])


def _is_vague(head: Token, text: str, determiners: list[str], context: Context, *, subject: bool) -> bool:
    """Whether one noun points back at something that has its name elsewhere: "the airline", "these drugs"."""
    if not _ANAPHORIC.isdisjoint(determiners) and (" " not in text or is_generic(head.text)):
        return True
    if " " in text:
        return False
    return "the" in determiners and (subject or context.seen.get(head.text.lower(), head.i) < head.i)


def complement_of(head: Token) -> str:
    """What a noun needs to name something: "of mitotane" in "the effect of mitotane"; else ""."""
    prep = next((c for c in head.rights if c.dep_ == "prep" and c.i == head.i + 1), None)
    if prep is None or prep.ent_iob_ == "I":  # the head's own name goes on: "House of Assembly"
        return ""
    word = prep.text.lower()
    noun = next((token for token in prep.children if token.dep_ == "pobj"), None)
    if noun is None or not (noun.pos_ in ("NOUN", "PROPN") or is_marked(noun)):
        return ""
    others = conjuncts(noun)
    if word == "between" and len(others) == 1:
        first, second = (trimmed(phrase_span(token), numbers=True) for token in (noun, others[0]))
        return f"between {first} and {second}" if first and second else ""
    needed = word == "of" or (word in _COMPLEMENTS and is_generic(head.text))
    if not needed and not (word in _SORTING and head.tag_ == "NNS"):
        return ""
    if others:
        together = tidy(noun.doc[phrase_span(noun).start : others[-1].i + 1].text)
        return f"{word} {together}" if together and together.count(" ") < 7 else ""
    inner = trimmed(phrase_span(noun), numbers=True)
    further = complement_of(noun)
    if not inner or (" " not in inner and is_generic(inner) and not further):
        return ""
    return f"{word} {inner} {further}".strip()


def _names_something(text: str) -> bool:
    return (
        (len(text) > 1 or text.isdigit())
        and any(c.isalnum() for c in text)
        and text[0] not in "([{"
        and text.lower() not in PRONOUNS
    )
