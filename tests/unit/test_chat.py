"""The real openai client against a loopback server that misbehaves in every way we know of."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from hippo_lit.errors import ChatModelError, ConfigError
from hippo_lit.models.chat import OpenAIChat
from hippo_lit.retry import telling
from hippo_lit.testing import (
    Answer,
    Recorded,
    ScriptedServer,
    chat_reply,
    connection_reset,
    dripping,
    dropped_body,
    empty_body,
    html_page,
    json_reply,
    refusing,
    slow,
    status,
    truncated_json,
)
from hippo_lit.types import Message, Reply, Usage

ASK = [Message("system", "Be brief."), Message("user", "How many?")]
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
OK = chat_reply("four")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OTHER_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def chat(server: ScriptedServer, **settings: Any) -> OpenAIChat:
    quick = {"wait_s": 0.01, "timeout_s": 1.0, "deadline_s": 3.0, "max_attempts": 3}
    return OpenAIChat("small-model", base_url=server.base_url, **(quick | settings))


def ask(script: list[Any], **settings: Any) -> tuple[Reply, list[Recorded]]:
    with ScriptedServer(script) as server, chat(server, **settings) as model:
        return model.complete(ASK), server.requests


def fail(
    script: list[Any], *, schema: dict[str, Any] | None = None, **settings: Any
) -> tuple[ChatModelError, list[Recorded]]:
    with (
        ScriptedServer(script) as server,
        chat(server, **settings) as model,
        pytest.raises(ChatModelError) as caught,
    ):
        model.complete(ASK, schema=schema)
    assert caught.value.model == "small-model"
    return caught.value, server.requests


# What is sent, and what comes back


def test_a_good_reply_with_its_usage_and_cost() -> None:
    reply, (request,) = ask(
        [chat_reply("four", prompt_tokens=1000, completion_tokens=500)],
        price_in_per_million=2.0,
        price_out_per_million=8.0,
        temperature=0.2,
        max_tokens=99,
        seed=7,
    )
    assert reply == Reply("four", "stop", Usage(1, 0, 1000, 500, 0.006))
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "small-model",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"}],
        "temperature": 0.2,
        "max_tokens": 99,
        "seed": 7,
    }


def test_without_prices_the_cost_is_unknown_and_missing_usage_is_zero() -> None:
    reply, _ = ask([json_reply({"choices": [{"message": {"content": "four"}}]})])
    assert reply == Reply("four", "stop", Usage(calls=1))


def test_lone_surrogates_and_control_characters_can_be_asked() -> None:
    with ScriptedServer([OK]) as server, chat(server) as model:
        model.complete([Message("user", "a\ud800b\x00 \U0001d6fd")])
    assert server.requests[0].body["messages"][0]["content"] == "a\ufffdb\x00 \U0001d6fd"


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "fo"}, {"type": "text", "text": "ur"}]
    reply, _ = ask([json_reply({"choices": [{"message": {"content": parts}}]})])
    assert reply.text == "four"


def test_a_reply_that_was_cut_off_says_so() -> None:
    reply, _ = ask([chat_reply("fou", finish_reason="length")])
    assert (reply.text, reply.finish_reason) == ("fou", "length")


# Keys


def test_a_server_of_ones_own_needs_no_key() -> None:
    _, (request,) = ask([OK])
    assert request.headers["authorization"] == "Bearer not-needed"


def test_the_key_comes_from_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    monkeypatch.setenv("OTHER_KEY", " right\n")
    _, (request,) = ask([OK], api_key_env="OTHER_KEY")
    assert request.headers["authorization"] == "Bearer right"


def test_without_base_url_and_key_the_error_names_the_variable() -> None:
    with OpenAIChat("gpt", api_key_env="OTHER_KEY") as model, pytest.raises(ChatModelError) as caught:
        model.complete(ASK)
    assert caught.value.kind == "auth"
    assert "OTHER_KEY" in str(caught.value)


def test_the_environments_base_url_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([OK]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        with OpenAIChat("m") as model:
            assert model.complete(ASK).text == "four"


def test_the_key_is_in_no_message_and_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    error, _ = fail([status(401, "Incorrect API key provided: sk-very-secret")])
    assert "secret" not in str(error)
    assert "secret" not in repr(error.fields)
    with OpenAIChat("m", base_url="http://user:password@127.0.0.1:9/v1", max_attempts=1) as model:
        with pytest.raises(ChatModelError) as caught:
            model.complete(ASK)
        for text in (repr(model), str(caught.value), repr(model.parameters)):
            assert "password" not in text
            assert "secret" not in text


@pytest.mark.parametrize("url", ["localhost:8080/v1", "ftp://host/v1", "https://"])
def test_a_base_url_must_be_one(url: str) -> None:
    with pytest.raises(ConfigError, match="base URL"):
        OpenAIChat("m", base_url=url)


# Failures that pass


@pytest.mark.parametrize(
    "hiccup",
    [
        status(429),
        status(429, retry_after="0"),
        status(500),
        status(503, retry_after="0.01"),
        status(408),
        html_page(502),
        empty_body(),
        chat_reply(""),
        chat_reply(" \n"),
        chat_reply(None),
        connection_reset(),
        dropped_body(),
        json_reply({"error": {"message": "upstream is busy", "code": 429}}),
    ],
)
def test_what_may_pass_is_tried_again(hiccup: Answer) -> None:
    reply, requests = ask([hiccup, OK])
    assert reply.text == "four"
    assert len(requests) == 2


def test_a_time_out_is_tried_again() -> None:
    reply, requests = ask([slow(1.0, OK), OK], timeout_s=0.1)
    assert (reply.text, len(requests)) == ("four", 2)


def test_retry_after_is_kept() -> None:
    start = time.monotonic()
    ask([status(429, retry_after="0.3"), OK], wait_s=0.0)
    assert time.monotonic() - start >= 0.3


def test_paid_attempts_are_all_counted() -> None:
    reply, _ = ask([chat_reply(""), OK])
    assert reply.usage == Usage(2, 0, 14, 6, None)


# Failures that stay


@pytest.mark.parametrize(
    ("code", "kind"),
    [(400, "bad_request"), (401, "auth"), (403, "auth"), (404, "not_found"), (413, "bad_request")],
)
def test_what_will_not_pass_is_tried_once(code: int, kind: str) -> None:
    error, requests = fail([status(code, "because")])
    assert (error.kind, error.status, error.attempts, len(requests)) == (kind, code, 1, 1)
    assert "because" in str(error)


def test_no_money_left_is_not_tried_again() -> None:
    error, requests = fail(
        [json_reply({"error": {"message": "No money", "code": "insufficient_quota"}}, status=429)]
    )
    assert (error.kind, len(requests)) == ("quota", 1)


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (status(429), "rate_limit", 429),
        (status(500), "server", 500),
        (empty_body(), "empty_reply", None),
        (connection_reset(), "connection", None),
    ],
)
def test_attempts_are_limited(answer: Answer, kind: str, code: int | None) -> None:
    error, requests = fail([answer])
    assert (error.kind, error.status, error.attempts, len(requests)) == (kind, code, 3, 3)


def test_empty_replies_are_tried_again_only_twice() -> None:
    error, requests = fail([chat_reply("")], max_attempts=9)
    assert (error.kind, len(requests)) == ("empty_reply", 3)
    assert error.usage == Usage(3, 0, 21, 9, None)


@pytest.mark.parametrize(
    "answer",
    [
        truncated_json(),
        html_page(),
        json_reply([]),
        json_reply({"choices": []}),
        json_reply({"choices": None}),
        json_reply({"choices": ["text"]}),
        json_reply({"choices": [{"text": "old"}]}),
        Answer(body=b"[" * 100_000),
    ],
)
def test_garbage_is_unreadable(answer: Answer) -> None:
    error, requests = fail([answer])
    assert (error.kind, len(requests)) == ("unreadable", 1)


def test_a_budget_spent_on_reasoning() -> None:
    error, requests = fail([chat_reply("", finish_reason="length")])
    assert (error.kind, len(requests)) == ("truncated", 1)
    assert "llm.max_tokens" in str(error)
    assert error.usage.completion_tokens == 3


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": None, "refusal": "I cannot help with that."}},
        {"message": {"content": ""}, "finish_reason": "content_filter"},
    ],
)
def test_a_refusal_is_not_asked_again(choice: dict[str, Any]) -> None:
    error, requests = fail([json_reply({"choices": [choice]})])
    assert (error.kind, len(requests)) == ("empty_reply", 1)


def test_nobody_listens() -> None:
    with ScriptedServer([OK]) as server:
        url = server.base_url
    with OpenAIChat("m", base_url=url, max_attempts=2, wait_s=0.0) as model:
        with pytest.raises(ChatModelError) as caught:
            model.complete(ASK)
        assert (caught.value.kind, caught.value.attempts) == ("unreachable", 2)
        assert caught.value.account_wide
        assert url in str(caught.value)


def test_a_server_that_was_never_there_is_given_up_soon() -> None:
    with ScriptedServer([OK]) as server:
        url = server.base_url
    heard: list[str] = []
    model = OpenAIChat("m", base_url=url, wait_s=0.01)
    with telling(heard.append), pytest.raises(ChatModelError) as caught:
        model.complete(ASK)
    assert (caught.value.kind, caught.value.attempts) == ("unreachable", 2)
    [line] = heard
    assert line.endswith("retrying in 0.0 s (attempt 2 of 5)")


def test_a_server_that_answered_is_waited_for() -> None:
    with OpenAIChat("m", base_url="http://127.0.0.1:9/v1", max_attempts=4, wait_s=0.0) as model:
        with ScriptedServer([OK]) as server:
            model.endpoint.base_url = server.base_url
            model.complete(ASK)
        with pytest.raises(ChatModelError) as caught:
            model.complete(ASK)
    assert (caught.value.kind, caught.value.attempts) == ("connection", 4)


# The deadline


def test_silence_ends_with_the_deadline() -> None:
    start = time.monotonic()
    error, _ = fail([slow(5, OK)], timeout_s=0.2, deadline_s=0.5, max_attempts=99)
    assert error.kind == "timeout"
    assert time.monotonic() - start < 1.2


def test_white_space_that_keeps_the_connection_alive_does_not_pass_the_deadline() -> None:
    start = time.monotonic()
    error, _ = fail([dripping(5, OK)], timeout_s=0.4, deadline_s=0.4)
    assert error.kind == "timeout"
    assert time.monotonic() - start < 1.2


def test_white_space_before_a_reply_is_fine() -> None:
    assert ask([dripping(0.1, OK)])[0].text == "four"


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_retry_after_beyond_the_deadline_fails_at_once(form: str) -> None:
    later = datetime.now(UTC) + timedelta(seconds=60)
    wait = "60" if form == "seconds" else format_datetime(later, usegmt=True)
    error, requests = fail([status(429, retry_after=wait)])
    assert (error.kind, len(requests)) == ("rate_limit", 1)
    assert 55 < error.retry_after_s <= 60


# What servers understand


def formats(requests: list[Recorded]) -> list[str]:
    """Which response_format each request asked for."""
    asked = [r.body.get("response_format", {"type": "text"}) for r in requests]
    return [f"{a['type']}+schema" if "schema" in a else a["type"] for a in asked]


def ask_json(script: list[Any], times: int, **settings: Any) -> list[Recorded]:
    with ScriptedServer(script) as server, chat(server, **settings) as model:
        for _ in range(times):
            assert model.complete(ASK, schema=SCHEMA).text == "four"
    return server.requests


def test_a_schema_is_sent_strictly_where_that_is_possible() -> None:
    loose = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with ScriptedServer([OK]) as server, chat(server) as model:
        model.complete(ASK, schema=SCHEMA)
        model.complete(ASK, schema=loose)
    sent = [r.body["response_format"]["json_schema"] for r in server.requests]
    assert [s["strict"] for s in sent] == [True, False]
    assert [s["schema"] for s in sent] == [SCHEMA, loose]


@pytest.mark.parametrize("code", [400, 422, 501])
def test_a_refused_schema_is_sent_as_json_object_and_that_is_remembered(code: int) -> None:
    requests = ask_json([refusing(code, ["json_schema"], OK)], 2)
    assert formats(requests) == ["json_schema", "json_object+schema", "json_object+schema"]


@pytest.mark.parametrize("code", [400, 422, 501])
def test_a_server_without_formats_gets_plain_text(code: int) -> None:
    requests = ask_json([refusing(code, ["json_schema", "json_object"], OK)], 2)
    assert formats(requests) == ["json_schema", "json_object+schema", "json_object", "text", "text"]


def test_a_500_that_means_the_schema_is_believed_the_second_time() -> None:
    requests = ask_json([refusing(500, ["json_schema"], OK)], 3)
    assert formats(requests) == ["json_schema", "json_object+schema"] * 2 + ["json_object+schema"]


def test_a_500_by_chance_does_not_cost_the_schema() -> None:
    requests = ask_json([status(500), OK], 2)
    assert formats(requests) == ["json_schema", "json_object+schema", "json_schema"]


def test_a_500_after_the_schema_has_worked_is_just_a_500() -> None:
    requests = ask_json([OK, status(500), OK], 2)
    assert formats(requests) == ["json_schema"] * 3


def test_a_server_in_trouble_is_probed_once_a_call() -> None:
    error, requests = fail([status(500)], schema=SCHEMA)
    assert (error.kind, error.attempts) == ("server", 3)
    assert formats(requests) == [
        "json_schema", "json_object+schema", "json_object", "text", "json_schema", "json_schema"
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["json_schema", "json_object", "text"])
def test_a_format_that_was_set_is_kept(level: str) -> None:
    requests = ask_json([OK], 1, response_format=level)
    assert formats(requests) == [level]
    _, requests = fail([status(400)], schema=SCHEMA, response_format=level)
    assert formats(requests) == [level]


def test_a_bad_request_about_something_else_is_not_about_the_format() -> None:
    error = {"message": "too long", "param": "messages", "code": "context_length_exceeded"}
    caught, requests = fail([json_reply({"error": error}, status=400)], schema=SCHEMA)
    assert "too long" in str(caught)
    assert len(requests) == 1


def reasoning_model(request: Recorded) -> Answer:
    """Refuses, one after the other, what reasoning models refuse."""
    if "max_tokens" in request.body:
        message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return json_reply({"error": {"message": message, "param": "max_tokens"}}, status=400)
    if "temperature" in request.body:
        message = "Unsupported value: 'temperature' does not support 0.0 with this model."
        return json_reply({"error": {"message": message, "param": "temperature"}}, status=400)
    return OK


def test_a_reasoning_model_gets_the_parameters_it_takes() -> None:
    requests = ask_json([reasoning_model], 2, max_tokens=50)
    assert len(requests) == 4
    for request in requests[2:]:
        assert request.body["max_completion_tokens"] == 50
        assert "temperature" not in request.body
    assert formats(requests) == ["json_schema"] * 4


def test_a_parameter_named_by_a_validator_is_dropped() -> None:
    def strict_server(request: Recorded) -> Answer:
        if "seed" in request.body:
            detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]
            return json_reply({"detail": detail}, status=422)
        return OK

    requests = ask_json([strict_server], 2, seed=1)
    assert ["seed" in r.body for r in requests] == [True, False, False]
    assert all("temperature" in r.body for r in requests)
