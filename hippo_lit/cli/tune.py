"""`hippo-lit tune`: is a prompt better than the one in use, and a search for one that is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from hippo_lit.cli.bench import (
    Budget,
    Data,
    Index,
    Name,
    Opened,
    Prompts,
    Store,
    opened,
    working_copy,
)
from hippo_lit.cli.evaluate import configurations
from hippo_lit.cli.options import AsJson, Config, Overrides, settings_of
from hippo_lit.cli.output import print_json, say, show
from hippo_lit.cli.progress import Report, reporting

if TYPE_CHECKING:
    from hippo_lit.llm.prompts import Prompt
    from hippo_lit.tune.score import PromptScore, Verdict
    from hippo_lit.tune.watch import OnStep, Step
    from hippo_lit.tune.working import WorkingCopy


class _Group(TyperGroup):
    """`tune PROMPT` is `tune run PROMPT`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Score prompts and search for better ones. `tune PROMPT …` is short for `tune run PROMPT …`.",
)
_Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        metavar="M",
        help="What decides: F1; R@k of papers (fact_filter); entity-F1 (extract); EM or cited (answer).",
    ),
]


@app.command()
def score(
    name: Name,
    versions: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt", metavar="VERSION", help="Score this version or folder too; may be repeated."
        ),
    ] = None,
    split: Annotated[
        Literal["test", "tune", "all"], typer.Option("--split", help="Which half of the questions.")
    ] = "test",
    metric: _Metric = "F1",
    data: Data = "mock",
    index: Index = None,
    store: Store = None,
    budget_usd: Budget = None,
    prompts: Prompts = None,
    configs: Annotated[
        list[str] | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings; repeated: the same prompts on several models."
        ),
    ] = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Measure prompts against the one in use, paired over the same questions.

    fact_filter: F1 of the kept facts, and R@k, the recall of papers that the fact graph then finds. extract:
    F1 of triples and of entities. answer: F1 and EM against short answers, and F1 of the cited papers. All
    with 95% bootstrap intervals. What is found on the held-out half ("test") is kept, and `prompt promote`
    goes by it. Cases without a split are halved by their ids.
    """
    found: list[tuple[str, list[PromptScore]]] = []
    default = os.environ.get("HIPPO_LIT_CONFIG")  # an option that repeats would split a path at its spaces
    for label, settings in configurations(configs or ([default] if default else None), overrides, index):
        copy = working_copy(prompts, settings)
        place = store or copy.folder / "store"
        with (
            reporting() as report,
            opened(name, data, settings, place, index, report, budget_usd=budget_usd, metric=metric) as on,
        ):
            cases = on.material.cases(split)
            tried = [(version, copy.load(name, version)) for version in versions or ()]
            scores = _scores(on, [("current", copy.load(name)), *tried], cases, report)
            first = not found
            found.append((label if configs else "", scores))
        if split == "test" and first:
            _keep(copy, name, scores, metric)
    _tell(found, metric, as_json=as_json)


@app.command()
def run(
    name: Name,
    optimizer: Annotated[
        Literal["bootstrap", "mipro", "gepa"],
        typer.Option("--optimizer", help="bootstrap: demonstrations; gepa: instructions; mipro: both."),
    ] = "bootstrap",
    metric: _Metric = "F1",
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, help="Instructions or sets of demonstrations to compare.")
    ] = 6,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    promote: Annotated[bool, typer.Option("--promote", help="Put it into use, if it is better.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --promote: even if it is not.")] = False,
    data: Data = "mock",
    index: Index = None,
    store: Store = None,
    budget_usd: Budget = None,
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Search for a better prompt with one of DSPy's optimizers (pip install 'hippo-lit[tune]').

    It sees the half of the labelled cases that is for tuning. What it finds becomes a new version, as plain
    files, and is scored once on the held-out half against the prompt in use. An interrupted search, or one
    that used its budget up, goes on when the same command is given again: replies are kept.
    """
    from hippo_lit.tune.optimise import Effort, optimise
    from hippo_lit.tune.promotion import promote_scored

    settings = settings_of(index, config, overrides)
    copy = working_copy(prompts, settings)
    place = store or copy.folder / "store"
    log = place / f"{optimizer}.log"
    with (
        reporting() as report,
        opened(name, data, settings, place, index, report, budget_usd=budget_usd, metric=metric) as on,
    ):
        current = copy.load(name)
        cases, held_out = on.material.cases("tune"), on.material.cases("test")
        say(f"{optimizer} on {len(cases):,} cases; what it does is written to {log}")
        best = optimise(
            optimizer,
            on.material.task,
            current,
            cases,
            on.chat,
            proposer=on.proposer,
            guard=on.guard,
            measure=metric,
            log=log,
            effort=Effort(candidates, seed=seed),
            threads=settings.llm.concurrency,
            on_step=_told(
                report, f"{optimizer}, {'replies' if optimizer == 'gepa' else 'trials'}", metric, on
            ),
        )
        if best.hash == current.hash:
            say(f"{optimizer} found nothing better than the {name} in use; its log: {log}")
            if as_json:
                print_json({"version": None, "models": []})
            return
        version = copy.version_of(name, best.hash) or copy.new(name, best)
        say(f"{optimizer} made {version}: {copy.path(name, version)}")
        scores = _scores(on, [("current", current), (version, best)], held_out, report)
    _keep(copy, name, scores, metric)
    _tell([("", scores)], metric, as_json=as_json, version=version)
    if promote:
        done = promote_scored(copy, name, version, force=force)
        say(f"{name}: {done.version} is in use")


def _told(report: Report, stage: str, metric: str, on: Opened) -> OnStep:
    """Progress of a search: how far it is, the best so far, what is spent."""

    def told(step: Step) -> None:
        tokens, usd = on.guard.spent
        spent = f"{usd:.4f} USD" if usd else f"{tokens:,} tokens"
        best = "" if step.best is None else f"best {metric} {100 * step.best:.1f}, "
        report(stage, step.done, step.total, f"{best}{spent} spent")

    return told


def _scores(
    on: Opened, prompts: Sequence[tuple[str, Prompt]], cases: Sequence[Any], report: Report
) -> list[PromptScore]:
    from hippo_lit.tune.score import score_prompt

    return [
        score_prompt(
            on.material.task,
            on.chat,
            prompt,
            cases,
            label=label,
            concurrency=on.settings.llm.concurrency,
            progress=report,
        )
        for label, prompt in prompts
    ]


def _verdicts(scores: Sequence[PromptScore], metric: str) -> list[Verdict]:
    from hippo_lit.tune.score import verdict

    base, *others = scores
    return [verdict(base, other, metric) for other in others]


def _keep(copy: WorkingCopy, name: str, scores: Sequence[PromptScore], metric: str) -> None:
    for found in _verdicts(scores, metric):
        copy.keep_score(name, found.as_json())


def _tell(
    found: Sequence[tuple[str, Sequence[PromptScore]]],
    metric: str,
    *,
    as_json: bool,
    version: str | None = None,
) -> None:
    from hippo_lit.tune.score import compared

    if as_json:
        models = [
            {
                "config": label,
                "model": scores[0].model,
                "prompts": [_row(score) for score in scores],
                "verdicts": [one.as_json() for one in _verdicts(scores, metric)],
            }
            for label, scores in found
        ]
        print_json({"version": version, "models": models} if version else {"models": models})
        return
    from rich.text import Text

    from hippo_lit.cli.prompt_tables import scores as table
    from hippo_lit.cli.tables import compared as comparisons

    show([table([score for _, scores in found for score in scores])])
    for label, (base, *others) in found:
        for other in others:
            found_so = _verdicts([base, other], metric)[0]
            title = f"\n{other.label} compared with current{f' ({label})' if label else ''}: "
            verdict = "better" if found_so.better else "not shown to be better"
            but = f", and worse by {', '.join(found_so.worse)}" if found_so.worse else ""
            show([Text(f"{title}{verdict} by {metric}{but}", "bold"), comparisons(compared(base, other))])


def _row(score: PromptScore) -> dict[str, Any]:
    return {
        "label": score.label,
        "hash": score.hash,
        "measures": {name: _plain(asdict(score.figure(name))) for name in score.values},
        "precision": score.precision,
        "recall": score.recall,
        "failed": dict(score.failed),
        "usage": asdict(score.usage),
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in row.items()}
