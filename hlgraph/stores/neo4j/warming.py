"""Makes the server plan the queries of a search before they are needed, where it has no image to walk on.

Planning them takes the server some seconds after its start, and none later: it keeps plans. They are run once with empty
lists, which read nothing, since the server does not keep what ``EXPLAIN`` plans ready to run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextvars import Context

from hlgraph.algorithms.projection import INGREDIENTS
from hlgraph.errors import StoreError
from hlgraph.records import Kind, Relationship
from hlgraph.stores.neo4j.admitted import EVERYTHING
from hlgraph.stores.neo4j.pull import by_kind
from hlgraph.stores.neo4j.server import Row, Server
from hlgraph.stores.neo4j.shapes import expansions, inductions, typed
from hlgraph.stores.protocols import PullShape

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
