from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from hippo_lit.mcp_server.lanes import Lanes, Limits
from hippo_lit.tool.failures import ToolError
from hippo_lit.tool.toolbox import ToolResult

DONE = ToolResult({}, "done")
Work = Callable[[threading.Event, float], ToolResult]


def quick(_stop: threading.Event, _seconds: float) -> ToolResult:
    return DONE


def holding(release: threading.Event, started: threading.Semaphore) -> Work:
    def work(_stop: threading.Event, _seconds: float) -> ToolResult:
        started.release()
        assert release.wait(30)
        return DONE

    return work


def lanes(**limits: Limits) -> Lanes:
    given = {name: Limits(1, 1, 30.0) for name in ("words", "vectors", "llm", "write")}
    return Lanes(given | limits)  # type: ignore[arg-type]


def test_a_full_lane_says_when_to_come_back_and_recovers() -> None:
    release, started = threading.Event(), threading.Semaphore(0)

    async def run() -> None:
        running = lanes()
        held = [asyncio.create_task(running.run("llm", holding(release, started))) for _ in range(2)]
        await asyncio.to_thread(started.acquire)
        await asyncio.sleep(0)
        with pytest.raises(ToolError) as busy:
            await running.run("llm", quick)
        assert busy.value.failure.code == "busy"
        assert (busy.value.failure.retry_after_s or 0) >= 1
        assert await running.run("words", quick) is DONE  # other lanes do not notice
        release.set()
        assert await asyncio.gather(*held) == [DONE, DONE]
        assert await running.run("llm", quick) is DONE
        running.close()

    asyncio.run(run())


def test_work_that_hangs_is_given_up_and_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.mcp_server.lanes._GRACE_S", 0.0)
    stops: list[threading.Event] = []

    def hang(stop: threading.Event, seconds: float) -> ToolResult:
        assert 0 < seconds <= 0.05
        stops.append(stop)
        assert stop.wait(30)
        return DONE

    async def run() -> None:
        running = lanes(llm=Limits(1, 1, 0.05))
        with pytest.raises(ToolError) as late:
            await running.run("llm", hang)
        assert late.value.failure.code == "timeout"
        assert stops[0].is_set()
        running.close()

    asyncio.run(run())


def test_cancelling_the_task_stops_the_work_and_starts_nothing_that_waits() -> None:
    started, ended = threading.Semaphore(0), threading.Event()
    ran: list[int] = []

    def until_stopped(stop: threading.Event, _seconds: float) -> ToolResult:
        started.release()
        assert stop.wait(30)
        ended.set()
        return DONE

    def waiting(_stop: threading.Event, _seconds: float) -> ToolResult:
        ran.append(1)
        return DONE

    async def run() -> None:
        running = lanes()
        first = asyncio.create_task(running.run("llm", until_stopped))
        await asyncio.to_thread(started.acquire)
        second = asyncio.create_task(running.run("llm", waiting))
        await asyncio.sleep(0)
        second.cancel()
        first.cancel()
        for task in (first, second):
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await asyncio.to_thread(ended.wait, 30)
        assert await running.run("llm", quick) is DONE
        running.close()

    asyncio.run(run())
    assert ran == []
