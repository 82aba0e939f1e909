"""A loopback server that speaks the OpenAI API and misbehaves as a script tells it."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from hippo_lit.testing.doubles import HashEmbedder


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that a ScriptedServer received."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a ScriptedServer sends back.

    `delay_s` passes before anything is sent; with `drip_s`, one blank every 20 ms for so long before
    the body. `length` is announced instead of the body's own, `reset` breaks the connection at once.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drip_s: float = 0.0
    length: int | None = None
    reset: bool = False


Behaviour = Answer | Callable[[Recorded], Answer]


def chat_reply(
    text: str | None, *, finish_reason: str = "stop", prompt_tokens: int = 7, completion_tokens: int = 3
) -> Answer:
    """A chat completion as the OpenAI API sends it."""
    message = {"role": "assistant", "content": text}
    data = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }
    return json_reply(data)


def embeddings(dim: int = 8) -> Behaviour:
    """Answers an embeddings request with HashEmbedder's vectors."""

    def answer(request: Recorded) -> Answer:
        vectors = HashEmbedder(dim).embed(list(request.body["input"]), "passage")
        items = [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)]
        usage = {"prompt_tokens": len(items), "total_tokens": len(items)}
        return json_reply({"object": "list", "data": items, "model": "scripted", "usage": usage})

    return answer


def json_reply(data: object, *, status: int = 200) -> Answer:
    return Answer(status, json.dumps(data).encode(), {"Content-Type": "application/json"})


def status(code: int, message: str = "scripted failure", *, retry_after: str | None = None) -> Answer:
    """An error as the OpenAI API sends it, with a Retry-After header where given."""
    answer = json_reply({"error": {"message": message, "type": "error", "param": None}}, status=code)
    wait = {} if retry_after is None else {"Retry-After": retry_after}
    return replace(answer, headers={**answer.headers, **wait})


def slow(seconds: float, answer: Answer) -> Answer:
    """`answer`, after so many seconds of silence."""
    return replace(answer, delay_s=seconds)


def dripping(seconds: float, answer: Answer) -> Answer:
    """`answer`, after blanks for so many seconds, as some servers send them to keep a connection alive."""
    return replace(answer, drip_s=seconds)


def empty_body() -> Answer:
    return Answer(headers={"Content-Type": "application/json"})


def truncated_json() -> Answer:
    """A completion cut off in the middle, though its length is as announced."""
    whole = chat_reply("some text that is cut")
    return replace(whole, body=whole.body[: len(whole.body) // 2])


def dropped_body() -> Answer:
    """A connection that is closed before the announced length was sent."""
    whole = chat_reply("some text that is cut")
    return replace(whole, body=whole.body[: len(whole.body) // 2], length=len(whole.body))


def html_page(code: int = 200) -> Answer:
    page = b"<html><head><title>Welcome</title></head><body>It works!</body></html>"
    return Answer(code, page, {"Content-Type": "text/html"})


def connection_reset() -> Answer:
    return Answer(reset=True)


def refusing(code: int, formats: Sequence[str], otherwise: Behaviour) -> Behaviour:
    """Refuses `response_format` of the given types ("json_schema", "json_object") with an HTTP status."""

    def answer(request: Recorded) -> Answer:
        asked = request.body.get("response_format", {}).get("type")
        if asked in formats:
            return status(code, f"response_format of type {asked} is not supported")
        return otherwise(request) if callable(otherwise) else otherwise

    return answer


class ScriptedServer:
    """An OpenAI-compatible server on the loopback interface that follows a script.

    Each request gets the next behaviour; the last one repeats. `requests` records what came in. Use it
    as a context manager; `base_url` is valid inside.
    """

    def __init__(self, script: Sequence[Behaviour]) -> None:
        if not script:
            raise ValueError("the script is empty")
        self.requests: list[Recorded] = []
        self.base_url = ""
        self._script = list(script)
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def __enter__(self) -> ScriptedServer:
        self._stopping.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False  # so that leaving waits for every connection to be closed
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: Recorded) -> Answer:
        with self._lock:
            behaviour = self._script[min(len(self.requests), len(self._script) - 1)]
            self.requests.append(request)
        return behaviour(request) if callable(behaviour) else behaviour

    def _wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)


def _handler(script: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = script._answer(Recorded(self.path, headers, json.loads(raw or b"{}")))
            self.close_connection = True
            with contextlib.suppress(ConnectionError):  # the client may have given up, as scripted
                self._send(answer)

        def do_GET(self) -> None:
            self.do_POST()

        def _send(self, answer: Answer) -> None:
            script._wait(answer.delay_s)
            if answer.reset:
                # Zero linger: closing sends RST rather than FIN.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                return
            blanks = round(answer.drip_s / 0.02)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            length = len(answer.body) + blanks if answer.length is None else answer.length
            self.send_header("Content-Length", str(length))
            self.send_header("Connection", "close")
            self.end_headers()
            for _ in range(blanks):
                self.wfile.write(b" ")
                script._wait(0.02)
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: a test reads `requests` instead."""

    return Handler
