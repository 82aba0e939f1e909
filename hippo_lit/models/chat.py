"""A chat model behind an OpenAI-compatible server."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from hippo_lit.errors import ChatModelError
from hippo_lit.llm.streaming import OnText
from hippo_lit.models.dialect import Dialect, ResponseFormat
from hippo_lit.models.endpoint import Endpoint
from hippo_lit.models.pieces import STREAMED, StreamedReply, text_of
from hippo_lit.retry import CallFailed, RetryPolicy
from hippo_lit.types import Message, Reply, Usage

_NO_STREAM = (400, 422, 501)
_BELIEVED = 2  # a 500 cured by a lesser format may be chance once; the second time it is the format


class OpenAIChat:
    """`ChatModel` through the `openai` client; safe to call from several threads.

    A call makes at most `max_attempts` tries of `timeout_s` within `deadline_s`: after 429 (waiting what
    Retry-After says), 5xx, time-outs, broken connections and empty replies; never after 400, 401, 403
    or 404. With `response_format="auto"` a schema is sent as json_schema and, where the server refuses
    that, as less and less; what it accepted is remembered, and so are parameters it does not take.

    `base_url=None` is OpenAI, or OPENAI_BASE_URL where that is set. The key comes from the environment
    variable `api_key_env`; a server with a base URL of its own is also called without one. Prices are
    in USD; without both, cost is unknown (None). `requests_per_minute` spaces the calls.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float | None = 0.0,
        max_tokens: int | None = 2048,
        seed: int | None = None,
        timeout_s: float = 60.0,
        deadline_s: float = 180.0,
        max_attempts: int = 5,
        wait_s: float = 0.5,
        requests_per_minute: float | None = None,
        response_format: ResponseFormat = "auto",
        price_in_per_million: float | None = None,
        price_out_per_million: float | None = None,
    ) -> None:
        policy = RetryPolicy(
            max_attempts=max_attempts, timeout_s=timeout_s, deadline_s=deadline_s, wait_s=wait_s
        )
        self._model = model
        self._endpoint = Endpoint(base_url, api_key_env, policy, requests_per_minute)
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._seed = seed
        self._prices = (price_in_per_million, price_out_per_million)
        self._lock = threading.Lock()
        self._dialect = Dialect.of(response_format)
        self._proven: set[str] = set()  # levels that have worked
        self._doubts = 0  # how often a lesser level worked right after a 500

    @property
    def name(self) -> str:
        return self._model

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What a reply depends on besides the messages and the schema."""
        return {
            "base_url": self._endpoint.where,
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
            "seed": self._seed,
        }

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Answer `messages`, as JSON under `schema` as far as the server can.

        Raises ChatModelError; its `usage` is what the failed attempts cost. A reply that was cut off
        has finish_reason "length"; one cut off before its first word is an error of kind "truncated".
        """
        spent = Usage()
        probed = False

        def attempt(seconds: float) -> Reply:
            nonlocal spent, probed
            probe, probed = not probed, True
            data = self._ask(messages, schema, seconds, probe=probe)
            spent = spent + self._usage(data)
            text, finish_reason = _read(data)
            return Reply(text, finish_reason, spent)

        try:
            return self._endpoint.run(attempt)
        except CallFailed as failed:
            raise self._error(failed, spent) from failed

    def stream(self, messages: Sequence[Message], on_text: OnText) -> Reply:
        """As `llm.streaming.Streaming`. A call is tried again only as long as no piece of it has come.

        Where the server refuses the request, it is put as `complete` puts it. `timeout_s` is then the longest
        wait for a piece. Raises as `complete`.
        """
        read = StreamedReply(on_text)

        def attempt(seconds: float) -> Reply:
            try:
                for data in self._endpoint.chat_pieces(self.request(messages, None) | STREAMED, seconds):
                    read.add(data)
                text, finish_reason = _read(read.completion())
            except CallFailed as failed:
                failed.again = failed.again and not read.begun
                raise
            return Reply(text, finish_reason, self._usage(read.data))

        try:
            return self._endpoint.run(attempt)
        except CallFailed as failed:
            if failed.status not in _NO_STREAM or read.begun:
                raise self._error(failed, self._usage(read.data)) from failed
        reply = self.complete(messages)
        on_text(reply.text)
        return reply

    def _error(self, failed: CallFailed, spent: Usage) -> ChatModelError:
        return ChatModelError(
            self._endpoint.explain(failed, self._model),
            model=self._model,
            kind=failed.kind,
            status=failed.status,
            attempts=failed.attempts,
            retry_after_s=failed.retry_after_s,
            usage=spent,
        )

    @property
    def endpoint(self) -> Endpoint:
        """The server."""
        return self._endpoint

    def request(self, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """The body of one call, in the words that the server is known to take."""
        return self._dialect.request(self._body(messages), self._max_tokens, schema)

    def read(self, data: Mapping[str, Any], *, price_factor: float = 1.0) -> Reply:
        """The reply in a chat completion object that came another way than through `complete`.

        Raises CallFailed where it holds no text.
        """
        text, finish_reason = _read(data)
        return Reply(text, finish_reason, self._usage(data, price_factor))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._endpoint.close()

    def __enter__(self) -> OpenAIChat:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, seconds: float, *, probe: bool
    ) -> dict[str, Any]:
        """One request, put again in other words as long as the server refuses how it is put.

        `probe`: also take a 500 for such a refusal, as some servers mean it so. Once a call is enough:
        a server that is really in trouble should not get four requests for each attempt.
        """
        until = time.monotonic() + seconds
        body = self._body(messages)
        before = dialect = self._dialect
        refusals: list[CallFailed] = []
        while True:
            request = dialect.request(body, self._max_tokens, schema)
            try:
                data = self._endpoint.chat(request, max(0.001, until - time.monotonic()))
            except CallFailed as failed:
                refusals.append(failed)
                other = dialect.adapted(
                    failed, with_schema=schema is not None, proven=dialect.level in self._proven
                )
                if other is None or (failed.status == 500 and not probe):
                    raise failed if failed.again else refusals[0]  # noqa: B904 - `failed` is no cause of it
                dialect = other
            else:
                self._learn(before, dialect, refusals, with_schema=schema is not None)
                return data

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": [{"role": m.role, "content": _encodable(m.content)} for m in messages],
            "temperature": self._temperature,
            "seed": self._seed,
        }

    def _learn(
        self, before: Dialect, after: Dialect, refusals: Sequence[CallFailed], *, with_schema: bool
    ) -> None:
        with self._lock:
            if any(refusal.status == 500 for refusal in refusals):
                self._doubts += 1
                if self._doubts < _BELIEVED:
                    after = replace(after, level=before.level)
            elif with_schema:
                self._proven.add(after.level)
            if after != before:
                self._dialect = after

    def _usage(self, data: Mapping[str, Any], price_factor: float = 1.0) -> Usage:
        counts = data.get("usage")
        counts = counts if isinstance(counts, dict) else {}
        tokens_in, tokens_out = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
        price_in, price_out = self._prices
        cost = None
        if price_in is not None and price_out is not None:
            cost = (tokens_in * price_in + tokens_out * price_out) * price_factor / 1e6
        return Usage(1, 0, tokens_in, tokens_out, cost)

    def __repr__(self) -> str:
        return f"OpenAIChat({self._model!r}, base_url={self._endpoint.where!r})"


def _read(data: Mapping[str, Any]) -> tuple[str, str]:
    """Text and finish reason of a chat completion object. Raises CallFailed where there is no text."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise CallFailed("unreadable", "the reply has no choices[0].message")
    text = text_of(message.get("content"))
    finish_reason = str(choice.get("finish_reason") or "stop")
    if text.strip():
        return text, finish_reason
    if finish_reason == "length":
        raise CallFailed("truncated", "the budget of tokens was spent on reasoning before the first word")
    if refusal := text_of(message.get("refusal")):
        raise CallFailed("empty_reply", f"the model declined: {refusal[:200]}")
    if finish_reason == "content_filter":
        raise CallFailed("empty_reply", "the server's content filter removed the reply")
    raise CallFailed("empty_reply", f"the reply is empty (finish reason {finish_reason!r})", again=True)


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _encodable(text: str) -> str:
    """`text` with lone surrogates replaced, since JSON in UTF-8 cannot carry them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
