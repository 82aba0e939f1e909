"""`hippo-lit tool-schema`: the tools as other APIs want them."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hippo_lit.cli.output import print_json


def tool_schema(
    form: Annotated[
        Literal["openai", "openai-responses", "anthropic", "json-schema"],
        typer.Option("--format", help="Whose form: openai is that of chat completions."),
    ] = "openai",
    allow_write: Annotated[
        bool, typer.Option("--allow-write", help="Also add_papers and expand_citations.")
    ] = False,
) -> None:
    """Print the tools' schemas as JSON, for the `tools` of a request.

    They are made from the same definitions as the tools of `hippo-lit mcp`. What a model calls,
    hippo_lit.tool.call(name, arguments) checks and answers.
    """
    from hippo_lit.tool import schemas

    print_json(schemas(form, allow_write=allow_write))
