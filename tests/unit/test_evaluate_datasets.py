"""Every form that a labelled set comes in, and what is said of gold that is not plain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hippo_lit.errors import ConfigError, DataError
from hippo_lit.evaluate.beir import read_qrels
from hippo_lit.evaluate.dataset import Query
from hippo_lit.evaluate.gold import GoldFinder
from hippo_lit.evaluate.load import load_dataset
from hippo_lit.evaluate.trec import read_topics
from hippo_lit.types import Fact, Paper

CORPUS = [
    {"_id": "d1", "title": "Alpha", "text": "First."},
    {"_id": "d2", "title": "Beta", "text": "Second."},
    {"_id": "d3", "title": "beta", "text": "Third."},
]


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    write(folder / "corpus.jsonl", *CORPUS)
    write(
        folder / "queries.jsonl",
        {"_id": "1", "text": "one", "metadata": {"query_doc": "d3"}},
        {"_id": "2", "text": "two", "metadata": {"answer": 35, "answer_aliases": ["thirty-five", 35, None]}},
        {"_id": "3", "text": "three"},
    )
    (folder / "qrels").mkdir()
    head = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "test.tsv").write_text(head + "1\td1\t2\n2\tgone\t1\n9\td1\t1\n", "utf-8")
    (folder / "qrels" / "dev.tsv").write_text(head + "3\td2\t1\n3\td1\t0\n", "utf-8")
    return folder


def test_mock_is_the_shipped_set() -> None:
    data = load_dataset("mock")
    assert (len(data.papers), len(data.queries), data.notes) == (100, 94, ())
    assert data.tags == ("lexical", "mismatch", "multi-hop", "citation", "time", "none")
    assert sum(not query.relevant for query in data.queries) == 14
    assert any(query.years == (2016, 2019) for query in data.queries)
    assert load_dataset("mock", split="test").name == "mock-test"
    halves = [len(load_dataset("mock", split=split).queries) for split in ("tune", "test")]
    assert halves == [47, 47]
    with pytest.raises(ConfigError, match="there are: test, tune"):
        load_dataset("mock", split="dev")


def test_a_beir_folder_with_leave_out_and_honest_notes(beir: Path) -> None:
    data = load_dataset(str(beir))
    assert data.queries == [
        Query("1", "one", {"d1": 2}, leave_out=("d3",)),
        Query("2", "two", {"gone": 1}, answers=("35", "thirty-five")),  # gold stays in the denominator
    ]
    assert data.notes == (
        "1 queries have no judgement in test.tsv and are not asked",
        "1 queries of test.tsv have no text in queries.jsonl and are not asked",
        "1 gold references are in no paper and count as not found: 2: 'gone'",
    )
    (third,) = load_dataset(str(beir), split="dev").queries
    assert third.gold == {"d2": 1, "d1": 0}
    assert third.relevant == {"d2"}
    with pytest.raises(DataError, match=r"needs qrels/train\.tsv"):
        load_dataset(str(beir), split="train")


def test_a_folder_is_called_by_its_name_however_it_is_given(
    beir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(beir)
    assert load_dataset(".").name == load_dataset(str(beir)).name == "set"


def test_qrels_with_or_without_heading_in_three_or_four_columns(tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text("301 0 d1 1\n301 0 d2 -2\n", "utf-8")
    assert read_qrels(file) == {"301": {"d1": 1, "d2": 0}}
    file.write_text("q\td\t1\nq\te\tgood\n", "utf-8")
    with pytest.raises(DataError, match=r"line 2: the grade 'good' is no whole number"):
        read_qrels(file)
    file.write_text("q d\n", "utf-8")
    with pytest.raises(DataError, match="has 2 columns"):
        read_qrels(file)


def test_hipporag_files_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "x_corpus.json").write_text(
        json.dumps(
            [
                {"title": "Alpha", "text": "One. Two."},
                {"title": "Beta", "text": "Three."},
                {"title": "Beta", "text": "Four."},
                {"title": "Beta", "text": "Four."},
            ]
        ),
        "utf-8",
    )
    questions = [
        {
            "id": "m",
            "question": "Which?",
            "answer": "A",
            "answer_aliases": ["B", "A"],
            "paragraphs": [
                {"title": "Beta", "paragraph_text": "Four.", "is_supporting": True},
                {"title": "Alpha", "paragraph_text": "One. Two.", "is_supporting": False},
            ],
        },
        {
            "_id": "h",
            "question": "What?",
            "type": "bridge",
            "supporting_facts": [["Alpha", 0], ["Alpha", 1], ["Beta", 0]],
            "context": [["Alpha", ["One.", " Two."]], ["Beta", ["Elsewhere."]]],
        },
    ]
    (tmp_path / "x.json").write_text(json.dumps(questions), "utf-8")
    data = load_dataset(str(tmp_path / "x.json"))
    ids = {paper.abstract: paper.id for paper in data.papers}
    assert len(data.papers) == 3  # equal passages are one
    musique, hotpot = data.queries
    assert (musique.gold, musique.answers) == ({ids["Four."]: 1}, ("A", "B"))
    assert hotpot.tags == ("bridge",)
    # The text is known of Alpha; that of Beta is in no passage, so both of its title count.
    assert hotpot.relevant == set(ids.values())
    assert any("match several papers, each of which counts as gold: h: 'Beta'" in note for note in data.notes)


def test_hipporag_question_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x_corpus.json").write_text('[{"title": "A", "text": "B"}]', "utf-8")
    (tmp_path / "x.json").write_text('[{"id": "q", "question": "?", "paragraphs": [7]}]', "utf-8")
    with pytest.raises(DataError, match="question q: its supporting passages cannot be read"):
        load_dataset(str(tmp_path / "x.json"))
    with pytest.raises(DataError, match=r"no x_corpus_corpus\.json"):
        load_dataset(str(tmp_path / "x_corpus.json"))


def test_a_trec_folder(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", *CORPUS)
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n2 0 d2 2\n", "utf-8")
    (tmp_path / "topics.txt").write_text(
        "<top>\n<num> Number: 1\n<title> Topic: alpha &amp; co\n<desc> Description:\nwhy\n"
        "<narr> says <title> again\n</top>\n<top><num>2</num><title></title><desc>beta?</desc></top>\n"
        "<top><num>3<title>three</top>",
        "utf-8",
    )
    data = load_dataset(str(tmp_path))
    assert [(q.id, q.text, dict(q.gold)) for q in data.queries] == [
        ("1", "alpha & co", {"d1": 1}),
        ("2", "beta?", {"d2": 2}),
    ]
    assert data.notes == ("1 topics have no judgement in qrels.txt and are not asked",)


def test_topics_by_the_line(tmp_path: Path) -> None:
    file = tmp_path / "topics.tsv"
    file.write_text("1\talpha beta\n\n2\tgamma\n", "utf-8")
    assert list(read_topics(file)) == [("1", "alpha beta"), ("2", "gamma")]
    file.write_text("1 alpha\n", "utf-8")
    with pytest.raises(DataError, match="line 1: a topic is its number, a tab and its text"):
        list(read_topics(file))


def test_our_own_file_with_all_that_a_query_can_say(tmp_path: Path) -> None:
    write(tmp_path / "papers.jsonl", *CORPUS)
    file = write(
        tmp_path / "mine.jsonl",
        {
            "id": "q",
            "text": "why",
            "gold": {"ALPHA!": 2, "Second.": 1},
            "tags": ["a", "b"],
            "leave_out": ["d3"],
            "year": [2016, None],
            "gold_facts": [["A", "is", "B"]],
            "answers": ["yes"],
            "split": "test",
        },
        {"id": "none", "text": "nothing"},
    )
    full, bare = load_dataset(str(file)).queries
    expected = Query(
        "q",
        "why",
        {"d1": 2, "d2": 1},
        ("a", "b"),
        ("d3",),
        (2016, None),
        (Fact("A", "is", "B"),),
        ("yes",),
        "test",
    )
    assert full == expected
    assert bare == Query("none", "nothing")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": "x"}, r'line 1: has no "id"'),
        ({"id": "q"}, r'line 1: has no "text"'),
        ({"id": "q", "text": "x", "gold": {"a": "high"}}, '"gold" must be'),
        ({"id": "q", "text": "x", "gold": {"a": True}}, '"gold" must be'),
        ({"id": "q", "text": "x", "tags": [1]}, '"tags" must be a list of texts'),
        ({"id": "q", "text": "x", "year": 2020}, r'"year" must be \[first, last\]'),
        ({"id": "q", "text": "x", "gold_facts": [["a", "b"]]}, '"gold_facts" must be'),
        ([], "must be a JSON object"),
    ],
)
def test_a_malformed_query_names_file_and_line(tmp_path: Path, record: object, message: str) -> None:
    write(tmp_path / "papers.jsonl", *CORPUS)
    with pytest.raises(DataError, match=message):
        load_dataset(str(write(tmp_path / "q.jsonl", record)))


def test_fields_that_are_not_read_are_told(tmp_path: Path) -> None:
    write(tmp_path / "papers.jsonl", {"id": "a", "title": "A"})
    queries = write(
        tmp_path / "queries.jsonl",
        {"id": "1", "text": "x", "gold": ["a"], "exclude": ["a"]},
        {"id": "2", "text": "y", "gold": ["a"], "exclude": ["a"], "why": "for people"},
    )
    assert load_dataset(str(queries)).notes == ('the field "exclude" of 2 is not read',)


def test_files_that_are_no_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no data set 'nowhere': give the word mock"):
        load_dataset("nowhere")
    with pytest.raises(DataError, match="holds no data set that is known"):
        load_dataset(str(tmp_path))
    with pytest.raises(DataError, match="no papers beside it"):
        load_dataset(str(write(tmp_path / "q.jsonl", {"id": "q", "text": "x"})))
    write(tmp_path / "papers.jsonl", *CORPUS)
    with pytest.raises(DataError, match="holds no query"):
        load_dataset(str(write(tmp_path / "q.jsonl")))
    twice = {"id": "q", "text": "x"}
    with pytest.raises(DataError, match="two queries have the id 'q'"):
        load_dataset(str(write(tmp_path / "q.jsonl", twice, twice)))
    (tmp_path / "q.jsonl").write_text('{"id": "q", "te', "utf-8")
    with pytest.raises(DataError, match="line 1: not JSON"):
        load_dataset(str(tmp_path / "q.jsonl"))


def test_gold_by_id_before_title_before_text() -> None:
    papers = [Paper("Beta", "Alpha", "x"), Paper("2", "Beta", "Alpha"), Paper("3", "Beta", "y")]
    finder = GoldFinder(papers)
    assert finder.find("Beta", "q") == ("Beta",)
    assert finder.find("alpha", "q") == ("Beta",)
    assert finder.find("beta", "q") == ("2", "3")
    assert finder.find("y", "q") == ("3",)
    assert finder.notes == [
        "1 gold references match several papers, each of which counts as gold: q: 'beta' is 2, 3"
    ]


def test_the_fingerprint_is_of_content() -> None:
    data = load_dataset("mock")
    assert data.fingerprint == load_dataset("mock").fingerprint
    half = load_dataset("mock", split="tune")
    assert half.fingerprint != data.fingerprint
    assert half.corpus_fingerprint == data.corpus_fingerprint
