"""`hippo-lit prior-art`: has this been shown before?"""

from __future__ import annotations

from typing import Annotated

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

_Schema = Annotated[bool, schema_option("PriorArt")]


def prior_art(
    hypothesis: Annotated[
        str,
        typer.Argument(
            metavar="HYPOTHESIS",
            help="A statement, in a sentence or two.",
            show_default=False,
            callback=not_empty,
        ),
    ],
    folder: IndexFolder,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="How many papers to judge; unset: prior_art.papers.")
    ] = None,
    mode: Annotated[Mode, typer.Option("--mode", help="How to find them.")] = "hippo",
    year: Year = None,
    author: Author = None,
    venue: Venue = None,
    source: Source = None,
    open_access: OpenAccess = False,
    has_abstract: HasAbstract = False,
    no_retracted: NoRetracted = False,
    only: Only = None,
    exclude: Exclude = None,
    max_tokens: MaxTokens = None,
    max_cost_usd: MaxCost = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
    schema: _Schema = False,  # noqa: ARG001 - printed before this runs
) -> None:
    """Say whether the papers of an index have shown, or contradict, a hypothesis.

    The chat model of the settings (llm.*) takes the hypothesis apart and judges the best papers for it and
    for its parts; what it says counts only with a sentence that stands in the abstract word for word. Rules
    make one verdict of that: shown_before, contradicted, partly_shown, or not_found, which means no more than
    not found in this index. Without a chat model the papers and their nearest sentences are given, and no
    verdict.
    """
    from hippo_lit.api import HippoLit
    from hippo_lit.models.guard import Budget

    filters = filters_from(
        year, author, venue, source, open_access, has_abstract, no_retracted, only, exclude
    )
    settings = read_settings(config, overrides)
    with HippoLit.open(folder, settings, create=False, read_only=True) as lit:
        art = lit.check_prior_art(
            hypothesis, k, mode, filters=filters, budget=Budget(max_tokens, max_cost_usd)
        )
    say_without_effect(folder, overrides)
    if as_json:
        from hippo_lit.answer.values import to_json

        print_json(to_json(art))
        return
    from hippo_lit.cli.answers import prior_art_parts

    show(prior_art_parts(art))
