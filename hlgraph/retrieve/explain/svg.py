"""Draw the evidence subgraph as SVG (:func:`drawing`), and frame HTML pages (:func:`framed`).

The nodes stand in columns from the question to the sources; the layout is deterministic.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from hlgraph.records import Kind
from hlgraph.retrieve.explain.parts import EvidenceGraph, GraphEdge, GraphNode, NodeTrace

QUESTION = "?"
"""The id of the question, which is not a node of the graph."""

LINE = 16.0
"""Pixels from one line of a label to the next."""

_PADDING = 10.0
_GAP = 14.0
_BETWEEN = 76.0
_MARGIN = 24.0
_CHARACTER = 6.9  # width in pixels of a 12 px character in a wide font
_LONGEST = 4


class Column(NamedTuple):
    """A column of the drawing.

    Attributes
    ----------
    name : of the column
    kinds : kinds of the nodes in it
    width : in pixels
    lines : maximum number of lines of a label
    """

    name: str
    kinds: frozenset[Kind]
    width: float
    lines: int


COLUMNS = (
    Column("question", frozenset(), 170, 6),
    Column("entities", frozenset({Kind.ENTITY, Kind.TOPIC, Kind.FACT, Kind.COMMUNITY}), 170, 2),
    Column("statements", frozenset({Kind.STATEMENT, Kind.SUMMARY}), 300, _LONGEST),
    Column("chunks", frozenset({Kind.CHUNK}), 230, 3),
    Column("sources", frozenset({Kind.SOURCE}), 170, 3),
)


@dataclass(frozen=True, slots=True)
class Box:
    """A node on the page.

    Attributes
    ----------
    x, y : its upper left corner, in pixels
    width, height : its size, in pixels
    lines : the lines of its label
    """

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of all nodes.

    Attributes
    ----------
    boxes : from id to box
    width, height : size of the drawing with its margin, in pixels
    """

    boxes: Mapping[str, Box]
    width: float
    height: float


def arrange(graph: EvidenceGraph, question: str) -> Layout:
    """Place the question and the nodes of a graph.

    Results are in the order of their numbers, with the nodes on a path to a result next to it. Every other node is at the mean
    height of its neighbours; ties by id. O((n + m) log n) for n nodes and m edges.

    Parameters
    ----------
    graph : the graph to draw
    question : text of the question

    Returns
    -------
    Layout
        One box per node and one for the question.
    """
    columns = _ordered(graph)
    names = {node.node.id: node.node.name or node.node.id for node in graph.nodes}
    placed_columns: list[tuple[float, list[tuple[str, Box]]]] = []
    x = _MARGIN
    for column, ids in zip(COLUMNS, columns, strict=True):
        shown = [QUESTION] if column.name == "question" else ids
        if not shown:
            continue
        y, boxes = 0.0, []
        for key in shown:
            lines = wrapped(question if key == QUESTION else names[key], column)
            height = len(lines) * LINE + 2 * _PADDING
            boxes.append((key, Box(x, y, column.width, height, lines)))
            y += height + _GAP
        placed_columns.append((y - _GAP, boxes))
        x += column.width + _BETWEEN
    tallest = max(height for height, _ in placed_columns)
    placed = {
        key: Box(box.x, box.y + _MARGIN + (tallest - height) / 2, box.width, box.height, box.lines)
        for height, boxes in placed_columns
        for key, box in boxes
    }
    return Layout(placed, x - _BETWEEN + _MARGIN, tallest + 2 * _MARGIN)


def _ordered(graph: EvidenceGraph) -> list[list[str]]:
    """The ids of each column from top to bottom."""
    ids = [sorted(node.node.id for node in graph.nodes if node.node.kind in column.kinds) for column in COLUMNS]
    results = {node.node.id for node in graph.nodes if node.number}
    beside = _beside(graph.edges)
    near = _numbers(graph)
    # The column with the results is placed first; the others are ordered by their neighbours placed so far.
    main = max(range(len(COLUMNS)), key=lambda at: (not results.isdisjoint(ids[at]), len(ids[at]), -at))
    ids[main].sort(key=lambda key: (near.get(key, len(near) + 1), key))
    place = {key: at / max(len(ids[main]), 1) for at, key in enumerate(ids[main])}
    for at in [*range(main + 1, len(ids)), *range(main - 1, -1, -1)]:
        means = {key: _mean(place[other] for other in beside[key] if other in place) for key in ids[at]}
        ids[at].sort(key=lambda key: (means[key], key))
        place.update({key: rank / len(ids[at]) for rank, key in enumerate(ids[at])})
    return ids


def _beside(edges: Iterable[GraphEdge]) -> defaultdict[str, list[str]]:
    """The neighbours of each node."""
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for edge in edges:
        beside[edge.start].append(edge.end)
        beside[edge.end].append(edge.start)
    return beside


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 1.0


def _numbers(graph: EvidenceGraph) -> dict[str, float]:
    """For each result its number; for each node on a path to results, slightly less than the lowest of their numbers."""
    numbers = {node.node.id: float(node.number) for node in graph.nodes if node.number}
    beside = _beside(edge for edge in graph.edges if edge.is_on_path)
    frontier = sorted(numbers, key=lambda key: (numbers[key], key))
    while frontier:
        reached: dict[str, float] = {}
        for key in frontier:
            for other in sorted(beside[key]):
                if other not in numbers:
                    reached.setdefault(other, numbers[key] - 0.1)
        numbers.update(reached)
        frontier = sorted(reached, key=lambda key: (reached[key], key))
    return numbers


def wrapped(text: str, column: Column) -> tuple[str, ...]:
    """The lines of a label that fit into a column; a label that is too long ends in an ellipsis.

    Parameters
    ----------
    text : the label
    column : its width and number of lines apply

    Returns
    -------
    tuple
        At least one line.

    Examples
    --------
    >>> wrapped("The Aldane Bridge over the Orne opened in 1931 and stands to this day", COLUMNS[1])
    ('The Aldane Bridge', 'over the Orne opened…')
    """
    room = int((column.width - 2 * _PADDING) / _CHARACTER)
    lines: list[str] = []
    rest = " ".join(text.split())
    while rest and len(lines) < column.lines:
        cut = _fitting(rest, room)
        if cut < len(rest) and " " in rest[: cut + 1].strip():
            cut = rest.rindex(" ", 0, cut + 1)
        lines.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    if rest:
        last = lines[-1]
        lines[-1] = f"{last[: _fitting(last, room - 1)].rstrip()}…"
    return tuple(lines) or ("",)


def _fitting(text: str, room: int) -> int:
    """Number of characters of a text that fit; East Asian wide characters count twice, and one character always fits."""
    width = 0
    for at, character in enumerate(text):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > room:
            return max(at, 1)
    return len(text)


def curve(start: Box, end: Box) -> Sequence[float]:
    """The Bézier curve between two boxes, from left to right; within one column it bends around the right side.

    Parameters
    ----------
    start, end : the two boxes

    Returns
    -------
    Sequence
        Eight coordinates, in pixels: x and y of the start, the two control points and the end.
    """
    if start.x == end.x:
        side = start.x + start.width
        bend = side + _BETWEEN * 0.45
        a, b = start.y + start.height / 2, end.y + end.height / 2
        return (side, a, bend, a, bend, b, side, b)
    left, right = (start, end) if start.x < end.x else (end, start)
    x0, y0 = left.x + left.width, left.y + left.height / 2
    x1, y1 = right.x, right.y + right.height / 2
    reach = (x1 - x0) / 2
    return (x0, y0, x0 + reach, y0, x1 - reach, y1, x1, y1)


_UNSHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    """A text escaped for HTML: without markup, control characters and characters that UTF-8 cannot encode.

    Examples
    --------
    >>> escaped('<script>"x"\\x00')
    '&lt;script&gt;&quot;x&quot;\ufffd'
    """
    return html.escape(_UNSHOWN.sub("\ufffd", text), quote=True)


def drawing(graph: EvidenceGraph, question: str, *, seeds: Collection[str], style: str = "") -> str:
    """One ``svg`` element: a box with a tooltip per node, a line per edge; edges of paths are highlighted.

    Parameters
    ----------
    graph : the graph to draw
    question : text of the question
    seeds : ids of the nodes that a search or rule gave as seeds
    style : the rules of ``picture.css``, for a standalone SVG document with its own colours and background; empty: an element of
        a page that has them

    Returns
    -------
    str
        Every text in it is escaped. A document ends with a line break.
    """
    layout = arrange(graph, question)
    inside = _inside(graph, question, layout, seeds=seeds)
    if not style:
        opening = _opening(layout, f'style="max-width: {layout.width:.0f}px"')
        return "\n".join([opening, *inside, "</svg>"])
    size = f'xmlns="http://www.w3.org/2000/svg" width="{layout.width:.0f}" height="{layout.height:.0f}"'
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([_opening(layout, size), f"<style>{style}</style>", paper, *inside, "</svg>", ""])


def _opening(layout: Layout, attributes: str) -> str:
    box = f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}"'
    return f'<svg class="evidence" {box} {attributes} role="img" aria-label="The evidence subgraph">'


def _inside(graph: EvidenceGraph, question: str, layout: Layout, *, seeds: Collection[str]) -> Iterator[str]:
    nodes, boxes = {node.node.id: node for node in graph.nodes}, layout.boxes
    for key in nodes:
        if key in seeds:
            yield _edge(boxes, QUESTION, key, kind="to-seed", title="found by the search")
    for edge in sorted(graph.edges, key=lambda edge: edge.is_on_path):  # edges of paths on top
        kind = f"{edge.relationship} is-walk" if edge.is_on_path else edge.relationship
        yield _edge(boxes, edge.start, edge.end, kind=kind, title=edge.relationship.replace("_", " "))
    for key, box in boxes.items():
        yield _node(nodes.get(key), box, question, is_seed=key in seeds)


def _edge(boxes: Mapping[str, Box], start: str, end: str, *, kind: str, title: str) -> str:
    x0, y0, x1, y1, x2, y2, x3, y3 = curve(boxes[start], boxes[end])
    return (
        f'<path class="edge {escaped(kind)}" data-a="{escaped(start)}" data-b="{escaped(end)}" '
        f'd="M{x0:.1f} {y0:.1f}C{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f} {x3:.1f} {y3:.1f}"><title>{escaped(title)}</title></path>'
    )


def _node(node: GraphNode | None, box: Box, question: str, *, is_seed: bool) -> str:
    """A box with its label; ``node`` None draws the question."""
    kind = "question" if node is None else node.node.kind.value
    marks = " is-seed" if is_seed else ""
    marks += " is-walk" if node is not None and node.is_on_path else ""
    key = QUESTION if node is None else node.node.id
    title = question if node is None else tooltip(node.node, node.number)
    lines = "".join(
        f'<tspan x="{box.x + 10:.1f}" y="{box.y + 21 + at * LINE:.1f}">{escaped(line)}</tspan>'
        for at, line in enumerate(box.lines)
    )
    badge = f'<circle class="found" cx="{box.x + box.width:.1f}" cy="{box.y:.1f}" r="6"/>' if is_seed else ""
    if node is not None and node.number:
        badge += (
            f'<g class="badge"><circle cx="{box.x:.1f}" cy="{box.y:.1f}" r="11"/>'
            f'<text x="{box.x:.1f}" y="{box.y + 4:.1f}">{node.number}</text></g>'
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
    number : its rank as evidence, from 1; 0 if it is not evidence

    Returns
    -------
    str
        One line per fact.
    """
    lines = [f"{node.kind.value}: {node.name}", f"id {node.id}"]
    if number:
        lines.insert(0, f"evidence [{number}]")
    if node.score is not None:
        lines.append(f"score {node.score:.4g}")
    if node.seed_rank is not None:
        lines.append(f"seed {node.seed_rank} of the search")
    return "\n".join(lines)


# The frame of HTML pages: one file that needs no network; its content security policy allows only its own style and script.


def framed(title: str, body: Iterable[str], *, style: str = "", script: str = "") -> str:
    """A complete HTML page in light and dark colours.

    The policy admits the script by its hash and nothing else, whatever the texts in the body contain.

    Parameters
    ----------
    title : title of the page
    body : lines of HTML, in which every untrusted text is escaped
    style : additional CSS, after the common one
    script : JavaScript; empty for none
    """
    css = resource("picture.css") + resource("page.css") + style
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"; script-src 'sha256-{digest}'" if script else ""
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'{scripts}"
    end = f"\n<script>{script}</script>" if script else ""
    lines = "\n".join(body)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escaped(title)}</title>
<link rel="icon" href="data:,">
<style>{css}</style>
</head>
<body>
{lines}{end}
</body>
</html>
"""


def resource(name: str) -> str:
    """The text of a file of this folder."""
    return files("hlgraph.retrieve.explain").joinpath(name).read_text("utf-8")
