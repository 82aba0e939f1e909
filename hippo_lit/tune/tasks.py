"""What a prompt is for: what it is told of a case, how its reply is read, and how good that is.

A task per prompt: `filter_task`, `extract_task`, `answer_task`. Trying, scoring and optimising know no more
of them than this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hippo_lit.errors import ConfigError

UNREADABLE = "the reply cannot be read"
ONE_OBJECT = "Reply with one JSON object and nothing else."


class Labelled(Protocol):
    """A case: anything with an id that no other case of its set has."""

    @property
    def id(self) -> str: ...


C = TypeVar("C", bound=Labelled)
C_in = TypeVar("C_in", bound=Labelled, contravariant=True)


@dataclass(frozen=True, slots=True)
class Scored:
    """How good one reply is: by each measure, in [0, 1], and in words for a model that is to improve it.

    `counts` are (named rightly, named, wanted), to be pooled. `error` says why a reply cannot be used; such
    a reply is worth 0 by every measure.
    """

    values: Mapping[str, float]
    feedback: str
    counts: tuple[int, int, int] = (0, 0, 0)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """A piece of a reply: what it says, what of the case it comes nearest, and why it was dropped ("": kept).

    `similarity` in [0, 1] says how near; None where pieces are not matched by likeness.
    """

    text: str
    nearest: str = ""
    dropped: str = ""
    similarity: float | None = None


class Task(Protocol[C_in]):
    """One kind of prompt. `measures` are what `score` gives, the first is what is tuned unless told."""

    @property
    def name(self) -> str: ...
    @property
    def measures(self) -> tuple[str, ...]: ...
    @property
    def schema(self) -> Mapping[str, Any] | None: ...

    def variables(self, case: C_in) -> dict[str, Any]:
        """What the prompt is rendered with."""
        ...

    def read(self, case: C_in, reply: str) -> tuple[Read, ...]:
        """The reply's pieces, for people. Raises UnreadableReplyError."""
        ...

    def score(self, case: C_in, reply: str) -> Scored:
        """Never raises for whatever a model writes."""
        ...

    def failed(self, case: C_in, error: str, feedback: str = UNREADABLE) -> Scored:
        """What no usable reply is worth."""
        ...

    def demonstration(self, case: C_in, reply: str | None = None) -> Any:
        """The output of a demo: what the reply says in its plain form, or without one the gold.

        Raises UnreadableReplyError.
        """
        ...

    def shown(self, case: C_in) -> tuple[str, tuple[str, ...]]:
        """A heading, and lines that tell a person what the case holds."""
        ...


def measure_of(task: Task[Any], wanted: str) -> str:
    """The measure that is tuned. Raises ConfigError."""
    if wanted not in task.measures:
        raise ConfigError(
            f"--metric {wanted!r}: {task.name} is measured by {' and '.join(task.measures)}", key="metric"
        )
    return wanted


def pooled_f1(right: int, named: int, wanted: int) -> float:
    """2 · right / (named + wanted); 1 where nothing was wanted and nothing named."""
    return 2 * right / (named + wanted) if named + wanted else 1.0
