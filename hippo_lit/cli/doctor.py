"""`hippo-lit doctor`: what works here, and what to do about what does not."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from hippo_lit.cli.options import AsJson, Config, OptionalIndexFolder, Overrides, settings_of
from hippo_lit.cli.output import print_json, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from hippo_lit.doctor import Check

_MARKS = {"ok": ("OK", "green"), "warning": ("warning", "yellow"), "fail": ("FAIL", "bold red")}
EXIT_FAIL = 1


def doctor(
    folder: OptionalIndexFolder = None,
    config: Config = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Check what works here, and say what to do about the rest.

    Looked at are the packages, the embedder, the extractor, the LLM endpoint (by one tiny call), the prompts,
    the settings and, with --index, an index. The exit code is 0 when everything that the settings need works,
    else 1. A missing part that only other settings would need is a warning. Keys are never printed.
    """
    from hippo_lit.config import Settings
    from hippo_lit.doctor import Check, examine
    from hippo_lit.errors import ConfigError, StoreError

    given = f"{config or 'the default ones'}{', with --set' if overrides else ''}"
    try:
        settings = settings_of(folder, config, overrides)
        checks = [Check("settings", "ok", given)]
    except (ConfigError, StoreError) as error:
        settings = Settings()
        advice = "Mend that; what follows was checked with the default settings."
        checks = [Check("settings", "fail", error.message, advice)]
    if as_json:
        checks += examine(settings, folder)
        failed = any(check.status == "fail" for check in checks)
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in _each(checks, examine(settings, folder)):
            show([_row(check)])
        failed = any(check.status == "fail" for check in checks)
        typer.echo(
            "something that the settings need does not work" if failed else "all that the settings need works"
        )
    if failed:
        raise typer.Exit(EXIT_FAIL)


def _each(checks: list[Check], more: Iterator[Check]) -> Iterator[Check]:
    """The checks as they are made, so that a slow one is seen to be at work; all end up in `checks`."""
    yield from tuple(checks)
    for check in more:
        checks.append(check)
        yield check


def _row(check: Check) -> Table:
    from rich.table import Table
    from rich.text import Text

    from hippo_lit.render import printable

    word, style = _MARKS[check.status]
    text = Text(printable(check.detail))
    if check.advice:
        text.append(f"\n→ {printable(check.advice)}", "bold")
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=7)
    row.add_column(width=17)
    row.add_column(overflow="fold")
    row.add_row(Text(word, style), Text(check.name), text)
    return row
