"""Conditions on which a check in CI fails: `--fail-if 'hippo R@5 < 0.75'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hippo_lit.errors import ConfigError
from hippo_lit.evaluate.measures import check_measures

_FORM = re.compile(r"\s*(\S+)\s+(\S+)\s*(<=|>=|<|>)\s*(\d*\.?\d+)\s*")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A system's mean by a measure, in [0, 1], and the bound that it must not cross."""

    system: str
    measure: str
    relation: str
    bound: float

    def crossed_by(self, value: float) -> bool:
        """Whether the check fails; NaN, a mean over no query, never passes."""
        return value != value or _COMPARE[self.relation](value, self.bound)

    def __str__(self) -> str:
        return f"{self.system} {self.measure} {self.relation} {self.bound:g}"


def parse_gate(text: str) -> Gate:
    """Raises ConfigError.

    >>> parse_gate("hippo MRR@10 < 0.75")
    Gate(system='hippo', measure='RR@10', relation='<', bound=0.75)
    """
    found = _FORM.fullmatch(text)
    if not found:
        raise ConfigError(f"--fail-if {text!r}: write it as 'hippo R@5 < 0.75'", key="fail-if")
    bound = float(found[4])
    if bound > 1:
        raise ConfigError(f"--fail-if {text!r}: measures are between 0 and 1, not percent", key="fail-if")
    return Gate(found[1], check_measures([found[2]])[0], found[3], bound)
