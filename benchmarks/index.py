"""What indexing costs, by size: a full build by stage, adding papers to it, opening it, disk and memory.

    .venv/bin/python benchmarks/index.py [--papers 2000,10000,100000] [--add 100] [--dir DIR] [--json]

The papers are synthetic (one passage, six sentences, 15 facts, names that follow Zipf's law), vectors are
random and facts are given, so that no model runs: what is measured is everything else.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from words import word

from hippo_lit import Settings
from hippo_lit.assemble import make_recipe
from hippo_lit.index import Indexer
from hippo_lit.protocols import Spans, TextKind, Vectors
from hippo_lit.storage.publish import current
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Fact, Mention, Paper, Passage

DIM = 384
SENTENCES, FACTS, NAMES, WORDS = 6, 15, 3, 14  # names and words are of a sentence
_OPEN = """
import sys, time
from pathlib import Path
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.publish import open_current
began = time.perf_counter()
snapshot = open_current(Path(sys.argv[1]), Snapshot)
held = (snapshot.graph, snapshot.citations, snapshot.passage_vectors, snapshot.sentence_vectors)
seconds = time.perf_counter() - began
status = Path("/proc/self/status").read_text().splitlines()
print(seconds, next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS")))
"""


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Papers with what an extractor would find in them; paper i is the same whatever the size."""

    size: int

    def name(self, rng: random.Random) -> str:
        """Names have one to three words; the n-th is about 1/n as frequent as the first."""
        rank = int(5 * self.size ** rng.random() * rng.random() ** 0.3) if rng.random() < 0.7 else (
            rng.randrange(20 * self.size)
        )  # fmt: skip
        words = [word(rank * 7919 % (30 * self.size + 1)), word(rank % 997), word(rank % 4999)]
        return " ".join(w.capitalize() for w in words[: 1 + rank % 3])

    def paper(self, number: int) -> tuple[Paper, Extraction]:
        rng = random.Random(number)
        mentions: list[Mention] = []
        sentences: list[str] = []
        for at in range(SENTENCES):
            names = [self.name(rng) for _ in range(NAMES)]
            mentions += [Mention(name, at) for name in names]
            words = [word(int(20_000 ** rng.random())) for _ in range(WORDS)]
            for place, name in enumerate(names):
                words.insert(place * 5, name)
            sentences.append(" ".join(words).capitalize() + ".")
        facts = []
        for i in range(FACTS):
            a, b = rng.sample(mentions, 2)
            facts.append((Fact(a.surface, word(rng.randrange(300)), b.surface), i % SENTENCES))
        title = f"{self.name(rng)} {word(number)} {word(rng.randrange(5000))}"
        references = tuple(f"p{rng.randrange(self.size):07}" for _ in range(10))
        paper = Paper(f"p{number:07}", title, " ".join(sentences), 1990 + number % 35, references=references)
        return paper, Extraction(tuple(mentions), tuple(f for f, _ in facts), tuple(s for _, s in facts))


class RandomVectors:
    """A `PartEmbedder` of unit vectors that are random and fixed by the text."""

    name = space = "random"
    dim = DIM

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:  # noqa: ARG002 - the protocol's
        rows = np.empty((len(texts), DIM), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            start = (hash(text) % 1009) * 7
            row[:] = _NOISE[start : start + DIM]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_parts(
        self,
        texts: Sequence[str],
        spans: Sequence[Spans],
        *,
        progress: Callable[[int, int], None] | None = None,  # noqa: ARG002 - the protocol's
    ) -> tuple[Vectors, Vectors]:
        parts = [text[start:end] for text, group in zip(texts, spans, strict=True) for start, end in group]
        return self.embed(texts, "passage"), self.embed(parts, "fact")


class Known:
    """An extractor that finds what `Synthetic` says."""

    name = "known"

    def __init__(self, corpus: Synthetic) -> None:
        self._corpus = corpus

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        for passage in passages:
            yield self._corpus.paper(int(passage.paper_id[1:]))[1]


_NOISE = np.random.default_rng(7).normal(size=8000).astype(np.float32)


@dataclass(slots=True)
class Stages:
    """Seconds by stage, from an indexer's progress."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: str = "read"
    _at: float = field(default_factory=time.perf_counter)

    def __call__(self, stage: str, done: int, total: int) -> None:  # noqa: ARG002 - the protocol's
        self._close()
        self._last = stage

    def _close(self) -> None:
        now = time.perf_counter()
        self.seconds[self._last] = self.seconds.get(self._last, 0.0) + now - self._at
        self._at = now

    def finish(self) -> dict[str, float]:
        self._close()
        return self.seconds


def indexed(folder: Path, corpus: Synthetic) -> tuple[float, float, dict[str, float]]:
    """Seconds of one run: by the clock, of processor time, and by stage."""
    stages = Stages()
    began, worked = time.perf_counter(), time.process_time()
    with Store.open(folder) as store:
        Indexer(
            folder, store, RandomVectors(), Known(corpus), make_recipe(Settings()), progress=stages
        ).build()
    return time.perf_counter() - began, time.process_time() - worked, stages.finish()


def put(folder: Path, corpus: Synthetic, numbers: Sequence[int]) -> None:
    papers = (corpus.paper(number)[0] for number in numbers)
    with Store.open(folder, create=True) as store:
        while batch := list(islice(papers, 1000)):
            store.put_papers(batch)


def measure(folder: Path, size: int, more: int) -> dict[str, object]:
    corpus = Synthetic(size)
    late = range(size // (2 * more), size, max(size // more, 1))[:more]  # spread over the ids, as in life
    added = set(late)
    put(folder, corpus, [number for number in range(size) if number not in added])
    full, full_cpu, stages = indexed(folder, corpus)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    put(folder, corpus, late)
    add, add_cpu, add_stages = indexed(folder, corpus)
    again, *_ = indexed(folder, corpus)
    path = current(folder)
    assert path is not None
    opening = [
        subprocess.run([sys.executable, "-c", _OPEN, str(folder)], check=True, capture_output=True, text=True)
        for _ in range(3)
    ]
    opened, resident = min(tuple(map(float, run.stdout.split())) for run in opening)
    return {
        "papers": size,
        "full_s": full,
        "full_cpu_s": full_cpu,
        "papers_per_s": {stage: size / max(seconds, 1e-9) for stage, seconds in stages.items()},
        "full_stages_s": stages,
        f"add_{more}_s": add,
        f"add_{more}_cpu_s": add_cpu,
        "add_stages_s": add_stages,
        "nothing_new_s": again,
        "open_s": opened,
        "open_resident_mb": resident,
        "build_peak_mb": peak,
        "disk_mb": sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", default="2000,10000,100000")
    parser.add_argument("--add", type=int, default=100)
    parser.add_argument("--dir", type=Path, help="keep the indexes here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for size in map(int, options.papers.split(",")):
        with tempfile.TemporaryDirectory(dir=options.dir) as folder:
            figures = measure(Path(folder) / "index", size, options.add)
        if options.json:
            print(json.dumps(figures), flush=True)
            continue
        for name, value in figures.items():
            shown = value if isinstance(value, dict) else {"": value}
            for part, number in shown.items():
                print(f"{name} {part}".ljust(28), f"{number:12,.2f}", flush=True)
        print()


if __name__ == "__main__":
    main()
