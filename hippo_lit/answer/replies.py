"""Reading "Thought: … Answer: …", whole or as it comes, and the thoughts between rounds of retrieval."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

from hippo_lit.llm.replies import UnreadableReplyError, read_reply, strip_reasoning
from hippo_lit.text import clean, normalise

MAX_ANSWER_CHARS = 20_000
MAX_THOUGHT_CHARS = 600
_ALIKE = 0.9  # difflib ratio from which a thought repeats another

_MARKS = r"[\s>*_#`-]*"
_THOUGHT = re.compile(rf"{_MARKS}thoughts?[ *_`]*[:：][*_`]*\s*", re.IGNORECASE)
_ANSWER = re.compile(rf"^{_MARKS}(?:final\s+)?answer[ *_`]*[:：][*_`]*\s*", re.IGNORECASE | re.MULTILINE)
_ANSWER_INSIDE = re.compile(r"(?<=\s)answer[*_`]*:[*_`]*\s*", re.IGNORECASE)
_SO = re.compile(r"\bso[\s,]+the\s+(?:final\s+)?answer\s+is\b\s*:?", re.IGNORECASE)
_NOT_SAID = re.compile(
    r"\W*(?:the\s+|these\s+)?(?:papers|passages|documents|abstracts|sources)(?:\s+\w+){0,2}?"
    r"\s+(?:do\s+not|don['’]t)\s+(?:say|tell|state|answer)\b",
    re.IGNORECASE,
)


def split_reply(text: str) -> tuple[str, str]:
    """(thought, answer) of a reply.

    A reply with neither mark is an answer as a whole, and JSON with an "answer" is read as that. Raises
    UnreadableReplyError where no answer is in it.
    """
    reply = strip_reasoning(text[:MAX_ANSWER_CHARS])
    if marked := _ANSWER.search(reply) or (
        _THOUGHT.match(reply) and _ANSWER_INSIDE.search(reply)  # "Thought: it is so. Answer: so"
    ):
        thought, answer = reply[: marked.start()], reply[marked.end() :]
    elif reply[:1] in ("{", "[", "`"):
        thought, answer = _from_json(reply)
    elif _THOUGHT.match(reply):
        raise UnreadableReplyError("it thinks, but gives no answer")
    else:
        thought, answer = "", reply
    answer = tidy(answer)
    if not any(c.isalnum() for c in answer):
        raise UnreadableReplyError("its answer is empty")
    return clean(_THOUGHT.sub("", thought, count=1)), answer


def _from_json(reply: str) -> tuple[str, str]:
    read = read_reply(reply)
    answers = [value for value in read.member("answer", "final_answer") if isinstance(value, str)]
    if not answers:
        raise UnreadableReplyError("it is JSON, but holds no answer")
    thoughts = [value for value in read.member("thought", "reasoning") if isinstance(value, str)]
    return " ".join(thoughts[-1:]), answers[-1]


def tidy(text: str) -> str:
    """Lines of clean text; the breaks between them stay."""
    return "\n".join(clean(line) for line in text.strip().splitlines())


def is_not_said(answer: str) -> bool:
    """Whether an answer begins with "The papers here do not say", or close to it.

    >>> is_not_said("The papers here do not say."), is_not_said("Papers on X do not say Y, but [p1] does.")
    (True, True)
    """
    return _NOT_SAID.match(answer) is not None


class AnswerStream:
    """Hands on what follows "Answer:", as it comes; `finish` what of the answer is still missing."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._reply = ""
        self._sent = ""

    def add(self, piece: str) -> None:
        """Read a piece of the reply."""
        if len(self._reply) > MAX_ANSWER_CHARS:
            return
        self._reply += piece
        marked = _ANSWER.search(reply := strip_reasoning(self._reply))
        if marked:
            # The last word may still grow, and space at the end may be the end.
            self._send(tidy(reply[marked.end() :].rpartition(" ")[0]))

    def finish(self, answer: str) -> None:
        """The answer as `split_reply` read it."""
        self._send(answer)

    def _send(self, answer: str) -> None:
        if answer.startswith(self._sent) and len(answer) > len(self._sent):
            self._on_text(answer[len(self._sent) :])
            self._sent = answer


def read_thought(text: str) -> tuple[str, bool]:
    """One line of thought, and whether it says that the answer is known.

    Raises UnreadableReplyError where it is no thought to search by: no words, one word over and over, code.
    """
    thought = clean(_THOUGHT.sub("", strip_reasoning(text), count=1))
    known = _SO.search(thought) is not None
    if len(thought) > MAX_THOUGHT_CHARS:
        thought = thought[:MAX_THOUGHT_CHARS].rpartition(" ")[0] or thought[:MAX_THOUGHT_CHARS]
    words = normalise(thought).split()
    letters = sum(c.isalpha() for c in thought)
    if not known and (
        letters < 6  # also "北京大学在哪里" is more
        or 2 * letters < len(thought.replace(" ", ""))
        or 4 * len(set(words)) < len(words)
        or thought[0] in "{[<"
    ):
        raise UnreadableReplyError(f"it is no thought to search by: {thought[:60]!r}")
    return thought, known


def repeats(thought: str, earlier: list[str]) -> bool:
    """Whether `thought` says what one of the earlier ones, or the question, said already."""
    form = normalise(thought)
    return any(SequenceMatcher(None, form, normalise(other), False).ratio() >= _ALIKE for other in earlier)
