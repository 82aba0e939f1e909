"""Retry-After in all its forms, waits between attempts, and the pace of calls."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from hippo_lit.retry import CallFailed, Pace, RetryPolicy, retry_after_s


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
    ],
)
def test_retry_after_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def test_retry_after_as_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    seconds = retry_after_s({"retry-after": date})
    assert seconds is not None
    assert 28 < seconds <= 30


def attempts_of(policy: RetryPolicy, failure: Exception) -> tuple[list[float], Exception]:
    offered: list[float] = []

    def attempt(seconds: float) -> None:
        offered.append(seconds)
        raise failure

    with pytest.raises(type(failure)) as caught:
        policy.run(attempt, Pace())
    return offered, caught.value


def test_the_last_failure_is_raised_with_its_attempts() -> None:
    failure = CallFailed("server", "down", again=True)
    offered, error = attempts_of(RetryPolicy(max_attempts=4, wait_s=0.0), failure)
    assert len(offered) == 4
    assert error is failure
    assert failure.attempts == 4


@pytest.mark.parametrize("failure", [CallFailed("auth", "no"), ZeroDivisionError(), KeyError("x")])
def test_other_failures_pass_through_at_once(failure: Exception) -> None:
    offered, error = attempts_of(RetryPolicy(), failure)
    assert len(offered) == 1
    assert error is failure


def test_an_attempt_gets_no_more_than_what_is_left() -> None:
    policy = RetryPolicy(max_attempts=3, timeout_s=10, deadline_s=1.0, wait_s=0.0)
    offered, _ = attempts_of(policy, CallFailed("server", "down", again=True))
    assert all(0 < seconds <= 1.0 for seconds in offered)
    assert offered == sorted(offered, reverse=True)


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    policy = RetryPolicy(max_attempts=9, deadline_s=5.0)
    start = time.monotonic()
    offered, _ = attempts_of(policy, CallFailed("rate_limit", "no", again=True, retry_after_s=6.0))
    assert len(offered) == 1
    assert time.monotonic() - start < 1.0


def test_waits_grow_but_not_beyond_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("hippo_lit.retry.pause", waits.append)
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    policy = RetryPolicy(max_attempts=6, wait_s=1.0, longest_wait_s=5.0)
    attempts_of(policy, CallFailed("server", "down", again=True))
    assert waits == [1, 2, 4, 5, 5]


def test_calls_are_spaced(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("hippo_lit.retry.pause", waits.append)
    pace = Pace(requests_per_minute=60)
    for _ in range(3):
        pace.wait_turn()
    assert waits == pytest.approx([0, 1, 2], abs=0.1)


def test_waiting_for_a_turn_is_not_held_against_the_call() -> None:
    class Queue(Pace):
        def wait_turn(self) -> float:
            return 100.0

    seconds = RetryPolicy(timeout_s=60, deadline_s=5).run(lambda seconds: seconds, Queue())
    assert seconds == 60
