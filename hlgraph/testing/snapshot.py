"""The visible state of a corpus as plain values, to compare stores or runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hlgraph.records import Kind, Record, Relationship, Source
from hlgraph.stores.protocols import PullShape, Scope, Stores

_KINDS = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY)
_WITH_VECTORS = (Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.ENTITY)
_UNDIRECTED = (Relationship.CO_OCCURS, Relationship.SYNONYM)
_EDGES = frozenset(
    {
        Relationship.FROM_SOURCE,
        Relationship.NEXT,
        Relationship.IN_CHUNK,
        Relationship.ABOUT,
        Relationship.SUPPORTS,
        Relationship.SUBJECT,
        Relationship.OBJECT,
        Relationship.MENTIONS,
        Relationship.RELATES,
        Relationship.CO_OCCURS,
        Relationship.SYNONYM,
        Relationship.SAME_AS,
    }
)


def snapshot(stores: Stores, corpus: str) -> Mapping[str, list[object]]:
    """The records by kind, the edges by relationship and the vectors of a corpus, without times and versions.

    Weights and vectors are rounded to 4 decimals. The version of a source is replaced by 1, since it counts edits and says
    nothing about the current state.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus
    """
    scope = Scope(corpus)
    records: dict[Kind, list[Record]] = {kind: list(stores.graph.find(kind, scope)) for kind in _KINDS}
    found: dict[str, list[object]] = {
        kind.value: [replace(item, version=1) if isinstance(item, Source) else item for item in items]
        for kind, items in records.items()
    }
    nodes = [item.id for items in records.values() for item in items]
    shape = PullShape(_EDGES, frozenset(_KINDS), hops=0, node_cap=max(len(nodes), 1))
    graph = stores.graph.pull(nodes, shape, scope=scope)
    for relationship, matrix in graph.edges.items():
        edges = matrix.tocoo()
        rows: list[object] = []
        for a, b, weight in zip(edges.row, edges.col, edges.data, strict=True):
            ends = (str(graph.ids[a]), str(graph.ids[b]))
            ends = (min(ends), max(ends)) if relationship in _UNDIRECTED else ends
            rows.append((*ends, round(float(weight), 4)))
        found[relationship.value] = sorted(rows, key=str)
    for kind in _WITH_VECTORS:
        ids = sorted(stores.vectors.ids(kind, corpus))
        held, vectors = stores.vectors.vectors(kind, corpus, ids=ids)
        found[f"vectors of {kind.value}"] = list(zip(held, vectors.round(4).tolist(), strict=True))
    found["described sources"] = [*sorted(stores.vectors.ids(Kind.SOURCE, corpus))]
    return found
