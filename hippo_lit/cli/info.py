"""`hippo-lit info`: what an index holds and what it was built with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.options import AsJson, IndexFolder
from hippo_lit.cli.output import MAX_LISTED, print_json

if TYPE_CHECKING:
    from hippo_lit.about import Failure, IndexDescription


_Failures = Annotated[
    bool,
    typer.Option("--failures", help="List every passage whose extraction failed, with reason and attempts."),
]


def info(folder: IndexFolder, failures: _Failures = False, as_json: AsJson = False) -> None:
    """Show what an index holds and how it was built.

    Counts, models, sizes on disk, settings that differ from the default, and passages without facts.
    """
    from hippo_lit.about import describe_index
    from hippo_lit.render import printable

    described = describe_index(folder)
    if failures:
        _list_failures(described, as_json)
        return
    if as_json:
        print_json(asdict(described))
        return
    rows = list(_rows(described))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {printable(value)}")


def _list_failures(described: IndexDescription, as_json: bool) -> None:
    """Every failure on a line of its own, or all as a list in JSON."""
    from hippo_lit.render import printable

    if as_json:
        rows = [asdict(failure) for failure in described.failures]
        print_json({"index": described.path, "failures": rows, "untried": described.untried})
        return
    for failure in described.failures:
        typer.echo(printable(_failure(failure)))
    if described.untried:
        typer.echo(f"{described.untried:,} more texts have no facts, since they were not asked about yet")
    if not described.failures and not described.untried:
        typer.echo("none")


def _failure(failure: Failure) -> str:
    where = "(paper gone)" if failure.passage is None else f"{failure.paper_id}, passage {failure.passage}"
    return f"{where}: {failure.reason} (attempts: {failure.attempts})"


def _rows(described: IndexDescription) -> Iterator[tuple[str, str]]:
    yield "index", described.path
    if described.snapshot:
        yield "snapshot", described.snapshot
        yield "papers", f"{described.papers:,}"
    if described.stored != described.papers:
        advice = "run the index command again to bring the index up to date"
        yield "", f"{described.stored:,} papers are stored: {advice}"
    if described.snapshot:
        for name in ("passages", "sentences", "entities", "facts"):
            yield name, f"{getattr(described, name):,}"
        yield "edges", ", ".join(f"{kind} {count:,}" for kind, count in (described.edges or {}).items())
        yield "citations", f"{described.citations:,} between papers of the index"
        yield "embedder", f"{described.embedder} ({described.dimensions} dimensions)"
        yield "extractor", described.extractor
    parts = ", ".join(f"{part} {_size(size)}" for part, size in described.bytes_on_disk.items() if size)
    yield "on disk", f"{_size(sum(described.bytes_on_disk.values()))} ({parts})"
    changes = (described.recipe_changes or {}).items()
    differs = ", ".join(f"{key} = {value!r} (default {default!r})" for key, (value, default) in changes)
    if described.snapshot:
        yield "settings", differs or "passages, words and graph are built as by default"
        yield (
            "failures",
            f"{len(described.failures):,} passages have no facts" if described.failures else "none",
        )
    for failure in described.failures[:MAX_LISTED]:
        yield "", _failure(failure)
    if len(described.failures) > MAX_LISTED:
        yield "", f"… and {len(described.failures) - MAX_LISTED:,} more (see --failures)"
    if described.untried:
        yield "not tried", f"{described.untried:,} texts have no facts yet: run the index command again"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"
