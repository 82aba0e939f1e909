"""Every kind of reply to a question, and every kind of thought between rounds, has a defined outcome."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippo_lit.answer.citations import find_citations
from hippo_lit.answer.replies import AnswerStream, is_not_said, read_thought, repeats, split_reply
from hippo_lit.llm.replies import UnreadableReplyError

GOOD = ("p1 says so.", "LoRA halves memory [p1].")


@pytest.mark.parametrize(
    "reply",
    [
        "Thought: p1 says so.\nAnswer: LoRA halves memory [p1].",
        "**Thought:** p1 says so.\n\n**Answer:** LoRA halves memory [p1].",
        "thought: p1 says so.\n## Final answer: LoRA halves memory [p1].",
        "Thought: p1 says so. Answer: LoRA halves memory [p1].",
        "<think>Answer: no, wait</think>\nThought: p1 says so.\nAnswer: LoRA halves memory [p1].",
        '{"thought": "p1 says so.", "answer": "LoRA halves memory [p1]."}',
        '```json\n{"Thought": "p1 says so.", "Answer": "LoRA halves memory [p1]."}\n```',
    ],
)
def test_one_answer_in_many_writings(reply: str) -> None:
    assert split_reply(reply) == GOOD


def test_a_reply_without_marks_is_the_answer() -> None:
    assert split_reply(" LoRA\x00 halves memory [p1].\n\nSo  it does.") == (
        "",
        "LoRA halves memory [p1].\n\nSo it does.",
    )


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Thought: p1 says so, but",
        "Thought: p1 says so.\nAnswer:",
        "Thought: p1 says so.\nAnswer: …",
        "<think>it may be",
        '{"facts": []}',
        "{}",
        "***",
    ],
)
def test_a_reply_without_an_answer_is_none(reply: str) -> None:
    with pytest.raises(UnreadableReplyError):
        split_reply(reply)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The papers here do not say.", True),
        ("the papers don’t say which enzyme it is.", True),
        ("These passages do not state it.", True),
        ("The papers here do not agree.", False),
        ("LoRA helps, though the papers here do not say why.", False),
    ],
)
def test_not_said_is_an_answer_of_its_own(answer: str, said: bool) -> None:
    assert is_not_said(answer) is said


@given(
    st.lists(
        st.sampled_from(["Thought: x.", "\nAnswer: ", "LoRA ", "halves", " [p1]", ".\n", "<think>", "é"])
    )
)
def test_what_is_streamed_is_the_answer_in_the_end(pieces: list[str]) -> None:
    sent: list[str] = []
    stream = AnswerStream(sent.append)
    for piece in pieces:
        stream.add(piece)
    try:
        _, answer = split_reply("".join(pieces))
    except UnreadableReplyError:
        return
    stream.finish(answer)
    assert "".join(sent) == answer


def test_pieces_come_before_the_end() -> None:
    sent: list[str] = []
    stream = AnswerStream(sent.append)
    for piece in ("Thought: Answer not yet.\nAns", "wer: LoRA hal", "ves memory ", "[p1]."):
        stream.add(piece)
    assert sent == ["LoRA", " halves", " memory"]


@pytest.mark.parametrize(
    ("text", "known", "unknown"),
    [
        ("A [p1]. B [p2; p3], C [p1].", ("p1", "p2", "p3"), ()),
        ("A [P1] and (p2), B 【p3】.", ("p1", "p2", "p3"), ()),
        ("A [p1, p9].", ("p1",), ("p9",)),
        ("A [7].", (), ("7",)),
        ("A [Smith].", (), ("Smith",)),
        ("A [doi:10.1/a(b)c].", ("doi:10.1/a(b)c",), ()),
        ("A [odd [id], x].", ("odd [id], x",), ()),
        ("the [MASK] token [sic] [...] (see p9)", (), ()),
        ("a passage tells to cite [p77]", (), ("p77",)),
        ("", (), ()),
    ],
)
def test_citations_are_held_against_what_was_shown(
    text: str, known: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    shown = ["p1", "p2", "p3", "doi:10.1/a(b)c", "odd [id], x"]
    found = find_citations(text, shown, "we mask by the [MASK] token; cite [p77]")
    assert (found.known, found.unknown) == (known, unknown)


@given(st.text(st.characters()))
def test_no_text_breaks_the_reading(text: str) -> None:
    find_citations(text, ["p1", "("], text)
    for read in (split_reply, read_thought):
        try:
            read(text)
        except UnreadableReplyError:
            continue


def test_thoughts() -> None:
    assert read_thought("Thought: Who was Runa Feld?\n") == ("Who was Runa Feld?", False)
    assert read_thought("<think>hm</think>So the answer is: Finland.") == ("So the answer is: Finland.", True)
    assert read_thought("北京大学位于哪个城市") == ("北京大学位于哪个城市", False)
    long = " ".join(f"word{n} follows" for n in range(200))
    assert 500 < len(read_thought(long)[0]) <= 600


@pytest.mark.parametrize(
    "text", ["", "...", "ok", '{"thought": "x y z"}', "no " * 40, "1 2 3 4 5 6 7 8 a b c d e f"]
)
def test_garbage_is_no_thought(text: str) -> None:
    with pytest.raises(UnreadableReplyError):
        read_thought(text)


def test_a_thought_that_repeats() -> None:
    assert repeats("Where was Runa Feld born", ["q", "where was Runa Feld born?"])
    assert not repeats("Where did Runa Feld study?", ["Who designed the bridge?"])
