"""Recorded answers of paper services, replayed by a loopback server; or recorded anew.

A recording is a file of tests/fixtures/live: the request ("GET s2/paper/search?query=…", its JSON body on the
next line), an empty line, status and content type, an empty line, the answer. With HIPPO_LIT_RECORD=1 in the
environment, every request goes to the service itself and its recording is written over; look at what changed,
and at what the tests expect of it, before you commit that.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from hippo_lit.config import SourcesSettings
from hippo_lit.testing.server import Answer, Recorded, ScriptedServer
from hippo_lit.text import content_hash

FOLDER = Path(__file__).parents[1] / "fixtures" / "live"
RECORDING = os.environ.get("HIPPO_LIT_RECORD") == "1"
_PRIVATE = {"mailto", "api_key"}


@dataclass(frozen=True)
class Recording:
    """One request and its answer."""

    file: Path
    key: str
    answer: Answer

    @classmethod
    def read(cls, file: Path) -> Recording:
        request, head, body = file.read_text("utf-8").split("\n\n", 2)
        line, _, sent = request.partition("\n")
        status, content_type = head.split(" ", 1)
        return cls(
            file,
            key_of(line.split(" ", 1)[1], json.loads(sent or "{}")),
            Answer(int(status), body.encode(), {"Content-Type": content_type}),
        )


def key_of(address: str, body: object) -> str:
    """What tells requests apart: service, path, parameters without those of a person, body."""
    parts = urlsplit(address)
    params = sorted(pair for pair in parse_qsl(parts.query) if pair[0] not in _PRIVATE)
    return f"{parts.path}?{urlencode(params)} {json.dumps(body, sort_keys=True)}"


class Replay:
    """A ScriptedServer's behaviour; `used` are the files that answered so far."""

    def __init__(self, recordings: dict[str, Recording]) -> None:
        self._recordings = recordings
        self.used: set[Path] = set()

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Replay:
        recordings = [Recording.read(file) for file in sorted(folder.glob("*.http"))]
        assert len({recording.key for recording in recordings}) == len(recordings), "one request, two answers"
        return cls({recording.key: recording for recording in recordings})

    def __call__(self, request: Recorded) -> Answer:
        address = request.path.removeprefix("/v1/")
        key = key_of(address, request.body)
        found = self._recordings.get(key)
        if RECORDING:
            found = self._recordings[key] = record(address, request, found)
        if found is None:
            return Answer(501, f"there is no recording of {key}".encode())
        self.used.add(found.file)
        return found.answer


def record(address: str, request: Recorded, present: Recording | None) -> Recording:
    """Ask the service itself, and write what it says over the present recording, or to a new one."""
    import httpx2

    service, _, rest = address.partition("/")
    base: str = getattr(SourcesSettings(), f"{service}_url")
    method = "POST" if request.body else "GET"
    reply = httpx2.request(method, f"{base}/{rest}", json=request.body or None, timeout=60)
    parts = urlsplit(address)
    params = [pair for pair in parse_qsl(parts.query) if pair[0] not in _PRIVATE]
    line = f"{method} {parts.path}{'?' if params else ''}{urlencode(params)}"
    sent = f"\n{json.dumps(request.body)}" if request.body else ""
    content_type = reply.headers.get("content-type", "text/plain")
    file = present.file if present else FOLDER / f"{service}_{content_hash(address)[:8]}.http"
    file.write_text(f"{line}{sent}\n\n{reply.status_code} {content_type}\n\n{reply.text}", "utf-8")
    return Recording.read(file)


def settings(server: ScriptedServer, cache: Path, **others: object) -> SourcesSettings:
    """All four services at `server`, without a pace unless the answers are recorded."""
    urls = {f"{name}_url": f"{server.base_url}/{name}" for name in ("arxiv", "s2", "openalex", "crossref")}
    paces = {f"{name}_interval_s": 0.0 for name in ("arxiv", "s2", "openalex", "crossref")}
    return SourcesSettings.model_validate({**urls, **({} if RECORDING else paces), "cache": cache, **others})
