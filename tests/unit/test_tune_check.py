"""What `prompt check` finds, all at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hippo_lit.errors import PromptError
from hippo_lit.resources import prompts_dir
from hippo_lit.tune.check import check_folder

DATA = frozenset({"data"})
FACT = ["a", "is", "b"]


def folder(tmp_path: Path, user: str = "$data", *demos: object) -> Path:
    place = tmp_path / "p"
    place.mkdir()
    (place / "system.md").write_text("Keep facts.", "utf-8")
    (place / "user.md").write_text(user, "utf-8")
    if demos:
        lines = (demo if isinstance(demo, str) else json.dumps(demo) for demo in demos)
        (place / "demos.jsonl").write_text("\n".join(lines), "utf-8")
    return place


def demo(kept: object, candidates: object = (FACT,), limit: int = 4) -> dict[str, object]:
    data = {"question": "q", "limit": limit, "candidates": candidates}
    return {"input": {"data": data}, "output": {"facts": kept}}


def found(place: Path, name: str = "fact_filter") -> list[tuple[str, str, str]]:
    checked = check_folder(name, place, DATA)
    return [(f.severity, f.where, f.message) for f in checked.findings]


@pytest.mark.parametrize("name", ["fact_filter", "extract", "answer"])
def test_the_shipped_prompts_are_good(name: str) -> None:
    checked = check_folder(name, prompts_dir() / name, DATA)
    assert checked.findings == ()
    assert checked.demos > 2
    assert 800 < checked.tokens < 3000


def test_missing_and_unknown_variables(tmp_path: Path) -> None:
    assert found(folder(tmp_path, "Answer $question now")) == [
        ("error", "user.md", "it does not use $data: the model would not see the question"),
        ("error", "user.md", "$question is given by nobody; there is $data"),
    ]


def test_variables_are_not_replaced_in_the_system_message(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / "system.md").write_text("Keep $data, at most ${limit}; it costs $5.", "utf-8")
    assert found(place) == [
        ("warning", "system.md", f"${name} stays as it is: variables are replaced in user.md alone")
        for name in ("data", "limit")
    ]


def test_a_lone_dollar(tmp_path: Path) -> None:
    assert found(folder(tmp_path, "$data costs 5 $"))[0][2].startswith("a '$' that starts no variable")


def test_every_bad_demonstration_is_named(tmp_path: Path) -> None:
    place = folder(
        tmp_path,
        "$data",
        demo([FACT]),
        "{not json",
        demo([["a", "is", "c"]]),
        demo([FACT], []),
        {"input": {"question": "q"}, "output": []},
        demo([FACT], [FACT, ["c", "is", "d"]]),
        demo([FACT, ["c", "is", "d"]], [FACT, ["c", "is", "d"]], limit=1),
        {**demo([FACT], [FACT, FACT]), "output": "no json at all"},
        demo([FACT]),
    )
    lines = {where.rpartition(" ")[2]: (severity, message) for severity, where, message in found(place)}
    assert {line: severity for line, (severity, _) in lines.items()} == {
        "2": "error",
        "3": "error",
        "4": "error",
        "5": "error",
        "7": "error",
        "8": "error",
        "9": "warning",
    }
    assert "keeps what is no candidate, or one twice: a is c" in lines["3"][1]
    assert "over its own limit of 1" in lines["7"][1]
    assert lines["9"][1] == "it asks the same as line 1"


def test_a_demonstration_that_keeps_nothing_is_good(tmp_path: Path) -> None:
    assert found(folder(tmp_path, "$data", demo([]))) == []


def test_missing_empty_and_unreadable_files(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / "system.md").unlink()
    (place / "user.md").write_bytes(b"\xff\xfe$")
    assert [(where, message.partition(":")[0]) for _, where, message in found(place)] == [
        ("system.md", "it is missing"),
        ("user.md", "it cannot be read as UTF-8 text"),
    ]
    with pytest.raises(PromptError, match="no prompt folder"):
        check_folder("fact_filter", place / "nowhere", DATA)


def test_a_very_long_prompt_is_a_warning(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / "system.md").write_text("word " * 9000, "utf-8")
    ((severity, _, message),) = found(place)
    assert (severity, "tokens before the question" in message) == ("warning", True)
    assert check_folder("fact_filter", place, DATA).good


@pytest.mark.parametrize(
    ("papers", "output", "message"),
    [
        ([{"id": "p1"}], "Thought: so.\nAnswer: Yes [p1].", ""),
        ([{"id": "p1"}], "Answer: Yes [p2].", "its output cites what is not among its papers: p2"),
        ([{"id": "p1"}], "Thought: hm", "its output is no reply that can be read: it thinks"),
        (["p1"], "Answer: Yes.", 'its input must hold data with papers, each with an "id"'),
    ],
)
def test_demonstrations_of_answers(tmp_path: Path, papers: object, output: str, message: str) -> None:
    given = {"input": {"data": {"question": "q", "papers": papers}}, "output": output}
    messages = [told for _, _, told in found(folder(tmp_path, "$data", given), "answer")]
    assert len(messages) == bool(message)
    assert all(told.startswith(message) for told in messages)
