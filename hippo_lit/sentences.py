"""Splitting running text into sentences by rules, without a model and in linear time.

Every stop is a candidate; what stands around it, never further away than a fixed window, decides. The
rules are made for abstracts: abbreviations, initials, decimals, citations, addresses, numbered items, and
stops whose following space was lost when the text was extracted ("in Italy.Data on 284 patients").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WINDOW = 64  # characters looked at on either side of a stop

# A run of stops, the quotes and brackets closing after it, and the space that follows; or a line break.
_WIDE = "。！？｡؟۔।॥։።။។"  # stops that neither abbreviate nor stand in numbers
_CANDIDATE = re.compile(
    rf"(?P<stop>[.!?…．{_WIDE}]++)(?P<close>[\"'”’»)\]}}」』）】》]*+)(?P<gap>\s*+)|[\n\u2029]\s*+"
)
_SPACE = re.compile(r"\s*+")
_TAIL = re.compile(r"[^\s()\[\]{}\"“”‘«»,;:<>=≤≥~/…—–]*+\Z")
_NEXT = re.compile(r"[\"'“‘«„(\[{¿¡「『（【《*]*+(?P<word>[^\W_]*+)(?P<rest>.{0,2})", re.DOTALL)
_CONTINUES = frozenset(",;:.!?)]}…/&=<>+*%|~^_-–—")
_ITEM = re.compile(r"(?:[-–—•▪*·]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_NUMBER = re.compile(r"[-+−±]?[\d.]*\d%?")
_MEASURED = re.compile(r"\d\s?(?:°\s?)?\Z")  # "20 °C.", "5 g.": a unit, not an initial
_ADDRESS = re.compile(r"://|www\.|\b10\.\d{4,9}/|@", re.IGNORECASE)
_CITED = re.compile(r"\d{1,3}(?:[,–-]\d{1,3}){0,9}(?=\s+[^\W\d_a-zß-öø-ÿ])|(?:\[\d[\d,–\s-]{0,40}\])+")
_AMOUNT = re.compile(r"\d[\d.,]*%?\s+[a-zß-öø-ÿ(]")
_NO_WORD: frozenset[str] = frozenset()
_UNITS = frozenset("gmshlKCFVWNJAMHd")
_IDENTIFIER = re.compile(r"[a-zα-ω]{1,4}(?:[A-Z]|\d)|[α-ω]\Z")  # mRNA, p53, α: may open a sentence
_LABEL = re.compile(r"[A-Z]{0,2}\d|[IVX]+\Z|[A-Z]\Z")
_FILE_TYPES = _words("com org net edu gov io js ts py txt pdf md exe")

# Never the end of a sentence.
_NEVER = _words(
    "e.g i.e eg ie vs viz cf approx ca dr prof mr mrs ms messrs st mt ft lt col sgt capt gen hon sen gov rep "
    "dept univ natl proc conf esp resp fl incl excl ibid op i.v i.m i.p s.c a.k.a aka ed eds bzw z.b d.h u.a "
    "vgl dipl ing sci technol biol chem phys biochem acad var subsp ssp clin"
)
# Not the end where a number or a label follows ("Fig. S1", "No. 5", "Sect. IV").
_LABELLED = _words(
    "fig figs eq eqs eqn eqns ref refs sec sect sects tab tabs no nos nr vol vols ch chap art p pp pt app "
    "suppl ex def thm lem prop cor alg ver jan feb mar apr jun jul aug sep sept oct nov dec"
)
# The end only where the next word is one that opens sentences.
_EITHER = _words("al inc ltd co corp jr sr bros llc plc gmbh spp sp cv int assoc soc rev am cit")
_OPENERS = _words(
    "the this these those that there we our in it its however here although though moreover furthermore thus "
    "therefore then to from on at by with when while where whereas as if since because after before during "
    "both each all some many several such results methods conclusion conclusions background objective "
    "objectives purpose aim aims design finally first second third recently using based given despite among "
    "between unlike overall nevertheless hence yet but and or another other additionally also next further "
    "under over through data patients a an he she they you his her their i no not only most few one two "
    "what which who how why is are was were can does did has have see consider suppose let for"
)
_NAMES_TOO = _words("he she an a i you let can is see do for")  # "J. He" is a person
_UNCASED_OPENERS = _words("the this these those we our it however results although moreover")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Half-open `(start, end)` offsets of the sentences, in order and without the space around them.

    The spans do not overlap, and together they hold every character that is not white space. A blank
    line ends a sentence, and so does a line break before a list item.
    """
    return list(_spans(text))


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, each a slice of it; none for blank text.

    >>> split_sentences("As Smith et al. (2010) show, p < .05 holds. We agree, e.g. in the U.S. too.")
    ['As Smith et al. (2010) show, p < .05 holds.', 'We agree, e.g. in the U.S. too.']
    """
    return [text[start:end] for start, end in _spans(text)]


def first_sentences(text: str, n: int = 3) -> str:
    """The first `n` sentences as one slice of `text`: all of it where it has fewer, "" for n < 1."""
    spans = list(islice(_spans(text), max(n, 0)))
    return text[spans[0][0] : spans[-1][1]] if spans else ""


def _spans(text: str) -> Iterator[tuple[int, int]]:
    uncased = text.lower() == text  # then a small letter after a stop tells nothing
    start = _after_space(text, 0)
    position = start
    while match := _CANDIDATE.search(text, position):
        position = match.end()
        if match.start() == start or position == len(text):
            continue
        end = _end_of_sentence(text, start, match, uncased)
        if end:
            yield start, end
            start = position = _after_space(text, end)
    if start < len(text):
        yield start, start + len(text[start:].rstrip())


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class _Around(NamedTuple):
    """What stands around a stop: the window before it, the word it ends, the next word, two characters on."""

    left: str
    tail: str
    word: str
    rest: str
    opens: bool  # the tail is all that the sentence holds so far: "1.", "A."


def _look(text: str, start: int, match: re.Match[str]) -> _Around:
    left = text[max(start, match.start() - _WINDOW) : match.start()].rstrip()
    found = _TAIL.search(left)
    tail = found[0] if found else ""
    ahead = _NEXT.match(text, match.end(), match.end() + _WINDOW)
    word, rest = (ahead["word"], ahead["rest"]) if ahead else ("", "")
    before = left.removesuffix(tail)
    return _Around(before, tail, word, rest, start + len(left) == match.start() and not before.strip())


def _end_of_sentence(text: str, start: int, match: re.Match[str], uncased: bool) -> int:
    """Where the sentence that began at `start` ends if it ends at this candidate; 0 if it does not."""
    if match["stop"] is None:
        return start + len(text[start : match.start()].rstrip()) if _breaks(text, match, match[0]) else 0
    end, gap = match.end("close"), match["gap"]
    if any(c in _WIDE for c in match["stop"]):
        return 0 if match["close"] and text[end] == "と" else end  # と goes on after a quotation
    if gap and _breaks(text, match, gap):
        return end
    around = _look(text, start, match)
    spaced = text[match.start() - 1].isspace()
    openers = _openers(around, match["stop"], spaced=spaced, gap=bool(gap))
    if openers is not None:
        in_brackets = gap and any(c in ")]}" for c in match["close"])  # "(Smith et al.) The"
        if in_brackets or not around.word[:1].isupper() or around.word.lower() not in openers:
            return 0
    if not gap:
        return _end_without_space(text, match, around)
    return end if _may_open(around, uncased) else 0


def _breaks(text: str, match: re.Match[str], space: str) -> bool:
    """Whether this white space is a blank line, or a line break before a list item."""
    lines = space.count("\n") + space.count("\u2029")
    return lines > 1 or (lines == 1 and _ITEM.match(text, match.end()) is not None)


def _openers(around: _Around, stop: str, *, spaced: bool, gap: bool) -> frozenset[str] | None:
    """The words that may open a sentence after this stop: None for any word, the empty set for none."""
    before, tail, word, rest, opens = around
    if stop != ".":
        omission = stop[-1] in ".…" and (spaced or not gap)  # "the … Company", "Ana...Maria"
        return _OPENERS if omission else None
    low = tail.lower().lstrip("'’-")
    acronym = sum(map(str.isupper, tail)) > 1  # the EDs, CF and MS of medicine are no abbreviations of ours
    if (low in _NEVER and not acronym) or (low in _LABELLED and _LABEL.match(word)):
        return _NO_WORD
    if not tail:
        return _NO_WORD if before[-1:] in tuple("<>=≤≥") and word.isdigit() else None  # "p < . 05"
    if _NUMBER.fullmatch(tail):
        item = tail.isdigit() and (opens or (len(tail) < 3 and before.rstrip()[-1:] in (":", ";")))
        torn = word.isdigit() and (tail in ("0", "00") or (len(word) == 1 and rest[:1] == "%"))  # "48. 8%"
        return _NO_WORD if item or torn else None
    if len(tail) == 1 and tail.isalpha():
        if opens:
            return _NO_WORD
        return None if _MEASURED.search(before) and tail in _UNITS else _OPENERS - _NAMES_TOO
    torn_off = spaced and not gap  # " .The" ends a sentence, " .500" and " .NET" do not
    return _OPENERS if torn_off or (low in _EITHER and not acronym) or _DOTTED.fullmatch(tail) else None


def _may_open(around: _Around, uncased: bool) -> bool:
    """Whether what follows a plain stop and a space can be the beginning of a sentence."""
    _, tail, word, rest, _ = around
    if not word:
        tag = rest[:1] in tuple("<&") and rest[1:].isalpha()  # markup left in the text: "<h3>Results</h3>"
        return tag or rest[:1] not in _CONTINUES
    if uncased or not word[0].islower():
        return True
    return len(tail) not in (1, 2) and (word in _UNCASED_OPENERS or _IDENTIFIER.match(word) is not None)


def _end_without_space(text: str, match: re.Match[str], around: _Around) -> int:
    """Where a sentence ends at a stop that no space follows; 0 if the stop stands inside a word."""
    before, tail, word, rest, _ = around
    end = match.end("close")
    last = (before + tail)[-1:]
    if _is_cjk(last) and _is_cjk(text[end]):
        return end
    part = tail.rpartition("-")[2]
    plain = part.isalnum() and part[-1].islower() and len(tail) > 2  # "treatment", "follow-up"; not "Am"
    if plain and (cited := _CITED.match(text, end, end + _WINDOW)):
        return cited.end()  # "in many countries.1,2 However": the citation stays with its sentence
    if plain and len(tail) > 3 and _AMOUNT.match(text, end, end + _WINDOW):
        return end  # "laboratory data.53.6% of the patients"
    inside = rest[:1] in tuple("_(/\\@") or (rest[:1] == "." and not rest[1:].isspace() and rest != ".")
    if not word[:1].isupper() or inside or word.lower() in _FILE_TYPES:
        return 0
    sound = plain or last in tuple(")]%") or _NUMBER.fullmatch(tail) is not None
    if not sound and not (len(word) > 1 and word.lower() in _OPENERS):
        return 0
    chunk = text[max(0, end - 4 * _WINDOW) : end].rsplit(None, 1)[-1]
    return 0 if _ADDRESS.search(chunk) and word.lower() not in _OPENERS else end


def _is_cjk(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"
