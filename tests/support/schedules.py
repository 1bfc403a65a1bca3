"""Deterministic schedules: one operation stops at its n-th store call while another one runs from beginning to end.

A place is a call of a store (:data:`CALLS`), or of a store to what is below it (:data:`BELOW`): a connection of SQLite, a request
to Neo4j, a request to OpenSearch. Only calls of the thread that runs the first operation count, so a schedule is the same in each
run. Below, that thread may hold a lock of its handle: there the second operation needs a handle of its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from unittest import mock

from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.derived import EmbeddedDerivedStore, EmbeddedMergeStore
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.neo4j.derived import Neo4jDerivedStore, Neo4jMergeStore
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore

Methods = tuple[tuple[type, str], ...]

T = TypeVar("T")
BELOW: Methods = (
    (Database, "reader"),
    (Database, "writer"),
    (Server, "ask"),
    (Server, "read"),
    (Server, "write"),
    (Connection, "_sent"),
)
CALLS: Methods = tuple(
    (kind, name)
    for kind in (
        EmbeddedGraphStore, EmbeddedVectorStore, EmbeddedDerivedStore, EmbeddedMergeStore,
        Neo4jGraphStore, Neo4jDerivedStore, Neo4jMergeStore, OpenSearchVectorStore,
    )
    for name in (
        "records", "find", "pull", "match", "stats", "search", "search_many", "vectors", "vectors_many", "runs", "summaries",
        "members", "decisions", "aliases", "rank", "lock", "stage", "advance", "upsert", "delete", "own_entities", "ids",
    )
    if name in vars(kind)
)  # fmt: skip


@contextlib.contextmanager
def watched(at: Callable[[int], object], methods: Methods = BELOW) -> Iterator[list[int]]:
    """Calls ``at`` with the number of each place that this thread passes in the block, before the store goes on.

    Yields the list of these numbers.
    """
    places: list[int] = []
    thread = threading.get_ident()

    def watching(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == thread:
                places.append(len(places))
                at(places[-1])
            return inner(*args, **kwargs)

        return call

    with contextlib.ExitStack() as stack:
        for kind, name in methods:
            stack.enter_context(mock.patch.object(kind, name, watching(getattr(kind, name))))
        yield places


def counted(first: Callable[[], object], methods: Methods = BELOW) -> int:
    """The number of places that an operation passes."""
    with watched(lambda _: None, methods) as places:
        first()
    return len(places)


def interleaved(
    first: Callable[[], T],
    second: Callable[[], object],
    *,
    place: int | Callable[[int], bool],
    methods: Methods = BELOW,
) -> T:
    """The result of the first operation; the second one runs whole, in a thread of its own, when the first is at a place.

    ``place`` may also say for each place whether the second one runs there.
    """
    with ThreadPoolExecutor(1) as other:

        def at(number: int) -> None:
            if place(number) if callable(place) else number == place:
                other.submit(second).result()

        with watched(at, methods):
            return first()
