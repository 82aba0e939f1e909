"""A small world of papers that a loopback server serves as Semantic Scholar, OpenAlex and arXiv do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from hippo_lit.testing.server import Answer, Recorded, ScriptedServer, json_reply

YEARS = {"a": 2018, "b": 2019, "c": 2015, "d": 2021, "e": 2021, "f": 2023, "g": 2010}
CITES = {  # the world: who cites whom
    "a": "cg",
    "b": "ac",
    "d": "ab",
    "e": "a",
    "f": "d",
}


def hex_id(letter: str) -> str:
    return letter * 40 if letter in "abcdef" else "9" * 40


def doi(letter: str) -> str:
    return f"10.1/{letter}"


class World:
    """What the server does. `down` makes a service fail, `broken` single papers of Semantic Scholar."""

    def __init__(self) -> None:
        self.down: dict[str, Answer] = {}
        self.broken: set[str] = set()
        self.asked: list[str] = []

    def __call__(self, request: Recorded) -> Answer:
        parts = urlsplit(request.path.removeprefix("/v1/"))
        service, _, path = parts.path.partition("/")
        self.asked.append(request.path)
        if service in self.down:
            return self.down[service]
        return getattr(self, service)(unquote(path), parse_qs(parts.query), request)

    def s2(self, path: str, query: dict[str, list[str]], request: Recorded) -> Answer:
        if path == "paper/search":
            found = [_s2(letter) for letter in "ab"]
            return json_reply({"total": 2, "offset": 0, "data": found})
        if path == "paper/batch":
            letters = [_letter(asked) for asked in request.body["ids"]]
            return json_reply(
                [letter and {**_s2(letter), "references": _s2_references(letter)} for letter in letters]
            )
        key, _, direction = path.removeprefix("paper/").rpartition("/")
        letter = _letter(key)
        if letter is None:
            return json_reply({"error": f"Paper with id {key} not found"}, status=404)
        if letter in self.broken:
            return Answer(500)
        if direction == "references":
            return json_reply({"offset": 0, "data": [{"citedPaper": _s2(c)} for c in CITES.get(letter, "")]})
        citing = [c for c, cited in CITES.items() if letter in cited]
        return json_reply({"offset": 0, "data": [{"citingPaper": _s2(c)} for c in citing]})

    def openalex(self, path: str, query: dict[str, list[str]], request: Recorded) -> Answer:
        if path == "works":
            kind, _, value = query["filter"][0].partition(":")
            if kind == "cites":
                letters = [c for c, cited in CITES.items() if chr(int(value[1:])) in cited]
            else:
                letters = [chr(int(work[1:])) for work in value.split("|")]
            return json_reply({"meta": {"count": len(letters)}, "results": [_work(c) for c in letters]})
        letter = _letter(path.removeprefix("works/doi:"))
        return json_reply(_work(letter)) if letter else Answer(404)

    def arxiv(self, path: str, query: dict[str, list[str]], request: Recorded) -> Answer:
        entries = "".join(
            f"<entry><id>http://arxiv.org/abs/2101.0000{n}v1</id><title>arXiv paper {n}</title>"
            f"<summary>Sparse thing number {n}.</summary><published>2021-01-01T00:00:00Z</published></entry>"
            for n in (1, 2)
        )
        return Answer(
            200,
            '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/">'
            f"<o:totalResults>2</o:totalResults>{entries}</feed>".encode(),
        )


@contextmanager
def serving(world: World, cache: Path) -> Iterator[list[str]]:
    """The settings of `--set` that lead every service to the world."""
    with ScriptedServer([world]) as server:
        settings = {
            f"{name}_url": f"{server.base_url}/{name}" for name in ("arxiv", "s2", "openalex", "crossref")
        }
        paces = {f"{name}_interval_s": 0 for name in ("arxiv", "s2", "openalex", "crossref")}
        chosen: dict[str, Any] = {**settings, **paces, "cache": str(cache), "max_attempts": 1}
        yield [f"sources.{key}={json.dumps(value)}" for key, value in chosen.items()]


def _letter(key: str) -> str | None:
    found = re.fullmatch(r"(?:DOI:)?10\.1/([a-g])", key)
    if found:
        return found[1]
    return next((letter for letter in YEARS if key == hex_id(letter)), None)


def _s2(letter: str) -> dict[str, Any]:
    return {
        "paperId": hex_id(letter),
        "externalIds": {"DOI": doi(letter)},
        "title": f"Paper {letter.upper()}",
        "abstract": f"Only {letter}{letter}{letter} is told here.",
        "year": YEARS[letter],
    }


def _s2_references(letter: str) -> list[dict[str, str]]:
    return [{"paperId": hex_id(cited)} for cited in CITES.get(letter, "")]


def _work(letter: str) -> dict[str, Any]:
    return {
        "id": f"https://openalex.org/W{ord(letter)}",
        "doi": f"https://doi.org/{doi(letter)}",
        "title": f"Paper {letter.upper()}",
        "publication_year": YEARS[letter],
        "referenced_works": [f"https://openalex.org/W{ord(cited)}" for cited in CITES.get(letter, "")],
        "abstract_inverted_index": {"Told": [0]},
    }
