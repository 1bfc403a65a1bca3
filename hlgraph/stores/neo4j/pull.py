"""Pulls a bounded part of the graph in one transaction: one query for the seeds, one per hop, one for the edges.

A query is the union of small statements of the library, of those alone that the shape asks for: planning all of them would
take the server seconds. All lists are in one parameter, since the server plans a query anew for each order of magnitude of a
list that is a parameter of its own. The pull that a beam over statements repeats at each step takes one query for two hops.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextvars import Context
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.projection import INGREDIENTS
from hlgraph.errors import StoreError
from hlgraph.records import Kind, Relationship, Source
from hlgraph.stores.image.image import FOLLOWED, nothing
from hlgraph.stores.image.patching import State
from hlgraph.stores.neo4j.rows import PLURAL, metadata
from hlgraph.stores.neo4j.server import Row, Server, Transaction
from hlgraph.stores.protocols import Matched, MatchQuery, PullShape, Scope
from hlgraph.subgraph import KINDS, Csr, Subgraph
from hlgraph.where import Where, matches, source_values

# The sources that a filter admits, decided in process and cached for one state of a corpus.
#
# Cypher is never built from a filter. The sources of a corpus are read in pages, ``hlgraph.where.matches`` decides on each,
# and queries receive ids: of the admitted sources, or of the others if these are fewer.


PAGE = 20_000
_KEPT = 32


@dataclass(frozen=True, slots=True)
class Admitted:
    """A scope as query parameters: without ``has_scope`` all sources are visible, else if ``(source in listed) == admits``."""

    has_scope: bool
    listed: tuple[str, ...]
    admits: bool

    def flags(self) -> Row:
        """The parameters beside the list, by their names in the queries."""
        return {"has_scope": self.has_scope, "admits": self.admits}


EVERYTHING = Admitted(has_scope=False, listed=(), admits=False)


class Filters:
    """Decides on filters, and caches the last decisions."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: OrderedDict[tuple[str, State, Where], Admitted] = OrderedDict()

    def admitted(self, scope: Scope, state: State) -> Admitted:
        """The sources that a scope admits.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : state of the corpus that the caller reads
        """
        if scope.where is None:
            if scope.sources is None:
                return EVERYTHING
            return Admitted(has_scope=True, listed=tuple(sorted(set(scope.sources))), admits=True)
        admitted = self._decide(scope.corpus, state, scope.where)
        if scope.sources is None:
            return admitted
        listed = set(admitted.listed)
        both = sorted(item for item in set(scope.sources) if (item in listed) == admitted.admits)
        return Admitted(has_scope=True, listed=tuple(both), admits=True)

    def has(self, scope: Scope, state: State) -> bool:
        """Whether nothing need be read to decide on a scope.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : state of the corpus that the caller reads
        """
        return scope.where is None or (scope.corpus, state, scope.where) in self._known

    def _decide(self, corpus: str, state: State, where: Where) -> Admitted:
        key = (corpus, state, where)
        admitted = self._known.get(key)
        if admitted is None:
            inside: list[str] = []
            outside: list[str] = []
            for source in self._sources(corpus):
                (inside if matches(where, source_values(source)) else outside).append(source.id)
            admits = len(inside) <= len(outside)
            admitted = Admitted(has_scope=True, listed=tuple(inside if admits else outside), admits=admits)
            self._known[key] = admitted
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return admitted

    def _sources(self, corpus: str) -> Iterator[Source]:
        after = ""
        while True:
            page = self._page(corpus, after)
            for row in page:
                yield Source(
                    str(row["id"]), corpus, str(row["uri"]), str(row["title"]), "", metadata(str(row["metadata"]))
                )
            if len(page) < PAGE:
                return
            after = str(page[-1]["id"])

    def _page(self, corpus: str, after: str) -> list[Row]:
        return self._server.read(
            lambda transaction: transaction.rows("retrieve/list_sources", corpus=corpus, after=after, size=PAGE)
        )


# Which small statements of the library a pull of a shape takes: those of its relationships and kinds, and no others.


_UNSTORED = frozenset({Relationship.CO_OCCURS})
_DERIVED = _UNSTORED | {Relationship.RELATES}
_MENTIONED: Set[Kind] = frozenset({Kind.STATEMENT, Kind.ENTITY})
_JOINING: Set[Relationship] = frozenset({Relationship.RELATES, Relationship.SYNONYM, Relationship.SAME_AS})


class _Walk(NamedTuple):
    """What a statement of the library walks: from one kind to others, along some relationships."""

    name: str
    start: Kind
    ends: Set[Kind]
    along: Set[Relationship]

    def is_of(self, shape: PullShape, along: Set[Relationship]) -> bool:
        """Whether a pull of a shape needs the statement.

        Parameters
        ----------
        shape : kinds that may be entered
        along : relationships that are read as stored
        """
        return self.start in shape.kinds and bool(self.ends & shape.kinds and self.along & along)


_EXPANSIONS: tuple[_Walk, ...] = (
    _Walk("retrieve/expand_sources", Kind.SOURCE, {Kind.CHUNK}, {Relationship.FROM_SOURCE}),
    _Walk(
        "retrieve/expand_chunks",
        Kind.CHUNK,
        {Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT},
        {Relationship.FROM_SOURCE, Relationship.NEXT, Relationship.IN_CHUNK},
    ),
    _Walk(
        "retrieve/expand_topics",
        Kind.TOPIC,
        {Kind.CHUNK, Kind.STATEMENT},
        {Relationship.IN_CHUNK, Relationship.ABOUT},
    ),
    _Walk(
        "retrieve/expand_statements",
        Kind.STATEMENT,
        {Kind.CHUNK, Kind.TOPIC, Kind.FACT, Kind.ENTITY},
        {Relationship.IN_CHUNK, Relationship.ABOUT, Relationship.SUPPORTS, Relationship.MENTIONS},
    ),
    _Walk(
        "retrieve/expand_facts",
        Kind.FACT,
        {Kind.STATEMENT, Kind.ENTITY},
        {Relationship.SUPPORTS, Relationship.SUBJECT, Relationship.OBJECT},
    ),
    _Walk("retrieve/expand_mentioned", Kind.ENTITY, {Kind.STATEMENT}, {Relationship.MENTIONS}),
    _Walk("retrieve/expand_entity_facts", Kind.ENTITY, {Kind.FACT}, {Relationship.SUBJECT, Relationship.OBJECT}),
)
_INDUCTIONS: tuple[_Walk, ...] = (
    _Walk(
        "retrieve/induce_chunks",
        Kind.CHUNK,
        {Kind.SOURCE, Kind.CHUNK},
        {Relationship.FROM_SOURCE, Relationship.NEXT},
    ),
    _Walk("retrieve/induce_topics", Kind.TOPIC, {Kind.CHUNK}, {Relationship.IN_CHUNK}),
    _Walk(
        "retrieve/induce_statements",
        Kind.STATEMENT,
        {Kind.CHUNK, Kind.TOPIC, Kind.ENTITY},
        {Relationship.IN_CHUNK, Relationship.ABOUT, Relationship.MENTIONS},
    ),
    _Walk("retrieve/induce_facts", Kind.FACT, {Kind.STATEMENT}, {Relationship.SUPPORTS}),
    _Walk("retrieve/induce_entity_facts", Kind.FACT, {Kind.ENTITY}, {Relationship.SUBJECT, Relationship.OBJECT}),
    _Walk("retrieve/induce_entities", Kind.ENTITY, {Kind.ENTITY}, _JOINING),
)
_COUNTS = {"RELATES": "retrieve/count_relates", "CO_OCCURS": "retrieve/count_co_occurs"}


class CountedIn(NamedTuple):
    """The relationships of a shape as parameters: those that are read as stored, and those that are counted."""

    stored: list[str]
    counted: list[str]

    def read(self) -> Set[Relationship]:
        """Those that are read as stored."""
        return {Relationship(name.lower()) for name in self.stored}

    def params(self) -> Row:
        """The parameters, by their names in the queries."""
        return {"relationships": self.stored, "counted": self.counted}


def typed(shape: PullShape, *, has_filter: bool) -> CountedIn:
    """The types of the relationships to read and to count.

    Parameters
    ----------
    shape : shape of the pull
    has_filter : whether some sources only may be seen: all derived relationships are then counted from what these assert
    """
    counted = shape.relationships & (_DERIVED if has_filter else _UNSTORED)
    stored = (shape.relationships & FOLLOWED) - counted
    return CountedIn(sorted(item.value.upper() for item in stored), sorted(item.value.upper() for item in counted))


def is_of_mentions(shape: PullShape) -> bool:
    """Whether the pull is over statements and their entities, with or without topics."""
    with_topics = (frozenset({Relationship.MENTIONS, Relationship.ABOUT}), frozenset({*_MENTIONED, Kind.TOPIC}))
    known = (frozenset({Relationship.MENTIONS}), _MENTIONED), with_topics
    return (shape.relationships, shape.kinds) in known


def expansions(shape: PullShape, split: CountedIn) -> tuple[str, ...]:
    """The names of the queries of one hop.

    Parameters
    ----------
    shape : kinds that may be entered
    split : its relationships
    """
    asked = split.read()
    names = [walk.name for walk in _EXPANSIONS if walk.is_of(shape, asked)]
    if Kind.ENTITY in shape.kinds and (split.counted or asked & _JOINING):
        names.append("retrieve/expand_counted" if split.counted else "retrieve/expand_entities")
    return tuple(names)


def inductions(shape: PullShape, split: CountedIn) -> tuple[str, ...]:
    """The names of the queries of the edges between nodes; the last one reads the version of the corpus.

    Parameters
    ----------
    shape : kinds of the nodes
    split : its relationships
    """
    names = [walk.name for walk in _INDUCTIONS if walk.is_of(shape, split.read())]
    counted = [_COUNTS[name] for name in split.counted if Kind.ENTITY in shape.kinds]
    return (*names, *counted, "retrieve/induce_nothing")


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
    lists = {"kinds": entered, "listed": list(admitted.listed)}
    rows = transaction.rows("retrieve/find_seeds", corpus=corpus, lists={"ids": wanted, **lists}, **admitted.flags())
    version = rows[0]["version"] if rows else _version(transaction, corpus)
    if not isinstance(version, int):
        return nothing(shape)
    if wanted_version not in (0, version):
        return None
    nodes = sorted((str(name), Kind(str(row["kind"]))) for row in rows for name in _list(row["ids"]))
    is_cut = len(nodes) > shape.node_cap
    frontier = nodes[: shape.node_cap]
    reached = dict(frontier)
    steps = expansions(shape, split)
    for _ in range(shape.hops):
        if not frontier or not steps:
            break
        rows = transaction.union(
            steps,
            lists={"nodes": by_kind(frontier), "reached": list(reached), **split.params(), **lists},
            fan_out=shape.fan_out,
            **admitted.flags(),
        )
        nodes, was_cut = _neighbours(rows, fan_out=shape.fan_out)
        room = shape.node_cap - len(reached)
        is_cut = is_cut or was_cut or len(nodes) > room
        frontier = nodes[:room]
        reached.update(frontier)
    ids = sorted(reached)
    edges = _edges(transaction, reached, shape=shape, split=split, bounds=bounds) if steps else []
    now = edges[-1]["version"] if edges else _version(transaction, corpus)
    if now != version:
        return None
    kinds = np.array([KINDS.index(reached[name]) for name in ids], dtype=np.uint8)
    return Subgraph(np.array(ids, dtype="<U32"), kinds, _matrices(edges, shape, size=len(ids)), version, is_cut)


def _matrices(edges: Iterable[Row], shape: PullShape, *, size: int) -> dict[Relationship, Csr]:
    matrices = {
        item: _matrix(_places([]), _places([]), size=size) for item in sorted(shape.relationships) if item in FOLLOWED
    }
    for row in edges:
        if row["relationship"] is not None:
            starts, stops = _places(row["starts"]), _places(row["stops"])
            name = Relationship(str(row["relationship"]).lower())
            # Added up: several statements have IN_CHUNK.
            matrices[name] += _matrix(starts, stops, _list(row["weights"]), size=size)
    return matrices


def _neighbours(rows: Iterable[Row], *, fan_out: int) -> tuple[list[tuple[str, Kind]], bool]:
    """The nodes that one hop found, by ascending id, and whether a node has more neighbours than the fan-out.

    Rows with owners hold some neighbours of each, which are those of several rows together: they are cut here.
    """
    nodes: set[tuple[str, Kind]] = set()
    owned: dict[str, list[tuple[float, str, Kind]]] = {}
    is_cut = False
    for row in rows:
        kind = Kind(str(row["kind"]))
        is_cut = is_cut or bool(row["is_cut"])
        if row["owners"] is None:
            nodes.update((str(name), kind) for name in _list(row["ids"]))
            continue
        shares = _list(row["weights"]) or [None] * len(_list(row["owners"]))
        for owner, names, weights in zip(_list(row["owners"]), _list(row["ids"]), shares, strict=True):
            near = owned.setdefault(str(owner), [])
            given = _list(weights) or [1.0] * len(_list(names))
            near += [(-_number(share), str(name), kind) for name, share in zip(_list(names), given, strict=True)]
    for near in owned.values():
        is_cut = is_cut or len(near) > fan_out
        nodes.update((name, kind) for _, name, kind in sorted(near)[:fan_out])
    return sorted(nodes), is_cut


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
    unsorted = np.concatenate(list(parts.values()))
    codes = np.concatenate([np.full(len(part), KINDS.index(kind), np.uint8) for kind, part in parts.items()])
    order = np.argsort(unsorted)
    ids, kinds = unsorted[order], codes[order]
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
    """Statements by the number of names that they mention, in one query; see :meth:`GraphStore.match`.

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
    groups: dict[str, list[str]] = {name: [] for name in PLURAL.values()}
    for name, kind in nodes:
        groups[PLURAL[kind]].append(name)
    return groups


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


# Makes the server plan the queries of a search before they are needed, where it has no image to walk on.
#
# Planning them takes the server some seconds after its start, and none later: it keeps plans. They are run once with empty
# lists, which read nothing, since the server does not keep what ``EXPLAIN`` plans ready to run.


_CORPUS = ""  # no corpus has this name
_FOLDED = PullShape(frozenset({Relationship.IN_CHUNK}), frozenset({Kind.CHUNK, Kind.STATEMENT}))
_ABOUT = PullShape(frozenset({Relationship.ABOUT}), frozenset({Kind.TOPIC, Kind.STATEMENT}))
_JOINED = PullShape(
    frozenset({Relationship.IN_CHUNK, Relationship.MENTIONS}), frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY})
)
SHAPES = (*(PullShape(*item) for item in INGREDIENTS.values()), _JOINED, _FOLDED, _ABOUT)
"""The shapes of the pulls whose queries are planned."""
_log = logging.getLogger(__name__)


class Warming:
    """Plans the queries of searches in a thread, once. Thread-safe; never raises.

    Parameters
    ----------
    server : the database
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = threading.Event()

    def begin(self) -> None:
        """Begins, if it has not; returns at once."""
        with self._guard:
            if self._thread is None and not self._is_closed.is_set():
                # What it asks for is no part of a search, and of no explanation.
                self._thread = threading.Thread(target=Context().run, args=(self._plan,), daemon=True)
                self._thread.start()

    def join(self, wait: float | None = None) -> None:
        """Waits until all is planned, or for some seconds."""
        if self._thread is not None:
            self._thread.join(wait)

    def close(self, *, wait: float | None = None) -> None:
        """Ends after the query that runs; waits for it, or for some seconds."""
        with self._guard:
            self._is_closed.set()
        self.join(wait)

    def _plan(self) -> None:
        try:
            for names, params in queries():
                if self._is_closed.is_set():
                    return
                self._server.read(lambda transaction, some=names, given=params: transaction.union(some, **given))  # type: ignore[misc]
        except StoreError as error:
            _log.info("the queries of searches were not planned ahead: %s", error)


def queries() -> Iterator[tuple[tuple[str, ...], Row]]:
    """The queries of pulls, each with parameters of the types that a pull gives and nothing to read."""
    lists: Row = {
        "ids": [],
        "kinds": [],
        "listed": [],
        "frontier": [],
        "reached": [],
        "places": {},
        "nodes": by_kind([]),
    }
    lists |= {"relationships": [], "counted": [], "names": [], "among": None}
    bounds = {"lists": lists, "fan_out": 1, "node_cap": 1, "k": 1, "most": 1}
    given: Row = {**bounds, **EVERYTHING.flags(), "corpus": _CORPUS, "steps": 0, "is_last": True, "has_topics": False}
    for name in ("retrieve/find_seeds", "retrieve/pull_mentions", "retrieve/match_statements"):
        yield (name,), given
    for shape in SHAPES:
        split = typed(shape, has_filter=False)
        yield expansions(shape, split), given
        yield inductions(shape, split), given
