"""Papers cut into passages: what is embedded, extracted from and ranked as one."""

from __future__ import annotations

from hippo_lit.sentences import sentence_spans
from hippo_lit.text import clean, content_hash
from hippo_lit.types import Paper, Passage


def passages_of(paper: Paper, max_chars: int) -> list[Passage]:
    """The passages of a paper: one, unless its abstract is longer than `max_chars`.

    A long abstract is cut at sentence ends; a sentence that is longer by itself is cut hard, so that no
    body exceeds `max_chars`. A paper without an abstract is one passage of its title.
    """
    title, body = clean(paper.title), clean(paper.abstract)
    if len(body) <= max_chars:
        return [Passage(paper.id, 0, title, body)]
    bodies: list[str] = []
    start = end = 0
    for piece_start, piece_end in _pieces(body, max_chars):
        if piece_end - start > max_chars:
            bodies.append(body[start:end])
            start = piece_start
        end = piece_end
    bodies.append(body[start:end])
    return [Passage(paper.id, number, title, text) for number, text in enumerate(bodies)]


def passage_hash(passage: Passage) -> str:
    """The address of a passage's content; its paper does not matter, its title and body do."""
    return content_hash(passage.title, passage.body)


def sentence_places(passage: Passage) -> list[tuple[int, int]]:
    """The sentences of a passage's body as (start, end) in its whole text."""
    shift = len(passage.text) - len(passage.body)
    return [(start + shift, end + shift) for start, end in sentence_spans(passage.body)]


def _pieces(body: str, max_chars: int) -> list[tuple[int, int]]:
    """Sentence spans, none longer than `max_chars`, without space at their ends."""
    cuts = (
        (at, min(at + max_chars, end))
        for start, end in sentence_spans(body)
        for at in range(start, end, max_chars)
    )
    return [
        (start + body[start:end].startswith(" "), end - body[start:end].endswith(" "))
        for start, end in cuts
        if not body[start:end].isspace()
    ]
