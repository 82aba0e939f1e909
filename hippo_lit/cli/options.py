"""Options that several commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from hippo_lit.config import Settings


def _not_blank(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise typer.BadParameter("it is empty; give the folder of the index")
    if value is not None and Path(value).expanduser().is_file():
        raise typer.BadParameter(f"{value} is a file; give the folder of an index, or a new one")
    return value


def not_empty(text: str) -> str:
    """What is asked, which must say something."""
    if not text.strip():
        raise typer.BadParameter("it is empty; write what you are looking for")
    return text


_INDEX = typer.Option(
    "--index", envvar="HIPPO_LIT_INDEX", metavar="DIR", callback=_not_blank, help="The index folder."
)
IndexFolder = Annotated[str, _INDEX]
OptionalIndexFolder = Annotated[str | None, _INDEX]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        envvar="HIPPO_LIT_CONFIG",
        metavar="FILE",
        help="A TOML file of settings, or the bare name of a shipped one:"
        " default, hipporag2, offline, openai.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="One setting; may be repeated."),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait", min=0, metavar="SECONDS", help="How long to wait while another process writes to the index."
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", min=0, metavar="N", help="Stop asking the chat model before this many tokens."
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost-usd", min=0.0, metavar="X", help="Stop asking it before this cost; needs its prices."
    ),
]
MetricsFile = Annotated[
    str | None,
    typer.Option("--metrics-log", metavar="FILE", help="Append what was found and took, as JSONL."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def schema_option(name: Literal["Answer", "PriorArt"]) -> Any:
    """An option that prints the JSON schema of a value, whatever else is given, and ends the command."""

    def print_schema(wanted: bool) -> None:
        if wanted:
            from hippo_lit.answer import values
            from hippo_lit.answer.schema import json_schema
            from hippo_lit.cli.output import print_json

            print_json(json_schema(getattr(values, name)))
            raise typer.Exit

    text = "Print the JSON schema of what --json prints."
    return typer.Option("--schema", callback=print_schema, is_eager=True, help=text)


def read_settings(config: str | None, overrides: list[str] | None) -> Settings:
    """The settings in force. Raises ConfigError."""
    from hippo_lit.config import load_settings

    return load_settings(config_file(config) if config else None, overrides or ())


def settings_of(folder: str | Path | None, config: str | None, overrides: list[str] | None) -> Settings:
    """The settings in force over those that the index, if any, remembers.

    Raises ConfigError, IndexCorruptError.
    """
    from hippo_lit.remembered import recall

    given = read_settings(config, overrides)
    return given if folder is None else recall(Path(folder).expanduser(), given)


def say_without_effect(folder: str, overrides: list[str] | None) -> None:
    """A word on what a query was given and could not heed; after its answer, since an error may be JSON.

    A file of settings is given whole, and only some of it is meant for a query. Raises ConfigError.
    """
    from hippo_lit.cli.output import say
    from hippo_lit.remembered import without_effect

    for warning in without_effect(Path(folder).expanduser(), read_settings(None, overrides)):
        say(warning)


def config_file(given: str) -> Path:
    """The file that `--config` names; a bare name without suffix is that of a shipped one."""
    path = Path(given).expanduser()
    if path.suffix or path.name != given:
        return path
    from hippo_lit.errors import ConfigError
    from hippo_lit.resources import configs_dir

    folder = configs_dir()
    shipped = folder / f"{given}.toml"
    if shipped.is_file():
        return shipped
    if path.is_file():
        return path
    names = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
    raise ConfigError(f"no settings are shipped under the name {given!r}; there are {names}", key="config")
