"""Where text goes: results to stdout, everything said on the way to stderr."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

from hippo_lit.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console, RenderableType

MAX_LISTED = 10
EVERY_S = 5.0
PIPE_WIDTH = 100


def console(*, stderr: bool = False) -> Console:
    """A console that takes text for text: no markup, no emoji codes, no guessed highlights.

    Colour only on a terminal, and there not where NO_COLOR is set. Into a pipe the width is COLUMNS, or
    100.
    """
    from rich.console import Console

    # The stream of now, whoever redirects it later (DSPy's output goes to a file while a search runs).
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _columns()
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def show(parts: Iterable[RenderableType]) -> None:
    """Print `parts` to stdout; into a pipe without the spaces that fill up a column."""
    out = console()
    if sys.stdout.isatty():
        for part in parts:
            out.print(part)
        return
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def say(message: str, indent: str = "", stream: TextIO | None = None) -> None:
    """A message on stderr, or on `stream`, wrapped where that is a terminal; one line elsewhere."""
    message = indent + clean(message)
    stream = stream or sys.stderr
    if stream.isatty():
        width = max(20, shutil.get_terminal_size().columns)
        message = textwrap.fill(
            message, width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False
        )
    stream.write(message + "\n")


class Sparing:
    """Passes messages on, at most one every EVERY_S seconds: many threads may wait for one server."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        self._write, self._clock = write, clock
        self._next = -inf

    def __call__(self, message: str) -> None:
        now = self._clock()
        if now >= self._next:
            self._next = now + EVERY_S
            self._write(message)


def say_some(messages: Sequence[str], total: int | None = None) -> None:
    """At most MAX_LISTED messages, and how many more there are of `total`."""
    for message in messages[:MAX_LISTED]:
        say(message, "  ")
    left = (len(messages) if total is None else total) - min(len(messages), MAX_LISTED)
    if left > 0:
        say(f"… and {left:,} more", "  ")


def print_json(value: Any) -> None:
    """`value` as the only thing on stdout."""
    from hippo_lit.render import dumps

    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(dumps(value, ascii_only=not utf8) + "\n")


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    return max(40, int(given)) if given.isdecimal() else PIPE_WIDTH
