"""Answers of paper services, kept on disk for a while: what was fetched is not asked for twice."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from hippo_lit.storage.disk import reporting
from hippo_lit.text import content_hash

_SUFFIX = ".answer"


class Responses:
    """Bodies of answers by request, in one folder, as old as `max_age_s` at most.

    Safe for several threads and processes: an answer is there whole or not at all. Where the folder cannot
    be written, StoreError says so.
    """

    def __init__(self, folder: Path, max_age_s: float) -> None:
        self.folder = folder
        self._max_age_s = max_age_s
        with reporting("keep answers in", folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._sweep()

    def get(self, request: str) -> bytes | None:
        """The answer to `request`, if one is kept and young enough."""
        path = self._path(request)
        try:
            if not self._is_young(path.stat().st_mtime):
                return None
            return path.read_bytes()
        except OSError:
            return None  # gone, or not readable: then it is fetched again

    def put(self, request: str, body: bytes) -> None:
        with reporting("keep answers in", self.folder):
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(body)
                Path(name).replace(self._path(request))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, request: str) -> Path:
        return self.folder / f"{content_hash(request)}{_SUFFIX}"

    def _is_young(self, written: float) -> bool:
        return time.time() - written < self._max_age_s

    def _sweep(self) -> None:
        for path in self.folder.glob(f"*{_SUFFIX}"):
            try:
                if not self._is_young(path.stat().st_mtime):
                    path.unlink()
            except FileNotFoundError:
                continue  # another process was faster
