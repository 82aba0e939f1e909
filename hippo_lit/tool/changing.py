"""The tools that change the corpus; offered only where whoever runs it allows that."""

from __future__ import annotations

from hippo_lit.api import HippoLit
from hippo_lit.expand import expand
from hippo_lit.extraction import Progress
from hippo_lit.tool.arguments import AddPapers, ExpandCitations
from hippo_lit.tool.definition import Outcome
from hippo_lit.tool.fit import fit_items, safe_title
from hippo_lit.tool.reading import notes
from hippo_lit.tool.results import AddResult, ExpandResult

_SOURCE = "agent"
_JOINED_TOKENS = 2_000


def add_papers(lit: HippoLit, asked: AddPapers, progress: Progress) -> Outcome:
    records = [paper.model_dump() | {"source": _SOURCE} for paper in asked.papers]
    with lit.writing():
        counts = lit.put(records)
        built = lit.build(progress=progress)
    result = AddResult(
        added=counts.added,
        changed=counts.changed,
        unchanged=counts.unchanged,
        papers=built.papers,
        passages_without_facts=built.failed + built.left,
    )
    text = (
        f"{counts.added} added, {counts.changed} changed, {counts.unchanged} known; now {built.papers} papers"
    )
    return Outcome(result, text)


def expand_citations(lit: HippoLit, asked: ExpandCitations, progress: Progress) -> Outcome:
    done = expand(lit, **asked.model_dump(), progress=progress)
    if done.failures and not done.asked:
        raise done.failures[0]  # nothing came: that is a failure, not an empty result
    titles = [{"id": each.paper.id, "title": safe_title(each.paper.title)} for each in done.joined]
    joined = fit_items(titles, _JOINED_TOKENS)
    reason = "; ".join([*dict.fromkeys(failure.message for failure in done.failures), done.stopped]).strip(
        "; "
    )
    noted = notes(bool(done.failures), reason, len(titles) - len(joined))
    values = {
        "joined": joined,
        "candidates": done.candidates,
        "links": done.links,
        "papers": done.built.papers,
    }
    lines = [f"{len(titles)} papers joined, {done.links} citations learnt; now {done.built.papers} papers"]
    lines += [f"[{each['id']}] {each['title']}" for each in joined]
    lines += [f"{name}: {value}" for name, value in noted.items()]
    return Outcome(ExpandResult.model_validate(values | noted), "\n".join(lines))
