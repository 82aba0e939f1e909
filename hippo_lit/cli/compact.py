"""`hippo-lit compact`: an index without what no present paper needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from hippo_lit.cli.options import AsJson, Config, IndexFolder, Overrides, read_settings
from hippo_lit.cli.output import print_json


def compact(
    folder: IndexFolder,
    replies: Annotated[
        bool, typer.Option("--replies", help="Drop kept model replies too, which were paid for.")
    ] = False,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Drop what no present paper needs, and give the space back.

    Old snapshots, extractions and vectors of texts that are gone. Replies of models stay unless --replies is
    given: without them, what is extracted or asked again is paid for again. Interrupted at any moment, the
    index answers as before.
    """
    from hippo_lit.compact import compact

    done = compact(folder, read_settings(config, overrides), replies=replies)
    if as_json:
        print_json(asdict(done))
        return
    before, after = sum(done.before.values()), sum(done.after.values())
    typer.echo(
        f"dropped {done.snapshots:,} snapshots, {done.extractions:,} extractions, {done.vectors:,} vectors, "
        f"{done.replies:,} replies"
    )
    for part, size in done.before.items():
        if size:
            typer.echo(f"{part:<10} {size:>15,} → {done.after[part]:,} bytes")
    typer.echo(f"{'together':<10} {before:>15,} → {after:,} bytes")
    if done.shared_cache:
        typer.echo("the cache lies outside the index and was left alone: other indexes may use it")
