"""TREC folders: topics in a file `topics*`, judgements in `qrels*`, papers in any file that is indexed.

Topics are TREC's tagged text (`<num> Number: 301 <title> …`), or a line of number, tab and text each.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from hippo_lit.evaluate.beir import read_qrels, resolve
from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.files import bad, lines_of, papers_of
from hippo_lit.evaluate.gold import GoldFinder
from hippo_lit.evaluate.own import CORPUS_NAMES, unique
from hippo_lit.text import clean

_TOPIC = re.compile(r"<top\b[^>]*>(.*?)</top>", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(num|title|desc)\b[^>]*>(.*?)(?=<|\Z)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:number|topic|description)\s*:", re.IGNORECASE)


def topic_files(folder: Path) -> tuple[Path | None, Path | None]:
    """The topics and the judgements of a folder."""

    def first(prefix: str) -> Path | None:
        found = sorted(p for p in folder.iterdir() if p.is_file() and p.name.lower().startswith(prefix))
        return found[0] if found else None

    return first("topics"), first("qrels")


def read_trec(folder: Path) -> Dataset:
    """The set. As in TREC, topics without judgement are not asked; the notes tell how many.

    Raises DataError.
    """
    topics, qrels = topic_files(folder)
    if topics is None or qrels is None:
        raise bad(folder, None, "a TREC folder needs a file topics* and a file qrels*")
    corpus = next((folder / name for name in CORPUS_NAMES if (folder / name).is_file()), None)
    if corpus is None:
        raise bad(folder, None, f"there are no papers in it; name their file {' or '.join(CORPUS_NAMES)}")
    papers, notes = papers_of(corpus)
    judged = read_qrels(qrels)
    finder = GoldFinder(papers)
    asked = list(read_topics(topics))
    queries = [
        Query(number, text, resolve(judged[number], finder, number))
        for number, text in asked
        if number in judged
    ]
    if left := len(asked) - len(queries):
        notes.append(f"{left} topics have no judgement in {qrels.name} and are not asked")
    return Dataset(folder.name, papers, unique(queries, topics), tuple(notes + finder.notes))


def read_topics(path: Path) -> Iterator[tuple[str, str]]:
    """Number and title of each topic; its description where it has no title. Raises DataError."""
    lines = list(lines_of(path))
    text = "\n".join(line for _, line in lines)
    if "<top" not in text.lower():
        for number, line in lines:
            name, tab, words = line.partition("\t")
            if not tab or not clean(words):
                raise bad(path, number, "a topic is its number, a tab and its text")
            yield clean(name), clean(words)
        return
    for topic in _TOPIC.finditer(text):
        # The first of each: a narrative may quote a tag.
        fields = {name.lower(): _LABEL.sub("", body) for name, body in reversed(_FIELD.findall(topic[1]))}
        name = clean(fields.get("num", ""))
        words = clean(html.unescape(fields.get("title", ""))) or clean(html.unescape(fields.get("desc", "")))
        if not name or not words:
            raise bad(path, None, f"a topic has no number or no title: {clean(topic[1])[:80]!r}")
        yield name, words
