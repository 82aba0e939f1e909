"""What an encyclopedic passage is about, so that "it" and "the film" can be given their name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippo_lit.extract.phrases import subject_of
from hippo_lit.extract.words import WORKS, is_generic
from hippo_lit.text import normalise
from hippo_lit.types import Fact

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_BRACKET = re.compile(r"\s*\([^()]*\)\s*$")
_CLASS = re.compile(r"\((?:[^(),]* )?([a-z]+)\)$")
_DATE = r"((?:\d{1,2} [A-Z]\w+ |[A-Z]\w+ \d{1,2}, )?[12]\d{3})"
_BEFORE = r"\((?:[^()\d]{0,60}?[;, ])?"
_BORN = re.compile(rf"{_BEFORE}born (?:on |in )?{_DATE}")
_LIVED = re.compile(rf"{_BEFORE}(?:born )?{_DATE}(?:[^()–-]{{0,40}}) ?[–-] ?(?:[^()\d]{{0,40}} )?{_DATE}\)")
COPULAS = ("is", "was", "are", "were", "be", "been", "'s")


@dataclass(frozen=True, slots=True)
class Text:
    """A passage's cleaned title and sentences; `sentences[i]` is `split_sentences(passage.body)[i]`."""

    title: str
    sentences: tuple[str, ...]

    @property
    def name(self) -> str:
        """The title without what its brackets add: "All Mixed Up" for "All Mixed Up (311 song)"."""
        return _BRACKET.sub("", self.title).strip()


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


def is_name(title: str) -> bool:
    """Whether a title reads as a name: short, and capitalised throughout."""
    words = title.split()
    return (
        0 < len(words) <= 7
        and title[-1] not in "?!:"
        and all(w[0].isupper() or len(w) < 4 or not w[0].isalpha() for w in words)
    )


def find_topic(text: Text, first: Span, title: Span | None) -> tuple[Topic, int]:
    """The topic of a passage, from title and first sentence ("TITLE … is a CLASS …"), and its token there.

    `first` and `title` are the parsed first sentence and title.
    """
    subject = subject_of(first.root)
    if not text.name or subject is None:
        return NO_TOPIC, -1
    if is_name(text.name) and (noun := _definite(subject)):
        return Topic(text.name, False, frozenset((noun,))), -1
    phrase = first.doc[subject.left_edge.i : subject.right_edge.i + 1].text
    if not _about(text.name, phrase):
        return NO_TOPIC, -1
    nouns = _predicate(first.root)
    classes = frozenset(noun.text.lower() for noun in nouns)
    if bracket := _CLASS.search(text.title):
        classes |= {bracket[1]}
    named = title is not None and any(e.label_ == "PERSON" and len(e) >= len(title) - 1 for e in title.ents)
    who = any(child.text.lower() == "who" for noun in nouns for child in noun.subtree)
    lived = _life(text.sentences[0]) or _BORN.search(text.sentences[0][:300])
    openings = {sentence.split(" ", 1)[0].lower() for sentence in text.sentences[1:]}
    spoken_of = bool(openings & {"he", "she"}) and "it" not in openings
    person = classes.isdisjoint(WORKS) and bool(named or who or lived or spoken_of)
    return Topic(text.name, person, classes), subject.i


def _predicate(root: Token) -> list[Token]:
    """The nouns in "is a village and municipality"."""
    if root.text.lower() not in COPULAS:
        return []
    attributes = [child for child in root.children if child.dep_ == "attr"]
    return [noun for attribute in attributes for noun in (attribute, *attribute.conjuncts)]


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
    if not topic.person:
        return []
    if dates := _life(sentence):
        return [_event(topic.name, "was born", dates[0]), _event(topic.name, "died", dates[1])]
    born = _BORN.search(sentence[:300])
    return [_event(topic.name, "was born", born[1])] if born else []


def _life(sentence: str) -> tuple[str, str] | None:
    """Two dates in the first bracket, if a life can lie between them: a battle's or a film's is shorter."""
    bracket = sentence.find("(", 0, 300)
    dates = _LIVED.match(sentence, bracket) if bracket >= 0 else None
    return (dates[1], dates[2]) if dates and 10 < int(dates[2][-4:]) - int(dates[1][-4:]) < 120 else None


def _event(name: str, verb: str, date: str) -> Fact:
    return Fact(name, f"{verb} {'on' if ' ' in date else 'in'}", date)


def _about(name: str, subject: str) -> bool:
    """Whether the subject begins with the name, or nearly: "Sir Marjory A. Hale CBE"."""
    mine, theirs = normalise(name).split(), normalise(subject).split()
    theirs = theirs[: len(mine) + 4]
    shared = sum(word in theirs for word in mine)
    return bool(mine) and shared >= len(mine) - (len(mine) > 2) and mine[-1] in theirs
