"""docs/tuning.md leads through a session: every command in it runs as it is printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from cli_support import Cli
from typer.testing import CliRunner

from hippo_lit.cli.app import app
from hippo_lit.testing import Answer, Recorded, ScriptedServer, chat_reply

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"
RULE = "Keep a fact only if it names at least two things of the question."


def answer(request: Recorded) -> Answer:
    """Keeps the first candidate; extracts nothing; answers that papers do not say."""
    asked = request.body["messages"][-1]["content"]
    data = json.loads(asked.partition("<data>")[2].partition("</data>")[0])
    if "candidates" in data:
        reply = json.dumps({"facts": data["candidates"][:1]})
    else:
        reply = (
            "Answer: The papers here do not say." if "papers" in data else '{"entities": [], "triples": []}'
        )
    return chat_reply(reply, prompt_tokens=800, completion_tokens=60)


@pytest.mark.filterwarnings("default")  # DSPy's own
def test_every_command_runs_as_printed(cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dspy")
    page = PAGE.read_text("utf-8")
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    mock_index.rename("my.idx")
    Path("questions.txt").write_text(
        "Which C++ library has AVX2 kernels?\nWhat is sparse attention?\n", "utf-8"
    )
    ran = 0
    with ScriptedServer([answer]) as server:
        quick = '[embedding]\nkind = "hash"\n[extract]\nkind = "simple"\n'
        Path("s.toml").write_text(f'{settings}base_url = "{server.base_url}"\n{quick}', "utf-8")
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("HIPPO_LIT_CONFIG", "s.toml")
        for block in blocks:
            for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                program, *arguments = shlex.split(command)
                assert program == "hippo-lit"
                if "gepa" in arguments:
                    # GEPA takes long to find nothing, and so does any search on a graph: test_tune has them.
                    kind = ["bootstrap"] if "extract" in arguments else ["bootstrap", "--help"]
                    arguments = [b for a in arguments for b in (kind if a == "gepa" else [a])] + [
                        "--candidates",
                        "1",
                    ]
                done = CliRunner().invoke(app, arguments, input="k n k n")
                assert done.exit_code == (2 if printed.startswith("error:") else 0), (command, done.output)
                if printed.startswith("error:"):
                    assert "v1 is not shown to be better than what is in use" in done.stderr
                if arguments[:3] == ["prompt", "new", "fact_filter"]:
                    assert done.stdout == printed
                    with (Path(printed.strip()) / "system.md").open("a", encoding="utf-8") as system:
                        system.write(f"{RULE}\n")
                elif arguments[:2] == ["prompt", "diff"]:
                    assert f"+{RULE}" in done.stdout
                elif arguments[:2] == ["prompt", "rollback"]:
                    assert done.stderr == printed
                ran += 1
    assert ran == page.count("\n$ hippo-lit")
    assert ran >= 15
