"""The tools that look things up: ranked papers, one paper, its neighbours, the corpus."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hippo_lit.about import similar_ids
from hippo_lit.api import HippoLit
from hippo_lit.errors import DataError, IndexNotFoundError
from hippo_lit.extraction import Progress
from hippo_lit.render import shorten
from hippo_lit.snapshot import Snapshot
from hippo_lit.text import content_hash
from hippo_lit.tool.arguments import CorpusInfo, GetPaper, RelatedPapers, SearchPapers
from hippo_lit.tool.definition import Outcome
from hippo_lit.tool.failures import tool_error
from hippo_lit.tool.fit import entry_text, fit_entries, fit_entry, id_alone, safe
from hippo_lit.tool.metrics import measured
from hippo_lit.tool.papers import facts_of, paper_entry
from hippo_lit.tool.related import neighbour_entry, neighbours
from hippo_lit.tool.results import CorpusResult, PaperEntry, RelatedResult, SearchResult

FRAME = 100  # tokens for what stands around the papers of a result: keys, a note, a cursor
_NOTE_CHARS = 200
_CURSOR = re.compile(r"(\d{1,9})-([\w-]{1,60})", re.ASCII)


def search_papers(lit: HippoLit, asked: SearchPapers, _progress: Progress) -> Outcome:
    found = lit.retrieve(asked.query, asked.k, asked.mode, filters=asked.chosen(), explain=False)
    snapshot = the_snapshot(lit)
    entries = []
    for ranked in found.papers:
        number = snapshot.find(ranked.paper.id) if "facts" in asked.fields else None
        facts = facts_of(snapshot, number) if number is not None else ()
        entries.append(paper_entry(ranked.paper, asked.fields, sentences=asked.first_sentences, facts=facts))
    papers = _fitted(entries, asked.max_tokens)
    noted = notes(found.degraded, found.reason, len(entries) - len(papers))
    result = SearchResult.model_validate({"papers": papers} | noted)
    return Outcome(result, listing(papers, noted), measured(found))


def get_paper(lit: HippoLit, asked: GetPaper, _progress: Progress) -> Outcome:
    snapshot = the_snapshot(lit)
    number = numbered(snapshot, asked.id)
    facts = facts_of(snapshot, number) if "facts" in asked.fields else ()
    entry = paper_entry(snapshot.paper(number), asked.fields, sentences=asked.first_sentences, facts=facts)
    fitted = fit_entry(entry, asked.max_tokens) or id_alone({**entry, "id": asked.id})
    return Outcome(PaperEntry.model_validate(fitted), entry_text(fitted))


def related_papers(lit: HippoLit, asked: RelatedPapers, _progress: Progress) -> Outcome:
    snapshot = the_snapshot(lit)
    number = numbered(snapshot, asked.id)
    # Of this list alone: other papers and other relations have other lists.
    scope = f"{snapshot.name}-{content_hash(str(number), *asked.relations)[:6]}"
    start = _offset(asked.cursor, scope)
    found = neighbours(snapshot, number, asked.relations)
    entries = [neighbour_entry(snapshot, each) for each in found[start : start + asked.limit]]
    papers = _fitted(entries, asked.max_tokens)
    end = start + len(papers)
    noted = {"total": len(found)} | ({"next_cursor": f"{end}-{scope}"} if end < len(found) else {})
    result = RelatedResult.model_validate({"papers": papers} | noted)
    return Outcome(result, listing(papers, noted))


def corpus_info(lit: HippoLit, _asked: CorpusInfo, _progress: Progress) -> Outcome:
    snapshot = the_snapshot(lit)
    years = snapshot.years[~np.isnan(snapshot.years)]
    values = {
        "papers": len(snapshot),
        "passages": snapshot.graph.n_passages,
        "entities": snapshot.graph.n_entities,
        "facts": snapshot.graph.n_facts,
        "citations": snapshot.citations.edge_count,
        "llm": lit.settings.llm.kind != "none",
        "state": snapshot.name,
    }
    if len(years):
        values |= {"first_year": int(years.min()), "last_year": int(years.max())}
    return Outcome(CorpusResult.model_validate(values), "\n".join(_lines(values)))


def the_snapshot(lit: HippoLit) -> Snapshot:
    """What is answered from. Raises IndexNotFoundError."""
    snapshot = lit.snapshot()
    if snapshot is None:
        raise IndexNotFoundError("nothing has been indexed yet", path=str(lit.path))
    return snapshot


def numbered(snapshot: Snapshot, paper_id: str) -> int:
    """The number of a paper. Raises DataError (similar)."""
    number = snapshot.find(paper_id)
    if number is None:
        close = similar_ids(paper_id, snapshot.paper_ids)
        hint = f"; similar ids: {', '.join(close)}" if close else ""
        raise DataError(f"there is no paper {shorten(paper_id, 80)!r}{hint}", similar=close)
    return number


def notes(degraded: bool, reason: str, left_out: int) -> dict[str, Any]:
    """The fields of `results.Notes` that have something to say."""
    said = {"left_out": left_out, "degraded": degraded, "note": shorten(safe(reason), _NOTE_CHARS)}
    return {name: value for name, value in said.items() if value}


def _fitted(entries: Sequence[Mapping[str, Any]], tokens: int) -> list[dict[str, Any]]:
    papers = fit_entries(entries, tokens - FRAME)
    if entries and not papers:
        raise tool_error("invalid_arguments", "max_tokens holds no paper", "Give a larger max_tokens.")
    return papers


def listing(entries: Sequence[Mapping[str, Any]], noted: Mapping[str, Any]) -> str:
    """Papers as text, and what is to be known beside them."""
    return "\n".join([*map(entry_text, entries), *_lines(noted)]) or "no papers"


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {str(value).lower() if value is True else value}" for name, value in values.items()]


def _offset(cursor: str | None, scope: str) -> int:
    if cursor is None:
        return 0
    match = _CURSOR.fullmatch(cursor)
    if match is None or match[2] != scope:
        raise tool_error(
            "stale_cursor", "the cursor is of another list or state", "Call again without a cursor."
        )
    return int(match[1])
