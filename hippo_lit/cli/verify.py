"""`hippo-lit verify`: an index examined end to end."""

from __future__ import annotations

from dataclasses import asdict

import typer

from hippo_lit.cli.options import AsJson, Config, IndexFolder, Overrides, read_settings
from hippo_lit.cli.output import print_json

EXIT_DAMAGED = 6


def verify(
    folder: IndexFolder, config: Config = None, overrides: Overrides = None, as_json: AsJson = False
) -> None:
    """Examine an index end to end, and say what is wrong and what to do. Changes nothing.

    Read are the store, the cache, every file of the published snapshot against its checksum, what its arrays
    refer to, and whether it holds the papers of the store. The exit code is 6 where something is damaged; a
    snapshot that is merely behind is told, and the code is 0.
    """
    from hippo_lit.render import printable
    from hippo_lit.verify import verify_index

    findings = list(verify_index(folder, read_settings(config, overrides)))
    damaged = any(finding.kind == "damage" for finding in findings)
    if as_json:
        print_json({"ok": not damaged, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            typer.echo(f"{finding.kind} in {finding.part}: {printable(finding.problem)}")
            if finding.advice:
                typer.echo(f"  → {finding.advice}")
        typer.echo("the index is damaged" if damaged else "the index is whole")
    if damaged:
        raise typer.Exit(EXIT_DAMAGED)
