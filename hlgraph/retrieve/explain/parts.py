"""The parts of an explanation. Ids of nodes stand beside their names, so that each part can be read by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hlgraph.records import Kind


@dataclass(frozen=True, slots=True)
class NodeTrace:
    """A node of the graph as an explanation names it.

    Attributes
    ----------
    name : the name of an entity or topic, the text of a statement (its start), title and start of a chunk, title of a
        source; empty when the record is gone
    score : in the place where it stands; higher is better; None where it has none
    seed_rank : its place, from 1, among the seeds of its kind, the best of all searches; None: no search gave it
    """

    id: str
    kind: Kind
    name: str
    score: float | None = None
    seed_rank: int | None = None


@dataclass(frozen=True, slots=True)
class SeedTrace:
    """Seeds of one kind from one search or rule; ``count`` of them, and the best, which are named.

    ``origin``: the mode of the search (vector, text, hybrid) or a word of the strategy such as ``keywords``. ``part``: the
    part of a strategy that is made of several; else empty.
    """

    kind: Kind
    origin: str
    count: int
    best: tuple[NodeTrace, ...]
    part: str = ""


@dataclass(frozen=True, slots=True)
class HopTrace:
    """One depth: how many nodes or paths were expanded, how many kept, why others were pruned, the best scores."""

    depth: int
    expanded: int
    kept: int
    pruned: Mapping[str, int]
    best: tuple[NodeTrace, ...]
    name: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class PathTrace:
    """Nodes in the order of a walk.

    Attributes
    ----------
    joined_by : for each step the names of what both ends have in common (``a ~ b``: two entities that are synonyms); empty
        where the ends are neighbours in the graph, or where nothing joins them
    jumps : the places, from 1, of the nodes that nothing joins with the node before: the walk jumped there
    """

    nodes: tuple[NodeTrace, ...]
    score: float
    joined_by: tuple[tuple[str, ...], ...] = ()
    jumps: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class ResultTrace:
    """Where one piece of evidence comes from: ``seed_rank`` as in :class:`NodeTrace`, and the numbers of its paths, from 1."""

    number: int
    node: NodeTrace
    paths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoreCost:
    """What one store was asked in all: calls, round trips, milliseconds, rows and bytes, as far as they are known."""

    store: str
    calls: int
    round_trips: int
    milliseconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the picture; ``number``: of the piece of evidence that it is, 0 for none."""

    node: NodeTrace
    number: int = 0
    is_on_path: bool = False


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge of the picture, by the ids of its ends; ``relationship`` is ``path`` where only the walk joins them."""

    start: str
    end: str
    relationship: str
    is_on_path: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceGraph:
    """The evidence, what it mentions, where it stands, and the paths to it; ``left_out``: how many of a kind are not shown."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
