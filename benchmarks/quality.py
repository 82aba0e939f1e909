"""How well each system finds what is relevant, on real sets, all on the same embeddings.

    .venv/bin/python benchmarks/quality.py [SET …] [--systems bm25,dense,hybrid,hipporag2,hippo]
        [--set section.key=value …] [--config NAME] [--store DIR] [--out DIR] [--facts openie|openie+names]
        [--tags] [--json]

One table a set, like the papers'. `hipporag2` is HippoRAG 2's own rules (configs/hipporag2.toml) over the
same facts. No key and no LLM: `--facts openie` takes GPT-3.5's triples (../shared/data) as the facts of
MuSiQue. Indexes and vectors are kept in --store, so that a second run takes seconds; with --out the runs,
too, for `hippo-lit compare` and to go on after an interruption. Milliseconds are medians, without embedding
the query.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from datasets import MEASURES, NAMES, SHARED, load

from hippo_lit import HippoLit, Settings, load_settings
from hippo_lit.evaluate.runner import Runner
from hippo_lit.evaluate.saved import RunFolder
from hippo_lit.evaluate.summary import Summary, summarise
from hippo_lit.evaluate.systems import System
from hippo_lit.openie import import_openie
from hippo_lit.resources import configs_dir
from hippo_lit.types import Mode

STORE = Path("~/.cache/hippo_lit_benchmarks").expanduser()
HIPPORAG2 = "hipporag2"
SYSTEMS = ("bm25", "dense", "hybrid", "lexical", HIPPORAG2, "hippo")


def systems(names: Sequence[str], settings: Settings, overrides: Sequence[str]) -> list[System]:
    rules = load_settings(configs_dir() / f"{HIPPORAG2}.toml", overrides)
    return [
        System(name, "hippo", rules) if name == HIPPORAG2 else System(name, cast(Mode, name), settings)
        for name in names
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", default=NAMES, help=", ".join(NAMES))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--config", help="a file of configs/, without its ending")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--facts", choices=["openie", "openie+names"], default="")
    parser.add_argument("--tags", action="store_true", help="one line per kind of query")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.facts:
        names = "spacy" if options.facts == "openie+names" else "none"
        options.overrides += ["extract.kind=imported", f"extract.names_from={names}"]
    file = configs_dir() / f"{options.config}.toml" if options.config else None
    wanted = systems(options.systems.split(","), load_settings(file, options.overrides), options.overrides)
    found = {}
    for name in options.sets:
        data = load(name)
        folder = RunFolder(options.out / f"{name}{options.facts}") if options.out else None
        prepare = _import_facts if options.facts else None
        runs = Runner(data, options.store, 100, folder, progress=_progress, prepare=prepare).run(wanted)
        summaries = [summarise(run, MEASURES[name]) for run in runs]
        found[name] = [summary.as_json() for summary in summaries]
        if not options.json:
            _print(f"{name}, {len(data.queries)} queries", summaries, tags=options.tags)
    if options.json:
        print(json.dumps(found, indent=2))


def _print(title: str, summaries: Sequence[Summary], *, tags: bool) -> None:
    names = list(summaries[0].measures)
    print(f"\n{title:<28}" + "".join(f"{name:>10}" for name in names) + f"{'ms':>10}")
    for summary in summaries:
        row = "".join(f"{100 * figure.mean:10.1f}" for figure in summary.measures.values())
        print(f"{summary.label:<28}{row}{1000 * summary.median_s:10.1f}", flush=True)
        for tag, figures in summary.tags.items() if tags else ():
            print(f"    {tag:<24}" + "".join(f"{100 * figure.mean:10.1f}" for figure in figures.values()))


def _import_facts(lit: HippoLit) -> None:
    import_openie(lit, SHARED / "musique_train100" / "openie_gpt35.jsonl")


def _progress(stage: str, done: int, total: int) -> None:
    if total and done in (0, total):
        print(f"{stage} {done}/{total}", file=sys.stderr)


if __name__ == "__main__":
    main()
