"""The command line: `hippo-lit`. Thin: every command calls the library and prints what it returns."""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType

EXIT_TERMINATED = 128 + signal.SIGTERM


def main() -> None:
    """Run the command line on `sys.argv`; exits with one of the codes of `hippo-lit --help`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a letter gets "?" instead of a crash.
        sys.stdout.reconfigure(errors="replace")
    terminated = False

    def terminate(_number: int, _frame: FrameType | None) -> None:
        """SIGTERM stops as Ctrl-C does, and keeps what was done; only the exit code differs."""
        nonlocal terminated
        terminated = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, terminate)
    try:
        from hippo_lit.cli.app import app

        app()
    except (SystemExit, KeyboardInterrupt):
        if terminated:
            sys.exit(EXIT_TERMINATED)
        raise
