"""Statements by rules over spaCy's dependency trees.

For each verb: its subjects, each with each complement. Negation and modality stay in the relation. What the
text does not assert gives nothing, nor do subjects and objects that name nothing ("the method", "it")
unless they can be resolved safely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hippo_lit.extract.clauses import ARTICLES, VERBS, is_apposition, is_asserted, subjects
from hippo_lit.extract.ends import Context, End, complement_of, conjuncts, end, ends
from hippo_lit.extract.phrases import NAME_LABELS, is_marked, name_at, phrase_span, trimmed
from hippo_lit.extract.topic import COPULAS
from hippo_lit.extract.words import (
    DEGREES,
    KEEP_ADVERBS,
    LINKING_NOUNS,
    LINKS,
    OF_VERBS,
    PRONOUNS,
    RELATIVE,
    is_generic,
)

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

MAX_RELATION_WORDS = 9
_PLAIN = {"n't": "not", "n’t": "not", "'s": "is", "’s": "is", "'ve": "have", "ca": "can", "wo": "will"}


class Statement(NamedTuple):
    """A fact and the token of its verb or noun, which tells the sentence."""

    subject: str
    relation: str
    object: str
    at: Token


def statements(sentence: Span, context: Context) -> Iterator[Statement]:
    """Every statement that the rules find in one parsed sentence."""
    if sentence.text.rstrip().endswith("?"):
        return
    for token in sentence:
        if token.text.lower() in LINKS:
            yield from _link(token, context)
        elif token.pos_ in VERBS and token.dep_ not in ("aux", "auxpass") and is_asserted(token):
            if found := subjects(token, context):
                yield from _joined(found, _complements(token, _verb_words(token)), token, context)
        elif token.dep_ == "appos" and is_apposition(token):
            yield from _joined(
                [end(token.head, context, subject=True)], _attribute("is", token), token, context
            )


def links(sentence: Span, context: Context) -> Iterator[Statement]:
    """The statements that need no verb, as a title makes them: "Effect of A on B"."""
    for token in sentence:
        if token.text.lower() in LINKS:
            yield from _link(token, context)


def _joined(
    who: Sequence[End], complements: Iterator[tuple[str, Token]], at: Token, context: Context
) -> Iterator[Statement]:
    for relation, noun in complements:
        for obj in ends(noun, context, subject=False):
            for subject in who:
                words = " ".join(filter(None, (subject.extra, relation, obj.extra)))
                distinct = subject.text.lower() != obj.text.lower()
                if subject.text and distinct and words.count(" ") < MAX_RELATION_WORDS:
                    yield Statement(subject.text, words, obj.text, at)


# Relations that are nouns


def _link(noun: Token, context: Context) -> Iterator[Statement]:
    """ "the association between A and B", "the effect of A on B": the noun relates, and claims no more."""
    objects = _objects_by_preposition(noun)
    if (first := objects.get("between")) is not None:
        others = conjuncts(first)
        if len(others) == 1:
            pair = iter([(f"{_object_words(noun)} with", others[0])])
            yield from _joined([end(first, context, subject=True)], pair, noun, context)
        return
    if (first := objects.get("of")) is None:
        return
    objects |= _objects_by_preposition(first)
    word = next((w for w in ("on", "with", "to", "for", "in") if w in objects), None)
    if word is None:
        return
    second = objects[word]
    if second.head.head.i == first.i:  # read as "of [A on B]"
        text = trimmed(phrase_span(first), numbers=True)
        who = [] if is_generic(text) else [End(text)]
    else:
        who = ends(first, context, subject=True)
    yield from _joined(who, iter([(f"{_object_words(noun)} {word}", second)]), noun, context)


def _objects_by_preposition(noun: Token) -> dict[str, Token]:
    preps = [child for child in noun.rights if child.dep_ == "prep" and child.ent_iob_ != "I"]
    return {prep.text.lower(): inner for prep in preps if (inner := _object_of(prep)) is not None}


# Relations that are verbs


def _verb_words(verb: Token) -> str:
    """The verb with its auxiliaries, negation and particle, in the order of the text."""
    parts = {verb.i: verb}
    for child in verb.children:
        particle = child.dep_ == "prep" and child.i == verb.i + 1 and not child.n_lefts + child.n_rights
        if particle or child.dep_ in ("aux", "auxpass", "neg", "prt") or child.text.lower() in KEEP_ADVERBS:
            parts[child.i] = child
    words = " ".join(_plain(parts[i]) for i in sorted(parts))
    head = verb.head
    if verb.dep_ == "conj" and verb.tag_ == "VBN" and len(parts) == 1:
        shared = [child for child in head.lefts if child.dep_ in ("aux", "auxpass", "neg")]
        return " ".join([*(_plain(child) for child in shared), words])
    if verb.dep_ == "xcomp" and head.pos_ in VERBS:
        return f"{_verb_words(head)} {words}"
    if verb.dep_ == "xcomp" and head.dep_ == "acomp":
        return f"{_verb_words(head.head)} {_adjective(head)} {words}"
    return words


def _plain(token: Token) -> str:
    low: str = token.text.lower()
    return _PLAIN.get(low, low)


def _adjective(token: Token) -> str:
    degrees = [
        child.text.lower() for child in token.lefts if child.text.lower() in DEGREES or child.dep_ == "neg"
    ]
    return " ".join([*degrees, token.text.lower()])


def _complements(verb: Token, words: str) -> Iterator[tuple[str, Token]]:
    """(relation, head of the object) for every complement of the verb, in order."""
    kinds = {child.dep_: child for child in verb.children}
    if "ccomp" in kinds:  # "claimed in 2018 that …" is about the claim
        return
    nominal = "attr" in kinds and "acomp" not in kinds
    direct: str | None = ""  # what stands between the verb and its prepositions; None: it cannot be told
    for child in verb.children:
        low = child.text.lower()
        if child.dep_ == "attr" and nominal and ":" not in verb.doc[verb.i : child.i].text:
            yield from _attribute(words, child)
        elif child.dep_ in ("dobj", "oprd") and low not in RELATIVE:
            yield from _direct(words, child)
            direct = None if low in PRONOUNS else _object_in_full(child) or None
        elif child.dep_ == "acomp":
            direct = _adjective(child)
            for prep in child.rights:
                yield from _prepositional(f"{words} {direct}", prep)
        elif child.dep_ == "agent":
            yield from _prepositional(words, child)
        elif child.dep_ in ("prep", "dative") and child.i > verb.i:
            if not nominal and direct is not None and _takes(verb, child, direct):
                yield from _prepositional(f"{words} {direct}".strip(), child)
                if low == "as" and (noun := _object_of(child)) is not None:
                    direct = f"as {_object_in_full(noun)}"
        elif child.dep_ == "prep" and (noun := _object_of(child)) is not None:
            if noun.ent_type_ in ("DATE", "GPE", "LOC"):  # "In 1950, …"; other openings link sentences
                what = kinds.get("dobj") or kinds.get("attr")
                middle = _object_words(what) if what is not None else ""
                if middle.count(" ") < 4:
                    yield " ".join(filter(None, (words, middle, low))), noun
        elif child.dep_ == "npadvmod" and child.ent_type_ == "DATE" and _has_digit(child):
            yield words, child


def _takes(verb: Token, prep: Token, direct: str) -> bool:
    """Whether a preposition is the verb's own, and not one that the parser should have given to a noun."""
    word = prep.text.lower()
    if word == "of":
        return verb.text.lower() in OF_VERBS
    if word == "than" and not direct.endswith("er") and not direct.startswith(("more", "less")):
        return False
    if verb.text.lower() in COPULAS:
        return bool(direct) or prep.i == verb.i + 1
    return direct.count(" ") < (6 if direct.startswith("as ") else 4)


def _prepositional(words: str, prep: Token) -> Iterator[tuple[str, Token]]:
    if prep.dep_ not in ("prep", "agent", "dative"):
        return
    words = f"{words} {prep.text.lower()}"
    noun = _object_of(prep)
    if noun is None:
        for further in prep.children:  # "is referred to as"
            yield from _prepositional(words, further)
    elif noun.text.lower() not in LINKING_NOUNS or " " in trimmed(phrase_span(noun), numbers=True):
        yield words, noun


def _object_of(prep: Token) -> Token | None:
    return next((child for child in prep.children if child.dep_ == "pobj"), None)


def _object_words(noun: Token) -> str:
    no = any(child.text.lower() == "no" for child in noun.lefts)
    return f"{'no ' if no else ''}{trimmed(phrase_span(noun), numbers=True)}"


def _object_in_full(noun: Token) -> str:
    return f"{_object_words(noun)} {complement_of(noun)}".strip()


def _has_digit(noun: Token) -> bool:
    return any(character.isdigit() for character in phrase_span(noun).text)


def _direct(words: str, noun: Token) -> Iterator[tuple[str, Token]]:
    """The object; or, where it names nothing alone, what it leads to: "plays a role in X" relates to X."""
    bare = _object_words(noun)
    empty = name_at(noun) is None and is_generic(noun.text) and bare.count(" ") <= 2
    if empty and not complement_of(noun).startswith("of "):
        for child in noun.rights:
            inner = _object_of(child) if child.dep_ == "prep" and child.text.lower() != "of" else None
            if inner is not None:
                yield f"{words} {bare} {child.text.lower()}", inner
                return
            if child.dep_ == "acl" and any(left.tag_ == "TO" for left in child.lefts):
                yield from _complements(child, f"{words} {bare} {_verb_words(child)}")
                return
    yield words, noun


def _attribute(words: str, noun: Token) -> Iterator[tuple[str, Token]]:
    """ "X is a village in Y": (X, is a, village) and (X, is a village in, Y)."""
    article = next((child.text.lower() for child in noun.lefts if child.text.lower() in ARTICLES), "")
    copula = f"{words} {article}".strip()
    bare = trimmed(phrase_span(noun), numbers=True)
    of = False
    for word, inner in _objects_by_preposition(noun).items():
        if bare.count(" ") <= 4 and (word == "of" or _is_named(inner)):
            of = of or word == "of"
            yield f"{copula} {bare} {word}", inner
    if not of:
        yield copula, noun


def _is_named(noun: Token) -> bool:
    """Whether a name stands at the noun, or in its "of": "the island of Oahu"."""
    of = _objects_by_preposition(noun).get("of")
    return any(t is not None and (t.ent_type_ in NAME_LABELS or is_marked(t)) for t in (noun, of))
