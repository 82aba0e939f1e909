"""What the tests of the command line share: the settings that make them quick, and an index with facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from typer.testing import Result

from hippo_lit.api import HippoLit
from hippo_lit.config import Settings
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import Message, Paper

Cli = Callable[..., Result]
QUICK = ("--set", "embedding.kind=hash", "--set", "extract.kind=simple")
HASH = QUICK[:2]

WILD = "Wild \x1b[31mRED\x1b[0m [bold]markup[/bold] :smile: title"
PAPERS = (
    Paper(
        "a1",
        "Alpha",
        "Alpha extends Beta. It needs no data.",
        2018,
        ("Ada Lovelace",),
        ("b2", "x-9"),
        ("y-8",),
    ),
    Paper("b2", "Beta", "Beta was built in Kraków.", 2020, ("Bo B", "Ce C", "De D"), (), ("a1",), venue="V"),
    Paper("w3", WILD, "Gamma \x1b]0;evil\x07 helps [/] Alpha.", None, ("Eve \x1b[2J",)),
)
TRIPLES = {
    "Alpha": [["Alpha", "extends", "Beta"], ["Alpha", "needs", "no data"]],
    "Beta": [["Beta", "was built in", "Kraków"]],
    "Wild": [["Gamma", "helps", "Alpha"]],
}


def extract(messages: Sequence[Message]) -> str:
    """The triples of TRIPLES for the title in a prompt of extraction."""
    asked = messages[-1].content
    found = next(triples for title, triples in TRIPLES.items() if f'"title": "{title}' in asked)
    return json.dumps({"entities": [], "triples": found})


def with_facts(folder: Path, papers: Sequence[Paper] = PAPERS) -> Path:
    """An index of `papers` with the facts TRIPLES; searched with `--set embedding.kind=hash`."""
    settings = Settings.model_validate(
        {
            "embedding": {"kind": "hash"},
            "llm": {"kind": "openai"},
            "extract": {"kind": "llm", "names_from": "none"},
        }
    )
    with HippoLit.open(folder, settings, chat=FakeChatModel(extract)) as lit:
        built = lit.add(papers)
    assert built.added == len(papers)
    return folder
