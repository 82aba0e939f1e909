"""What every command does alike: options, settings, errors, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import QUICK, Cli

import hippo_lit
from hippo_lit.api import HippoLit
from hippo_lit.resources import configs_dir

COMMANDS = ("index", "search", "show", "info", "doctor", "demo")


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout == f"hippo-lit {hippo_lit.__version__}\n"


def test_without_arguments_it_helps_and_calls_that_wrong_use(cli: Cli) -> None:
    result = cli(code=2)
    assert "Usage: hippo-lit" in result.stderr or "Usage: root" in result.stderr
    assert result.stdout == ""


def test_help_names_every_command_and_exit_code(cli: Cli) -> None:
    shown = cli("--help").stdout
    for command in COMMANDS:
        assert f"\n  {command} " in shown
        assert cli(command, "-h").stdout.startswith("Usage: ")
    for code in (0, 1, 2, 3, 4, 5, 6, 70, 130):
        assert f"\n    {code} " in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serch", "x"], "Did you mean 'search'?"),
        (
            ["search", "x", "--index", "i", "--mode", "magic"],
            "'magic' is not one of 'hippo', 'lexical', 'bm25'",
        ),
        (["search", "x", "--index", "i", "-k", "0"], "should be greater than or equal to 1"),
        (["search", "x", "--index", "i", "-k", "many"], "should be a valid integer"),
        (["search", "x", "--index", "  "], "it is empty; give the folder of the index"),
        (["search", "x"], "Missing option '--index'"),
        (["search", "--index", "i"], "Missing argument 'QUERY'"),
        (["info", "--index", "i", "--colour"], "No such option"),
        (["search", "x", "--index", "i", "--set", "filter.cutof=1"], "did you mean filter.cutoff"),
        (["search", "x", "--index", "i", "--set", "filter"], "write it as section.key=value"),
        (
            ["search", "x", "--index", "i", "--config", "openia"],
            "there are default, hipporag2, offline, openai",
        ),
        (["search", "x", "--index", "i", "--config", "./absent.toml"], "absent.toml: no such settings file"),
    ],
)
def test_wrong_use(cli: Cli, arguments: list[str], said: str) -> None:
    result = cli(*arguments, code=2)
    assert said in result.stderr
    assert result.stdout == ""
    as_json = cli(*arguments, "--json", code=2)
    assert as_json.stdout == ""
    told = json.loads(as_json.stderr)["error"]
    assert said in told["message"]
    assert told["exit_code"] == 2


def test_an_error_is_one_line_and_in_json_keeps_its_fields(cli: Cli) -> None:
    assert cli("info", "--index", "i", code=6).stderr == (
        "error: there is no index at i. Check the path, or make one with the index command.\n"
    )
    result = cli("info", "--index", "i", "--json", code=6)
    assert result.stdout == ""
    told = json.loads(result.stderr)["error"]
    assert (told["type"], told["exit_code"], told["path"]) == ("IndexNotFoundError", 6, "i")


def test_json_after_two_dashes_is_a_query(cli: Cli) -> None:
    assert cli("search", "--index", "i", "--", "--json", code=6).stderr.startswith("error: ")


def test_a_bug_is_owned_and_its_traceback_is_there_for_the_asking(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(HippoLit, "retrieve", broken)
    command = ("search", "x", "--index", mock_index, *QUICK)
    said = cli(*command, code=70).stderr
    assert said.startswith(
        "error: internal error (ZeroDivisionError: division by zero). This is a bug in hippo-lit"
    )
    assert said.count("\n") == 1
    assert json.loads(cli(*command, "--json", code=70).stderr)["error"]["type"] == "ZeroDivisionError"
    assert isinstance(cli("--debug", *command, code=1).exception, ZeroDivisionError)


def test_a_full_disk_under_the_output_is_no_bug(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(HippoLit, "retrieve", full)
    said = cli("search", "x", "--index", mock_index, *QUICK, code=1).stderr
    assert said == "error: [Errno 28] No space left on device\n"


def test_the_index_may_stand_in_the_environment(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPPO_LIT_INDEX", str(mock_index))
    assert "papers     100" in cli("info").stdout
    assert "there is no index at other" in cli("info", "--index", "other", code=6).stderr


def test_settings_come_from_a_shipped_name_a_file_and_the_command_line(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("search", "sparse", "--index", mock_index, "--mode", "dense")
    Path("mine.toml").write_text('[embedding]\nkind = "hash"\n')
    cli(*command, "--config", "mine.toml")
    Path("offline").write_text("not toml")  # a bare name is the shipped file's, whatever lies about
    cli(*command, "--config", "offline", "--set", "embedding.kind=hash")
    Path("mine").write_text('[embedding]\nkind = "hash"\n')
    cli(*command, "--config", "mine")
    monkeypatch.setenv("HIPPO_LIT_CONFIG", "mine.toml")
    cli(*command)
    said = cli(*command, "--set", "embedding.dimensions=8", code=6).stderr
    assert "the settings name hash-8" in said


def test_every_shipped_configuration_is_named_in_the_help(cli: Cli) -> None:
    shown = " ".join(cli("search", "--help").stdout.split())
    names = sorted(file.stem for file in configs_dir().glob("*.toml"))
    assert f"the bare name of a shipped one: {', '.join(names)}." in shown
