"""Answering as a task: a question and papers → an answer that cites them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hippo_lit.answer.citations import Citations, find_citations
from hippo_lit.answer.replies import is_not_said, split_reply
from hippo_lit.answer.shown import as_shown
from hippo_lit.evaluate.answers import exact_match, token_f1
from hippo_lit.evaluate.dataset import Query
from hippo_lit.lexical.bm25 import BM25Index
from hippo_lit.llm.prompts import as_data
from hippo_lit.llm.replies import UnreadableReplyError
from hippo_lit.text import clean
from hippo_lit.tune.tasks import UNREADABLE, Read, Scored, pooled_f1
from hippo_lit.types import Paper

NOT_SAID = "The papers here do not say."
_BRACKETS = re.compile(r"\s*[\[【(（]([^\[\]【】()（）\n]{1,300})[\]】)）]")
_SEPARATOR = re.compile(r"\s*[,;，；、]\s*")


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """A question with the papers that are shown. No relevant paper: the right answer is "not said"."""

    query: Query
    papers: tuple[Paper, ...]

    @property
    def id(self) -> str:
        return self.query.id


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """Token F1 and exact match against the gold answers, citations aside; and F1 of the cited papers.

    A citation of what was not shown counts as a wrong one. Where the papers do not say, F1 and EM are 1 for
    an answer that says so, else 0, and there is nothing to cite; elsewhere "not said" is worth 0.
    """

    paper_chars: int = 2000
    name: str = field(default="answer", init=False)

    @property
    def measures(self) -> tuple[str, ...]:
        return "F1", "EM", "cited"

    @property
    def schema(self) -> Mapping[str, Any] | None:
        return None

    def variables(self, case: AnswerCase) -> dict[str, Any]:
        papers = as_shown(case.papers, self.paper_chars)
        return {"data": {"question": case.query.text, "papers": papers}}

    def read(self, case: AnswerCase, reply: str) -> tuple[Read, ...]:
        _, answer = split_reply(reply)
        found = self._citations(case, answer)
        titles = {paper.id: clean(paper.title) for paper in case.papers}
        return (
            Read(answer),
            *(Read(f"[{paper_id}]", titles[paper_id]) for paper_id in found.known),
            *(Read(f"[{name}]", dropped="was not shown") for name in found.unknown),
        )

    def score(self, case: AnswerCase, reply: str) -> Scored:
        try:
            _, answer = split_reply(reply)
        except UnreadableReplyError as error:
            feedback = f'{UNREADABLE}: {error}. Reply with "Thought:" and then "Answer:".'
            return self.failed(case, str(error), feedback)
        not_said, gold = is_not_said(answer), case.query.relevant
        if not gold and not case.query.answers:
            value = float(not_said)
            told = "Rightly said that" if not_said else "Answered, although"
            return Scored({"F1": value, "EM": value}, f"{told} the papers do not say it.")
        cited = self._citations(case, answer)
        right, named = len(gold.intersection(cited.known)), len(cited.known) + len(cited.unknown)
        bare = without_citations(answer, cited)
        values = {
            "F1": 0.0 if not_said else token_f1(bare, case.query.answers),
            "EM": 0.0 if not_said else exact_match(bare, case.query.answers),
        }
        if gold:
            values["cited"] = 0.0 if not_said else pooled_f1(right, named, len(gold))
        return Scored(values, _feedback(case, bare, cited, not_said), (right, named, len(gold)))

    def failed(self, case: AnswerCase, error: str, feedback: str = UNREADABLE) -> Scored:
        measures = self.measures if case.query.relevant else self.measures[:2]
        return Scored(dict.fromkeys(measures, 0.0), feedback, (0, 0, len(case.query.relevant)), error)

    def demonstration(self, case: AnswerCase, reply: str | None = None) -> str:
        if reply is not None:
            thought, answer = split_reply(reply)
        elif not case.query.answers:
            thought, answer = "No paper holds the answer.", NOT_SAID
        else:
            cited = "; ".join(sorted(case.query.relevant))
            thought = f"The answer is in {cited}." if cited else ""
            answer = f"{case.query.answers[0]} [{cited}]" if cited else case.query.answers[0]
        return f"Thought: {thought}\nAnswer: {answer}" if thought else f"Answer: {answer}"

    def shown(self, case: AnswerCase) -> tuple[str, tuple[str, ...]]:
        return "Papers", tuple(f"[{paper.id}] {clean(paper.title)}" for paper in case.papers)

    def _citations(self, case: AnswerCase, answer: str) -> Citations:
        shown = as_shown(case.papers, self.paper_chars)
        return find_citations(answer, [paper.id for paper in case.papers], as_data(shown) + case.query.text)


class Shelf:
    """Papers to answer from. Which are shown does not depend on the prompt: BM25's best for the question,
    with the relevant ones among them, so that a wrong answer is the prompt's fault and not the search's.
    """

    def __init__(self, papers: Sequence[Paper], k: int) -> None:
        self._papers = papers
        self._by_id = {paper.id: paper for paper in papers}
        self._index = BM25Index.build(f"{paper.title}\n{paper.abstract}" for paper in papers)
        self._k = k

    def case(self, query: Query) -> AnswerCase:
        """The question with at most `k` papers (or all relevant ones, if they are more)."""
        relevant = [self._by_id[name] for name in sorted(query.relevant) if name in self._by_id]
        found = [self._papers[i] for i, _ in self._index.search(query.text, self._k)]
        others = [p for p in found if p.id not in query.relevant and p.id not in query.leave_out]
        chosen = [*relevant, *others[: max(0, self._k - len(relevant))]]
        # By id: the right ones must not always come first.
        return AnswerCase(query, tuple(sorted(chosen, key=lambda paper: paper.id)))


def without_citations(answer: str, cited: Citations) -> str:
    """The answer's words alone.

    >>> without_citations("It fell [p1; p2] by (about) half.", Citations(("p1", "p2"), ()))
    'It fell by (about) half.'
    """
    names = {name.casefold() for name in (*cited.known, *cited.unknown)}

    def kept(group: re.Match[str]) -> str:
        parts = _SEPARATOR.split(group[1].strip())
        return "" if all(part.casefold() in names for part in parts) else group[0]

    return _BRACKETS.sub(kept, answer)


def _feedback(case: AnswerCase, bare: str, cited: Citations, not_said: bool) -> str:
    gold = " or ".join(case.query.answers)
    given = "that they do not say" if not_said else bare.rstrip(". ")
    lines = [f"Wanted: {gold}. Given: {given}."]
    if missed := sorted(case.query.relevant.difference(cited.known)):
        lines.append(f"Not cited, though the answer rests on it: {', '.join(missed)}.")
    if wrong := [name for name in cited.known if name not in case.query.relevant]:
        lines.append(f"Cited, though the answer does not rest on it: {', '.join(wrong)}.")
    if cited.unknown:
        lines.append(f"Cited, though it was not shown: {', '.join(cited.unknown)}.")
    return " ".join(lines)
