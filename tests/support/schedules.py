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
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from unittest import mock

from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.derived import EmbeddedDerivedStore, EmbeddedMergeStore
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
from hlgraph.stores.image.ranker import StoreRanker
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
    (Connection, "_once"),
)
CALLS: Methods = tuple(
    (kind, name)
    for kind in (
        EmbeddedGraphStore, EmbeddedVectorStore, EmbeddedDerivedStore, EmbeddedMergeStore, StoreRanker,
        Neo4jGraphStore, Neo4jDerivedStore, Neo4jMergeStore, OpenSearchVectorStore,
    )
    for name in (
        "records", "find", "pull", "match", "stats", "search", "search_many", "vectors", "vectors_many", "runs", "summaries",
        "members", "decisions", "aliases", "rank", "lock", "stage", "advance", "upsert", "delete", "own_entities", "ids",
    )
    if name in vars(kind)
)  # fmt: skip


@dataclass
class Places:
    """The places that a thread passed."""

    at: Callable[[int], object]
    passed: int = 0
    thread: int = field(default_factory=threading.get_ident)

    def see(self) -> None:
        if threading.get_ident() == self.thread:
            self.passed += 1
            self.at(self.passed - 1)


@contextlib.contextmanager
def watched(at: Callable[[int], object], methods: Methods = BELOW) -> Iterator[Places]:
    """Calls ``at`` with the number of each place that this thread passes in the block, before the store goes on."""
    places = Places(at)

    def watching(kind: type, name: str) -> Callable[..., Any]:
        inner = getattr(kind, name)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            places.see()
            return inner(self, *args, **kwargs)

        return call

    with contextlib.ExitStack() as stack:
        for kind, name in methods:
            stack.enter_context(mock.patch.object(kind, name, watching(kind, name)))
        yield places


def counted(first: Callable[[], object], methods: Methods = BELOW) -> int:
    """The number of places that an operation passes."""
    with watched(lambda _: None, methods) as places:
        first()
    return places.passed


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


class Fault(NamedTuple):
    """One kind of call that fails.

    Attributes
    ----------
    owner, name : where the function is
    error : makes what it raises
    is_after : whether the call is done first, as where a reply is lost
    """

    owner: Any
    name: str
    error: Callable[[], BaseException]
    is_after: bool = False


@contextlib.contextmanager
def failing(
    fault: Fault, number: int, *, is_counted: Callable[..., bool] = lambda *_, **__: True
) -> Iterator[list[int]]:
    """Fails the call of a kind with this number, once; yields a list that gets an item for each call, on any thread."""
    inner = getattr(fault.owner, fault.name)
    calls: list[int] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_counted(*args, **kwargs):
            return inner(*args, **kwargs)
        calls.append(len(calls))
        is_it = calls[-1] == number
        if is_it and not fault.is_after:
            raise fault.error()
        found = inner(*args, **kwargs)
        if is_it:
            del found  # the error would keep it, and with it a statement that reads
            raise fault.error()
        return found

    with mock.patch.object(fault.owner, fault.name, call):
        yield calls
