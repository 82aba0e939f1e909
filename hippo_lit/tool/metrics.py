"""A log of what calls took and found, a JSON object a line, from which a run plots its quality over time."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hippo_lit.storage.disk import reporting
from hippo_lit.types import RetrievalResult

_LOG = logging.getLogger(__name__)


class MetricsLog:
    """Appends whole lines to a file, so that several processes can share it. Neither queries nor texts of
    papers are written. A context manager.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises StoreError where the file cannot be opened for appending."""
        self.path = Path(path).expanduser()
        with reporting("write", self.path):
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._lock = threading.Lock()
        self._failed = False

    def write(self, values: Mapping[str, Any]) -> None:
        """One line: the time (ISO 8601, UTC) and `values`. A full disk is said once, and fails no call."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": now} | dict(values), ensure_ascii=False) + "\n"
        with self._lock:
            try:
                os.write(self._file, line.encode())
            except OSError as error:
                if not self._failed:
                    _LOG.warning("the metrics log %s cannot be written: %s", self.path, error.strerror)
                self._failed = True

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


def measured(found: RetrievalResult) -> dict[str, Any]:
    """What a run logs of a query; the query itself stays out of logs."""
    metrics = found.metrics
    return {
        "mode": found.mode,
        "route": found.route,
        "degraded": found.degraded,
        "hits": metrics.hits,
        "mean_score": metrics.mean_score,
        "top_score": metrics.top_score,
        "wall_time_s": metrics.wall_time_s,
        "stages_s": dict(found.trace.seconds),
        "state": found.trace.snapshot,
    }
