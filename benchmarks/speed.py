"""How long things take here: indexing the mock corpus, a search beyond embedding the query, --help.

    .venv/bin/python benchmarks/speed.py [--passages 2000] [--json]
    .venv/bin/python benchmarks/speed.py --indexing 500      # what each choice adds to embedding the passages

Searches run over papers made of the mock corpus's own sentences, shuffled (seed 0), without weights, so
that only our own work is timed: `hash` vectors, facts by rules. Figures are medians; these machines are
shared, so quote them with the load.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from datasets import load

from hippo_lit import HippoLit, Paper, build_corpus, load_settings
from hippo_lit.sentences import split_sentences


def seconds(action: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        action()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def shuffled(count: int) -> list[Paper]:
    """`count` papers of real sentences, six each, every title its own."""
    random.seed(0)
    corpus = build_corpus()
    sentences = [sentence for paper in corpus for sentence in split_sentences(paper.abstract)]
    return [
        Paper(f"s{i:06}", f"{random.choice(corpus).title} {i}", " ".join(random.sample(sentences, 6)), 2020)
        for i in range(count)
    ]


def mock_index() -> float:
    """Everything a new user waits for: starting Python, loading both models, indexing 100 papers."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hippo_lit.cli", "index", "mock", "--index", f"{folder}/mock.idx"]
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True), 1)


def search(passages: int) -> dict[str, float]:
    settings = load_settings(None, ["embedding.kind=hash", "embedding.dimensions=384"])
    with tempfile.TemporaryDirectory() as folder, HippoLit.open(folder, settings) as lit:
        lit.add(shuffled(passages))
        questions = [f"{paper.title}: which method?" for paper in build_corpus()]
        lit.retrieve(questions[0])
        beyond = []
        for question in questions:
            result = lit.retrieve(question, k=10, explain=False)
            beyond.append(result.metrics.wall_time_s - result.trace.seconds["embed"])
        stages = lit.retrieve(questions[1], k=10).trace.seconds
        return {"search_ms": 1000 * statistics.median(beyond)} | {
            f"{stage}_ms": 1000 * value for stage, value in stages.items()
        }


CHOICES = {
    "dense alone": ["extract.kind=none"],
    "facts by simple rules": ["extract.kind=simple"],
    "default: facts by spaCy, sentence vectors averaged": [],
    "a vector for each fact": ["graph.fact_vectors=fact"],
    "synonyms by embedding the names": ["graph.synonyms=embedding"],
}


def indexing(passages: int) -> dict[str, float]:
    """Processor seconds of an index of so many passages of MuSiQue, by choice."""
    papers, found = load("musique").papers[: passages + 20], {}
    for name, overrides in CHOICES.items():
        settings = load_settings(None, overrides)
        with tempfile.TemporaryDirectory() as folder, HippoLit.open(folder, settings) as lit:
            lit.add(papers[passages:])  # loads the models
            began = time.process_time()
            lit.add(papers[:passages])
            found[name] = time.process_time() - began
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--indexing", type=int, metavar="PASSAGES", help="only compare ways to index so many")
    options = parser.parse_args()
    if options.indexing:
        found = indexing(options.indexing)
        if options.json:
            print(json.dumps(found, indent=2))
        else:
            for name, value in found.items():
                print(f"{name:<52}{value:8.1f} s{value / found['dense alone']:7.2f} x")
        return
    help_command = [sys.executable, "-m", "hippo_lit.cli", "--help"]
    figures = {
        "help_s": seconds(lambda: subprocess.run(help_command, check=True, capture_output=True), 5),
        "index_mock_s": mock_index(),
        **search(options.passages),
    }
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name:<16}{value:10.3f}")


if __name__ == "__main__":
    main()
