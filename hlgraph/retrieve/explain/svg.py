"""Draws the evidence subgraph as SVG."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator

from hlgraph.retrieve.explain.parts import EvidenceGraph, GraphNode, NodeTrace
from hlgraph.retrieve.explain.placement import LINE, QUESTION, Box, Layout, arrange, curve

_UNSHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    """A text escaped for HTML: without markup, control characters and what UTF-8 cannot encode.

    Examples
    --------
    >>> escaped('<script>"x"\\x00')
    '&lt;script&gt;&quot;x&quot;\ufffd'
    """
    return html.escape(_UNSHOWN.sub("\ufffd", text), quote=True)


def drawing(graph: EvidenceGraph, question: str, *, seeds: Collection[str]) -> str:
    """One ``svg`` element: a box with a tooltip for each node, a line for each edge; edges of paths are highlighted.

    Parameters
    ----------
    graph : what to draw
    question : text of the question
    seeds : ids of the nodes that a search or rule gave as seeds

    Returns
    -------
    str
        Every text in it is escaped.
    """
    layout = arrange(graph, question)
    style = f'style="max-width: {layout.width:.0f}px"'
    return "\n".join([_opening(layout, style), *_inside(graph, question, layout, seeds=seeds), "</svg>"])


def document(graph: EvidenceGraph, question: str, *, seeds: Collection[str], style: str) -> str:
    """The picture of :func:`drawing` as a standalone SVG document, with its own colours and background.

    Parameters
    ----------
    graph : what to draw
    question : text of the question
    seeds : ids of the nodes that a search or rule gave as seeds
    style : the rules of ``picture.css``

    Returns
    -------
    str
        Ends with a line break.
    """
    layout = arrange(graph, question)
    size = f'xmlns="http://www.w3.org/2000/svg" width="{layout.width:.0f}" height="{layout.height:.0f}"'
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    inside = _inside(graph, question, layout, seeds=seeds)
    return "\n".join([_opening(layout, size), f"<style>{style}</style>", paper, *inside, "</svg>", ""])


def _opening(layout: Layout, attributes: str) -> str:
    box = f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}"'
    return f'<svg class="evidence" {box} {attributes} role="img" aria-label="The evidence subgraph">'


def _inside(graph: EvidenceGraph, question: str, layout: Layout, *, seeds: Collection[str]) -> Iterator[str]:
    nodes = {item.node.id: item for item in graph.nodes}
    yield from _edges(graph, seeds, boxes=dict(layout.boxes))
    for key, box in layout.boxes.items():
        yield _node(nodes.get(key), box, question, is_seed=key in seeds)


def _edges(graph: EvidenceGraph, seeds: Collection[str], *, boxes: dict[str, Box]) -> Iterator[str]:
    for item in graph.nodes:
        if item.node.id in seeds:
            yield _edge(boxes, QUESTION, item.node.id, kind="to-seed", title="found by the search")
    for edge in sorted(graph.edges, key=lambda edge: edge.is_on_path):  # edges of paths on top
        kind = f"{edge.relationship} is-walk" if edge.is_on_path else edge.relationship
        yield _edge(boxes, edge.start, edge.end, kind=kind, title=edge.relationship.replace("_", " "))


def _edge(boxes: dict[str, Box], start: str, end: str, *, kind: str, title: str) -> str:
    x0, y0, x1, y1, x2, y2, x3, y3 = curve(boxes[start], boxes[end])
    return (
        f'<path class="edge {escaped(kind)}" data-a="{escaped(start)}" data-b="{escaped(end)}" '
        f'd="M{x0:.1f} {y0:.1f}C{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f} {x3:.1f} {y3:.1f}"><title>{escaped(title)}</title></path>'
    )


def _node(item: GraphNode | None, box: Box, question: str, *, is_seed: bool) -> str:
    """A box with its label; ``item`` None draws the question."""
    kind = "question" if item is None else item.node.kind.value
    marks = " is-seed" if is_seed else ""
    marks += " is-walk" if item is not None and item.is_on_path else ""
    key = QUESTION if item is None else item.node.id
    title = question if item is None else tooltip(item.node, item.number)
    lines = "".join(
        f'<tspan x="{box.x + 10:.1f}" y="{box.y + 21 + at * LINE:.1f}">{escaped(line)}</tspan>'
        for at, line in enumerate(box.lines)
    )
    badge = f'<circle class="found" cx="{box.x + box.width:.1f}" cy="{box.y:.1f}" r="6"/>' if is_seed else ""
    if item is not None and item.number:
        badge += (
            f'<g class="badge"><circle cx="{box.x:.1f}" cy="{box.y:.1f}" r="11"/>'
            f'<text x="{box.x:.1f}" y="{box.y + 4:.1f}">{item.number}</text></g>'
        )
    return (
        f'<g class="node {kind}{marks}" data-id="{escaped(key)}" tabindex="0"><title>{escaped(title)}</title>'
        f'<rect class="box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8"/>'
        f"<text>{lines}</text>{badge}</g>"
    )


def tooltip(node: NodeTrace, number: int = 0) -> str:
    """The tooltip of a node.

    Parameters
    ----------
    node : with its name
    number : its rank as evidence, from 1; 0 where it is not evidence

    Returns
    -------
    str
        One line for each fact.
    """
    lines = [f"{node.kind.value}: {node.name}", f"id {node.id}"]
    if number:
        lines.insert(0, f"evidence [{number}]")
    if node.score is not None:
        lines.append(f"score {node.score:.4g}")
    if node.seed_rank is not None:
        lines.append(f"seed {node.seed_rank} of the search")
    return "\n".join(lines)
