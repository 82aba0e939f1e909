"""How often a prior-art check finds the papers that decide, without any LLM.

    .venv/bin/python benchmarks/prior_art.py [--split tune|test] [--modes hippo,hybrid,dense,bm25]
        [--set section.key=value …] [--config NAME] [--json]

Over the mock corpus and its 52 labelled hypotheses, of which those that a paper decides (shown, contradicted,
partly) count. Three figures a mode: in how many cases one, and in how many every deciding paper is among the
first 5; and in how many a deciding sentence is among the two that are quoted of its paper. `by parts`
retrieves for the clauses of the hypothesis too, as the check does; `alone` for the hypothesis only.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from hippo_lit import HippoLit, build_corpus, load_settings
from hippo_lit.answer.values import PriorArt
from hippo_lit.resources import configs_dir
from hippo_lit.sources.mock import hypotheses
from hippo_lit.types import Mode

FIRST = 5


def found(art: PriorArt, gold: Sequence[str]) -> set[str]:
    return {paper.paper_id for paper in art.papers[:FIRST]} & set(gold)


def quoted(art: PriorArt, evidence: Sequence[dict[str, str]]) -> bool:
    deciding = {(piece["paper"], piece["sentence"]) for piece in evidence}
    return any((p.paper_id, e.quote) in deciding for p in art.papers[:FIRST] for e in p.evidence)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", choices=["tune", "test"])
    parser.add_argument("--modes", default="hippo,hybrid,dense,bm25")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    parser.add_argument("--config", help="a file of configs/, without its ending")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    file = configs_dir() / f"{options.config}.toml" if options.config else None
    cases = [case for case in hypotheses() if case["gold"] and options.split in (None, case["split"])]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(file, options.overrides)
        with HippoLit.open(Path(folder) / "mock.idx", settings) as lit:
            lit.add(build_corpus())
        for parts, claims in (("alone", 0), ("by parts", settings.prior_art.claims)):
            chosen = load_settings(file, [*options.overrides, f"prior_art.claims={claims}"])
            with HippoLit.open(Path(folder) / "mock.idx", chosen, read_only=True) as lit:
                for mode in cast(list[Mode], options.modes.split(",")):
                    row: dict[str, Any] = {"mode": mode, "query": parts}
                    rows += [row | score(lit, mode, cases)]
    if options.json:
        print(json.dumps({"cases": len(cases), "rows": rows}, indent=2))
        return
    print(f"{len(cases)} hypotheses; share with … among the first {FIRST}")
    print(f"{'mode':8} {'query':9} {'one':>6} {'every':>6} {'quote':>6}")
    for row in rows:
        print(f"{row['mode']:8} {row['query']:9} {row['one']:6.3f} {row['every']:6.3f} {row['quote']:6.3f}")


def score(lit: HippoLit, mode: Mode, cases: Sequence[dict[str, Any]]) -> dict[str, float]:
    one = every = quote = 0
    for case in cases:
        art = lit.check_prior_art(case["text"], mode=mode)
        hits = found(art, case["gold"])
        one += bool(hits)
        every += hits == set(case["gold"])
        quote += quoted(art, case["evidence"])
    return {"one": one / len(cases), "every": every / len(cases), "quote": quote / len(cases)}


if __name__ == "__main__":
    main()
