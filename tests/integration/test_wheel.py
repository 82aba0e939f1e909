"""What is in the wheel and the source archive; `.ci/check_wheel` installs the wheel and uses it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

import hippo_lit

ROOT = Path(__file__).parents[2]
SHIPPED = [
    f"hippo_lit/_data/{path.relative_to(ROOT).as_posix()}"
    for folder in ("prompts", "configs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file()
]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel built from a source archive, as `make wheel` does, but with the hatchling that is here."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def names(archives: tuple[Path, Path]) -> list[str]:
    with ZipFile(archives[0]) as wheel:
        return wheel.namelist()


@pytest.fixture(scope="module")
def metadata(archives: tuple[Path, Path]) -> Message:
    with ZipFile(archives[0]) as wheel:
        return message_from_bytes(wheel.read(f"hippo_lit-{hippo_lit.__version__}.dist-info/METADATA"))


def test_every_module_is_in_the_wheel(names: list[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "hippo_lit").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert "hippo_lit/py.typed" in names


def test_prompts_configs_and_corpus_are_in_the_wheel(archives: tuple[Path, Path], names: list[str]) -> None:
    assert {name for name in names if "/_data/" in name} == set(SHIPPED)
    assert "hippo_lit/_data/prompts/extract/system.md" in SHIPPED
    assert "hippo_lit/_data/configs/default.toml" in SHIPPED
    with ZipFile(archives[0]) as wheel:
        for name in SHIPPED:
            assert wheel.read(name) == (ROOT / name.removeprefix("hippo_lit/_data/")).read_bytes()
    corpus = {f"hippo_lit/sources/mock_corpus/{p.name}" for p in ROOT.glob("hippo_lit/sources/mock_corpus/*")}
    assert len(corpus) >= 6
    assert corpus <= set(names)


def test_nothing_else_is_in_the_wheel(names: list[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {
        "hippo_lit",
        f"hippo_lit-{hippo_lit.__version__}.dist-info",
    }
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".idx"))]
    assert len(names) == len(set(names))


def test_metadata(metadata: Message, names: list[str]) -> None:
    assert metadata["Name"] == "hippo-lit"
    assert metadata["Version"] == hippo_lit.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert {"embedded", "offline", "spacy"} <= set(metadata.get_all("Provides-Extra", []))
    info = f"hippo_lit-{hippo_lit.__version__}.dist-info"
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE", f"{info}/entry_points.txt"} <= set(names)


def test_the_source_archive_has_what_tests_and_builds_need(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as source:
        files = {name.partition("/")[2] for name in source.getnames()}
    needed = "pyproject.toml README.md LICENSE NOTICE Makefile constraints.txt configs/default.toml"
    assert {*needed.split(), "tests/integration/test_wheel.py", "prompts/extract/user.md"} <= files
    assert not [name for name in files if name.startswith((".venv", ".git/", ".ci")) or "__pycache__" in name]
