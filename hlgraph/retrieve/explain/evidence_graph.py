"""The evidence subgraph: the evidence, its entities, chunks and sources, and the paths that lead to it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import scipy.sparse as sp

from hlgraph.records import Kind, Relationship
from hlgraph.retrieve.explain.notes import Path
from hlgraph.stores.protocols import PullShape
from hlgraph.subgraph import KINDS, Subgraph

SHAPE = PullShape(
    frozenset(
        {
            Relationship.MENTIONS,
            Relationship.IN_CHUNK,
            Relationship.ABOUT,
            Relationship.RELATES,
            Relationship.SYNONYM,
            Relationship.SAME_AS,
        }
    ),
    frozenset({Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK, Kind.TOPIC}),
)
"""What is pulled around the evidence; from chunks one hop further, to the entities of their statements."""

MOST_RESULTS = 12
MOST_BELOW = 4
"""Maximum number of chunks that are shown below one summary, the closest to the question."""
MOST_SHOWN_PATHS = 6
MOST_ENTITIES = 16
MOST_TOPICS = 8
RESTS_ON = "rests_on"
_ALONE = 8  # up to this many entities in all, those that only one shown node mentions are shown too
_BRIDGES = 2
_LINEAGE = (
    (Kind.STATEMENT, Kind.CHUNK, Relationship.IN_CHUNK),
    (Kind.CHUNK, Kind.SOURCE, Relationship.FROM_SOURCE),
)
_BRIDGE_KINDS = (Kind.ENTITY, Kind.TOPIC, Kind.CHUNK)


class Edge(NamedTuple):
    """A relationship between two ids, in the direction of the graph."""

    start: str
    end: str
    relationship: str


@dataclass(slots=True)
class Chosen:
    """The nodes and edges to show.

    Attributes
    ----------
    kinds : from id to kind
    edges : edges between the nodes, in order
    path_nodes, path_edges : those on a path
    left_out : number of nodes of each kind that are not shown
    """

    kinds: dict[str, Kind] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    path_nodes: set[str] = field(default_factory=set)
    path_edges: set[Edge] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)


class Neighbourhood:
    """A pulled subgraph, indexed by id."""

    def __init__(self, graph: Subgraph) -> None:
        self.kinds = {str(key): KINDS[kind] for key, kind in zip(graph.ids, graph.kinds, strict=True)}
        self._beside: dict[str, dict[str, Edge]] = {key: {} for key in self.kinds}
        for relationship in sorted(graph.edges):
            matrix = sp.coo_array(graph.edges[relationship])
            for start, end in zip(graph.ids[matrix.row], graph.ids[matrix.col], strict=True):
                made = Edge(str(start), str(end), relationship.value)
                self._beside[made.start].setdefault(made.end, made)
                self._beside[made.end].setdefault(made.start, made)

    def beside(self, key: str) -> Mapping[str, Edge]:
        """The neighbours of a node and the edges to them."""
        return self._beside.get(key, {})

    def of_kind(self, key: str, kind: Kind) -> list[str]:
        """The neighbours of one kind, ascending.

        Parameters
        ----------
        key : id of a node
        kind : kind of the neighbours

        Returns
        -------
        list
            Ids.
        """
        return sorted(other for other in self.beside(key) if self.kinds[other] is kind)

    def bridges(self, a: str, b: str) -> list[tuple[str, ...]]:
        """What joins two nodes: each bridge is one common neighbour, or a pair of entities that are synonyms.

        Common entities come first, else common topics, else common chunks, else synonyms; those with few neighbours first.

        Parameters
        ----------
        a, b : ids of the two nodes

        Returns
        -------
        list
            Ids of each bridge, from ``a`` to ``b``; empty where nothing joins the nodes, or where they are neighbours.
        """
        if self.direct(a, b) is not None:
            return []
        both = self.beside(a).keys() & self.beside(b).keys()
        ranked = sorted(
            (_BRIDGE_KINDS.index(self.kinds[key]), len(self.beside(key)), key)
            for key in both
            if self.kinds[key] in _BRIDGE_KINDS
        )
        first = [item for item in ranked if item[0] == ranked[0][0]]
        return [(key,) for _, _, key in first] or self._synonyms(a, b)

    def _synonyms(self, a: str, b: str) -> list[tuple[str, ...]]:
        ends = set(self.of_kind(b, Kind.ENTITY))
        return [
            (start, end)
            for start in self.of_kind(a, Kind.ENTITY)
            for end, edge in sorted(self.beside(start).items())
            if end in ends and edge.relationship == Relationship.SYNONYM.value
        ]

    def direct(self, a: str, b: str) -> Edge | None:
        """The edge between two nodes; a chunk counts as a neighbour of the entities of its statements.

        Parameters
        ----------
        a, b : ids of the two nodes

        Returns
        -------
        Edge | None
            None where they are no neighbours.
        """
        found = self.beside(a).get(b)
        for chunk, entity in ((a, b), (b, a)):
            if found is None and self.kinds.get(chunk) is Kind.CHUNK and entity in self.mentioned(chunk):
                found = Edge(chunk, entity, Relationship.MENTIONS.value)
        return found

    def mentioned(self, chunk: str) -> set[str]:
        """The entities of the statements of a chunk."""
        return {
            entity
            for statement in self.of_kind(chunk, Kind.STATEMENT)
            for entity in self.of_kind(statement, Kind.ENTITY)
        }


def reached(path: Path, lineage: Mapping[str, str]) -> set[str]:
    """The nodes that a path leads to, and the chunks of its statements.

    Parameters
    ----------
    path : its first node is left out, unless it is the only one
    lineage : from the id of a statement to that of its chunk

    Returns
    -------
    set
        Ids.
    """
    ids, kinds = (path.ids[1:], path.kinds[1:]) if len(path.ids) > 1 else (path.ids, path.kinds)
    held = {lineage[key] for key, kind in zip(ids, kinds, strict=True) if kind is Kind.STATEMENT and key in lineage}
    return {*ids, *held}


def choose(
    around: Neighbourhood,
    results: Sequence[tuple[str, Kind]],
    *,
    paths: Sequence[Path],
    seeds: Collection[str],
    lineage: Mapping[str, str],
    below: Mapping[str, Sequence[str]],
) -> Chosen:
    """The nodes and edges to show.

    Shown are the first ``MOST_RESULTS`` results; every node of the first ``MOST_SHOWN_PATHS`` paths that lead to one of them (of
    all paths, where none does); the first ``MOST_BELOW`` chunks below each summary; their chunks and sources; entities, those on
    paths first, then seeds, then those that most of the shown nodes share; topics that are seeds or on paths.

    Parameters
    ----------
    around : the subgraph to choose from
    results : ids and kinds, best first
    paths : best first
    seeds : ids of the seeds
    lineage : from the id of a statement to that of its chunk, and from the id of a chunk to that of its source
    below : from the id of a summary to those of the chunks that it rests on, the closest to the question first

    Returns
    -------
    Chosen
        What is shown, and how much is left out.
    """
    made = Chosen()
    made.kinds.update(results[:MOST_RESULTS])
    made.left_out["result"] = len(results) - len(made.kinds)
    first = set(made.kinds)
    _open(made, below)
    reaching = [path for path in paths if first & reached(path, lineage)]
    shown = (reaching or paths)[:MOST_SHOWN_PATHS]
    made.left_out["path"] = len(paths) - len(shown)
    for path in shown:
        made.kinds.update(zip(path.ids, path.kinds, strict=True))
        made.path_nodes.update(path.ids)
        for a, b in zip(path.ids, path.ids[1:], strict=False):
            _walk(around, made, a, b)
        for key in first & reached(path, lineage) - set(path.ids):  # resulting chunks, reached through their statements
            edges = {Edge(item, key, Relationship.IN_CHUNK.value) for item in path.ids if lineage.get(item) == key}
            made.path_nodes.add(key)
            made.path_edges |= edges
    _fill(around, made, Kind.ENTITY, wanted=seeds)
    _fill(around, made, Kind.TOPIC, wanted=seeds)
    for kind, above, relationship in _LINEAGE:
        for key in [key for key, found in made.kinds.items() if found is kind and key in lineage]:
            made.kinds[lineage[key]] = above
            made.edges[Edge(key, lineage[key], relationship.value)] = None
    _join(around, made)
    made.left_out = +made.left_out
    return made


def _open(made: Chosen, below: Mapping[str, Sequence[str]]) -> None:
    """Adds the first chunks below each shown summary."""
    hidden: set[str] = set()
    for key in [key for key, kind in made.kinds.items() if kind is Kind.SUMMARY]:
        shown = below.get(key, ())[:MOST_BELOW]
        hidden.update(below.get(key, ()))
        made.kinds.update(dict.fromkeys(shown, Kind.CHUNK))
        made.edges.update((Edge(key, chunk, RESTS_ON), None) for chunk in shown)
    made.left_out["chunk below a summary"] = len(hidden - made.kinds.keys())


def _walk(around: Neighbourhood, made: Chosen, a: str, b: str) -> None:
    """Adds one step of a path: its edge, else the bridges between its ends, else an edge of its own."""
    direct = around.direct(a, b)
    found = [] if direct is None else [direct]
    for bridge in around.bridges(a, b)[:_BRIDGES]:
        walk = (a, *bridge, b)
        found += [around.beside(start)[end] for start, end in itertools.pairwise(walk)]
        made.kinds.update({key: around.kinds[key] for key in bridge})
        made.path_nodes.update(bridge)
    found = found or [Edge(a, b, "path")]
    made.edges.update(dict.fromkeys(found))
    made.path_edges.update(found)


def _fill(around: Neighbourhood, made: Chosen, kind: Kind, *, wanted: Collection[str]) -> None:
    """Adds entities or topics next to the shown nodes, up to the limit of their kind."""
    degree = Counter(other for key in made.kinds for other in _reached(around, made, key, kind))
    there = {key for key, item in made.kinds.items() if item is kind}
    most = MOST_ENTITIES if kind is Kind.ENTITY else MOST_TOPICS
    ranked = sorted(degree.keys() - there, key=lambda key: (key not in wanted, -degree[key], key))
    if kind is Kind.TOPIC:  # every statement has topics: only those that led here are informative
        ranked = [key for key in ranked if key in wanted]
    is_said = {key: key in wanted or degree[key] > 1 for key in ranked}
    room = max(most - len(there), 0)
    kept = [key for at, key in enumerate(ranked[:room]) if is_said[key] or at + len(there) < _ALONE]
    made.kinds.update(dict.fromkeys(kept, kind))
    made.left_out[kind.value] = len(ranked) - len(kept)


def _reached(around: Neighbourhood, made: Chosen, key: str, kind: Kind) -> Iterable[str]:
    """The neighbours of a kind; for a chunk without a shown statement, the entities of its statements."""
    if made.kinds[key] is Kind.CHUNK and kind is Kind.ENTITY:
        is_hidden = not any(item in made.kinds for item in around.of_kind(key, Kind.STATEMENT))
        return around.mentioned(key) if is_hidden else ()
    return around.of_kind(key, kind)


def _join(around: Neighbourhood, made: Chosen) -> None:
    """Adds the edges between the shown nodes."""
    for key in made.kinds:
        found = (edge for other, edge in around.beside(key).items() if other in made.kinds)
        made.edges.update(dict.fromkeys(found))
        if made.kinds[key] is Kind.CHUNK:
            for other in sorted(_reached(around, made, key, Kind.ENTITY)):
                if other in made.kinds:
                    made.edges[Edge(key, other, Relationship.MENTIONS.value)] = None
