"""The Batch API of an OpenAI-compatible provider: requests as a file, answers as files within a day."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hippo_lit.errors import ChatModelError
from hippo_lit.models.awaiting import Request
from hippo_lit.models.chat import OpenAIChat
from hippo_lit.retry import CallFailed
from hippo_lit.types import Reply, Usage

T = TypeVar("T")
MAX_REQUESTS = 50_000
MAX_BYTES = 200_000_000
ENDED = ("completed", "failed", "expired", "cancelled")
_FILE_S = 600.0  # a file of 200 MB takes its time
_UNANSWERED = ("batch_expired", "batch_cancelled")
_QUOTA = ("insufficient_quota", "billing_hard_limit_reached")
_LATER = ("token_limit_exceeded",)  # too much is queued already


@dataclass(frozen=True, slots=True)
class Batch:
    """A job as the provider describes it. `problem` and `code` say why it failed, where it did."""

    id: str
    status: str
    input_file_id: str = ""
    output_file_id: str = ""
    error_file_id: str = ""
    completed: int = 0
    failed: int = 0
    created_at: float = 0.0
    problem: str = ""
    code: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(slots=True)
class Answers:
    """What the files of a job say, by request. Every request of the job is in `replies` or in `errors`.

    A reply may be cut off (finish_reason "length"). `unreadable` lines were no JSON or named no request
    of this job.
    """

    replies: dict[str, Reply] = field(default_factory=dict)
    errors: dict[str, ChatModelError] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def usage(self) -> Usage:
        return sum((reply.usage for reply in self.replies.values()), Usage())


class BatchApi:
    """Jobs of chat calls as `chat` would make them. All methods raise ChatModelError.

    Reading and uploading are tried again as calls are; `create` is tried once, since a job that was made
    twice is paid for twice.
    """

    def __init__(self, chat: OpenAIChat, *, price_factor: float = 0.5) -> None:
        self._chat = chat
        self._endpoint = chat.endpoint
        self._price_factor = price_factor

    @property
    def server(self) -> str:
        """Where the jobs are."""
        return self._endpoint.where

    def line(self, request: Request) -> bytes:
        """The request as a line of an input file."""
        body = self._chat.request(request.messages, request.schema)
        row = {"custom_id": request.key, "method": "POST", "url": "/v1/chat/completions", "body": body}
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"

    def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """Upload an input file; its id."""
        content = b"".join(lines)
        data = self._run(lambda _: self._endpoint.upload(name, content, _FILE_S))
        return self._id(data)

    def create(self, file_id: str, token: str) -> Batch:
        """Make a job of an uploaded file. After an error of kind "timeout", "connection", "server" or
        "unreadable" the job may be there nevertheless: see `find`."""
        body = {
            "input_file_id": file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"hippo_lit": token},
        }
        return self._batch(self._once(lambda: self._endpoint.create_batch(body, _FILE_S)))

    def find(self, file_id: str, since: float) -> Batch | None:
        """The job that was made of this file after `since` (seconds since 1970), if there is one."""
        after: str | None = None
        while True:
            page = self._run(lambda s, after=after: self._endpoint.batches(after, s))  # type: ignore[misc]
            rows = page.get("data")
            batches = (
                [self._batch(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            )
            for batch in batches:
                if batch.input_file_id == file_id:
                    return batch
            if not batches or not page.get("has_more") or batches[-1].created_at < since:
                return None
            after = batches[-1].id

    def retrieve(self, batch_id: str) -> Batch:
        """The job as it is now."""
        return self._batch(self._run(lambda seconds: self._endpoint.batch(batch_id, seconds)))

    def answers(self, batch: Batch, keys: Collection[str]) -> Answers:
        """The answers to `keys` in the files of a job that has ended."""
        answers = Answers()
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            for line in self._lines(file_id):
                self._take(line, keys, answers)
        for key in keys:
            if key not in answers.replies and key not in answers.errors:
                answers.errors[key] = self._missing(batch)
        return answers

    def _lines(self, file_id: str) -> Iterator[bytes]:
        try:
            content = self._run(lambda _: self._endpoint.file_content(file_id, _FILE_S))
        except ChatModelError as error:
            if error.kind != "not_found":
                raise
            return  # the provider has deleted it
        yield from filter(bytes.strip, content.split(b"\n"))

    def _take(self, line: bytes, keys: Collection[str], answers: Answers) -> None:
        """Add what a line of an output or error file says; the first answer to a request counts."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        key = row.get("custom_id") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(key, str) or key not in keys:
            answers.unreadable += 1
            return
        if key in answers.replies:
            return
        try:
            answers.replies[key] = self._reply(row)
        except CallFailed as failed:
            answers.errors.setdefault(key, self._error(failed))
        else:
            answers.errors.pop(key, None)

    def _reply(self, row: Mapping[str, Any]) -> Reply:
        response, error = row.get("response"), row.get("error")
        if isinstance(response, dict):
            status, body = response.get("status_code"), response.get("body")
            if isinstance(body, dict) and status == 200 and not body.get("error"):
                return self._chat.read(body, price_factor=self._price_factor)
            problem = body.get("error", body) if isinstance(body, dict) else body
            raise self._endpoint.failure(
                status if isinstance(status, int) and status != 200 else 500, problem
            )
        if isinstance(error, dict):
            message = str(error.get("message") or error.get("code") or "no reason given")
            raise CallFailed("given_up" if error.get("code") in _UNANSWERED else "server", message[:300])
        raise CallFailed("unreadable", "its line in the job's answers has neither a response nor an error")

    def _missing(self, batch: Batch) -> ChatModelError:
        if batch.status == "failed":
            kind = "quota" if batch.code in _QUOTA else "given_up" if batch.code in _LATER else "bad_request"
            return self._error(CallFailed(kind, f"the provider refused job {batch.id}: {batch.problem}"))
        if batch.status in ("expired", "cancelled"):
            return self._error(CallFailed("given_up", f"job {batch.id} was {batch.status} before its turn"))
        return self._error(CallFailed("unreadable", f"the files of job {batch.id} have no answer to it"))

    def _run(self, attempt: Callable[[float], T]) -> T:
        return self._mapped(lambda: self._endpoint.run(attempt))

    def _once(self, call: Callable[[], T]) -> T:
        return self._mapped(call)

    def _mapped(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except CallFailed as failed:
            raise self._error(failed) from failed

    def _error(self, failed: CallFailed) -> ChatModelError:
        return ChatModelError(
            self._endpoint.explain(failed, self._chat.name),
            model=self._chat.name,
            kind=failed.kind,
            status=failed.status,
            attempts=failed.attempts,
            retry_after_s=failed.retry_after_s,
        )

    def _id(self, data: Mapping[str, Any]) -> str:
        found = data.get("id")
        if not isinstance(found, str) or not found:
            raise self._error(CallFailed("unreadable", "the reply has no id"))
        return found

    def _batch(self, data: Mapping[str, Any]) -> Batch:
        counts = data.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        problem, code = _problem(data.get("errors"))
        return Batch(
            self._id(data),
            str(data.get("status") or ""),
            str(data.get("input_file_id") or ""),
            str(data.get("output_file_id") or ""),
            str(data.get("error_file_id") or ""),
            _number(counts.get("completed")),
            _number(counts.get("failed")),
            float(_number(data.get("created_at"))),
            problem,
            code,
        )


def split(lines: Iterator[tuple[Request, bytes]]) -> Iterator[list[tuple[Request, bytes]]]:
    """Groups that each fit into one input file."""
    group: list[tuple[Request, bytes]] = []
    size = 0
    for item in lines:
        if group and (len(group) >= MAX_REQUESTS or size + len(item[1]) > MAX_BYTES):
            yield group
            group, size = [], 0
        group.append(item)
        size += len(item[1])
    if group:
        yield group


def _problem(errors: object) -> tuple[str, str]:
    """Message and code of the first error of a batch object."""
    data = errors.get("data") if isinstance(errors, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    if not isinstance(first, dict):
        return "no reason given", ""
    line = f" (line {first['line']})" if isinstance(first.get("line"), int) else ""
    return f"{first.get('message') or first.get('code') or 'no reason given'}{line}", str(first.get("code"))


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0
