"""`hippo-lit doctor`: findings, advice, exit codes, and no keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import QUICK, Cli

from hippo_lit.errors import MissingExtraError, ModelError
from hippo_lit.extract import spacy_model
from hippo_lit.models import weights
from hippo_lit.storage.batches import BatchLedger
from hippo_lit.storage.publish import CURRENT
from hippo_lit.testing import ScriptedServer, chat_reply, status


def checks(cli: Cli, *arguments: object, code: int = 0) -> dict[str, dict[str, str]]:
    told = json.loads(cli("doctor", "--json", *QUICK, *arguments, code=code).stdout)
    assert told["ok"] is (code == 0)
    return {check["name"]: check for check in told["checks"]}


def test_all_is_well(cli: Cli, mock_index: Path) -> None:
    shown = cli("doctor", "--index", mock_index, *QUICK).stdout
    assert shown.splitlines()[-1] == "all that the settings need works"
    assert "FAIL" not in shown
    found = checks(cli, "--index", mock_index)
    assert found["Python"]["status"] == "ok"
    assert "numpy " in found["packages"]["detail"]
    assert found["configs"]["detail"].startswith("default, hipporag2, offline, openai in ")
    assert "fact_filter" in found["prompts"]["detail"]
    assert found["embedder"]["detail"].startswith("hash-64, 64 dimensions; ready in ")
    assert found["extractor"]["detail"].startswith("simple-")
    assert found["LLM endpoint"]["detail"] == "none is set, and these settings need none"
    assert found["index"]["detail"] == "100 papers, 0 facts, read without error"
    assert found["index's embedder"]["detail"] == "hash-64, as the settings say"
    assert found["index folder"]["status"] == "ok"


def test_a_missing_part_is_a_failure_only_where_the_settings_need_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_PACKAGE", "no_such_package")
    monkeypatch.setattr(spacy_model, "OFFICIAL", "no_such_package")
    monkeypatch.setattr(spacy_model, "REPUBLISHED", "no_such_package")
    found = checks(cli)
    for name, extra in (("embedded model", "embedded"), ("spaCy model", "spacy")):
        assert found[name]["status"] == "warning"
        assert f"pip install 'hippo-lit[{extra}]'" in found[name]["detail"]
    needy = ("--set", "embedding.kind=sentence-transformers", "--set", "extract.kind=spacy")
    found = checks(cli, *needy, code=1)
    assert "pip install 'hippo-lit[embedded]'" in found["embedder"]["detail"]
    assert "pip install 'hippo-lit[spacy]'" in found["extractor"]["detail"]
    assert (found["embedder"]["status"], found["extractor"]["status"]) == ("fail", "fail")


def test_other_weights_are_a_failure(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def tampered() -> Path:
        raise ModelError("The weights are not those of all-MiniLM-L6-v2")

    monkeypatch.setattr("hippo_lit.models.embed_local.embedded_folder", tampered)
    found = checks(cli, "--set", "embedding.kind=sentence-transformers", code=1)
    assert found["embedder"]["detail"] == "The weights are not those of all-MiniLM-L6-v2"


def llm(server: ScriptedServer, *more: str) -> list[str]:
    given = ["llm.kind=openai", f"llm.base_url={server.base_url}", *more]
    return [part for setting in given for part in ("--set", setting)]


def test_the_endpoint_gets_one_tiny_call(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123")
    with ScriptedServer([chat_reply("yes")]) as server:
        found = checks(cli, *llm(server, "filter.kind=llm"))
        assert len(server.requests) == 1
    assert found["LLM endpoint"]["status"] == "ok"
    assert "the key variable OPENAI_API_KEY is set" in found["LLM endpoint"]["detail"]
    assert "llm.price_in_per_million" in found["LLM endpoint"]["advice"]


def test_a_refused_key_is_not_printed_and_tried_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123")
    with ScriptedServer([status(401, "no such key: sk-secret-0123")]) as server:
        result = cli("doctor", *QUICK, *llm(server, "filter.kind=llm"), code=1)
        unused = cli("doctor", *QUICK, *llm(server))
        assert len(server.requests) == 2
    assert "FAIL    LLM endpoint" in result.stdout
    assert "warning LLM endpoint" in unused.stdout
    assert "sk-secret" not in result.output + unused.output


def test_a_server_in_trouble_is_not_waited_for(cli: Cli) -> None:
    with ScriptedServer([status(500)]) as server:
        found = checks(cli, *llm(server, "extract.kind=llm", "extract.names_from=none"), code=1)
        assert len(server.requests) == 1
    assert "the key variable OPENAI_API_KEY is not set" in found["LLM endpoint"]["detail"]


def test_llm_settings_without_an_llm(cli: Cli) -> None:
    found = checks(cli, "--set", "filter.kind=llm", code=1)
    assert 'Set llm.kind = "openai"' in found["LLM endpoint"]["advice"]


def test_a_wrong_setting_is_a_finding(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.doctor.examine", lambda *_: iter(()))
    Path("my.toml").write_text("[filter]\nkind = 3\n")
    result = cli("doctor", "--config", "my.toml", "--json", code=1)
    first = json.loads(result.stdout)["checks"][0]
    assert (first["name"], first["status"]) == ("settings", "fail")
    assert "my.toml: filter.kind" in first["detail"]


def test_an_index_of_other_settings(cli: Cli, mock_index: Path) -> None:
    found = checks(cli, "--index", mock_index, "--set", "embedding.dimensions=8", code=1)
    assert "the index has vectors of hash-64, the settings name hash-8" in found["index's embedder"]["detail"]
    found = checks(cli, "--index", mock_index, "--set", "extract.kind=none")
    assert found["index's extractor"]["status"] == "warning"


def test_an_index_that_is_not_there_or_not_finished(cli: Cli, mock_index: Path) -> None:
    assert checks(cli, "--index", "absent", code=1)["index"]["status"] == "fail"
    (mock_index / CURRENT).unlink()
    found = checks(cli, "--index", mock_index, code=1)["index"]
    assert found["detail"].endswith("holds 100 papers, not indexed yet")


def test_what_is_not_installed_names_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"hippo-lit\[spacy\]"):
        spacy_model.find_model("no_such_model")


def test_replies_that_are_awaited(cli: Cli, mock_index: Path) -> None:
    assert "batch jobs" not in checks(cli, "--index", mock_index)
    with BatchLedger(mock_index) as ledger:
        ledger.prepare("token", "server", ["a", "b"])
    found = checks(cli, "--index", mock_index)["batch jobs"]
    assert (found["status"], found["detail"]) == ("ok", "2 replies are awaited")
    assert "hippo-lit index --batch" in found["advice"]


def test_prompts_of_ones_own_are_those_that_are_checked(cli: Cli, tmp_path: Path) -> None:
    folder = Path(cli("prompt", "new", "fact_filter", "--prompts", tmp_path / "mine").stdout.strip()).parents[
        2
    ]
    assert folder == tmp_path / "mine"
    given = ("--set", f"prompts.path={folder}")
    names = [row["name"] for row in json.loads(cli("prompt", "list", "--json", *given).stdout)["prompts"]]
    told = checks(cli, *given)["prompts"]
    assert told["detail"] == f"{', '.join([*names, 'query_to_fact', 'query_to_passage'])} in {folder}"
    (folder / "extract" / "system.md").unlink()
    assert checks(cli, *given, code=1)["prompts"]["status"] == "fail"
