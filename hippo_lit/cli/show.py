"""`hippo-lit show`: one paper, its facts, its citations both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hippo_lit.cli.options import AsJson, IndexFolder
from hippo_lit.cli.output import print_json
from hippo_lit.cli.output import show as show_parts

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hippo_lit.about import PaperDescription
    from hippo_lit.types import Paper

MAX_OUTSIDE = 20


def show(
    paper_id: Annotated[
        str,
        typer.Argument(
            metavar="PAPER_ID",
            help="As `search` prints it; or any other identifier: a DOI, arxiv:1706.03762, an address.",
            show_default=False,
        ),
    ],
    folder: IndexFolder,
    as_json: AsJson = False,
) -> None:
    """Show a paper, where its data come from, its facts, and its citations both ways.

    Each fact stands under the sentence that states it. Where sources disagree, what each says is shown.
    """
    from hippo_lit.about import describe_paper

    described = describe_paper(folder, paper_id)
    if as_json:
        print_json(_as_json(described))
    else:
        show_parts(_parts(described))


def _parts(described: PaperDescription) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    from hippo_lit.render import printable, title_text

    paper = described.paper
    yield Text(title_text(paper.title) or "(no title)", "bold")
    year = str(paper.year) if paper.year is not None else "no year"
    known = [
        paper.id,
        year,
        paper.venue,
        paper.doi,
        paper.url,
        f"source: {paper.source}" if paper.source else None,
    ]
    yield Text(" · ".join(printable(part) for part in known if part), "cyan")
    if paper.retracted:
        origin = described.provenance.get("retracted")
        yield Text(f"RETRACTED, says {_named(origin.sources)}" if origin else "RETRACTED", "bold red")
    if paper.ids:
        yield Text(" · ".join(map(printable, paper.ids)), "cyan dim")
    if paper.authors:
        yield Text(printable(", ".join(paper.authors)))
    if paper.abstract:
        yield Padding(Text(printable(paper.abstract)), (1, 0))
    yield from _origins(described)
    yield Text(f"Facts: {len(described.facts)}", "bold")
    for sentence, group in groupby(described.facts, key=lambda stated: stated[0]):
        yield Padding(Text(f"“{printable(sentence)}”", "dim"), (0, 0, 0, 2))
        for _, fact in group:
            parts = (printable(part) for part in (fact.subject, fact.relation, fact.object))
            yield Padding(Text(" — ".join(parts)), (0, 0, 0, 6))
    yield from _citations("Cites", described.cites, described.cites_outside)
    yield from _citations("Cited by", described.cited_by, described.cited_by_outside)


def _origins(described: PaperDescription) -> Iterator[RenderableType]:
    """Of a paper of several records: who gave what, who contradicts; and what it was not joined with."""
    from rich.padding import Padding
    from rich.text import Text

    from hippo_lit.render import printable, shorten

    if len(described.views) > 1:
        records = ", ".join(f"{printable(view.id)} ({printable(view.source)})" for view in described.views)
        yield Text(f"Merged from {len(described.views)} records: ", "bold").append(records, "not bold")
        for name, origin in described.provenance.items():
            yield Padding(Text(f"{name}: {_named(origin.sources)}"), (0, 0, 0, 2))
            for value, sources in origin.others:
                text = ", ".join(value) if isinstance(value, tuple) else str(value)
                yield Padding(Text(f"{_named(sources)} says: {shorten(text, 200)}", "yellow"), (0, 0, 0, 6))
    for key, other, why in described.kept_apart:
        yield Text(f"Shares {printable(key)} with {printable(other)}, but {why or 'is kept apart'}", "yellow")


def _named(sources: Sequence[str]) -> str:
    from hippo_lit.render import printable

    return ", ".join(printable(source) or "a source without a name" for source in sources)


def _citations(title: str, papers: Sequence[Paper], outside: Sequence[str]) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    from hippo_lit.render import printable, title_text

    yield Text(f"{title}: {len(papers)} in the index, {len(outside)} outside it", "bold")
    for paper in papers:
        year = f" ({paper.year})" if paper.year is not None else ""
        line = Text(printable(paper.id), "cyan").append(f"  {title_text(paper.title)}{year}", "default")
        yield Padding(line, (0, 0, 0, 2))
    if outside:
        more = (
            f" … and {len(outside) - MAX_OUTSIDE:,} more (--json lists all)"
            if len(outside) > MAX_OUTSIDE
            else ""
        )
        yield Padding(Text(printable(", ".join(outside[:MAX_OUTSIDE])) + more, "dim"), (0, 0, 0, 2))


def _as_json(described: PaperDescription) -> dict[str, Any]:
    from hippo_lit.records import paper_to_mapping

    def brief(papers: Sequence[Paper]) -> list[dict[str, Any]]:
        return [{"id": paper.id, "title": paper.title, "year": paper.year} for paper in papers]

    return {
        "paper": paper_to_mapping(described.paper),
        "facts": [
            {
                "subject": fact.subject,
                "relation": fact.relation,
                "object": fact.object,
                "sentence": sentence,
            }
            for sentence, fact in described.facts
        ],
        "cites": brief(described.cites),
        "cites_outside": list(described.cites_outside),
        "cited_by": brief(described.cited_by),
        "cited_by_outside": list(described.cited_by_outside),
        "records": [{"id": view.id, "source": view.source} for view in described.views],
        "provenance": {
            name: {
                "sources": list(origin.sources),
                "others": [{"value": value, "sources": list(sources)} for value, sources in origin.others],
            }
            for name, origin in described.provenance.items()
        },
        "kept_apart": [
            {"identifier": key, "id": other, "reason": why} for key, other, why in described.kept_apart
        ],
    }
