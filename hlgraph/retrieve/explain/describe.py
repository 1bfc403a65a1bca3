"""Turns the notes of a retrieval into its explanation: names for ids, joints for paths, costs for stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from hlgraph.records import Chunk, Entity, Evidence, Fact, Hit, Kind, Record, Source, Statement, Topic
from hlgraph.retrieve.explain.evidence_graph import MOST_BELOW, SHAPE, Chosen, Neighbourhood, choose, reached
from hlgraph.retrieve.explain.notes import Hop, Notes, Path
from hlgraph.retrieve.explain.parts import (
    BasisTrace,
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
from hlgraph.retrieve.session import Session
from hlgraph.stores.trace import Call

MOST_CHARACTERS = 200
"""Maximum length of a text; longer ones are cut."""
_MOST_SEEDS = 20  # named seeds of one search
_MOST_JOINTS = 5
_NAMED: dict[Kind, type[Statement | Fact | Entity | Topic | Source]] = {
    Kind.STATEMENT: Statement,
    Kind.FACT: Fact,
    Kind.ENTITY: Entity,
    Kind.TOPIC: Topic,
    Kind.SOURCE: Source,
}

Node: TypeAlias = tuple[str, Kind]


class Explained(NamedTuple):
    """The parts of an explanation besides steps and parameters."""

    seeds: tuple[SeedTrace, ...] = ()
    hops: tuple[HopTrace, ...] = ()
    paths: tuple[PathTrace, ...] = ()
    results: tuple[ResultTrace, ...] = ()
    graph: EvidenceGraph = EvidenceGraph()


def costs(calls: Iterable[Call]) -> tuple[StoreCost, ...]:
    """The total cost of the calls to each store, by name of the store.

    Examples
    --------
    >>> made = [Call("neo4j", "x", "cypher", "", rows=2, milliseconds=1.5), Call("neo4j", "y", "cypher", "", rows=3)]
    >>> costs(made)
    (StoreCost(store='neo4j', calls=2, round_trips=2, milliseconds=1.5, rows=5, bytes=0),)
    """
    by_store: dict[str, list[Call]] = {}
    for call in calls:
        by_store.setdefault(call.store, []).append(call)
    return tuple(
        StoreCost(
            store,
            len(found),
            sum(call.round_trips for call in found),
            round(sum(call.milliseconds for call in found), 3),
            sum(call.rows or 0 for call in found),
            sum(call.bytes or 0 for call in found),
        )
        for store, found in sorted(by_store.items())
    )


def explained(session: Session, notes: Notes, *, evidence: Sequence[Evidence]) -> Explained:
    """The explanation of the notes, with names.

    It takes one pull and one batch of records for each kind, independent of the number of nodes.

    Parameters
    ----------
    session : reads the graph and the records
    notes : what the retrieval noted
    evidence : the result, best first

    Returns
    -------
    Explained
        Seeds, hops, paths, results and the evidence subgraph.
    """
    names = _Names(session, notes, evidence=evidence)
    results = [(item.id, item.kind) for item in evidence]
    below = {item.id: [part.chunk_id for part in item.opened] for item in evidence if item.summary_id}
    shown = [(key, Kind.CHUNK) for keys in below.values() for key in keys[:MOST_BELOW]]
    around = _around(session, notes.paths, results=[*results, *shown])
    wanted = {*results, *_noted(notes)}
    bridges = (bridge for path in notes.paths for a, b in _steps(path) for bridge in around.bridges(a, b))
    wanted |= {(key, around.kinds[key]) for bridge in bridges for key in bridge}
    chunk_of = {item.statement_id: item.chunk_id for item in evidence if item.statement_id}
    statements = session.records(Kind.STATEMENT, _of_kind(wanted, Kind.STATEMENT), made=Statement)
    chunk_of = {key: item.chunk_id for key, item in statements.items()} | chunk_of
    wanted |= {(key, Kind.CHUNK) for key in (*chunk_of.values(), *(key for keys in below.values() for key in keys))}
    chunks = session.records(Kind.CHUNK, _of_kind(wanted, Kind.CHUNK), made=Chunk)
    lineage = chunk_of | {key: chunk.source_id for key, chunk in chunks.items()}
    paths = _ordered(notes.paths, [key for key, _ in results], lineage=lineage)
    seeds = {hit.id for group in notes.seeds for hit in group.hits}
    chosen = choose(around, results, paths=paths, seeds=seeds, lineage=lineage, below=below)
    names.read(wanted | set(chosen.kinds.items()))
    return Explained(
        tuple(
            SeedTrace(item.kind, item.origin, item.count, names.hits(item.hits[:_MOST_SEEDS], item.kind), item.part)
            for item in notes.seeds
        ),
        tuple(_hop(hop, part, names) for hop, part in notes.hops),
        tuple(_path(path, around, names) for path in paths),
        tuple(
            ResultTrace(
                number,
                names.node(key, kind, score=evidence[number - 1].score),
                tuple(at for at, path in enumerate(paths, 1) if key in reached(path, lineage)),
                evidence[number - 1].is_stale,
                _basis(evidence[number - 1], names),
            )
            for number, (key, kind) in enumerate(results, 1)
        ),
        _picture(chosen, names, evidence),
    )


def _basis(item: Evidence, names: _Names) -> tuple[BasisTrace, ...]:
    return tuple(
        BasisTrace(names.node(part.id, part.kind, score=part.score), part.source.uri, part.start, part.end)
        for part in item.rests_on
    )


def _ordered(paths: Iterable[Path], results: Sequence[str], *, lineage: Mapping[str, str]) -> list[Path]:
    """Paths that lead to the best evidence first, then by score; those that lead to no evidence last; ties by ids."""
    number = {key: at for at, key in enumerate(results)}
    last = len(number)
    first = {path: min((number.get(key, last) for key in reached(path, lineage)), default=last) for path in paths}
    return sorted(first, key=lambda path: (first[path], path.part, -path.score, path.ids))


def _steps(path: Path) -> Iterable[tuple[str, str]]:
    return zip(path.ids, path.ids[1:], strict=False)


def _noted(notes: Notes) -> Iterable[Node]:
    """Every node that the notes name."""
    for seeds in notes.seeds:
        yield from ((hit.id, seeds.kind) for hit in seeds.hits[:_MOST_SEEDS])
    for hop, _ in notes.hops:
        yield from ((hit.id, kind) for hit, kind in hop.nodes)
    for path in notes.paths:
        yield from zip(path.ids, path.kinds, strict=True)


def _of_kind(nodes: Iterable[Node], kind: Kind) -> list[str]:
    return sorted(key for key, found in nodes if found is kind)


def _around(session: Session, paths: Sequence[Path], *, results: Sequence[Node]) -> Neighbourhood:
    """What lies around evidence and paths; around chunks, the entities of their statements too."""
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
    bridges = [around.bridges(a, b) for a, b in _steps(path)]
    joined = tuple(
        tuple(" ~ ".join(names.name(key, around.kinds[key]) for key in bridge) for bridge in found[:_MOST_JOINTS])
        for found in bridges
    )
    jumps = tuple(
        at
        for at, ((a, b), found) in enumerate(zip(_steps(path), bridges, strict=True), 1)
        if not found and around.direct(a, b) is None
    )
    return PathTrace(nodes, path.score, joined, jumps, path.part)


def _picture(chosen: Chosen, names: _Names, evidence: Sequence[Evidence]) -> EvidenceGraph:
    number = {item.id: at for at, item in enumerate(evidence, 1)}
    scores = {item.id: item.score for item in evidence}
    nodes = (
        GraphNode(names.node(key, kind, score=scores.get(key)), number.get(key, 0), key in chosen.path_nodes)
        for key, kind in sorted(chosen.kinds.items())
    )
    edges = (
        GraphEdge(edge.start, edge.end, edge.relationship, edge in chosen.path_edges) for edge in sorted(chosen.edges)
    )
    return EvidenceGraph(tuple(nodes), tuple(edges), dict(sorted(chosen.left_out.items())))


class _Names:
    """Names of nodes, read in one batch for each kind, and their ranks among the seeds."""

    def __init__(self, session: Session, notes: Notes, *, evidence: Iterable[Evidence]) -> None:
        self._session = session
        parts = [part for item in evidence for part in (item, *item.rests_on) if part.kind is not Kind.CHUNK]
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
        chunks = self._session.records(Kind.CHUNK, _of_kind(nodes, Kind.CHUNK), made=Chunk)
        nodes |= {(chunk.source_id, Kind.SOURCE) for chunk in chunks.values()}
        for kind, made in _NAMED.items():
            for key, record in self._session.records(kind, _of_kind(nodes, kind), made=made).items():
                self._names[key, kind] = shortened_text(_name(record))
                if isinstance(record, Source):
                    titles[key] = _name(record)
        for key, chunk in chunks.items():
            title = titles.get(chunk.source_id, "")
            self._names[key, Kind.CHUNK] = shortened_text(f"{title}: {chunk.text}" if title else chunk.text)

    def name(self, key: str, kind: Kind) -> str:
        """The name of a node; empty where its record is gone."""
        return self._names.get((key, kind), "")

    def node(self, key: str, kind: Kind, *, score: float | None = None) -> NodeTrace:
        """A node with its name."""
        return NodeTrace(key, kind, self.name(key, kind), score, self._ranks.get((key, kind)))

    def hits(self, hits: Iterable[Hit], kind: Kind) -> tuple[NodeTrace, ...]:
        """Nodes with their scores."""
        return tuple(self.node(hit.id, kind, score=hit.score) for hit in hits)


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
