from __future__ import annotations

import pytest

from hippo_lit.names import first_family
from hippo_lit.titles import similar, title_of


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Ashish Vaswani", "vaswani"), ("Vaswani, A.", "vaswani"), ("Vaswani A", "vaswani"),
        ("A. N. Gomez", "gomez"), ("Ludwig van Beethoven", "beethoven"), ("Smith, John, Jr.", "smith"),
        ("van Beethoven, Ludwig", "beethoven"), ("", ""), ("—", ""),
        ("John Smith III", "smith"), ("O’Brien, Flann", "obrien"), ("Hector Garcia-Molina", "molina"),
        ("李明", "李明"), ("Øystein Sørlie", "sorlie"),
        ("The CMS Collaboration", "cmscollaboration"),
    ],
)  # fmt: skip
def test_the_family_name_in_every_order(name: str, family: str) -> None:
    assert first_family([name]) == family
    assert first_family(["", name]) == family


@pytest.mark.parametrize(
    ("title", "satellite"),
    [
        ("Corrigendum to “Ocean heat”", "correction"), ("Author Correction: Ocean heat", "correction"),
        ("Correction of motion artefacts in MRI", ""), ("Supplementary motor area in speech", ""),
        ("Supplementary Material: Ocean heat", "supplement"), ("Correction: Ocean heat", "correction"),
        ("Reply: Ocean heat", "reply"), ("Ocean heat: Supporting Information", "supplement"),
        ("Retraction Note to: Ocean heat", "retraction"), ("RETRACTED: Ocean heat", ""),
        ("WITHDRAWN: Ocean heat", ""), ("Data from: Ocean heat", "data"), ("Data from sensors", "data"),
        ("Editorial", "front"), ("Responses of terns to storms", ""), ("Authors' reply", "reply"),
    ],
)  # fmt: skip
def test_satellites_say_so_in_their_title(title: str, satellite: str) -> None:
    assert title_of(title).satellite == satellite


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ocean heat content", "Ocean heat content: observations since 1950", True),
        ("Colour vision of bees", "Color vision of bees", True),
        ("Ocean heat, part I", "Ocean heat, part 1", True),
        ("Ocean heat", "Ocean heat II", False),
        ("Ocean heat in 2018", "Ocean heat in 2019", False),
        ("Ocean heat", "Flood risk", False),
        ("深層学習の基礎と応用", "深層学習の基礎と応用。", True),
    ],
)
def test_titles_of_one_work_are_similar(one: str, other: str, same: bool) -> None:
    assert similar(title_of(one), title_of(other)) is similar(title_of(other), title_of(one)) is same


def test_short_and_generic_titles_tell_nothing() -> None:
    for title in ("Deep learning", "Reply", "Introduction", "Author Correction", "", "!!!", "深層学習"):
        assert not title_of(title).telling
    for title in ("Generative adversarial nets", "基于检索增强的大语言模型综述"):
        assert title_of(title).telling
