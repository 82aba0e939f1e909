"""XML as a stream of records: one in memory at a time, nothing fetched, nothing expanded, faults passed by.

expat reads the text; entities that a document declares are refused, external ones are never opened, and
what is known from HTML (&nbsp;) is put in. Behind a fault reading goes on with the next record.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from hippo_lit.errors import DataError

MAX_DEPTH = 200
MAX_RECORD_CHARS = 64_000_000
_TAIL = 64
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff\ufeff]")
_REFERENCE = re.compile(r"&(?!#\d{1,7};|#[xX][0-9a-fA-F]{1,6};|(?:amp|lt|gt|quot|apos);)(?:(\w{2,32});)?")


Item = tuple[int, Element | None, str]
"""A record's line and element, or the problem in its place."""


def records(pieces: Iterable[str], names: frozenset[str]) -> Iterator[Item]:
    """The outermost elements whose name (in lower case, without prefix) is one of `names`."""
    opening = re.compile(rf"<(?:\w+:)?(?:{'|'.join(sorted(names))})[\s>]", re.IGNORECASE)
    lines_before, text_before, started = 0, "", False
    parser: _Parser | None = _Parser(names, 0)
    for piece in _repaired(pieces):
        text = text_before + piece
        text_before = ""
        if not started:  # a declaration counts only where nothing stands before it
            started = bool(text.strip())
            lines_before += text.count("\n", 0, len(text) - len(text.lstrip()))
            text = text.lstrip()
            parser = _Parser(names, lines_before)
        while text:
            if parser is None:
                found = opening.search(text)
                if found is None:  # nothing but the end may be the beginning of a tag
                    cut = max(0, len(text) - _TAIL)
                    lines_before += text.count("\n", 0, cut)
                    text_before = text[cut:]
                    break
                lines_before += text.count("\n", 0, found.start())
                text = text[found.start() :]
                parser = _Parser(names, lines_before)
                parser.feed("<resumed>")
            problem = parser.feed(text)
            yield from parser.take()
            if not problem:
                lines_before += text.count("\n")
                break
            consumed = parser.failed_at(text)
            if parser.reports:
                yield parser.line, None, problem
            lines_before += text.count("\n", 0, consumed)
            text = text[consumed:]
            parser = None
    if parser is not None:
        left = parser.close()
        yield from parser.take()
        if left:
            yield parser.line, None, left


class _Parser:
    """One run of expat over text that begins after `line` lines."""

    def __init__(self, names: frozenset[str], line: int) -> None:
        self._names, self._first_line = names, line
        self._done: list[Item] = []
        self._builder: TreeBuilder | None = None
        self._depth = self._inside = self._chars = self._fed = 0
        self._resumed = False
        self.line = line + 1
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._data
        self._expat.EntityDeclHandler = self._entity

    def feed(self, text: str) -> str:
        """Read on; the problem that ended it, or ""."""
        before = self._fed
        self._fed += len(text.encode("utf-8", "replace"))
        if text == "<resumed>":
            self._resumed = True
        self._start_of_feed = before
        try:
            self._expat.Parse(text, False)
        except expat.ExpatError as e:
            return f"the XML is broken: {expat.errors.messages[e.code]}"
        except DataError as e:  # one of the handlers below refused
            return e.message
        return ""

    def close(self) -> str:
        try:
            if not self._resumed:
                self._expat.Parse("", True)
        except expat.ExpatError as e:
            message = expat.errors.messages[e.code]
            if (
                self._builder is None
                and message in ("no element found", "unclosed token")
                and self._depth == 0
            ):
                return ""
            return f"the XML is cut off: {message}"
        return "the XML is cut off within a record" if self._resumed and self._builder is not None else ""

    def failed_at(self, text: str) -> int:
        """How much of the text that was fed last to pass over: up to the fault, at least one character."""
        data = text.encode("utf-8", "replace")
        at = max(0, min(self._expat.ErrorByteIndex - self._start_of_feed, len(data)))
        return max(1, len(data[:at].decode("utf-8", "ignore")))

    @property
    def reports(self) -> bool:
        """Whether a fault here costs a record: behind one, those outside of records are its consequence."""
        return self._builder is not None or not self._resumed

    def take(self) -> Iterator[Item]:
        done, self._done = self._done, []
        yield from done

    def _here(self) -> int:
        return self._first_line + int(self._expat.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2].lower()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DataError(f"the XML is nested more than {MAX_DEPTH} deep")
        if self._builder is None:
            if name not in self._names:
                return
            self._builder, self._inside, self._chars = TreeBuilder(), self._depth, 0
            self.line = self._here()
        self._builder.start(name, {key.lower(): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        if self._builder is not None:
            self._builder.end(name.rpartition(":")[2].lower())
            if self._depth == self._inside:
                self._done.append((self.line, self._builder.close(), ""))
                self._builder = None
                self.line = self._here()
        self._depth -= 1

    def _data(self, text: str) -> None:
        if self._builder is not None:
            self._chars += len(text)
            if self._chars > MAX_RECORD_CHARS:
                raise DataError(f"the record is longer than {MAX_RECORD_CHARS:,} characters")
            self._builder.data(text)

    def _entity(self, *_: object) -> None:
        raise DataError("the XML declares entities of its own, which are not expanded")


def _repaired(pieces: Iterable[str]) -> Iterator[str]:
    """Without control characters, and with "&" written as XML wants it; references stay in one piece."""
    rest = ""
    for piece in pieces:
        text = rest + _CONTROLS.sub("", piece)
        at = text.rfind("&", max(0, len(text) - _TAIL))
        cut = at if at >= 0 and ";" not in text[at:] else len(text)
        text, rest = text[:cut], text[cut:]
        if text:
            yield _REFERENCE.sub(_reference, text)
    if rest:
        yield _REFERENCE.sub(_reference, rest)


def _reference(found: re.Match[str]) -> str:
    known: Callable[[str], str | None] = html.entities.html5.get  # type: ignore[attr-defined]
    plain = known(f"{found[1]};") if found[1] else None
    if plain is not None and plain not in ("&", "<", ">"):
        return plain
    return "&amp;" + found[0][1:]
