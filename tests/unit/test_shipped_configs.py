"""The files of configs/ as text; what they mean is checked in test_config."""

from __future__ import annotations

import re
import tomllib

import pytest

from hippo_lit.config import Settings
from hippo_lit.resources import configs_dir

LINES = (configs_dir() / "default.toml").read_text("utf-8").splitlines()


def test_the_default_file_lists_every_setting() -> None:
    listed: dict[str, set[str]] = {}
    for line in LINES:
        if section := re.fullmatch(r"\[(\w+)\]", line):
            keys = listed.setdefault(section[1], set())
        elif key := re.match(r"(?:# )?(\w+) = ", line):
            keys.add(key[1])
    fields = Settings.model_fields.items()
    assert listed == {section: set(type(field.default).model_fields) for section, field in fields}


def test_every_setting_has_a_comment_on_its_line() -> None:
    for line in LINES:
        if re.match(r"(# )?\w+ = ", line):
            assert re.search(r"\S {2,}# \S", line), line
            assert len(line) <= 110, line


def test_only_what_has_no_default_is_a_comment() -> None:
    given = tomllib.loads("\n".join(LINES))
    for section, field in Settings.model_fields.items():
        for key, value in field.default:
            assert (value is None) is (key not in given.get(section, {})), f"{section}.{key}"


@pytest.mark.parametrize("name", ["default", "offline", "openai"])
def test_no_key_and_no_price_ships(name: str) -> None:
    text = (configs_dir() / f"{name}.toml").read_text("utf-8")
    assert not re.search(r"sk-|^price|^\s*api_key\s*=", text, re.MULTILINE)
