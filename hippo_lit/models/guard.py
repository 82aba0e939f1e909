"""When to stop asking a chat model: a budget, an account that is refused, a server that is down."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hippo_lit.config import LLMSettings
from hippo_lit.errors import ChatModelError, ConfigError
from hippo_lit.llm.parallel import check_stopped
from hippo_lit.llm.streaming import OnText, stream_reply
from hippo_lit.llm.tokens import prompt_tokens
from hippo_lit.protocols import ChatModel
from hippo_lit.types import Message, Reply, Usage

IN_A_ROW = 20
_MARGIN = 1.25  # of the estimate of a prompt's tokens
_SERVER = ("rate_limit", "server", "timeout", "connection")


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run may spend on the chat model; None is no limit. Embedding is not counted.

    A call starts only if what the server has reported so far, plus what the calls in flight may take,
    plus what this one may take, stays within every limit; a call that must wait for others to end waits.
    What a call may take is the estimate of its prompt with a margin of a quarter, plus `llm.max_tokens`;
    it counts as taken where the server does not report what was. So a limit is exceeded only where a
    server counts a prompt by more than that margin, does not keep to max_tokens, charges for attempts it
    reported nothing of (time-outs, broken connections), or for a reply that had to be asked for again
    within the call. Up to one call's worth of a budget may stay unused. Requests of batch jobs count with
    what they may take when they are submitted.
    """

    max_tokens: int | None = None
    """Prompt and reply tokens together."""
    max_cost_usd: float | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 0:
            raise ConfigError(f"max_tokens = {self.max_tokens}: a budget is not negative", key="max_tokens")
        if self.max_cost_usd is not None and not 0 <= self.max_cost_usd < float("inf"):
            raise ConfigError(
                f"max_cost_usd = {self.max_cost_usd}: give 0 or more dollars", key="max_cost_usd"
            )


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens; `factor` is what batch jobs pay of it."""

    tokens_in: float
    tokens_out: float
    factor: float = 1.0

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) * self.factor / 1e6


def price_of(llm: LLMSettings, *, batch: bool = False) -> Price | None:
    """What tokens of `[llm]` cost, one by one or in a batch job; None where no price is set."""
    if llm.price_in_per_million is None or llm.price_out_per_million is None:
        return None
    factor = llm.batch_price_factor if batch else 1.0
    return Price(llm.price_in_per_million, llm.price_out_per_million, factor)


class Guard:
    """Counts what a run spends and says when to stop; shared by the calls of all threads.

    It stops for good at the first failure that every call would meet (`ChatModelError.account_wide`), and
    after IN_A_ROW failures of the server without a success between them.
    """

    def __init__(
        self, budget: Budget | None = None, price: Price | None = None, *, max_reply_tokens: int | None = None
    ) -> None:
        """Raises ConfigError (key) for a budget in USD without prices."""
        self.budget = budget or Budget()
        if self.budget.max_cost_usd is not None and price is None:
            raise ConfigError(
                "a budget in USD needs the model's prices: set llm.price_in_per_million and"
                " llm.price_out_per_million (USD for a million tokens), or give max_tokens instead",
                key="llm.price_in_per_million",
            )
        self._price = price
        self._reply = max_reply_tokens or 0
        self._free = threading.Condition()
        self._spent = _Sum()
        self._reserved = _Sum()
        self._stopped: ChatModelError | None = None
        self._in_a_row = 0

    @property
    def stopped(self) -> ChatModelError | None:
        """Why no call starts any more."""
        with self._free:
            return self._stopped

    @property
    def spent(self) -> tuple[int, float]:
        """Tokens and USD so far; USD are 0 where no price is known."""
        with self._free:
            return self._spent.tokens, self._spent.usd

    def reserve(self, messages: Sequence[Message]) -> _Sum:
        """Set aside what a call may take, waiting for others where that helps. Raises ChatModelError."""
        wanted = self._worst(messages, self._price)
        with self._free:
            while True:
                check_stopped()
                if self._stopped is not None:
                    raise self._again(self._stopped)
                if not self._over(self._spent + self._reserved + wanted):
                    self._reserved += wanted
                    return wanted
                if not self._reserved.tokens:
                    self._stopped = self._used_up()
                    continue
                self._free.wait()

    def settle(self, reserved: _Sum, usage: Usage, error: ChatModelError | None = None) -> None:
        """Give a reservation back, for what the call took in truth."""
        with self._free:
            self._reserved -= reserved
            self._spent += self._taken(reserved, usage)
            self._judge(error)
            self._free.notify_all()

    def stop(self, error: ChatModelError) -> None:
        """No call starts any more; each gets this error."""
        with self._free:
            self._stopped = self._stopped or error
            self._free.notify_all()

    def _taken(self, reserved: _Sum, usage: Usage) -> _Sum:
        tokens = usage.prompt_tokens + usage.completion_tokens
        if usage.calls and not tokens:
            return reserved  # the server does not say
        usd = usage.cost_usd
        if usd is None:
            usd = self._price.cost(usage.prompt_tokens, usage.completion_tokens) if self._price else 0.0
        return _Sum(tokens, usd)

    def _judge(self, error: ChatModelError | None) -> None:
        failed = error is not None and error.kind in _SERVER
        self._in_a_row = self._in_a_row + 1 if failed else 0
        if self._stopped is not None or error is None:
            return
        if error.account_wide:
            self._stopped = error
        elif self._in_a_row >= IN_A_ROW:
            why = f"{IN_A_ROW} calls in a row failed, the last one so: {error.message}"
            self._stopped = ChatModelError(why, **{**error.fields, "kind": "given_up", "usage": Usage()})

    def commit(self, messages: Sequence[Message], price: Price | None) -> None:
        """Count what a request of a batch job may take as spent: what it took is known a day later.

        Raises ChatModelError where that would exceed the budget, or once the guard has stopped.
        """
        wanted = self._worst(messages, price)
        with self._free:
            if self._stopped is None and self._over(self._spent + wanted):
                self._stopped = self._used_up()
            if self._stopped is not None:
                raise self._again(self._stopped)
            self._spent += wanted

    def _worst(self, messages: Sequence[Message], price: Price | None) -> _Sum:
        if self.budget == Budget():
            return _Sum()
        tokens_in = round(prompt_tokens(messages) * _MARGIN)
        usd = price.cost(tokens_in, self._reply) if price is not None else 0.0
        return _Sum(tokens_in + self._reply, usd)

    def _over(self, total: _Sum) -> bool:
        tokens, usd = self.budget.max_tokens, self.budget.max_cost_usd
        return (tokens is not None and total.tokens > tokens) or (usd is not None and total.usd > usd + 1e-12)

    def _used_up(self) -> ChatModelError:
        limits = []
        if self.budget.max_tokens is not None:
            limits.append(f"{self._spent.tokens:,} of {self.budget.max_tokens:,} tokens are spent")
        if self.budget.max_cost_usd is not None:
            limits.append(f"{self._spent.usd:.4f} of {self.budget.max_cost_usd:g} USD are spent")
        why = f"the budget is used up: {' and '.join(limits)}, and one more call could exceed it"
        return ChatModelError(why, model="", status=None, kind="budget")

    @staticmethod
    def _again(error: ChatModelError) -> ChatModelError:
        """The same error for a call that was not made, and so cost nothing."""
        return ChatModelError(error.message, **{**error.fields, "usage": Usage()})


class GuardedChat:
    """A `ChatModel` that asks only while its guard lets it."""

    def __init__(self, chat: ChatModel, guard: Guard) -> None:
        self._chat = chat
        self._guard = guard

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The chat model's own, so that a cache keeps its replies under the same keys."""
        own: Mapping[str, Any] = getattr(self._chat, "parameters", {})
        return own

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None) -> Reply:
        """Also raises ChatModelError of kind "budget" and "given_up", and what stopped the guard."""
        return self._asked(messages, lambda: self._chat.complete(messages, schema=schema))

    def stream(self, messages: Sequence[Message], on_text: OnText) -> Reply:
        """As `llm.streaming.Streaming`; raises as `complete`."""
        return self._asked(messages, lambda: stream_reply(self._chat, messages, on_text))

    def _asked(self, messages: Sequence[Message], ask: Callable[[], Reply]) -> Reply:
        with self._reserved(messages) as call:
            try:
                reply = ask()
            except ChatModelError as error:
                call.usage, call.error = error.fields.get("usage", Usage()), error
                raise
            call.usage = reply.usage
            return reply

    @contextmanager
    def _reserved(self, messages: Sequence[Message]) -> Iterator[_Call]:
        reserved, call = self._guard.reserve(messages), _Call()
        try:
            yield call
        finally:  # also after Ctrl-C, so that nobody waits for this call
            self._guard.settle(reserved, call.usage, call.error)


@dataclass(slots=True)
class _Call:
    usage: Usage = field(default_factory=Usage)
    error: ChatModelError | None = None


@dataclass(frozen=True, slots=True)
class _Sum:
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: _Sum) -> _Sum:
        return _Sum(self.tokens - other.tokens, self.usd - other.usd)
