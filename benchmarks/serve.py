"""The MCP server under load, and what its results take of a context window.

    .venv/bin/python benchmarks/serve.py [--clients 32] [--calls 10000] [--papers 2000] [--json]

One `hippo-lit mcp --transport http` process on loopback; each client is a connection of the SDK's own client
and calls again as soon as it is answered: searches by words and through facts, papers, neighbours. A call
that is told "busy" waits as long as it is told and is tried again. Papers are the mock corpus's own
sentences, shuffled; vectors are hashed, so that no embedding model is timed. These machines are shared: quote
the load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from speed import shuffled

from hippo_lit import HippoLit, build_corpus, load_settings
from hippo_lit.evaluate.load import load_dataset
from hippo_lit.llm.tokens import count_tokens
from hippo_lit.render import to_json
from hippo_lit.tool.fit import compact
from hippo_lit.tool.toolbox import Toolbox

QUICK = ["embedding.kind=hash", "extract.kind=simple"]
SETTINGS = [part for setting in QUICK for part in ("--set", setting)]


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def started(index: str, *options: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "hippo_lit.cli", "mcp", "--index", index, *SETTINGS, *options]
    server = subprocess.Popen(
        [*command, "--transport", "http", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    line = server.stderr.readline()
    return server, line.split()[-1]


async def load_test(index: str, clients: int, calls: int, ids: list[str]) -> dict[str, Any]:
    """`calls` calls by `clients` clients at once: errors, seconds a call by kind, memory as it goes."""
    from mcp import Client

    questions = [f"{paper.title}: which method?" for paper in build_corpus()]
    server, address = started(index)
    seconds: dict[str, list[float]] = {}
    errors: Counter[str] = Counter()
    memory: list[float] = []
    left = iter(range(calls))

    def request(number: int) -> tuple[str, str, dict[str, Any]]:
        question, paper = questions[number % len(questions)], ids[number % len(ids)]
        return (
            ("lexical", "search_papers", {"query": question, "mode": "lexical"}),
            ("get", "get_paper", {"id": paper}),
            ("hippo", "search_papers", {"query": question, "k": 5}),
            ("related", "related_papers", {"id": paper}),
        )[number % 4]

    async def client() -> None:
        async with Client(address) as connection:
            await connection.list_tools()
            for number in left:
                kind, name, arguments = request(number)
                began = time.perf_counter()
                while True:
                    result = await connection.call_tool(name, arguments)
                    if not result.is_error:
                        break
                    failure = result.structured_content["error"]
                    errors[failure["code"]] += 1
                    if failure["code"] != "busy":
                        break
                    await asyncio.sleep(failure["retry_after_s"])
                seconds.setdefault(kind, []).append(time.perf_counter() - began)
                if number % max(1, calls // 20) == 0:
                    memory.append(memory_mb(server.pid))

    began = time.perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(client())
        took = time.perf_counter() - began
        memory.append(memory_mb(server.pid))
    finally:
        server.terminate()
        server.communicate(timeout=30)
    every = [value for values in seconds.values() for value in values]
    p95 = {kind: 1000 * statistics.quantiles(values, n=20)[-1] for kind, values in sorted(seconds.items())}
    return {
        "clients": clients,
        "calls": len(every),
        "errors": dict(errors),
        "calls_per_s": len(every) / took,
        "p50_ms": 1000 * statistics.median(every),
        "p95_ms": 1000 * statistics.quantiles(every, n=20)[-1],
        **{f"p95_{kind}_ms": value for kind, value in p95.items()},
        "memory_mb": [round(value, 1) for value in memory],
        "load": os.getloadavg()[0],
    }


async def first_answer(index: str, mode: str) -> float:
    """Seconds from starting the server, over stdio, to the first answer."""
    from mcp import Client, StdioServerParameters

    arguments = ["-m", "hippo_lit.cli", "mcp", "--index", index, *SETTINGS]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    began = time.perf_counter()
    async with Client(server) as client:
        await client.call_tool("search_papers", {"query": "sparse attention", "mode": mode, "k": 3})
        return time.perf_counter() - began


def tokens(folder: str) -> dict[str, float]:
    """Tokens a call, mean over the mock corpus's queries, against whole records of the same ten papers."""
    settings = load_settings(None, QUICK)
    with HippoLit.open(f"{folder}/mock.idx", settings) as lit:
        lit.add(build_corpus())
        box = Toolbox(lit)
        queries = [query.text for query in load_dataset("mock").queries]
        calls = {
            "runner": {},
            "evaluator": {"fields": ["year", "references"]},
            "titles": {"fields": ["title"]},
        }
        means = {
            name: statistics.mean(
                count_tokens(box.call("search_papers", {"query": query, **more}).text) for query in queries
            )
            for name, more in calls.items()
        }
        whole = [to_json(lit.retrieve(query, 10)) for query in queries]
        papers = [[ranked["paper"] for ranked in result["papers"]] for result in whole]
        return {
            **means,
            "whole_records": statistics.mean(count_tokens(compact(each)) for each in papers),
            "whole_result": statistics.mean(count_tokens(compact(each)) for each in whole),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--papers", type=int, default=2_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = f"{folder}/load.idx"
        papers = shuffled(options.papers)
        with HippoLit.open(index, load_settings(None, QUICK)) as lit:
            lit.add(papers)
        figures: dict[str, Any] = {
            "tokens": tokens(folder),
            "first_lexical_s": asyncio.run(first_answer(index, "lexical")),
            "first_hippo_s": asyncio.run(first_answer(index, "hippo")),
            **asyncio.run(load_test(index, options.clients, options.calls, [p.id for p in papers])),
        }
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name:<18}{value:10.3f}" if isinstance(value, float) else f"{name:<18}{value}")


if __name__ == "__main__":
    main()
