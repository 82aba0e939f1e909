"""What the page's script shows: queries, values and rankings as JSON that is safe inside a script element."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hippo_lit.evaluate.dataset import Dataset, Query
from hippo_lit.evaluate.measures import per_query
from hippo_lit.evaluate.run import Run, Written
from hippo_lit.render import printable, shorten

_TOP = 10
_TEXT = 2000


def page_data(data: Dataset, runs: Sequence[Run], names: Sequence[str]) -> str:
    """JSON without "<", ">" or "&", so that no text in it can end the element that holds it."""
    values = [per_query(run.queries, run.rankings, names, run.written) for run in runs]
    shown = {hit.id for run in runs for answer in run.answers.values() for hit in answer.hits[:_TOP]}
    shown |= {paper for query in data.queries for paper in query.relevant}
    content = {
        "systems": [run.label for run in runs],
        "titles": {paper.id: printable(paper.title) for paper in data.papers if paper.id in shown},
        "queries": [
            {
                "id": query.id,
                "text": shorten(query.text, _TEXT),
                "tags": [printable(tag) for tag in query.tags],
                "gold": {paper: grade for paper, grade in query.gold.items() if grade > 0},
                "answers_wanted": [printable(answer) for answer in query.answers],
                "values": {name: [by[name].get(query.id) for by in values] for name in names},
                "answers": [_answer(run, query) for run in runs],
            }
            for query in data.queries
        ],
    }
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _written(written: Written | None) -> dict[str, Any] | None:
    if written is None:
        return None
    return {"text": printable(written.text), "kind": written.kind, "reason": printable(written.reason)}


def _answer(run: Run, query: Query) -> dict[str, Any]:
    answer = run.answers[query.id]
    return {
        "label": run.label,
        "mode": run.info.mode,
        "route": answer.route,
        "reason": printable(answer.reason),
        "hits": [[hit.id, hit.score, hit.way] for hit in answer.hits[:_TOP]],
        "candidates": [asdict(fact) for fact in answer.candidates],
        "unmatched": [printable(text) for text in answer.unmatched],
        "seeds": [asdict(seed) for seed in answer.seeds],
        "written": _written(answer.written),
    }
