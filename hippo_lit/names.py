"""Names of people and of venues: when two ways of writing one mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hippo_lit.text import normalise, without_accents

Words = tuple[str, ...]

_APOSTROPHES = dict.fromkeys(map(ord, "'’‘ʼ`´"))
_PLAIN = re.compile(r"[a-z0-9 .,-]*")
_WORD = re.compile(r"[a-z0-9]+")
_SUFFIXES = frozenset("jr sr ii iii iv".split())
_INITIALS = re.compile(r"(?:[^\W\d_]\.?-?){1,3}")
_EAST_ASIAN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff々ー\s·・]+")
_GROUP = re.compile(r"\b(?:collaboration|consortium|group|team|committee|network|investigators|initiative)\b")
_PATRONYMIC = re.compile(r"(?:ович|евич|ична|овна|евна)$")


def fold(text: str) -> str:
    """`text.normalise`, and without accents: what people type for a name.

    >>> fold("Søren O’Bréin-Łukasz")
    'soren obrein lukasz'
    """
    lower = text.lower().replace("'", "")
    if _PLAIN.fullmatch(lower):  # nearly all names, and ten times as fast
        return " ".join(_WORD.findall(lower))
    return normalise(without_accents(text.translate(_APOSTROPHES)))


def fold_venue(text: str) -> str:
    """`fold` of a journal or conference; "&" is "and", and a leading "The" does not count.

    >>> fold_venue("The Annals of Probability & Statistics")
    'annals of probability and statistics'
    """
    return fold(text.replace("&", " and ")).removeprefix("the ")


def orders(name: str) -> list[Words]:
    """The folded words of a person's name, family name last, in every order that the name may stand for.

    >>> orders("Smith, John A."), orders("Smith JA"), orders("Jan van den Berg Jr.")
    ([('john', 'a', 'smith')], [('j', 'a', 'smith'), ('smith', 'ja')], [('jan', 'van', 'den', 'berg')])
    """
    if is_east_asian(name):
        words = fold(name.replace(",", " ")).split()
        return [(*words[1:], words[0])] if words else []
    family, comma, given = name.partition(",")
    if comma and fold(given) not in _SUFFIXES:
        return [(*_plain_words(given), *_plain_words(family))]
    written = name.replace(",", " ").split()
    plain = _plain_words(name)
    initials = 0
    while initials < len(written) - 1 and _is_initials(written[-1 - initials]):
        initials += 1
    found = [plain]
    if initials:
        letters = [letter for word in written[-initials:] for letter in fold(word).replace(" ", "")]
        found.insert(0, (*letters, *_plain_words(" ".join(written[:-initials]))))
    if len(plain) > 2 and _PATRONYMIC.search(plain[-1]):
        found.insert(0, (*plain[1:], plain[0]))
    return [words for words in dict.fromkeys(found) if words]


def words_of(name: str) -> set[str]:
    """The words under which an index finds a name: for East Asian names also how the family name may end."""
    words = {word for order in orders(name) for word in order}
    if is_east_asian(name):
        joined = fold(name).replace(" ", "")
        words |= {joined, joined[:1], joined[:2]}
    return words


def looked_up(wanted: str) -> set[str]:
    """Words of a wanted name of which every name that `is_named` holds at least one (see `words_of`)."""
    if is_east_asian(wanted):
        return {fold(wanted).replace(" ", ""), *fold(wanted).split()[:1]}
    return {word for order in orders(wanted) for word in (order[0], order[-1])}


def is_named(name: str, wanted: str) -> bool:
    """Whether a person so named may be the one that is wanted, by family name or by full name.

    Case, accents, and the order of "Last, First" do not count; an initial stands for any name that begins
    so, on either side, and middle names may be missing.

    >>> [is_named("John A. Smith", wanted) for wanted in ("smith", "Smith, J.", "John Smith", "Jane Smith")]
    [True, True, True, False]
    """
    if is_east_asian(name) and is_east_asian(wanted):
        whole, asked = (fold(text.replace(",", " ")).replace(" ", "") for text in (name, wanted))
        family = fold(name.replace(",", " ")).split()[:1]
        if " " in name.strip() and " " not in wanted.strip() and [asked] == family:
            return True
        return bool(asked) and (
            whole == asked or (" " not in name.strip() and len(asked) <= 2 and whole.startswith(asked))
        )
    for known in orders(name):
        for order in orders(wanted):
            if len(order) > 1 and sorted(order) == sorted(known):
                return True
            if any(_fits(known, given, family) for given, family in _splits(wanted, order)):
                return True
    return False


def first_family(authors: Sequence[str]) -> str:
    """The folded family name of the first author, by which papers are told apart; "" where there is none.

    Of a family name of several words the last counts, which "van der Maaten" and "García Márquez" have in
    every way of writing; groups, and names in Han, kana or Hangul, go by the whole.

    >>> first_family(["Laurens van der Maaten"]), first_family(["Márquez, G. G."]), first_family(["Smith JA"])
    ('maaten', 'marquez', 'smith')
    """
    name = next((author for author in authors if author.strip()), "")
    whole = fold(name)
    if _GROUP.search(whole) or is_east_asian(name):
        return whole.removeprefix("the ").replace(" ", "")
    found = orders(name)
    return found[0][-1] if found else ""


def is_east_asian(name: str) -> bool:
    """Whether a name is written in Han, kana or Hangul, where the family name comes first."""
    return bool(_EAST_ASIAN.fullmatch(name.replace(",", " ").strip() or "-"))


def _plain_words(text: str) -> Words:
    words = fold(text).split()
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words.pop()
    return tuple(words)


def _is_initials(word: str) -> bool:
    return word == word.upper() and word != word.lower() and bool(_INITIALS.fullmatch(word))


def _splits(wanted: str, order: Words) -> Iterator[tuple[Words, Words]]:
    """Given and family names as `order` may be divided; a comma says where."""
    family, comma, given = wanted.partition(",")
    if comma and fold(given) not in _SUFFIXES:
        size = len(_plain_words(family))
        yield order[: len(order) - size], order[len(order) - size :]
        return
    for at in range(len(order)):
        yield order[:at], order[at:]


def _fits(known: Words, given: Sequence[str], family: Words) -> bool:
    if not family or known[-len(family) :] != family:
        return False
    left = known[: -len(family)]
    if not given:
        return True
    if not left or not _compatible(given[0], left[0]):
        return False
    rest = iter(left[1:])
    # Middle names that only one side states do not part two people; those that both state do.
    others = list(rest)
    return all(not others or any(_compatible(word, other) for other in others) for word in given[1:])


def _compatible(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])
