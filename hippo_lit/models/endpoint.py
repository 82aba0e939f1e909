"""One OpenAI-compatible server: single calls through the `openai` client, failures sorted by kind."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from hippo_lit.errors import ConfigError
from hippo_lit.retry import CallFailed, Pace, RetryPolicy, retry_after_s

if TYPE_CHECKING:
    from openai import OpenAI

T = TypeVar("T")

_DETAIL_CHARS = 300
_ADVICE = {
    "auth": "Check the key in the environment variable {env}, and that it may use this model.",
    "not_found": "Check the model's name and the base URL (most servers want it to end in /v1).",
    "quota": "The account has no credit left: add some, or use another account's key in {env}.",
    "bad_request": "The server refuses this request; trying again will not help.",
    "rate_limit": "Make fewer calls at once, or try again later; finished work is kept.",
    "server": "The server is in trouble; try again later.",
    "timeout": "Raise the time-out, or use a faster model.",
    "unreachable": "Check that the server is running and that the base URL is right.",
    "connection": "Check that the server is running and that the base URL is right.",
    "empty_reply": "Try again, or use another model.",
    "truncated": "Raise llm.max_tokens.",
    "given_up": "The next run asks again.",
    "unreadable": "If it stays so, check the base URL (most servers want it to end in /v1).",
}


class Endpoint:
    """Where calls go and how often they are tried. Safe to use from several threads.

    `base_url=None` means the environment's OPENAI_BASE_URL, else OpenAI itself. The key is read from
    the environment variable `api_key_env` at the first call; a server of one's own needs none.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key_env: str,
        policy: RetryPolicy,
        requests_per_minute: float | None = None,
    ) -> None:
        self.base_url = (base_url or os.environ.get("OPENAI_BASE_URL", "")).strip().rstrip("/") or None
        if self.base_url and not re.match(r"https?://[^/\s]+", self.base_url):
            raise ConfigError(
                f"The base URL {self.where!r} is not of the form http://host:port/v1 or https://host/v1.",
                key="base_url",
            )
        self.api_key_env = api_key_env
        self._policy = policy
        self._pace = Pace(requests_per_minute)
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._key = ""
        self._answered = False

    @property
    def where(self) -> str:
        """The server's address for messages and names, without user name and password."""
        if self.base_url is None:
            return "openai"
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))

    def run(self, attempt: Callable[[float], T]) -> T:
        """`attempt(seconds)` under the retry policy. Raises CallFailed."""
        return self._policy.run(attempt, self._pace)

    def explain(self, failed: CallFailed, model: str) -> str:
        """A failure in one or two sentences: what happened, and what to do."""
        tries = f" after {failed.attempts} attempts" if failed.attempts > 1 else ""
        status = f"HTTP {failed.status}: " if failed.status else ""
        advice = _ADVICE[failed.kind].format(env=self.api_key_env)
        if failed.kind == "auth" and not self._key:
            advice = f"Set the environment variable {self.api_key_env} to a key for this server."
        if failed.retry_after_s:
            advice = f"The server asks to wait {failed.retry_after_s:.0f} s. {advice}"
        return f"Model {model} at {self.where} failed{tries}: {status}{failed.detail}. {advice}"

    def chat(self, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """POST one chat completion; the reply's JSON object. Raises CallFailed."""
        return self._send(self._open().chat.completions.with_streaming_response.create, body, seconds)

    def chat_pieces(self, body: Mapping[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
        """POST one chat completion with `stream` set; the JSON objects as they come. Raises CallFailed.

        A server that knows no streaming gives its one reply. `seconds` is for each wait, not for all of it.
        """
        create = self._open().chat.completions.with_streaming_response.create
        with self._failures(seconds), create(**body, timeout=seconds) as response:
            if "event-stream" not in response.headers.get("content-type", ""):
                yield self._decode(b"".join(response.iter_bytes()))
                return
            for line in response.iter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    return
                if data:
                    yield self._decode(data.encode())

    def embeddings(self, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """POST one embeddings request; the reply's JSON object. Raises CallFailed."""
        return self._send(self._open().embeddings.with_streaming_response.create, body, seconds)

    def upload(self, name: str, content: bytes, seconds: float) -> dict[str, Any]:
        """Upload the input file of a batch; the file object. Raises CallFailed."""
        file = (name, content, "application/jsonl")
        body = {"file": file, "purpose": "batch"}
        return self._send(self._open().files.with_streaming_response.create, body, seconds)

    def create_batch(self, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """POST a batch; the batch object. Raises CallFailed."""
        return self._send(self._open().batches.with_streaming_response.create, body, seconds)

    def batch(self, batch_id: str, seconds: float) -> dict[str, Any]:
        """The batch object of this id. Raises CallFailed."""
        body = {"batch_id": batch_id}
        return self._send(self._open().batches.with_streaming_response.retrieve, body, seconds)

    def batches(self, after: str | None, seconds: float) -> dict[str, Any]:
        """A page of batch objects, the newest first. Raises CallFailed."""
        body: dict[str, Any] = {"limit": 100} | ({"after": after} if after else {})
        return self._send(self._open().batches.with_streaming_response.list, body, seconds)

    def file_content(self, file_id: str, seconds: float) -> bytes:
        """The bytes of a file. Raises CallFailed."""
        body = {"file_id": file_id}
        return self._fetch(self._open().files.with_streaming_response.content, body, seconds)

    def failure(self, status: int, body: object) -> CallFailed:
        """What an error object that came with `status`, but not over HTTP, means."""
        return self._failure(status, body, None)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                from openai import OpenAI

                self._key = os.environ.get(self.api_key_env, "").strip()
                if not self._key and self.base_url is None:
                    raise CallFailed(
                        "auth", f"no key: the environment variable {self.api_key_env} is not set"
                    )
                if not self._key.isascii():
                    raise CallFailed("auth", f"the key in {self.api_key_env} has characters no key has")
                self._client = OpenAI(
                    api_key=self._key or "not-needed", base_url=self.base_url, max_retries=0
                )
            return self._client

    def _send(self, create: Callable[..., Any], body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        return self._decode(self._fetch(create, body, seconds))

    def _fetch(self, create: Callable[..., Any], body: Mapping[str, Any], seconds: float) -> bytes:
        until = time.monotonic() + seconds
        # Streaming only so that the total time can be kept: servers that send white space to keep a
        # connection alive never run into a time-out between two reads.
        with self._failures(seconds), create(**body, timeout=seconds) as response:
            chunks = []
            for chunk in response.iter_bytes():
                chunks.append(chunk)
                if time.monotonic() > until:
                    raise CallFailed("timeout", f"no answer within {seconds:.3g} s", again=True)
        return b"".join(chunks)

    @contextmanager
    def _failures(self, seconds: float) -> Iterator[None]:
        """What the client and the connection raise, as CallFailed."""
        import httpx2
        import openai

        try:
            yield
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise CallFailed("timeout", f"no answer within {seconds:.3g} s", again=True) from error
        except openai.APIStatusError as error:
            self._answered = True
            raise self._refused(error) from error
        except (openai.APIConnectionError, httpx2.RequestError) as error:
            cause = error.__cause__ or error
            kind = "unreachable" if _nobody(error) and not self._answered else "connection"
            raise CallFailed(kind, self._redact(f"{cause}"), again=True) from error
        else:
            self._answered = True

    def _refused(self, error: Any) -> CallFailed:
        body = error.body
        if isinstance(body, dict) and "error" in body:
            body = body["error"]
        return self._failure(error.status_code, body, retry_after_s(error.response.headers))

    def _decode(self, raw: bytes) -> dict[str, Any]:
        text = raw.decode("utf-8", "replace").strip()
        if not text:
            raise CallFailed("empty_reply", "the server sent an empty body", again=True)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            start = self._redact(text)
            raise CallFailed("unreadable", f"the reply is not JSON but begins {start!r}") from error
        if not isinstance(data, dict):
            raise CallFailed("unreadable", f"the reply is not a JSON object but {self._redact(text)!r}")
        if data.get("error"):  # some gateways report an upstream failure with HTTP 200
            problem = data["error"]
            code = problem.get("code") if isinstance(problem, dict) else None
            raise self._failure(code if isinstance(code, int) and code >= 400 else 500, problem, None)
        return data

    def _failure(self, status: int, body: object, wait_s: float | None) -> CallFailed:
        kind, again = _kind(status)
        problem = body if isinstance(body, dict) else {}
        if status == 402 or "insufficient_quota" in (problem.get("code"), problem.get("type")):
            kind, again = "quota", False  # an account without money, which OpenAI reports as 429
        return CallFailed(
            kind,
            self._redact(_words(body)) or "no reason given",
            again=again,
            status=status,
            retry_after_s=wait_s,
            param=_blamed(problem),
        )

    def _redact(self, text: str) -> str:
        if self._key:
            text = text.replace(self._key, "***")
        text = re.sub(r"\s+", " ", text).strip().rstrip(".")
        return text if len(text) <= _DETAIL_CHARS else text[:_DETAIL_CHARS] + "…"

    def __repr__(self) -> str:
        return f"Endpoint({self.where!r})"


def _nobody(error: BaseException | None) -> bool:
    """Whether nobody listens at the address, or it is none."""
    while error is not None:
        if isinstance(error, (ConnectionRefusedError, socket.gaierror)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _kind(status: int) -> tuple[str, bool]:
    """ChatModelError's kind for an HTTP status, and whether trying again can help."""
    if status in (401, 403):
        return "auth", False
    if status == 404:
        return "not_found", False
    if status == 408:
        return "timeout", True
    if status == 429:
        return "rate_limit", True
    if status >= 500 or status == 409:
        return "server", status != 501
    return "bad_request", False


def _words(body: object) -> str:
    """What the server says in prose, whatever shape it wraps it in."""
    if isinstance(body, dict):
        for key in ("message", "detail", "error"):
            if body.get(key):
                return _words(body[key])
    if isinstance(body, str):
        return body
    return "" if body is None else json.dumps(body, ensure_ascii=False, default=str)


def _blamed(problem: Mapping[str, Any]) -> str:
    """The parameter an error object names: OpenAI's `param`, or the last `loc` of a FastAPI `detail`."""
    if isinstance(param := problem.get("param"), str):
        return param
    detail = problem.get("detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        place = detail[0].get("loc")
        return ".".join(str(part) for part in place if part != "body") if isinstance(place, list) else ""
    return ""
