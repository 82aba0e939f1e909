"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from hippo_lit.cli import (
    ask,
    compact,
    compare,
    delete,
    demo,
    doctor,
    evaluate,
    expand,
    export,
    import_openie,
    index,
    info,
    label,
    mcp,
    prior_art,
    prompt,
    search,
    show,
    tool_schema,
    tune,
    verify,
)
from hippo_lit.cli.group import Group

EPILOG = """
\b
Exit codes
  0    done
  1    a check of `doctor`, `prompt check` or `eval --fail-if` failed, or an error of no other
       kind; also when the program that reads the output went away
  2    wrong use: an option, a setting, a prompt, a package not installed
  3    a file or record cannot be read, or there is no such paper
  4    a paper source failed; from `index`, `expand`: what came is indexed
  5    a model failed; from `index`, `delete`: some passages got no facts
  6    the index cannot be read or written, or `verify` found it damaged
  7    `index`, `delete` ended early as told: the budget is used up, or replies of
       batch jobs are awaited; the next run goes on
  70   a bug in hippo-lit
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM); as after Ctrl-C, what was done is kept

\b
With --json, results go to stdout as JSON and errors to stderr as
{"error": {"type", "message", "exit_code", …}}. Progress goes to stderr.
"""

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: half the start-up time, and the same in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)


def _version(wanted: bool) -> None:
    if wanted:
        from hippo_lit import __version__

        typer.echo(f"hippo-lit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Literature retrieval over facts: papers in, explained ranking out."""


app.command()(index.index)
app.command()(expand.expand)
app.command("import-openie")(import_openie.import_openie)
app.command()(delete.delete)
app.command()(search.search)
app.command()(ask.ask)
app.command("prior-art")(prior_art.prior_art)
app.command()(show.show)
app.command()(info.info)
app.command()(export.export)
app.command()(verify.verify)
app.command()(compact.compact)
app.command()(doctor.doctor)
app.command()(demo.demo)
app.command("eval")(evaluate.evaluate)
app.command()(compare.compare)
app.command()(label.label)
app.add_typer(prompt.app, name="prompt")
app.add_typer(tune.app, name="tune")
app.command()(mcp.mcp)
app.command("tool-schema")(tool_schema.tool_schema)
