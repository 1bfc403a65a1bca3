"""The picture: where its boxes stand, what it says, and that no text of a corpus becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import InputError
from hlgraph.records import Kind
from hlgraph.retrieve import Explanation
from hlgraph.retrieve.explain.parts import (
    EvidenceGraph,
    GraphEdge,
    GraphNode,
    HopTrace,
    NodeTrace,
    PathTrace,
    ResultTrace,
    SeedTrace,
    StoreCost,
)
from hlgraph.retrieve.explain.svg import COLUMNS, LINE, QUESTION, Box, arrange, curve, drawing, wrapped
from hlgraph.stores.trace import Call

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\x00\x07\ud800\u202e</style></svg>"


def _node(key: str, kind: Kind, name: str = "", *, number: int = 0, is_on_path: bool = False) -> GraphNode:
    return GraphNode(NodeTrace(key, kind, name or key), number, is_on_path)


_GRAPH = EvidenceGraph(
    (
        _node("e1", Kind.ENTITY, "Mara Quill", is_on_path=True),
        _node("e2", Kind.ENTITY, "Tessing"),
        _node("s1", Kind.STATEMENT, "The bridge was designed by Mara Quill.", number=2, is_on_path=True),
        _node("s2", Kind.STATEMENT, "Mara Quill was born in Tessing.", number=1, is_on_path=True),
        _node("c1", Kind.CHUNK),
        _node("c2", Kind.CHUNK),
        _node("d1", Kind.SOURCE),
    ),
    (
        GraphEdge("s1", "e1", "mentions", is_on_path=True),
        GraphEdge("s2", "e1", "mentions", is_on_path=True),
        GraphEdge("s2", "e2", "mentions"),
        GraphEdge("s1", "c1", "in_chunk"),
        GraphEdge("s2", "c2", "in_chunk"),
        GraphEdge("c1", "d1", "from_source"),
    ),
    {"entity": 3},
)


def _explanation(text: str = "Who designed it?", graph: EvidenceGraph = _GRAPH) -> Explanation:
    """An explanation with a text in every place that can hold one."""
    node = NodeTrace("s1", Kind.STATEMENT, text, 0.5, 1)
    return Explanation(
        text,
        "statement",
        "vector",
        {"k": text},
        (),
        3,
        1.5,
        1,
        text,
        (SeedTrace(Kind.STATEMENT, text, 1, (node,), text),),
        (HopTrace(1, 2, 1, {text: 1}, (node,), text, text),),
        (PathTrace((node, node, node), 0.5, ((text,), ()), (2,), text),),
        (ResultTrace(1, node, (1,)),),
        (Call("neo4j", text, "cypher", text, {"a": text}, copyable=text), Call("x", "y", "json", text, {"a": text})),
        (StoreCost(text, 1, 1, 0.5, 1, 1),),
        graph,
    )


class _Tags(HTMLParser):
    """The tags of a page, its texts, and whether each is closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


# Layout


def _overlap(a: Box, b: Box) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def test_columns_go_from_the_question_to_the_sources() -> None:
    boxes = arrange(_GRAPH, "Who?").boxes
    assert boxes[QUESTION].x < boxes["e1"].x < boxes["s1"].x < boxes["c1"].x < boxes["d1"].x


def test_results_stand_in_the_order_of_their_numbers_and_the_rest_beside_them() -> None:
    boxes = arrange(_GRAPH, "Who?").boxes
    assert boxes["s2"].y < boxes["s1"].y
    assert boxes["c2"].y < boxes["c1"].y
    assert boxes["e2"].y < boxes["e1"].y  # of the first result alone, and of both


def test_a_statement_on_the_way_to_a_result_stands_above_it() -> None:
    graph = EvidenceGraph(
        (
            _node("a", Kind.STATEMENT, number=1),
            _node("b", Kind.STATEMENT, number=2, is_on_path=True),
            _node("x", Kind.STATEMENT, is_on_path=True),
        ),
        (GraphEdge("x", "b", "path", is_on_path=True),),
    )
    boxes = arrange(graph, "Who?").boxes
    assert boxes["a"].y < boxes["x"].y < boxes["b"].y


_KEYS = st.sampled_from([f"n{at}" for at in range(14)])


@st.composite
def _graphs(draw: st.DrawFn) -> EvidenceGraph:
    kinds = draw(st.dictionaries(_KEYS, st.sampled_from(list(Kind)), max_size=14))
    numbered = draw(st.lists(st.sampled_from(sorted(kinds)), unique=True)) if kinds else []
    nodes = tuple(
        GraphNode(
            NodeTrace(key, kind, draw(st.text(max_size=80))),
            numbered.index(key) + 1 if key in numbered else 0,
            draw(st.booleans()),
        )
        for key, kind in sorted(kinds.items())
    )
    ends = st.sampled_from(sorted(kinds)) if kinds else st.nothing()
    edges = (
        draw(st.lists(st.builds(GraphEdge, ends, ends, st.just("mentions"), st.booleans()), max_size=20))
        if kinds
        else []
    )
    return EvidenceGraph(nodes, tuple(edges))


@given(_graphs(), st.text(min_size=1, max_size=300))
def test_boxes_do_not_overlap_and_stay_on_the_page(graph: EvidenceGraph, question: str) -> None:
    layout = arrange(graph, question)
    assert layout == arrange(graph, question)
    assert layout.boxes.keys() == {QUESTION, *(item.node.id for item in graph.nodes)}
    placed = list(layout.boxes.values())
    for at, box in enumerate(placed):
        assert 0 <= box.x <= layout.width - box.width
        assert 0 <= box.y <= layout.height - box.height
        assert len(box.lines) * LINE <= box.height
        assert not any(_overlap(box, other) for other in placed[at + 1 :])
    _Tags(drawing(graph, question, seeds=set()))


@given(st.text(), st.sampled_from(COLUMNS))
def test_labels_keep_their_bounds_and_lose_nothing_silently(text: str, column: object) -> None:
    lines = wrapped(text, column)  # type: ignore[arg-type]
    assert 1 <= len(lines) <= column.lines  # type: ignore[attr-defined]
    kept = "".join("".join(lines).split())
    whole = "".join(text.split())
    assert kept == whole or (kept.endswith("…") and whole.startswith(kept[:-1]))


def test_a_label_of_wide_characters_has_half_as_many() -> None:
    narrow, wide = (len(wrapped(character * 200, COLUMNS[1])[0]) for character in ("a", "橋"))
    assert narrow == pytest.approx(2 * wide, abs=1)


def test_an_edge_within_a_column_goes_around_its_side() -> None:
    a, b = Box(0, 0, 100, 20, ()), Box(0, 50, 100, 20, ())
    x0, _, bend, _, _, _, x3, _ = curve(a, b)
    assert (x0, x3) == (100, 100)
    assert bend > 100


def test_an_edge_between_columns_joins_the_middles_of_two_sides() -> None:
    left, right = Box(0, 0, 10, 4, ()), Box(30, 20, 10, 8, ())
    expected = (10, 2, 20, 2, 20, 24, 30, 24)
    assert curve(left, right) == expected
    assert curve(right, left) == expected


# Page


def test_a_page_is_whole_and_asks_nothing_of_the_network() -> None:
    page = _explanation().to_html()
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    found = _Tags(page)
    addresses = [value for name, value in found.attributes if name in ("src", "href", "action", "data")]
    assert addresses == ["data:,"]
    assert "@import" not in page
    assert "url(" not in page


def test_content_security_policy_admits_only_the_page_script() -> None:
    page = _explanation(HOSTILE).to_html()
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_hostile_text_stays_text_everywhere() -> None:
    hostile = EvidenceGraph(
        (_node(HOSTILE, Kind.STATEMENT, HOSTILE, number=1, is_on_path=True), _node("e", Kind.ENTITY, HOSTILE)),
        (GraphEdge(HOSTILE, "e", HOSTILE, is_on_path=True),),
        {HOSTILE: 2},
    )
    page, plain = _explanation(HOSTILE, hostile).to_html(), _explanation("x", hostile).to_html()
    page.encode("utf-8")
    found = _Tags(page)
    assert found.tags.count("script") == 1
    assert "img" not in found.tags
    assert found.tags == _Tags(plain).tags[: len(found.tags)] or sorted(set(found.tags)) == sorted(
        set(_Tags(plain).tags)
    )
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in found.text
    assert "\x00" not in page


def test_page_shows_every_part_of_the_explanation() -> None:
    text = _Tags(_explanation("Who designed the 🌉 bridge?").to_html()).text
    for said in ("Who designed the 🌉 bridge?", "Not shown: 3 x entity.", "neo4j", "seed 1", "on path 1", "Queries"):
        assert said in text, said
    assert "Mara Quill was born in Tessing." in " ".join(text.split())


def test_path_shows_joints_and_jumps() -> None:
    nodes = tuple(NodeTrace(key, Kind.STATEMENT, key) for key in ("first", "second", "third"))
    path = PathTrace(nodes, 0.5, (("Mara Quill", "Tessing"), ()), (2,))
    text = " ".join(_Tags(replace(_explanation(), paths=(path,)).to_html()).text.split())
    assert "first — Mara Quill, Tessing → second — a jump → third 0.5" in text


def test_page_requires_explain() -> None:
    plain = Explanation("chunk", "chunk", "vector", {}, (), 1, 0.5)
    with pytest.raises(InputError, match="search again with explain=True"):
        plain.to_html()


def test_the_picture_is_a_document_of_its_own() -> None:
    document = _explanation(HOSTILE).to_svg()
    root = ET.fromstring(document)  # noqa: S314 - written by the package itself
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert (root.get("width"), root.get("height")) == tuple((root.get("viewBox") or "").split()[2:])
    inside = drawing(_explanation(HOSTILE).graph, HOSTILE, seeds=set()).splitlines()[1:-1]
    assert "\n".join(inside) in document
    assert "@import" not in document
    assert "url(" not in document
    used = set(re.findall(r"var\((--[\w-]+)\)", document))
    assert used <= set(re.findall(r"(--[\w-]+):", document))


def test_picture_requires_explain() -> None:
    plain = Explanation("chunk", "chunk", "vector", {}, (), 1, 0.5)
    with pytest.raises(InputError, match="search again with explain=True"):
        plain.to_svg()


def test_marks_of_nodes_and_edges() -> None:
    svg = drawing(_GRAPH, "Who?", seeds={"s1"})
    assert svg.count('class="node ') == len(_GRAPH.nodes) + 1
    assert svg.count('class="edge ') == len(_GRAPH.edges) + 1
    assert svg.count('class="edge to-seed"') == svg.count('class="found"') == 1
    assert svg.count('class="edge mentions is-walk"') == 2
    assert svg.count('class="badge"') == 2
    assert '<g class="node statement is-seed is-walk" data-id="s1"' in svg
