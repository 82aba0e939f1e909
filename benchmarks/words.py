"""Words for papers that nobody wrote."""

from __future__ import annotations

_SYLLABLES = [
    a + b for a in "b d f g k l m n p r s t v z ch st tr".split() for b in "a e i o u ar en".split()
]


def word(number: int) -> str:
    """A pronounceable word for each number."""
    parts, number = [], number + len(_SYLLABLES)
    while number:
        number, rest = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[rest])
    return "".join(parts)
