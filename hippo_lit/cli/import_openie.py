"""`hippo-lit import-openie`: facts that were extracted elsewhere into an index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hippo_lit.cli.options import AsJson, Config, IndexFolder, Overrides, read_settings
from hippo_lit.cli.output import print_json, say, say_some
from hippo_lit.cli.progress import reporting

if TYPE_CHECKING:
    from hippo_lit.openie import ImportReport


def import_openie(
    file: Annotated[str, typer.Argument(metavar="FILE", help="OpenIE results.", show_default=False)],
    folder: IndexFolder,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What to call these facts; else extract.imported."),
    ] = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Bring facts into an index that were extracted elsewhere.

    Read are HippoRAG's openie_results_ner_*.json and the same records as JSONL. Papers that the index does
    not hold are added. Malformed triples and entities are counted and left out. Afterwards `hippo-lit index
    --set extract.kind=imported` builds the index on these facts, with the names that rules find
    (--set extract.names_from=none for the imported ones alone). What was imported under a name stays;
    import other facts of the same texts under another --name, and choose by --set extract.imported=NAME.
    """
    from hippo_lit.api import HippoLit
    from hippo_lit.openie import import_openie

    with HippoLit.open(folder, read_settings(config, overrides)) as lit, reporting() as progress:
        report = import_openie(
            lit, Path(file).expanduser(), name=name, progress=lambda done: progress("read", done, 0)
        )
    if report.skipped:
        say(f"{report.skipped:,} records skipped:")
        say_some(report.problems, report.skipped)
    if as_json:
        print_json(asdict(report))
    else:
        typer.echo(_summary(report, folder))


def _summary(report: ImportReport, folder: str) -> str:
    lines = [
        f"{report.records:,} records = {report.imported:,} imported + {report.unchanged:,} unchanged + "
        f"{report.conflicts:,} in conflict + {report.skipped:,} skipped",
        f"{report.facts:,} facts and {report.entities:,} entities as {report.name!r}; "
        f"{report.papers_added:,} papers added",
    ]
    lines += [f"left out: {count:,} {kind}" for kind, count in sorted(report.dropped.items())]
    if report.conflicts:
        lines.append(
            f"in conflict: other facts of these texts are known as {report.name!r} and were kept; "
            "use another --name for the new ones"
        )
    lines.append(
        f"build on them: hippo-lit index --index {folder} --set extract.kind=imported"
        + ("" if report.name == "openie" else f" --set extract.imported={report.name}")
    )
    return "\n".join(lines)
