"""What is shown of papers to a chat model: no more than it needs, cleaned, under their ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hippo_lit.sentences import sentence_spans
from hippo_lit.text import clean
from hippo_lit.types import Paper


def shown_text(paper: Paper, most: int) -> str:
    """The abstract, cleaned, up to the end of the last sentence within `most` characters (≥ 1).

    An abstract whose first sentence is longer is cut there.
    """
    text = clean(paper.abstract)
    if len(text) <= most:
        return text
    ends = [end for _, end in sentence_spans(text[: most + 1]) if end <= most]
    # The last span ends where the text was cut, which is no end of a sentence.
    return text[: ends[-2]] if len(ends) > 1 else text[:most]


def as_shown(papers: Iterable[Paper], most: int) -> list[dict[str, Any]]:
    """Id, title, year and text of papers, as they go into a prompt's data."""
    return [
        {"id": paper.id, "title": clean(paper.title), "year": paper.year, "text": shown_text(paper, most)}
        for paper in papers
    ]
