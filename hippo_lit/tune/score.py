"""How good a prompt is, and whether it is better than another: paired over the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from hippo_lit.errors import ChatModelError, HippoLitError
from hippo_lit.evaluate.compare import Comparison, compare_values
from hippo_lit.evaluate.measures import mean
from hippo_lit.evaluate.stats import bootstrap_interval
from hippo_lit.evaluate.summary import Figure
from hippo_lit.extraction import Progress, silent
from hippo_lit.llm.forgetting import forget_reply
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.llm.prompts import Prompt
from hippo_lit.models.usage import UsageMeter
from hippo_lit.protocols import ChatModel
from hippo_lit.text import content_hash
from hippo_lit.tune.tasks import C, Scored, Task
from hippo_lit.types import Usage

OF_THE_PROMPT = ("unreadable", "truncated", "empty_reply")
"""Failures that a prompt is to blame for; any other one ends the scoring."""


@dataclass(frozen=True, slots=True)
class PromptScore:
    """A prompt over cases. `values`: measure to case id to value in [0, 1]; `failed`: case id to reason."""

    label: str
    hash: str
    model: str
    values: Mapping[str, Mapping[str, float]]
    counts: tuple[int, int, int]
    failed: Mapping[str, str]
    usage: Usage

    def figure(self, measure: str) -> Figure:
        """The mean with its 95% bootstrap interval."""
        values = list(self.values[measure].values())
        return Figure(mean(values), *bootstrap_interval(values), len(values))

    @property
    def precision(self) -> float | None:
        """Pooled over all cases; None where nothing was kept."""
        right, named, _ = self.counts
        return right / named if named else None

    @property
    def recall(self) -> float | None:
        """Pooled over all cases; None where nothing was wanted."""
        right, _, wanted = self.counts
        return right / wanted if wanted else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A prompt against the one in use.

    `better`: the interval of the difference by `measure` is above 0, and that of no other measure is below
    it; `worse` names those that are.
    """

    candidate: str
    against: str
    measure: str
    better: bool
    worse: tuple[str, ...]
    difference: float
    low: float
    high: float
    cases: str
    model: str
    at: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def score_prompt(
    task: Task[C],
    chat: ChatModel,
    prompt: Prompt,
    cases: Sequence[C],
    *,
    label: str = "",
    concurrency: int = 8,
    progress: Progress = silent,
) -> PromptScore:
    """One call a case; what is in the cache costs nothing.

    A reply that cannot be used is worth 0. Raises ChatModelError where a model cannot be asked (no credit,
    a budget that is used up, a server that is down): what was asked until then is kept.
    """
    prompt.check_variables(*task.variables(cases[0]))
    meter = UsageMeter()
    scored: dict[str, Scored] = {}
    with meter.active():
        calls = map_bounded(lambda case: ask(task, chat, prompt, case), cases, concurrency)
        for done, (case, found) in enumerate(zip(cases, calls, strict=True), start=1):
            if isinstance(found, HippoLitError):
                raise found
            scored[case.id] = found
            progress(label or prompt.name, done, len(cases))
    return PromptScore(
        label or prompt.name,
        prompt.hash,
        chat.name,
        {
            measure: {name: s.values[measure] for name, s in scored.items() if measure in s.values}
            for measure in task.measures
        },
        _pooled(scored.values()),
        {name: s.error for name, s in scored.items() if s.error},
        sum(meter.stages().values(), Usage()),
    )


def ask(task: Task[C], chat: ChatModel, prompt: Prompt, case: C) -> Scored:
    """One case. Raises ChatModelError for what is not the prompt's fault."""
    messages = prompt.render(**task.variables(case))
    try:
        reply = chat.complete(messages, schema=task.schema)
    except ChatModelError as error:
        if error.fields.get("kind") in OF_THE_PROMPT:
            return task.failed(case, error.message)
        raise
    found = task.score(case, reply.text)
    if found.error:
        forget_reply(chat, messages, schema=task.schema)
    return found


def compared(base: PromptScore, other: PromptScore) -> list[Comparison]:
    """By every measure, paired over the cases. Raises KeyError where the cases differ."""
    labels = base.label, other.label
    return [
        compare_values(labels, measure, base.values[measure], other.values[measure])
        for measure in base.values
        if base.values[measure]
    ]


def verdict(base: PromptScore, other: PromptScore, measure: str) -> Verdict:
    """Whether `other` is better than `base`: an interval that holds 0 says that it may be luck."""
    rows = compared(base, other)
    row = next(row for row in rows if row.measure == measure)
    worse = tuple(row.measure for row in rows if row.high < 0)
    return Verdict(
        other.hash,
        base.hash,
        measure,
        row.low > 0 and not worse,
        worse,
        row.difference,
        row.low,
        row.high,
        content_hash(*sorted(base.values[measure])),
        other.model,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _pooled(found: Any) -> tuple[int, int, int]:
    right, named, wanted = zip(*(scored.counts for scored in found), strict=True)
    return sum(right), sum(named), sum(wanted)
