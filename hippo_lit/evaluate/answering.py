"""Answers in words: which questions are put to the chat model, and what of its answers is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hippo_lit.answer.citations import without_citations
from hippo_lit.answer.values import Answer
from hippo_lit.config import Settings
from hippo_lit.errors import ConfigError
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.measures import OF_ANSWERS
from hippo_lit.evaluate.run import Answered, Run, Written
from hippo_lit.text import content_hash

_PROMPTS = ("answer", "ircot")


def answers_wanted(measures: Iterable[str]) -> bool:
    """Whether a measure is of answers, so that questions must be answered in words."""
    return any(name in OF_ANSWERS for name in measures)


def check_answering(data: Dataset, settings: Iterable[Settings]) -> None:
    """Raises ConfigError where no question has a gold answer, or no chat model would answer."""
    if not any(query.answers for query in data.queries):
        raise ConfigError(
            f'no query of {data.name} has answers, so EM and F1 have nothing to compare with: give "answers"'
            " in its JSONL, or leave EM and F1 out of --measures",
            key="measures",
        )
    if any(given.llm.kind == "none" for given in settings):
        raise ConfigError(
            "EM and F1 are of answers that a chat model gives, and llm.kind is none: add --config openai, or"
            " --set llm.kind=openai",
            key="llm.kind",
        )


def answering_key(settings: Settings, prompts: Mapping[str, str]) -> str:
    """Equal for settings and prompts (name to hash) that answer alike from one ranking."""
    read = {"answer": settings.answer.model_dump(mode="json"), "llm": settings.llm.model_dump(mode="json")}
    return content_hash(json.dumps(read, sort_keys=True), *(prompts.get(name, "") for name in _PROMPTS))


def unanswered(queries: Sequence[Query], answers: Mapping[str, Answered], key: str) -> list[Query]:
    """The queries with gold answers that have no usable answer of this key yet."""
    return [query for query in queries if query.answers and not _is_current(answers[query.id].written, key)]


def _is_current(written: Written | None, key: str) -> bool:
    return written is not None and written.key == key and not written.degraded


def as_written(answer: Answer, key: str) -> Written:
    """What of an answer is kept."""
    said = answer.kind == "answer"
    return Written(
        key,
        without_citations(answer.text, answer.citations + answer.unknown_citations).strip() if said else "",
        answer.kind,
        answer.grounded,
        sum(answer.seconds.values()),
        answer.degraded,
        answer.reason,
        answer.cost,
    )


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Over `asked` questions: shares in [0, 1], seconds of a question with its retrieval.

    `grounded` answers cite papers, and only such as were shown; `not_said` find that the papers do not say;
    of `degraded` ones something failed: without a usable answer they count as wrong.
    """

    asked: int
    grounded: float
    not_said: float
    degraded: float
    median_s: float


def answer_figures(run: Run) -> AnswerFigures | None:
    """The figures; None for a run without answers in words."""
    written = [answer.written for answer in run.answers.values() if answer.written is not None]
    if not written:
        return None
    count = len(written)
    return AnswerFigures(
        count,
        sum(each.grounded for each in written) / count,
        sum(each.kind == "not_said" for each in written) / count,
        sum(each.degraded for each in written) / count,
        sorted(each.seconds for each in written)[count // 2],
    )
