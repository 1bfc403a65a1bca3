"""Pulls a bounded part of the graph in one transaction: one query for the seeds, one per hop, one for the edges.

The pull that a beam over statements repeats at each step takes only one query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship
from hlgraph.stores.image.image import FOLLOWED, nothing
from hlgraph.stores.neo4j.admitted import Admitted
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import Row, Transaction
from hlgraph.stores.protocols import Matched, MatchQuery, PullShape
from hlgraph.subgraph import KINDS, Csr, Subgraph

_UNSTORED = frozenset({Relationship.CO_OCCURS})
_DERIVED = _UNSTORED | {Relationship.RELATES}
_MENTIONED = frozenset({Kind.STATEMENT, Kind.ENTITY})
_MOST_HOPS = 4  # maximum number of hops of the single query


class Bounds(NamedTuple):
    """The scope of a pull.

    Attributes
    ----------
    corpus : name of the corpus
    admitted : sources that may be seen
    version : version of the corpus for which ``admitted`` was decided; 0: any
    """

    corpus: str
    admitted: Admitted
    version: int = 0


def pull(transaction: Transaction, seeds: Sequence[str], *, shape: PullShape, bounds: Bounds) -> Subgraph | None:
    """Breadth-first search from the seeds; see :meth:`GraphStore.pull`.

    Each query sees what is committed when it runs. The first and the last query therefore also read the version.

    Parameters
    ----------
    transaction : transaction to read with
    seeds : ids of the nodes to start from
    shape : relationships, kinds and bounds
    bounds : corpus and sources that may be seen

    Returns
    -------
    Subgraph or None
        None if a writer changed the corpus during the pull, which must then be repeated.
    """
    if _is_of_mentions(shape):
        return _pull_mentions(transaction, seeds, shape=shape, bounds=bounds)
    corpus, admitted, wanted_version = bounds
    # Under a filter, all derived relationships are counted from what visible sources assert.
    counted = shape.relationships & (_DERIVED if admitted.has_scope else _UNSTORED)
    scope: Row = {
        "relationships": _names((shape.relationships & FOLLOWED) - counted),
        "counted": _names(counted),
        **admitted.params(),
    }
    wanted, entered = sorted(set(seeds)), sorted(kind.value for kind in shape.kinds)
    rows = transaction.rows("retrieve/find_seeds", corpus=corpus, ids=wanted, kinds=entered, **admitted.params())
    version = rows[0]["version"] if rows else _version(transaction, corpus)
    if not isinstance(version, int):
        return nothing(shape)
    if wanted_version not in (0, version):
        return None
    found = _nodes(rows)
    is_cut = len(found) > shape.node_cap
    frontier = found[: shape.node_cap]
    reached = dict(frontier)
    for _ in range(shape.hops):
        if not frontier or not (scope["relationships"] or scope["counted"]):
            break
        rows = transaction.rows(
            "retrieve/expand_frontier",
            nodes=_by_kind(frontier),
            kinds=entered,
            reached=list(reached),
            fan_out=shape.fan_out,
            **scope,
        )
        found = _nodes(rows)
        room = shape.node_cap - len(reached)
        is_cut = is_cut or len(found) > room or any(row["is_cut"] for row in rows)
        frontier = found[:room]
        reached.update(frontier)
    ids = sorted(reached)
    edges = _edges(transaction, ids, reached=reached, corpus=corpus, scope=scope)
    now = edges[0]["version"] if edges else _version(transaction, corpus)
    if now != version:
        return None
    kinds = np.array([KINDS.index(reached[name]) for name in ids], dtype=np.uint8)
    matrices = {
        item: _matrix(_places([]), _places([]), size=len(ids))
        for item in sorted(shape.relationships)
        if item in FOLLOWED
    }
    for row in edges:
        if row["relationship"] is not None:
            starts, stops = _places(row["starts"]), _places(row["stops"])
            weights = _list(row["weights"])
            matrices[Relationship(str(row["relationship"]))] = _matrix(starts, stops, weights, size=len(ids))
    return Subgraph(np.array(ids, dtype="<U32"), kinds, matrices, version, is_cut)


def _is_of_mentions(shape: PullShape) -> bool:
    """Whether one query can do the whole pull: over statements and their entities, with or without topics."""
    with_topics = (frozenset({Relationship.MENTIONS, Relationship.ABOUT}), frozenset({*_MENTIONED, Kind.TOPIC}))
    known = (frozenset({Relationship.MENTIONS}), _MENTIONED), with_topics
    return (shape.relationships, shape.kinds) in known and shape.hops <= _MOST_HOPS


def _pull_mentions(
    transaction: Transaction, seeds: Sequence[str], *, shape: PullShape, bounds: Bounds
) -> Subgraph | None:
    """The pull over statements, their entities and their topics, in one query."""
    rows = transaction.rows(
        "retrieve/pull_mentions",
        corpus=bounds.corpus,
        ids=sorted(set(seeds)),
        has_topics=Kind.TOPIC in shape.kinds,
        hops=shape.hops,
        fan_out=shape.fan_out,
        node_cap=shape.node_cap,
        **bounds.admitted.params(),
    )
    if not rows:
        return nothing(shape)
    (row,) = rows
    version = row["version"]
    if version != row["version_after"] or bounds.version not in (0, version) or not isinstance(version, int):
        return None
    groups = {Kind.STATEMENT: "statements", Kind.ENTITY: "entities", Kind.TOPIC: "topics"}
    parts = {kind: np.array(_list(row[name]), dtype="<U32") for kind, name in groups.items()}
    found = np.concatenate(list(parts.values()))
    codes = np.concatenate([np.full(len(part), KINDS.index(kind), np.uint8) for kind, part in parts.items()])
    order = np.argsort(found)
    ids, kinds = found[order], codes[order]
    begins = [np.array(some, dtype=np.int64) for some in _list(row["starts"])]
    ends = np.searchsorted(ids, np.array(_list(row["stops"]), dtype="<U32"))
    stops = np.repeat(ends, [len(some) for some in begins])
    places = np.searchsorted(ids, parts[Kind.STATEMENT])
    starts = places[np.concatenate([_places([]), *begins])]
    is_about = kinds[stops] == KINDS.index(Kind.TOPIC)
    edges = {
        item: _matrix(starts[chosen], stops[chosen], size=len(ids))
        for item, chosen in ((Relationship.MENTIONS, ~is_about), (Relationship.ABOUT, is_about))
        if item in shape.relationships
    }
    return Subgraph(ids, kinds, dict(sorted(edges.items())), version, bool(row["is_cut"]))


def match(transaction: Transaction, query: MatchQuery, *, bounds: Bounds) -> list[Matched] | None:
    """Statements by the number of names that they mention, in one query; see :meth:`Matcher.match`.

    Parameters
    ----------
    transaction : transaction to read with
    query : names and bounds
    bounds : corpus and sources that may be seen

    Returns
    -------
    list of Matched or None
        None if a writer changed the corpus meanwhile, so that the sources must be chosen again.
    """
    rows = transaction.rows(
        "retrieve/match_statements",
        corpus=bounds.corpus,
        names=[list(name) for name in query.names],
        k=query.k,
        most=query.most,
        among=None if query.among is None else list(query.among),
        **bounds.admitted.params(),
    )
    if not rows:
        return []
    if bounds.version not in (0, rows[0]["version"]):
        return None
    classes = [item for item in _list(rows[0]["classes"]) if isinstance(item, dict)]
    return [
        Matched(item["matched"], item["number"], tuple(sorted(str(name) for name in item["ids"]))) for item in classes
    ]


def _version(transaction: Transaction, corpus: str) -> object:
    """The version of a corpus; None if it does not exist."""
    versions = {row["name"]: row["version"] for row in transaction.rows("persist/read_corpora")}
    return versions.get(corpus)


def _nodes(rows: Iterable[Row]) -> list[tuple[str, Kind]]:
    """Ids and kinds by ascending id. Each kind is one row, because one row per node would be several times slower to read."""
    return sorted((str(name), Kind(str(row["kind"]))) for row in rows for name in _list(row["ids"]))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _names(relationships: Iterable[Relationship]) -> list[str]:
    return sorted(item.value for item in relationships)


def _by_kind(nodes: Iterable[tuple[str, Kind]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in PLURAL.values()}
    for name, kind in nodes:
        found[PLURAL[kind]].append(name)
    return found


def _edges(
    transaction: Transaction, ids: Sequence[str], *, reached: Mapping[str, Kind], corpus: str, scope: Row
) -> list[Row]:
    """Rows of the edges between the nodes reached; empty without a query if there can be none."""
    if not ids or not (scope["relationships"] or scope["counted"]):
        return []
    places = {name: place for place, name in enumerate(ids)}
    params = {name: value for name, value in scope.items() if name != "has_scope"}
    nodes = _by_kind(reached.items())
    return transaction.rows("retrieve/induce_edges", corpus=corpus, nodes=nodes, places=places, **params)


def _places(value: object) -> NDArray[np.int64]:
    return np.array(_list(value), dtype=np.int64)


def _matrix(starts: NDArray[np.int64], stops: NDArray[np.integer], weights: Sequence[object] = (), *, size: int) -> Csr:
    """A matrix of edges; all weights are 1 if none are given."""
    values = np.array(weights, dtype=np.float32) if weights else np.ones(len(starts), dtype=np.float32)
    return sp.csr_array((values, (starts, stops)), shape=(size, size))
