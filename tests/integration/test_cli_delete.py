"""`hippo-lit delete`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import HASH, QUICK, Cli

from hippo_lit.storage.lock import WriterLock


def ids(cli: Cli, folder: Path) -> int:
    return int(json.loads(cli("info", "--index", folder, "--json").stdout)["papers"])


def test_papers_go_and_the_rest_stays(cli: Cli, mock_index: Path, tmp_path: Path) -> None:
    listed = tmp_path / "ids.txt"
    listed.write_bytes("\ufeffp003\r\n\n  p004 \np001\n".encode())
    said = cli("delete", "p001", "p002", "--ids", listed, "--index", mock_index, *QUICK).stdout
    assert said.startswith("deleted 4 papers; the index holds 96 papers\n")
    assert ids(cli, mock_index) == 96
    cli("show", "p001", "--index", mock_index, code=3)


def test_one_source_of_a_paper(cli: Cli, mock_index: Path) -> None:
    told = cli("delete", "p005", "--source", "arxiv", "--index", mock_index, "--json", *QUICK).stdout
    fields = json.loads(told)
    assert (fields["deleted"], fields["source"], fields["papers"]) == (1, "arxiv", 100)
    assert "source: s2" in cli("show", "p005", "--index", mock_index).stdout
    again = cli("delete", "p005", "--source", "arxiv", "--index", mock_index, *QUICK, code=3).stderr
    assert "nothing was deleted; 'p005' is from s2" in again


@pytest.mark.parametrize("given", [("-",), ("--ids", "-"), ("-", "--ids", "-")])
def test_ids_from_standard_input(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...]
) -> None:
    from typer.testing import CliRunner

    from hippo_lit.cli.app import app

    command = ["delete", *given, "--index", str(mock_index), *QUICK]
    result = CliRunner().invoke(app, command, input="p001\np002\n")
    assert result.exit_code == 0, result.output
    assert "deleted 2 papers; the index holds 98 papers" in result.stdout


def test_unknown_ids_are_named_and_nothing_is_done(cli: Cli, mock_index: Path) -> None:
    result = cli("delete", "p001", "x1", "x2", "--index", mock_index, "--json", *QUICK, code=3)
    error = json.loads(result.stderr)["error"]
    assert (error["type"], error["unknown"]) == ("DataError", ["x1", "x2"])
    assert ids(cli, mock_index) == 100


def test_wrong_use(cli: Cli, mock_index: Path, tmp_path: Path) -> None:
    (tmp_path / "latin1").write_bytes(b"p\xe9\n")
    (tmp_path / "blank").write_text("\n \n")
    assert "no id is given" in cli("delete", "--index", mock_index, *QUICK, code=2).stderr
    assert "no id is given" in cli("delete", "--ids", "blank", "--index", mock_index, *QUICK, code=2).stderr
    assert "not in UTF-8" in cli("delete", "--ids", "latin1", "--index", mock_index, *QUICK, code=3).stderr
    assert "No such file" in cli("delete", "--ids", "none", "--index", mock_index, *QUICK, code=3).stderr
    assert "no index at" in cli("delete", "p001", "--index", "none", *QUICK, code=6).stderr
    assert not Path("none").exists()
    refused = cli("delete", "p001", "--index", mock_index, *HASH, "--set", "extract.kind=none", code=2)
    assert "give the settings it was indexed with" in refused.stderr
    assert ids(cli, mock_index) == 100


def test_a_locked_index_is_left_alone(cli: Cli, mock_index: Path) -> None:
    with WriterLock(mock_index):
        command = ("delete", "p001", "--index", mock_index, "--wait", "0.1", "--json", *QUICK)
        error = json.loads(cli(*command, code=6).stderr)["error"]
    assert error["type"] == "IndexLockedError"
    assert all(error[key] for key in ("pid", "host", "since"))
    assert "--wait" in cli("delete", "p001", "--index", mock_index, "--wait", "-1", code=2).stderr
