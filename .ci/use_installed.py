"""What a program does with an installed hippo_lit: shipped prompts and configurations, index, ask, reopen."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

import hippo_lit
from hippo_lit import HippoLit, build_corpus, load_settings
from hippo_lit.llm.prompts import load_instruction, load_prompt
from hippo_lit.resources import configs_dir, prompts_dir

site = Path(sysconfig.get_path("purelib")).resolve()
for place in (Path(hippo_lit.__file__), prompts_dir(), configs_dir()):
    assert place.resolve().is_relative_to(site), f"{place} is not in {site}"
assert (site / "hippo_lit" / "py.typed").is_file()

for entry in sorted(prompts_dir().iterdir()):
    loaded = load_prompt(entry) if entry.is_dir() else load_instruction(entry)
    print("prompt", entry.name, "·", "loaded" if loaded else "empty")
for file in sorted(configs_dir().glob("*.toml")):
    print("config", file.name, "·", load_settings(file, environ={}).llm.kind)

corpus = build_corpus()
target = next(paper for paper in corpus if paper.id == "p039")
with TemporaryDirectory() as folder:
    with HippoLit.open(folder, load_settings(configs_dir() / "offline.toml", environ={})) as lit:
        lit.add(corpus[:60])
        first = lit.retrieve(target.title, k=5)
    with HippoLit.open(folder) as lit:
        assert len(lit) == 60
        again = lit.retrieve(target.title, k=5)
assert first.papers[0].paper.id == "p039", first
assert [p.paper.id for p in first.papers] == [p.paper.id for p in again.papers]
print("first of 60 papers:", first.papers[0].paper.title, "·", first.route)
