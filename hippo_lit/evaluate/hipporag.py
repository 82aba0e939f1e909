"""HippoRAG's own files: NAME.json with questions, NAME_corpus.json with passages.

Passages have no ids there; they get the ids that `hippo-lit index` gives them (a hash of title and text), so
that equal passages are one. What supports a question is told in the form of MuSiQue (`paragraphs` with
`is_supporting`), of HotpotQA and 2WikiMultihopQA (`supporting_facts` and `context`), or as `contexts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.files import answers_in, bad, json_list, papers_of, text_in
from hippo_lit.evaluate.gold import GoldFinder
from hippo_lit.evaluate.own import unique


def corpus_file(path: Path) -> Path:
    return path.with_name(f"{path.stem}_corpus.json")


def read_hipporag(path: Path) -> Dataset:
    """The set; a question's kind (`type`) is its tag. Raises DataError."""
    papers, notes = papers_of(corpus_file(path))
    finder = GoldFinder(papers)
    queries = []
    for number, record in enumerate(json_list(path), start=1):
        query_id = str(record.get("id") or record.get("_id") or f"q{number}")
        gold = {}
        for title, text in _supporting(record, path, query_id):
            gold.update(dict.fromkeys(finder.find_text(title, text, query_id), 1))
        kind = record.get("type")
        queries.append(
            Query(
                query_id,
                text_in(record, ("question", "text", "query"), path, None),
                gold,
                (kind,) if isinstance(kind, str) and kind else (),
                answers=answers_in(record),
            )
        )
    return Dataset(path.stem, papers, unique(queries, path), tuple(notes + finder.notes))


def _supporting(record: Mapping[str, Any], path: Path, query_id: str) -> Iterator[tuple[str, str]]:
    """Titles and texts of the passages that support a question."""
    try:
        if "supporting_facts" in record:
            titles = {item[0] for item in record["supporting_facts"]}
            texts = {title: " ".join(sentences) for title, sentences in record["context"]}
            for title in sorted(titles):
                yield title, texts.get(title, "")
            return
        name = "contexts" if "contexts" in record else "paragraphs"
        for item in record.get(name, ()):
            if item.get("is_supporting", True):
                yield item["title"], item.get("text") or item.get("paragraph_text") or ""
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise bad(
            path, None, f"question {query_id}: its supporting passages cannot be read ({error!r})"
        ) from error
