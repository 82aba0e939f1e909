"""Passages as parsed documents: prepared text, sentence starts that are ours, and the way back to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippo_lit.extract.prepare import Prepared, prepare
from hippo_lit.extract.spans import pieces
from hippo_lit.extract.topic import Text, is_name
from hippo_lit.sentences import split_sentences
from hippo_lit.text import clean
from hippo_lit.types import Passage

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

MAX_DOC_CHARS = 50_000
MAX_SENTENCE_CHARS = 5_000
TITLE = -1


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text for the parser: its number (a sentence, or TITLE), and whether it stood in brackets."""

    prepared: Prepared
    sentence: int
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document and, for each of its sentences in order, the piece it is."""

    doc: Doc
    pieces: Sequence[Piece]

    def spans(self) -> list[tuple[Span, Piece]]:
        return list(zip(self.doc.sents, self.pieces, strict=True))


def read(passage: Passage) -> Text:
    """The passage's text, safe to parse."""
    return Text(clean(passage.title), tuple(clean(sentence) for sentence in split_sentences(passage.body)))


def cut(text: Text) -> list[list[Piece]]:
    """The pieces of a passage, in runs of at most about MAX_DOC_CHARS characters."""
    found = _pieces(TITLE, text.title, ())
    names = (text.name,) if " " in text.name or is_name(text.name) else ()
    for number, sentence in enumerate(text.sentences):
        found += _pieces(number, sentence, names)
    runs: list[list[Piece]] = []
    length = MAX_DOC_CHARS
    for piece in found:
        if length >= MAX_DOC_CHARS:
            runs.append([])
            length = 0
        runs[-1].append(piece)
        length += len(piece.prepared.text)
    return runs


def _pieces(number: int, sentence: str, names: tuple[str, ...]) -> list[Piece]:
    found = []
    for part in pieces(sentence, MAX_SENTENCE_CHARS):
        prepared = prepare(part, names)
        found.append(Piece(prepared, number))
        found += [Piece(Prepared(text), number, aside=True) for text in prepared.asides]
    return [piece for piece in found if piece.prepared.text.strip()]


def to_doc(nlp: Language, run: Sequence[Piece]) -> Doc:
    """The run as a document to be parsed: names are single tokens, sentences begin where pieces do.

    `doc.user_data["names"]` holds the indices of the tokens that are names.
    """
    texts = [piece.prepared.text.strip() for piece in run]
    starts, names, length = [], [], 0
    for piece, text in zip(run, texts, strict=True):
        skipped = len(piece.prepared.text) - len(piece.prepared.text.lstrip())
        starts.append(length)
        names += [(length + start - skipped, length + end - skipped) for start, end in piece.prepared.names]
        length += len(text) + 1
    doc = nlp.make_doc(" ".join(texts))
    _merge(doc, names)
    named = {start for start, _ in names}
    first = set(starts)
    for token in doc:
        token.is_sent_start = token.idx in first
    doc.user_data["names"] = frozenset(token.i for token in doc if token.idx in named)
    return doc


def _merge(doc: Doc, names: Sequence[tuple[int, int]]) -> None:
    taken = 0
    with doc.retokenize() as retokenizer:
        for start, end in sorted(names):
            span = doc.char_span(start, end)
            if span is not None and span.start >= taken:
                retokenizer.merge(span)
                taken = span.end
