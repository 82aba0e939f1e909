"""OpenIE results into an index: both forms, malformed, half-written and wrong files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import settings

from hippo_lit import HippoLit
from hippo_lit.errors import ConfigError, DataError
from hippo_lit.openie import import_openie
from hippo_lit.sources.openie import OpenieRecord, read_openie
from hippo_lit.text import content_hash
from hippo_lit.types import Fact, Mention, Paper

BETA = {
    "idx": "chunk-1",
    "passage": "Beta\nBeta lives in Kraków. It is old.",
    "extracted_entities": ["Beta", "Kraków"],
    "extracted_triples": [["Beta", "lives in", "Kraków"], ["Beta", "is", "old"]],
}
DOCS = {"docs": [BETA], "avg_ent_chars": 5.0, "avg_ent_words": 1.0}
IMPORTED = {"extract": {"kind": "imported", "names_from": "none"}}


@pytest.fixture
def lit(tmp_path: Path) -> Iterator[HippoLit]:
    with HippoLit.open(tmp_path / "x.idx", settings(**IMPORTED)) as opened:
        yield opened


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value) if not isinstance(value, str) else value, encoding="utf-8")
    return path


def facts(lit: HippoLit) -> set[str]:
    snapshot = lit.snapshot()
    assert snapshot is not None
    return {snapshot.graph.fact(number).text for number in range(snapshot.graph.n_facts)}


def test_hipporags_file_makes_papers_and_facts(lit: HippoLit, tmp_path: Path) -> None:
    report = import_openie(lit, written(tmp_path / "openie_results_ner_m.json", DOCS))
    assert (report.records, report.imported, report.papers_added) == (1, 1, 1)
    assert (report.facts, report.entities, dict(report.dropped)) == (2, 2, {})
    [paper] = lit.store.papers()
    assert (paper.title, paper.abstract) == ("Beta", "Beta lives in Kraków. It is old.")
    assert paper.id == content_hash("Beta", "Beta lives in Kraków. It is old.")  # as for the corpus itself
    built = lit.build()
    assert (built.papers, built.failed) == (1, 0)
    assert facts(lit) == {"Beta lives in Kraków", "Beta is old"}
    assert lit.build().published is False  # and `index` keeps them
    snapshot = lit.snapshot()
    assert snapshot is not None
    assert snapshot.about["extractor"] == "imported/openie"
    assert [sentence for sentence, _ in snapshot.facts_of(0)] == ["Beta lives in Kraków.", "It is old."]


def test_a_paper_that_is_there_keeps_its_id(lit: HippoLit, tmp_path: Path) -> None:
    lit.put([Paper("b", "Beta", "Beta lives in Kraków. It is old.", 2005)])
    report = import_openie(lit, written(tmp_path / "o.json", DOCS))
    assert (report.imported, report.papers_added) == (1, 0)
    lit.build()
    assert facts(lit) == {"Beta lives in Kraków", "Beta is old"}
    assert len(lit) == 1


def test_lines_that_name_papers_of_the_index(lit: HippoLit, tmp_path: Path) -> None:
    lit.put([Paper("b", "Beta", "Beta lives in Kraków.")])
    known = {"_id": "b", "title": "Beta", "extracted_entities": [], "extracted_triples": [["a", "b", "c"]]}
    lines = [json.dumps(row) for row in (known, known | {"_id": "zz"})]
    report = import_openie(lit, written(tmp_path / "o.jsonl", "\n".join(lines) + "\n"))
    assert (report.records, report.imported, report.skipped) == (2, 1, 1)
    assert report.problems == ["zz: it has no text, and the index holds no such paper"]


def test_importing_again_changes_nothing_and_other_facts_are_a_conflict(
    lit: HippoLit, tmp_path: Path
) -> None:
    file = written(tmp_path / "o.json", DOCS)
    import_openie(lit, file)
    assert import_openie(lit, file).unchanged == 1
    other = {"docs": [BETA | {"extracted_triples": [["Beta", "is", "new"]]}]}
    report = import_openie(lit, written(tmp_path / "p.json", other))
    assert (report.imported, report.conflicts) == (0, 1)
    assert import_openie(lit, tmp_path / "p.json", name="second").imported == 1
    lit.build()
    assert facts(lit) == {"Beta lives in Kraków", "Beta is old"}
    lit.close()
    second = settings(extract=IMPORTED["extract"] | {"imported": "second"})
    with HippoLit.open(lit.path, second) as again:
        again.build()
        assert facts(again) == {"Beta is new"}


def test_a_paper_without_imported_facts_is_a_failure_until_they_come(lit: HippoLit, tmp_path: Path) -> None:
    lit.put([Paper("b", "Beta", "Beta lives in Kraków. It is old.")])
    built = lit.build()
    assert built.failed == 1
    assert "no facts were imported for this text as 'openie'" in built.failures[0]
    import_openie(lit, written(tmp_path / "o.json", DOCS))
    assert lit.build().failed == 0
    assert len(facts(lit)) == 2


def test_names_by_rules_come_beside(tmp_path: Path) -> None:
    chosen = settings(extract={"kind": "imported", "names_from": "simple"})
    with HippoLit.open(tmp_path / "x.idx", chosen) as lit:
        import_openie(lit, written(tmp_path / "o.json", {"docs": [BETA | {"extracted_entities": []}]}))
        lit.build()
        snapshot = lit.snapshot()
        assert snapshot is not None
        assert "Kraków" in list(snapshot.graph.names)
        assert len(facts(lit)) == 2


def test_malformed_pieces_are_counted_by_kind(tmp_path: Path) -> None:
    broken = BETA | {
        "extracted_entities": ["Beta", None, {"a": 1}, "", "x" * 301, True, 1963],
        "extracted_triples": [["a", "b", "c"], ["a", "b"], "abc", ["a", "", "c"], ["a", None, "c"], []],
    }
    [record] = read_openie(written(tmp_path / "o.json", {"docs": [broken]}))
    assert isinstance(record, OpenieRecord)
    assert record.entities == ("Beta", "1963")
    assert record.facts == (Fact("a", "b", "c"),)
    assert record.dropped == {
        "entities with what is no text": 3,
        "entities with nothing in a place": 1,
        "entities with more than 300 characters": 1,
        "triples that are not three parts": 3,
        "triples with nothing in a place": 1,
        "triples with what is no text": 1,
    }


def test_lists_that_are_none_are_counted(tmp_path: Path) -> None:
    [record] = read_openie(
        written(
            tmp_path / "o.json",
            {
                "docs": [
                    BETA | {"extracted_triples": {"a": 1}},
                ]
            },
        )
    )
    assert isinstance(record, OpenieRecord)
    assert (record.facts, record.dropped) == ((), {"triples that are no list": 1})


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_that_breaks_off_leaves_what_stands_before(
    lit: HippoLit, tmp_path: Path, ending: str, indent: int | None
) -> None:
    docs = [BETA | {"passage": f"Beta {n}\nBeta lives in Kraków."} for n in range(700)]
    text = json.dumps({"docs": docs}, indent=indent)
    file = tmp_path / f"o{ending}"
    half = text[: text.index('"Beta 690')] if '"Beta 690' in text else text[: text.index("Beta 690")]
    file.write_bytes(gzip.compress(half.encode()) if ending.endswith("gz") else half.encode())
    with pytest.raises(DataError, match=r"cut off or not JSON after 690 records. Those were taken"):
        import_openie(lit, file)
    assert len(lit.store) == 690
    file.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    report = import_openie(lit, file)
    assert (report.imported, report.unchanged, report.papers_added) == (10, 690, 10)


def test_a_long_record_over_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.sources.openie._CHUNK", 7)
    docs = {"x": [1], "docs": [BETA, BETA | {"passage": "Long\n" + "word. " * 500}, BETA]}
    found = list(read_openie(written(tmp_path / "o.json", json.dumps(docs, indent=1))))
    assert [r.paper.title for r in found if isinstance(r, OpenieRecord) and r.paper] == [
        "Beta",
        "Long",
        "Beta",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ('{"docs": []}', "holds no OpenIE results"),
        ('{"papers": [{"id": 1}]}', "holds no OpenIE results"),
        ('{\n"papers": [\n{"id": 1}\n]}', 'has no list under "docs"'),
        ('{"id": "a", "title": "t"}\n{"id": "b", "title": "u"}\n', "holds no OpenIE results"),
        ("@article{a, title={T}}", "is a bibliography"),
        ("plain words", "in no format known here"),
    ],
)
def test_wrong_files_are_named(lit: HippoLit, tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        import_openie(lit, written(tmp_path / "o.dat", content))
    with pytest.raises(DataError, match="does not exist"):
        import_openie(lit, tmp_path / "absent.json")


def test_a_name_is_a_plain_word(lit: HippoLit, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no name for imported facts"):
        import_openie(lit, written(tmp_path / "o.json", DOCS), name="../x")


def test_a_paper_of_several_passages_gives_each_what_it_states(tmp_path: Path) -> None:
    text = "Alpha likes Beta very much indeed. " * 6 + "Gamma hates Delta with all its heart. " * 6
    record = {
        "passage": f"T\n{text}",
        "extracted_entities": ["Alpha", "Delta"],
        "extracted_triples": [["Gamma", "hates", "Delta"], ["Alpha", "likes", "Beta"]],
    }
    chosen = settings(extract=IMPORTED["extract"] | {"passage_chars": 220})
    with HippoLit.open(tmp_path / "x.idx", chosen) as lit:
        import_openie(lit, written(tmp_path / "o.json", {"docs": [record]}))
        assert lit.build().failed == 0
        snapshot = lit.snapshot()
        assert snapshot is not None
        assert [(s, f.subject) for s, f in snapshot.facts_of(0)] == [
            ("Alpha likes Beta very much indeed.", "Alpha"),
            ("Gamma hates Delta with all its heart.", "Gamma"),
        ]


def test_mentions_know_their_sentence(lit: HippoLit, tmp_path: Path) -> None:
    import_openie(lit, written(tmp_path / "o.json", DOCS))
    from hippo_lit.passages import passage_hash, passages_of

    [paper] = lit.store.papers()
    [passage] = passages_of(paper, 4000)
    [found] = lit.store.extractions("imported/openie", [passage_hash(passage)]).values()
    assert found.mentions == (Mention("Beta", 0), Mention("Kraków", 0))
    assert found.fact_sentences == (0, 1)
