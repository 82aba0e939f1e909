"""Versions of prompts: made, put into use, taken back, and nothing lost on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hippo_lit.errors import ConfigError, PromptError, StoreError
from hippo_lit.llm.prompts import Demo, Prompt, load_prompt, write_prompt
from hippo_lit.resources import prompts_dir
from hippo_lit.tune.promotion import promote_scored
from hippo_lit.tune.working import WorkingCopy

NAME = "fact_filter"


@pytest.fixture
def copy(tmp_path: Path) -> WorkingCopy:
    return WorkingCopy(tmp_path / "prompts")


def changed(copy: WorkingCopy, line: str) -> Prompt:
    return replace(copy.load(NAME), system=line)


def test_before_anything_is_written_the_shipped_prompts_are_in_use(copy: WorkingCopy) -> None:
    assert copy.in_use(NAME) == "shipped"
    assert copy.load(NAME).hash == load_prompt(prompts_dir() / NAME).hash
    assert {"extract", NAME} <= set(copy.names())
    assert not copy.folder.exists()


def test_what_is_written_has_the_same_hash(copy: WorkingCopy, tmp_path: Path) -> None:
    odd = Prompt(
        "x", "a\r\nb", "$data", (Demo({"data": {"q": "Ω \u2028 é"}}, "plain"), Demo({"data": "y"}, [1]))
    )
    write_prompt(odd, tmp_path / "odd")
    assert load_prompt(tmp_path / "odd").hash == odd.hash
    shipped = copy.load(NAME)
    write_prompt(shipped, tmp_path / "same")
    assert load_prompt(tmp_path / "same").hash == shipped.hash


def test_a_new_version_changes_nothing_that_is_in_use(copy: WorkingCopy) -> None:
    before = copy.load(NAME).hash
    assert [copy.new(NAME, changed(copy, "One.")), copy.new(NAME, changed(copy, "Two."))] == ["v1", "v2"]
    assert copy.load(NAME).hash == before
    assert copy.in_use(NAME) == "shipped"
    assert copy.versions(NAME) == ["v1", "v2"]
    assert copy.load(NAME, "v2").system == "Two."


def test_the_folder_holds_every_prompt_so_that_runs_can_use_it(copy: WorkingCopy) -> None:
    copy.new(NAME, changed(copy, "One."))
    shipped = {path.name for path in prompts_dir().iterdir()}
    assert {path.name for path in copy.folder.iterdir()} == shipped | {"versions"}


def test_versions_are_ordered_by_number(copy: WorkingCopy) -> None:
    for number in range(1, 12):
        copy.new(NAME, changed(copy, f"{number}"))
    assert copy.versions(NAME)[-2:] == ["v10", "v11"]


def test_promote_and_roll_back_to_the_shipped_one(copy: WorkingCopy) -> None:
    shipped = copy.load(NAME).hash
    one, two = copy.new(NAME, changed(copy, "One.")), copy.new(NAME, changed(copy, "Two."))
    copy.promote(NAME, one)
    copy.promote(NAME, two)
    assert (copy.load(NAME).system, copy.in_use(NAME)) == ("Two.", "v2")
    assert copy.rollback(NAME).version == "v1"
    assert copy.load(NAME).system == "One."
    assert copy.rollback(NAME).version == "shipped"
    assert copy.load(NAME).hash == shipped
    with pytest.raises(ConfigError, match="nothing to go back to"):
        copy.rollback(NAME)
    assert [line.version for line in copy.history(NAME)] == ["shipped", "v1", "v2", "v1", "shipped"]


def test_edits_by_hand_become_a_version_and_can_be_gone_back_to(copy: WorkingCopy) -> None:
    copy.promote(NAME, copy.new(NAME, changed(copy, "One.")))
    (copy.folder / NAME / "system.md").write_text("Mine.", "utf-8")
    assert copy.in_use(NAME) == ""
    copy.promote(NAME, copy.new(NAME, replace(copy.load(NAME), system="Two.")))
    assert {copy.load(NAME, version).system for version in copy.versions(NAME)} == {"One.", "Mine.", "Two."}
    assert copy.rollback(NAME).version == "v3"
    assert copy.load(NAME).system == "Mine."


def test_an_edit_by_hand_is_what_is_gone_back_from(copy: WorkingCopy) -> None:
    copy.promote(NAME, copy.new(NAME, changed(copy, "One.")))
    (copy.folder / NAME / "system.md").write_text("Mine.", "utf-8")
    back = copy.rollback(NAME)
    assert (back.version, back.why, copy.load(NAME).system) == ("v1", "back from v2", "One.")
    assert copy.load(NAME, "v2").system == "Mine."
    assert copy.rollback(NAME).version == "shipped"
    with pytest.raises(ConfigError, match="nothing to go back to"):
        copy.rollback(NAME)


def test_even_a_broken_prompt_in_use_is_kept(copy: WorkingCopy) -> None:
    version = copy.new(NAME, changed(copy, "One."))
    (copy.folder / NAME / "user.md").write_text("costs 5 $", "utf-8")
    copy.promote(NAME, version)
    (kept,) = (copy.folder / "versions" / NAME).glob("broken-*")
    assert (kept / "user.md").read_text("utf-8") == "costs 5 $"
    assert copy.load(NAME).system == "One."


def test_a_promotion_that_died_in_the_middle_is_mended(copy: WorkingCopy) -> None:
    copy.promote(NAME, copy.new(NAME, changed(copy, "One.")))
    (copy.folder / NAME).rename(copy.folder / f".{NAME}.old")
    assert copy.load(NAME).system == "One."
    assert not list(copy.folder.glob(".*.old"))


def test_a_history_line_that_was_cut_off_costs_only_itself(copy: WorkingCopy) -> None:
    copy.promote(NAME, copy.new(NAME, changed(copy, "One.")))
    history = copy.folder / "versions" / NAME / "history.jsonl"
    with history.open("a", encoding="utf-8") as file:
        file.write('{"version": "v')
    copy.promote(NAME, copy.new(NAME, changed(copy, "Two.")))
    assert [line.version for line in copy.history(NAME)] == ["shipped", "v1", "v2"]


@pytest.mark.parametrize("name", ["../extract", "nothing", "", "a/b", "fact_filter/"])
def test_names_are_names_of_prompts_and_no_paths(copy: WorkingCopy, name: str) -> None:
    with pytest.raises(ConfigError, match="there is no prompt"):
        copy.path(name)


def test_an_unknown_version_names_those_there_are(copy: WorkingCopy) -> None:
    copy.new(NAME, changed(copy, "One."))
    with pytest.raises(ConfigError, match="no version 'v7': there are current, shipped, v1"):
        copy.load(NAME, "v7")


def test_a_folder_elsewhere_can_be_loaded(copy: WorkingCopy, tmp_path: Path) -> None:
    write_prompt(changed(copy, "Elsewhere."), tmp_path / "mine")
    assert copy.load(NAME, str(tmp_path / "mine")).system == "Elsewhere."
    with pytest.raises(PromptError):
        copy.load(NAME, str(tmp_path / "nowhere"))


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    copy = WorkingCopy(tmp_path / "file" / "prompts")
    with pytest.raises(StoreError, match="cannot write"):
        copy.new(NAME, copy.load(NAME))


def kept_score(copy: WorkingCopy, version: str, *, better: bool) -> None:
    score = {
        "candidate": copy.load(NAME, version).hash,
        "against": copy.load(NAME).hash,
        "measure": "F1",
        "better": better,
        "difference": 0.1,
        "low": 0.05 if better else -0.05,
        "high": 0.2,
    }
    copy.keep_score(NAME, score)


def test_promotion_needs_a_score_that_says_it_is_better(copy: WorkingCopy) -> None:
    one = copy.new(NAME, changed(copy, "One."))
    with pytest.raises(ConfigError, match=r"was not compared .* tune score fact_filter --prompt v1"):
        promote_scored(copy, NAME, one)
    kept_score(copy, one, better=False)
    with pytest.raises(ConfigError, match=r"not shown to be better .*-0.050 to \+0.200"):
        promote_scored(copy, NAME, one)
    kept_score(copy, one, better=True)
    assert promote_scored(copy, NAME, one).why == "F1 +0.100, 95% interval +0.050 to +0.200"
    with pytest.raises(ConfigError, match="in use already"):
        promote_scored(copy, NAME, one, force=True)


def test_a_score_counts_only_for_these_files_against_what_is_in_use_now(copy: WorkingCopy) -> None:
    one = copy.new(NAME, changed(copy, "One."))
    kept_score(copy, one, better=True)
    (copy.path(NAME, one) / "system.md").write_text("Edited since.", "utf-8")
    with pytest.raises(ConfigError, match="was not compared"):
        promote_scored(copy, NAME, one)
    assert promote_scored(copy, NAME, one, force=True).why == "forced"


def test_history_is_plain_json_lines(copy: WorkingCopy) -> None:
    copy.promote(NAME, copy.new(NAME, changed(copy, "One.")), "because")
    lines = (copy.folder / "versions" / NAME / "history.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["why"] for line in lines] == ["came first", "because"]
