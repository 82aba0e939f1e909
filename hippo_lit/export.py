"""An index for other programs: papers and facts as JSON-ready records, the graph as GraphML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import quoteattr

from hippo_lit.graph.factgraph import EDGE_KINDS
from hippo_lit.records import paper_to_mapping
from hippo_lit.snapshot import Snapshot
from hippo_lit.storage.store import Store
from hippo_lit.text import clean

# What XML 1.0 cannot hold at all, not even as a reference, beside what `clean` takes out.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KEYS = (
    ("node", "kind", "string"),  # passage or entity
    ("node", "label", "string"),  # a passage's title, an entity's name
    ("node", "paper", "string"),
    ("node", "year", "int"),
    ("node", "passages", "int"),  # how many passages name the entity
    ("edge", "kind", "string"),
    ("edge", "weight", "double"),
)
_ROWS = 10_000


def papers(store: Store) -> Iterator[dict[str, Any]]:
    """Every stored paper, in the form that `hippo-lit index` reads back to an equal one."""
    return (paper_to_mapping(paper) for paper in store.papers())


def facts(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """Every statement of a fact: its parts, its paper, and the sentence that makes it.

    In the order of the papers and their texts; a fact that several papers state comes once for each.
    """
    for number, paper_id in enumerate(snapshot.paper_ids):
        for sentence, fact in snapshot.facts_of(number):
            yield {
                "subject": fact.subject,
                "relation": fact.relation,
                "object": fact.object,
                "paper": paper_id,
                "sentence": sentence,
            }


def graphml(snapshot: Snapshot) -> Iterator[str]:
    """The graph as GraphML, piece by piece: for Gephi, Cytoscape, networkx.

    Nodes are passages (p0, p1 …) and entities (e0, e1 …); edges are undirected, with their kind and the
    weight they were built with, before the factors of `[graph]`. Two nodes may be joined by edges of
    several kinds. Characters that XML cannot hold become spaces.
    """
    graph = snapshot.graph
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for domain, name, kind in _KEYS:
        yield f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph id="hippo_lit" edgedefault="undirected">\n'
    yield from _passages(snapshot)
    for number, (name, spread) in enumerate(zip(graph.names, graph.spread.tolist(), strict=True)):
        yield _node(f"e{number}", kind="entity", label=name, passages=spread)
    count = 0
    for kind in EDGE_KINDS:
        if kind not in graph.edges:
            continue
        edges = graph.edges[kind]
        for start in range(0, len(edges.source), _ROWS):
            rows = slice(start, start + _ROWS)
            for source, target, weight in zip(
                edges.source[rows].tolist(),
                edges.target[rows].tolist(),
                edges.weight[rows].tolist(),
                strict=True,
            ):
                ends = f'source="{_id(source, snapshot)}" target="{_id(target, snapshot)}"'
                values = _data("edge", {"kind": kind, "weight": weight})
                yield f'<edge id="x{count}" {ends}>{values}</edge>\n'
                count += 1
    yield "</graph>\n</graphml>\n"


def _passages(snapshot: Snapshot) -> Iterator[str]:
    for paper, (first, last) in enumerate(pairwise(snapshot.first_passage.tolist())):
        known = snapshot.paper(paper)
        for number in range(first, last):
            yield _node(f"p{number}", kind="passage", label=known.title, paper=known.id, year=known.year)


def _id(node: int, snapshot: Snapshot) -> str:
    passages = snapshot.graph.n_passages
    return f"p{node}" if node < passages else f"e{node - passages}"


def _node(node_id: str, **values: Any) -> str:
    return f'<node id="{node_id}">{_data("node", values)}</node>\n'


def _data(domain: str, values: dict[str, Any]) -> str:
    known: Iterable[tuple[str, Any]] = ((name, value) for name, value in values.items() if value is not None)
    return "".join(f'<data key="{domain}_{name}">{_text(value)}</data>' for name, value in known)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        return repr(value)
    return quoteattr(clean(_NO_XML.sub(" ", value)), {"'": "&apos;"})[1:-1]
