"""`verify` finds every changed byte that matters; a rebuild mends what is derived, and pays for nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import Cli

from hippo_lit.api import HippoLit
from hippo_lit.config import Settings
from hippo_lit.errors import HippoLitError, IndexNotFoundError
from hippo_lit.similarity import Codes, codes
from hippo_lit.storage.batches import LEDGER, BatchLedger
from hippo_lit.storage.cache import Cache
from hippo_lit.storage.store import Store
from hippo_lit.testing import FakeChatModel
from hippo_lit.types import MODES, Counts, Paper
from hippo_lit.verify import Finding, verify_index

PAPERS = tuple(
    Paper(f"p{n}", f"Alpha {n}", f"Alpha {n} extends Beta. It was built in Kraków {n}.", 2000 + n,
          references=(f"p{(n + 1) % 6}",))
    for n in range(6)
)  # fmt: skip
SETTINGS = Settings.model_validate(
    {
        "embedding": {"kind": "hash"},
        "llm": {"kind": "openai"},
        "extract": {"kind": "llm", "names_from": "none"},
    }
)
REPLY = json.dumps({"entities": ["Alpha", "Kraków"], "triples": [["Alpha", "extends", "Beta"]]})


def chat() -> FakeChatModel:
    return FakeChatModel(lambda _: REPLY)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "x.idx"
    with HippoLit.open(folder, SETTINGS, chat=chat()) as lit:
        lit.add(PAPERS)
    return folder


@pytest.fixture
def index(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "x.idx"))


def content(folder: Path) -> dict[str, Any]:
    """All that an index says, in comparable form."""
    found: dict[str, Any] = {}
    with HippoLit.open(folder, chat=chat(), read_only=True) as lit:
        snapshot = lit.snapshot()
        assert snapshot is not None
        found["settings"] = lit.settings
        found["papers"] = list(lit.store.papers())
        found["facts"] = [snapshot.facts_of(n) for n in range(len(snapshot))]
        found["failures"] = lit.store.failures(snapshot.about["extractor"])
        for mode in MODES:
            result = lit.retrieve("Was Alpha 3 built in Kraków?", 6, mode)
            found[mode] = [(r.paper, r.score, r.scores, r.path) for r in result.papers]
    with closing(sqlite3.connect(folder / "store.db")) as db:
        rows = "SELECT extractor, text_hash, status, payload FROM extractions ORDER BY 1, 2"
        found["extractions"] = db.execute(rows).fetchall()
    with closing(sqlite3.connect(folder / "cache.db")) as db:
        found["vectors"] = db.execute("SELECT space, text_hash, vector FROM vectors ORDER BY 1, 2").fetchall()
        found["replies"] = db.execute("SELECT key, reply FROM replies ORDER BY 1").fetchall()
    return found


def damaged(folder: Path) -> list[Finding]:
    return [finding for finding in verify_index(folder) if finding.kind == "damage"]


def places(file: Path) -> Iterator[int]:
    size = file.stat().st_size
    number = 16 if file.suffix == ".db" else 3
    yield from sorted({int(place) for place in np.linspace(0, size - 1, number)} if size else ())


def test_a_whole_index_has_nothing_and_is_not_changed(index: Path) -> None:
    before = _files(index)
    assert list(verify_index(index)) == []
    assert _files(index) == before


def _files(folder: Path) -> dict[Path, bytes]:
    """Without the files by which SQLite's readers know of one another."""
    there = (file for file in folder.rglob("*") if file.is_file())
    return {file: file.read_bytes() for file in there if not file.name.endswith(("-shm", "-wal"))}


def test_every_changed_byte_is_found_or_does_not_matter(template: Path, index: Path) -> None:
    whole = content(template)
    for file in sorted(path for path in index.rglob("*") if path.is_file()):
        original = file.read_bytes()
        for place in places(file):
            changed = bytearray(original)
            changed[place] ^= 0x41
            file.write_bytes(changed)
            where = f"{file.name} at {place}"
            if not damaged(index):
                assert content(index) == whole, where
            else:
                _search(index, where)
            file.write_bytes(original)
            for leftover in index.glob("*.db-*"):
                leftover.unlink()


def _search(folder: Path, where: str) -> None:
    """No error but those that are meant for people."""
    try:
        with HippoLit.open(folder, chat=chat(), read_only=True) as lit:
            for mode in MODES:
                lit.retrieve("Was Alpha 3 built in Kraków?", 6, mode)
    except HippoLitError:
        pass
    except Exception as error:
        raise AssertionError(where) from error


def test_a_rebuild_mends_the_snapshot_and_pays_for_nothing(template: Path, index: Path) -> None:
    whole = content(template)
    for file in sorted((index / "snapshots").rglob("*")):
        if not file.is_file() or not file.stat().st_size or file.suffix not in (".npy", ".utf8"):
            continue
        name = file.relative_to(index)
        if not (index / name).is_file():
            continue
        data = bytearray(file.read_bytes())
        data[-1] ^= 0x41
        file.write_bytes(data)
    assert damaged(index)
    model = chat()
    with HippoLit.open(index, chat=model) as lit:
        built = lit.build(rebuild=True)
    assert (built.published, model.calls) == (True, [])
    assert list(verify_index(index)) == []
    assert content(index) == whole


def test_a_rebuild_mends_the_cache(index: Path) -> None:
    with closing(sqlite3.connect(index / "cache.db")) as db, db:
        db.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE rowid = 1")
        db.execute("UPDATE replies SET reply = '1' WHERE rowid = 1")
    problems = {(finding.part, finding.problem.split(": ", 1)[1]) for finding in damaged(index)}
    assert problems == {
        ("cache", "vectors that are not what was written (1)"),
        ("cache", "replies that are not what was written (1)"),
    }
    with HippoLit.open(index, chat=chat()) as lit:
        lit.build(rebuild=True)
    with Cache(index / "cache.db", read_only=True) as cache:
        assert cache.verify() == ["replies that are not what was written (1)"]  # nobody asked for it


def test_a_changed_extraction_is_found(index: Path) -> None:
    with closing(sqlite3.connect(index / "store.db")) as db, db:
        db.execute("UPDATE extractions SET payload = replace(payload, 'Beta', 'Bets') WHERE rowid = 1")
    [finding] = damaged(index)
    assert finding.part == "store"
    assert "it is not what was stored" in finding.problem
    assert "Restore" in finding.problem + finding.advice


def test_links_that_the_records_do_not_have_are_found(index: Path) -> None:
    with closing(sqlite3.connect(index / "store.db")) as db, db:
        db.execute("UPDATE link_keys SET key = 'doi:10.1/other' WHERE paper_id = 'p3'")
    [finding] = damaged(index)
    assert finding.part == "store"
    assert "the links of paper 'p3' are not those of its records" in finding.problem


def test_the_ledger_of_batch_jobs(index: Path) -> None:
    with BatchLedger(index) as ledger:
        ledger.prepare("token", "server", ["a", "b"])
    [finding] = verify_index(index)
    assert (finding.part, finding.kind) == ("batches", "behind")
    assert finding.problem == "2 replies of batch jobs are awaited"
    with closing(sqlite3.connect(index / LEDGER)) as db, db:
        db.execute("DELETE FROM requests WHERE key = 'a'")
    [finding] = damaged(index)
    assert "a job has not the requests that were noted for it" in finding.problem
    with BatchLedger(index) as ledger:
        ledger.collected("token")
    assert list(verify_index(index)) == []
    (index / LEDGER).write_bytes(b"no database, " * 100)
    [finding] = damaged(index)
    assert (finding.part, finding.advice.split(";")[0]) == ("batches", "Restore batches.db from a copy")


def test_a_snapshot_that_is_behind_is_told_and_no_damage(index: Path) -> None:
    with Store.open(index) as store:
        store.put_papers([Paper("new", "New", "New text."), Paper("p2", "Alpha 2", "Changed.", source="")])
        store.delete(["p4"])
    [finding] = verify_index(index)
    assert (finding.part, finding.kind) == ("papers", "behind")
    assert finding.problem == "the snapshot is behind: 3 papers were added, changed or deleted since"
    assert finding.advice == "Run `hippo-lit index`: it brings the index up to date."


def test_arrays_that_do_not_fit_together_are_found(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files as they were written, by a writer that was wrong."""
    from hippo_lit import verify

    class Wrong(verify.Snapshot):
        @property
        def passage_vectors(self):  # type: ignore[no-untyped-def]
            return np.full((6, 64), np.nan, dtype=np.float32)

        @property
        def first_passage(self):  # type: ignore[no-untyped-def]
            return np.array([0, 1, 2, 4, 3, 5, 6])

        @property
        def passage_paper(self):  # type: ignore[no-untyped-def]
            return np.array([0, 1, 2, 3, 4, 6])

        @property
        def sentence_codes(self):  # type: ignore[no-untyped-def]
            right = codes(self.sentence_vectors)
            return Codes(right.numbers, right.unit * np.float32([1, 2] + [1] * (len(right.unit) - 2)))

    monkeypatch.setattr(verify, "Snapshot", Wrong)
    assert [finding.problem for finding in verify_index(index) if finding.part == "references"] == [
        "first_passage: the offsets do not ascend from 0 to 6 in 6 steps",
        "passage_paper: a number is outside 0 to 5",
        "passage_vectors: 6 vectors are not of length 1",
        "sentence_codes: 1 rows are not what their vectors give",
    ]


def test_there_must_be_an_index(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError):
        list(verify_index(tmp_path))


def test_the_command(cli: Cli, mock_index: Path) -> None:
    index = mock_index
    assert cli("verify", "--index", index).stdout == "the index is whole\n"
    file = next((index / "snapshots").rglob("bm25/weights.npy"))
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    said = cli("verify", "--index", index, code=6).stdout
    assert "weights.npy is not what was written" in said
    assert "hippo-lit index --rebuild" in said
    told = json.loads(cli("verify", "--index", index, "--json", code=6).stdout)
    assert told["ok"] is False
    assert told["findings"][0]["part"] == "snapshot"
    cli("index", "--rebuild", "--index", index)
    assert json.loads(cli("verify", "--index", index, "--json").stdout) == {"ok": True, "findings": []}


def test_a_store_of_an_earlier_format_is_behind_not_damaged(index: Path) -> None:
    with closing(sqlite3.connect(index / "store.db")) as db:
        db.executescript(
            "PRAGMA user_version = 1; DROP INDEX records_merged; DROP TABLE link_keys;"
            "ALTER TABLE records DROP COLUMN merged_id"
        )
    [finding] = verify_index(index)
    assert (finding.part, finding.kind) == ("store", "behind")
    assert finding.advice == "Run `hippo-lit index`: it brings the index up to date."
    with HippoLit.open(index, chat=chat()) as lit:
        lit.build()
    assert list(verify_index(index)) == []


def test_a_damaged_record_is_told_once_and_mended_by_its_source(index: Path) -> None:
    with closing(sqlite3.connect(index / "store.db")) as db, db:
        db.execute("UPDATE records SET payload = replace(payload, 'Beta', 'Bete') WHERE paper_id = 'p1'")
    [finding] = damaged(index)
    assert (finding.part, "'p1'" in finding.problem) == ("store", True)
    with HippoLit.open(index, chat=chat()) as lit:
        assert lit.add(PAPERS) == Counts(changed=1, unchanged=5)
    assert list(verify_index(index)) == []
