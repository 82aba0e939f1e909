"""How well each route finds what is relevant, on real sets, all on the same embeddings.

    .venv/bin/python benchmarks/quality.py [--sets musique,hotpotqa,…] [--systems bm25,dense,hybrid,hippo]
        [--set section.key=value …] [--config NAME] [--store DIR] [--facts openie|openie+names]
        [--tags] [--json]

Indexes and vectors are kept in --store, so that a second run takes seconds. `hippo` without a key or an
LLM; `--set` tries other settings. `--facts openie` takes GPT-3.5's triples (../shared/data) as the facts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from datasets import NAMES, Dataset, load
from measures import means, per_query

from hippo_lit import HippoLit, Settings, load_settings
from hippo_lit.resources import configs_dir

STORE = Path("~/.cache/hippo_lit_benchmarks").expanduser()
SYSTEMS = ("bm25", "dense", "hybrid", "lexical", "hippo")


def run(data: Dataset, lit: HippoLit, mode: str, depth: int) -> tuple[dict[str, list[str]], float]:
    """Rankings by query, and seconds a query without embedding it."""
    lit.retrieve_many([query.text for query in data.queries[:1]], k=1, mode=mode)
    rankings = {}
    began = time.perf_counter()
    for query in data.queries:
        result = lit.retrieve(
            query.text, k=depth, mode=mode, years=query.years, exclude=query.leave_out, explain=False
        )
        rankings[query.id] = [ranked.paper.id for ranked in result.papers]
    return rankings, (time.perf_counter() - began) / len(data.queries)


def open_index(data: Dataset, settings: Settings, store: Path, facts: str) -> HippoLit:
    lit = HippoLit.open(store / f"{data.index}{'-' + facts if facts else ''}.idx", settings)
    if facts:
        from openie import use_openie

        use_openie(names=facts == "openie+names")
    lit.put(data.papers)
    lit.build(progress=lambda stage, done, total: _progress(data.name, stage, done, total))
    return lit


def _progress(name: str, stage: str, done: int, total: int) -> None:
    if total and done in (0, total):
        print(f"{name}: {stage} {done}/{total}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(NAMES))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--config", help="a file of configs/, without its ending")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--facts", choices=["openie", "openie+names"], default="")
    parser.add_argument("--tags", action="store_true", help="one line per kind of query")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.store.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.sets.split(","):
        data = load(name)
        cache = f"cache.path={json.dumps(str(options.store / 'vectors.db'))}"
        file = configs_dir() / f"{options.config}.toml" if options.config else None
        settings = load_settings(file, [cache, *options.overrides])
        with open_index(data, settings, options.store, options.facts) as lit:
            for system in options.systems.split(","):
                rankings, seconds = run(data, lit, system, 100)
                gold = {query.id: query.gold for query in data.queries}
                values = per_query(gold, rankings, data.measures)
                row = {"set": name, "queries": len(gold), "system": system, **means(values)}
                row["ms"] = 1000 * seconds
                rows.append(row)
                if not options.json:
                    print(_line(row), flush=True)
                if options.tags:
                    for tag in sorted({query.tag for query in data.queries}):
                        chosen = {query.id for query in data.queries if query.tag == tag}
                        part = {m: {q: v for q, v in by.items() if q in chosen} for m, by in values.items()}
                        print(
                            "   ",
                            _line({"set": tag, "queries": len(chosen), "system": system, **means(part)}),
                        )
    if options.json:
        print(json.dumps(rows, indent=2))


def _line(row: dict[str, object]) -> str:
    head = f"{row['set']:<14}{row['queries']:>5}  {row['system']:<8}"
    return head + "".join(f"  {name} {value:5.1f}" for name, value in row.items() if isinstance(value, float))


if __name__ == "__main__":
    main()
