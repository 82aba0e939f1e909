"""What a query costs, by size, beside HippoRAG 2's own steps on the same data in the same process.

    .venv/bin/python benchmarks/latency.py [--sizes 2000,10000,100000] [--queries 20] [--dir DIR] [--json]

Indexes are synthetic (`synthetic.py`); no model runs: queries come with their vectors, facts are filtered by
the rule that needs no LLM. Every size is measured in a fresh process: the time to open it and to answer
the first query, then p50 and p95 by stage, and memory.

The other side does, per query, what HippoRAG 2 does without its model's time: the product of all facts with
the query, the loop over all passages in Python that fills the reset, `personalized_pagerank` of all nodes
(one thread: more are slower on busy cores), and the sort of what comes out. `speedup` is its p50 over ours,
`speedup_cpu` the same of processor time; `same_top_10` the share of queries whose ten best papers are, in
order, those that `ppr.engine = "igraph"` gives.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import igraph
import numpy as np
from scipy import sparse
from synthetic import Asked, Question, questions, write_index

from hippo_lit import Settings
from hippo_lit.filter.linked import LinkedFilter
from hippo_lit.retrieve.hippo import edge_weights
from hippo_lit.retrieve.retriever import Retriever
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.publish import open_current
from hippo_lit.types import RetrievalResult

_MOST_FACT_VECTORS = 2_000_000  # above, the product is over the sentences that state them


class HippoRag:
    """HippoRAG 2's query path over a snapshot: what its `retrieve` does between two calls of models."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        from threadpoolctl import ThreadpoolController

        self._graph = snapshot.graph
        self._n = snapshot.graph.n_passages
        upper = sparse.triu(snapshot.graph.adjacency(edge_weights(settings)), format="coo")
        self._walked = igraph.Graph(n=upper.shape[0], edges=np.column_stack([upper.row, upper.col]))
        self._walked.es["weight"] = upper.data.tolist()
        self._vertices = range(self._n + snapshot.graph.n_entities)
        self._threads = ThreadpoolController()
        self._keys = [f"chunk-{number}" for number in range(self._n)]
        self._vertex = {key: number for number, key in enumerate(self._keys)}
        self._texts = {key: key for key in self._keys}
        self._passages = np.array(snapshot.passage_vectors, dtype=np.float32)
        sentences = snapshot.sentence_vectors
        self._facts = (
            np.array(sentences[np.maximum(snapshot.graph.fact_sentence[snapshot.graph.fact_start[:-1]], 0)])
            if snapshot.graph.n_facts <= _MOST_FACT_VECTORS
            else sentences
        )
        self._damping = settings.ppr.damping

    def ask(self, question: Question, seeds: dict[int, float]) -> dict[str, float]:
        """Seconds by step; `seeds` are the entities that the filter leaves."""
        seconds: dict[str, float] = {}
        began = time.perf_counter()
        facts = self._facts @ question.vector
        facts = (facts - facts.min()) / (facts.max() - facts.min())
        _ = np.argsort(facts)[-5:][::-1]
        seconds["facts"] = time.perf_counter() - began
        began = time.perf_counter()
        scores = self._passages @ question.vector
        scores = (scores - scores.min()) / (scores.max() - scores.min())
        order = np.argsort(scores)[::-1]
        weights = np.zeros(len(self._vertices))
        named: dict[str, float] = {}
        for number, score in zip(order.tolist(), scores[order].tolist(), strict=True):
            key = self._keys[number]
            weights[self._vertex[key]] = score * 0.05
            named[self._texts[key]] = score * 0.05
        for entity, weight in seeds.items():
            weights[self._n + entity] = weight
        seconds["seeds"] = time.perf_counter() - began
        began = time.perf_counter()
        with self._threads.limit(limits=1, user_api="openmp"):
            ranks = self._walked.personalized_pagerank(
                vertices=self._vertices,
                damping=self._damping,
                directed=False,
                weights="weight",
                reset=weights.tolist(),
                implementation="prpack",
            )
        seconds["pagerank"] = time.perf_counter() - began
        began = time.perf_counter()
        _ = np.argsort(np.array([ranks[number] for number in range(self._n)]))[::-1]
        seconds["rank"] = time.perf_counter() - began
        return seconds


def spread_of(values: Sequence[float]) -> dict[str, float]:
    """p50 and p95 in milliseconds."""
    return {"p50_ms": 1000 * statistics.median(values), "p95_ms": 1000 * float(np.quantile(values, 0.95))}


def stages_of(runs: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    by_stage: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for stage, seconds in run.items():
            by_stage[stage].append(seconds)
        by_stage["total"].append(sum(run.values()))
    return {stage: spread_of(values) for stage, values in by_stage.items()}


def memory() -> dict[str, float]:
    """MiB of this process: resident in all, and how much of it is its own, not mapped from files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    held = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Rss")}
    return {"rss_mb": sum(held.values()), "rss_own_mb": held["RssAnon"]}


def ids(result: RetrievalResult) -> list[str]:
    return [ranked.paper.id for ranked in result.papers]


def retriever_of(snapshot: Snapshot, settings: Settings, asked: Sequence[Question]) -> Retriever:
    chosen = settings.filter
    return Retriever(snapshot, Asked(asked), LinkedFilter(chosen.min_similarity, chosen.per_entity), settings)


def measure(folder: Path, size: int, queries: int, *, reference: bool) -> dict[str, Any]:
    """The figures of one index, in a process that has opened nothing else."""
    asked = questions(size, queries + 1)
    first, rest = asked[0], asked[1:]
    settings = Settings()
    began = time.perf_counter()
    snapshot = open_current(folder, Snapshot)
    assert snapshot is not None
    retriever = retriever_of(snapshot, settings, asked)
    opened = time.perf_counter() - began
    began = time.perf_counter()
    retriever.retrieve(first.text)
    first_s = time.perf_counter() - began
    for question in rest:
        retriever.retrieve(question.text)
    held = memory()
    hipporag = HippoRag(snapshot, settings) if reference else None
    numbers = {name: i for i, name in enumerate(snapshot.graph.names)} if reference else {}
    results, runs, ours, theirs = [], [], [], []
    for question in rest:  # in turn, so that whatever else the machine does is shared
        began = time.process_time()
        results.append(retriever.retrieve(question.text))
        ours.append(time.process_time() - began)
        if hipporag is not None:
            seeds = {numbers[seed.entity]: seed.weight for seed in results[-1].trace.seeds}
            began = time.process_time()
            runs.append(hipporag.ask(question, seeds))
            theirs.append(time.process_time() - began)
    figures: dict[str, Any] = {
        "n_passages": size,
        "n_entities": snapshot.graph.n_entities,
        "n_facts": snapshot.graph.n_facts,
        "open_ms": 1000 * opened,
        "first_query_ms": 1000 * first_s,
        "stages": stages_of([result.trace.seconds for result in results]),
        **held,
        "index_mb": sum(f.stat().st_size for f in snapshot.folder.rglob("*") if f.is_file()) / 2**20,
    }
    figures["p50_ms"] = statistics.median(1000 * result.metrics.wall_time_s for result in results)
    figures["cpu_p50_ms"] = 1000 * statistics.median(ours)
    if hipporag is not None:
        figures["hipporag"] = stages_of(runs)
        figures["speedup"] = figures["hipporag"]["total"]["p50_ms"] / figures["p50_ms"]
        figures["speedup_cpu"] = statistics.median(theirs) / statistics.median(ours)
        by_igraph = Settings.model_validate({"ppr": {"engine": "igraph"}})
        other = retriever_of(snapshot, by_igraph, asked)
        same = [ids(other.retrieve(q.text)) == ids(found) for q, found in zip(rest, results, strict=True)]
        figures["same_top_10"] = sum(same) / len(same)
    return figures


def shown(figures: dict[str, Any]) -> str:
    lines = []
    for name, value in figures.items():
        if isinstance(value, dict):
            lines += [
                f"{name}.{key}".ljust(24) + f"{v['p50_ms']:12.2f} {v['p95_ms']:12.2f}"
                for key, v in value.items()
            ]
        else:
            lines.append(f"{name:<24}{value!s}" if isinstance(value, str) else f"{name:<24}{value:12,.2f}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="2000,10000,100000")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--dir", type=Path, help="keep the indexes here, and use those that are there")
    parser.add_argument("--no-reference", action="store_true", help="without HippoRAG 2's steps")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.measure:
        figures = measure(options.measure, sizes[0], options.queries, reference=not options.no_reference)
        print(json.dumps(figures))
        return
    for size in sizes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.dir or Path(temporary)) / f"synthetic-{size}"
            if not folder.exists():
                write_index(folder, size)
            command = [sys.executable, __file__, "--measure", str(folder), "--sizes", str(size)]
            command += ["--queries", str(options.queries)] + ["--no-reference"] * options.no_reference
            figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(json.dumps(figures) if options.json else shown(figures), flush=True)


if __name__ == "__main__":
    main()
