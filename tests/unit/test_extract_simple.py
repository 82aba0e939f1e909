from __future__ import annotations

import pytest

from hippo_lit.extract.acronyms import definitions
from hippo_lit.extract.simple import NoExtractor, SimpleExtractor
from hippo_lit.types import Extraction, Fact, Passage


def simple(title: str, body: str = "") -> Extraction:
    (found,) = SimpleExtractor().extract([Passage("p", 0, title, body)])
    assert isinstance(found, Extraction)
    return found


def surfaces(title: str, body: str = "", kind: str | None = None) -> set[str]:
    return {m.surface for m in simple(title, body).mentions if kind in (None, m.kind)}


def test_runs_of_capitals_are_names() -> None:
    body = "In 1891 Marie Curie went to Paris. Paris welcomed her. Radium was her subject."
    assert surfaces("on radium", body, "name") == {"Marie Curie", "Paris"}  # "Radium" only opens a sentence


def test_particles_join_names_and_articles_do_not_open_them() -> None:
    body = "Die Universität Heidelberg ehrte Ludwig van Beethoven und Clara Schumann."
    found = surfaces("x", body)
    assert {"Universität Heidelberg"} <= found
    assert any(name.startswith("Ludwig van Beethoven") for name in found)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We tuned GPT-4 and LoRA on mRNA data of COVID-19.", {"GPT-4", "LoRA", "mRNA", "COVID-19"}),
        ("Phương pháp “bài toán lớn” ở đây", {"bài toán lớn"}),
        ("本文在《自然》与「科学」发表", {"自然", "科学"}),
        ("работала в Париже, Мария Кюри", {"Мария Кюри"}),
    ],
)
def test_names_that_a_script_marks(text: str, names: set[str]) -> None:
    assert names <= surfaces("x", text, "name")


def test_han_terms_are_cut_at_function_characters() -> None:
    found = surfaces("检索增强生成", "北京大学和清华大学的研究人员在BERT上进行了实验。")
    assert {"检索增强生成", "北京大学", "清华大学", "BERT"} <= found
    assert all(len(term) <= 8 for term in found)


@pytest.mark.parametrize(
    ("title", "body", "term"),
    [
        ("نموذج اللغة", "يستخدم نموذج اللغة الكبير. يعتمد نموذج اللغة على البيانات.", "نموذج اللغة"),
        ("ज्ञान ग्राफ", "ज्ञान ग्राफ का उपयोग खोज में होता है।", "ज्ञान ग्राफ"),
        ("지식 그래프", "서울대학교는 지식 그래프를 연구한다.", "지식 그래프"),
        ("מודל שפה", "אנו בוחנים מודל שפה גדול.", "מודל"),
    ],
)
def test_repeated_words_of_scripts_without_case_are_terms(title: str, body: str, term: str) -> None:
    found = {(m.surface, m.sentence) for m in simple(title, body).mentions if m.kind == "phrase"}
    assert {(term, -1), (term, 0)} <= found


def test_mentions_say_their_sentence() -> None:
    found = simple("On BERT", "We use GPT-2. It beats ELMo, and GPT-2 is small.")
    assert [(m.surface, m.sentence) for m in found.mentions] == [
        ("BERT", -1),
        ("GPT-2", 0),
        ("ELMo", 1),
        ("GPT-2", 1),
    ]


@pytest.mark.parametrize(
    "body", ["", " \n\t", "😀 !!! …", "12 34.5", "\x00\ud800", "a" * 200_000, "A " * 50_000]
)
def test_any_text_has_a_result(body: str) -> None:
    found = simple("", body)
    assert found.facts == ()
    assert len(found.mentions) <= 500


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("We use retrieval-augmented generation (RAG).", "RAG", "retrieval-augmented generation"),
        ("RAG (retrieval-augmented generation) helps.", "RAG", "retrieval-augmented generation"),
        ("the hypothalamic‐pituitary‐adrenal (HPA) axis", "HPA", "hypothalamic‐pituitary‐adrenal"),
        ("low-rank adapters (LoRAs) are", "LoRAs", "low-rank adapters"),
        ("magnetic resonance imaging (MRI; 3 T)", "MRI", "magnetic resonance imaging"),
        ("adenosine triphosphate (ATP)", "ATP", "adenosine triphosphate"),
        (
            "National Institute of Neurological Disorders and Stroke (NINDS)",
            "NINDS",
            "National Institute of Neurological Disorders and Stroke",
        ),
    ],
)
def test_acronyms_that_the_text_defines(text: str, short: str, long: str) -> None:
    assert [(d.short, d.long) for d in definitions(text)] == [(short, long)]
    found = simple("t", text)
    assert found.facts == (Fact(short, "stands for", long),)
    assert found.fact_sentences == (0,)


@pytest.mark.parametrize(
    "text",
    ["Adam (2015) said", "in the US (see Fig. 2)", "the gene (p < 0.05)", "(RAG)", "large models (OpenAI)"],
)
def test_other_brackets_define_nothing(text: str) -> None:
    assert definitions(text) == []


def test_no_extractor_finds_nothing_for_every_passage() -> None:
    passages = [Passage("p", i, "Marie Curie", "DNA") for i in range(3)]
    assert list(NoExtractor().extract(passages)) == [Extraction()] * 3
