"""Cleaning text that comes from anywhere, and the normal form under which two names are one."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from numbers import Integral
from typing import TypeGuard

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_BIDI = re.compile(r"[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_STROKED = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ı": "i"}
)
_SPACE = re.compile(r"\s+")


def clean(text: str) -> str:
    """Make text safe to store, tokenise and print: NFC, one space between words.

    Lone surrogates, NUL and other control characters, byte-order marks and direction overrides become
    spaces or vanish; nothing else is changed.

    >>> clean("A\\x00 cafe\\u0301\\n\\nmenu")
    'A café menu'
    """
    text = _BIDI.sub("", _CONTROL.sub(" ", text))
    return _SPACE.sub(" ", unicodedata.normalize("NFC", text)).strip()


def normalise(text: str) -> str:
    """The form under which two names are the same: NFKC, case-folded, words joined by one space.

    Letters, marks and digits of every script stay, and so do `+`, `#` and primes where they touch a
    word, since they tell terms apart. Everything else separates words.

    >>> normalise("β-Catenin"), normalise(" C++ "), normalise("北京大学"), normalise("a + b")
    ('β catenin', 'c++', '北京大学', 'a b')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(
        c if c.isalnum() or c in "+#′" or unicodedata.category(c)[0] == "M" else " " for c in folded
    )
    # A sign tells terms apart only after a letter or digit: C++, C#, 3′, Ca2+; not "a + b", not "+3".
    return " ".join(bare for word in kept.split() if (bare := word.lstrip("+#′")))


def without_accents(text: str) -> str:
    """Latin, Greek and Cyrillic letters without accents and strokes; other scripts as they are.

    >>> without_accents("Sørensen, García, Łódź, のが")
    'Sorensen, Garcia, Lodz, のが'
    """
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.translate(_STROKED)))
    return unicodedata.normalize("NFC", bare)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number, numpy's included, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def content_hash(*parts: str) -> str:
    """A 128-bit hexadecimal address of the given texts; ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
