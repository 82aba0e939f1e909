"""How far an optimizer is: DSPy says so only in what it prints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """`done` of about `total` trials: prompts measured on the judging half, or, for GEPA, which does not say
    how many prompts it will try, replies. `best` is the best mean so far, in [0, 1]; None before one is.
    """

    done: int
    total: int
    best: float | None


OnStep = Callable[[Step], None]


def unwatched(step: Step) -> None:
    """Nobody looks."""


class Watch:
    """Counts for one search. `replied` is called for every reply, from any thread; `trials` by DSPy."""

    def __init__(self, on_step: OnStep, judged: int, total: int, *, by_reply: bool = False) -> None:
        """`judged`: the size of the judging half; `total`: as in `Step`."""
        self._on_step = on_step
        self._judged = judged
        self._total = total
        self._by_reply = by_reply
        self._lock = threading.Lock()
        self._done = 0
        self._best: float | None = None

    def replied(self) -> None:
        if self._by_reply:
            self._step()

    def measured(self, mean: float, cases: int) -> None:
        """A prompt was measured on `cases` cases; counts where these are the judging half."""
        if cases != self._judged:
            return
        with self._lock:
            self._best = mean if self._best is None else max(self._best, mean)
        if not self._by_reply:
            self._step()

    def callback(self, dspy: Any) -> Any:
        """What DSPy calls after each evaluation."""
        watch = self

        class Trials(dspy.utils.callback.BaseCallback):  # type: ignore[misc]
            def on_evaluate_end(
                self,
                call_id: str,  # noqa: ARG002 - DSPy's
                outputs: Any | None,
                exception: BaseException | None = None,
            ) -> None:
                if exception is None and outputs is not None:
                    watch.measured(float(outputs.score) / 100, len(outputs.results))

        return Trials()

    def _step(self) -> None:
        with self._lock:
            # A search may take a little more than its plan: GEPA ends the batch that it has begun.
            self._done = min(self._done + 1, self._total)
            self._on_step(Step(self._done, self._total, self._best))
