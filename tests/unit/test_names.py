from __future__ import annotations

import pytest

from hippo_lit.names import fold_venue, is_named, looked_up, words_of

SAME = [
    ("John A. Smith", "smith"), ("John A. Smith", "Smith, John"), ("J. Smith", "John Smith"),
    ("Smith JA", "John Smith"), ("Smith JA", "Smith"), ("Liu R.", "R. Liu"), ("Liu R.", "Rui Liu"),
    ("John Smith Jr.", "Smith"), ("Smith, Jr., John", "Smith"), ("Yamada Taro", "Taro Yamada"),
    ("Jan van der Berg", "van der Berg"), ("Jan van der Berg", "Berg"), ("Berg, Jan van der", "Berg"),
    ("Müller, Jürgen", "Muller"), ("Søren Kierkegaard", "SOREN KIERKEGAARD"), ("Conan O'Brien", "obrien"),
    ("Jean-Luc Picard", "J.-L. Picard"), ("José García Márquez", "García Márquez"),
    ("王小明", "王"), ("王小明", "王小明"), ("王 小明", "王小明"), ("王 小明", "王"), ("김철수", "김"),
    ("欧阳修", "欧阳"), ("山田太郎", "山田"),
    ("Иван Иванов", "Иванов"), ("Иванов И.И.", "иванов"), ("Иванов Иван Иванович", "Иванов"),
    ("محمد علي", "علي"), ("Γιώργος Παπαδόπουλος", "Παπαδοπουλος"),
]  # fmt: skip
OTHERS = [
    ("John A. Smith", "Jane Smith"), ("John Smith", "John"), ("Anna Smithson", "Smith"),
    ("José García Márquez", "García"), ("王小明", "小明"), ("王小明", "李"), ("A. Smith", "B. Smith"),
    ("John Albert Smith", "John Bert Smith"), ("", "x"), ("x", ""), ("x", " , "),
]  # fmt: skip


@pytest.mark.parametrize(("name", "wanted"), SAME)
def test_the_same_person(name: str, wanted: str) -> None:
    assert is_named(name, wanted)
    assert looked_up(wanted) & words_of(name), "the index would not find it"


@pytest.mark.parametrize(("name", "wanted"), OTHERS)
def test_another_person(name: str, wanted: str) -> None:
    assert not is_named(name, wanted)


def test_venues() -> None:
    assert fold_venue("The Lancet") == fold_venue("LANCET")
    assert fold_venue("Theory & Practice") == fold_venue("theory and practice")
    assert fold_venue("Nature") != fold_venue("Nature Communications")
