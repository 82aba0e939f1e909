"""Order, bounds, errors as values, and stopping early."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from hippo_lit.errors import ChatModelError, HippoLitError
from hippo_lit.llm.parallel import map_bounded, pause


def test_results_come_in_order_whatever_finishes_first() -> None:
    second_done = threading.Event()

    def fn(n: int) -> int:
        if n == 0:
            assert second_done.wait(5)
        if n == 1:
            second_done.set()
        return n * n

    assert list(map_bounded(fn, range(20), 3)) == [n * n for n in range(20)]


def test_never_more_calls_at_once_than_allowed() -> None:
    lock, running, most = threading.Lock(), 0, 0
    together = threading.Barrier(3, timeout=5)

    def fn(n: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        if n < 3:
            together.wait()  # only passes if three calls do run at once
        with lock:
            running -= 1

    list(map_bounded(fn, range(30), 3))
    assert most == 3


def test_a_slow_call_holds_up_the_reading_of_items() -> None:
    taken: list[int] = []
    release = threading.Event()

    def items() -> Iterator[int]:
        for n in range(100):
            taken.append(n)
            yield n

    def fn(n: int) -> int:
        if n == 0:
            release.wait(5)
        return n

    results = map_bounded(fn, items(), 2, look_ahead=5)
    threading.Timer(0.05, release.set).start()
    assert next(results) == 0
    assert len(taken) <= 6
    results.close()  # type: ignore[attr-defined]


def test_package_errors_are_values_and_bugs_are_raised() -> None:
    def fn(n: int) -> int:
        if n == 1:
            raise ChatModelError("down", kind="server")
        if n == 3:
            raise ZeroDivisionError
        return n

    results = map_bounded(fn, range(5), 2)
    assert next(results) == 0
    assert isinstance(next(results), HippoLitError)
    assert next(results) == 2
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_stopping_cancels_what_has_not_started_and_wakes_what_pauses() -> None:
    started: list[int] = []
    ends: list[type[BaseException]] = []

    def fn(n: int) -> int:
        started.append(n)
        if n == 0:
            return n
        try:
            pause(60)
        except CancelledError as error:
            ends.append(type(error))
            raise
        return n

    def consume() -> None:
        for _ in map_bounded(fn, range(50), 2, look_ahead=20):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    assert len(started) <= 4
    assert len(ends) == len(started) - 1


def test_calls_see_the_callers_context() -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    who.set("caller")
    assert list(map_bounded(lambda _: who.get(), range(3), 2)) == ["caller"] * 3


@pytest.mark.parametrize("concurrency", [0, -1])
def test_needs_at_least_one_call_at_a_time(concurrency: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list(map_bounded(str, [1], concurrency))


def test_no_items_no_results() -> None:
    assert list(map_bounded(str, [], 4)) == []
