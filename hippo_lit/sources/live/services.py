"""The services as the settings describe them, and what can be asked of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol

from hippo_lit.config import SourcesSettings
from hippo_lit.errors import ConfigError
from hippo_lit.sources.live import arxiv, crossref, openalex, s2
from hippo_lit.sources.live.answers import Record
from hippo_lit.sources.live.citations import CitationModule, Citations
from hippo_lit.sources.live.responses import Responses
from hippo_lit.sources.live.service import Fetch, Quota, Service, Terms
from hippo_lit.sources.live.source import LiveSource
from hippo_lit.sources.live.specs import FORMS, ServiceName, Spec, parse_spec

CitationService = Literal["s2", "openalex"]
_AGENT = "hippo-lit"
_UNKNOWN_CALLER_S = 1.0  # between requests to services that want an address and got none
_DAY_S = 86_400.0


class _Module(Protocol):
    """What the module of a service offers."""

    TITLE: str
    MAX_RESULTS: int

    def search(self, fetch: Fetch, query: str, limit: int) -> Iterator[Record]: ...

    def by_ids(self, fetch: Fetch, ids: Sequence[str]) -> Iterator[Record]: ...


_MODULES: dict[ServiceName, _Module] = {"arxiv": arxiv, "s2": s2, "openalex": openalex, "crossref": crossref}


_CITING: dict[CitationService, CitationModule] = {"s2": s2, "openalex": openalex}


class Services:
    """The four services; a context manager. Connections are opened at the first request."""

    def __init__(self, settings: SourcesSettings) -> None:
        self.settings = settings
        self._services: dict[ServiceName, Service] = {}

    def source(self, asked: str | Spec, limit: int | None = None) -> LiveSource:
        """The PaperSource for a question ("s2:dense retrieval", a DOI, …); a search gives at most `limit`.

        Raises ConfigError where it is no question to a service, StoreError where answers cannot be kept.
        """
        spec = parse_spec(asked) if isinstance(asked, str) else asked
        if spec is None:
            raise ConfigError(f"{asked!r} is no question to a paper service; write {FORMS}", key="source")
        module = _MODULES[spec.service]
        most: int | None = None
        if spec.ids:
            ask = partial(module.by_ids, ids=spec.ids)
        else:
            number = self.settings.limit if limit is None else limit
            if number < 1:
                raise ConfigError(f"the limit must be at least 1, got {number}", key="limit")
            ask = partial(module.search, query=spec.query, limit=number)
            most = module.MAX_RESULTS if number > module.MAX_RESULTS else None
        return LiveSource(spec.given, self.service(spec.service), ask, most)

    def service(self, name: ServiceName) -> Service:
        """The service of this name. Raises StoreError where its answers cannot be kept."""
        if name not in self._services:
            module = _MODULES[name]
            folder = (self.settings.cache or default_cache()).expanduser() / name
            responses = Responses(folder, self.settings.max_age_days * _DAY_S)
            words = arxiv.words if name == "arxiv" else None
            self._services[name] = Service(name, module.TITLE, self._terms(name), responses, words)
        return self._services[name]

    def citations(self, name: CitationService, max_requests: int | None = None) -> Citations:
        """The citations that a service has, for at most `max_requests` over the network.

        Raises StoreError where its answers cannot be kept.
        """
        return Citations(self.service(name), _CITING[name], Quota(max_requests))

    def close(self) -> None:
        for service in self._services.values():
            service.close()

    def __enter__(self) -> Services:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _terms(self, name: ServiceName) -> Terms:
        chosen = self.settings
        mailto = chosen.mailto or ""
        headers = {"User-Agent": f"{_AGENT} (mailto:{mailto})" if mailto else _AGENT}
        params: dict[str, str] = {}
        secret = ""
        base_url, interval_s = {
            "arxiv": (chosen.arxiv_url, chosen.arxiv_interval_s),
            "s2": (chosen.s2_url, chosen.s2_interval_s),
            "openalex": (chosen.openalex_url, chosen.openalex_interval_s),
            "crossref": (chosen.crossref_url, chosen.crossref_interval_s),
        }[name]
        if name == "s2" and (key := _key(chosen.s2_key_env)):
            headers["x-api-key"] = key
            secret = key
        if name == "openalex" and (key := _key(chosen.openalex_key_env)):
            params["api_key"] = key
            secret = key
        if name in ("openalex", "crossref"):
            if mailto:
                params["mailto"] = mailto
            elif interval_s:
                interval_s = max(interval_s, _UNKNOWN_CALLER_S)
        return Terms(
            base_url=base_url,
            interval_s=interval_s,
            timeout_s=chosen.timeout_s,
            deadline_s=chosen.deadline_s,
            max_attempts=chosen.max_attempts,
            headers=headers,
            params=params,
            secret=secret,
        )


def default_cache() -> Path:
    """Where answers are kept for this account, so that all its processes keep one pace (XDG base folders)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "hippo-lit" / "answers"


def _key(variable: str) -> str:
    """A key from the environment. Raises ConfigError for one that cannot be sent."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key in {variable} has characters no key has", key=variable)
    return key
