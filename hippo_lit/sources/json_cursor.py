"""A place in a JSON text that is read a block at a time and only moves forward."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from hippo_lit.text import clean

BLOCK_CHARS = 200_000
MAX_VALUE_CHARS = 20_000_000
"""Of one value, and of the text that is searched for the end of a broken one."""
LISTS = ("papers", "results", "data", "items")
_NEAR = 40  # characters before the end of a block within which an error may come of the cut
_MAX_INDENT = 1_000
_decoder = json.JSONDecoder(strict=False)
_BETWEEN = re.compile(r"[\s,;\ufeff]*")
_LIST_START = re.compile(rf'"(?:{"|".join(LISTS)})"\s*:\s*(?=\[)')
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
_OPENING_LINE = re.compile(r"\n(?=[{\[])")
_NO_STRUCTURE = re.compile(r"[^,\[\]{}]*")


class Cursor:
    """A place in a text of which a window is in memory: the current line's beginning, and what follows."""

    def __init__(self, pieces: Iterable[str], block_chars: int = BLOCK_CHARS) -> None:
        self._pieces = iter(pieces)
        self._block = block_chars
        self._text = ""
        self.at = 0
        self._ended = False
        self._counted, self._line = 0, 1

    @property
    def line(self) -> int:
        self._line += self._text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def skip(self) -> str:
        """Move past blanks and commas; the character that follows, "" at the end."""
        while True:
            between = _BETWEEN.match(self._text, self.at)
            self.at = between.end() if between else self.at
            if self.at < len(self._text) or not self._more(self._block):
                return self._text[self.at : self.at + 1]

    def take(self, most: int = MAX_VALUE_CHARS) -> tuple[Any, str]:
        """The value here, moving past it; or None and the problem, without moving.

        A value of more than `most` characters counts as cut off.
        """
        if len(self._text) - self.at < self._block // 2:
            self._more(self._block)
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self.at)
            except json.JSONDecodeError as e:
                cut = e.msg.startswith("Unterminated") or e.pos >= len(self._text) - _NEAR
                if cut and self._grown(most):
                    continue
                if e.msg.startswith("Unterminated") or not self._text[e.pos :].strip():
                    return None, "the JSON is cut off"
                return None, f"not JSON: {e.msg} at {clean(self._text[e.pos : e.pos + 20])}"
            except RecursionError:
                return None, "the JSON is nested too deeply to be read"
            except ValueError as e:  # a number of more digits than Python converts
                return None, f"not readable as JSON: {e}"
            if end == len(self._text) and not isinstance(value, str | list | dict) and self._grown(most):
                continue  # a number may go on
            self.at = end
            return value, ""

    def into_list(self) -> bool:
        """Move to the list that the object here holds under one of LISTS, if that is in sight."""
        inner = _LIST_START.search(self._text, self.at)
        self.at = inner.end() if inner else self.at
        return inner is not None

    def past_broken(self) -> bool:
        """Move past the list item here, which is not JSON; False where its end cannot be told."""
        while (end := self._end_of_broken()) is None and self._grown(MAX_VALUE_CHARS):
            pass
        self.at = self.at if end is None else end
        return end is not None

    def to_next_value(self) -> None:
        """Move to the next line that opens an object or a list, or to the end."""
        while True:
            if opening := _OPENING_LINE.search(self._text, self.at):
                self.at = opening.end()
                return
            self.at = max(self.at, len(self._text) - 1)  # the line feed may be the last
            if not self._more(self._block):
                self.at = len(self._text)
                return

    def to_end(self) -> None:
        """Move to the end of the text."""
        self.at = len(self._text)
        while self._more(self._block):
            self.at = len(self._text)

    def _end_of_broken(self) -> int | None:
        line_start = self._text.rfind("\n", 0, self.at) + 1
        indent = self._text[line_start : self.at]
        sibling = self._text.find(f"\n{indent}{{", self.at) if not indent.strip() else -1
        end = self._end_of_brackets()
        return sibling if sibling >= 0 and (end is None or sibling < end) else end

    def _end_of_brackets(self) -> int | None:
        if self._text[self.at] not in "{[":
            plain = _NO_STRUCTURE.match(self._text, self.at + 1)
            return plain.end() if plain and plain.end() < len(self._text) else None
        depth = 0
        for mark in _STRUCTURE.finditer(self._text, self.at):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark[0], 0)
            if depth == 0:
                return mark.end()
        return None

    def _grown(self, most: int) -> bool:
        """Whether there was more to read of what begins here; each time as much as there was, for speed."""
        ahead = len(self._text) - self.at
        return ahead < most and self._more(max(self._block, ahead))

    def _more(self, size: int) -> bool:
        """Read about `size` characters; forget what lies before this line. False at the end."""
        if self._ended:
            return False
        start = max(self._text.rfind("\n", 0, self.at), self.at - _MAX_INDENT, 0)
        _ = self.line  # counts what is to go
        fresh = [self._text[start:]]
        while size > 0 and (piece := next(self._pieces, None)) is not None:
            fresh.append(piece)
            size -= len(piece)
        self._ended = size > 0
        self._text = "".join(fresh)
        self.at -= start
        self._counted -= start
        return len(fresh) > 1
