"""Texts to index terms. BM25 asks for a `Tokenizer`; the plain one is the default and the reference."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection
from typing import Protocol, runtime_checkable

from hippo_lit.errors import ConfigError
from hippo_lit.text import content_hash, normalise

_ALPHANUMERIC = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9][a-z0-9+#]*")

# Scripts that put no space between words: Thai and Lao, Burmese, Khmer, kana, Han (all planes); and Hangul,
# whose words carry their particles with them.
_SPACELESS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+)"
)

ENGLISH_STOP_WORDS = frozenset(
    """
    a an and are as at be been but by for from had has have if in into is it its no not of on or our such
    that the their then there these they this to was we were which will with
    """.split()
)


@runtime_checkable
class Tokenizer(Protocol):
    """Cuts a text into the terms that are counted and looked up. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Identifies the terms: equal names give equal terms for equal texts."""
        ...

    def __call__(self, text: str) -> list[str]:
        """The terms of `text` in order, repeated as often as they occur; none for a blank text."""
        ...


class PlainTokenizer:
    """Lower case, cut at everything that is neither a letter nor a digit. No stemming."""

    name = "plain"

    def __call__(self, text: str) -> list[str]:
        return _ALPHANUMERIC.findall(text.lower())


class StemmingTokenizer:
    """`PlainTokenizer`, then stop words dropped, then each word reduced to its Snowball stem.

    `language` is one that Snowball knows ("english", "german", "russian", …). Raises ConfigError for others.
    """

    def __init__(self, language: str = "english", *, stop_words: Collection[str] = ()) -> None:
        self._stemmer = _Stemmer(language)
        self._stop_words = frozenset(word.lower() for word in stop_words)
        self.name = f"stem:{language}{_mark(self._stop_words)}"

    def __call__(self, text: str) -> list[str]:
        words = _ALPHANUMERIC.findall(text.lower())
        return self._stemmer.stem([word for word in words if word not in self._stop_words])


class UnicodeTokenizer:
    """Words of every script, folded as `text.normalise` does, so that "C++", "C#" and "β" stay themselves.

    Where a script writes no spaces a run becomes overlapping pairs of characters (北京大学 → 北京, 京大,
    大学); a single character stays alone. With a `language` the other words are stemmed as well.
    """

    def __init__(self, language: str | None = None, *, stop_words: Collection[str] = ()) -> None:
        self._stemmer = _Stemmer(language) if language else None
        self._stop_words = frozenset(map(normalise, stop_words))
        self.name = f"unicode-stem:{language}" if language else "unicode"
        self.name += _mark(self._stop_words)

    def __call__(self, text: str) -> list[str]:
        if text.isascii():
            words = _ASCII_WORD.findall(text.lower())  # the same words, ten times faster
        else:
            words = [part for word in normalise(text).split() for part in _cut(word)]
        if self._stop_words:
            words = [word for word in words if word not in self._stop_words]
        return self._stemmer.stem(words) if self._stemmer else words


def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name: "plain", "stem", "unicode" or "unicode-stem".

    The stemming ones stem English; another Snowball language follows a colon ("stem:german"), and "-stop"
    at the end drops the English stop words ("stem:english-stop"). Raises ConfigError (key) for other names.
    """
    kind, _, language = name.partition(":")
    language, dash, stop = language.partition("-")
    stop_words = ENGLISH_STOP_WORDS if dash else frozenset()
    if (dash and stop != "stop") or (language and "stem" not in kind):
        kind = ""
    if kind == "plain":
        return PlainTokenizer()
    if kind == "stem":
        return StemmingTokenizer(language or "english", stop_words=stop_words)
    if kind == "unicode":
        return UnicodeTokenizer()
    if kind == "unicode-stem":
        return UnicodeTokenizer(language or "english", stop_words=stop_words)
    raise ConfigError(
        f"unknown tokenizer {name!r}: use plain, stem, unicode or unicode-stem, "
        "the stemming ones with a language if it is not English (stem:german)",
        key="tokenizer",
    )


class _Stemmer(threading.local):
    """A Snowball stemmer per thread: one holds state and must not be shared."""

    def __init__(self, language: str) -> None:
        import Stemmer

        try:
            self.stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(language).stemWords
        except KeyError as e:
            known = ", ".join(Stemmer.algorithms())
            raise ConfigError(f"no stemmer for {language!r}; known are {known}", key="tokenizer") from e


def _mark(stop_words: frozenset[str]) -> str:
    if not stop_words:
        return ""
    return "-stop" if stop_words == ENGLISH_STOP_WORDS else f"-stop{content_hash(*sorted(stop_words))[:8]}"


def _cut(word: str) -> list[str]:
    parts: list[str] = []
    for number, run in enumerate(_SPACELESS.split(word)):
        if not run:
            continue
        if number % 2 and len(run) > 1:
            parts += [run[i : i + 2] for i in range(len(run) - 1)]
        else:
            parts.append(run)
    return parts
