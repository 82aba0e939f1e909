"""`hippo-lit ask`: one question, an answer that cites papers."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from hippo_lit.cli.filters import (
    Author,
    Exclude,
    HasAbstract,
    NoRetracted,
    Only,
    OpenAccess,
    Source,
    Venue,
    Year,
    filters_from,
)
from hippo_lit.cli.options import (
    AsJson,
    Config,
    IndexFolder,
    MaxCost,
    MaxTokens,
    Overrides,
    not_empty,
    read_settings,
    say_without_effect,
    schema_option,
)
from hippo_lit.cli.output import print_json, show
from hippo_lit.types import Mode

_Schema = Annotated[bool, schema_option("Answer")]


def ask(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION", help="The question, in words.", show_default=False, callback=not_empty
        ),
    ],
    folder: IndexFolder,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="How many papers to answer from; unset: answer.top_k.")
    ] = None,
    mode: Annotated[Mode, typer.Option("--mode", help="How to find them.")] = "hippo",
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=1,
            help="Rounds of search, each by a thought on what the last ones found; unset: answer.steps.",
        ),
    ] = None,
    year: Year = None,
    author: Author = None,
    venue: Venue = None,
    source: Source = None,
    open_access: OpenAccess = False,
    has_abstract: HasAbstract = False,
    no_retracted: NoRetracted = False,
    only: Only = None,
    exclude: Exclude = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the thoughts, and what each round of search added.")
    ] = False,
    max_tokens: MaxTokens = None,
    max_cost_usd: MaxCost = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
    schema: _Schema = False,  # noqa: ARG001 - printed before this runs
) -> None:
    """Answer a question from the papers of an index.

    The chat model of the settings (llm.*) reads the best papers and cites them by their ids; what it cites is
    checked against what it was shown. Without a chat model, or where it fails, the nearest sentences of the
    papers are given instead, and the output says so. Tokens and money are shown for each stage.
    """
    from hippo_lit.api import HippoLit
    from hippo_lit.models.guard import Budget

    filters = filters_from(
        year, author, venue, source, open_access, has_abstract, no_retracted, only, exclude
    )
    settings = read_settings(config, overrides)
    options: dict[str, Any] = {"steps": steps, "filters": filters, "budget": Budget(max_tokens, max_cost_usd)}
    printer = None if as_json else Printer()
    with HippoLit.open(folder, settings, create=False, read_only=True) as lit:
        answer = lit.answer(question, k, mode, **options, on_text=printer)
    say_without_effect(folder, overrides)
    if printer is None:
        from hippo_lit.answer.values import to_json

        print_json(to_json(answer))
        return
    from hippo_lit.cli.answers import answer_parts

    if printer.begun:
        printer("\n")
    streamed = printer.begun and answer.kind in ("answer", "not_said")
    show(answer_parts(answer, with_text=not streamed, explain=explain))


class Printer:
    """Prints pieces of an answer as they come: lines stay lines, and nothing steers the terminal."""

    def __init__(self) -> None:
        self.begun = False

    def __call__(self, piece: str) -> None:
        self.begun = True
        shown = "".join(c if c == "\n" or c.isprintable() else " " for c in piece)
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(shown.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
