"""Settings as they are given, by section and key, before `config` checks them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hippo_lit.errors import ConfigError

ENV_PREFIX = "HIPPO_LIT_"


def gather(file: Path | None, overrides: Iterable[str], environ: Mapping[str, str] | None) -> dict[str, Any]:
    """A TOML file, over it the environment, over it `section.key=value` overrides. Raises ConfigError."""
    layers = _read_toml(file) if file is not None else {}
    for name, value in sorted((os.environ if environ is None else environ).items()):
        if name.startswith(ENV_PREFIX) and "__" in name:
            section, _, key = name.removeprefix(ENV_PREFIX).lower().partition("__")
            _assign(layers, f"{section}.{key}", value, origin=f"environment variable {name}")
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator:
            raise ConfigError(f"--set {override!r}: write it as section.key=value", key=override)
        _assign(layers, key.strip(), value.strip(), origin=f"--set {override}")
    return layers


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigError(f"{file}: no such settings file", key=str(file)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}", key=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}", key=str(file)) from error


def _assign(layers: dict[str, Any], dotted: str, text: str, *, origin: str) -> None:
    section, separator, key = dotted.partition(".")
    if not separator or not section or not key:
        raise ConfigError(f"{origin}: {dotted!r} is not of the form section.key", key=dotted)
    try:
        value = json.loads(text)
    except ValueError:
        value = text  # a bare word is a string: --set filter.kind=llm
    present = layers.get(section, {})
    if not isinstance(present, dict):
        raise ConfigError(f"{origin}: {section!r} is a section, not a value", key=section)
    layers[section] = {**present, key: value}
