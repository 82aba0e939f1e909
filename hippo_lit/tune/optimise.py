"""A better prompt by one of DSPy's optimizers, from the half of the cases that is for tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hippo_lit.errors import ChatModelError, ConfigError
from hippo_lit.evaluate.measures import mean
from hippo_lit.llm.prompts import Prompt
from hippo_lit.models.guard import Guard
from hippo_lit.protocols import ChatModel
from hippo_lit.tune.engine import import_dspy, language_model, program_of, prompt_of, quietly
from hippo_lit.tune.score import ask
from hippo_lit.tune.tasks import C, Scored, Task
from hippo_lit.tune.watch import OnStep, Watch, unwatched

Optimizer = Literal["bootstrap", "mipro", "gepa"]
OPTIMIZERS: tuple[Optimizer, ...] = ("bootstrap", "mipro", "gepa")
FLAWLESS = 0.99
_DEMOS = 4


@dataclass(frozen=True, slots=True)
class Effort:
    """How much an optimizer tries: demonstration sets or instructions that are compared, and GEPA's rounds
    over the tuning cases.
    """

    candidates: int = 6
    rounds: int = 6
    seed: int = 0


def optimise(
    optimizer: Optimizer,
    task: Task[C],
    prompt: Prompt,
    cases: Sequence[C],
    chat: ChatModel,
    *,
    proposer: ChatModel | None = None,
    guard: Guard,
    measure: str,
    log: Path,
    effort: Effort | None = None,
    threads: int = 4,
    on_step: OnStep = unwatched,
) -> Prompt:
    """The best prompt that the optimizer found; it may be `prompt` itself.

    Half of the cases gives demonstrations and feedback, the other half says what is best. `proposer` writes
    instructions (mipro, gepa). Every draw comes from a seed and every reply is in `chat`'s cache, so the same
    call after an interruption, or with a larger budget, goes through what was done without asking again.
    `on_step` is told how far it is, from any thread. Raises MissingExtraError, ConfigError for too few
    cases, and ChatModelError once the budget is used up or a model cannot be asked.
    """
    if len(cases) < 4:
        raise ConfigError(f"{len(cases)} cases are too few to tune on: label at least 4", key="cases")
    effort = effort or Effort()
    dspy = import_dspy(log.parent / "dspy")
    lm, engine = language_model(dspy, chat, task.schema)
    writer, writing = language_model(dspy, proposer or chat)
    teaching, judging = ([_example(dspy, task, case) for case in half] for half in (cases[::2], cases[1::2]))
    watch = Watch(on_step, len(judging), _trials(optimizer, effort, len(cases)), by_reply=optimizer == "gepa")
    metric = _metric(dspy, task, measure, watch)
    search = _SEARCHES[optimizer](dspy, metric, writer, effort, threads)
    program = program_of(dspy, prompt)
    try:
        with quietly(log), dspy.context(lm=lm, callbacks=[watch.callback(dspy)]):
            try:
                best = search(program, teaching, judging)
            finally:
                for each in (engine, writing):
                    each.end()
    except Exception as error:
        # DSPy wraps what an engine raises; the engine, and the guard, know what it was.
        if (stopped := guard.stopped or engine.error or writing.error) is not None:
            raise _stopped(stopped) from error
        if isinstance(error, dspy.utils.exceptions.AdapterParseError):
            raise ChatModelError(
                f"{(proposer or chat).name} writes the instructions, and its reply cannot be read; see {log}."
                " Try another --seed, bootstrap, which needs no instructions, or a more capable model",
                model=(proposer or chat).name,
                status=None,
                kind="unreadable",
            ) from error
        raise
    if (stopped := guard.stopped or engine.error or writing.error) is not None:
        raise _stopped(stopped)  # what was compared after that came to nothing
    found = prompt_of(best, prompt, task, cases)
    before, after = (_mean(task, chat, each, cases[1::2], measure) for each in (prompt, found))
    return found if after > before else prompt


def _mean(task: Task[C], chat: ChatModel, prompt: Prompt, cases: Sequence[C], measure: str) -> float:
    """On the judging half. Mostly from the cache; but bootstrap starts without the demos of the prompt, and
    prefers what it tried first where nothing is better.
    """
    try:
        return mean([_value(task, ask(task, chat, prompt, case), measure) for case in cases])
    except ChatModelError as error:
        raise _stopped(error) from error


def _value(task: Task[Any], scored: Scored, measure: str) -> float:
    """By the measure that is tuned, or by the first where a case has no other."""
    return scored.values.get(measure, scored.values[task.measures[0]])


def _stopped(error: ChatModelError) -> ChatModelError:
    message = (
        f"{error.message}. The optimizer did not end; what it asked is kept: the same command goes on from"
        " there, with a larger --budget-usd if that was the reason"
    )
    return ChatModelError(message, **error.fields)


def _example(dspy: Any, task: Task[C], case: C) -> Any:
    given = task.variables(case)
    return dspy.Example(**given, reply=task.demonstration(case), case=case).with_inputs(*given)


def _trials(optimizer: Optimizer, effort: Effort, cases: int) -> int:
    """How many steps `Watch` will count, as DSPy's optimizers go about it."""
    match optimizer:
        case "bootstrap":
            return (
                effort.candidates + 3
            )  # as it stands, labelled and bootstrapped demos in order, shuffled ones
        case "mipro":
            return 2 * effort.candidates + 1  # as it stands, and the trials
        case "gepa":
            return effort.rounds * cases


def _metric(dspy: Any, task: Task[Any], measure: str, watch: Watch) -> Callable[..., Any]:
    def metric(example: Any, found: Any, trace: Any = None, name: Any = None, own: Any = None) -> Any:  # noqa: ARG001
        scored = task.score(example.case, found.reply)
        watch.replied()
        value = _value(task, scored, measure)
        return value if name is None else dspy.Prediction(score=value, feedback=scored.feedback)

    return metric


_Search = Callable[[Any, list[Any], list[Any]], Any]


def _bootstrap(dspy: Any, metric: Any, writer: Any, effort: Effort, threads: int) -> _Search:  # noqa: ARG001
    def search(program: Any, teaching: list[Any], judging: list[Any]) -> Any:
        found = dspy.BootstrapFewShotWithRandomSearch(
            metric,
            max_bootstrapped_demos=_DEMOS,
            max_labeled_demos=2 * _DEMOS,
            num_candidate_programs=effort.candidates,
            num_threads=threads,
            max_errors=1,
            metric_threshold=FLAWLESS,
        )
        return found.compile(program, trainset=teaching, valset=judging)

    return search


def _mipro(dspy: Any, metric: Any, writer: Any, effort: Effort, threads: int) -> _Search:
    def search(program: Any, teaching: list[Any], judging: list[Any]) -> Any:
        found = dspy.MIPROv2(
            metric,
            prompt_model=writer,
            auto=None,
            num_candidates=effort.candidates,
            max_bootstrapped_demos=_DEMOS,
            max_labeled_demos=_DEMOS,
            num_threads=threads,
            max_errors=1,
            metric_threshold=FLAWLESS,
            seed=effort.seed or 9,
        )
        return found.compile(
            program,
            trainset=teaching,
            valset=judging,
            num_trials=2 * effort.candidates,
            minibatch=False,
            program_aware_proposer=False,  # our one call says nothing that the instructions do not
        )

    return search


def _gepa(dspy: Any, metric: Any, writer: Any, effort: Effort, threads: int) -> _Search:
    def search(program: Any, teaching: list[Any], judging: list[Any]) -> Any:
        found = dspy.GEPA(
            metric,
            max_metric_calls=effort.rounds * (len(teaching) + len(judging)),
            reflection_lm=writer,
            num_threads=threads,
            seed=effort.seed,
            use_merge=False,  # there is one predictor: nothing to merge
        )
        return found.compile(program, trainset=teaching, valset=judging)

    return search


_SEARCHES: dict[Optimizer, Callable[..., _Search]] = {"bootstrap": _bootstrap, "mipro": _mipro, "gepa": _gepa}
