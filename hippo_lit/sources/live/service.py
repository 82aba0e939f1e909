"""Requests to one paper service: paced, tried again, timed, and their answers kept.

One layer over httpx2 (it comes with `openai`) instead of the services' client libraries, since none of them
keeps a time-out for the whole answer, a total deadline, answers on disk, and a pace that other processes
keep too; what each lacks beyond that stands in the module of its service.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from hippo_lit.errors import ConfigError, SourceError
from hippo_lit.retry import CallFailed, RetryPolicy
from hippo_lit.sources.live.responses import Responses
from hippo_lit.sources.live.transport import Transport, start_of
from hippo_lit.sources.live.turns import SharedTurns

T = TypeVar("T")
Params = Mapping[str, str]

_ADVICE = {
    "auth": "Check the key in the environment variable of sources.{name}_key_env, if this service takes one.",
    "not_found": "Check the id.",
    "bad_request": "The service does not understand this request: check the query or the id.",
    "rate_limit": "Try again later; what was fetched is kept.",
    "server": "The service is in trouble: try again later; what was fetched is kept.",
    "timeout": "Try again later, or raise sources.timeout_s or sources.deadline_s; what was fetched is kept.",
    "connection": "Check the network, and sources.{name}_url; what was fetched is kept.",
    "empty_reply": "Try again later.",
    "unreadable": "Try again later; if it stays so, check sources.{name}_url and any proxy on the way.",
    "budget": "Allow more requests, or run it again: what was fetched is not asked for again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a service is used. `interval_s` lies between two requests, by whomever on this machine;
    `deadline_s` is for a whole fetch with all its requests. `headers` and `params` go with every request;
    they do not tell answers apart. `secret` is a key among them, which appears in no message.
    """

    base_url: str
    interval_s: float
    timeout_s: float = 30.0
    deadline_s: float = 900.0
    max_attempts: int = 5
    wait_s: float = 1.0
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Params = field(default_factory=dict)
    secret: str = ""


class Service:
    """One paper service. Safe to share between threads."""

    def __init__(
        self,
        name: str,
        title: str,
        terms: Terms,
        responses: Responses,
        words: Callable[[bytes], str] | None = None,
    ) -> None:
        """`name` is that of the settings ("s2"), `title` the one for people; `words` finds what an answer
        with an error status says in prose. Raises ConfigError.
        """
        if urlsplit(terms.base_url).scheme not in ("http", "https") or not urlsplit(terms.base_url).hostname:
            key = f"sources.{name}_url"
            raise ConfigError(f"{key} = {terms.base_url!r} is no address (http://… or https://…)", key=key)
        self.name = name
        self.title = title
        self.terms = terms
        self.responses = responses
        self.turns = SharedTurns(responses.folder / f"{name}.turn", terms.interval_s)
        self.transport = Transport(terms.headers, terms.secret, words)

    def begin(self, quota: Quota | None = None) -> Fetch:
        """A fetch, whose deadline starts now."""
        return Fetch(self, quota or Quota())

    def close(self) -> None:
        self.transport.close()

    def error(self, failed: CallFailed, what: str) -> SourceError:
        """The failure for people: what happened, and what to do."""
        tries = f" after {failed.attempts} attempts" if failed.attempts > 1 else ""
        status = f"HTTP {failed.status}: " if failed.status else ""
        wait = f" It asks to wait {failed.retry_after_s:.0f} s." if failed.retry_after_s else ""
        advice = _ADVICE[failed.kind].format(name=self.name)
        return SourceError(
            f"{self.title} has no answer {what}{tries}: {status}{failed.detail}.{wait} {advice}",
            source=self.name,
            status=failed.status,
            retry_after_s=failed.retry_after_s,
            kind=failed.kind,
            attempts=failed.attempts,
        )


@dataclass(slots=True)
class Quota:
    """How many requests may go over the network (None: any number), and how many did."""

    allowed: int | None = None
    made: int = 0

    def take(self) -> None:
        """Count one. Raises CallFailed (kind "budget") where there is none left."""
        if self.allowed is not None and self.made >= self.allowed:
            raise CallFailed("budget", f"all {self.allowed:,} requests that were allowed are made")
        self.made += 1


class Fetch:
    """The requests of one fetch, under one deadline."""

    def __init__(self, service: Service, quota: Quota) -> None:
        self.service = service
        self._quota = quota
        self._until = time.monotonic() + service.terms.deadline_s

    def missing(self, ids: Iterable[str]) -> SourceError:
        """The error for ids that the service does not know."""
        asked = ", ".join(ids)
        return SourceError(
            f"{self.service.title} knows no paper {asked}. Check the id.",
            source=self.service.name,
            status=404,
            retry_after_s=None,
            kind="not_found",
        )

    def json(
        self,
        path: str,
        params: Params,
        read: Callable[[Any], T],
        *,
        what: str,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        """`read` of the JSON that answers GET `path`, or POST where there is a `body`; see `get`."""
        return self.get(path, params, lambda raw: read(_json(raw)), what=what, body=body)

    def get(
        self,
        path: str,
        params: Params,
        read: Callable[[bytes], T],
        *,
        what: str,
        body: Mapping[str, Any] | None = None,
    ) -> T:
        """`read` of the body that answers a request, kept if it was read well.

        `read` raises `unreadable` for a body that is not what was asked for; the request is then tried
        again. `what` names the request in errors ("to the search …"). Raises SourceError (source, status,
        retry_after_s, kind, attempts).
        """
        terms = self.service.terms
        url = f"{terms.base_url.rstrip('/')}/{path.lstrip('/')}"
        request = f"{url}?{urlencode(params)}\n{json.dumps(body, sort_keys=True) if body else ''}"
        if (kept := self.service.responses.get(request)) is not None:
            try:
                return read(kept)
            except CallFailed:
                pass  # damaged since: fetched again

        def attempt(seconds: float) -> T:
            self._quota.take()
            try:
                raw = self.service.transport.send(url, {**params, **terms.params}, body, seconds)
            except CallFailed as failed:
                if failed.again and failed.retry_after_s:
                    self.service.turns.hold(failed.retry_after_s)
                raise
            value = read(raw)
            self.service.responses.put(request, raw)
            return value

        policy = RetryPolicy(
            max_attempts=terms.max_attempts,
            timeout_s=terms.timeout_s,
            deadline_s=max(0.0, self._left()),
            wait_s=terms.wait_s,
            longest_wait_s=60.0,
        )
        try:
            return policy.run(attempt, self)
        except CallFailed as failed:
            raise self.service.error(failed, what) from failed

    def wait_turn(self) -> float:
        """Wait for a turn; the deadline passes meanwhile, so nothing is added to it."""
        if self._left() <= 0:
            raise CallFailed("timeout", f"the fetch took longer than {self.service.terms.deadline_s:g} s")
        self.service.turns.wait_turn(self._left())
        return 0.0

    def _left(self) -> float:
        return self._until - time.monotonic()


def unreadable(problem: str) -> CallFailed:
    """What a reader raises for an answer that is not what was asked for; trying again may help."""
    return CallFailed("unreadable", problem, again=True)


def refused(problem: str) -> CallFailed:
    """What a reader raises where a service refuses a request although its status says 200."""
    return CallFailed("bad_request", problem)


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as e:
        raise unreadable(f"the answer is not JSON but begins {start_of(raw)!r}") from e
