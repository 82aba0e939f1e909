"""What the rules over spaCy find, and what they leave alone."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from hippo_lit.errors import MissingExtraError, ModelError
from hippo_lit.extract import parsing, spacy_model
from hippo_lit.extract.prepare import prepare
from hippo_lit.extract.spacy_model import REPUBLISHED, SHA256, ModelFolder, find_model
from hippo_lit.extract.spacy_rules import SpacyExtractor, is_english
from hippo_lit.sentences import split_sentences
from hippo_lit.types import Extraction, Passage


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    pytest.importorskip("spacy")
    try:
        return SpacyExtractor()
    except MissingExtraError:
        pytest.skip("no spaCy model is installed")


class Extract(Protocol):
    def __call__(self, body: str, title: str = ...) -> Extraction: ...


@pytest.fixture(scope="module")
def extract(extractor: SpacyExtractor) -> Extract:
    def run(body: str, title: str = "on a question of method") -> Extraction:
        (found,) = extractor.extract([Passage("p", 0, title, body)])
        assert isinstance(found, Extraction)
        return found

    return run


def facts(found: Extraction) -> list[str]:
    return [f"{fact.subject} | {fact.relation} | {fact.object}" for fact in found.facts]


@pytest.mark.model
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Statins reduce serum cholesterol.", ["Statins | reduce | serum cholesterol"]),
        ("Statins do not reduce blood pressure.", ["Statins | do not reduce | blood pressure"]),
        ("Statins may reduce blood pressure.", ["Statins | may reduce | blood pressure"]),
        ("Statins had no effect on blood pressure.", ["Statins | had no effect on | blood pressure"]),
        ("Gabapentin plays a key role in pain relief.", ["Gabapentin | plays key role in | pain relief"]),
        ("Hair cortisol was associated with body mass.", ["Hair cortisol | was associated with | body mass"]),
        ("Gabapentin is a new anticonvulsant.", ["Gabapentin | is a | new anticonvulsant"]),
        ("Oslo is the capital of Norway.", ["Oslo | is the capital of | Norway"]),
        ("We found no link between tea and cancer.", ["tea | no link with | cancer"]),
        ("We studied the effect of vitamin D on bone loss.", ["vitamin D | effect on | bone loss"]),
        ("These data suggest that tea improves memory.", ["tea | improves | memory"]),
        ("Aspirin is likely to prevent heart attacks.", ["Aspirin | is likely to prevent | heart attacks"]),
        ("Fewer deaths occurred with aspirin.", ["Fewer deaths | occurred with | aspirin"]),
        (
            "Higher doses of aspirin were more effective than placebo.",
            ["Higher doses of aspirin | were more effective than | placebo"],
        ),
        (
            "Aspirin reduces fever and prevents strokes.",
            ["Aspirin | reduces | fever", "Aspirin | prevents | strokes"],
        ),
        (
            "Sheep and goats carry the same parasite.",
            ["Sheep | carry | same parasite", "goats | carry | same parasite"],
        ),
        (
            "John Smith, a chemist from Leeds, discovered argon.",
            [
                "John Smith | is a chemist from | Leeds",
                "John Smith | is a | chemist",
                "John Smith | discovered | argon",
            ],
        ),
        (
            "RESULTS: Hair cortisol (r = 0.4, p < .001) was associated with stress.",
            ["Hair cortisol | was associated with | stress"],
        ),
        (
            "Retrieval-augmented generation (RAG) reduces hallucination.",
            [
                "Retrieval-augmented generation | reduces | hallucination",
                "RAG | stands for | Retrieval-augmented generation",
            ],
        ),
    ],
)
def test_statements(extract: Extract, body: str, expected: list[str]) -> None:
    assert facts(extract(body)) == expected


@pytest.mark.model
@pytest.mark.parametrize(
    "body",
    [
        "We tested whether tea improves memory.",
        "If tea improves memory, it sells.",
        "Does tea improve memory?",
        "This method has several advantages.",
        "The results show a difference.",
        "It was found in the literature.",
        "We present a novel approach.",
        "These drugs cause nausea.",
        "2) see above.",
    ],
)
def test_what_states_nothing_gives_nothing(extract: Extract, body: str) -> None:
    assert facts(extract(body)) == []


@pytest.mark.model
def test_an_encyclopedic_passage_resolves_its_title(extract: Extract) -> None:
    body = (
        '"Gone Away" is a 1984 film directed by Mary Stone. It was released in Canada. The film won a BAFTA. '
        "The city of Oslo liked it."
    )
    assert facts(extract(body, "Gone Away (1984 film)")) == [
        "Gone Away | is a | 1984 film",
        "Gone Away | directed by | Mary Stone",
        "Gone Away | was released in | Canada",
        "Gone Away | won | BAFTA",
    ]


@pytest.mark.model
def test_a_persons_pronoun_last_name_and_dates(extract: Extract) -> None:
    body = "Marjory Ann Hale (12 March 1891 – 1967) was a Scottish botanist. She studied in Glasgow."
    found = extract(f"{body} Hale visited Peru.", "Marjory Hale")
    assert facts(found) == [
        "Marjory Hale | was a | Scottish botanist",
        "Marjory Hale | studied in | Glasgow",
        "Marjory Hale | visited | Peru",
        "Marjory Hale | was born on | 12 March 1891",
        "Marjory Hale | died in | 1967",
    ]
    assert found.fact_sentences == (0, 1, 2, 0, 0)


@pytest.mark.model
def test_a_battle_is_not_born(extract: Extract) -> None:
    body = "The Battle of Arsuf (8 June 1918 – 10 June 1918) was fought between two armies."
    assert not any("born" in fact or "died" in fact for fact in facts(extract(body, "Battle of Arsuf")))


@pytest.mark.model
def test_names_and_phrases(extract: Extract) -> None:
    body = (
        "Several studies of low-rank adaptation (LoRA) used GPT-4 in New York. "
        "The results of this study were 2.3 (95% CI 1.1-4.5)."
    )
    mentions = extract(body, "Sparse adapters for language models").mentions
    found = {(m.surface, m.sentence): m.kind for m in mentions}
    assert found["low-rank adaptation", 0] == "phrase"
    assert found["LoRA", 0] == "name"
    assert found["GPT-4", 0] == "name"
    assert found["New York", 0] == "name"
    assert found["Sparse adapters", -1] == "phrase"
    assert found["language models", -1] == "phrase"
    assert not {"study", "results", "studies", "CI", "95%", "2.3"} & {surface for surface, _ in found}


@pytest.mark.model
def test_sentences_are_those_of_the_splitter(extract: Extract) -> None:
    body = (
        "Smith et al. (2010) met in Oslo.  They\nmeasured it in hair. See Fig. 2 of Meyer.\n\nBergen is wet."
    )
    sentences = split_sentences(body)
    found = extract(body)
    assert len(sentences) == 4
    for mention in found.mentions:
        if mention.sentence >= 0:
            assert mention.surface in " ".join(sentences[mention.sentence].split())
    assert {("Oslo", 0), ("Bergen", 3)} <= {(m.surface, m.sentence) for m in found.mentions}


@pytest.mark.model
def test_other_languages_get_the_simple_rule(extractor: SpacyExtractor) -> None:
    passages = [
        Passage("p", 0, "检索增强生成", "北京大学和清华大学。"),
        Passage("p", 1, "Tea", "Tea improves memory."),
        Passage(
            "p", 2, "Tee", "Der Tee wird in Heidelberg von Clara Schumann getrunken, und das schon lange."
        ),
    ]
    chinese, english, german = extractor.extract(passages)
    assert isinstance(chinese, Extraction)
    assert {"北京大学", "清华大学"} <= {m.surface for m in chinese.mentions}
    assert isinstance(english, Extraction)
    assert facts(english) == ["Tea | improves | memory"]
    assert isinstance(german, Extraction)
    assert "Clara Schumann" in {m.surface for m in german.mentions}
    assert german.facts == ()


@pytest.mark.model
def test_a_long_abstract_is_read_in_pieces(
    extractor: SpacyExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "MAX_DOC_CHARS", 500)
    monkeypatch.setattr(parsing, "MAX_SENTENCE_CHARS", 300)
    body = "Insulin was found in the pancreas of dogs. " * 50 + "word " * 1000 + "Tea improves memory."
    (found,) = extractor.extract([Passage("p", 0, "on tea", body)])
    assert isinstance(found, Extraction)
    assert facts(found)[0] == "Insulin | was found in | pancreas of dogs"
    assert len(parsing.cut(parsing.read(Passage("p", 0, "on tea", body)))) > 10
    assert max(m.sentence for m in found.mentions) == len(split_sentences(body)) - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea improves memory", True),
        ("We studied the effect of tea on memory in 20 adults, and it was not large.", True),
        ("Wir untersuchten die Wirkung von Tee auf das Gedächtnis bei zwanzig Erwachsenen genau.", False),
        ("Nous avons étudié les effets du thé sur la mémoire de vingt adultes bien portants à Paris.", False),
        ("检索增强生成", False),
        ("", True),
    ],
)
def test_is_english(text: str, expected: bool) -> None:
    assert is_english(text) is expected


@pytest.mark.parametrize(
    ("sentence", "text", "asides"),
    [
        ("RESULTS: Tea (n = 5; p < .01) helps.", "Tea helps.", ()),
        ("Conclusions Tea helps.", "Tea helps.", ()),
        ("Tremor (eg, essential tremor) is common [1,2].", "Tremor is common.", ("essential tremor",)),
        ("He sang “All Mixed Up,” and left.", "He sang All Mixed Up, and left.", ()),
    ],
)
def test_prepare(sentence: str, text: str, asides: tuple[str, ...]) -> None:
    prepared = prepare(sentence)
    assert (prepared.text, prepared.asides) == (text, asides)


def test_prepare_marks_works_and_given_names() -> None:
    prepared = prepare('In "All Mixed Up" Gone Away is "not a name here".', ("Gone Away",))
    assert [prepared.text[start:end] for start, end in prepared.names] == ["All Mixed Up", "Gone Away"]


class TestFindingTheModel:
    def test_the_official_model_comes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def folder(package: str) -> ModelFolder | None:
            asked.append(package)
            return ModelFolder(Path(), package, "3.8.0") if package == REPUBLISHED else None

        monkeypatch.setattr(spacy_model, "_folder", folder)
        pytest.importorskip("spacy")
        assert find_model().name == f"{REPUBLISHED}-3.8.0"
        assert asked == ["en_core_web_sm", REPUBLISHED]

    @pytest.mark.parametrize("model", ["no_such_model_here", "../etc", "a b"])
    def test_a_missing_model_is_named_with_the_install_line(self, model: str) -> None:
        with pytest.raises(MissingExtraError, match=r"pip install 'hippo-lit\[spacy\]'") as caught:
            SpacyExtractor(model)
        assert caught.value.extra == "spacy"
        assert model in str(caught.value)

    def test_a_changed_file_is_refused(self, tmp_path: Path) -> None:
        for file in SHA256:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_bytes(b"something else")
        with pytest.raises(ModelError, match="is not the file that was checked") as caught:
            ModelFolder(tmp_path, REPUBLISHED, "3.8.0").check()
        assert caught.value.model == f"{REPUBLISHED}-3.8.0"
        (tmp_path / "config.cfg").unlink()
        with pytest.raises(ModelError, match="cannot be read"):
            ModelFolder(tmp_path, REPUBLISHED, "3.8.0").check()

    @pytest.mark.model
    def test_the_installed_model_is_the_one_that_was_checked(self, extractor: SpacyExtractor) -> None:
        folder = find_model()
        folder.check()
        assert extractor.name == f"spacy-2/{folder.name}"

    def test_bad_batch_size(self) -> None:
        with pytest.raises(ValueError, match="batch_size"):
            SpacyExtractor(batch_size=0)
