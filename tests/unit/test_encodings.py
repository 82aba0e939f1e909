"""Encodings guessed from texts whose encoding is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from hippo_lit.errors import ConfigError
from hippo_lit.sources.encodings import FALLBACK, guess, known_encoding
from hippo_lit.sources.files import FileSource

CHINESE = "基于深度学习的文献检索方法研究。作者：王小明，北京大学计算机科学技术研究所"
TRADITIONAL = "基於深度學習的文獻檢索方法研究。作者：王小明，國立臺灣大學資訊工程學系"
JAPANESE = "深層学習に基づく文献検索の手法に関する研究。著者：山田太郎、東京大学"
KOREAN = "심층 학습에 기반한 문헌 검색 방법에 관한 연구. 저자: 김철수, 서울대학교"
RUSSIAN = "Методы поиска научной литературы на основе глубокого обучения. Автор: Иванов"
GERMAN = "Größe und Übermaß: Müller über Wärme, Schönheit und Überfluß"
FRENCH = "Étude de la littérature : méthodes, résultats et discussion à l’échelle européenne"
SPANISH = "El niño y la señora: análisis de la información científica en España"
POLISH_IN_1252 = "naïve façade résumé, «Zoë» – Brontë’s café"
CASES = [
    ("gb18030", CHINESE), ("big5", TRADITIONAL), ("cp932", JAPANESE), ("euc_jp", JAPANESE),
    ("euc_kr", KOREAN), ("cp1251", RUSSIAN), ("koi8_r", RUSSIAN),
    *((FALLBACK, text) for text in (GERMAN, FRENCH, SPANISH, POLISH_IN_1252)),
]  # fmt: skip


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_texts_of_any_length(encoding: str, text: str) -> None:
    """From eight characters on; fewer say too little."""
    wrong = []
    for start in range(len(text) - 8):
        for size in (8, 16, 64):
            part = text[start : start + size]
            data = part.encode(encoding)
            try:
                data.decode("utf-8")
            except UnicodeDecodeError:
                if data.decode(guess([data]), "replace") != part:
                    wrong.append(part)
    short = [part for part in wrong if len(part) < 20]
    assert len(short) <= (0 if encoding == FALLBACK else len(text)), short[:10]
    assert wrong == short
    assert guess([text.encode(encoding)]) == encoding


@pytest.mark.parametrize(("encoding", "text"), CASES)
@pytest.mark.parametrize("name", ["a.ris", "a.bib", "a.csv", "a.nbib"])
def test_files(tmp_path: Path, encoding: str, text: str, name: str) -> None:
    content = {
        "a.ris": f"TY  - JOUR\r\nTI  - {text}\r\nER  - \r\n",
        "a.bib": f"@misc{{k, title = {{{text}}}}}\n",
        "a.csv": f"title;year\n{text};2001\n",
        "a.nbib": f"PMID- 1\nTI  - {text}\n",
    }[name]
    path = tmp_path / name
    path.write_bytes(content.encode(encoding))
    source = FileSource(path)
    assert [paper.title for paper in source.papers()] == [text]
    assert "was read as " in source.report.notes[0]


def test_what_the_caller_says_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.ris"
    path.write_bytes("TY  - JOUR\rTI  - Größe für Zoë\rER  - \r".encode("mac-roman"))
    assert [p.title for p in FileSource(path, encoding="mac-roman").papers()] == ["Größe für Zoë"]
    with pytest.raises(ConfigError, match="no encoding 'klingon'"):
        list(FileSource(path, encoding="klingon").papers())
    assert known_encoding("a\0b") is known_encoding("base64") is None


def test_what_an_xml_declaration_says(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="{}"?><xml><record><title>Größe</title></record></xml>'
    for said, meant in (
        ("ISO-8859-1", "latin-1"),
        ("UTF-8", "utf-8"),
        ("utf-16", "utf-16"),
        ("UTF-8", "cp1252"),
    ):
        path = tmp_path / "a.xml"
        path.write_bytes(text.format(said).encode(meant))
        assert [paper.title for paper in FileSource(path).papers()] == ["Größe"], (said, meant)
