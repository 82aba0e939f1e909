"""Bad papers, bad questions and bad disks, through HippoLit: each has a right outcome."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hippo_lit import HippoLit, Settings
from hippo_lit.errors import EmbedderMismatchError, EmbeddingError, IndexCorruptError, StoreError
from hippo_lit.protocols import TextKind, Vectors
from hippo_lit.sources.files import FileSource
from hippo_lit.storage import columns as columns_module
from hippo_lit.testing import HashEmbedder
from hippo_lit.types import MODES, Paper

QUICK = Settings.model_validate({"embedding": {"kind": "hash"}, "extract": {"kind": "simple"}})
PAPERS = [
    {"id": "p1", "title": "Sparse Attention", "abstract": "Sparse Attention lowers cost.", "year": 2019},
    {"id": "p2", "title": "北京大学的研究", "abstract": "北京大学发布了新的模型。北京大学在中国。"},
    {"id": "p3", "title": "جامعة القاهرة", "abstract": "تقع جامعة القاهرة في مصر. جامعة القاهرة قديمة."},
    {"id": "p4", "title": "C++ and C#", "abstract": "β-Catenin binds. C++ is fast; C# is managed."},
]


@pytest.fixture
def lit(tmp_path: Path) -> Iterator[HippoLit]:
    with HippoLit.open(tmp_path / "x.idx", QUICK) as opened:
        yield opened


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HippoLit]:
    """PAPERS, for questions only."""
    with HippoLit.open(tmp_path_factory.mktemp("four"), QUICK) as opened:
        opened.add(PAPERS)
        yield opened


def first(lit: HippoLit, query: str, mode: Any = "hippo") -> str:
    return lit.retrieve(query, 1, mode).papers[0].paper.id


# -- questions


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_question(four: HippoLit, mode: Any) -> None:
    result = four.retrieve(" \n", mode=mode)
    assert (result.papers, result.reason, result.degraded) == ((), "the query is empty", False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("unit", ["sparse attention ", "x", "北京大学", "🎉"])
def test_a_question_of_100_000_characters(four: HippoLit, mode: Any, unit: str) -> None:
    result = four.retrieve((unit * 100_000)[:100_000], 3, mode)
    assert not result.degraded
    if unit == "sparse attention ":
        assert result.papers[0].paper.id == "p1"


@pytest.mark.parametrize("mode", ["hippo", "hybrid", "bm25", "dense"])
@pytest.mark.parametrize(
    ("query", "paper"),
    [("北京大学在哪里？", "p2"), ("أين تقع جامعة القاهرة؟", "p3"), ("β-catenin", "p4"), ("C#", "p4")],
)
def test_every_script_finds_its_paper(four: HippoLit, query: str, paper: str, mode: Any) -> None:
    assert first(four, query, mode) == paper


def test_only_emoji(four: HippoLit) -> None:
    for mode in ("bm25", "lexical"):
        assert four.retrieve("🎉🎊", mode=mode).papers == ()  # type: ignore[arg-type]
    result = four.retrieve("🎉🎊")
    assert not result.degraded
    assert result.route in ("hippo", "hybrid")


@pytest.mark.parametrize(
    "query", ["\ud800", "a\x00b", "\ufeffsparse", "\u202esparse\u202c", "' OR 1=1 --", "%s {0}"]
)
def test_odd_characters(four: HippoLit, query: str) -> None:
    for mode in MODES:
        assert four.retrieve(query, mode=mode).query == query


# -- papers


def test_an_empty_corpus(lit: HippoLit) -> None:
    lit.add([])
    assert len(lit) == 0
    for mode in MODES:
        result = lit.retrieve("x", mode=mode)
        assert (result.papers, result.reason) == ((), "the index holds no papers")


def test_papers_that_lack_fields(lit: HippoLit) -> None:
    lit.add([
        {"id": "bare", "title": "Only a title"},
        {"id": "untitled", "abstract": "Only an abstract about penguins."},
        {"id": "undated", "title": "No date", "abstract": "x", "year": "n.d.", "authors": None},
        {"id": "dated", "title": "A date", "abstract": "x", "year": "2019-05-01"},
    ])  # fmt: skip
    for mode in MODES:
        assert first(lit, "penguins", mode) == "untitled"
    found = {r.paper.id: r.paper for r in lit.retrieve("title date x penguins", 10, "dense").papers}
    assert (found["undated"].year, found["dated"].year, found["undated"].authors) == (None, 2019, ())
    assert first(lit, "only a title", "bm25") == "bare"
    only = lit.retrieve("date", 10, "dense", years=(2000, 2030)).papers
    assert [ranked.paper.id for ranked in only] == ["dated"]


def test_papers_of_one_title_or_one_text_stay_apart(lit: HippoLit) -> None:
    lit.add([
        Paper("a", "Same", "About penguins."), Paper("b", "Same", "About volcanoes."),
        Paper("twin", "Same", "About penguins."), Paper("s", "Supplement", "Tables.", doi="10.1/x"),
        Paper("m", "Main", "Text.", doi="10.1/x"),
    ])  # fmt: skip
    assert len(lit) == 5
    for mode in MODES:
        ids = [ranked.paper.id for ranked in lit.retrieve("penguins", 10, mode).papers]
        assert ids[:2] == ["a", "twin"]
        assert len(set(ids)) == len(ids)


def test_citations_to_nobody_to_oneself_and_in_a_circle(lit: HippoLit) -> None:
    lit.add([
        Paper("a", "A", "About penguins.", references=("b", "a", "nobody"), citations=("c", "ghost")),
        Paper("b", "B", "x", references=("c",)),
        Paper("c", "C", "x", references=("a",)),
    ])  # fmt: skip
    snapshot = lit.snapshot()
    assert snapshot is not None
    assert snapshot.citations.edge_count == 3
    result = lit.retrieve("penguins", 10, "lexical")
    assert [(r.paper.id, r.graph_distance) for r in result.papers] == [("a", 0), ("b", 1), ("c", 1)]
    assert first(lit, "penguins") == "a"


@pytest.mark.parametrize("body", ["word", "x" * 200_000, "Penguins swim. " * 13_334, "企鹅会游泳。" * 33_334])
def test_abstracts_of_one_word_and_of_200_000_characters(lit: HippoLit, body: str) -> None:
    lit.add([*PAPERS, {"id": "odd", "title": "Odd", "abstract": body[:200_000]}])
    assert len(lit) == 5
    for mode in MODES:
        result = lit.retrieve("word penguins 企鹅会游泳", 10, mode)
        assert len({ranked.paper.id for ranked in result.papers}) == len(result.papers)
    if body[0] != "x":
        assert first(lit, {"w": "word", "P": "penguins", "企": "企鹅会游泳"}[body[0]], "bm25") == "odd"


def test_surrogates_nul_bytes_and_marks_in_papers(lit: HippoLit) -> None:
    lit.add([
        {"id": "\ufeffp\x00 1", "title": "\ud800Penguins\x00", "abstract": "\u202eThey\ud83d swim.\ufffe",
         "authors": ["A\x00 B"]},
        Paper("p2", "Vol\x00canoes", "\ud800", source="s\ud800"),
    ])  # fmt: skip
    result = lit.retrieve("penguins swim", 5)
    paper = result.papers[0].paper
    assert (paper.id, paper.title, paper.abstract, paper.authors) == (
        "p 1", "Penguins", "They swim.", ("A B",))  # fmt: skip
    json.dumps([paper.title, paper.abstract]).encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_files_in_utf_16_and_with_marks(lit: HippoLit, tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "papers.jsonl"
    file.write_bytes("".join(json.dumps(p, ensure_ascii=False) + "\n" for p in PAPERS).encode(encoding))
    lit.add(FileSource(file).papers())
    assert len(lit) == 4
    assert first(lit, "北京大学") == "p2"


@pytest.mark.parametrize("spelling", ["Café Noir", "Cafe\u0301 Noir", "CAFÉ  NOIR ", "ＣＡＦÉ noir"])
def test_a_name_is_one_in_every_form(lit: HippoLit, spelling: str) -> None:
    lit.add([
        Paper("a", "Reports", "The model Café Noir was trained by Lab Nine on text."),
        Paper("b", "Others", "Nothing is said of it here."),
    ])  # fmt: skip
    result = lit.retrieve(f"who trained {spelling}?")
    assert ("Café Noir", "the question names it") in [(s.entity, s.because) for s in result.trace.seeds]


def test_quotes_inside_names(lit: HippoLit) -> None:
    lit.add(
        [Paper("a", 'The "bài toán lớn" method', "We call it \"bài toán lớn\". O'Brien's «méthode» wins.")]
    )
    assert first(lit, 'what is "bài toán lớn"?') == "a"


# -- state


class Changed(HashEmbedder):
    """One vector too few, or of another dimension."""

    def __init__(self, *, missing: int = 0, wider: int = 0) -> None:
        super().__init__()
        self.missing, self.wider = missing, wider

    def embed(self, texts: Any, kind: TextKind) -> Vectors:
        inner = HashEmbedder(64 + self.wider)
        return inner.embed(texts[: len(texts) - self.missing], kind)


def test_fewer_vectors_than_texts(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, QUICK, embedder=Changed(missing=1)) as lit:
        with pytest.raises(EmbeddingError, match=r"3 vectors for 4 texts|vectors for \d+ texts"):
            lit.add(PAPERS)
        assert (len(lit), len(lit.store)) == (0, 4)
    with HippoLit.open(tmp_path, QUICK) as lit:
        lit.build()
        assert len(lit) == 4


def test_an_embedder_that_changes_its_dimension_under_one_name(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, QUICK) as lit:
        lit.add(PAPERS)
    with HippoLit.open(tmp_path, QUICK, embedder=Changed(wider=8)) as lit:
        with pytest.raises(EmbedderMismatchError, match=r"64 dimensions, and .* hash-64 now gives 72"):
            lit.retrieve("sparse attention")
        assert first(lit, "sparse attention", "bm25") == "p1"


def test_an_interrupted_index_then_a_question(tmp_path: Path) -> None:
    class Dies(HashEmbedder):
        def embed(self, texts: Any, kind: TextKind) -> Vectors:
            if kind == "passage" and any("Late" in text for text in texts):
                raise KeyboardInterrupt
            return super().embed(texts, kind)

    with HippoLit.open(tmp_path, QUICK, embedder=Dies()) as lit:
        lit.add(PAPERS)
        with pytest.raises(KeyboardInterrupt):
            lit.add([Paper("late", "Late", "Late.")])
        assert (len(lit), first(lit, "sparse attention")) == (4, "p1")
    with HippoLit.open(tmp_path, QUICK) as lit:
        assert (len(lit), len(lit.store)) == (4, 5)
        lit.build()
        assert (len(lit), first(lit, "late", "bm25")) == (5, "late")


def test_a_question_in_a_fresh_process(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, QUICK) as lit:
        lit.add(PAPERS)
        here = [(r.paper.id, r.score) for r in lit.retrieve("where is 北京大学?", 4).papers]
    script = (
        "import json, sys; from hippo_lit import HippoLit, Settings\n"
        "quick = Settings.model_validate({'embedding': {'kind': 'hash'}, 'extract': {'kind': 'simple'}})\n"
        "with HippoLit.open(sys.argv[1], quick, create=False) as lit:\n"
        "    found = lit.retrieve('where is 北京大学?', 4).papers\n"
        "    print(json.dumps([(r.paper.id, r.score) for r in found]))\n"
    )
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        )  # fmt: skip
        assert [tuple(row) for row in json.loads(done.stdout)] == here


def test_a_half_written_index_is_named_and_mended_by_indexing(tmp_path: Path) -> None:
    with HippoLit.open(tmp_path, QUICK) as lit:
        lit.add(PAPERS)
        snapshot = lit.snapshot()
        assert snapshot is not None
    for file in (snapshot.folder / "columns").glob("passage_vectors*"):
        file.write_bytes(file.read_bytes()[:100])
    with HippoLit.open(tmp_path, QUICK) as lit:
        with pytest.raises(IndexCorruptError, match="Run `hippo-lit index --rebuild`"):
            lit.retrieve("x")
        lit.add(PAPERS)
        assert first(lit, "sparse attention") == "p1"


# -- disks


def test_an_index_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "x.idx"
    with HippoLit.open(folder, QUICK) as lit:
        lit.add(PAPERS)
    script = (
        "import os, sys; from hippo_lit import HippoLit, Settings\n"
        "from hippo_lit.errors import StoreError\n"
        "quick = Settings.model_validate({'embedding': {'kind': 'hash'}, 'extract': {'kind': 'simple'}})\n"
        "with HippoLit.open(sys.argv[2], quick) as lit:  # loads all modules\n"
        "    lit.add([{'id': 'n', 'title': 'New'}]), lit.retrieve('new')\n"
        "if os.getuid() == 0: os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
        "with HippoLit.open(sys.argv[1], quick, read_only=True) as lit:\n"
        "    print(lit.retrieve('sparse attention', 1).papers[0].paper.id)\n"
        "try:\n"
        "    with HippoLit.open(sys.argv[1], quick) as lit:\n"
        "        print(lit.add([{'id': 'n', 'title': 'New'}]))\n"
        "except StoreError as e:\n"
        "    print(e)\n"
    )
    public = Path("/tmp") / f"hippo-lit-read-only-{os.getpid()}"
    shutil.copytree(folder, public)
    try:
        public.chmod(0o555)
        for file in public.rglob("*"):
            file.chmod(0o555 if file.is_dir() else 0o444)
        done = subprocess.run(
            [sys.executable, "-c", script, public, tmp_path / "other"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        found, refused = done.stdout.splitlines()
        assert found == "p1"
        assert "Check that this account may write there" in refused
    finally:
        public.chmod(0o755)
        for entry in public.rglob("*"):
            entry.chmod(0o755)
        shutil.rmtree(public)


def test_no_space_left_while_publishing(lit: HippoLit, monkeypatch: pytest.MonkeyPatch) -> None:
    lit.add(PAPERS)
    before = sorted(entry.name for entry in (lit.path / "snapshots").iterdir())
    real = columns_module.CheckedFile.write

    def full(self: Any, data: bytes) -> int:
        if "edge_" in self._path.name:
            with columns_module.reporting("write", self._path):
                raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(columns_module.CheckedFile, "write", full)
        with pytest.raises(StoreError, match="Free some space"):
            lit.add([Paper("new", "New", "New words.")])
    assert sorted(entry.name for entry in (lit.path / "snapshots").iterdir()) == before
    assert (len(lit), first(lit, "sparse attention")) == (4, "p1")
    lit.build()
    assert (len(lit), first(lit, "new words", "bm25")) == (5, "new")
