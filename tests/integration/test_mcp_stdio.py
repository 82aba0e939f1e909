"""What standard input may bring: an end, a signal, a line without end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_support import COMMAND, environment

pytest.importorskip("mcp")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "0"},
    },
}


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [(None, 0, b""), (signal.SIGTERM, 143, b"interrupted\n"), (signal.SIGINT, 130, b"interrupted\n")],
)
def test_the_server_ends_when_it_is_told_to(
    mock_template: Path, how: signal.Signals | None, code: int, said: bytes
) -> None:
    with subprocess.Popen(
        [sys.executable, *COMMAND, "--index", str(mock_template)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(
            b"x" * (9 * 1024 * 1024) + b"\n"
        )  # refused, and the next line is read all the same
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        refused = json.loads(server.stdout.readline())
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        server.stdin.write(b'{"jsonrpc": \n')
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        [answered] = [answer for answer in answers if answer["id"] == 1]
        [refused] = [answer for answer in answers if answer["id"] is None]
        assert refused["error"] == {"code": -32700, "message": "Parse error: a message is one line of JSON"}
        assert answered["result"]["serverInfo"]["name"] == "hippo-lit"
        if how is None:
            server.stdin.close()
        else:
            server.send_signal(how)
        assert server.wait(30) == code
        assert server.stderr.read() == said
