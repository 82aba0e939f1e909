"""What an encyclopedic passage is about, so that "it" and "the film" can be given their name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippo_lit.extract.words import is_generic
from hippo_lit.text import normalise
from hippo_lit.types import Fact

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_BRACKET = re.compile(r"\s*\([^()]*\)\s*$")
_LIFE = re.compile(r"\((?:[^()]{0,60}[;,] )?(?:born |b\. |née |\d{1,2} \w+ \d{4}|\w+ \d{1,2}, \d{4})")
_DATE = r"(?:\d{1,2} [A-Z]\w+ \d{4}|[A-Z]\w+ \d{1,2}, \d{4}|\d{4})"
_DATES = re.compile(
    rf"\((?:[^()\d]{{0,60}}[;,] )?(?:born |b\. )?(?:on |in )?({_DATE})\)?"
    rf"(?:[^()–-]{{0,40}}\s?[–-]\s?(?:[^()\d]{{0,40}} )?({_DATE})\))?"
)
COPULAS = ("is", "was", "are", "were", "be", "been", "'s")


@dataclass(frozen=True, slots=True)
class Topic:
    """The title's entity, if the first sentence says what it is; else `name` is "" and nothing resolves.

    `classes` are the nouns it is said to be ("film", "city").
    """

    name: str = ""
    person: bool = False
    classes: frozenset[str] = frozenset()

    def pronoun(self, word: str) -> str:
        """The name for "it", or for "he" and "she" of a person; "" where that is not safe."""
        low = word.lower()
        if low in ("he", "she", "his", "her"):
            return self.name if self.person else ""
        return self.name if low in ("it", "its") and not self.person else ""

    def noun(self, head: Token) -> str:
        """The name for "the film" or "this city" where the topic is said to be one; else ""."""
        if head.text.lower() not in self.classes:
            return ""
        before = [child.text.lower() for child in head.lefts]
        bare = before in (["the"], ["this"])
        return self.name if bare and not any(c.dep_ in ("prep", "relcl", "acl") for c in head.rights) else ""

    def same(self, text: str) -> str:
        """The name for another form of it: "the Journal …", a person's last name; else ""."""
        if not self.name:
            return ""
        mine, theirs = normalise(self.name).split(), normalise(text).split()
        if theirs == mine or (self.person and len(mine) > 1 and theirs == mine[-1:]):
            return self.name
        return ""


NO_TOPIC = Topic()


def bare_title(title: str) -> str:
    """ "All Mixed Up" for "All Mixed Up (311 song)"."""
    return _BRACKET.sub("", title).strip()


def is_name(title: str) -> bool:
    """Whether a title reads as a name: short, and capitalised throughout."""
    words = title.split()
    return (
        0 < len(words) <= 7
        and title[-1] not in "?!:"
        and all(w[0].isupper() or len(w) < 4 or not w[0].isalpha() for w in words)
    )


def find_topic(title: str, sentence: str, first: Span, title_span: Span | None) -> tuple[Topic, int]:
    """The topic of a passage, from title and first sentence ("TITLE … is a CLASS …"), and its token there."""
    name = bare_title(title)
    root = first.root
    subjects = [child for child in root.children if child.dep_ in ("nsubj", "nsubjpass")]
    if not name or not subjects:
        return NO_TOPIC, -1
    subject = first.doc[subjects[0].left_edge.i : subjects[0].right_edge.i + 1].text
    if is_name(name) and (noun := _definite(subjects[0])):
        return Topic(name, False, frozenset((noun,))), -1
    if not _about(name, subject):
        return NO_TOPIC, -1
    nouns: list[Token] = []
    if root.text.lower() in COPULAS:
        for attribute in (child for child in root.children if child.dep_ == "attr"):
            nouns += [attribute, *attribute.conjuncts]
    person = bool(_LIFE.search(sentence[:200])) or any(
        c.text.lower() == "who" for noun in nouns for c in noun.subtree
    )
    if title_span is not None:
        person = person or any(
            e.label_ == "PERSON" and len(e) >= len(title_span) - 1 for e in title_span.ents
        )
    return Topic(name, person, frozenset(noun.text.lower() for noun in nouns)), subjects[0].i


def _definite(subject: Token) -> str:
    """ "airline" where the passage begins "The airline was …": nothing but its title can be meant."""
    noun = subject.text.lower()
    bare = [child.text.lower() for child in subject.lefts] == ["the"] and not list(subject.rights)
    return (
        noun
        if bare and subject.tag_ == "NN" and not is_generic(noun) and noun not in ("name", "word", "title")
        else ""
    )


def life_facts(topic: Topic, sentence: str) -> list[Fact]:
    """Birth and death as the first sentence's brackets give them: "(12 March 1891 – 1967)", "(born 1964)"."""
    bracket = _DATES.search(sentence[:300]) if topic.person else None
    if bracket is None:
        return []
    born = Fact(topic.name, "was born on" if " " in bracket[1] else "was born in", bracket[1])
    if not bracket[2]:
        return [born]
    return [born, Fact(topic.name, "died on" if " " in bracket[2] else "died in", bracket[2])]


def _about(name: str, subject: str) -> bool:
    """Whether the subject begins with the name, or nearly: "Sir Marjory A. Hale CBE"."""
    mine, theirs = normalise(name).split(), normalise(subject).split()
    theirs = theirs[: len(mine) + 4]
    shared = sum(word in theirs for word in mine)
    return bool(mine) and shared >= max(1, len(mine) - 1) and mine[-1] in theirs
