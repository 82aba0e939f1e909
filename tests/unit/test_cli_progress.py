from __future__ import annotations

import contextlib
import io

import pytest

from hippo_lit.cli.progress import EVERY_S, Lines, counted, reporting


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_lines_come_at_the_beginning_now_and_then_and_at_the_end() -> None:
    said: list[str] = []
    clock = Clock()
    report = Lines(said.append, clock)
    report("extract", 0, 100)
    for done in range(1, 101):
        clock.now += EVERY_S / 25
        report("extract", done, 100)
    assert said[0] == "extracting facts: 0/100"
    assert said[1:4] == [f"extracting facts: {n}/100 (5.0/s, {(100 - n) // 5} s left)" for n in (25, 50, 75)]
    assert said[4:] == ["extracting facts: 100/100 (5.0/s)"]


def test_the_time_a_model_takes_to_load_does_not_count() -> None:
    said: list[str] = []
    clock = Clock()
    report = Lines(said.append, clock)
    report("embed", 0, 100)
    clock.now += 100
    report("embed", 10, 100)
    clock.now += 10
    report("embed", 60, 100)
    assert said == ["embedding: 0/100", "embedding: 10/100", "embedding: 60/100 (5.0/s, 8 s left)"]


def test_stages_of_one_step_and_of_none() -> None:
    said: list[str] = []
    report = Lines(said.append, Clock())
    for done in (0, 1):
        report("graph", done, 1)
    report("extract", 0, 0)
    report("another", 0, 1)
    assert said == ["building the graph", "another"]


def test_items_are_counted_as_they_pass() -> None:
    calls: list[tuple[str, int, int]] = []
    assert list(counted("ab", lambda *call: calls.append(call), "read")) == ["a", "b"]
    assert calls == [("read", 1, 0), ("read", 2, 0), ("read", 2, 2)]


def test_a_long_stage_says_less_often_and_in_words_for_people() -> None:
    said: list[str] = []
    clock = Clock()
    report = Lines(said.append, clock)
    report("extract", 0, 7200)
    report("extract", 1, 7200)
    for second in range(2, 3600, 2):
        clock.now += 2
        report("extract", second // 2 + 1, 7200)
    assert 40 < len(said) < 120
    assert said[2] == "extracting facts: 7/7,200 (30.0/min, 4 h 0 min left)"
    gaps = [line.split("/")[0].split()[-1].replace(",", "") for line in said[1:]]
    assert int(gaps[-1]) - int(gaps[-2]) == 30  # one a minute at last


def test_a_note_is_said_beside_the_numbers() -> None:
    said: list[str] = []
    report = Lines(said.append, Clock())
    report("gepa, replies", 1, 3, "best F1 50.0, 0.0100 USD spent")
    assert said == ["gepa, replies: 1/3, best F1 50.0, 0.0100 USD spent"]


def test_progress_goes_to_the_stderr_of_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    here, elsewhere = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", here)
    with reporting() as report, contextlib.redirect_stderr(elsewhere):  # as while DSPy's output goes to a log
        report("graph", 0, 1)
    assert (here.getvalue(), elsewhere.getvalue()) == ("building the graph\n", "")


def test_on_a_terminal_bars_show_the_note_wherever_stderr_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    here, elsewhere = Terminal(), io.StringIO()
    monkeypatch.setattr("sys.stderr", here)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with reporting() as report, contextlib.redirect_stderr(elsewhere):
        report("mipro, trials", 2, 5, "best F1 50.0, 0.0100 USD spent")
    shown = here.getvalue()
    assert "2/5" in shown
    assert "best F1 50.0, 0.0100 USD spent" in shown
    assert elsewhere.getvalue() == ""
