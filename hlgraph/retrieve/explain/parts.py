"""The parts of an explanation. Ids of nodes stand next to their names, so each part is readable by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hlgraph.records import Kind


@dataclass(frozen=True, slots=True)
class NodeTrace:
    """A node of the graph as an explanation names it.

    Attributes
    ----------
    id, kind : of the node
    name : the name of an entity or topic, the beginning of a statement or summary, title and beginning of a chunk, the title of a
        source; empty where the record is gone
    score : its score in this part of the explanation; higher is better; None without one
    seed_rank : its best rank, from 1, among the seeds of its kind over all searches; None where no search found it
    """

    id: str
    kind: Kind
    name: str
    score: float | None = None
    seed_rank: int | None = None


@dataclass(frozen=True, slots=True)
class SeedTrace:
    """Seeds of one kind from one search or rule.

    Attributes
    ----------
    kind : kind of the seeds
    origin : the mode of the search (vector, text, hybrid) or a word of the strategy such as ``keywords``
    count : number of seeds
    best : the best of them, with their names
    part : part of a strategy that has several; else empty
    """

    kind: Kind
    origin: str
    count: int
    best: tuple[NodeTrace, ...]
    part: str = ""


@dataclass(frozen=True, slots=True)
class HopTrace:
    """One depth of a search over the graph.

    Attributes
    ----------
    depth : from 1
    expanded : number of nodes or paths that were expanded
    kept : number that is left after pruning
    pruned : number of pruned ones by reason
    best : the nodes with the highest scores, best first
    name : name of the hop, where a strategy has several kinds of hops
    part : part of a strategy that has several; else empty
    """

    depth: int
    expanded: int
    kept: int
    pruned: Mapping[str, int]
    best: tuple[NodeTrace, ...]
    name: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class PathTrace:
    """A path of a walk.

    Attributes
    ----------
    nodes : in the order of the walk
    score : of the whole path
    joined_by : for each step the names of what joins its two ends (``a ~ b``: two entities that are synonyms); empty where the
        ends are neighbours in the graph, or where nothing joins them
    jumps : numbers of the steps, from 1, whose ends nothing joins: the walk jumped there
    part : part of a strategy that has several; else empty
    """

    nodes: tuple[NodeTrace, ...]
    score: float
    joined_by: tuple[tuple[str, ...], ...] = ()
    jumps: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class BasisTrace:
    """A chunk or statement that a summary rests on, and where it stands.

    Attributes
    ----------
    node : with its cosine to the question as score
    uri : of its source
    start, end : offset of its first character in the text of the source, and offset behind its last one
    """

    node: NodeTrace
    uri: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ResultTrace:
    """Where one piece of evidence comes from.

    Attributes
    ----------
    number : rank of the evidence, from 1
    node : the statement, chunk or summary; its ``seed_rank`` is as in :class:`NodeTrace`
    paths : numbers of the paths that lead to it, from 1
    is_stale : for a summary, whether the corpus has changed since it was written
    rests_on : for a summary, all that it rests on, as :class:`hlgraph.records.Evidence` has it
    """

    number: int
    node: NodeTrace
    paths: tuple[int, ...]
    is_stale: bool = False
    rests_on: tuple[BasisTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreCost:
    """The total cost of the calls to one store, as far as it is known: calls, round trips, milliseconds, rows and bytes."""

    store: str
    calls: int
    round_trips: int
    milliseconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the drawing.

    Attributes
    ----------
    node : with its name
    number : its rank as evidence, from 1; 0 where it is not evidence
    is_on_path : whether it is highlighted as part of a path
    """

    node: NodeTrace
    number: int = 0
    is_on_path: bool = False


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge of the drawing.

    Attributes
    ----------
    start, end : ids of its ends
    relationship : its name; ``path`` where only the walk joins the ends
    is_on_path : whether it is highlighted as part of a path
    """

    start: str
    end: str
    relationship: str
    is_on_path: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceGraph:
    """The evidence, its entities, chunks and sources, and the paths to it.

    Attributes
    ----------
    nodes, edges : what is drawn
    left_out : number of nodes of each kind that are not drawn
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
