"""The command line: `hippo-lit`. Thin: every command calls the library and prints what it returns."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Run the command line on `sys.argv`; exits with one of the codes of `hippo-lit --help`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a letter gets "?" instead of a crash.
        sys.stdout.reconfigure(errors="replace")
    from hippo_lit.cli.app import app

    app()
