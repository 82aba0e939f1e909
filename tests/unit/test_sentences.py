from __future__ import annotations

import json
from pathlib import Path
from time import process_time

import pytest

from hippo_lit.sentences import first_sentences, sentence_spans, split_sentences

# Each list is one text, cut where it should be cut; the parts are joined by a space.
SPACED = {
    "citation": ["As Smith et al. (2010) and Wu et al. 2011 show, it holds.", "We agree."],
    "citation ends": ["The method is due to Smith et al.", "The results hold."],
    "latin": ["Some, e.g. mice, i.e. C57BL, vs. rats (cf. Fig. 2), ca. 30 of them, died.", "Others lived."],
    "decimals": ["At p < .05 and r = 0.7 it is 1.5e-3.", "It was 0.021.", "P = .01.", "Next."],
    "torn decimals": ["Sweating (48. 8%) and P < 0. 05 and p < . 05 were seen.", "So it was."],
    "titles": ["Dr. J. R. Smith met Prof. A. Xu and Mrs. Li at St. Mary's.", "They left."],
    "labels": ["See Fig. 2, Figs. S1-S3, Eq. 4, Sec. IV, No. 5, Vol. 12, pp. 3-9 and Tab. A.", "Then stop."],
    "words that are labels elsewhere": ["Was it?", "No.", "We ran 10 sec.", "Then we stopped."],
    "initialism": ["In the U.S. Department of Energy it is known.", "Not so in the U.S.", "The law differs."],
    "company": ["Acme Inc. Labs made it.", "It was made by Acme Inc.", "The firm is gone."],
    "degree": ["She holds a Ph.D. degree.", "He died at 5 p.m.", "It rained."],
    "letter ends": ["It needs vitamin C.", "We gave hepatitis B.", "In mice it did."],
    "unit ends": ["It was kept at 20 °C.", "Samples of 5 g.", "Xenon was used for 4 h.", "Blood was taken."],
    "acronym": ["It is due to CF.", "Care in EDs.", "Mass was found by LC-MS.", "Wu, Ed. of the book, left."],
    "species": ["E. coli and S. aureus grew with Lactobacillus spp. and var. alba.", "No more."],
    "small letter": ["It rose.", "mRNA and p53 rose too.", "α-synuclein did not."],
    "no sentence end": ["It was not seen approx. half the time. and more."],
    "ellipsis": ["Wait...", "What?", "It was the ... Company that did… nothing."],
    "quotes": ['He said "stop."', "Then he left.", '"Why?" he asked.', "“Never!”", "(It was late.)", "Gone."],
    "brackets": ["It works (see Fig. 2).", "[As shown.]", "It works (Smith et al.) The end."],
    "address": ["See https://x.org/a.B/c.Html and doi:10.1016/j.Cell.2010.05.", "Or me@Foo.Com now."],
    "numbered": ["1. Introduction is short.", "2. Methods follow: 1. One thing.", "2. Another."],
    "year": ["It began in 2010.", "25 patients came in 2011.", "We stayed."],
    "names with dots": ["Node.js v2.0 on the .NET platform hit .500 in e.g.a test.", "C++.", "C# too."],
    "symbols": ["It costs more.", "$5 was paid.", "±3 is the error.", "• A point.", "<b>Bold</b> it is."],
    "exclamation": ["Yes!", "Really?!", "There are n! orders."],
    "lower case": ["the model is small, e.g. the first.", "it is fast.", "we like it."],
    "tokenised": ["The wing was tested .", "The flow was slow ."],
    "arabic": ["هل هذا صحيح؟", "نعم.", "هذا جيد."],
    "urdu": ["یہ سچ ہے۔", "وہ گیا۔"],
    "hindi": ["यह सच है।", "वह गया।"],
    "russian": ["А. С. Пушкин писал, т.е. сочинял.", "Он умер."],
}
# The same for texts whose parts touch.
TOUCHING = {
    "lost space": ["A study in Italy.", "Data on 284 patients.", "METHODS: We ran it (n=3).", "It worked."],
    "lost space before a number": ["It gave laboratory data.", "53.6% of the patients were female."],
    "lost space after a number": ["We began in 2010.", "Mice lived at p<0.05.", "They died."],
    "lost space, odd words": [
        "It lasted 6 months after follow-up.",
        "MBT and L-PRF helped.",
        "A total of two.",
    ],
    "raised citation": ["It occurs in many countries.1,2 ", "However, it is rare.[3] ", "So be it."],
    "chinese": ["北京大学很好。", "我们去了！", "真的？", "他说：“是。”", "走了。"],
    "japanese": ["これは「はい。」と答えた。", "次です。"],
    "full-width": ["値は３．５です。", "次．", "本文です."],
    "chinese with ascii stops": ["模型很好.", "本文提出."],
    "blank line": ["A heading\n\n", "The text goes\non here.\n", "- an item\n", "- another"],
}


@pytest.mark.parametrize("name", SPACED)
def test_splits_at_stops(name: str) -> None:
    assert split_sentences(" ".join(SPACED[name])) == SPACED[name]


@pytest.mark.parametrize("name", TOUCHING)
def test_splits_where_no_space_tells(name: str) -> None:
    assert split_sentences("".join(TOUCHING[name])) == [part.strip() for part in TOUCHING[name]]


@pytest.mark.parametrize("text", ["", " \n\t ", "\u3000\u2029"])
def test_blank_text_has_no_sentence(text: str) -> None:
    assert split_sentences(text) == []
    assert first_sentences(text) == ""


@pytest.mark.parametrize(
    "text", ["word", "...", "!!!", "a.", ".5 of it", "🙂", "\ud800 \x00.", "No stop at all"]
)
def test_text_without_a_boundary_is_one_sentence(text: str) -> None:
    assert split_sentences(f"  {text}\n") == [text]


def test_spans_point_into_the_text() -> None:
    text = "  One is here.\n Two  is there. "
    assert sentence_spans(text) == [(2, 14), (16, 30)]
    assert [text[a:b] for a, b in sentence_spans(text)] == ["One is here.", "Two  is there."]


def test_first_sentences_is_a_slice() -> None:
    text = " A study in Italy.Data by Li et al. (2010)  on p < .05.  We say i.e. this. More. "
    assert (
        first_sentences(text) == "A study in Italy.Data by Li et al. (2010)  on p < .05.  We say i.e. this."
    )
    assert first_sentences(text, 1) == "A study in Italy."
    assert first_sentences(text, 99) == text.strip()
    assert first_sentences(text, 0) == first_sentences(text, -1) == ""


ADVERSARIAL = [".", "a.", "1.", '."', "… ", "(", "\n ", ".\n- a", "http://a.B", ".[1"]


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_time_is_linear(unit: str) -> None:
    # 200,000 characters take 0.6 s at worst here; anything quadratic takes minutes.
    text = unit * (200_000 // len(unit))
    began = process_time()
    spans = sentence_spans(text)
    assert process_time() - began < 10
    kept = "".join(text[a:b] for a, b in spans)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.shared
def test_real_abstracts_are_cut_into_plausible_sentences() -> None:
    path = Path(__file__).parents[3] / "shared/data/synergy_openalex/corpus.jsonl"
    if not path.exists():
        pytest.skip("../shared/data is absent")
    with path.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    assert sentences[:1] == ["To conduct an epidemiological study on pheochromocytoma in Italy."]
    words = sorted(len(sentence.split()) for sentence in sentences)
    assert 18 <= words[len(words) // 2] <= 24  # the median English abstract sentence
    assert sum(n < 3 for n in words) / len(words) < 0.02
