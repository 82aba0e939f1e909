"""One request, and what becomes of it when the service or the network misbehaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from replay import settings

from hippo_lit.errors import ConfigError, SourceError
from hippo_lit.llm.parallel import map_bounded
from hippo_lit.sources.live.service import Quota
from hippo_lit.sources.live.services import Services, default_cache
from hippo_lit.testing.server import (
    Answer,
    Behaviour,
    ScriptedServer,
    connection_reset,
    dripping,
    html_page,
    json_reply,
    slow,
    status,
)

GOOD = json_reply({"total": 0, "offset": 0})
FEED = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/">'
    "<o:totalResults>{total}</o:totalResults>{entries}</feed>"
)
ENTRY = "<entry><id>http://arxiv.org/abs/2101.0000{n}v1</id><title>T{n}</title></entry>"


def feed(total: int, *numbers: int) -> Answer:
    entries = "".join(ENTRY.format(n=n) for n in numbers)
    return Answer(200, FEED.format(total=total, entries=entries).encode())


Run = Callable[..., tuple[list[str], SourceError | None, ScriptedServer]]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited between attempts, without waiting."""
    found: list[float] = []
    monkeypatch.setattr("hippo_lit.retry.pause", found.append)
    monkeypatch.setattr("hippo_lit.sources.live.turns.pause", lambda seconds: None)
    return found


@pytest.fixture
def run(waits: list[float], tmp_path: Path) -> Run:
    def run(
        question: str, script: Sequence[Behaviour], limit: int = 5, **others: object
    ) -> tuple[list[str], SourceError | None, ScriptedServer]:
        with (
            ScriptedServer(script) as server,
            Services(settings(server, tmp_path / "cache", max_attempts=3, **others)) as services,
        ):
            ids, error = [], None
            try:
                for paper in services.source(question, limit).papers():
                    ids.append(paper.id)
            except SourceError as failure:
                error = failure
            return ids, error, server

    return run


@pytest.mark.parametrize(
    ("answer", "kind", "code", "requests", "words"),
    [
        (status(400, "bad query"), "bad_request", 400, 1, "HTTP 400: bad query"),
        (Answer(400, b'{"error":"Unrecognized fields: [x]"}'), "bad_request", 400, 1, "Unrecognized fields"),
        (status(401), "auth", 401, 1, "sources.s2_key_env"),
        (status(403), "auth", 403, 1, "HTTP 403"),
        (Answer(404, b'{"error":"Paper not found"}'), "not_found", 404, 1, "Paper not found"),
        (status(429), "rate_limit", 429, 3, "after 3 attempts: HTTP 429"),
        (status(500), "server", 500, 3, "HTTP 500"),
        (Answer(502, b"<html>Bad Gateway</html>"), "server", 502, 3, "Bad Gateway"),
        (status(503), "server", 503, 3, "HTTP 503"),
        (html_page(), "unreadable", None, 3, "not JSON but begins '<html>"),
        (Answer(200, b""), "unreadable", None, 3, "not JSON"),
        (Answer(200, b'{"total": 3, "data": [{"pap'), "unreadable", None, 3, "not JSON"),
        (Answer(200, b"[" * 100_000), "unreadable", None, 3, "not JSON"),
        (Answer(200, b'{"total": 3, "of', length=900), "connection", None, 3, "sources.s2_url"),
        (connection_reset(), "connection", None, 3, "Check the network"),
        (json_reply(None), "unreadable", None, 3, "no list of results"),
        (json_reply({"total": None, "data": None}), "unreadable", None, 3, "no list of results"),
        (json_reply({"total": "many", "data": []}), "unreadable", None, 3, "how many results"),
        (json_reply({"total": 7, "offset": 0, "data": []}), "unreadable", None, 3, "7 results are claimed"),
        (json_reply({"message": "no key"}), "unreadable", None, 3, "no list of results"),
        (Answer(302, headers={"Location": "http://example.org/"}), "unreadable", None, 1, "another host"),
    ],
)
def test_each_failure_has_its_outcome(
    run: Run, answer: Answer, kind: str, code: int | None, requests: int, words: str
) -> None:
    ids, error, server = run("s2:x", [answer])
    assert ids == []
    assert error is not None, "a failure must not look like no results"
    assert (error.source, error.kind, error.status, error.attempts) == ("s2", kind, code, requests)
    assert len(server.requests) == requests
    assert words in error.message
    assert error.message.startswith('Semantic Scholar has no answer to the search "x"')


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(200, b"<feed"), "not XML"),
        (Answer(200, b"\xff\xfe\x00"), "not XML"),
        (html_page(), "not a feed but <html>"),
        (Answer(200, b'<!DOCTYPE x [<!ENTITY a "b">]><feed>&a;</feed>'), "a type of its own"),
        (Answer(200, feed(1, 1).body[:-30]), "not XML"),
        (Answer(200, b'<feed xmlns="http://www.w3.org/2005/Atom"/>'), "how many results"),
        (feed(5), "an empty page at 0, although 5 results are claimed"),
    ],
)
def test_a_feed_that_is_none_is_tried_again_and_then_told(run: Run, answer: Answer, words: str) -> None:
    ids, error, server = run("arxiv:x", [answer])
    assert ids == []
    assert error is not None
    assert words in error.message
    assert (error.kind, len(server.requests)) == ("unreadable", 3)


def test_an_error_that_comes_as_a_feed_with_status_200_is_an_error(run: Run) -> None:
    entry = "<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>bad</summary></entry>"
    _, error, server = run("arxiv:x", [Answer(200, FEED.format(total=1, entries=entry).encode())])
    assert error is not None
    assert (error.kind, len(server.requests)) == ("bad_request", 1)


def test_what_fails_once_is_tried_again(run: Run, waits: list[float]) -> None:
    script = [status(500), html_page(), connection_reset(), feed(1, 1)]
    ids, error, _ = run("arxiv:x", script[:2] + script[3:])
    assert (ids, error, len(waits)) == (["2101.00001"], None, 2)


def test_retry_after_is_honoured(run: Run, waits: list[float]) -> None:
    ids, error, _ = run("arxiv:x", [status(429, retry_after="7"), feed(1, 1)])
    assert (ids, error, waits) == (["2101.00001"], None, [7.0])


def test_a_wait_beyond_the_deadline_is_not_begun(run: Run, waits: list[float]) -> None:
    _, error, server = run("arxiv:x", [status(429, retry_after="4000")], deadline_s=60)
    assert error is not None
    assert (error.retry_after_s, error.status, len(server.requests), waits) == (4000.0, 429, 1, [])
    assert "asks to wait 4000 s" in error.message
    _, error, server = run("arxiv:other", [feed(1, 1)], deadline_s=60)
    assert error is not None, "the next fetch, too, leaves the service alone for so long"
    assert error.retry_after_s == pytest.approx(3600, abs=60)
    assert (error.kind, server.requests) == ("rate_limit", [])


def test_papers_before_a_failure_are_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.sources.live.arxiv.PAGE", 2)
    ids, error, _ = run("arxiv:x", [feed(5, 1, 2), status(500)])
    assert ids == ["2101.00001", "2101.00002"]
    assert error is not None
    assert error.status == 500


def test_a_failed_fetch_goes_on_where_it_stopped(
    waits: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippo_lit.sources.live.arxiv.PAGE", 2)
    with (
        ScriptedServer([feed(4, 1, 2), status(400), feed(4, 3, 4)]) as server,
        Services(settings(server, tmp_path)) as services,
    ):
        source = services.source("arxiv:x", 4)
        with pytest.raises(SourceError):
            list(source.papers())
        assert [paper.id[-1] for paper in source.papers()] == ["1", "2", "3", "4"]
        assert [r.path.partition("start=")[2][0] for r in server.requests] == ["0", "2", "2"]
        assert (source.report.read, source.report.papers, source.report.skipped) == (4, 4, 0)


def test_a_paper_that_comes_twice_is_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.sources.live.arxiv.PAGE", 2)
    ids, error, _ = run("arxiv:x", [feed(3, 1, 2), feed(3, 2)])
    assert (ids, error) == (["2101.00001", "2101.00002"], None)


def test_no_more_is_fetched_than_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.sources.live.arxiv.PAGE", 2)
    with (
        ScriptedServer([feed(9, 1, 2), feed(9, 3, 4)]) as server,
        Services(settings(server, tmp_path)) as services,
    ):
        papers = services.source("arxiv:x", 9).papers()
        assert [next(papers).id[-1], next(papers).id[-1]] == ["1", "2"]
        assert len(server.requests) == 1  # whoever stops here stops the fetch
        assert len(list(services.source("arxiv:y", 1).papers())) == 1


def test_a_search_that_ends_before_the_limit_does_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippo_lit.sources.live.arxiv.MAX_RESULTS", 2)
    with ScriptedServer([feed(9, 1, 2)]) as server, Services(settings(server, tmp_path)) as services:
        capped, enough = services.source("arxiv:x", 5), services.source("arxiv:x", 2)
        assert [len(list(source.papers())) for source in (capped, enough)] == [2, 2]
    assert capped.report.notes == ("arxiv:x: arXiv gives no more than 2 results to a search",)
    assert enough.report.notes == ()


@pytest.mark.parametrize("answer", [slow(1.0, GOOD), dripping(1.0, GOOD)])
def test_a_slow_answer_is_given_up(run: Run, answer: Answer) -> None:
    began = time.monotonic()
    _, error, server = run("s2:x", [answer], timeout_s=0.15)
    assert error is not None
    assert (error.kind, len(server.requests)) == ("timeout", 3)
    assert time.monotonic() - began < 3


def test_the_deadline_ends_a_fetch_of_many_pages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hippo_lit.sources.live.arxiv.PAGE", 1)
    pages = [slow(0.2, feed(9, n)) for n in range(1, 9)]
    ids, error, _ = run("arxiv:x", pages, limit=9, deadline_s=0.5)
    assert 1 <= len(ids) <= 3
    assert error is not None
    assert error.kind == "timeout"


def test_answers_are_kept_for_their_time(waits: list[float], tmp_path: Path) -> None:
    with ScriptedServer([GOOD]) as server:
        for age, requests in ((7.0, 1), (7.0, 1), (0.0, 2), (0.0, 3)):
            with Services(settings(server, tmp_path, max_age_days=age)) as services:
                assert list(services.source("s2:x").papers()) == []
            assert len(server.requests) == requests


def test_a_kept_answer_that_is_damaged_is_fetched_again(waits: list[float], tmp_path: Path) -> None:
    with ScriptedServer([GOOD]) as server, Services(settings(server, tmp_path)) as services:
        list(services.source("s2:x").papers())
        for file in (tmp_path / "s2").glob("*.answer"):
            file.write_bytes(b"{")
        assert list(services.source("s2:x").papers()) == []
        assert len(server.requests) == 2


def test_redirects_are_followed_at_the_same_host(run: Run) -> None:
    moved = Answer(301, headers={"Location": "/v1/s2/elsewhere"})
    ids, error, server = run("s2:x", [moved, GOOD])
    assert (ids, error, server.requests[1].path) == ([], None, "/v1/s2/elsewhere")
    _, error, _ = run("s2:y", [moved])
    assert error is not None
    assert "redirects" in error.message


def test_keys_come_from_the_environment_and_stay_out_of_messages(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("S2_API_KEY", "s2-secret")
    monkeypatch.setenv("OPENALEX_API_KEY", "oa-secret")
    _, error, server = run("s2:x", [status(403, "the key s2-secret is wrong")])
    assert server.requests[0].headers["x-api-key"] == "s2-secret"
    assert error is not None
    assert "s2-secret" not in error.message
    assert "***" in error.message
    _, error, server = run("openalex:x", [status(403, "api_key=oa-secret")], mailto="me@example.org")
    assert "api_key=oa-secret" in server.requests[0].path
    assert "mailto=me%40example.org" in server.requests[0].path
    assert "me@example.org" in server.requests[0].headers["user-agent"]
    assert error is not None
    assert "oa-secret" not in error.message
    _, _, server = run("arxiv:x", [feed(0)], mailto="me@example.org")
    assert "secret" not in repr(server.requests)
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"secret" not in kept
    monkeypatch.setenv("S2_API_KEY", "schlüssel")
    with pytest.raises(ConfigError, match="S2_API_KEY has characters no key has"):
        run("s2:x", [GOOD])


def test_a_base_url_that_is_none_is_refused(run: Run) -> None:
    with pytest.raises(ConfigError, match=r"sources.s2_url = 'ftp://x' is no address"):
        run("s2:x", [GOOD], s2_url="ftp://x")


def test_nobody_home_is_a_connection_failure(run: Run) -> None:
    _, error, _ = run("s2:x", [GOOD], s2_url="http://127.0.0.1:9")
    assert error is not None
    assert (error.kind, error.attempts) == ("connection", 3)


def test_a_quota_ends_requests_over_the_network_only(tmp_path: Path) -> None:
    with ScriptedServer([json_reply({"n": 1})]) as server, Services(settings(server, tmp_path)) as services:
        quota = Quota(allowed=1)
        fetch = services.service("s2").begin(quota)

        def get(path: str) -> Any:
            return fetch.json(path, {}, lambda data: data, what="to a test")

        assert get("one") == get("one") == {"n": 1}
        with pytest.raises(SourceError, match="all 1 requests that were allowed are made") as caught:
            get("two")
        assert (caught.value.kind, quota.made, len(server.requests)) == ("budget", 1, 1)


def test_threads_share_a_service_and_its_pace(tmp_path: Path) -> None:
    arrivals: list[float] = []

    def note(_: object) -> Answer:
        arrivals.append(time.monotonic())
        return GOOD

    with (
        ScriptedServer([note]) as server,
        Services(settings(server, tmp_path, s2_interval_s=0.05)) as services,
    ):
        questions = [f"s2:q{n}" for n in range(6)]
        began = time.monotonic()
        results = list(map_bounded(lambda q: list(services.source(q).papers()), questions, 6))
    assert results == [[]] * 6
    # The sixth turn is five intervals after the first, however late the first request arrived.
    assert max(arrivals) - began >= 5 * 0.05
    assert len(arrivals) == 6


def test_a_waiting_fetch_is_cancelled_with_its_caller(tmp_path: Path) -> None:
    with (
        ScriptedServer([GOOD]) as server,
        Services(settings(server, tmp_path, s2_interval_s=300)) as services,
    ):

        def questions() -> Iterator[str]:
            yield "s2:first"
            while not server.requests:
                time.sleep(0.005)
            yield "s2:second, which waits for its turn"

        began = time.monotonic()
        running = map_bounded(lambda q: list(services.source(q).papers()), questions(), 2)
        assert next(running) == []
        running.close()
        assert time.monotonic() - began < 10
        assert len(server.requests) == 1


def test_answers_live_in_the_folder_of_the_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "hippo-lit" / "answers"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache() == Path.home() / ".cache" / "hippo-lit" / "answers"
