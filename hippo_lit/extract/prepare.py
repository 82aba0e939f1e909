"""Sentences made easy to parse: what stands in brackets, quotes and headings misleads a dependency parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SECTIONS = (
    "background|introduction|objectives?|aims?|purpose|methods?|results?|findings|conclusions?|discussion"
    "|interpretation|importance|context|design|setting|participants|patients|main outcome measures?"
)
_HEADING = re.compile(
    rf"(?:[A-Z][A-Z/&, -]{{3,40}}|(?i:{_SECTIONS})(?: and \w+)?)\s?[:.—–]\s*(?=[A-Z\d])"
    r"|(?:(?i:background|objectives?|aims?|purpose|methods|results|findings|conclusions?))\s(?=[A-Z][a-z]*\s)"
    r"|(?:Design|Setting|Context|Introduction|Importance|Participants)\s(?=(?:The|A|An|To|We|This|In)\s)"
)
_BRACKETS = re.compile(r"\s?\(([^()]*)\)|\s?\[([^\[\]]*)\]")
_STATISTICS = re.compile(r"[=<>≤≥±%]|\b(?:CI|SD|SE|IQR|OR|RR|HR)\b|^[\s\d.,;:–−-]*\w{0,4}\.?$")
_LEAD_IN = re.compile(
    r"^(?:e\.?g\.?|i\.?e\.?|for example|such as|see|cf\.?|also|including|namely)[,:]?\s+", re.IGNORECASE
)
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,80})[\"”»]|``([^`']{2,80})''")
_CAPITAL = re.compile(r"[A-Z\d]")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sentence without headings, brackets and quotation marks.

    `names` are (start, end) in `text`; `asides` are what stood in brackets, statistics left out.
    """

    text: str
    names: tuple[tuple[int, int], ...] = ()
    asides: tuple[str, ...] = field(default=())


def prepare(sentence: str, names: tuple[str, ...] = ()) -> Prepared:
    """A clean sentence as the parser should see it. `names` are marked wherever they occur."""
    heading = _HEADING.match(sentence)
    text, asides = _without_brackets(sentence[heading.end() :] if heading else sentence)
    text, spans = _without_quotes(text)
    for name in names:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            if not any(start < match.end() and match.start() < end for start, end in spans):
                spans.append(match.span())
    return Prepared(text, tuple(sorted(spans)), tuple(asides))


def _without_brackets(text: str) -> tuple[str, list[str]]:
    asides: list[str] = []

    def take(match: re.Match[str]) -> str:
        content = (match[1] or match[2] or "").strip()
        if not _STATISTICS.search(content) and sum(c.isalpha() for c in content) > 3:
            asides.append(_LEAD_IN.sub("", content))
        return ""

    for _ in range(3):  # innermost first
        text = _BRACKETS.sub(take, text)
    return text, asides


def _without_quotes(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without quotation marks, and where the names of works then stand in it."""
    spans: list[tuple[int, int]] = []
    kept = ""
    done = 0
    for match in _QUOTED.finditer(text):
        kept += text[done : match.start()]
        content = (match[1] or match[2]).strip()
        name = content.rstrip(" ,.;")
        if _is_title(name):
            spans.append((len(kept), len(kept) + len(name)))
        kept += content
        done = match.end()
    return kept + text[done:], spans


def _is_title(text: str) -> bool:
    """Whether a quotation is the name of a work: it begins, mostly ends and mostly goes on in capitals."""
    words = text.split()
    if not 0 < len(words) <= 9:
        return False
    capitals = [bool(_CAPITAL.match(word)) for word in words]
    return capitals[0] and (capitals[-1] or len(words) > 2) and sum(capitals) * 2 >= len(words)
