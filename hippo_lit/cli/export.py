"""`hippo-lit export`: papers, facts or the graph of an index, for other programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from hippo_lit.cli.options import IndexFolder
from hippo_lit.cli.output import say

if TYPE_CHECKING:
    from hippo_lit.snapshot import Snapshot
    from hippo_lit.storage.store import Store

What = Literal["papers", "facts", "graph"]
Format = Literal["jsonl", "graphml"]


def export(
    what: Annotated[What, typer.Argument(help="What to write.", show_default=False)],
    folder: IndexFolder,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to; - is stdout.")] = "-",
    form: Annotated[
        Format | None,
        typer.Option("--format", help="graphml for the graph, jsonl for the rest.", show_default=False),
    ] = None,
) -> None:
    """Write what an index holds, for other programs.

    papers is JSONL that `index` reads back to the same corpus; facts is JSONL, one statement a line with its
    paper and sentence; graph is GraphML, for Gephi, Cytoscape and networkx, with kinds and weights. A FILE
    appears when it is complete.
    """
    fitting: Format = "graphml" if what == "graph" else "jsonl"
    if form not in (None, fitting):
        raise typer.BadParameter(f"{what} are written as {fitting}", param_hint="--format")
    from hippo_lit.storage.store import Store

    with Store.open(Path(folder).expanduser(), read_only=True) as store, _output(out) as stream:
        count = 0
        for count, piece in enumerate(_pieces(what, Path(folder).expanduser(), store), start=1):  # noqa: B007
            stream.write(piece)
    if out != "-":
        say(f"{count:,} {'pieces of XML' if what == 'graph' else what} written to {out}")


def _pieces(what: What, folder: Path, store: Store) -> Iterable[str]:
    from hippo_lit import export

    match what:
        case "papers":
            return (json.dumps(record) + "\n" for record in export.papers(store))
        case "facts":
            return (json.dumps(record) + "\n" for record in export.facts(_snapshot(folder)))
        case "graph":
            return export.graphml(_snapshot(folder))


def _snapshot(folder: Path) -> Snapshot:
    from hippo_lit.errors import IndexNotFoundError
    from hippo_lit.snapshot import Snapshot
    from hippo_lit.storage.publish import open_current

    snapshot = open_current(folder, Snapshot)
    if snapshot is None:
        raise IndexNotFoundError(
            f"{folder} holds no published index yet: run hippo-lit index --index {folder}", path=str(folder)
        )
    return snapshot


@contextmanager
def _output(out: str) -> Iterator[IO[str]]:
    """stdout in UTF-8, or a file that takes the place of an older one when it is complete."""
    if out == "-":
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")
        yield sys.stdout
        return
    from hippo_lit.storage.disk import reporting

    path = Path(out).expanduser()
    fresh = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    with reporting("write", path):
        try:
            with fresh.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
