"""Pull a bounded part of the graph in one transaction: one query for the seeds, one per hop, one for the edges.

A query is the union of the small library statements that the shape needs; planning all of them would take the server seconds.
All lists are passed in one parameter: if each list were a parameter, the server would plan the query again whenever the order of
magnitude of a list changes. The pull that a beam over statements repeats at each step takes one query for two hops.
"""

from __future__ import annotations

import logging
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextvars import Context
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hlgraph.algorithms.projection import INGREDIENTS
from hlgraph.errors import StoreConflictError, StoreError
from hlgraph.records import Kind, Relationship, Source
from hlgraph.stores.image.image import FOLLOWED, nothing
from hlgraph.stores.image.patching import State
from hlgraph.stores.in_process import Said
from hlgraph.stores.neo4j.rows import PLURAL, metadata
from hlgraph.stores.neo4j.server import Row, Server, Transaction
from hlgraph.stores.protocols import IdPage, Matched, MatchQuery, PullShape, Scope
from hlgraph.subgraph import KINDS, Csr, Subgraph
from hlgraph.where import Where, matches, source_values

# Filters. Cypher is never built from a filter: ``hlgraph.where.matches`` decides on each source of a corpus, and queries receive
# the ids of the admitted sources, or of the excluded ones if those are fewer.


PAGE = 20_000
_KEPT = 32
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Admitted:
    """A scope as query parameters: without ``has_scope`` every source is visible, otherwise if ``(source in listed) == admits``."""

    has_scope: bool
    listed: tuple[str, ...]
    admits: bool

    def flags(self) -> Row:
        """The parameters other than ``listed``, by their names in the queries."""
        return {"has_scope": self.has_scope, "admits": self.admits}


EVERYTHING = Admitted(has_scope=False, listed=(), admits=False)


class Filters:
    """Evaluates filters on the sources of a corpus, and caches the latest results."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._known: OrderedDict[tuple[str, State, Where], Admitted] = OrderedDict()
        self._totals: OrderedDict[tuple[Kind, str, State, Where | None], int] = OrderedDict()

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
        both = sorted(source for source in set(scope.sources) if (source in listed) == admitted.admits)
        return Admitted(has_scope=True, listed=tuple(both), admits=True)

    def sources(self, scope: Scope, state: State) -> list[str]:
        """The ids of the sources that a scope admits, ascending; whether the ids in its list exist is not checked.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : state of the corpus that the caller reads
        """
        admitted = self.admitted(scope, state)
        if admitted.admits:
            return sorted(admitted.listed)
        listed = set(admitted.listed)
        pages = self._server.pages("retrieve/page_sources", corpus=scope.corpus, size=PAGE)
        return [row["id"] for page in pages for row in page if row["id"] not in listed]

    def page(
        self, kind: Kind, scope: Scope, *, state: State, after: str, size: int, sources: Callable[[], int]
    ) -> IdPage:
        """See :meth:`GraphStore.page`, for a scope with a filter.

        Parameters
        ----------
        kind : source, entity or fact
        scope, after, size : see :meth:`GraphStore.page`
        state : state of the corpus that the caller reads
        sources : counts the sources of the corpus
        """
        admitted = self.admitted(scope, state)
        lists: Row = {"listed": list(admitted.listed)}
        if kind is Kind.SOURCE and admitted.admits:
            first = bisect_right(admitted.listed, after)
            return IdPage(admitted.listed[first : first + size], len(admitted.listed))
        of_page = {"lists": lists, "corpus": scope.corpus, "after": after, "size": size}
        if kind is Kind.SOURCE:
            rows = self._server.ask("retrieve/page_other_sources", **of_page)
            return IdPage(tuple(row["id"] for row in rows), sources() - len(admitted.listed))
        if kind is Kind.ENTITY:
            rows = self._server.ask("retrieve/page_mentioned_entities", admits=admitted.admits, **of_page)
        else:
            rows = self._server.ask("retrieve/page_supported_facts", admits=admitted.admits, **of_page)
        key = (kind, scope.corpus, state, scope.where)
        if key not in self._totals:
            sent = {"lists": lists, "corpus": scope.corpus, "kind": kind.value, "admits": admitted.admits}
            (row,) = self._server.ask("retrieve/count_asserted", **sent)
            self._totals[key] = row["number"]
            if len(self._totals) > _KEPT:
                self._totals.popitem(last=False)
        return IdPage(tuple(row["id"] for row in rows), self._totals[key])

    def said(self, scope: Scope, state: State, *, ids: Sequence[str]) -> list[Said]:
        """The names that mentions in a scope give to entities.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : state of the corpus that the caller reads
        ids : ids of the entities
        """
        admitted = self.admitted(scope, state)
        lists: Row = {"ids": list(ids), "sources": list(admitted.listed)}
        rows = self._server.ask("retrieve/count_names", lists=lists, admits=admitted.admits)
        return [Said(row["id"], row["surface"], row["kind"], row["mentions"]) for row in rows]

    def present(self, scope: Scope, state: Callable[[], State]) -> Admitted:
        """The sources that a scope admits in the current state, which must not change meanwhile.

        Parameters
        ----------
        scope : corpus, filter and list of sources
        state : reads the current state of the corpus
        """
        for _ in range(_ATTEMPTS):
            before = state()
            admitted = self.admitted(scope, before)
            if state() == before:  # the filter was evaluated on this state
                return admitted
        raise StoreConflictError(
            f"corpus {scope.corpus!r} was changed {_ATTEMPTS} times during a query; repeat the query"
        )

    def has(self, scope: Scope, state: State) -> bool:
        """Whether a scope can be evaluated without a query.

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
            for page in self._server.pages("retrieve/list_sources", corpus=corpus, size=PAGE):
                for row in page:
                    source = Source(row["id"], corpus, row["uri"], row["title"], "", metadata(row["metadata"]))
                    (inside if matches(where, source_values(source)) else outside).append(source.id)
            admits = len(inside) <= len(outside)
            admitted = Admitted(has_scope=True, listed=tuple(inside if admits else outside), admits=admits)
            self._known[key] = admitted
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return admitted


# A pull runs only the library statements that the relationships and kinds of its shape need.


_UNSTORED = frozenset({Relationship.CO_OCCURS})
_DERIVED = _UNSTORED | {Relationship.RELATES}
_MENTIONED: Set[Kind] = frozenset({Kind.STATEMENT, Kind.ENTITY})
_JOINING: Set[Relationship] = frozenset({Relationship.RELATES, Relationship.SYNONYM, Relationship.SAME_AS})


class _Walk(NamedTuple):
    """The part of the graph that a library statement reads: from one kind to others, along some relationships."""

    name: str
    start: Kind
    ends: Set[Kind]
    along: Set[Relationship]

    def is_needed_by(self, shape: PullShape, along: Set[Relationship]) -> bool:
        """Whether a pull of this shape needs the statement.

        Parameters
        ----------
        shape : kinds that may be entered
        along : relationships that are read as stored
        """
        return self.start in shape.kinds and bool(self.ends & shape.kinds and self.along & along)


def _walk(name: str, start: str, ends: str, *, along: str) -> _Walk:
    return _Walk(name, Kind(start), {*map(Kind, ends.split())}, {*map(Relationship, along.split())})


_EXPANSIONS: tuple[_Walk, ...] = (
    _walk("retrieve/expand_sources", "source", "chunk", along="from_source"),
    _walk("retrieve/expand_chunks", "chunk", "source chunk topic statement", along="from_source next in_chunk"),
    _walk("retrieve/expand_topics", "topic", "chunk statement", along="in_chunk about"),
    _walk(
        "retrieve/expand_statements", "statement", "chunk topic fact entity", along="in_chunk about supports mentions"
    ),
    _walk("retrieve/expand_facts", "fact", "statement entity", along="supports subject object"),
    _walk("retrieve/expand_mentioned", "entity", "statement", along="mentions"),
    _walk("retrieve/expand_entity_facts", "entity", "fact", along="subject object"),
)
_INDUCTIONS: tuple[_Walk, ...] = (
    _walk("retrieve/induce_chunks", "chunk", "source chunk", along="from_source next"),
    _walk("retrieve/induce_topics", "topic", "chunk", along="in_chunk"),
    _walk("retrieve/induce_statements", "statement", "chunk topic entity", along="in_chunk about mentions"),
    _walk("retrieve/induce_facts", "fact", "statement", along="supports"),
    _walk("retrieve/induce_entity_facts", "fact", "entity", along="subject object"),
    _walk("retrieve/induce_entities", "entity", "entity", along="relates synonym same_as"),
)
_COUNTS = {"RELATES": "retrieve/count_relates", "CO_OCCURS": "retrieve/count_co_occurs"}


class CountedIn(NamedTuple):
    """The relationships of a shape, divided into those that are read as stored and those that are counted."""

    stored: list[str]
    counted: list[str]

    def read(self) -> Set[Relationship]:
        """The relationships that are read as stored."""
        return {Relationship(name.lower()) for name in self.stored}

    def params(self) -> Row:
        """The parameters, by their names in the queries."""
        return {"relationships": self.stored, "counted": self.counted}


def typed(shape: PullShape, *, has_filter: bool) -> CountedIn:
    """Divide the relationships of a shape into those to read and those to count.

    Parameters
    ----------
    shape : shape of the pull
    has_filter : whether only some sources are visible; if so, all derived relationships are counted from their assertions
    """
    counted = shape.relationships & (_DERIVED if has_filter else _UNSTORED)
    stored = (shape.relationships & FOLLOWED) - counted
    return CountedIn(sorted(each.value.upper() for each in stored), sorted(each.value.upper() for each in counted))


def is_of_mentions(shape: PullShape) -> bool:
    """Whether a pull covers exactly statements and their entities, with or without topics."""
    with_topics = (frozenset({Relationship.MENTIONS, Relationship.ABOUT}), frozenset({*_MENTIONED, Kind.TOPIC}))
    known = (frozenset({Relationship.MENTIONS}), _MENTIONED), with_topics
    return (shape.relationships, shape.kinds) in known


def expansions(shape: PullShape, split: CountedIn) -> tuple[str, ...]:
    """The names of the library statements that read one hop.

    Parameters
    ----------
    shape : kinds that may be entered
    split : its relationships, as :func:`typed` divides them
    """
    asked = split.read()
    names = [walk.name for walk in _EXPANSIONS if walk.is_needed_by(shape, asked)]
    if Kind.ENTITY in shape.kinds and (split.counted or asked & _JOINING):
        names.append("retrieve/expand_counted" if split.counted else "retrieve/expand_entities")
    return tuple(names)


def inductions(shape: PullShape, split: CountedIn) -> tuple[str, ...]:
    """The names of the library statements that read the edges between nodes; the last one reads the version of the corpus.

    Parameters
    ----------
    shape : kinds of the nodes
    split : its relationships, as :func:`typed` divides them
    """
    names = [walk.name for walk in _INDUCTIONS if walk.is_needed_by(shape, split.read())]
    counted = [_COUNTS[name] for name in split.counted if Kind.ENTITY in shape.kinds]
    return (*names, *counted, "retrieve/induce_nothing")


class Bounds(NamedTuple):
    """The visible part of a corpus during a pull.

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
    if version is None:
        return nothing(shape)
    if wanted_version not in (0, version):
        return None
    nodes = sorted((name, Kind(row["kind"])) for row in rows for name in row["ids"])
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
    empty = _matrix([], [], size=size)
    matrices = {each: empty for each in sorted(shape.relationships) if each in FOLLOWED}
    for row in edges:
        if row["relationship"] is not None:
            name = Relationship(row["relationship"].lower())
            # Several statements read IN_CHUNK, so their matrices are summed.
            matrices[name] += _matrix(row["starts"], row["stops"], row["weights"], size=size)
    return matrices


def _neighbours(rows: Iterable[Row], *, fan_out: int) -> tuple[list[tuple[str, Kind]], bool]:
    """The nodes that one hop reached, by ascending id, and whether any node has more neighbours than the fan-out.

    If rows have owners, the neighbours of one node are spread over several rows, so the fan-out is applied here.
    """
    nodes: set[tuple[str, Kind]] = set()
    owned: dict[str, list[tuple[float, str, Kind]]] = {}
    is_cut = False
    for row in rows:
        kind = Kind(row["kind"])
        is_cut = is_cut or bool(row["is_cut"])
        if row["owners"] is None:
            nodes.update((name, kind) for name in row["ids"])
            continue
        by_owner = row["weights"] or [[1.0] * len(names) for names in row["ids"]]
        for owner, names, weights in zip(row["owners"], row["ids"], by_owner, strict=True):
            near = owned.setdefault(owner, [])
            near += [(-weight, name, kind) for name, weight in zip(names, weights, strict=True)]
    for near in owned.values():
        is_cut = is_cut or len(near) > fan_out
        nodes.update((name, kind) for _, name, kind in sorted(near)[:fan_out])
    return sorted(nodes), is_cut


def _pull_mentions(
    transaction: Transaction, seeds: Sequence[str], *, shape: PullShape, bounds: Bounds
) -> Subgraph | None:
    """The pull over statements, their entities and their topics: one query for two hops."""
    ids, frontier, hops_left = sorted(set(seeds)), None, shape.hops
    first: object = None
    is_cut = False
    while True:
        rows = transaction.rows(
            "retrieve/pull_mentions",
            corpus=bounds.corpus,
            lists={"ids": ids, "frontier": frontier, "listed": list(bounds.admitted.listed)},
            steps=min(hops_left, 2),
            is_last=hops_left <= 2,
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
        is_cut, hops_left = is_cut or bool(row["is_cut"]), hops_left - 2
        if hops_left <= 0:
            return _of_mentions(row, shape, is_cut=is_cut)
        ids = [name for part in ("statements", "entities", "topics") for name in row[part]]
        frontier = row["frontier"]


def _of_mentions(row: Row, shape: PullShape, *, is_cut: bool) -> Subgraph:
    """The subgraph in the row that the last query of a pull over statements returns."""
    groups = {Kind.STATEMENT: "statements", Kind.ENTITY: "entities", Kind.TOPIC: "topics"}
    parts = {kind: np.array(row[name], dtype="<U32") for kind, name in groups.items()}
    unsorted = np.concatenate(list(parts.values()))
    codes = np.concatenate([np.full(len(part), KINDS.index(kind), np.uint8) for kind, part in parts.items()])
    order = np.argsort(unsorted)
    ids, kinds = unsorted[order], codes[order]
    begins = [np.array(some, dtype=np.int64) for some in row["starts"]]
    ends = np.searchsorted(ids, np.array(row["stops"], dtype="<U32"))
    stops = np.repeat(ends, [len(some) for some in begins])
    places = np.searchsorted(ids, parts[Kind.STATEMENT])
    starts = places[np.concatenate([np.empty(0, dtype=np.int64), *begins])]
    is_about = kinds[stops] == KINDS.index(Kind.TOPIC)
    edges = {
        relationship: _matrix(starts[chosen], stops[chosen], size=len(ids))
        for relationship, chosen in ((Relationship.MENTIONS, ~is_about), (Relationship.ABOUT, is_about))
        if relationship in shape.relationships
    }
    return Subgraph(ids, kinds, dict(sorted(edges.items())), row["version"], is_cut)


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
        None if a writer changed the corpus meanwhile; the filter must then be evaluated again.
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
    return [Matched(each["matched"], each["number"], tuple(sorted(each["ids"]))) for each in rows[0]["classes"]]


def _version(transaction: Transaction, corpus: str) -> int | None:
    """The version of a corpus; None if it does not exist."""
    return next((row["version"] for row in transaction.rows("retrieve/read_state", corpus=corpus)), None)


def by_kind(nodes: Iterable[tuple[str, Kind]]) -> dict[str, list[str]]:
    """The ids of nodes by the plural of their kind, as the queries expect them."""
    groups: dict[str, list[str]] = {name: [] for name in PLURAL.values()}
    for name, kind in nodes:
        groups[PLURAL[kind]].append(name)
    return groups


def _edges(
    transaction: Transaction, reached: Mapping[str, Kind], *, shape: PullShape, split: CountedIn, bounds: Bounds
) -> list[Row]:
    """Rows of the edges between the reached nodes, the last one with the version. Without nodes no query runs."""
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


def _matrix(starts: ArrayLike, stops: ArrayLike, weights: Sequence[float] | None = None, *, size: int) -> Csr:
    """A matrix of edges; all weights are 1 if none are given."""
    rows = np.asarray(starts, dtype=np.int64)
    values = np.array(weights, dtype=np.float32) if weights else np.ones(len(rows), dtype=np.float32)
    return sp.csr_array((values, (rows, np.asarray(stops, dtype=np.int64))), shape=(size, size))


# Without an image, the server plans the queries of a search before they are needed, because planning takes seconds after a start.
# Each query runs once with empty lists, so that it reads nothing. EXPLAIN would not do: the server does not cache its plans.


_CORPUS = ""  # no corpus has this name
SHAPES = (
    *(PullShape(*parts) for parts in INGREDIENTS.values()),
    PullShape.along(Relationship.IN_CHUNK, Relationship.MENTIONS),
    PullShape.along(Relationship.IN_CHUNK),
    PullShape.along(Relationship.ABOUT),
)
"""The shapes of the pulls whose queries are planned ahead."""
_log = logging.getLogger(__name__)


class Warming:
    """Makes the server plan the queries of searches once, in a background thread. Thread-safe; never raises.

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
        """Start the thread unless it was started, and return at once."""
        with self._guard:
            if self._thread is None and not self._is_closed.is_set():
                # Its queries do not count as part of a search or an explanation.
                self._thread = threading.Thread(target=Context().run, args=(self._plan,), daemon=True)
                self._thread.start()

    def join(self, wait: float | None = None) -> None:
        """Wait until all queries are planned, for at most ``wait`` seconds."""
        if self._thread is not None:
            self._thread.join(wait)

    def close(self, *, wait: float | None = None) -> None:
        """Stop after the running query, and wait for it for at most ``wait`` seconds."""
        with self._guard:
            self._is_closed.set()
        self.join(wait)

    def _plan(self) -> None:
        try:
            for names, params in queries():
                if self._is_closed.is_set():
                    return
                self._server.read(lambda transaction, some=names, values=params: transaction.union(some, **values))  # type: ignore[misc]
        except StoreError as error:
            _log.info("the queries of searches were not planned ahead: %s", error)


def queries() -> Iterator[tuple[tuple[str, ...], Row]]:
    """The queries of pulls, with empty parameters of the types that a pull passes, so that nothing is read."""
    empty = ("ids", "kinds", "listed", "frontier", "reached", "relationships", "counted", "names")
    lists: Row = {**{name: [] for name in empty}, "places": {}, "nodes": by_kind([]), "among": None}
    bounds: Row = {"fan_out": 1, "node_cap": 1, "k": 1, "most": 1, "steps": 0, "is_last": True, "has_topics": False}
    params: Row = {**bounds, **EVERYTHING.flags(), "lists": lists, "corpus": _CORPUS}
    for name in ("retrieve/find_seeds", "retrieve/pull_mentions", "retrieve/match_statements"):
        yield (name,), params
    for shape in SHAPES:
        split = typed(shape, has_filter=False)
        yield expansions(shape, split), params
        yield inductions(shape, split), params
