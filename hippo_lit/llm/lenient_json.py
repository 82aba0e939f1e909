"""JSON as language models write it: one pass over the text, no guessing at words that are not there.

Read besides JSON: Python literals (single quotes, tuples, sets, None, True), curly quotes, comments,
ellipses, missing commas and closers, bare words, and quotes or line breaks that should have been escaped.
Nothing is evaluated. A string or word that the text breaks off in is left out, since half a name is
another name.

Why not the package json-repair (measured on 0.64 with 2,476 triples that were broken on purpose): of those
with unescaped quotes it recovers 77%, this reader all; of cut replies it keeps half-names as names; and its
time grows with the square of the input (20,000 characters of `{"` take over 8 s, here milliseconds).
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 40
MAX_VALUES = 1000

# What begins a value of ours, and not "[1]", "the {111} plane" or "(see [Smith 2010])".
_START = re.compile(r"""\{\s*+(?:["'“‘}]|\w++\s*+:)|\[\s*+["'“‘\[{(\]]""")
_COMMENT = r"#[^\n]*+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)"
_GAP = re.compile(rf"(?:\s++|{_COMMENT})*+")
_SEPARATOR = re.compile(rf"(?:[\s,;]++|\.{{3}}|…|{_COMMENT})*+")
_CLOSERS = {"[": "]", "{": "}", "(": ")"}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_BARE = {"]": re.compile(r"[^,\]}\n]*+"), ")": re.compile(r"[^,)\]}\n]*+"), "}": re.compile(r"[^,:\]}\n]*+")}
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}

# A quote ends its string where structure follows it; elsewhere it is a quote inside the text.
_ENDS_STRING = re.compile(
    r"""\s*+ (?: \Z | [\]}] | ``` | //
      | :  \s*+ (?: \Z | ["'“‘\[{(\d,\]}/\#-] | (?i:true|false|null|none)\b )
      | \) \s*+ (?: \Z | [,\])}] )
      | [,;] \s*+ (?: \Z | ["'“‘\[{(\]})\d…\#/-] | \.{3} | (?i:true|false|null|none|etc)\b | \w++\( )
    ) | \s++ (?: \# | ["'“‘] ) | [^\S\n]*+ \n \s*+ [\[{(]""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "/": "/", "\n": "\n"}
# Nobody means a backspace or a form feed: "\beta" and "\frac" are LaTeX that was not escaped.
_LATEX = re.compile(r"\\(?:\\|(?=[bf][A-Za-z]))")

_strict = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=lambda _: None)
_NOTHING: Any = object()


def read_values(text: str) -> tuple[list[Any], bool]:
    """Every list and dict that stands in `text`, in order, and whether the last one was broken off.

    Numbers come as they are written, as text; NaN and Infinity as None.
    """
    text = _LATEX.sub(r"\\\\", text)
    values: list[Any] = []
    broken_off = False
    at = 0
    while (start := _START.search(text, at)) and len(values) < MAX_VALUES:
        try:
            value, at = _strict.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            reader = _Reader(text, start.start())
            value, at, broken_off = reader.value(), reader.at, reader.broken_off
        values.append(value)
    return values, broken_off


class _Reader:
    """A cursor over the text. `expected` holds the closers of the containers that are open."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.expected: list[str] = []
        self.broken_off = False

    def value(self) -> Any:
        """The value at the cursor; _NOTHING where there is none to keep."""
        c = self.text[self.at]
        if c in _CLOSERS:
            return self._container(_CLOSERS[c])
        if c in _QUOTES:
            return self._string(_QUOTES[c])
        return self._bare()

    def _container(self, closer: str) -> Any:
        self.at += 1
        if len(self.expected) >= MAX_DEPTH:
            return _NOTHING
        self.expected.append(closer)
        items: list[Any] = []
        members: dict[str, Any] = {}
        while self._before_item(closer):
            start = self.at
            item = self.value()
            if self._at_colon() and isinstance(item, str):
                if closer == "}":
                    members[item] = self._member()
                    continue
                if self.expected[-2:-1] == ["}"]:  # a key: the list before it was never closed
                    self.at = start
                    break
                self.at += 1
            if item is not _NOTHING:
                items.append(item)
        self.expected.pop()
        # Braces around bare items are a Python set.
        return members if closer == "}" and (members or not items) else items

    def _before_item(self, closer: str) -> bool:
        """Move to the next item; False at the container's end, which a closer of an outer one implies."""
        while True:
            self._skip(_SEPARATOR)
            if self.at >= len(self.text) or self.text.startswith("```", self.at):
                self.broken_off = True
                return False
            c = self.text[self.at]
            if c not in "]})":
                return True
            if c != closer and c in self.expected:
                return False
            self.at += 1
            if c == closer:
                return False

    def _member(self) -> Any:
        self.at += 1
        self._skip(_GAP)
        if self.at >= len(self.text) or self.text[self.at] in ",]})":
            return None
        value = self.value()
        return None if value is _NOTHING else value

    def _string(self, quote: str) -> Any:
        start = self.at + 1
        at = start
        for mark in re.compile(rf"\\.|{quote}", re.DOTALL).finditer(self.text, start):
            at = mark.end()
            if mark[0] == quote and _ENDS_STRING.match(self.text, at):
                self.at = at
                return _unescaped(self.text[start : mark.start()])
        self.at = len(self.text)
        self.broken_off = True
        return _NOTHING

    def _bare(self) -> Any:
        match = _BARE[self.expected[-1]].match(self.text, self.at)
        word = match[0].strip() if match else ""
        self.at = match.end() if match and match[0] else self.at + 1
        if self.at >= len(self.text):
            self.broken_off = True
            return _NOTHING
        if word.lower() in ("", "etc", "etc."):
            return _NOTHING
        return _LITERALS.get(word.lower(), word)

    def _skip(self, what: re.Pattern[str]) -> None:
        match = what.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _at_colon(self) -> bool:
        self._skip(_GAP)
        return self.text.startswith(":", self.at)


def _unescaped(written: str) -> str:
    if "\\" not in written:
        return written
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[0]), written)
    # Two \u escapes may be the halves of one character; half a character is none.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
