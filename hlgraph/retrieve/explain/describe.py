"""Turn the notes of a retrieval into its explanation: names for ids, joints for paths, costs of stores.

:func:`choose` selects the evidence subgraph that is shown; :func:`explained` makes the explanation.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import scipy.sparse as sp

from hlgraph.records import (
    RECORD_TYPES,
    Chunk,
    Entity,
    Evidence,
    Kind,
    Record,
    Relationship,
    Source,
    Statement,
    Topic,
    group_by,
)
from hlgraph.retrieve.explain.parts import (
    BasisTrace,
    EvidenceGraph,
    GraphEdge,
    GraphNode,
    Hop,
    HopTrace,
    NodeTrace,
    Notes,
    Path,
    PathTrace,
    ResultTrace,
    Seeds,
    SeedTrace,
    StoreCost,
)
from hlgraph.retrieve.request import Explanation
from hlgraph.retrieve.session import Session
from hlgraph.stores.protocols import PullShape
from hlgraph.stores.trace import Call
from hlgraph.subgraph import KINDS, Subgraph

# The evidence subgraph: the evidence, its entities, chunks and sources, and the paths that lead to it.

SHAPE = PullShape.along(
    Relationship.MENTIONS,
    Relationship.IN_CHUNK,
    Relationship.ABOUT,
    Relationship.RELATES,
    Relationship.SYNONYM,
    Relationship.SAME_AS,
)
"""Shape of the pull around the evidence; from chunks one hop further, to the entities of their statements."""

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
                edge = Edge(str(start), str(end), relationship.value)
                self._beside[edge.start].setdefault(edge.end, edge)
                self._beside[edge.end].setdefault(edge.start, edge)

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
        """The bridges between two nodes: each is one common neighbour, or a pair of entities that are synonyms.

        Common entities come first, else common topics, else common chunks, else synonyms; those with few neighbours first.

        Parameters
        ----------
        a, b : ids of the two nodes

        Returns
        -------
        list
            Ids of each bridge, from ``a`` to ``b``; empty if nothing joins the nodes, or if they are neighbours.
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
            None if they are not neighbours.
        """
        edge = self.beside(a).get(b)
        for chunk, entity in ((a, b), (b, a)):
            if edge is None and self.kinds.get(chunk) is Kind.CHUNK and entity in self.mentioned(chunk):
                edge = Edge(chunk, entity, Relationship.MENTIONS.value)
        return edge

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
    chunks = {lineage[key] for key, kind in zip(ids, kinds, strict=True) if kind is Kind.STATEMENT and key in lineage}
    return {*ids, *chunks}


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

    These are: the first ``MOST_RESULTS`` results; every node of the first ``MOST_SHOWN_PATHS`` paths that lead to one of them (of
    all paths, if none does); the first ``MOST_BELOW`` chunks below each summary; the chunks and sources of all these; entities,
    those on paths first, then seeds, then those that most of the shown nodes share; topics that are seeds or on paths.

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
        The shown nodes and edges, and the number of nodes left out.
    """
    chosen = Chosen()
    chosen.kinds.update(results[:MOST_RESULTS])
    chosen.left_out["result"] = len(results) - len(chosen.kinds)
    first = set(chosen.kinds)
    _open(chosen, below)
    reaching = [path for path in paths if first & reached(path, lineage)]
    shown = (reaching or paths)[:MOST_SHOWN_PATHS]
    chosen.left_out["path"] = len(paths) - len(shown)
    for path in shown:
        chosen.kinds.update(zip(path.ids, path.kinds, strict=True))
        chosen.path_nodes.update(path.ids)
        for a, b in itertools.pairwise(path.ids):
            _walk(around, chosen, a, b)
        for key in first & reached(path, lineage) - set(path.ids):  # resulting chunks, reached through their statements
            edges = {Edge(node, key, Relationship.IN_CHUNK.value) for node in path.ids if lineage.get(node) == key}
            chosen.path_nodes.add(key)
            chosen.path_edges |= edges
    _fill(around, chosen, Kind.ENTITY, wanted=seeds)
    _fill(around, chosen, Kind.TOPIC, wanted=seeds)
    for kind, above, relationship in _LINEAGE:
        for key in [key for key, node_kind in chosen.kinds.items() if node_kind is kind and key in lineage]:
            chosen.kinds[lineage[key]] = above
            chosen.edges[Edge(key, lineage[key], relationship.value)] = None
    _join(around, chosen)
    chosen.left_out = +chosen.left_out
    return chosen


def _open(chosen: Chosen, below: Mapping[str, Sequence[str]]) -> None:
    """Add the first chunks below each shown summary."""
    hidden: set[str] = set()
    for key in [key for key, kind in chosen.kinds.items() if kind is Kind.SUMMARY]:
        shown = below.get(key, ())[:MOST_BELOW]
        hidden.update(below.get(key, ()))
        chosen.kinds.update(dict.fromkeys(shown, Kind.CHUNK))
        chosen.edges.update((Edge(key, chunk, RESTS_ON), None) for chunk in shown)
    chosen.left_out["chunk below a summary"] = len(hidden - chosen.kinds.keys())


def _walk(around: Neighbourhood, chosen: Chosen, a: str, b: str) -> None:
    """Add one step of a path: its edge, else the bridges between its ends, else an edge of its own."""
    direct = around.direct(a, b)
    edges = [] if direct is None else [direct]
    for bridge in around.bridges(a, b)[:_BRIDGES]:
        walk = (a, *bridge, b)
        edges += [around.beside(start)[end] for start, end in itertools.pairwise(walk)]
        chosen.kinds.update({key: around.kinds[key] for key in bridge})
        chosen.path_nodes.update(bridge)
    edges = edges or [Edge(a, b, "path")]
    chosen.edges.update(dict.fromkeys(edges))
    chosen.path_edges.update(edges)


def _fill(around: Neighbourhood, chosen: Chosen, kind: Kind, *, wanted: Collection[str]) -> None:
    """Add entities or topics next to the shown nodes, up to the limit of their kind."""
    degree = Counter(other for key in chosen.kinds for other in _reached(around, chosen, key, kind))
    there = {key for key, node_kind in chosen.kinds.items() if node_kind is kind}
    most = MOST_ENTITIES if kind is Kind.ENTITY else MOST_TOPICS
    ranked = sorted(degree.keys() - there, key=lambda key: (key not in wanted, -degree[key], key))
    if kind is Kind.TOPIC:  # every statement has topics: only those that led here are informative
        ranked = [key for key in ranked if key in wanted]
    is_said = {key: key in wanted or degree[key] > 1 for key in ranked}
    room = max(most - len(there), 0)
    kept = [key for at, key in enumerate(ranked[:room]) if is_said[key] or at + len(there) < _ALONE]
    chosen.kinds.update(dict.fromkeys(kept, kind))
    chosen.left_out[kind.value] = len(ranked) - len(kept)


def _reached(around: Neighbourhood, chosen: Chosen, key: str, kind: Kind) -> Iterable[str]:
    """The neighbours of a kind; for a chunk without a shown statement, the entities of its statements."""
    if chosen.kinds[key] is Kind.CHUNK and kind is Kind.ENTITY:
        is_hidden = not any(statement in chosen.kinds for statement in around.of_kind(key, Kind.STATEMENT))
        return around.mentioned(key) if is_hidden else ()
    return around.of_kind(key, kind)


def _join(around: Neighbourhood, chosen: Chosen) -> None:
    """Add the edges between the shown nodes."""
    for key in chosen.kinds:
        edges = (edge for other, edge in around.beside(key).items() if other in chosen.kinds)
        chosen.edges.update(dict.fromkeys(edges))
        if chosen.kinds[key] is Kind.CHUNK:
            for other in sorted(_reached(around, chosen, key, Kind.ENTITY)):
                if other in chosen.kinds:
                    chosen.edges[Edge(key, other, Relationship.MENTIONS.value)] = None


MOST_CHARACTERS = 200
"""Maximum length of a text; longer ones are cut."""
_MOST_SEEDS = 20  # named seeds of one search
_MOST_JOINTS = 5
_NAMED = (Kind.STATEMENT, Kind.FACT, Kind.ENTITY, Kind.TOPIC, Kind.SOURCE)

Node: TypeAlias = tuple[str, Kind]


def costs(calls: Iterable[Call]) -> tuple[StoreCost, ...]:
    """The total cost of the calls to each store, by name of the store.

    Examples
    --------
    >>> calls = [Call("neo4j", "x", "cypher", "", rows=2, milliseconds=1.5), Call("neo4j", "y", "cypher", "", rows=3)]
    >>> costs(calls)
    (StoreCost(store='neo4j', calls=2, round_trips=2, milliseconds=1.5, rows=5, bytes=0),)
    """
    by_store = group_by(calls, lambda call: call.store)
    return tuple(
        StoreCost(
            store,
            len(store_calls),
            sum(call.round_trips for call in store_calls),
            round(sum(call.milliseconds for call in store_calls), 3),
            sum(call.rows or 0 for call in store_calls),
            sum(call.bytes or 0 for call in store_calls),
        )
        for store, store_calls in sorted(by_store.items())
    )


def explained(explanation: Explanation, session: Session, *, evidence: Sequence[Evidence]) -> Explanation:
    """The explanation with the notes of the session: seeds, hops, paths, results and the evidence subgraph, with names.

    It takes one pull and one batch of records per kind, independent of the number of nodes.

    Parameters
    ----------
    explanation : without these parts
    session : has the notes, and reads the graph and the records
    evidence : the result, best first

    Returns
    -------
    Explanation
    """
    notes = session.notes
    names = _Names(session, notes, evidence=evidence)
    results = [(piece.id, piece.kind) for piece in evidence]
    below = {piece.id: [part.chunk_id for part in piece.opened] for piece in evidence if piece.summary_id}
    shown = [(key, Kind.CHUNK) for keys in below.values() for key in keys[:MOST_BELOW]]
    around = _around(session, notes.paths, results=[*results, *shown])
    wanted = {*results, *_noted(notes)}
    bridges = (
        bridge for path in notes.paths for a, b in itertools.pairwise(path.ids) for bridge in around.bridges(a, b)
    )
    wanted |= {(key, around.kinds[key]) for bridge in bridges for key in bridge}
    chunk_of = {piece.statement_id: piece.chunk_id for piece in evidence if piece.statement_id}
    statements = session.records(Statement, _of_kind(wanted, Kind.STATEMENT))
    chunk_of = {key: piece.chunk_id for key, piece in statements.items()} | chunk_of
    wanted |= {(key, Kind.CHUNK) for key in (*chunk_of.values(), *(key for keys in below.values() for key in keys))}
    chunks = session.records(Chunk, _of_kind(wanted, Kind.CHUNK))
    lineage = chunk_of | {key: chunk.source_id for key, chunk in chunks.items()}
    paths = _ordered(notes.paths, [key for key, _ in results], lineage=lineage)
    seeds = {hit.id for group in notes.seeds for hit in group.hits}
    chosen = choose(around, results, paths=paths, seeds=seeds, lineage=lineage, below=below)
    names.read(wanted | set(chosen.kinds.items()))
    return replace(
        explanation,
        question=session.request.question,
        seeds=tuple(_seeds(seeds, names) for seeds in notes.seeds),
        hops=tuple(_hop(hop, part, names) for hop, part in notes.hops),
        paths=tuple(_path(path, around, names) for path in paths),
        results=tuple(
            ResultTrace(
                number,
                names.piece(piece),
                tuple(at for at, path in enumerate(paths, 1) if piece.id in reached(path, lineage)),
                piece.is_stale,
                tuple(BasisTrace(names.piece(part), part.source.uri, part.start, part.end) for part in piece.rests_on),
            )
            for number, piece in enumerate(evidence, 1)
        ),
        graph=_picture(chosen, names, evidence),
    )


def _seeds(seeds: Seeds, names: _Names) -> SeedTrace:
    best = tuple(names.node(hit.id, seeds.kind, score=hit.score) for hit in seeds.hits[:_MOST_SEEDS])
    return SeedTrace(seeds.kind, seeds.origin, seeds.count, best, seeds.part)


def _ordered(paths: Iterable[Path], results: Sequence[str], *, lineage: Mapping[str, str]) -> list[Path]:
    """Paths that lead to the best evidence first, then by score; those that lead to no evidence last; ties by ids."""
    number = {key: at for at, key in enumerate(results)}
    last = len(number)
    first = {path: min((number.get(key, last) for key in reached(path, lineage)), default=last) for path in paths}
    return sorted(first, key=lambda path: (first[path], path.part, -path.score, path.ids))


def _noted(notes: Notes) -> Iterable[Node]:
    """Every node that the notes name."""
    for seeds in notes.seeds:
        yield from ((hit.id, seeds.kind) for hit in seeds.hits[:_MOST_SEEDS])
    for hop, _ in notes.hops:
        yield from ((hit.id, kind) for hit, kind in hop.nodes)
    for path in notes.paths:
        yield from zip(path.ids, path.kinds, strict=True)


def _of_kind(nodes: Iterable[Node], kind: Kind) -> list[str]:
    return sorted(key for key, node_kind in nodes if node_kind is kind)


def _around(session: Session, paths: Sequence[Path], *, results: Sequence[Node]) -> Neighbourhood:
    """The neighbourhood of evidence and paths; around chunks, the entities of their statements too."""
    walked = [node for path in paths for node in zip(path.ids, path.kinds, strict=True)]
    seeds = sorted({key for key, kind in (*results, *walked) if kind in SHAPE.kinds})
    hops = 2 if any(kind is Kind.CHUNK for _, kind in results) else 1
    return Neighbourhood(session.pull(seeds, replace(SHAPE, hops=hops)))


def _hop(hop: Hop, part: str, names: _Names) -> HopTrace:
    pruned = {reason: count for reason, count in hop.pruned.items() if count}
    best = tuple(names.node(hit.id, kind, score=hit.score) for hit, kind in hop.nodes)
    return HopTrace(hop.depth, hop.expanded, hop.kept, pruned, best, hop.name, part)


def _path(path: Path, around: Neighbourhood, names: _Names) -> PathTrace:
    nodes = tuple(names.node(key, kind) for key, kind in zip(path.ids, path.kinds, strict=True))
    bridges = [around.bridges(a, b) for a, b in itertools.pairwise(path.ids)]
    joined = tuple(
        tuple(" ~ ".join(names.name(key, around.kinds[key]) for key in bridge) for bridge in joints[:_MOST_JOINTS])
        for joints in bridges
    )
    jumps = tuple(
        at
        for at, ((a, b), joints) in enumerate(zip(itertools.pairwise(path.ids), bridges, strict=True), 1)
        if not joints and around.direct(a, b) is None
    )
    return PathTrace(nodes, path.score, joined, jumps, path.part)


def _picture(chosen: Chosen, names: _Names, evidence: Sequence[Evidence]) -> EvidenceGraph:
    number = {piece.id: at for at, piece in enumerate(evidence, 1)}
    scores = {piece.id: piece.score for piece in evidence}
    nodes = (
        GraphNode(names.node(key, kind, score=scores.get(key)), number.get(key, 0), key in chosen.path_nodes)
        for key, kind in sorted(chosen.kinds.items())
    )
    edges = (
        GraphEdge(edge.start, edge.end, edge.relationship, edge in chosen.path_edges) for edge in sorted(chosen.edges)
    )
    return EvidenceGraph(tuple(nodes), tuple(edges), dict(sorted(chosen.left_out.items())))


class _Names:
    """Names of nodes, read in one batch per kind, and their ranks among the seeds."""

    def __init__(self, session: Session, notes: Notes, *, evidence: Iterable[Evidence]) -> None:
        self._session = session
        parts = [part for piece in evidence for part in (piece, *piece.rests_on) if part.kind is not Kind.CHUNK]
        self._names: dict[Node, str] = {(part.id, part.kind): shortened_text(part.text) for part in parts}
        self._ranks: dict[Node, int] = {}
        for group in notes.seeds:
            for rank, hit in enumerate(group.hits, 1):
                node = (hit.id, group.kind)
                self._ranks[node] = min(rank, self._ranks.get(node, rank))

    def read(self, wanted: Iterable[Node]) -> None:
        """Read the names of these nodes."""
        nodes = set(wanted)
        titles: dict[str, str] = {}
        chunks = self._session.records(Chunk, _of_kind(nodes, Kind.CHUNK))
        nodes |= {(chunk.source_id, Kind.SOURCE) for chunk in chunks.values()}
        for kind in _NAMED:
            for key, record in self._session.records(RECORD_TYPES[kind], _of_kind(nodes, kind)).items():
                self._names[key, kind] = shortened_text(_name(record))
                if isinstance(record, Source):
                    titles[key] = _name(record)
        for key, chunk in chunks.items():
            title = titles.get(chunk.source_id, "")
            self._names[key, Kind.CHUNK] = shortened_text(f"{title}: {chunk.text}" if title else chunk.text)

    def name(self, key: str, kind: Kind) -> str:
        """The name of a node; empty if its record is gone."""
        return self._names.get((key, kind), "")

    def node(self, key: str, kind: Kind, *, score: float | None = None) -> NodeTrace:
        """A node with its name."""
        return NodeTrace(key, kind, self.name(key, kind), score, self._ranks.get((key, kind)))

    def piece(self, piece: Evidence) -> NodeTrace:
        """A piece of evidence as a node."""
        return self.node(piece.id, piece.kind, score=piece.score)


def _name(record: Record) -> str:
    if isinstance(record, Source):
        return record.title or record.uri
    return record.name if isinstance(record, Entity | Topic) else getattr(record, "text", "")


def shortened_text(text: str) -> str:
    """The beginning of a text on one line, at most 200 characters.

    Examples
    --------
    >>> shortened_text("a  b" + "c" * 300)[-4:]
    'ccc…'
    """
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
