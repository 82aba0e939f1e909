"""`hippo-lit label`: which candidate facts help to answer, decided by a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.bench import index_data
from hippo_lit.cli.options import Config, IndexFolder, Overrides, settings_of
from hippo_lit.cli.output import say
from hippo_lit.cli.progress import reporting

if TYPE_CHECKING:
    from hippo_lit.tune.label import Labelling
    from hippo_lit.types import ScoredFact

HELP = "k keep · d drop · s skip · n next question · u undo · q quit"


def label(
    questions: Annotated[
        Path, typer.Argument(metavar="QUERIES", help="Questions, one a line, or JSONL with text.")
    ],
    folder: IndexFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The labels; else QUERIES with the ending .labels.jsonl."),
    ] = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Walk through the candidate facts of questions and say which of them help to answer.

    One key a fact: k keep, d drop, s skip, n next question, u undo, q quit. Every decision is on disk at once
    (FILE.journal); the same command goes on where it stopped. FILE is a query file for `tune --data FILE
    --index DIR` and `eval`: it holds the questions of which a fact was kept or all were dropped. Keys may
    come from a pipe.
    """
    from hippo_lit.tune.bench import Bench
    from hippo_lit.tune.label import Labelling, cases_of, read_questions

    settings = settings_of(folder, config, overrides)
    target = (out or questions.with_suffix(".labels.jsonl")).expanduser()
    asked = read_questions(questions)
    index = Path(folder).expanduser()
    with (
        TemporaryDirectory(prefix="hippo-lit-") as place,
        reporting() as report,
        Bench.open(index_data(index), settings, Path(place), index=index, progress=report) as (bench, _),
    ):
        cases = cases_of(bench.case(query) for query in asked)
    work = Labelling(cases, target.with_name(f"{target.name}.journal"))
    if work.decisions:
        say(f"going on after {len(work.decisions):,} decisions")
    try:
        _walk(work, _keys())
    finally:
        count = work.write(target)
        left = "" if work.here is None else "; the same command goes on"
        say(f"{target}: {count:,} labelled question{'' if count == 1 else 's'}{left}")


def _walk(work: Labelling, keys: Iterator[str]) -> None:
    shown = ""
    while (here := work.here) is not None:
        case, number = here
        if shown != case.id:
            typer.echo(f"\n{_line(case.query.text)}\n  {HELP}")
            shown = case.id
        candidate = case.candidates[number]
        typer.echo(_fact(number, len(case.candidates), candidate))
        key = next(keys, "q")
        match key:
            case "k":
                work.decide("keep")
            case "d":
                work.decide("drop")
            case "s":
                work.decide("skip")
            case "n":
                work.next_question()
            case "u":
                undone = work.undo()
                typer.echo("  nothing to undo" if undone is None else f"  undone: {undone.choice}")
                shown = ""
            case "q":
                return
            case _:
                typer.echo(f"  {HELP}")


def _keys() -> Iterator[str]:
    """One key after the other, from the terminal or from a stream without its white space."""
    if sys.stdin.isatty():
        while True:
            yield typer.getchar().lower()
    while key := sys.stdin.read(1):
        if not key.isspace():
            yield key.lower()


def _fact(number: int, total: int, candidate: ScoredFact) -> str:
    from hippo_lit.render import fact_text, printable

    own = candidate.fact.object == candidate.sentence  # it stands in for its sentence
    sentence = f"\n      “{printable(candidate.sentence)}”" if candidate.sentence and not own else ""
    return f"  {number + 1}/{total} {fact_text(candidate)}{sentence}"


def _line(text: str) -> str:
    from hippo_lit.render import printable

    return printable(text)
