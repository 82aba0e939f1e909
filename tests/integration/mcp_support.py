"""What the tests of the MCP server share: servers in this process and as processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cli_support import QUICK

ROOT = Path(__file__).parents[2]
COMMAND = ("-m", "hippo_lit.cli", "mcp", *QUICK)


def environment(**more: str) -> dict[str, str]:
    """That of this process without settings of ours, and the package to test."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("HIPPO_LIT_", "OPENAI_"))
    }
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"} | more


@contextmanager
def http_server(
    index: Path, *options: str, env: Mapping[str, str] | None = None, command: Sequence[str] = COMMAND
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`hippo-lit mcp --transport http` on a free port; yields its address. It is ended by SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, *command, "--index", str(index), "--transport", "http", "--port", "0", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment(**(env or {})),
        text=True,
    )
    try:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"serving (http://\S+)", line):
                yield found[1], process
                break
        else:
            raise AssertionError(f"the server did not start: {said}")
    finally:
        process.terminate()
        process.wait(30)
        if process.stderr is not None:
            process.stderr.close()
