"""Papers, facts and graph for other programs, and back."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tiny import FOUND, PAPERS, Angles, Scripted, four_papers, snapshot

from hippo_lit import export
from hippo_lit.records import paper_from_mapping
from hippo_lit.storage.store import Store
from hippo_lit.types import Extraction, Fact, Mention, Paper

SPACE = "{http://graphml.graphdrawing.org/xmlns}"
WILD = Paper("w<&\"'>", "Wild \x00\x0b\x1b\ufffe\ud800 <b>&amp; ]]> 𝒳", "A \x07 <tags> & 'quotes'.", 1999)


def elements(text: str) -> tuple[dict[str, dict[str, str]], list[tuple[str, str, dict[str, str]]]]:
    root = ElementTree.fromstring(text)  # valid XML, or ParseError
    graph = root.find(f"{SPACE}graph")
    assert graph is not None

    def data(element: ElementTree.Element) -> dict[str, str]:
        return {d.attrib["key"]: d.text or "" for d in element.iter(f"{SPACE}data")}

    nodes = {node.attrib["id"]: data(node) for node in graph.iter(f"{SPACE}node")}
    edges = [(e.attrib["source"], e.attrib["target"], data(e)) for e in graph.iter(f"{SPACE}edge")]
    declared = {key.attrib["id"] for key in root.iter(f"{SPACE}key")}
    assert {key for values in [*nodes.values(), *(e[2] for e in edges)] for key in values} <= declared
    return nodes, edges


def test_papers_read_back_equal(tmp_path: Path) -> None:
    full = Paper(
        "f", "Full β", "Abstract 北京.", 2001, ("A B", "C"), ("a", "x"), ("b",), "arxiv+s2",
        "10.1/x", "Venue", "https://x.org",
    )  # fmt: skip
    with Store.open(tmp_path, create=True) as store:
        store.put_papers([full, *PAPERS])
        lines = [json.dumps(record) for record in export.papers(store)]
        assert [paper_from_mapping(json.loads(line)) for line in lines] == list(store.papers())


def test_facts_come_with_paper_and_sentence(tmp_path: Path) -> None:
    assert list(export.facts(four_papers(tmp_path))) == [
        {
            "subject": "Alpha", "relation": "likes", "object": "Beta", "paper": "a",
            "sentence": "Alpha likes Beta.",
        },
        {"subject": "Alpha", "relation": "is", "object": "old", "paper": "a", "sentence": "Alpha is old."},
        {
            "subject": "Beta", "relation": "lives in", "object": "Kraków", "paper": "b",
            "sentence": "Beta lives in Kraków.",
        },
    ]  # fmt: skip


def test_the_graph_holds_all_nodes_and_edges(tmp_path: Path) -> None:
    made = four_papers(tmp_path)
    nodes, edges = elements("".join(export.graphml(made)))
    graph = made.graph
    assert len(nodes) == graph.n_passages + graph.n_entities
    assert len(edges) == sum(len(kind.source) for kind in graph.edges.values())
    assert nodes["p0"] == {
        "node_kind": "passage",
        "node_label": "Alpha",
        "node_paper": "a",
        "node_year": "2001",
    }
    assert "node_year" not in nodes["p2"]
    names = {node["node_label"]: key for key, node in nodes.items() if node["node_kind"] == "entity"}
    kinds = {(a, b): d["edge_kind"] for a, b, d in edges if d["edge_kind"] == "fact"}
    pair = tuple(sorted((names["Alpha"], names["Beta"])))
    assert kinds[pair[0], pair[1]] == "fact"
    written = sorted((d["edge_kind"], float(d["edge_weight"])) for _, _, d in edges)
    assert written == sorted((k, float(w)) for k, e in graph.edges.items() for w in e.weight)


def test_any_text_makes_valid_xml(tmp_path: Path) -> None:
    name = 'N\x08 <x> & "y" \ufffe𝒳'
    found = FOUND | {WILD.title: Extraction((Mention(name, 0),), (Fact(name, "is", "<b>"),), (0,))}
    extraction = found[WILD.title]
    made = snapshot(tmp_path, [WILD], Angles({}), Everything(extraction))
    nodes, _ = elements("".join(export.graphml(made)))
    assert nodes["p0"]["node_paper"] == WILD.id
    assert nodes["p0"]["node_label"] == "Wild <b>&amp; ]]> 𝒳"
    assert 'N <x> & "y" 𝒳' in {node["node_label"] for node in nodes.values()}


class Everything(Scripted):
    """The same for every passage."""

    def __init__(self, extraction: Extraction | Exception) -> None:
        super().__init__({})
        self.extraction = extraction

    def extract(self, passages):  # type: ignore[no-untyped-def]
        for _ in passages:
            yield self.extraction
