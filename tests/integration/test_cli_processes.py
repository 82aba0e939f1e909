"""The command line as a program: signals, pipes, encodings, rights, and what it imports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from cli_support import HASH, QUICK, Cli

import hippo_lit
from hippo_lit.testing import Answer, ScriptedServer, chat_reply
from hippo_lit.testing.server import Recorded

MAIN = "from hippo_lit.cli import main; main()"
PROGRAM = [sys.executable, "-c", MAIN]
ENV = {name: value for name, value in os.environ.items() if not name.startswith(("HIPPO_LIT_", "OPENAI_"))}
ENV |= {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent), "PYTHONIOENCODING": "utf-8"}


def run(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=ENV | dict(env or {}), timeout=120, check=False)


def test_help_and_version_import_nothing_heavy() -> None:
    loaded = f"import atexit, sys; atexit.register(lambda: print(*sys.modules)); {MAIN}"
    for option in ("--help", "--version"):
        done = subprocess.run(
            [sys.executable, "-c", loaded, option], capture_output=True, env=ENV, check=True
        )
        modules = {name.partition(".")[0] for name in done.stdout.decode().splitlines()[-1].split()}
        assert modules & {"typer", "hippo_lit"} == {"typer", "hippo_lit"}
        assert not modules & {"numpy", "openai", "pydantic", "rich", "scipy", "spacy", "sqlite3", "torch"}


def test_a_search_by_words_imports_no_science(tmp_path: Path) -> None:
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"id": "a", "title": "graph retrieval", "abstract": "Graphs help retrieval."}')
    index = tmp_path / "a.idx"
    assert run("index", papers, "--index", index, *HASH, *QUICK).returncode == 0
    loaded = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {MAIN}"
    for mode in ("bm25", "lexical"):
        command = [
            sys.executable,
            "-c",
            loaded,
            "search",
            "graphs",
            "--index",
            index,
            "--mode",
            mode,
            "--json",
        ]
        done = subprocess.run(command, capture_output=True, env=ENV, check=True, timeout=60)
        assert [found["paper"]["id"] for found in json.loads(done.stdout)["papers"]] == ["a"]
        modules = {name.partition(".")[0] for name in done.stderr.decode().splitlines()[-1].split()}
        assert "numpy" in modules
        assert not modules & {"igraph", "openai", "scipy", "sentence_transformers", "spacy", "torch"}


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_while_it_is_imported_it_ends_quietly(how: signal.Signals, code: int) -> None:
    stopping = f"""
import os, sys
class Stop:
    def find_spec(self, name, *_):
        if name == "hippo_lit.cli.app":
            os.kill(os.getpid(), {int(how)})
sys.meta_path.insert(0, Stop())
{MAIN}"""
    done = subprocess.run([sys.executable, "-c", stopping, "info"], capture_output=True, env=ENV, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_the_middle_it_goes_on_where_it_stopped(
    tmp_path: Path, how: signal.Signals, code: int
) -> None:
    total, patience = 12, 60
    papers = tmp_path / "papers.jsonl"
    papers.write_text("".join(f'{{"id": "p{i:02}", "title": "Title {i}"}}\n' for i in range(total)))
    third, released = threading.Event(), threading.Event()
    reply = chat_reply('{"entities": ["a b"], "triples": [["a b", "is", "c d"]]}')
    server = ScriptedServer([lambda request: hold(request)])

    def hold(_: Recorded) -> Answer:
        if len(server.requests) == 3:
            third.set()
            released.wait(patience)
        return reply

    with server:
        given = [
            "llm.kind=openai",
            f"llm.base_url={server.base_url}",
            "llm.concurrency=1",
            "extract.kind=llm",
        ]
        settings = [part for setting in [*given, "extract.names_from=none"] for part in ("--set", setting)]
        command = ["index", str(papers), "--index", str(tmp_path / "i"), *HASH, *settings]
        with subprocess.Popen([*PROGRAM, *command], stderr=subprocess.PIPE, env=ENV) as process:
            assert third.wait(patience)
            process.send_signal(how)
            released.set()
            _, said = process.communicate(timeout=patience)
        assert process.returncode == code
        assert said.decode().splitlines()[-1] == (
            "interrupted; what was done is kept: run the same command again to go on"
        )
        asked = len(server.requests)
        assert 3 <= asked < total
        again = run(*command, "--json")
        assert again.returncode == 0, again.stderr
        assert len(server.requests) == total  # nothing was paid for twice
    told = json.loads(again.stdout)
    assert told["counts"]["unchanged"] == total
    assert (told["built"]["papers"], told["built"]["failed"]) == (total, 0)


def test_a_reader_that_goes_away_is_no_error(mock_index: Path) -> None:
    command = [*PROGRAM, "search", "attention", "--index", str(mock_index), "-k", "100", "--json", *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error(mock_index: Path) -> None:
    command = [*PROGRAM, "info", "--index", str(mock_index)]
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=ENV, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("error: [Errno 28]")


def test_a_terminal_without_the_letters_gets_question_marks(mock_index: Path) -> None:
    command = ("search", "Kraków low-rank", "--index", mock_index, *QUICK)
    shown = run(*command, env={"PYTHONIOENCODING": "ascii"})
    assert shown.returncode == 0
    assert shown.stderr == b""
    as_json = run(*command, "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(as_json.stdout.decode("ascii"))["query"] == "Kraków low-rank"


def test_bytes_that_are_no_text_are_a_query_too(mock_index: Path) -> None:
    command = [*PROGRAM, "search", b"sparse \xff attention", "--index", str(mock_index), "--json", *QUICK]
    done = subprocess.run(command, capture_output=True, env=ENV, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["papers"]


@pytest.fixture
def read_only_index(mock_index: Path) -> Iterator[Path]:
    """The index under a mount that nobody may write to: no mode stops root."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.getuid() != 0 or not mount or not umount:
        pytest.skip("needs the right to mount")
    if subprocess.run([mount, "--bind", mock_index, mock_index], capture_output=True).returncode != 0:
        pytest.skip("this system does not let us mount")
    try:
        subprocess.run([mount, "-o", "remount,bind,ro", mock_index], check=True)
        yield mock_index
    finally:
        subprocess.run([umount, "--lazy", mock_index], check=True)


def test_an_index_that_cannot_be_written_can_be_searched(cli: Cli, read_only_index: Path) -> None:
    before = sorted(read_only_index.rglob("*"))
    shown = cli("search", "sparse attention", "--index", read_only_index, *QUICK).stdout
    assert shown.startswith("10 papers by")
    cli("info", "--index", read_only_index)
    cli("show", "p001", "--index", read_only_index)
    checks = json.loads(cli("doctor", "--index", read_only_index, "--json", *QUICK).stdout)["checks"]
    assert checks[-1]["status"] == "warning"
    assert checks[-1]["detail"].startswith(f"{read_only_index} cannot be written")
    refused = cli("index", "mock", "--index", read_only_index, *QUICK, code=6).stderr
    assert "Check that this account may write there" in refused
    assert sorted(read_only_index.rglob("*")) == before
