"""When two names are one entity, and when two statements are one fact."""

from __future__ import annotations

import pytest

from hippo_lit.graph.keys import MAX_KEY_CHARS, entity_key, link_key, statement_key, title_names
from hippo_lit.types import Fact


@pytest.mark.parametrize(
    ("surface", "key"),
    [
        ("The Beatles", "beatles"),
        ('"The Beatles"', "beatles"),
        ("all of the patients", "of the patients"),
        ("these many such patients", "patients"),
        ("the\u00a0Beatles", "beatles"),
        ("Obama's", "obama"),
        ("Obama’s ", "obama"),
        ("the", "the"),
        ("The -", "the"),
        ("theory", "theory"),
        ("anthem", "anthem"),
        ("Crohn's disease", "crohn s disease"),
        # These only look like a possessive or an article.
        ("protein S", "protein s"),
        ("A* search", "a search"),
        ("A-Team", "a team"),
        ("A/B testing", "a b testing"),
        ("S", "s"),
        ("", ""),
        ("?!", ""),
        ("\ud800", ""),
        ("x" * MAX_KEY_CHARS, "x" * MAX_KEY_CHARS),
        ("x" * (MAX_KEY_CHARS + 1), ""),
    ],
)
def test_entity_keys(surface: str, key: str) -> None:
    assert entity_key(surface) == key


@pytest.mark.parametrize(
    "group",
    [
        ["C++"],
        ["C#"],
        ["C"],
        ["β-catenin", "β catenin", "Β-Catenin"],
        ["catenin"],
        ["北京大学", " 北京大学 "],
        ["北京"],
        ["جامعة القاهرة"],
        ["Café", "Cafe\u0301", "CAFÉ"],
        ["cafe"],
        ["3′ UTR", "3′-UTR"],
        ["3 UTR"],
        ["ﬁbrosis", "Fibrosis"],
    ],
)
def test_what_differs_in_the_field_differs_here(group: list[str]) -> None:
    others = ["C++", "C#", "C", "β-catenin", "catenin", "北京大学", "北京", "جامعة القاهرة", "Café", "cafe"]
    keys = {entity_key(surface) for surface in group}
    assert len(keys) == 1
    assert "" not in keys
    assert [other for other in others if entity_key(other) in keys] == [o for o in others if o == group[0]]


def test_a_long_run_of_articles_takes_no_time() -> None:
    assert entity_key("the " * 100_000) == ""


def test_links_know_no_accents_but_keep_vowel_signs() -> None:
    assert link_key(entity_key("Aschenbrödel")) == "aschenbrodel"
    assert link_key("ångström") == "angstrom"
    assert link_key("हिन्दी") == "हिन्दी"
    assert link_key("がん") == "がん"  # voiced kana are letters of their own, not accents


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("The Mask (1994 film)", {"mask 1994 film": "The Mask (1994 film)", "mask": "The Mask"}),
        ("深度学习（综述）", {"深度学习 综述": "深度学习（综述）", "深度学习": "深度学习"}),
        ("Plain", {"plain": "Plain"}),
        ("(all)", {"all": "(all)"}),
        ("", {}),
        ("w " * 200, {}),
    ],
)
def test_titles_name_two_things_at_most(title: str, names: dict[str, str]) -> None:
    assert title_names(title) == names


def test_statements_agree_but_for_case_signs_and_articles() -> None:
    said = statement_key(Fact("The drug", "has", "an effect"))
    assert statement_key(Fact("drug", "HAS", "the effect.")) == said
    assert statement_key(Fact("drug", "has", "no effect")) != said
    assert statement_key(Fact("drug", "has no", "effect")) != said
    assert statement_key(Fact("most drugs", "have", "x")) != statement_key(Fact("few drugs", "have", "x"))
    assert statement_key(Fact("a b", "c", "d")) != statement_key(Fact("a", "b c", "d"))
