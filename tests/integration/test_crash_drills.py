"""The drills of benchmarks/, short: killed runs, and disks that fail at a write step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MEMORY = Path("/dev/shm")


def drill(script: str, *arguments: object) -> dict[str, Any]:
    """What a drill found; it fails where something does not hold."""
    env = os.environ | {"PYTHONPATH": str(ROOT)} | ({"TMPDIR": str(MEMORY)} if MEMORY.is_dir() else {})
    command = [sys.executable, str(ROOT / "benchmarks" / script), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_killed_at_random_moments_nothing_is_lost_or_paid_for_twice() -> None:
    found = drill("crash_drill.py", "--kills", 5, "--seed", 4)
    assert found["kills"] == 5
    assert found["most_calls_made_again"] <= 4  # the calls in flight
    assert found["papers"] >= 2 * 16


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_a_disk_that_fails_at_any_step_costs_no_more_than_that_run() -> None:
    found = drill("disk_drill.py", "--every", 73)
    assert found.keys() == {"create", "change", "delete"}
    for ways in found.values():
        assert ways.pop("dies")["died"] >= 2
        assert [how["died"] for how in ways.values()] == [0] * 4
        assert sum(how["refused"] for how in ways.values()) >= 4
