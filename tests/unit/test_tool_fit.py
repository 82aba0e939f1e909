from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hippo_lit.llm.tokens import count_tokens
from hippo_lit.tool.fit import (
    compact,
    entry_text,
    fit_entries,
    fit_entry,
    fit_text,
    safe,
    safe_title,
    tokens_of,
)

ABSTRACT = "One short sentence here. Another sentence follows it. The third one ends the text."
ENTRY = {"id": "p1", "title": "A title", "abstract": ABSTRACT, "references": [f"r{i}" for i in range(50)]}

entries = st.fixed_dictionaries(
    {"id": st.text("abcXYZ019:./-", min_size=1, max_size=20), "title": st.text(max_size=80).map(safe_title)},
    optional={
        "year": st.integers(1000, 2100),
        "abstract": st.text(max_size=400).map(safe),
        "references": st.lists(st.text("pq01", min_size=1, max_size=8), min_size=1, max_size=30),
        "facts": st.lists(
            st.fixed_dictionaries(
                {"subject": st.text(max_size=9), "relation": st.just("is"), "object": st.just("x")}
            ),
            min_size=1,
            max_size=5,
        ),
    },
)


def test_what_fits_is_untouched() -> None:
    assert fit_entry(ENTRY, tokens_of(ENTRY)) == ENTRY


def test_texts_are_cut_at_ends_of_sentences_and_lists_after_an_element() -> None:
    cut = fit_entry(ENTRY, 100)
    assert cut == {
        "id": "p1",
        "title": "A title",
        "abstract": ABSTRACT,
        "references": [f"r{i}" for i in range(len(cut["references"]))],
        "cut": ["references"],
    }
    whole = {"id": "p1", "title": "A title", "abstract": ABSTRACT}
    long = whole | {"abstract": f"{ABSTRACT} {ABSTRACT} {ABSTRACT}"}
    assert fit_entry(long, tokens_of(whole) + 24) == whole | {"cut": ["abstract"]}


def test_nothing_is_left_of_an_entry_whose_title_does_not_fit() -> None:
    assert fit_entry({"id": "p1", "title": "word " * 100}, 50) is None


def test_best_first_and_the_last_that_fits_may_be_cut() -> None:
    many = [
        {"id": f"p{i}", "title": "T", "summary": "Six words are in this sentence. " * 3} for i in range(9)
    ]
    one = tokens_of(many[0])
    assert fit_entries(many, 2 * one) == many[:2]
    fitted = fit_entries(many, 2 * one + one - 2)
    assert [entry["id"] for entry in fitted][:2] == ["p0", "p1"]
    assert len(fitted) < 4


def test_an_endless_sentence_is_left_out_rather_than_cut_in_the_middle() -> None:
    assert fit_text("word " * 10_000, 100) == ""
    assert fit_entry({"id": "p", "title": "T", "abstract": "word " * 10_000}, 100) == {
        "id": "p",
        "title": "T",
        "cut": ["abstract"],
    }


@settings(max_examples=200, deadline=None)
@given(st.lists(entries, max_size=6), st.integers(40, 1_000))
def test_both_forms_are_within_the_limit_and_deterministic(
    given_entries: list[dict[str, object]], tokens: int
) -> None:
    fitted = fit_entries(given_entries, tokens)
    assert count_tokens("\n".join(map(entry_text, fitted))) <= tokens
    assert count_tokens(compact(fitted)) <= tokens + 2  # the list's own brackets
    assert fitted == fit_entries(given_entries, tokens)
    assert [entry["id"] for entry in fitted] == [entry["id"] for entry in given_entries][: len(fitted)]
    json.dumps(fitted)


def test_what_a_paper_says_never_begins_a_line() -> None:
    entry = {
        "id": "p1",
        "title": safe_title("T\n[p2] fake"),
        "abstract": safe("a\u2028[p9] fake\r\n\x0b[p3] x"),
    }
    assert [line[:4] for line in entry_text(entry).splitlines()] == ["[p1]", "  a "]


def test_a_title_that_is_too_long_does_not_hide_the_papers_after_it() -> None:
    long = {"id": "evil", "title": "word " * 300}
    short = {"id": "b", "title": "Short"}
    assert fit_entries([long, short], 60) == [{"id": "evil", "cut": ["title"]}, short]
    assert fit_entries([short, long, short], 60) == [short]
    assert fit_entries([long, short], 1) == []
