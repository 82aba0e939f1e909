"""`hippo-lit delete`: papers out of an index, or only what one source said of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from hippo_lit.cli import EXIT_INTERRUPTED
from hippo_lit.cli.options import (
    AsJson,
    Config,
    IndexFolder,
    MaxCost,
    MaxTokens,
    Overrides,
    Wait,
    read_settings,
)
from hippo_lit.cli.output import print_json, say
from hippo_lit.cli.progress import reporting

STDIN = "-"
_Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID…",
        help="As `search` prints them; - reads them from standard input, one a line.",
        show_default=False,
    ),
]
_File = Annotated[
    str | None,
    typer.Option("--ids", metavar="FILE", help="Read ids from a file too, one a line; - is standard input."),
]
_Source = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="NAME",
        help="Forget only what this source said, of all papers where no ID is given; the names are those of"
        " `search --source`.",
    ),
]


def delete(
    folder: IndexFolder,
    ids: _Ids = None,
    file: _File = None,
    source: _Source = None,
    config: Config = None,
    overrides: Overrides = None,
    max_tokens: MaxTokens = None,
    max_cost_usd: MaxCost = None,
    wait: Wait = 0.0,
    as_json: AsJson = False,
) -> None:
    """Take papers out of an index, or what one source said of them.

    Where one of the ids is unknown, or has nothing from that source, nothing is deleted; the exit code is
    then 3. With --source and no ID, all that the source said goes: a file that is no longer wanted. What was
    paid for the papers' texts is kept: a paper that comes back costs nothing. Where a model has to be asked
    about what stays, as after --source, budget and exit codes are those of `index`. Interrupted, run it
    again: it goes on.
    """
    from hippo_lit.api import HippoLit
    from hippo_lit.cli.index_report import Outcome, leave
    from hippo_lit.models.guard import Budget
    from hippo_lit.models.usage import UsageMeter
    from hippo_lit.types import Counts

    began = perf_counter()
    given = None if source is not None and not ids and file is None else _given(ids or [], file)
    settings = read_settings(config, overrides)
    budget, meter = Budget(max_tokens, max_cost_usd), UsageMeter()
    try:
        with (
            HippoLit.open(folder, settings, create=False, wait_s=wait) as lit,
            lit.writing(say),
            meter.active(),
            reporting() as report,
        ):
            deleted = lit.drop(given, source=source)
            built = lit.build(progress=report, budget=budget)
            left = len(lit)
    except KeyboardInterrupt:
        say("interrupted; run the same command again to finish")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    seconds = perf_counter() - began
    outcome = Outcome(folder, (), Counts(), built, meter.stages(), seconds)
    outcome.complain()
    if as_json:
        told = {"index": folder, "deleted": deleted, "source": source, "papers": left}
        asked = {key: outcome.as_json()[key] for key in ("built", "usage")}
        print_json(told | asked | {"seconds": round(seconds, 3)})
    else:
        what = "" if source is None else f"what {source} said of "
        typer.echo(f"deleted {what}{_papers(deleted)}; the index holds {_papers(left)}\n{seconds:.1f} s")
    leave(built)


def _given(ids: Sequence[str], file: str | None) -> list[str]:
    """All ids, each once. Raises DataError for a file that cannot be read, UsageError for no id at all."""
    files = [STDIN] * (STDIN in ids) + [file] * (file is not None and not (file == STDIN and STDIN in ids))
    found = [paper_id for paper_id in ids if paper_id != STDIN]
    found += [paper_id for name in files if name is not None for paper_id in _read(name)]
    if not found:
        raise typer.BadParameter("no id is given", param_hint="'ID…'")
    return list(dict.fromkeys(found))


def _read(name: str) -> list[str]:
    from hippo_lit.errors import DataError

    try:
        data = sys.stdin.buffer.read() if name == STDIN else Path(name).expanduser().read_bytes()
        lines = data.decode("utf-8-sig").splitlines()
    except OSError as e:
        raise DataError(f"{name}: the ids cannot be read: {e.strerror}", path=name, line=None) from e
    except UnicodeDecodeError as e:
        raise DataError(f"{name}: the ids are not in UTF-8: {e}", path=name, line=None) from e
    return [line.strip() for line in lines if line.strip()]


def _papers(number: int) -> str:
    return f"{number:,} paper{'' if number == 1 else 's'}"
