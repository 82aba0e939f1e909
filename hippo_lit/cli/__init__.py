"""The command line: `hippo-lit`. Thin: every command calls the library and prints what it returns."""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType

EXIT_INTERRUPTED, EXIT_TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


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
    except KeyboardInterrupt:  # while the commands are imported: none of them runs yet that would tell of it
        sys.exit(EXIT_TERMINATED if terminated else EXIT_INTERRUPTED)
    except SystemExit:
        if terminated:
            sys.exit(EXIT_TERMINATED)
        raise
