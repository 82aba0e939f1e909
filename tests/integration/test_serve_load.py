"""The load test of benchmarks/serve.py, shortened."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_many_clients_at_once_without_an_error_and_without_growing(
    mock_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("PYTHONPATH", str(BENCHMARKS.parent))
    serve = __import__("serve")
    ids = [f"p{number:03}" for number in range(1, 101)]
    figures = asyncio.run(serve.load_test(str(mock_index), 32, 400, ids))
    assert figures["calls"] == 400
    assert figures["errors"].keys() <= {"busy"}  # answered later, as it was told
    assert figures["memory_mb"][-1] < 1.2 * figures["memory_mb"][len(figures["memory_mb"]) // 2]
    sys.modules.pop("serve", None)
