from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from hippo_lit import resources
from hippo_lit.errors import ConfigError, PromptError


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder as pip leaves it: no checkout around it, data inside it."""
    package = tmp_path / "site-packages" / "hippo_lit"
    (package / "_data" / "prompts").mkdir(parents=True)
    (package / "_data" / "configs").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    return package


def make_checkout(package: Path, name: str = "hippo-lit") -> None:
    (package.parent / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    (package.parent / "prompts").mkdir()
    (package.parent / "configs").mkdir()


def test_an_installed_package_serves_its_own_copy(installed: Path) -> None:
    assert resources.prompts_dir() == installed / "_data" / "prompts"
    assert resources.configs_dir() == installed / "_data" / "configs"


def test_a_checkout_beats_the_installed_copy(installed: Path) -> None:
    make_checkout(installed)
    assert resources.prompts_dir() == installed.parent / "prompts"
    assert resources.configs_dir() == installed.parent / "configs"


def test_a_strangers_folder_beside_the_package_is_not_ours(installed: Path) -> None:
    make_checkout(installed, name="another-package")
    assert resources.prompts_dir() == installed / "_data" / "prompts"


def test_an_explicit_path_beats_both(installed: Path, tmp_path: Path) -> None:
    make_checkout(installed)
    assert resources.prompts_dir(tmp_path) == tmp_path
    assert resources.configs_dir(str(tmp_path)) == tmp_path


def test_an_explicit_path_that_is_missing_is_an_error_and_not_another_folder(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    with pytest.raises(PromptError, match="nowhere") as caught:
        resources.prompts_dir(missing)
    assert caught.value.path == str(missing)
    with pytest.raises(ConfigError, match="nowhere"):
        resources.configs_dir(missing)
    assert pickle.loads(pickle.dumps(caught.value)).path == str(missing)


def test_nothing_anywhere_names_every_path_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "hippo_lit"
    package.mkdir()
    (tmp_path / "pyproject.toml").write_text('name = "hippo-lit"')
    monkeypatch.setattr(resources, "_PACKAGE", package)
    with pytest.raises(PromptError) as caught:
        resources.prompts_dir()
    assert str(tmp_path / "prompts") in str(caught.value)
    assert str(package / "_data" / "prompts") in str(caught.value)
