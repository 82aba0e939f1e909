"""`hippo-lit search`: one question, an explained ranking."""

from __future__ import annotations

from contextlib import ExitStack
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
    MetricsFile,
    Overrides,
    not_empty,
    read_settings,
    say_without_effect,
)
from hippo_lit.cli.output import print_json, show
from hippo_lit.types import Mode


def search(
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY", help="The question, in words.", show_default=False, callback=not_empty
        ),
    ],
    folder: IndexFolder,
    k: Annotated[int, typer.Option("-k", min=1, help="How many papers to show.")] = 10,
    mode: Annotated[Mode, typer.Option("--mode", help="How to rank.")] = "hippo",
    year: Year = None,
    author: Author = None,
    venue: Venue = None,
    source: Source = None,
    open_access: OpenAccess = False,
    has_abstract: HasAbstract = False,
    no_retracted: NoRetracted = False,
    only: Only = None,
    exclude: Exclude = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each paper was found.")] = False,
    metrics_log: MetricsFile = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Rank the papers of an index for a question.

    Modes: hippo walks from facts that match the question through the fact graph; lexical is BM25 and the
    citation graph; bm25, dense, and hybrid of the two rank by text alone. When no fact matches, or a model
    fails, hippo answers as hybrid does, and says so. Filters restrict what is ranked, not what the fact graph
    and the citations are followed through. --json prints the whole result, explanations included.
    """
    from hippo_lit.api import HippoLit
    from hippo_lit.tool.metrics import MetricsLog, measured

    filters = filters_from(
        year, author, venue, source, open_access, has_abstract, no_retracted, only, exclude
    )
    settings = read_settings(config, overrides)
    with ExitStack() as open_until_the_end:
        enter = open_until_the_end.enter_context
        metrics = enter(MetricsLog(metrics_log)) if metrics_log else None
        lit = enter(HippoLit.open(folder, settings, create=False, read_only=True))
        result = lit.retrieve(
            query,
            k,
            mode,
            filters=filters,
            explain=explain or as_json,  # the ways through the graph take time to find
        )
        if metrics is not None:
            metrics.write(measured(result))
    say_without_effect(folder, overrides)
    if as_json:
        from hippo_lit.render import to_json

        print_json(to_json(result))
        return
    from hippo_lit.cli.results import explanation, ranking

    show(explanation(result) if explain else ranking(result))
