"""CASES 1, 3, 4, 5, 7, 8, 9 and the reading half of 10."""

from __future__ import annotations

import contextlib
import time

import pytest

from hippo_lit.llm.replies import (
    MAX_FACTS,
    UnreadableReplyError,
    names,
    read_reply,
    strip_reasoning,
    triples,
)
from hippo_lit.types import Fact

ABC = {"facts": [["a", "r", "b"]]}
ABC_JSON = '{"facts": [["a", "r", "b"]]}'


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>maybe {1}</think>\n{}", "{}"),
        ("<think>never closed [1]", ""),
        ("so [[1]] it is</think> {}", "{}"),
        ("a</think>b</think>{}", "{}"),
        (" <Thinking>x</thinking><think>y</think> {}", "{}"),
        ("<think></think>", ""),
        ('["a </think> token", "<think> tag"]', '["a </think> token", "<think> tag"]'),
        ("no tags", "no tags"),
    ],
)
def test_strip_reasoning(reply: str, answer: str) -> None:
    assert strip_reasoning(reply) == answer


@pytest.mark.parametrize(
    "reply",
    [
        ABC_JSON,
        f"```json\n{ABC_JSON}\n```",
        f"```\n{ABC_JSON}",
        f"<think>is it [2]?</think>{ABC_JSON}",
        f"Sure! As in [1], the {{111}} plane (see [Smith 2010]):\n{ABC_JSON}\nAnything else [y/n]?",
        f"[[ ## fact_after_filter ## ]] {ABC_JSON}\n\n[[ ## completed ## ]]",
        f"[[ ## fact_after_filter ## ]]\n{ABC_JSON}",
        f"**Entities**\n{ABC_JSON}",
        "{'facts': [('a', 'r', 'b')]}",
        '{"facts": [["a", "r", "b"],]}',
        '{"facts": [["a", "r", "b"], ...]}',
        '{"facts": [["a", "r", "b"], …]}',
        '{"facts": [["a", "r", "b"], // and so on\n]}',
        '{"facts": [["a", "r", "b"] # the only one\n]}',
        '{"facts": /* mine */ [["a", "r", "b"]]}',
        '{"facts": [["a" "r" "b"]]}',
        '{facts: [["a", "r", "b"]]}',
        "{“facts”: [[“a”, “r”, “b”]]}",
        '{"facts": [["a", "r", "b"]]',
        '{"facts": [["a", "r", "b"',
        '{"facts": [["a", "r", "b"], ["c", "r", "trunc',
        '{"facts": [["a", "r", "b"], ["c',
    ],
)
def test_one_answer_in_many_writings(reply: str) -> None:
    assert triples(read_reply(reply).values[-1])[0] == [Fact("a", "r", "b")]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('["a", "b", ...]', ["a", "b"]),
        ('["a", "b", etc.]', ["a", "b"]),
        ('["the {111} plane", "[Fe(CN)6]"]', ["the {111} plane", "[Fe(CN)6]"]),
        ('["line\nbreak"]', ["line\nbreak"]),
        ('["a "quoted" word", "x"]', ['a "quoted" word', "x"]),
        ('["the "A", b"]', ['the "A", b']),
        ("['the dogs' tail', 'it's']", ["the dogs' tail", "it's"]),
        ('["bài toán \\"lớn\\""]', ['bài toán "lớn"']),
        ('["\\beta-catenin", "\\frac", "\\alpha", "\\u03b2"]', ["\\beta-catenin", "\\frac", "\\alpha", "β"]),
        ("['\\ud83e\\udd9b \\ud83e']", ["🦛 \ufffd"]),
        ("[None, True, False, 'x']", None),
        ("['x', None, True]", ["x", None, True]),
        ('["x", 1.50, 007, NaN]', ["x", "1.50", "007", None]),
        ('{"entities": {"a", "b"}}', {"entities": ["a", "b"]}),
        ('{"entities": ["a", "b", "triples": []}', {"entities": ["a", "b"], "triples": []}),
        ('{"a": , "b": "c"}', {"a": None, "b": "c"}),
        ('{"a": ["x"}', {"a": ["x"]}),
        ('{"a": 1}\n{"b": 2}', {"b": "2"}),
        ('["a"]\n["b", "c"]', ["b", "c"]),
    ],
)
def test_values(reply: str, value: object) -> None:
    if value is None:
        with pytest.raises(UnreadableReplyError):
            read_reply(reply)
    else:
        assert read_reply(reply).values[-1] == value


@pytest.mark.parametrize(
    "reply", ["", "  ", "No facts.", "[1]", "null", "{111}", "<think>only", "[[ ## x ## ]]"]
)
def test_what_is_no_answer_is_an_error(reply: str) -> None:
    with pytest.raises(UnreadableReplyError):
        read_reply(reply)


def test_code_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr("os.system", called.append)
    reply = "{'entities': ['x', __import__('os').system('boom')], 'triples': []}"
    answer = {"entities": ["x", "__import__('os').system('boom')"], "triples": []}
    assert read_reply(reply).values == (answer,)
    assert not called


def test_a_reply_that_breaks_off_says_so() -> None:
    assert not read_reply('{"a": []}').broken_off
    assert not read_reply('{"a": ["x"}').broken_off  # a forgotten bracket is not a missing end
    assert read_reply('{"a": [').broken_off
    assert read_reply('{"a": ["x", "y').broken_off
    assert read_reply('```json\n{"a": ["x"\n```').broken_off


@pytest.mark.parametrize(
    ("value", "facts", "dropped"),
    [
        ([], [], 0),
        ({}, [], 0),
        ([["a", "r", "b"]], ["a r b"], 0),
        (["a", "r", "b"], ["a r b"], 0),
        ([[["a", "r", "b"]], [["c", "r", "d"]]], ["a r b", "c r d"], 0),
        ([["a", "r", "b"], ["a", "r", "b"]], ["a r b"], 0),
        ([{"subject": "a", "predicate": "r", "object": "b"}], ["a r b"], 0),
        ([{"Subject": "a", "Verb": "r", "Object": "b"}], ["a r b"], 0),
        ({"subject": "a", "relation": "r", "object": "b", "confidence": 0.5}, ["a r b"], 0),
        ({"triples": [{"head": "a", "relation": "r", "tail": 5}]}, ["a r 5"], 0),
        ([["a", "r", 12], ["a", "r", 1.5]], ["a r 12", "a r 1.5"], 0),
        ([["a", "r", None], ["a", True, "b"], ["a", "", "b"], ["a", "r", " \x00"]], [], 4),
        ([["a", "r"], ["a", "r", "b", "c"], ["c", "r", "d"]], ["c r d"], 2),
        ([{"subject": "a", "object": "b"}, {"x": "y"}], [], 2),
        (["bare", ["a", "r", "b"], None, True, 5], ["a r b"], 4),
        ([["a", "r", "x" * 301]], [], 1),
        ([["a\n b", "r", "e\u0301"]], ["a b r é"], 0),
        ([["a", "r", float("inf")]], [], 1),
        ("a r b", [], 1),
        (None, [], 1),
    ],
)
def test_triples(value: object, facts: list[str], dropped: int) -> None:
    found, count = triples(value)
    assert ([fact.text for fact in found], count) == (facts, dropped)


def test_triples_are_bounded_in_number_and_depth() -> None:
    found, dropped = triples([[str(i), "r", "o"] for i in range(MAX_FACTS + 7)])
    assert (len(found), dropped) == (MAX_FACTS, 7)
    deep: list[object] = ["a", "r", "b"]
    for _ in range(500):
        deep = [deep]
    assert triples(deep) == ([], 1)


def test_names() -> None:
    assert names(["a", " a ", 5, {"name": "b", "type": "x"}, ["c"]]) == (["a", "5", "b", "c"], 0)
    assert names([None, True, "", {"type": "x"}, "y" * 301]) == ([], 5)


@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "{",
        '{"',
        '"',
        '["',
        "(",
        "[#",
        "/*",
        "['",
        "\\",
        "a,",
        "{a:",
        '["a":',
        "<think>",
        "```",
        "[[ ## ",
        'a" b',
    ],
)
def test_a_megabyte_of_garbage_is_read_in_a_second(unit: str) -> None:
    reply = '{"a": [' + unit * (1_000_000 // len(unit))
    started = time.perf_counter()
    with contextlib.suppress(UnreadableReplyError):
        read_reply(reply)
    assert time.perf_counter() - started < 2
