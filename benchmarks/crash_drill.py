"""kill -9 at random moments of `hippo-lit index`: what must hold after each, and after the last.

    .venv/bin/python benchmarks/crash_drill.py [--kills 200] [--seed 0] [--json]

An index with a chat model (a server on the loopback interface that counts its calls) grows by rounds of new
and changed papers; each run of a round is killed at a random moment until one comes through. Checked after
every kill:

- the index opens and answers as it did before the round or, where the kill came after publishing, as it
  does after it;
- papers, extractions and replies that were committed are there, and sound;
- no reply that was received is paid for twice. A thread keeps a reply before it makes its next call, so at
  most `CONCURRENCY` calls, those in flight or just answered, are made again; none after a run that ended.

At the end, every answer equals that of an index built at once from the final papers.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import hippo_lit
from hippo_lit import HippoLit, Paper, build_corpus, load_settings
from hippo_lit.assemble import CACHE
from hippo_lit.records import paper_to_mapping
from hippo_lit.storage.store import Store
from hippo_lit.testing import Answer, ScriptedServer, chat_reply
from hippo_lit.testing.server import Recorded
from hippo_lit.types import MODES

CONCURRENCY = 4
REPLY_S = 0.05
ROUND = 16  # new papers a round: as many calls, and one for a changed paper
PATIENCE_S = 120.0
QUESTIONS = ("sparse attention", "Which method loads blocks of the cache?", "distillation of datasets")
CALL = "a call"
ANCHORS = ("", "reading papers", CALL, CALL, "building the graph")
"""The kill comes some time after the run says this; "" is its start, CALL a call that the server gets."""
ENV = {name: value for name, value in os.environ.items() if not name.startswith(("HIPPO_LIT_", "OPENAI_"))}
ENV |= {"PYTHONPATH": str(Path(hippo_lit.__path__[0]).parent)}

Answers = list[list[tuple[str, float]]]


class DrillError(Exception):
    """Something that must hold does not."""


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise DrillError(what)


class Bill:
    """The chat model's server side: who was asked what, and what was asked again after which kill."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.again = self.got = 0
        self._lock = threading.Lock()

    def __call__(self, request: Recorded) -> Answer:
        asked = request.body["messages"][-1]["content"]
        with self._lock:
            self.got += 1
        time.sleep(REPLY_S)
        with self._lock:
            self.again += asked in self.calls
            self.calls[asked] += 1
        title = json.loads(asked[asked.index("{") : asked.rindex("}") + 1])["title"]
        return chat_reply(json.dumps({"entities": [title], "triples": [[title, "improves", "attention"]]}))


@dataclass
class Tally:
    """What the drill saw. `delays` is when kills came, by anchor; times in seconds."""

    kills: int = 0
    runs_to_the_end: int = 0
    published_before_the_kill: int = 0
    most_calls_made_again: int = 0
    calls_made_again: int = 0
    calls: int = 0
    papers: int = 0
    seconds: float = 0.0
    kills_after: dict[str, int] = field(default_factory=dict)


class Drill:
    """One index, and everything that was seen of it."""

    def __init__(self, folder: Path, base_url: str, bill: Bill, seed: int) -> None:
        self.folder, self.bill = folder, bill
        self.index, self.file = folder / "x.idx", folder / "round.jsonl"
        self.given = [
            "embedding.kind=hash", "llm.kind=openai", f"llm.base_url={base_url}", "llm.response_format=text",
            f"llm.concurrency={CONCURRENCY}", "extract.kind=llm", "extract.names_from=simple",
        ]  # fmt: skip
        self.settings = load_settings(None, self.given, environ={})
        self.dice = random.Random(seed)
        self.tally = Tally()
        self.known: dict[str, Answers] = {}
        self.paces = dict.fromkeys(ANCHORS, 0.5) | {CALL: 2 * REPLY_S}

    # -- runs

    def run(self, *, kill: bool) -> bool:
        """One run of the command; whether it came to its end."""
        anchor = self.dice.choice(ANCHORS)
        command = [sys.executable, "-m", "hippo_lit.cli", "index", str(self.file), "--index", str(self.index)]
        for setting in self.given:
            command += ["--set", setting]
        began = time.monotonic()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV, text=True
        ) as process:
            assert process.stderr is not None
            if anchor == CALL:
                said, wanted = "", self.bill.got + self.dice.randint(1, ROUND)
                while self.bill.got < wanted and process.poll() is None:
                    time.sleep(0.002)
            else:
                said = heard(process.stderr, anchor)
            since = time.monotonic()
            if kill:
                try:
                    process.wait(self.dice.uniform(0.0, self.paces[anchor]))
                except subprocess.TimeoutExpired:
                    process.kill()
            rest = process.stderr.read()
        if process.returncode == 0:
            if anchor != CALL:
                self.paces[anchor] = time.monotonic() - since
            return True
        expect(process.returncode == -9, f"the run ended with {process.returncode}: {said}{rest}")
        if anchor != CALL:  # until a run that came to its end tells how long one takes
            self.paces[anchor] *= 1.2
        self.tally.kills_after[anchor or "start"] = self.tally.kills_after.get(anchor or "start", 0) + 1
        expect(time.monotonic() - began < PATIENCE_S, "the run hangs")
        return False

    # -- what must hold

    def answers(self) -> tuple[str, Answers]:
        with HippoLit.open(self.index, self.settings, create=False, read_only=True) as lit:
            snapshot = lit.snapshot()
            expect(snapshot is not None, "nothing is published any more")
            return getattr(snapshot, "name", ""), told(lit)

    def kept(self) -> dict[str, Any]:
        """What is committed, after checking that it is sound."""
        with Store.open(self.index, read_only=True) as store:
            store.verify()
            papers, generation = dict(store.fingerprints()), store.generation
            extractions = count(self.index / "store.db", "SELECT count(*) FROM extractions")
        replies = count(self.index / CACHE, "SELECT count(*) FROM replies")
        return {"papers": papers, "generation": generation, "extractions": extractions, "replies": replies}

    def round(self, papers: list[Paper], kills: int) -> None:
        """Runs until one comes through, most of them killed."""
        lines = [json.dumps(paper_to_mapping(paper)) for paper in papers]
        self.file.write_text("\n".join(lines), encoding="utf-8")
        before, target = self.answers()[0], ""
        kept, allowed = self.kept(), 0
        while True:
            again = self.bill.again
            ended = self.run(kill=self.tally.kills < kills)
            made_again = self.bill.again - again
            expect(made_again <= allowed, f"{made_again} calls were made again, {allowed} may be")
            self.tally.most_calls_made_again = max(self.tally.most_calls_made_again, made_again)
            allowed = 0 if ended else allowed - made_again + CONCURRENCY
            name, found = self.answers()
            if name != before:
                expect(target in ("", name), f"two states were published in one round: {target}, {name}")
                target = name
            expect(self.known.setdefault(name, found) == found, f"{name} does not answer as before")
            now = self.kept()
            for what in ("generation", "extractions", "replies"):
                expect(now[what] >= kept[what], f"{what}: {now[what]} after {kept[what]}")
            expect(now["papers"].keys() >= kept["papers"].keys(), "papers were lost")
            kept = now
            if ended:
                break
            self.tally.kills += 1
            self.tally.published_before_the_kill += name == target
        expect(target != "" and name == target, "the last run did not publish")
        expect(now["papers"].keys() >= {paper.id for paper in papers}, "papers are missing")
        self.tally.runs_to_the_end += 1

    def compare_with_built_at_once(self) -> None:
        other = self.folder / "at-once.idx"
        with Store.open(self.index, read_only=True) as store, HippoLit.open(other, self.settings) as lit:
            versions = [v for paper_id, _ in store.fingerprints() for v in store.versions(paper_id)]
            lit.add(versions)
            self.tally.papers = len(lit)
            snapshot = lit.snapshot()
            found = self.answers()
            expect(snapshot is not None and found == (snapshot.name, told(lit)), "other answers than at once")


def heard(stream: IO[str], anchor: str) -> str:
    """Read what the run says until it says `anchor`."""
    said = ""
    while anchor and (line := stream.readline()):
        said += line
        if line.startswith(anchor):
            break
    return said


def told(lit: HippoLit) -> Answers:
    results = [lit.retrieve(question, 5, mode) for question in QUESTIONS for mode in MODES]
    return [[(ranked.paper.id, ranked.score) for ranked in result.papers] for result in results]


def count(path: Path, sql: str) -> int:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        return int(db.execute(sql).fetchone()[0])


def papers_of(number: int) -> list[Paper]:
    """New papers, and one of the round before with another text."""
    corpus = build_corpus()
    start = number * ROUND
    chosen = [corpus[i % len(corpus)] for i in range(start, start + ROUND)]
    papers = [
        Paper(
            f"r{start + i}", f"{p.title} {start + i}", p.abstract, p.year, references=(f"r{start + i - 1}",)
        )
        for i, p in enumerate(chosen)
    ]
    changed = corpus[(start - 1) % len(corpus)]
    return [*papers, Paper(f"r{max(0, start - 1)}", changed.title, f"Revision {number}. {changed.abstract}")]


def drill(kills: int, seed: int) -> Tally:
    """Raises DrillError where something does not hold."""
    began, bill = time.monotonic(), Bill()
    with tempfile.TemporaryDirectory() as folder, ScriptedServer([bill]) as server:
        drilled = Drill(Path(folder), server.base_url, bill, seed)
        drilled.file.write_text("\n".join(json.dumps(paper_to_mapping(p)) for p in papers_of(0)))
        expect(drilled.run(kill=False), "the first run was killed")
        number, tally = 1, drilled.tally
        while tally.kills < kills:
            drilled.round(papers_of(number), kills)
            number += 1
        tally.calls, tally.calls_made_again = sum(bill.calls.values()), bill.again
        drilled.compare_with_built_at_once()
    tally.seconds = round(time.monotonic() - began, 1)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        tally = drill(given.kills, given.seed)
    except DrillError as failure:
        sys.exit(f"FAILED: {failure}")
    if given.json:
        print(json.dumps(asdict(tally)))
    else:
        print("\n".join(f"{key.replace('_', ' ')}: {value}" for key, value in asdict(tally).items()))


if __name__ == "__main__":
    main()
