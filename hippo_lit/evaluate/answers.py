"""Exact match and token F1 of answers, after SQuAD's normalisation.

Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text": an answer is compared
in lower case, without punctuation and without the English articles; the best of the gold answers counts.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII = frozenset(string.punctuation)


def normalise_answer(text: str) -> str:
    """The form that answers are compared in; SQuAD's, and other scripts' punctuation goes too.

    >>> normalise_answer("The  Eiffel Tower!")
    'eiffel tower'
    """
    kept = "".join(c for c in text.lower() if c not in _ASCII and unicodedata.category(c)[0] != "P")
    return " ".join(_ARTICLES.sub(" ", kept).split())


def exact_match(answer: str, gold: Sequence[str]) -> float:
    """1.0 where the answer equals one of the gold answers, else 0.0; 0.0 without gold."""
    return _best(answer, gold, lambda given, wanted: float(given == wanted))


def token_f1(answer: str, gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over words, the best over the gold answers, in [0, 1].

    Where either side is empty after normalising, the two must be equal (SQuAD 2.0).

    >>> round(token_f1("in Paris, France", ["Paris"]), 3)
    0.5
    """
    return _best(answer, gold, _f1)


def _best(answer: str, gold: Sequence[str], score: Callable[[str, str], float]) -> float:
    given = normalise_answer(answer)
    return max((score(given, normalise_answer(wanted)) for wanted in gold), default=0.0)


def _f1(given: str, wanted: str) -> float:
    a, b = given.split(), wanted.split()
    if not a or not b:
        return float(a == b)
    shared = (Counter(a) & Counter(b)).total()
    return 2 * shared / (len(a) + len(b))
