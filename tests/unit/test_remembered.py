"""What an index remembers of the settings that made it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hippo_lit.config import Settings, load_settings
from hippo_lit.errors import ConfigError, IndexCorruptError
from hippo_lit.remembered import SETTINGS_FILE, complete, recall, remember, remembered, without_effect


def given(*overrides: str) -> Settings:
    return load_settings(overrides=overrides, environ={})


def test_default_then_remembered_then_given(tmp_path: Path) -> None:
    remember(tmp_path, given("filter.kind=llm", "ppr.damping=0.7", "llm.kind=openai"))
    recalled = recall(tmp_path, given("ppr.damping=0.6"))
    assert (recalled.filter.kind, recalled.ppr.damping, recalled.rank.hybrid_weight) == (
        "llm",
        0.6,
        Settings().rank.hybrid_weight,
    )
    remember(tmp_path, recalled)
    assert remembered(tmp_path)["ppr"] == {"damping": 0.6}
    assert remembered(tmp_path)["filter"] == {"kind": "llm"}


def test_a_default_that_is_given_beats_what_is_remembered(tmp_path: Path) -> None:
    remember(tmp_path, given("filter.kind=llm"))
    assert recall(tmp_path, given("filter.kind=linked")).filter.kind == "linked"
    assert recall(tmp_path, Settings()).filter.kind == "llm"


def test_the_environment_beats_what_is_remembered(tmp_path: Path) -> None:
    remember(tmp_path, given("ppr.damping=0.7"))
    assert recall(tmp_path, load_settings(environ={"HIPPO_LIT_PPR__DAMPING": "0.2"})).ppr.damping == 0.2


def test_nothing_is_remembered_at_first(tmp_path: Path) -> None:
    assert recall(tmp_path) == Settings()
    assert remembered(tmp_path) == {}


def test_what_may_be_a_secret_is_not_kept(tmp_path: Path) -> None:
    remember(
        tmp_path,
        given(
            "llm.base_url=https://user:hunter2@host/v1",
            "llm.model=m",
            "llm.api_key_env=sk-hunter2",
            "embedding.base_url=https://host/v1?key=hunter2",
            "embedding.api_key_env=MY_KEY",
        ),
    )
    assert "hunter2" not in (tmp_path / SETTINGS_FILE).read_text()
    assert remembered(tmp_path) == {"llm": {"model": "m"}, "embedding": {"api_key_env": "MY_KEY"}}


def test_the_services_of_a_person_are_not_kept(tmp_path: Path) -> None:
    remember(tmp_path, given("sources.mailto=me@example.org", "sources.limit=7", "ppr.damping=0.7"))
    assert remembered(tmp_path) == {"ppr": {"damping": 0.7}}


def test_of_complete_settings_none_is_taken_from_the_index(tmp_path: Path) -> None:
    remember(tmp_path, given("ppr.damping=0.7", "cache.path=elsewhere.db"))
    mine = given("filter.kind=llm")
    assert recall(tmp_path, mine) != mine
    assert recall(tmp_path, complete(mine)) == mine


def test_paths_are_kept_as_they_are_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "own").mkdir(parents=True)
    remember(tmp_path, given("cache.path=shared.db", "embedding.model=models/own"))
    assert recall(tmp_path).cache.path == tmp_path / "shared.db"
    assert recall(tmp_path).embedding.model == str(tmp_path / "models" / "own")


def test_a_changed_file_is_found(tmp_path: Path) -> None:
    remember(tmp_path, given("embedding.model=alpha"))
    file = tmp_path / SETTINGS_FILE
    for damaged in (file.read_text().replace("alpha", "alphb"), "", "[]", "{", '{"settings": 1, "check": 2}'):
        file.write_text(damaged)
        with pytest.raises(IndexCorruptError, match=r"Remove that file, and give the settings"):
            recall(tmp_path)
        remember(tmp_path, given("embedding.model=beta"))
        assert recall(tmp_path).embedding.model == "beta"


def test_a_setting_of_another_version_is_named(tmp_path: Path) -> None:
    remember(tmp_path, given("embedding.model=alpha"))
    file = tmp_path / SETTINGS_FILE
    from hippo_lit.text import content_hash

    settings = {"graph": {"new_thing": 1}}
    check = content_hash(json.dumps(settings, sort_keys=True))
    file.write_text(json.dumps({"settings": settings, "check": check}))
    with pytest.raises(ConfigError, match=r"settings\.json.*no setting 'graph\.new_thing'"):
        recall(tmp_path)


def test_what_a_search_cannot_heed(tmp_path: Path) -> None:
    assert without_effect(tmp_path, given("extract.kind=simple")) == []  # nothing is known of it
    remember(tmp_path, given("extract.kind=simple", "graph.synonyms=none"))
    assert without_effect(tmp_path, given("extract.kind=simple", "graph.mention=3", "lexical.w_bm25=1")) == []
    said = without_effect(tmp_path, given("extract.kind=llm", "graph.synonyms=spelling", "bm25.k1=2"))
    assert [line.split(" has no")[0] for line in said] == [
        'extract.kind = "llm"',
        'graph.synonyms = "spelling"',
        "bm25.k1 = 2.0",
    ]
    assert 'built with "none"' in said[1]
