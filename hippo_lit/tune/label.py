"""Labelling candidates by hand: a decision a key, each on disk before the next is asked for.

The journal holds every decision, one a line; what is written for evaluation and tuning is made from it alone.
So a session that was killed anywhere goes on with the next candidate, and `undo` reaches back into earlier
sessions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hippo_lit.errors import DataError
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.files import bad, json_lines, lines_of, text_in
from hippo_lit.storage.disk import reporting
from hippo_lit.text import clean, content_hash
from hippo_lit.tune.bench import Case

Choice = Literal["keep", "drop", "skip"]
CHOICES: tuple[Choice, ...] = ("keep", "drop", "skip")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said of a candidate of a question. `papers` state the fact."""

    query: str
    text: str
    fact: tuple[str, str, str]
    papers: tuple[str, ...]
    choice: Choice


class Labelling:
    """Walks through cases; `here` is what is to be decided."""

    def __init__(self, cases: Sequence[Case], journal: Path) -> None:
        """Takes up what `journal` holds. Raises StoreError where it cannot be read."""
        self.cases = cases
        self.journal = journal
        self.decisions = _read(journal)

    @property
    def here(self) -> tuple[Case, int] | None:
        """The first candidate without a decision; None where all have one."""
        done = {(decision.query, decision.fact) for decision in self.decisions}
        for case in self.cases:
            for i, candidate in enumerate(case.candidates):
                if (case.id, _triple(candidate.fact)) not in done:
                    return case, i
        return None

    def decide(self, choice: Choice) -> None:
        """Settle `here`. Raises StoreError; then nothing is decided."""
        if (here := self.here) is None:
            return
        case, i = here
        candidate = case.candidates[i]
        made = Decision(case.id, case.query.text, _triple(candidate.fact), candidate.paper_ids, choice)
        self._append(asdict(made))
        self.decisions.append(made)

    def next_question(self) -> None:
        """Skip what is left of this question's candidates."""
        if (here := self.here) is not None:
            question = here[0].id
            while (here := self.here) is not None and here[0].id == question:
                self.decide("skip")

    def undo(self) -> Decision | None:
        """Take the last decision back; None where there is none."""
        if not self.decisions:
            return None
        self._append({"undo": True})
        return self.decisions.pop()

    def labels(self) -> list[dict[str, Any]]:
        """Lines of a query file, as `evaluate.own` reads them: questions of which a fact was kept, and those
        of which all candidates were dropped, so that keeping nothing is right.
        """
        grouped: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            grouped.setdefault(decision.query, []).append(decision)
        found = []
        open_question = here[0].id if (here := self.here) is not None else ""
        for query, made in grouped.items():
            kept = [decision for decision in made if decision.choice == "keep"]
            dropped = [decision for decision in made if decision.choice == "drop"]
            if kept or (len(dropped) == len(made) and query != open_question):
                found.append(
                    {
                        "id": query,
                        "text": made[0].text,
                        "gold": list(dict.fromkeys(paper for one in kept for paper in one.papers)),
                        "gold_facts": [list(one.fact) for one in kept],
                        "dropped_facts": [list(one.fact) for one in dropped],
                    }
                )
        return found

    def write(self, out: Path) -> int:
        """Write the labels, whole or not at all, and return how many questions there are."""
        found = self.labels()
        lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found)
        with reporting("write", out):
            fresh = out.with_name(f".{out.name}.new")
            fresh.write_text(lines, "utf-8")
            fresh.replace(out)
        return len(found)

    def _append(self, line: dict[str, Any]) -> None:
        with reporting("write", self.journal):
            self.journal.parent.mkdir(parents=True, exist_ok=True)
            cut = self.journal.is_file() and not self.journal.read_bytes().endswith(b"\n")
            with self.journal.open("a", encoding="utf-8") as file:
                file.write(("\n" if cut else "") + json.dumps(line, ensure_ascii=False) + "\n")


def read_questions(path: Path) -> list[Query]:
    """The questions of a file: one a line, or JSON Lines with "text". Raises DataError.

    A line's id is made of its text, so that a file may grow between sessions.
    """
    found: dict[str, Query] = {}
    if path.suffix in (".jsonl", ".ndjson"):
        for line, record in json_lines(path):
            text = text_in(record, ("text", "query", "question"), path, line)
            query_id = str(record.get("id") or _id(text))
            found[query_id] = Query(query_id, text)
    else:
        for _, line_text in lines_of(path):
            if text := clean(line_text):
                found[_id(text)] = Query(_id(text), text)
    if not found:
        raise bad(path, None, "holds no question")
    return list(found.values())


def cases_of(found: Iterator[Case]) -> list[Case]:
    """The cases that have candidates. Raises DataError where none has."""
    cases = [case for case in found if case.candidates]
    if not cases:
        raise DataError("the index has no candidate for any of these questions: it holds no facts")
    return cases


def _id(text: str) -> str:
    return f"q-{content_hash(text)[:12]}"


def _triple(fact: Any) -> tuple[str, str, str]:
    return fact.subject, fact.relation, fact.object


def _read(journal: Path) -> list[Decision]:
    """The decisions that stand; lines that cannot be read are left out."""
    if not journal.is_file():
        return []
    with reporting("read", journal):
        lines = journal.read_text("utf-8", "replace").split("\n")
    made: list[Decision] = []
    for line in lines:
        with suppress(ValueError, RecursionError, TypeError):
            match json.loads(line):
                case {"undo": True}:
                    del made[-1:]
                case {
                    "query": str(query),
                    "text": str(text),
                    "fact": [str(subject), str(relation), str(object_)],
                    "papers": list(papers),
                    "choice": ("keep" | "drop" | "skip") as choice,
                }:
                    triple = subject, relation, object_
                    made.append(Decision(query, text, triple, tuple(map(str, papers)), choice))
    return made
