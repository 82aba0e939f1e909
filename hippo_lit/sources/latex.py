"""LaTeX, as BibTeX files hold it in titles, abstracts and names, to readable Unicode."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache

_PLAIN = str.maketrans({"{": None, "}": None, "~": " "})
_LIGATURES = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))
_UNESCAPED = re.compile(r"(?<!\\)[%&#]")
_MATH = re.compile(r"(?<!\\)\$([^$]*)(?<!\\)\$")
_SUBSCRIPT = re.compile(r"_(?:\{([^{}]*)\}|(\w))")
_CHARGE = re.compile(r"\^(?:\{(\d*[+-])\}|([+-]))")
_MONEY = re.compile(r"\d[\d.,]*\s+[A-Za-z][^\\^_=<>{}]*")
_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?\s*|(.)|\Z)|[{}$]", re.DOTALL)
# What pylatexenc raises at markup it does not expect, an argument that is missing for one.
_FAILURES = (LookupError, AttributeError, TypeError, ValueError, RecursionError)

_WITHIN = re.compile(
    r"(?P<path>(?<!\w)[A-Za-z]:\\\S*|\\\\\w\S*)"
    r"|\$[^$]*[\\^_{][^$]*\$"
    r"|\{\\(?:[a-z]+ [^{}]*|[\"'`^~=.][^{}]{1,3}|[\"'`^~=.]\{[^{}]{1,2}\})\}"
    r"|\\[\"'`^~=.](?:\{\\?[A-Za-z]\}|\\?[A-Za-z])"
    r"|\\(?P<command>[A-Za-z]+)(?:\{(?:[^{}]|\{[^{}]*\})*\})*"
    r"|\\(?P<sign>[%&_#$])"
)
_WORDS = {
    "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX", "XeTeX": "XeTeX",
    "hyphen": "-", "slash": "/", "textless": "<", "textgreater": ">", "textasciitilde": "~",
    "glqq": "„", "grqq": "“", "flqq": "«", "frqq": "»",
}  # fmt: skip
# Letters in the styles of mathematics are other characters than letters, and nobody searches for them.
_STYLES = [*(f"math{style}" for style in ("bb", "bf", "cal", "frak", "it", "scr", "sf", "tt")), "mbox"]
_STYLES += [f"text{style}" for style in ("md", "sf", "tt", "up")]
_KEEP_LAST_ARGUMENT = dict.fromkeys(("url", "mkbibquote", *_STYLES), "{") | {"href": "{{", "enquote": "*{"}
_DROP = {"cite": "*[[{", "citep": "*[[{", "citet": "*[[{"} | dict.fromkeys(("ref", "noopsort", "thanks"), "{")


def plain_latex(text: str) -> str:
    """Accents and symbols as Unicode, commands and braces gone; never fails.

    "%" is a percent sign, as BibTeX has it. Subscripts come down to the line: H$_2$O is H2O.

    >>> plain_latex(r"{\\'E}tude of the {LHC} at 7~TeV")
    'Étude of the LHC at 7 TeV'
    """
    if "\\" not in text and "$" not in text:
        text = text.translate(_PLAIN)
        for ascii_form, sign in _LIGATURES:
            text = text.replace(ascii_form, sign)
        return text
    text = _MATH.sub(_simpler_math, _UNESCAPED.sub(r"\\\g<0>", text))
    decode = _decoder()
    try:
        return decode(text)
    except _FAILURES:
        return " ".join(map(_decode_word, text.split()))


def latex_within(text: str) -> str:
    r"""Text that is not LaTeX but may hold some: formulas, accents and known commands become Unicode.

    All else stays as it is, to the letter: braces, single dollars, unknown commands, paths of Windows.

    >>> latex_within(r"The $\alpha_1$ of {111} planes in C:\temp\new, na\"{\i}vely \textit{seen}")
    'The α1 of {111} planes in C:\\temp\\new, naïvely seen'
    """
    return _WITHIN.sub(_converted, text)


def verbatim(text: str) -> str:
    r"""A URL or DOI without the LaTeX around it: \url{…}, braces, escaped signs."""
    return re.sub(r"\\url|[{}]", "", re.sub(r"\\([_%&#~$])", r"\1", text))


def _converted(found: re.Match[str]) -> str:
    if found["path"]:
        return found[0]
    if found["sign"]:
        return found["sign"]
    if (command := found["command"]) and not _is_known(command):
        return found[0]
    return plain_latex(found[0]) or found[0]


@cache
def _is_known(command: str) -> bool:
    from pylatexenc.latex2text import get_default_latex_context_db  # type: ignore[import-untyped]

    rules = get_default_latex_context_db()
    return command in _WORDS or command in _KEEP_LAST_ARGUMENT or rules.get_macro_spec(command) is not None


def _decode_word(word: str) -> str:
    try:
        return _decoder()(word)
    except _FAILURES:
        return _COMMAND.sub(r"\1", word)


def _simpler_math(found: re.Match[str]) -> str:
    if _MONEY.fullmatch(found[1]):  # from "$5 and $6", not a formula
        return rf"\${found[1]}\$"
    body = _CHARGE.sub(r"\1\2", _SUBSCRIPT.sub(r"\1\2", found[1]))
    return f"${body}$"


@cache
def _decoder() -> Callable[[str], str]:
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec
    from pylatexenc.latex2text import get_default_latex_context_db as output_rules
    from pylatexenc.latexwalker import get_default_latex_context_db as input_rules  # type: ignore[import-untyped]
    from pylatexenc.macrospec import std_macro  # type: ignore[import-untyped]

    # Its warnings about single commands would go to the terminal where nobody set logging up.
    logging.getLogger("pylatexenc").addHandler(logging.NullHandler())
    texts = [MacroTextSpec(name, text) for name, text in _WORDS.items()]
    texts += [MacroTextSpec(name, f"%({len(args)})s") for name, args in _KEEP_LAST_ARGUMENT.items()]
    texts += [MacroTextSpec(name, "") for name in _DROP]
    rules = output_rules()
    rules.add_context_category("bibliography", macros=texts, prepend=True)
    walk = input_rules()
    arguments = [std_macro(name, args) for name, args in (_KEEP_LAST_ARGUMENT | _DROP).items()]
    walk.add_context_category("bibliography", macros=arguments, prepend=True)
    converter = LatexNodes2Text(latex_context=rules, math_mode="text")

    def decode(text: str) -> str:
        return str(converter.latex_to_text(text, latex_context=walk)).replace("\xa0", " ")

    return decode
