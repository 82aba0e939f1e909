from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_support import Cli, with_facts
from typer.testing import CliRunner, Result

from hippo_lit.api import HippoLit
from hippo_lit.cli.app import app
from hippo_lit.config import load_settings
from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Run hippo-lit in this process and an empty folder, without settings of ours in the environment."""
    for name in (
        "HIPPO_LIT_INDEX",
        "HIPPO_LIT_CONFIG",
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture(scope="session")
def mock_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "mock.idx"
    settings = load_settings(overrides=["embedding.kind=hash", "extract.kind=simple"], environ={})
    with HippoLit.open(folder, settings) as lit:
        lit.put(ArxivMockClient().papers())
        lit.put(SemanticScholarMockClient().papers())
        lit.build()
    return folder


@pytest.fixture
def mock_index(mock_template: Path, tmp_path: Path) -> Path:
    """The mock corpus, indexed with the settings QUICK."""
    return Path(shutil.copytree(mock_template, tmp_path / "mock.idx"))


@pytest.fixture
def fact_index(tmp_path: Path) -> Path:
    return with_facts(tmp_path / "facts.idx")
