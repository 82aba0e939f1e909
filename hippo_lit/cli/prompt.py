"""`hippo-lit prompt`: versions of prompts, and one tried on a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.bench import (
    Budget,
    Data,
    Index,
    Name,
    Prompts,
    Store,
    opened,
    working_copy,
)
from hippo_lit.cli.options import AsJson, Config, Overrides, read_settings, settings_of
from hippo_lit.cli.output import print_json, say, show
from hippo_lit.cli.progress import reporting

if TYPE_CHECKING:
    from hippo_lit.tune.check import Checked
    from hippo_lit.tune.working import WorkingCopy

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Prompts as files: versions, checks, and one tried on a question.",
)
_Version = Annotated[
    str,
    typer.Argument(
        metavar="VERSION",
        help="v1, v2 …, current, shipped, or the path of a prompt folder.",
        show_default=True,
    ),
]


def _copy(prompts: Path | None, config: str | None, overrides: list[str] | None) -> WorkingCopy:
    return working_copy(prompts, read_settings(config, overrides))


@app.command("list")
def list_(
    prompts: Prompts = None, config: Config = None, overrides: Overrides = None, as_json: AsJson = False
) -> None:
    """The prompts, which version is in use, and what each takes of every call."""
    from hippo_lit.cli.prompt_tables import listed
    from hippo_lit.tune.tables import described

    copy = _copy(prompts, config, overrides)
    rows = [described(copy, name) for name in copy.names()]
    if as_json:
        print_json({"folder": str(copy.folder), "prompts": rows})
    else:
        show([listed(copy.folder, rows)])


@app.command("show")
def show_(
    name: Name,
    version: _Version = "current",
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Print the files of a version."""
    from hippo_lit.tune.tables import as_text

    typer.echo(as_text(_copy(prompts, config, overrides).load(name, version)), nl=False)


@app.command()
def diff(
    name: Name,
    old: _Version = "shipped",
    new: _Version = "current",
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """What changed between two versions, line by line."""
    from hippo_lit.tune.tables import difference

    copy = _copy(prompts, config, overrides)
    text = difference(copy.load(name, old), copy.load(name, new), old, new)
    typer.echo(text or f"{name}: {old} and {new} are equal", nl=not text)


@app.command()
def new(
    name: Name,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="VERSION",
            help="Start from this version, folder, or HippoRAG filter .json file.",
        ),
    ] = "current",
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Make a new version to edit; the folder of prompts is made where it is not there.

    What is in use stays as it is until `promote`.
    """
    copy = _copy(prompts, config, overrides)
    version = copy.new(name, copy.load(name, source))
    say(f"{version} of {name}, from {source}; edit its files, then: hippo-lit prompt check {name} {version}")
    typer.echo(str(copy.path(name, version)))


@app.command()
def check(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The prompt; unset: all.", show_default=False)
    ] = None,
    version: _Version = "current",
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Find missing and unknown variables and demonstrations that cannot be read; estimate the tokens.

    The variables are those of the shipped prompt. Exits with 1 where runs could not use it.
    """
    from dataclasses import asdict

    copy = _copy(prompts, config, overrides)
    names = copy.names() if name is None else [name]
    found = {each: _checked(copy, each, version) for each in names}
    if as_json:
        rows = [{"name": each, **asdict(report), "good": report.good} for each, report in found.items()]
        print_json(rows[0] if name else {"good": all(row["good"] for row in rows), "prompts": rows})
    else:
        for each, report in found.items():
            for finding in report.findings:
                say(f"{finding.severity}: {finding.where}: {finding.message}")
            demos = f"{report.demos} demonstration{'' if report.demos == 1 else 's'}"
            typer.echo(f"{each} {version}: {demos}, about {report.tokens:,} tokens before the question")
    if not all(report.good for report in found.values()):
        raise typer.Exit(1)


def _checked(copy: WorkingCopy, name: str, version: str) -> Checked:
    from hippo_lit.tune.check import check_folder

    folder = Path(version).expanduser()
    if not (len(folder.parts) > 1 and folder.is_dir()):
        folder = copy.path(name, version)
    return check_folder(name, folder, copy.load(name, "shipped").variables)


@app.command()
def promote(
    name: Name,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="v1, v2 … or shipped.")],
    force: Annotated[bool, typer.Option("--force", help="Without a score that says it is better.")] = False,
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Put a version into use, if `tune score` found it better than the one in use.

    Better means: the 95% interval of the paired difference on held-out questions lies above 0.
    """
    from hippo_lit.tune.promotion import promote_scored

    copy = _copy(prompts, config, overrides)
    done = promote_scored(copy, name, version, force=force)
    say(
        f"{name}: {done.version} is in use. Runs take it with --set prompts.path={copy.folder}, or the same"
        " in a settings file"
    )


@app.command()
def rollback(name: Name, prompts: Prompts = None, config: Config = None, overrides: Overrides = None) -> None:
    """Put the version back into use that was before the last promotion."""
    done = _copy(prompts, config, overrides).rollback(name)
    say(f"{name}: {done.version} is in use again ({done.why})")


@app.command("try")
def try_(
    name: Name,
    question: Annotated[
        str,
        typer.Option(
            "-q",
            "--question",
            metavar="TEXT",
            help="The question; for extract a passage, or the id of a paper.",
        ),
    ],
    version: Annotated[
        str, typer.Option("--prompt", metavar="VERSION", help="Try this version, or the prompt of a folder.")
    ] = "current",
    against: Annotated[
        str | None, typer.Option("--against", metavar="VERSION", help="Also this one, side by side.")
    ] = None,
    data: Data = "mock",
    index: Index = None,
    store: Store = None,
    budget_usd: Budget = None,
    prompts: Prompts = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """One call and all that it took: messages, reply, what was read and matched back, what it cost."""
    from hippo_lit.cli.prompt_tables import trials
    from hippo_lit.tune.material import check_task
    from hippo_lit.tune.trial import try_prompt

    check_task(name)
    settings = settings_of(index, config, overrides)
    copy = working_copy(prompts, settings)
    wanted = [version, *([against] if against else [])]
    loaded = [copy.load(name, each) for each in wanted]
    place = store or copy.folder / "store"
    with (
        reporting() as report,
        opened(name, data, settings, place, index, report, budget_usd=budget_usd) as on,
    ):
        task, case = on.material.task, on.material.case(question)
        tried = [
            try_prompt(task, on.chat, prompt, case, label=label)
            for label, prompt in zip(wanted, loaded, strict=True)
        ]
    if as_json:
        print_json({"question": question, "tried": [trial.as_json() for trial in tried]})
    else:
        show(trials(task.shown(case), tried))
