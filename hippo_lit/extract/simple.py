"""Entities in any language, without a model: what a script itself marks as a name or a term.

Found are, in every script, acronyms and terms in quotation marks or 《》「」; then, by script:

- with case: runs of capitalised words ("Marie Curie", "Université de Paris"). One capitalised word that
  opens a sentence counts only if it is also capitalised elsewhere within one.
- Han and Japanese: runs of Han or Katakana characters, cut at function characters, two to eight long.
- other scripts (Arabic, Hebrew, Devanagari, Thai …): words of at least three letters, and pairs of them,
  that stand in the passage at least twice.

The only facts are acronyms that the text defines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hippo_lit.extract.acronyms import RELATION, definitions
from hippo_lit.extract.phrases import Kind, tidy
from hippo_lit.extract.words import words
from hippo_lit.sentences import split_sentences
from hippo_lit.text import clean
from hippo_lit.types import Extraction, Fact, Mention, Passage

RULES = "1"
MAX_MENTIONS = 500

_ACRONYM = re.compile(
    r"(?<![\w-])(?=[\w+-]*[A-Z])(?:[A-Z]{2,}|[A-Za-z]+\d|\w*[a-z][A-Z]|[A-Z]-?\d)[\w+-]*(?!\w)", re.ASCII
)
_QUOTED = re.compile(r"[\"“„«《〈「『]([^\"“”„«»《》〈〉「」『』]{2,60})[\"”»》〉」』]")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PARTICLES = words(
    "of de du des da do dos di del della van von der den la le el al bin ibn y e af av och und"
)
_HAN = re.compile(r"[\u3005\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002fa1f]+|[\u30a1-\u30fa\u30fc]+")
# Pronouns, particles, prepositions, conjunctions and numerals of Chinese, as single characters.
_FUNCTION = re.compile(
    "[的了和是在与與及等对對中为為以于於从從到由被将將把也都而或但并並且其该該这這那有我们們他她它个個不之所就可能会會要上下]"
)
_OTHER = re.compile(r"[^\W\d_a-zA-Z]{3,}")


class SimpleExtractor:
    """A FactExtractor that knows no language. Never fails."""

    @property
    def name(self) -> str:
        return f"simple-{RULES}"

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        """One Extraction a passage, in order."""
        return map(simple_extraction, passages)


def simple_extraction(passage: Passage) -> Extraction:
    """The entities and acronym definitions of one passage."""
    texts = [clean(passage.title), *(clean(sentence) for sentence in split_sentences(passage.body))]
    inner = _inner_capitals(texts)
    repeated = _repeated(texts)
    found: dict[tuple[str, int], Kind] = {}
    facts: dict[Fact, int] = {}
    for number, text in enumerate(texts, start=-1):
        for definition in definitions(text):
            facts.setdefault(Fact(definition.short, RELATION, definition.long), number)
            found.setdefault((definition.long, number), "phrase")
        for surface, kind in _entities(text, inner, repeated):
            tidied = tidy(surface)
            if tidied and len(found) < MAX_MENTIONS:
                found.setdefault((tidied, number), kind)
    mentions = tuple(Mention(surface, number, kind) for (surface, number), kind in found.items())
    return Extraction(mentions, tuple(facts), tuple(facts.values()))


def _entities(text: str, inner: frozenset[str], repeated: frozenset[str]) -> Iterator[tuple[str, Kind]]:
    for match in _QUOTED.finditer(text):
        yield match[1], "name"
    for match in _ACRONYM.finditer(text):
        yield match[0], "name"
    for run in _capitalised(text):
        if " " in run or run in inner:
            yield run, "name"
    for match in _HAN.finditer(text):
        for term in _FUNCTION.split(match[0]):
            if 2 <= len(term) <= 8:
                yield term, "phrase"
    words = [match[0] for match in _OTHER.finditer(text) if not _HAN.fullmatch(match[0])]
    for term in (*words, *map(" ".join, pairwise(words))):
        if term in repeated:
            yield term, "phrase"


def _capitalised(text: str) -> Iterator[str]:
    """Runs of capitalised words; a particle ("de", "van") joins two of them, and so does one space."""
    run: list[str] = []
    pending: list[str] = []
    last = 0
    for match in _WORD.finditer(text):
        word = match[0]
        adjacent = text[last : match.start()] == " "
        last = match.end()
        if not adjacent and run:
            yield " ".join(run)
            run, pending = [], []
        if word[0].isupper():
            run += [*pending, word]
            pending = []
        elif run and word in _PARTICLES and not pending:
            pending = [word]
        elif run:
            yield " ".join(run)
            run, pending = [], []
    if run:
        yield " ".join(run)


def _inner_capitals(texts: Sequence[str]) -> frozenset[str]:
    """The words that stand capitalised somewhere else than at a sentence's beginning."""
    words = (match for text in texts[1:] for match in _WORD.finditer(text) if match.start() > 1)
    return frozenset(match[0] for match in words if match[0][0].isupper())


def _repeated(texts: Sequence[str]) -> frozenset[str]:
    """The words and pairs of words of scripts without case that stand in the texts at least twice."""
    counts: Counter[str] = Counter()
    for text in texts:
        words = [match[0] for match in _OTHER.finditer(text) if match[0].upper() == match[0].lower()]
        counts.update(words)
        counts.update(map(" ".join, pairwise(words)))
    return frozenset(term for term, count in counts.items() if count > 1)


class NoExtractor:
    """The FactExtractor of `extract.kind = "none"`: an index without entities and facts."""

    @property
    def name(self) -> str:
        return "none"

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        """An empty Extraction a passage."""
        return (Extraction() for _ in passages)
