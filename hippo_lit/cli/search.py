"""`hippo-lit search`: one question, an explained ranking."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.options import AsJson, Config, IndexFolder, Overrides, read_settings
from hippo_lit.cli.output import print_json, say, show
from hippo_lit.types import Mode

if TYPE_CHECKING:
    from hippo_lit.snapshot import Snapshot

Years = tuple[int | None, int | None]


def parse_years(text: str) -> Years:
    """First and last year, both inclusive, of "2018-2024", "2020", "2018-" or "-2020"."""
    match = re.fullmatch(r"\s*(\d{4})?\s*(?:([-–])\s*(\d{4})?)?\s*", text, re.ASCII)
    if not match or not (match[1] or match[3]):
        raise typer.BadParameter(f"{text!r} is no range of years; write 2018-2024, 2020, 2018- or -2020")
    first = int(match[1]) if match[1] else None
    last = (int(match[3]) if match[3] else None) if match[2] else first
    if first is not None and last is not None and last < first:
        raise typer.BadParameter(f"{text!r} ends before it begins; did you mean {last}-{first}?")
    return first, last


def _years(text: str | None) -> str | None:
    if text is not None:
        parse_years(text)
    return text


def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="The question, in words.", show_default=False)
    ],
    folder: IndexFolder,
    k: Annotated[int, typer.Option("-k", min=1, help="How many papers to show.")] = 10,
    mode: Annotated[Mode, typer.Option("--mode", help="How to rank.")] = "hippo",
    year: Annotated[
        str | None,
        typer.Option(
            "--year",
            metavar="RANGE",
            callback=_years,
            help="Only papers of these years: 2018-2024, 2020, 2018- or -2020.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="ID", help="Leave this paper out; may be repeated."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each paper was found.")] = False,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Rank the papers of an index for a question.

    Modes: hippo walks from facts that match the question through the fact graph; lexical is BM25 and the
    citation graph; bm25, dense, and hybrid of the two rank by text alone. When no fact matches, or a model
    fails, hippo answers as hybrid does, and says so. --json prints the whole result, explanations included.
    """
    from hippo_lit.api import HippoLit

    settings = read_settings(config, overrides)
    with HippoLit.open(folder, settings, create=False, read_only=True) as lit:
        result = lit.retrieve(
            query,
            k,
            mode,
            years=parse_years(year) if year else (None, None),
            exclude=exclude or (),
            explain=explain or as_json,  # the ways through the graph take time to find
        )
        _warn_of_unknown(lit.snapshot(), exclude or ())
    if as_json:
        from hippo_lit.render import to_json

        print_json(to_json(result))
        return
    from hippo_lit.cli.results import explanation, ranking

    show(explanation(result) if explain else ranking(result))


def _warn_of_unknown(snapshot: Snapshot | None, ids: list[str] | tuple[()]) -> None:
    for paper_id in ids:
        if snapshot is not None and snapshot.find(paper_id) is None:
            say(f"--exclude {paper_id}: the index holds no such paper")
