"""Prompts as rows and as text."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from hippo_lit.errors import PromptError
from hippo_lit.llm.prompts import Prompt, load_prompt
from hippo_lit.tune.check import check_folder
from hippo_lit.tune.working import CURRENT, SHIPPED, WorkingCopy


def described(copy: WorkingCopy, name: str) -> dict[str, Any]:
    """What `prompt list` tells of a prompt: version in use ("" where no version is like it), hash, demos,
    tokens, versions, and an error where it cannot be used.
    """
    shipped = load_prompt(copy.path(name, SHIPPED)) if _is_shipped(copy, name) else None
    row: dict[str, Any] = {
        "name": name,
        "version": "",
        "hash": "",
        "versions": copy.versions(name),
        "error": "",
    }
    try:
        prompt = copy.load(name)
        row |= {"hash": prompt.hash, "version": copy.in_use(name)}
    except PromptError as error:
        return {**row, "demos": 0, "tokens": 0, "error": error.message}
    wanted = (shipped or prompt).variables
    checked = check_folder(name, copy.path(name, CURRENT), wanted)
    bad = next((f"{f.where}: {f.message}" for f in checked.findings if f.severity == "error"), "")
    return {**row, "demos": checked.demos, "tokens": checked.tokens, "error": bad}


def as_text(prompt: Prompt) -> str:
    """The files of a prompt, one after the other."""
    return "".join(f"{line}\n" for line in _lines(prompt))


def difference(old: Prompt, new: Prompt, old_name: str, new_name: str) -> str:
    """A unified diff; "" where they are equal."""
    lines = difflib.unified_diff(list(_lines(old)), list(_lines(new)), old_name, new_name, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(prompt: Prompt) -> Iterator[str]:
    for title, text in (("system.md", prompt.system), ("user.md", prompt.user)):
        yield f"--- {title}"
        yield from text.split("\n")
    if prompt.demos:
        yield "--- demos.jsonl"
    for demo in prompt.demos:
        yield json.dumps({"input": dict(demo.input), "output": demo.output}, ensure_ascii=False)


def _is_shipped(copy: WorkingCopy, name: str) -> bool:
    return (copy.path(name, SHIPPED) / "system.md").is_file()
