from __future__ import annotations

import sys
import threading
from concurrent.futures import CancelledError
from time import monotonic
from types import SimpleNamespace

import pytest

from hippo_lit.llm.parallel import map_bounded, pause
from hippo_lit.models.usage import MeteredChat
from hippo_lit.stages import Watch, checkpoint, current, stage
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Message


def test_a_call_that_nobody_watches_is_never_stopped() -> None:
    assert current() is None
    checkpoint()
    with stage("any"):
        pass


def test_who_watches_hears_of_every_stage() -> None:
    heard: list[str] = []
    with Watch(on_stage=heard.append).active() as watch, stage("one"), stage("two"):
        assert current() is watch
    assert heard == ["one", "two"]
    assert current() is None


@pytest.mark.parametrize("why", ["stop", "deadline"])
def test_a_call_ends_at_its_next_stage(why: str) -> None:
    watch = Watch(deadline=monotonic() - 1 if why == "deadline" else None)
    if why == "stop":
        watch.stop.set()
    with watch.active(), pytest.raises(CancelledError), stage("next"):
        pytest.fail("the stage began")
    assert watch.late == (why == "deadline")


def test_no_model_is_asked_once_a_call_is_stopped() -> None:
    chat = FakeChatModel(["never"])
    watch = Watch()
    watch.stop.set()
    with watch.active(), pytest.raises(CancelledError):
        MeteredChat(chat, "answer").complete([Message("user", "?")])
    assert chat.calls == []


def test_a_stop_reaches_the_threads_of_map_bounded_and_is_no_failure_of_an_item() -> None:
    watch, done = Watch(), []

    def work(item: int) -> int:
        checkpoint()
        done.append(item)
        watch.stop.set()
        return item

    with watch.active(), pytest.raises(CancelledError):
        list(map_bounded(work, range(100), 1))
    assert done == [0]


def test_waiting_to_try_again_ends_with_the_call() -> None:
    watch = Watch()
    threading.Timer(0.02, watch.stop.set).start()
    began = monotonic()
    with watch.active(), pytest.raises(CancelledError):
        pause(60)
    with Watch(deadline=monotonic() + 0.02).active(), pytest.raises(CancelledError):
        pause(60)
    assert monotonic() - began < 10


def test_stages_are_spans_where_opentelemetry_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import StatusCode

    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    api = SimpleNamespace(get_tracer=provider.get_tracer, StatusCode=StatusCode)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", api)
    with pytest.raises(ValueError, match="secret"), stage("outer", k=3), stage("inner"):
        raise ValueError("secret abstract")
    inner, outer = spans.get_finished_spans()
    assert (inner.name, outer.name) == ("hippo_lit.inner", "hippo_lit.outer")
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert dict(outer.attributes or {}) == {"k": 3}
    assert outer.events == inner.events == ()  # no message of an error, which may quote a paper
    assert inner.status.description == outer.status.description == "ValueError"
