"""Cutting a passage into pieces of whole sentences, and finding which sentence a text comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hippo_lit.sentences import split_sentences
from hippo_lit.text import normalise


def pieces(text: str, max_chars: int) -> list[str]:
    """Runs of whole sentences of at most `max_chars` characters; a longer sentence is cut at its spaces."""
    runs: list[str] = []
    for sentence in split_sentences(text):
        for part in _cut(sentence, max_chars):
            if runs and len(runs[-1]) + 1 + len(part) <= max_chars:
                runs[-1] += " " + part
            else:
                runs.append(part)
    return runs


def _cut(text: str, max_chars: int) -> Iterable[str]:
    while len(text) > max_chars:
        space = text.rfind(" ", max_chars // 2, max_chars)
        end = space if space > 0 else max_chars
        yield text[:end]
        text = text[end:].lstrip()
    yield text


class SentenceFinder:
    """Which sentence of a passage says something: an index into `split_sentences(body)`, -1 for the title.

    Texts are compared under `text.normalise`, as whole words where a script has spaces between them.
    """

    def __init__(self, title: str, body: str) -> None:
        self.sentences: Sequence[str] = split_sentences(body)
        self._forms = [_padded(sentence) for sentence in self.sentences]
        self._title = _padded(title)

    def find(self, *texts: str) -> int:
        """The first sentence that has all of `texts`, else most of them; -1 where none has any.

        A text that stands nowhere as it is counts by the share of its words that a sentence has.
        """
        forms = [form for text in texts if (form := _padded(text)).strip()]
        best, best_score = -1, sum(_share(form, self._title) for form in forms)
        for i, sentence in enumerate(self._forms):
            score = sum(_share(form, sentence) for form in forms)
            if score > best_score or (score == best_score > 0 and best == -1):
                best, best_score = i, score
        return best


def _padded(text: str) -> str:
    return f" {normalise(text)} "


def _share(form: str, sentence: str) -> float:
    if form in sentence or (not form.isascii() and form.strip() in sentence):
        return 1.0
    words = form.split()
    return 0.9 * sum(f" {word} " in sentence for word in words) / len(words)
