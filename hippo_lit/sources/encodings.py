"""Which encoding bytes are in that are not UTF-8: strict rules on what letters of a script look like.

Statistics over single bytes take short files for anything; here a file is in an East Asian encoding only
where all of it can be decoded so and most of what comes out are the common characters of that encoding.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

FALLBACK = "cp1252"
NAMES = {
    "cp1252": "Windows-1252", "gb18030": "GB18030 (GBK)", "big5": "Big5", "cp932": "Shift-JIS",
    "euc_kr": "EUC-KR", "euc_jp": "EUC-JP", "cp1251": "Windows-1251", "koi8_r": "KOI8-R",
}  # fmt: skip
MIN_COMMON = 0.7
MIN_ROW = 2
"""Mean number of characters side by side."""
_PAIR = {
    "gb18030": re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]"),
    "big5": re.compile(rb"[\x81-\xfe][\x40-\x7e\xa1-\xfe]"),
    "euc_kr": re.compile(rb"[\xa1-\xfe][\xa1-\xfe]"),
    "euc_jp": re.compile(rb"[\xa1-\xfe][\xa1-\xfe]"),
    "cp932": re.compile(rb"[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]"),
}


def guess(lines: list[bytes]) -> str:
    """The encoding of lines that are not valid UTF-8: a key of `NAMES`; FALLBACK where none stands out.

    >>> guess(["作者：王小明".encode("gbk")]), guess(["Größe, é".encode("cp1252")])
    ('gb18030', 'cp1252')
    """
    data = b"\n".join(lines)
    shares = {
        name: common(data)
        for name, common in _COMMON.items()
        if _decodes(data, name) and _in_rows(data, _PAIR[name])
    }
    best = max(shares, key=lambda name: shares[name], default=FALLBACK)
    if shares and shares[best] >= MIN_COMMON:
        return best
    return _cyrillic(data) or FALLBACK


def known_encoding(name: str) -> str | None:
    """Python's name for a text encoding; None where there is none of this name."""
    try:
        found = codecs.lookup(name)
        b"a".decode(name, "replace")
    except (LookupError, ValueError):  # a NUL in the name is a ValueError
        return None
    return found.name


def _in_rows(data: bytes, pair: re.Pattern[bytes]) -> bool:
    """Whether double bytes stand in rows, as in words of East Asia, and not alone between Latin letters."""
    rows = [len(row) // 2 for row in re.findall(b"(?:" + pair.pattern + b")+", data)]
    return bool(rows) and sum(rows) >= MIN_ROW * len(rows)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _share(encoding: str, common: Callable[[bytes], bool]) -> Callable[[bytes], float]:
    """How much of the double bytes is common; that of Latin text, whose letters stand alone, is low."""

    def share(data: bytes) -> float:
        pairs: list[bytes] = _PAIR[encoding].findall(data)
        high = sum(byte >= 0x80 for byte in data)
        if not pairs:
            return 0.0
        hits = [pair for pair in pairs if common(pair)]
        # Bytes beyond ASCII outside of pairs speak against it.
        covered = sum(byte >= 0x80 for pair in pairs for byte in pair)
        return len(hits) / len(pairs) * covered / high

    return share


def _euc_jp(data: bytes) -> float:
    # It shares its layout with GB2312; what tells them apart is how much of the text is kana.
    pairs = _PAIR["euc_jp"].findall(data)
    kana = sum(pair[0] in (0xA4, 0xA5) for pair in pairs)
    return 1.1 if len(pairs) > 5 and kana / len(pairs) > 0.12 else 0.0


def _euc_kr(data: bytes) -> float:
    # Hangul fills rows B0 to C8; Chinese text reaches far beyond them.
    share = _share("euc_kr", lambda pair: 0xB0 <= pair[0] <= 0xC8 or pair[0] == 0xA1)(data)
    return share + 0.05 if share > 0.95 and len(_PAIR["euc_kr"].findall(data)) > 3 else 0.0


def _cp932(data: bytes) -> float:
    pairs: list[bytes] = _PAIR["cp932"].findall(data)
    kana = sum(
        (p[0] == 0x82 and 0x9F <= p[1] <= 0xF1) or (p[0] == 0x83 and 0x40 <= p[1] <= 0x96) for p in pairs
    )
    kanji = sum(0x88 <= pair[0] <= 0x97 for pair in pairs)
    marks = sum(pair[0] == 0x81 for pair in pairs)
    if not pairs:
        return 0.0
    share = (kana + kanji + marks) / len(pairs)
    return share * (1.1 if kana / len(pairs) > 0.2 else 0.8)


_COMMON: dict[str, Callable[[bytes], float]] = {
    # The first level of GB2312, and its signs; of Big5 the frequent characters, and its signs.
    "gb18030": _share(
        "gb18030", lambda pair: pair[1] >= 0xA1 and (0xB0 <= pair[0] <= 0xD7 or pair[0] in (0xA1, 0xA3))
    ),
    "big5": _share("big5", lambda pair: 0xA4 <= pair[0] <= 0xC6 or pair[0] == 0xA1),
    "euc_kr": _euc_kr,
    "euc_jp": _euc_jp,
    "cp932": _cp932,
}


def _cyrillic(data: bytes) -> str | None:
    """Russian and its like: words of many letters beyond ASCII, nearly all of them lower case."""
    runs = re.findall(rb"[\xc0-\xff]{3,}", data)
    high = sum(byte >= 0x80 for byte in data)
    within = sum(map(len, runs))
    if not high or within < 0.7 * high:
        return None
    lower = sum(byte >= 0xE0 for run in runs for byte in run)
    if lower > 0.7 * within:
        return "cp1251"
    return "koi8_r" if lower < 0.3 * within else None
