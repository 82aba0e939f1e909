"""Entities in any language, without a model: what a script itself marks as a name or a term.

Found are, in every script, acronyms and terms in quotation marks or 《》「」; then, by script:

- with case: runs of capitalised words ("Marie Curie", "Université de Paris"). A capitalised word that opens
  a sentence counts alone only if it is also capitalised within one; short ones ("Die", "Le") never do.
- Han and Japanese: runs of Han or Katakana characters, cut at function characters, two to eight long.
- other scripts (Arabic, Hebrew, Devanagari, Hangul, Thai …): words of at least three letters (Hangul: two,
  without a final particle), and pairs of them, that stand in the passage at least twice.

The only facts are acronyms that the text defines.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hippo_lit.extract.acronyms import RELATION, definitions
from hippo_lit.extract.phrases import Kind, tidy
from hippo_lit.extract.words import words
from hippo_lit.sentences import split_sentences
from hippo_lit.text import clean
from hippo_lit.types import Extraction, Fact, Mention, Passage

RULES = "2"
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
_HANGUL = re.compile(r"([\uac00-\ud7a3]{2,}?)[은는이가을를의에도와과로]?")


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
    words_here = _uncased_words(text)
    for term in (*words_here, *map(" ".join, pairwise(words_here))):
        if term in repeated:
            yield term, "phrase"


def _capitalised(text: str) -> Iterator[str]:
    """Runs of capitalised words. A particle ("de") joins two runs; one of several words also counts alone."""
    joined: list[str] = []
    run: list[str] = []
    particle = ""
    last = 0
    for match in _WORD.finditer(text):
        word = match[0]
        adjacent = text[last : match.start()] == " "
        last = match.end()
        opens = match.start() < 2 and len(word) < 4 and not word.isupper()
        capital = word[0].isupper() and not opens
        if capital and adjacent and particle:
            joined += [*run, particle]
            if len(run) > 1:
                yield " ".join(run)
            run = [word]
        elif capital and adjacent and run:
            run.append(word)
        elif adjacent and run and not particle and word in _PARTICLES:
            particle = word
            continue
        else:
            yield from _names(joined, run)
            joined, run = [], [word] if capital else []
        particle = ""
    yield from _names(joined, run)


def _names(joined: list[str], run: list[str]) -> list[str]:
    names = [" ".join([*joined, *run])] if run else []
    return [*names, " ".join(run)] if joined and len(run) > 1 else names


def _inner_capitals(texts: Sequence[str]) -> frozenset[str]:
    """The words that stand capitalised somewhere else than at a sentence's beginning."""
    words = (match for text in texts[1:] for match in _WORD.finditer(text) if match.start() > 1)
    return frozenset(match[0] for match in words if match[0][0].isupper())


def _uncased_words(text: str) -> list[str]:
    """The words of scripts without case, in order; Han and Kana have a rule of their own."""
    found = []
    for word in map(_bare, text.split()):
        if word.isascii() or word.upper() != word.lower() or _HAN.search(word):
            continue
        if hangul := _HANGUL.fullmatch(word):
            found.append(hangul[1])
        elif 2 < len(word) < 40 and not any(c.isdigit() for c in word):
            found.append(word)
    return found


def _bare(word: str) -> str:
    """A word without the punctuation around it; letters and vowel signs of every script stay."""
    start, end = 0, len(word)
    while start < end and unicodedata.category(word[start])[0] not in "LMN":
        start += 1
    while end > start and unicodedata.category(word[end - 1])[0] not in "LMN":
        end -= 1
    return word[start:end]


def _repeated(texts: Sequence[str]) -> frozenset[str]:
    """The words and pairs of words of scripts without case that stand in the texts at least twice."""
    counts: Counter[str] = Counter()
    for text in texts:
        here = _uncased_words(text)
        counts.update(here)
        counts.update(map(" ".join, pairwise(here)))
    return frozenset(term for term, count in counts.items() if count > 1)


class NoExtractor:
    """The FactExtractor of `extract.kind = "none"`: an index without entities and facts."""

    @property
    def name(self) -> str:
        return "none"

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        """An empty Extraction a passage."""
        return (Extraction() for _ in passages)
