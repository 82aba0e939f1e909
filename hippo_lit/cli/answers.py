"""Answers and prior-art checks for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from hippo_lit.answer.values import Answer, Evidence, PriorArt
from hippo_lit.render import printable, shorten, usage_text
from hippo_lit.types import Usage

LONG = 300
_VERDICTS = {
    "shown_before": "Shown before",
    "contradicted": "Contradicted",
    "partly_shown": "Partly shown",
    "not_found": "Not found in this index",
    "none": "No verdict",
}


def answer_parts(answer: Answer, *, with_text: bool, explain: bool) -> Iterator[RenderableType]:
    """What an answer rests on, after its text where that was not printed yet."""
    if with_text and answer.text:
        yield Text("\n".join(map(printable, answer.text.splitlines())))
    if answer.reason:
        yield _note(answer.reason, degraded=answer.degraded)
    cited = [paper for paper in answer.papers if paper.paper_id in answer.citations]
    if cited:
        yield Text("Cited", "bold")
        table = _grid()
        for paper in cited:
            table.add_row(printable(paper.paper_id), str(paper.year or ""), printable(paper.title))
        yield table
    if explain:
        yield from _rounds(answer)
    yield from _usage(answer.usage, answer.cost)


def _rounds(answer: Answer) -> Iterator[RenderableType]:
    for number, each in enumerate(answer.rounds):
        yield Text(f"Round {each.number} by {each.route}", "bold")
        yield Text(f"  searched: {shorten(each.query, LONG)}")
        yield Text(f"  added: {', '.join(map(printable, each.added)) or 'nothing new'}")
        if number < len(answer.thoughts):
            yield Text(f"  thought: {shorten(answer.thoughts[number], LONG)}")
    if len(answer.rounds) > 1 or answer.loop_end != "one_step":
        yield Text(f"Ended: {answer.loop_end}")
    if answer.thought:
        yield Text("Thought", "bold").append(f"  {shorten(answer.thought, 2 * LONG)}", "not bold")


def prior_art_parts(art: PriorArt) -> Iterator[RenderableType]:
    """Verdict, claims, evidence by paper, and where it was looked for."""
    sure = "" if art.confidence is None else f" (confidence {art.confidence:.2f})"
    yield Text(_VERDICTS[art.verdict], "bold").append(f"{sure}: {printable(art.why)}", "not bold")
    if art.reason:
        yield _note(art.reason, degraded=art.degraded)
    if len(art.claims) > 1:
        yield Text("Claims", "bold")
        claims = _grid()
        for claim in art.claims:
            claims.add_row(str(claim.number), claim.state, printable(claim.text))
        yield claims
    for paper in art.papers:
        year = f" ({paper.year})" if paper.year is not None else ""
        yield Text(f"{paper.rank:2} {printable(paper.paper_id)}{year} {printable(paper.title)}")
        for evidence in paper.evidence:
            yield Text(f"   {_stance(evidence, len(art.claims))}“{shorten(evidence.quote, LONG)}”")
    if art.dropped.total:
        yield _note(
            f"{art.dropped.total} statements of the model were not used: {art.dropped.quotes} with quotes"
            " that do not stand in the paper, the others about papers, claims or stances that there are not",
            degraded=False,
        )
    where = art.searched
    years = "" if where.newest_year is None else f" of {where.oldest_year} to {where.newest_year}"
    yield Text("Searched", "bold").append(
        f"  {where.papers_in_index:,} papers{years}, with {len(where.queries)} queries by {where.mode}",
        "not bold",
    )
    yield from _usage(art.usage, art.cost)


def _stance(evidence: Evidence, claims: int) -> str:
    which = f" {evidence.claim}" if claims > 1 else ""
    if evidence.stance == "unjudged":
        return f"claim{which}: " if which else ""
    return f"{evidence.stance}{which}: "


def _note(text: str, *, degraded: bool) -> Text:
    words = f"DEGRADED: {printable(text)}" if degraded else f"Note: {printable(text)}"
    return Text(words, "red" if degraded else "yellow")


def _usage(usage: Mapping[str, Usage], cost: Usage) -> Iterator[RenderableType]:
    for stage, used in usage.items():
        yield Text("Usage", "bold").append(f"  {printable(stage)}: {usage_text(used)}", "not bold")
    if len(usage) > 1:
        yield Text("Usage", "bold").append(f"  together: {usage_text(cost)}", "not bold")


def _grid() -> Table:
    table = Table.grid(padding=(0, 2))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table
