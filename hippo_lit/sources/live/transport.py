"""One request over the network: a whole answer in time, or a CallFailed that says what went wrong."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hippo_lit.retry import CallFailed, retry_after_s
from hippo_lit.text import clean

if TYPE_CHECKING:
    from httpx2 import Client, Response

MAX_BODY_BYTES = 128 * 2**20
_REDIRECTS = 3
_DETAIL_CHARS = 300
_PROSE = ("message", "error", "detail")


class Transport:
    """Connections to one service, opened at the first request. Safe to share between threads.

    `secret` is a key that appears in no message. `words` finds what an answer with an error status says in
    prose.
    """

    def __init__(
        self, headers: Mapping[str, str], secret: str = "", words: Callable[[bytes], str] | None = None
    ) -> None:
        self._headers = dict(headers)
        self._secret = secret
        self._words = words or _words
        self._lock = threading.Lock()
        self._client: Client | None = None

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def send(
        self, url: str, params: Mapping[str, str], body: Mapping[str, Any] | None, seconds: float
    ) -> bytes:
        """The body that answers GET `url`, or POST where there is a `body` of JSON. Raises CallFailed."""
        import httpx2

        client, until = self._open(), time.monotonic() + seconds
        method = "GET" if body is None else "POST"
        request = client.build_request(method, url, params=dict(params), json=body, timeout=seconds)
        late = CallFailed("timeout", f"no answer within {seconds:.3g} s", again=True)
        try:
            for _ in range(_REDIRECTS + 1):
                response = client.send(request, stream=True)
                try:
                    if (following := self._redirected(response)) is None:
                        return self._body(response, until, late)
                    request = following
                finally:
                    response.close()
        except httpx2.TimeoutException as error:
            raise late from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            detail = self._redact(str(error)) or type(error).__name__
            raise CallFailed("connection", detail, again=True) from error
        raise CallFailed("unreadable", f"more than {_REDIRECTS} redirects")

    def _redirected(self, response: Response) -> Any:
        """The request that a redirect leads to, within the same host only: headers may hold a key."""
        following = response.next_request
        if following is None:
            return None
        if following.url.host != response.url.host or following.url.scheme not in (
            "https",
            response.url.scheme,
        ):
            raise CallFailed("unreadable", f"redirected to another host, {following.url.host}")
        return following

    def _body(self, response: Response, until: float, late: CallFailed) -> bytes:
        """The whole body of an answer with status 200, in time."""
        chunks, size = [], 0
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            size += len(chunk)
            if time.monotonic() > until:
                raise late
            if size > MAX_BODY_BYTES:
                raise CallFailed("unreadable", f"the answer is longer than {MAX_BODY_BYTES:,} bytes")
        raw = b"".join(chunks)
        if response.status_code == 200:
            return raw
        status = response.status_code
        kind, again = _kind(status)
        detail = self._redact(self._words(raw)) or "no reason given"
        wait_s = retry_after_s(response.headers)
        raise CallFailed(kind, detail, again=again, status=status, retry_after_s=wait_s)

    def _open(self) -> Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(headers=self._headers)
            return self._client

    def _redact(self, text: str) -> str:
        if self._secret:
            text = text.replace(self._secret, "***")
        text = clean(text).rstrip(".")
        return text if len(text) <= _DETAIL_CHARS else text[:_DETAIL_CHARS] + "…"


def start_of(raw: bytes) -> str:
    """How an answer begins, for messages."""
    return clean(raw[:80].decode("utf-8", "replace"))


def _kind(status: int) -> tuple[str, bool]:
    """The kind of a failure, and whether trying again can help."""
    if status in (401, 403):
        return "auth", False
    if status in (404, 410):
        return "not_found", False
    if status in (408, 425):
        return "timeout", True
    if status == 429:
        return "rate_limit", True
    if status >= 500:
        return "server", status != 501
    return "bad_request", False


def _words(raw: bytes) -> str:
    """The service's own words about a failure."""
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return start_of(raw)
    while isinstance(told, dict) and (key := next((k for k in _PROSE if told.get(k)), None)):
        told = told[key]
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
