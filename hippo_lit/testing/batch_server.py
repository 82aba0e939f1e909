"""A loopback server that plays the Batch API: files, jobs that end when a test says so, and their answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hippo_lit.testing.server import Answer, chat_reply, json_reply, status

Lines = list[str]


class BatchServer:
    """An OpenAI-compatible server on the loopback interface with files, batches and chat completions.

    `answer` gives the text of a reply for the body of a request. A job stays "in_progress" until `finish`,
    or until it was looked up `auto` times. `disturb` has one request refused, or its reply lost. Use it as
    a context manager; `base_url` is valid inside, and what was sent stays readable after::

        with BatchServer(lambda body: '{"entities": [], "triples": []}') as server:
            ...
            server.finish()
    """

    def __init__(self, answer: Callable[[Mapping[str, Any]], str], *, auto: int | None = None) -> None:
        self.base_url = ""
        self.files: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.online: list[Mapping[str, Any]] = []
        """Bodies of the chat completions that were asked for one by one."""
        self.log: list[str] = []
        """Every request as "METHOD path"."""
        self._answer = answer
        self._auto = auto
        self._looks: dict[str, int] = {}
        self._disturbed: list[tuple[str, Answer | None]] = []
        self._lock = threading.RLock()

    def requests(self, job_id: str) -> list[dict[str, Any]]:
        """The lines of a job's input file."""
        content = self.files[self.jobs[job_id]["input_file_id"]]
        return [json.loads(line) for line in content.splitlines()]

    def finish(
        self,
        job_id: str | None = None,
        *,
        state: str = "completed",
        edit: Callable[[Lines], Lines] | None = None,
        errors: Sequence[Mapping[str, Any] | str] = (),
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        """End a job, by default the latest, with an answer to each request.

        `edit` takes the lines of the output file and gives those that are served; `errors` are lines of the
        error file; `problem` is the error of a job whose `state` is "failed", which has no files.
        """
        with self._lock:
            job = self.jobs[job_id or list(self.jobs)[-1]]
            job["status"] = state
            if state == "failed":
                job["errors"] = {"object": "list", "data": [dict(problem or {"message": "no reason"})]}
                return
            lines = [self._output(row) for row in self.requests(job["id"])]
            lines = edit(lines) if edit is not None else lines
            if lines:
                job["output_file_id"] = self._store("\n".join(lines).encode() + b"\n")
            if errors:
                rows = [line if isinstance(line, str) else json.dumps(line) for line in errors]
                job["error_file_id"] = self._store("\n".join(rows).encode())
            job["request_counts"] |= {"completed": len(lines), "failed": len(errors)}

    def disturb(self, request: str, answer: Answer | None) -> None:
        """Meet the next "METHOD /path" with `answer`; None does what it asks, and then drops the reply."""
        self._disturbed.append((request, answer))

    def __enter__(self) -> BatchServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _respond(self, method: str, target: str, content_type: str, raw: bytes) -> Answer | None:
        url = urlsplit(target)
        path = url.path.removeprefix("/v1")
        with self._lock:
            self.log.append(f"{method} {path}")
            for index, (request, answer) in enumerate(self._disturbed):
                if request == f"{method} {path}":
                    del self._disturbed[index]
                    if answer is None:
                        self._do(method, path, parse_qs(url.query), content_type, raw)
                    return answer
            return self._do(method, path, parse_qs(url.query), content_type, raw)

    def _do(
        self, method: str, path: str, query: Mapping[str, list[str]], content_type: str, raw: bytes
    ) -> Answer:
        match method, path.strip("/").split("/"):
            case "POST", ["chat", "completions"]:
                body = json.loads(raw)
                self.online.append(body)
                return chat_reply(self._answer(body))
            case "POST", ["files"]:
                return json_reply({"id": self._store(_uploaded(content_type, raw)), "object": "file"})
            case "GET", ["files", file_id, "content"] if file_id in self.files:
                return Answer(body=self.files[file_id], headers={"Content-Type": "application/octet-stream"})
            case "POST", ["batches"]:
                return json_reply(self._create(json.loads(raw)))
            case "GET", ["batches"]:
                return json_reply(self._page(query))
            case "GET", ["batches", job_id] if job_id in self.jobs:
                self._looks[job_id] = self._looks.get(job_id, 0) + 1
                if self._looks[job_id] == self._auto:
                    self.finish(job_id)
                return json_reply(self.jobs[job_id])
        return status(404, f"there is no {path}")

    def _create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        total = len(self.files[body["input_file_id"]].splitlines())
        job = {
            "id": f"batch_{len(self.jobs) + 1}",
            "object": "batch",
            "status": "in_progress",
            "created_at": 2_000_000_000 + len(self.jobs),
            "request_counts": {"total": total, "completed": 0, "failed": 0},
            **body,
        }
        self.jobs[job["id"]] = job
        return job

    def _page(self, query: Mapping[str, list[str]]) -> dict[str, Any]:
        """One job a page, the newest first."""
        newest = list(self.jobs.values())[::-1]
        after = query.get("after", [""])[0]
        start = next((i + 1 for i, job in enumerate(newest) if job["id"] == after), 0)
        return {"object": "list", "data": newest[start : start + 1], "has_more": start + 1 < len(newest)}

    def _store(self, content: bytes) -> str:
        file_id = f"file-{len(self.files) + 1}"
        self.files[file_id] = content
        return file_id

    def _output(self, row: Mapping[str, Any]) -> str:
        body = json.loads(chat_reply(self._answer(row["body"])).body)
        response = {"status_code": 200, "request_id": "r", "body": body}
        return json.dumps({"id": "x", "custom_id": row["custom_id"], "response": response, "error": None})


def _uploaded(content_type: str, raw: bytes) -> bytes:
    """The file in a multipart form."""
    form = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + raw)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
    content = parts["file"].get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _handler(server: BatchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def _serve(self, method: str) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = server._respond(method, self.path, self.headers.get("Content-Type", ""), raw)
            self.close_connection = True
            if answer is None:
                return  # the reply is lost: the client finds the connection closed
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: a test reads `log` instead."""

    return Handler
