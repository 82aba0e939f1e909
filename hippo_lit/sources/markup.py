"""Markup that publishers deposit in titles and abstracts (HTML, JATS, MathML, LaTeX) to readable text."""

from __future__ import annotations

import html
import re

from hippo_lit.sources.latex import latex_within

# Only tags known to occur, so that "p < 0.05 and q > 0.1" stays.
_BLOCK = re.compile(
    r"</?(?:jats:)?(?:p|br|div|sec|title|label|list|list-item|li|ul|ol|abstract|abstracttext|h[1-6]|disp-formula"
    r"|table|tbody|thead|tr|td|th|blockquote|hr|section)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_INLINE = re.compile(
    r"</?(?:jats:|mml:)?(?:i|b|u|em|strong|italic|bold|underline|overline|monospace|sub|sup|inf|sc|scp|span|small"
    r"|big|tt|font|a|strike|s|q|cite|code|kbd|abbr|mark|roman|sans-serif|styled-content|fn|fig|img|nobr|wbr"
    r"|math|mrow|mi|mn|mo|ms|msub|msup|msubsup|mtext|mstyle|mspace|mfrac|mover|munder|munderover|mfenced|msqrt"
    r"|mroot|mpadded|mphantom|merror|menclose|mtable|mtr|mtd|mprescripts|mmultiscripts|none|semantics|xref"
    r"|ext-link|uri|inline-formula|alternatives|tex-math|inline-graphic|graphic|named-content)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_HIDDEN = re.compile(
    r"<!--.*?-->|<(script|style|annotation|(?:mml:)?annotation-xml)\b[^<>]*>.*?</\1\s*>|<\?[^<>]*\?>",
    re.IGNORECASE | re.DOTALL,
)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_TEX_TWIN = re.compile(r"<(?:jats:)?tex-math\b[^<>]*>.*?</(?:jats:)?tex-math>", re.IGNORECASE | re.DOTALL)
_ATOM = r"\s*<(?:mml:)?(?:mi|mn|mtext)\b[^<>]*>([^<>]*)</(?:mml:)?(?:mi|mn|mtext)>\s*"
_FRACTION = re.compile(rf"<(?:mml:)?mfrac\b[^<>]*>{_ATOM}{_ATOM}</(?:mml:)?mfrac>", re.IGNORECASE)
_POWER = re.compile(rf"<(?:mml:)?msup\b[^<>]*>{_ATOM}{_ATOM}</(?:mml:)?msup>", re.IGNORECASE)
_RAISED = re.compile(r"<(?:jats:)?sup\b[^<>]*>\s*([-+−–]?\d{0,3}[-+−–]?)\s*</(?:jats:)?sup>", re.IGNORECASE)
_SUPERSCRIPTS = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
MAX_UNESCAPES = 3  # "&amp;amp;lt;" has been seen


def strip_markup(text: str) -> str:
    """The text without its tags and character references; paragraphs are parted by a space.

    Numbers that stand raised become raised letters, since 10<sup>6</sup> is not 106; lowered ones come down
    to the line. Comments and scripts vanish. Nothing is followed or run.

    >>> strip_markup("<p>H<sub>2</sub>O &amp; <i>E. coli</i></p>, p < 0.05, 10<sup>-6</sup>")
    ' H2O & E. coli , p < 0.05, 10⁻⁶'
    """
    for _ in range(MAX_UNESCAPES):
        if "&" not in text or (plain := html.unescape(text)) == text:
            break
        text = plain
    if "<" not in text:
        return text
    text = _HIDDEN.sub(" ", _CDATA.sub(r"\1", text))
    if "math" in text:
        text = _TEX_TWIN.sub("", text) if re.search(r"<(?:mml:)?math\b", text) else text
        text = _FRACTION.sub(r"\1/\2", text)
        text = _POWER.sub(lambda found: found[1] + _raised(found[2]), text)
    text = _RAISED.sub(lambda found: _raised(found[1]), text)
    return _INLINE.sub("", _BLOCK.sub(" ", text))


def readable(text: str) -> str:
    """`strip_markup`, and `latex_within` as Unicode; text without markup stays as it is.

    >>> readable(r"Decay of the $\\alpha$ particle"), readable("R&amp;D, ~5 -- 6")
    ('Decay of the α particle', 'R&D, ~5 -- 6')
    """
    text = strip_markup(text)
    return latex_within(text) if "\\" in text or "$" in text else text


def _raised(text: str) -> str:
    raised = text.translate(_SUPERSCRIPTS)
    return raised if re.fullmatch("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]*", raised) else f"^{text}"
