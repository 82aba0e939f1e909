"""HippoRAG's DSPy JSON prompts become prompts of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hippo_lit.errors import PromptError
from hippo_lit.tune.check import check_folder
from hippo_lit.tune.hipporag import read_hipporag_prompt
from hippo_lit.tune.working import WorkingCopy

PROGRAM: dict[str, Any] = {
    "lm": None,
    "demos": [
        {
            "augmented": True,
            "question": "Where does the Sile flow?",
            "fact_before_filter": '{"fact": [["sile", "flows through", "treviso"], ["po", "is", "river"]]}',
            "fact_after_filter": '{"fact":[["sile","flows through","treviso"]]}',
        },
        {
            "question": "None?",
            "fact_before_filter": '{"fact": [["po", "is", "river"]]}',
            "fact_after_filter": '{"fact": []}',
        },
    ],
    "signature": {"instructions": "Filter the facts.", "fields": []},
    "system": "unused",
}


def write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("saved", [{"prog": PROGRAM, "metadata": {}}, PROGRAM, {"predict": PROGRAM}])
def test_instructions_and_demonstrations(tmp_path: Path, saved: object) -> None:
    prompt = read_hipporag_prompt(write(tmp_path / "filter.json", saved))
    assert prompt.system.startswith("Filter the facts.\n\n")
    assert '{"facts": [[subject, relation, object], ...]}' in prompt.system
    first, second = prompt.demos
    assert first.input["data"] == {
        "question": "Where does the Sile flow?",
        "limit": 4,
        "candidates": [["sile", "flows through", "treviso"], ["po", "is", "river"]],
    }
    assert first.output == {"facts": [["sile", "flows through", "treviso"]]}
    assert second.output == {"facts": []}


def test_as_a_version_it_passes_the_check(tmp_path: Path) -> None:
    copy = WorkingCopy(tmp_path / "prompts")
    version = copy.new(
        "fact_filter", copy.load("fact_filter", str(write(tmp_path / "f.json", {"prog": PROGRAM})))
    )
    checked = check_folder("fact_filter", copy.path("fact_filter", version), frozenset({"data"}))
    assert (checked.findings, checked.demos) == ((), 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "as JSON"),
        ("[" * 100_000, "as JSON"),
        ([1, 2], "no program that DSPy saved"),
        ({"prog": {"signature": {}, "demos": []}}, "no program that DSPy saved"),
        ({"prog": {**PROGRAM, "demos": [{"question": "q"}]}}, "demo 1: it must have"),
        (
            {"prog": {**PROGRAM, "demos": [{**PROGRAM["demos"][0], "fact_after_filter": "none"}]}},
            "demo 1: no JSON",
        ),
    ],
)
def test_what_is_no_such_file_is_an_error(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(PromptError, match=message):
        read_hipporag_prompt(write(tmp_path / "x.json", content))


def test_it_is_a_fact_filter_only(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="hold a fact filter, not extract"):
        read_hipporag_prompt(write(tmp_path / "x.json", PROGRAM), "extract")
