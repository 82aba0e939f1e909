"""How each family of embedding models wants to be told what a text is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hippo_lit.errors import ConfigError
from hippo_lit.protocols import TextKind
from hippo_lit.text import content_hash

Style = Literal["auto", "none", "own", "instruct", "e5", "bge", "nomic"]

QUERIES: tuple[TextKind, ...] = ("query_to_fact", "query_to_passage")
_INSTRUCT_NAMES = ("instruct", "e5-mistral", "nv-embed", "gte-qwen", "qwen3-embedding")
_QUERY_PROMPTS = ("query", "search_query", "web_search_query", "s2p_query")
_DOCUMENT_PROMPTS = ("document", "passage", "search_document", "corpus")
_INSTRUCTED = re.compile(r"(?P<before>Instruct:\s*).*?(?P<after>\s*Query:\s*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What is put before a query of each kind, and before a document (passages and facts alike)."""

    query_to_fact: str = ""
    query_to_passage: str = ""
    document: str = ""

    def of(self, kind: TextKind) -> str:
        if kind == "query_to_fact":
            return self.query_to_fact
        return self.query_to_passage if kind == "query_to_passage" else self.document

    @property
    def digest(self) -> str:
        """Identifies all prefixes; "plain" where there are none."""
        parts = (self.query_to_fact, self.query_to_passage, self.document)
        return content_hash(*parts)[:8] if any(parts) else "plain"

    @property
    def document_digest(self) -> str:
        """Identifies the prefix of documents; "plain" where there is none."""
        return content_hash(self.document)[:8] if self.document else "plain"


def prefixes_for(
    model: str,
    style: Style,
    instructions: Mapping[str, str],
    own_prompts: Mapping[str, str] | None = None,
) -> Prefixes:
    """The prefixes for `model` in `style`.

    - "instruct": each query carries its instruction; documents are bare.
    - "e5", "bge" (English), "nomic": the fixed prefixes these families were trained with.
    - "own": the prompts in the model's own configuration; where these are instructions, ours replace them.
    - "none": nothing. "auto": "own" where the model has prompts, else by its name, else nothing, since a
      prefix that a model was not trained with makes it worse.

    A kind that `instructions` does not name gets no instruction. Raises ConfigError for another style.
    """
    own = own_prompts or {}
    if style == "auto":
        style = _guess(model, own)
    match style:
        case "none":
            return Prefixes()
        case "own":
            return _own(own, instructions)
        case "instruct":
            return Prefixes(*(_instructed(instructions.get(kind, "")) for kind in QUERIES))
        case "e5":
            return Prefixes("query: ", "query: ", "passage: ")
        case "bge":
            task = "Represent this sentence for searching relevant passages: "
            return Prefixes(task, task)
        case "nomic":
            return Prefixes("search_query: ", "search_query: ", "search_document: ")
    raise ConfigError(f"There is no instruction style {style!r}; choose one of {', '.join(get_args(Style))}.",
                      key="style")  # fmt: skip


def _guess(model: str, own: Mapping[str, str]) -> Style:
    name = model.lower()
    if any(own.values()):
        return "own"
    if any(part in name for part in _INSTRUCT_NAMES):
        return "instruct"
    if re.search(r"\be5-", name):
        return "e5"
    if re.search(r"\bbge-.*\ben\b", name):
        return "bge"
    return "nomic" if "nomic-embed" in name else "none"


def _instructed(instruction: str) -> str:
    return f"Instruct: {instruction}\nQuery: " if instruction else ""


def _own(own: Mapping[str, str], instructions: Mapping[str, str]) -> Prefixes:
    prompt = next((own[name] for name in _QUERY_PROMPTS if own.get(name)), "")
    document = next((own[name] for name in _DOCUMENT_PROMPTS if own.get(name)), "")
    template = _INSTRUCTED.fullmatch(prompt)

    def query(kind: TextKind) -> str:
        if template is None or not instructions.get(kind):
            return prompt
        return f"{template['before']}{instructions[kind]}{template['after']}"

    return Prefixes(query(QUERIES[0]), query(QUERIES[1]), document)
