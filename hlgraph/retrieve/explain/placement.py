"""Places the nodes of an evidence subgraph in columns from the question to the sources; deterministic."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlgraph.records import Kind
from hlgraph.retrieve.explain.parts import EvidenceGraph, GraphNode

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
    """Where everything is placed.

    Attributes
    ----------
    boxes : from id to box
    width, height : size of the drawing with its margin, in pixels
    """

    boxes: Mapping[str, Box]
    width: float
    height: float


def arrange(graph: EvidenceGraph, question: str) -> Layout:
    """Places the question and the nodes of a graph.

    Results are in the order of their numbers, with the nodes on a path to a result next to it. Every other node is at the mean
    height of its neighbours; ties by id. O((n + m) log n) for n nodes and m edges.

    Parameters
    ----------
    graph : what to draw
    question : text of the question

    Returns
    -------
    Layout
        One box for each node and one for the question.
    """
    columns = _ordered(graph)
    names = {item.node.id: item.node.name or item.node.id for item in graph.nodes}
    made: list[tuple[float, list[tuple[str, Box]]]] = []
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
        made.append((y - _GAP, boxes))
        x += column.width + _BETWEEN
    tallest = max(height for height, _ in made)
    placed = {
        key: Box(box.x, box.y + _MARGIN + (tallest - height) / 2, box.width, box.height, box.lines)
        for height, boxes in made
        for key, box in boxes
    }
    return Layout(placed, x - _BETWEEN + _MARGIN, tallest + 2 * _MARGIN)


def _ordered(graph: EvidenceGraph) -> list[list[str]]:
    """The ids of each column from top to bottom."""
    by_column = [
        sorted((item for item in graph.nodes if item.node.kind in column.kinds), key=_id) for column in COLUMNS
    ]
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        beside[edge.start].append(edge.end)
        beside[edge.end].append(edge.start)
    near = _numbers(graph)
    # The column with the results is placed first; the others are ordered by their neighbours placed so far.
    main = max(
        range(len(COLUMNS)), key=lambda at: (any(item.number for item in by_column[at]), len(by_column[at]), -at)
    )
    ids = [[item.node.id for item in column] for column in by_column]
    ids[main].sort(key=lambda key: (near.get(key, len(near) + 1), key))
    place = {key: at / max(len(ids[main]), 1) for at, key in enumerate(ids[main])}
    for at in [*range(main + 1, len(ids)), *range(main - 1, -1, -1)]:
        means = {key: _mean(place[other] for other in beside[key] if other in place) for key in ids[at]}
        ids[at].sort(key=lambda key: (means[key], key))
        place.update({key: rank / len(ids[at]) for rank, key in enumerate(ids[at])})
    return ids


def _id(item: GraphNode) -> str:
    return item.node.id


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 1.0


def _numbers(graph: EvidenceGraph) -> dict[str, float]:
    """For each result its number; for each node on a path to results, slightly less than the lowest of their numbers."""
    found = {item.node.id: float(item.number) for item in graph.nodes if item.number}
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        if edge.is_on_path:
            beside[edge.start].append(edge.end)
            beside[edge.end].append(edge.start)
    frontier = sorted(found, key=lambda key: (found[key], key))
    while frontier:
        reached: dict[str, float] = {}
        for key in frontier:
            for other in sorted(beside[key]):
                if other not in found:
                    reached.setdefault(other, found[key] - 0.1)
        found.update(reached)
        frontier = sorted(reached, key=lambda key: (reached[key], key))
    return found


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
