"""HTML and JATS markup, as publishers deposit it in titles and abstracts, to plain text."""

from __future__ import annotations

import html
import re

# Only tags known to occur, so that "p < 0.05 and q > 0.1" stays.
_BLOCK = re.compile(
    r"</?(?:jats:)?(?:p|br|div|sec|title|label|list|list-item|li|ul|ol|abstract|h[1-6]|disp-formula)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"</?(?:jats:|mml:)?(?:i|b|u|em|strong|italic|bold|underline|monospace|sub|sup|inf|sc|scp|span|small|tt|font|a"
    r"|math|mrow|mi|mn|mo|msub|msup|msubsup|mtext|mstyle|mspace|mfrac|mover|munder|mfenced|semantics|xref|ext-link"
    r"|inline-formula|tex-math|inline-graphic|named-content)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)


def strip_markup(text: str) -> str:
    """The text without its tags and character references; paragraphs are parted by a space.

    >>> strip_markup("<p>H<sub>2</sub>O &amp; <i>E. coli</i></p>, p < 0.05")
    ' H2O & E. coli , p < 0.05'
    """
    if "&" in text:
        text = html.unescape(text)
    if "<" not in text:
        return text
    return _INLINE.sub("", _BLOCK.sub(" ", text))
