"""Which systems are compared: routes, settings, one part switched off, one setting swept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from hippo_lit import assemble
from hippo_lit.config import Settings, validate
from hippo_lit.errors import ConfigError
from hippo_lit.text import content_hash
from hippo_lit.types import MODES, Mode

ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "filter": {"filter.kind": "all", "filter.max_facts": 1000},
    "entity-linking": {"seeds.link_question": False, "filter.per_entity": 0},
    "sentence-evidence": {"seeds.evidence": "fact"},
    "rarity": {"seeds.rarity": False},
    "specificity": {"seeds.specific_mass": 0.0},
    "passage-seeds": {"seeds.passage_share": 0.0, "seeds.passage_weight": 0.0},
    "facts": {"graph.fact": 0.0},
    "cooccurrence": {"graph.cooccurrence": 0.0},
    "synonyms": {"graph.synonym": 0.0},
    "citations": {"graph.citation": 0.0},
    "text-rank": {"rank.hybrid_weight": 0.0},
    "nearest-first": {"rank.nearest_first": 2.0},
}
"""Part of the hippo route to the settings without it. All act on queries alone, so the index is shared."""

_ANSWER_READS = ("answer", "llm", "prompts")
_READS: Mapping[Mode, tuple[str, ...]] = {
    "bm25": ("bm25", "extract.passage_chars"),
    "dense": ("embedding", "extract.passage_chars", "retrieve", "prompts"),
    "hybrid": ("embedding", "bm25", "hybrid", "extract.passage_chars", "retrieve", "prompts"),
    "lexical": ("lexical",),
    "hippo": (
        "embedding", "llm", "extract", "filter", "graph", "seeds", "ppr", "rank", "retrieve",
        "bm25", "hybrid", "prompts",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class System:
    """A route with its settings. `label` names it in tables and files; with `answers` it also answers the
    questions in words.
    """

    label: str
    mode: Mode
    settings: Settings
    answers: bool = False

    @property
    def signature(self) -> str:
        """Equal for systems whose settings cannot make them rank differently."""
        return self._hash(_READS[self.mode])

    @property
    def identity(self) -> str:
        """Equal for systems whose settings cannot make them rank or answer differently."""
        return self._hash(_reads(self.mode, answers=self.answers))

    def _hash(self, names: Sequence[str]) -> str:
        known = self.settings.model_dump(mode="json")
        read = {name: _at(known, name) for name in names}
        return content_hash(self.mode, json.dumps(read, sort_keys=True))


def index_key(settings: Settings) -> str:
    """Equal for settings that one index can serve: what differs acts on queries alone."""
    built = {
        "recipe": assemble.make_recipe(settings).describe(),
        "embedding": settings.embedding.model_dump(mode="json"),
        "extract": settings.extract.model_dump(mode="json"),
        "llm": settings.llm.model_dump(mode="json") if settings.extract.kind == "llm" else None,
        "prompts": str(settings.prompts.path),
    }
    return content_hash(json.dumps(built, sort_keys=True))


def check_modes(names: Iterable[str]) -> list[Mode]:
    """Raises ConfigError for a name that is no system."""
    known = {str(mode): mode for mode in MODES}
    wanted = dict.fromkeys(names)
    if unknown := [name for name in wanted if name not in known]:
        raise ConfigError(f"there is no system {unknown[0]!r}; choose of {', '.join(MODES)}", key="systems")
    if not wanted:
        raise ConfigError(f"name at least one system of {', '.join(MODES)}", key="systems")
    return [known[name] for name in wanted]


def plan(
    modes: Sequence[Mode],
    configs: Sequence[tuple[str, Settings]],
    *,
    ablate: bool = False,
    sweeps: Sequence[tuple[str, Sequence[Any]]] = (),
    answers: bool = False,
) -> list[System]:
    """The systems to run, each once: routes under every configuration, then what varies the first one.

    With `answers` they also answer in words, so that settings of answers make systems differ.

    Labels are the route's name, with "@" and what is special where there are several: `hippo@hipporag2`,
    `hippo@no-filter`, `hippo@ppr.damping=0.3`. Of systems that must answer alike only the first is kept.
    Raises ConfigError where a sweep concerns none of the routes, or a value is not allowed.
    """
    systems = []
    for mode in modes:
        several = len({System("", mode, settings, answers).identity for _, settings in configs}) > 1
        systems += [System(f"{mode}@{name}" if several else mode, mode, s, answers) for name, s in configs]
    base = configs[0][1]
    if ablate:
        if "hippo" not in modes:
            raise ConfigError("--ablate switches off parts of hippo: add it to --systems", key="ablate")
        systems += [
            System(f"hippo@no-{part}", "hippo", changed(base, change), answers)
            for part, change in ABLATIONS.items()
        ]
    systems += _swept(modes, base, sweeps, answers=answers)
    first: dict[str, System] = {}
    for system in systems:
        first.setdefault(system.identity, system)
    return list(first.values())


def parse_sweep(text: str) -> tuple[str, list[Any]]:
    """Raises ConfigError.

    >>> parse_sweep("ppr.damping=0.3,0.5")
    ('ppr.damping', [0.3, 0.5])
    """
    key, separator, values = text.partition("=")
    given = [value.strip() for value in values.split(",") if value.strip()]
    if not separator or not given or "." not in key:
        raise ConfigError(f"--sweep {text!r}: write it as 'ppr.damping=0.3,0.5,0.7'", key="sweep")
    return key.strip(), [_value(value) for value in given]


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """`settings` with some others by dotted name. Raises ConfigError."""
    layers = settings.model_dump()
    for dotted, value in changes.items():
        section, _, key = dotted.partition(".")
        if not isinstance(layers.get(section), dict):
            raise ConfigError(f"there is no section {section!r} in the settings", key=dotted)
        layers[section][key] = value
    return validate(layers)


def _swept(
    modes: Sequence[Mode], base: Settings, sweeps: Sequence[tuple[str, Sequence[Any]]], *, answers: bool
) -> list[System]:
    if not sweeps:
        return []
    keys = [key for key, _ in sweeps]
    found = []
    for values in product(*(values for _, values in sweeps)):
        settings = changed(base, dict(zip(keys, values, strict=True)))
        name = ",".join(f"{key}={value}" for key, value in zip(keys, values, strict=True))
        concerned = [
            mode for mode in modes if any(_concerns(_reads(mode, answers=answers), key) for key in keys)
        ]
        found += [System(f"{mode}@{name}", mode, settings, answers) for mode in concerned]
    if not found:
        raise ConfigError(f"none of {', '.join(modes)} reads {' or '.join(keys)}", key=keys[0])
    return found


def _reads(mode: Mode, *, answers: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_READS[mode] + (_ANSWER_READS if answers else ())))


def _concerns(reads: Sequence[str], key: str) -> bool:
    return any(key == read or key.startswith(f"{read}.") for read in reads)


def _at(data: Mapping[str, Any], dotted: str) -> Any:
    value: Any = data
    for part in dotted.split("."):
        value = value[part]
    return value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
