"""The settings that made an index, kept in its folder, so that nobody has to give them twice.

Precedence: default < remembered < file < environment < command line. Everything that was set when the
index was last built is remembered, and nothing that may be a secret: no address with a user, a password
or a query in it, and nothing but a plain name of an environment variable where one names a key's place.
Nor are the paper services of `[sources]`: they belong to a person, not to an index.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hippo_lit.config import Settings, validate
from hippo_lit.errors import IndexCorruptError
from hippo_lit.storage.disk import reporting, sync
from hippo_lit.text import content_hash

SETTINGS_FILE = "settings.json"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PERSONAL = {"sources"}
_ALL = frozenset[str]()
_BUILT_IN: Mapping[str, frozenset[str]] = {
    "extract": _ALL,
    "bm25": _ALL,
    "lexical": frozenset({"tokenizer", "include_title", "k1", "b"}),
    "graph": frozenset({"title_mention", "synonyms", "synonym_threshold", "fact_vectors"}),
}
"""What is built into a snapshot: changing it means to index again, and a search cannot."""

Layer = dict[str, dict[str, Any]]


def recall(folder: Path, given: Settings | None = None) -> Settings:
    """What was set in `given`, over what the index in `folder` remembers, over the defaults.

    Raises IndexCorruptError where the file of settings is not what was written, ConfigError where it
    holds a setting that this version does not know.
    """
    kept, layer = remembered(folder), _explicit(given)
    merged = {section: kept.get(section, {}) | layer.get(section, {}) for section in kept | layer}
    return validate(merged, origin=f"{folder / SETTINGS_FILE} and the settings given")


def complete(settings: Settings) -> Settings:
    """`settings`, each of them given: nothing that an index remembers shows through."""
    return validate(settings.model_dump())


def remembered(folder: Path) -> Layer:
    """What the index remembers, by section and key; empty where there is nothing."""
    path = folder / SETTINGS_FILE
    with reporting("read", path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return {}
    try:
        data = json.loads(content)
        settings: Layer = data["settings"]
        intact = data["check"] == _check(settings)
    except (ValueError, TypeError, KeyError, RecursionError):
        intact = False
    if not intact:
        raise IndexCorruptError(
            f"{path} is not what was written. Remove that file, and give the settings that made the index "
            "(embedding, extract, …) with the next `hippo-lit index`; they are then remembered again.",
            path=str(path),
        )
    return settings


def remember(folder: Path, settings: Settings) -> None:
    """Keep what was set in `settings`, in one atomic step. Raises StoreError."""
    kept = {section: dict(values) for section, values in _safe(_explicit(settings)) if values}
    path = folder / SETTINGS_FILE
    if path.is_file() and kept == _or_nothing(folder):
        return
    fresh = path.with_name(f"{SETTINGS_FILE}.tmp-{os.getpid()}")
    with reporting("write", path):
        try:
            text = json.dumps({"settings": kept, "check": _check(kept)}, indent=1, sort_keys=True)
            fresh.write_text(text + "\n", encoding="utf-8")
            sync(fresh)
            fresh.replace(path)
            sync(folder)
        finally:
            fresh.unlink(missing_ok=True)


def without_effect(folder: Path, given: Settings) -> list[str]:
    """What a search is given and cannot heed, since the index was built with something else."""
    kept, default = remembered(folder), Settings()
    if not (folder / SETTINGS_FILE).is_file():
        return []  # made before settings were remembered
    found = []
    for section, values in _explicit(given).items():
        built_in = _BUILT_IN.get(section)
        for key, value in values.items():
            if built_in is None or (built_in and key not in built_in):
                continue
            usual = getattr(getattr(default, section), key)
            built_with = kept.get(section, {}).get(key, usual)
            if value != built_with:
                found.append(
                    f"{section}.{key} = {json.dumps(value)} has no effect on a search: the index was built "
                    f"with {json.dumps(built_with)}. Index again with it to change that."
                )
    return found


def _or_nothing(folder: Path) -> Layer | None:
    try:
        return remembered(folder)
    except IndexCorruptError:
        return None  # about to be replaced


def _explicit(settings: Settings | None) -> Layer:
    """Only what somebody set: not the defaults, which may change with the version."""
    return settings.model_dump(mode="json", exclude_unset=True) if settings is not None else {}


def _safe(layer: Layer) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    for section, values in layer.items():
        if section in _PERSONAL:
            continue
        yield section, [(key, _rooted(key, v)) for key, v in values.items() if _may_be_kept(key, v)]


def _may_be_kept(key: str, value: Any) -> bool:
    if key == "api_key_env":
        return isinstance(value, str) and _VARIABLE.fullmatch(value) is not None
    if key.endswith("url") and isinstance(value, str):
        try:
            parts = urlsplit(value)
        except ValueError:
            return False
        return "@" not in parts.netloc and not parts.query and not parts.fragment
    return True


def _rooted(key: str, value: Any) -> Any:
    """A path as it is from everywhere: the next command may be given in another folder."""
    if key == "path" and isinstance(value, str):
        return str(Path(value).expanduser().absolute())
    if key == "model" and isinstance(value, str) and os.sep in value and Path(value).expanduser().is_dir():
        return str(Path(value).expanduser().absolute())
    return value


def _check(settings: Layer) -> str:
    return content_hash(json.dumps(settings, sort_keys=True))
