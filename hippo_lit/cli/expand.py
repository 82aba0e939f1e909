"""`hippo-lit expand`: the papers around those of an index join it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hippo_lit.cli import EXIT_INTERRUPTED
from hippo_lit.cli.options import AsJson, Config, IndexFolder, Overrides, read_settings
from hippo_lit.cli.output import MAX_LISTED, print_json, say, say_some
from hippo_lit.cli.progress import reporting

if TYPE_CHECKING:
    from hippo_lit.expand import Expansion, Joined

_SHOWN_IDS = 3
_Hops = Annotated[int, typer.Option("--hops", min=1, help="How many citations far.")]
_Direction = Annotated[
    Literal["both", "references", "citations"],
    typer.Option("--direction", help="What papers of the index cite, what cites them, or both."),
]
_Limit = Annotated[int, typer.Option("--limit", min=1, help="How many papers may join.")]
_Source = Annotated[
    Literal["s2", "openalex"], typer.Option("--source", help="Who is asked: Semantic Scholar or OpenAlex.")
]
_MaxRequests = Annotated[
    int | None,
    typer.Option("--max-requests", min=1, help="How many citation lists may be asked for over the network."),
]


def expand(
    folder: IndexFolder,
    hops: _Hops = 1,
    direction: _Direction = "both",
    limit: _Limit = 200,
    source: _Source = "s2",
    max_requests: _MaxRequests = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Follow the citations of an index's papers, and add what they lead to.

    Those linked with most papers of the index join first, the newer among equals. Citations between papers
    that are in the index already are learnt as well. Answers are kept for a week (sources.max_age_days):
    interrupted and run again, it asks only for the rest. Where the service fails on some papers, the rest
    counts; the exit code is then 4.
    """
    from hippo_lit.api import HippoLit
    from hippo_lit.errors import SourceError
    from hippo_lit.expand import expand as follow

    began = perf_counter()
    try:
        with (
            HippoLit.open(folder, read_settings(config, overrides), create=False) as lit,
            reporting() as report,
        ):
            expansion = follow(
                lit,
                hops=hops,
                direction=direction,
                limit=limit,
                source=source,
                max_requests=max_requests,
                progress=report,
            )
    except KeyboardInterrupt:
        say("interrupted; the answers so far are kept: run the same command again to go on")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    _complain(expansion)
    seconds = perf_counter() - began
    if as_json:
        print_json(_as_json(folder, expansion, seconds))
    else:
        typer.echo("\n".join(_lines(expansion, seconds)))
    if expansion.failures:
        raise typer.Exit(SourceError.exit_code)


def _complain(expansion: Expansion) -> None:
    if expansion.failures:
        say(f"{len(expansion.failures):,} answers are missing:")
        say_some(list(dict.fromkeys(failure.message for failure in expansion.failures)))
    if expansion.stopped:
        left = expansion.seeds - expansion.asked - len(expansion.unknown)
        say(f"stopped: {expansion.stopped}; not asked about or not answered: {left:,} papers")
    if expansion.unknown:
        say(f"not known to the service: {len(expansion.unknown):,} papers:")
        say_some(list(expansion.unknown))
    if expansion.capped:
        say(f"more citations than were looked at have: {', '.join(expansion.capped[:MAX_LISTED])}")


def _lines(expansion: Expansion, seconds: float) -> Iterator[str]:
    from hippo_lit.render import printable, title_text

    for entry in expansion.joined[:MAX_LISTED]:
        paper = entry.paper
        title = title_text(paper.title or paper.id)
        yield f"+ {title}  {printable(paper.id)}, {paper.year or 'year unknown'}: {printable(_why(entry))}"
    if (more := len(expansion.joined) - MAX_LISTED) > 0:
        yield f"  … and {more:,} more"
    yield (
        f"asked about {expansion.asked:,} of {expansion.seeds:,} papers ({expansion.requests:,} requests):"
        f" {expansion.candidates:,} linked papers outside the index, {len(expansion.joined):,} joined;"
        f" {expansion.links:,} citations within it"
    )
    built = expansion.built
    yield f"index: {built.papers:,} papers, {built.passages:,} passages; {built.failed:,} without facts"
    yield f"{seconds:.1f} s"


def _why(entry: Joined) -> str:
    """The papers of the index that led to this one."""
    parts = []
    for verb, ids in (("cited by", entry.cited_by), ("cites", entry.cites)):
        if ids:
            more = f" and {len(ids) - _SHOWN_IDS:,} more" if len(ids) > _SHOWN_IDS else ""
            parts.append(f"{verb} {', '.join(ids[:_SHOWN_IDS])}{more}")
    return "; ".join(parts)


def _as_json(folder: str, expansion: Expansion, seconds: float) -> dict[str, Any]:
    return {
        "index": folder,
        "joined": [
            {
                "id": entry.paper.id,
                "title": entry.paper.title,
                "year": entry.paper.year,
                "hop": entry.hop,
                "cites": list(entry.cites),
                "cited_by": list(entry.cited_by),
            }
            for entry in expansion.joined
        ],
        "seeds": expansion.seeds,
        "asked": expansion.asked,
        "candidates": expansion.candidates,
        "links": expansion.links,
        "unknown": list(expansion.unknown),
        "capped": list(expansion.capped),
        "failures": [{"message": failure.message, **failure.fields} for failure in expansion.failures],
        "stopped": expansion.stopped,
        "requests": expansion.requests,
        "counts": asdict(expansion.counts),
        "built": asdict(expansion.built),
        "seconds": round(seconds, 3),
    }
