"""Who a clause speaks of, and whether it claims anything. Labels are ClearNLP's, as in en_core_web_sm."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hippo_lit.extract.ends import Context, End, end, ends
from hippo_lit.extract.phrases import subject_of
from hippo_lit.extract.words import HUMAN, RELATIVE, UNASSERTED, is_generic

if TYPE_CHECKING:
    from spacy.tokens import Token

VERBS = ("VERB", "AUX")
ARTICLES = ("a", "an", "the")
_MAX_STEPS = 4

# "a Democrat from Revere who …", "a hotel in Nevada that …": the parser takes the nearest noun.
_NOT_MEANT = {"who": ("GPE", "LOC", "ORG", "DATE", "FAC"), "that": ("GPE", "LOC", "DATE", "PERSON")}


def is_asserted(verb: Token) -> bool:
    """False in questions and conditions, under verbs of asking and supposing, and after "rather than"."""
    for token in (verb, *verb.ancestors):
        marks = {child.text.lower() for child in token.children if child.dep_ in ("mark", "cc")}
        if marks & {"whether", "if", "unless", "than"}:
            return False
        if any(child.tag_ == "WRB" and child.text.lower() in ("how", "why") for child in token.lefts):
            return False
        if token.dep_ in ("ccomp", "xcomp") and token.head.text.lower() in UNASSERTED:
            return False
        if token.dep_ in ("pobj", "pcomp") and token.head.text.lower() in ("without", "than", "instead"):
            return False
    return True


def subjects(verb: Token, context: Context, steps: int = 0) -> list[End]:
    """The subjects of a verb: its own, those of the verb it is coordinated with, or its antecedent."""
    own = subject_of(verb)
    if own is not None and own.text.lower() in RELATIVE:
        not_meant = _NOT_MEANT.get(own.text.lower(), ())
        return _antecedent(verb, context, not_meant, steps) if verb.dep_ == "relcl" else []
    if own is not None:
        infinitive = any(child.dep_ == "aux" and child.tag_ == "TO" for child in verb.children)
        apart = any(token.text == ":" for token in verb.doc[own.i : verb.i])
        return [] if infinitive or apart else ends(own, context, subject=True)
    if steps > _MAX_STEPS or any(child.dep_ in ("csubj", "csubjpass", "expl") for child in verb.children):
        return []
    if verb.dep_ == "acl" and verb.tag_ in ("VBN", "VBG", "VBD"):
        if _is_compound(verb) or (verb.text.lower() == "based" and verb.doc[verb.i - 1].text == ","):
            return []
        return _antecedent(verb, context, (), steps)
    if verb.dep_ == "conj" and verb.head.pos_ in VERBS:
        return subjects(verb.head, context, steps + 1)
    if verb.dep_ == "xcomp":
        head = verb.head.head if verb.head.dep_ == "acomp" else verb.head
        if not any(child.dep_ == "dobj" for child in head.children):
            return subjects(head, context, steps + 1)
    return []


def is_apposition(token: Token) -> bool:
    """ "X, a village in Y," but no member of a list: it has an article and a comma, and stands alone."""
    head = token.head
    alone = sum(child.dep_ == "appos" for child in head.children) == 1
    article = any(child.text.lower() in ARTICLES for child in token.lefts)
    neighbours = (*token.children, *head.children)
    listed = head.dep_ == "conj" or any(child.dep_ in ("cc", "conj") for child in neighbours)
    start = token.left_edge.i
    return alone and article and not listed and start > 0 and token.doc[start - 1].text == ","


def _antecedent(verb: Token, context: Context, not_meant: Collection[str], steps: int) -> list[End]:
    """What a relative or participle clause speaks of: X, in "X is a film released by Y".

    Entities with a label in `not_meant` cannot be; what they belong to is.
    """
    noun = verb.head
    while noun.ent_type_ in not_meant and noun.dep_ in ("pobj", "appos", "npadvmod"):
        noun = noun.head.head if noun.dep_ == "pobj" else noun.head
    if not_meant is _NOT_MEANT["who"]:
        noun = _human(noun)
    start = noun.left_edge.i
    if start > 0 and noun.doc[start - 1].text.lower() in ("than", "without"):
        return []
    if noun.dep_ == "appos" and is_apposition(noun):
        return [end(noun.head, context, subject=True)]
    attribute = noun
    if noun.dep_ == "pobj" and noun.head.text.lower() == "of" and is_generic(noun.head.head.text):
        attribute = noun.head.head  # "is one of the drugs that …"
    while attribute.dep_ == "conj" and attribute.head.pos_ in ("NOUN", "PROPN"):
        attribute = attribute.head
    copula = attribute.head
    denied = any(child.dep_ == "neg" for child in copula.children)
    if attribute.dep_ != "attr" or steps >= _MAX_STEPS or denied:
        return [end(noun, context, subject=True)]
    return subjects(copula, context, steps + 1) or [end(noun, context, subject=True)]


def _human(noun: Token) -> Token:
    """In "patients with a stroke in the territory of the artery, who", the patients."""
    candidate = noun
    while candidate.text.lower() not in HUMAN and candidate.ent_type_ not in ("PERSON", "NORP"):
        if candidate.dep_ != "pobj" or candidate.head.dep_ != "prep":
            return noun
        candidate = candidate.head.head
    return candidate


def _is_compound(verb: Token) -> bool:
    """Whether "cortisol binding globulin" was read as a clause: noun, participle and noun without a break."""
    if verb.tag_ != "VBG" or verb.i != verb.head.i + 1 or verb.i + 1 >= len(verb.doc):
        return False
    following = verb.doc[verb.i + 1]
    return following.dep_ in ("dobj", "compound") and following.pos_ == "NOUN"
