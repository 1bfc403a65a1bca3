"""Pulls a bounded part of the graph in one transaction: one query for the seeds, one per hop, one for the edges.

A query is the union of small statements of the library, of those alone that the shape asks for: planning all of them would
take the server seconds. All lists are in one parameter, since the server plans a query anew for each order of magnitude of a
list that is a parameter of its own. The pull that a beam over statements repeats at each step takes one query for two hops.
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
from hlgraph.stores.neo4j.shapes import CountedIn, expansions, inductions, is_of_mentions, typed
from hlgraph.stores.protocols import Matched, MatchQuery, PullShape
from hlgraph.subgraph import KINDS, Csr, Subgraph


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
    if is_of_mentions(shape):
        return _pull_mentions(transaction, seeds, shape=shape, bounds=bounds)
    corpus, admitted, wanted_version = bounds
    split = typed(shape, has_filter=admitted.has_scope)
    wanted, entered = sorted(set(seeds)), sorted(kind.value for kind in shape.kinds)
    held = {"kinds": entered, "listed": list(admitted.listed)}
    rows = transaction.rows("retrieve/find_seeds", corpus=corpus, lists={"ids": wanted, **held}, **admitted.flags())
    version = rows[0]["version"] if rows else _version(transaction, corpus)
    if not isinstance(version, int):
        return nothing(shape)
    if wanted_version not in (0, version):
        return None
    found = sorted((str(name), Kind(str(row["kind"]))) for row in rows for name in _list(row["ids"]))
    is_cut = len(found) > shape.node_cap
    frontier = found[: shape.node_cap]
    reached = dict(frontier)
    steps = expansions(shape, split)
    for _ in range(shape.hops):
        if not frontier or not steps:
            break
        rows = transaction.union(
            steps,
            lists={"nodes": by_kind(frontier), "reached": list(reached), **split.params(), **held},
            fan_out=shape.fan_out,
            **admitted.flags(),
        )
        found, was_cut = _neighbours(rows, fan_out=shape.fan_out)
        room = shape.node_cap - len(reached)
        is_cut = is_cut or was_cut or len(found) > room
        frontier = found[:room]
        reached.update(frontier)
    ids = sorted(reached)
    edges = _edges(transaction, reached, shape=shape, split=split, bounds=bounds) if steps else []
    now = edges[-1]["version"] if edges else _version(transaction, corpus)
    if now != version:
        return None
    kinds = np.array([KINDS.index(reached[name]) for name in ids], dtype=np.uint8)
    return Subgraph(np.array(ids, dtype="<U32"), kinds, _matrices(edges, shape, size=len(ids)), version, is_cut)


def _matrices(edges: Iterable[Row], shape: PullShape, *, size: int) -> dict[Relationship, Csr]:
    found = {
        item: _matrix(_places([]), _places([]), size=size) for item in sorted(shape.relationships) if item in FOLLOWED
    }
    for row in edges:
        if row["relationship"] is not None:
            starts, stops = _places(row["starts"]), _places(row["stops"])
            name = Relationship(str(row["relationship"]).lower())
            found[name] += _matrix(starts, stops, _list(row["weights"]), size=size)  # several statements have IN_CHUNK
    return found


def _neighbours(rows: Iterable[Row], *, fan_out: int) -> tuple[list[tuple[str, Kind]], bool]:
    """The nodes that one hop found, by ascending id, and whether a node has more neighbours than the fan-out.

    Rows with owners hold some neighbours of each, which are those of several rows together: they are cut here.
    """
    found: set[tuple[str, Kind]] = set()
    owned: dict[str, list[tuple[float, str, Kind]]] = {}
    is_cut = False
    for row in rows:
        kind = Kind(str(row["kind"]))
        is_cut = is_cut or bool(row["is_cut"])
        if row["owners"] is None:
            found.update((str(name), kind) for name in _list(row["ids"]))
            continue
        shares = _list(row["weights"]) or [None] * len(_list(row["owners"]))
        for owner, names, weights in zip(_list(row["owners"]), _list(row["ids"]), shares, strict=True):
            near = owned.setdefault(str(owner), [])
            given = _list(weights) or [1.0] * len(_list(names))
            near += [(-_number(share), str(name), kind) for name, share in zip(_list(names), given, strict=True)]
    for near in owned.values():
        is_cut = is_cut or len(near) > fan_out
        found.update((name, kind) for _, name, kind in sorted(near)[:fan_out])
    return sorted(found), is_cut


def _pull_mentions(
    transaction: Transaction, seeds: Sequence[str], *, shape: PullShape, bounds: Bounds
) -> Subgraph | None:
    """The pull over statements, their entities and their topics: one query for two hops."""
    ids, frontier, left = sorted(set(seeds)), None, shape.hops
    first: object = None
    is_cut = False
    while True:
        rows = transaction.rows(
            "retrieve/pull_mentions",
            corpus=bounds.corpus,
            lists={"ids": ids, "frontier": frontier, "listed": list(bounds.admitted.listed)},
            steps=min(left, 2),
            is_last=left <= 2,
            has_topics=Kind.TOPIC in shape.kinds,
            fan_out=shape.fan_out,
            node_cap=shape.node_cap,
            **bounds.admitted.flags(),
        )
        if not rows:
            return nothing(shape)
        (row,) = rows
        version = row["version"]
        first = version if first is None else first
        if not version == row["version_after"] == first or bounds.version not in (0, version):
            return None
        is_cut, left = is_cut or bool(row["is_cut"]), left - 2
        if left <= 0:
            return _of_mentions(row, shape, is_cut=is_cut)
        ids = [str(name) for part in ("statements", "entities", "topics") for name in _list(row[part])]
        frontier = _list(row["frontier"])


def _of_mentions(row: Row, shape: PullShape, *, is_cut: bool) -> Subgraph:
    """What the last query of a pull over statements returned."""
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
    version = row["version"]
    return Subgraph(ids, kinds, dict(sorted(edges.items())), version if isinstance(version, int) else 0, is_cut)


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
        lists={
            "names": [list(name) for name in query.names],
            "among": None if query.among is None else list(query.among),
            "listed": list(bounds.admitted.listed),
        },
        k=query.k,
        most=query.most,
        **bounds.admitted.flags(),
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
    return next((row["version"] for row in transaction.rows("retrieve/read_state", corpus=corpus)), None)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def by_kind(nodes: Iterable[tuple[str, Kind]]) -> dict[str, list[str]]:
    """The ids of nodes by the plural of their kind, as queries take them."""
    found: dict[str, list[str]] = {name: [] for name in PLURAL.values()}
    for name, kind in nodes:
        found[PLURAL[kind]].append(name)
    return found


def _edges(
    transaction: Transaction, reached: Mapping[str, Kind], *, shape: PullShape, split: CountedIn, bounds: Bounds
) -> list[Row]:
    """Rows of the edges between the nodes reached, the last one with the version; empty without a query if there are none."""
    if not reached:
        return []
    return transaction.union(
        inductions(shape, split),
        corpus=bounds.corpus,
        lists={
            "nodes": by_kind(reached.items()),
            "places": {name: place for place, name in enumerate(sorted(reached))},
            "relationships": split.stored,
            "listed": list(bounds.admitted.listed),
        },
        admits=bounds.admitted.admits,
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _places(value: object) -> NDArray[np.int64]:
    return np.array(_list(value), dtype=np.int64)


def _matrix(starts: NDArray[np.int64], stops: NDArray[np.integer], weights: Sequence[object] = (), *, size: int) -> Csr:
    """A matrix of edges; all weights are 1 if none are given."""
    values = np.array(weights, dtype=np.float32) if weights else np.ones(len(starts), dtype=np.float32)
    return sp.csr_array((values, (starts, stops)), shape=(size, size))
