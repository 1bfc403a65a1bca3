"""Which statements of the library a pull asks Neo4j for, how they are joined, and what is planned ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import MagicMock

from hlgraph.errors import StoreUnavailableError
from hlgraph.records import Kind, Relationship
from hlgraph.settings import Neo4jSettings
from hlgraph.stores import queries
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.pull import Warming, expansions, inductions, typed
from hlgraph.stores.neo4j.pull import queries as planned
from hlgraph.stores.neo4j.server import Server, Transaction
from hlgraph.stores.protocols import PullShape


def _names(*relationships: Relationship, kinds: Sequence[Kind], has_filter: bool = False) -> tuple[str, str]:
    shape = PullShape(frozenset(relationships), frozenset(kinds))
    split = typed(shape, has_filter=has_filter)
    some = expansions(shape, split), inductions(shape, split)
    return tuple(" ".join(name.removeprefix("retrieve/") for name in names) for names in some)  # type: ignore[return-value]


def test_pull_sends_only_the_branches_of_its_shape() -> None:
    both = (Kind.CHUNK, Kind.STATEMENT)
    assert _names(Relationship.IN_CHUNK, kinds=both) == (
        "expand_chunks expand_statements",
        "induce_statements induce_nothing",
    )
    assert _names(Relationship.FROM_SOURCE, kinds=(Kind.CHUNK,)) == ("expand_chunks", "induce_chunks induce_nothing")
    assert _names(Relationship.ABOUT, kinds=both) == ("expand_statements", "induce_statements induce_nothing")
    assert _names(Relationship.SAME_AS, kinds=both) == ("", "induce_nothing")
    facts = (Kind.FACT, Kind.ENTITY)
    assert _names(Relationship.SUBJECT, kinds=facts) == (
        "expand_facts expand_entity_facts",
        "induce_entity_facts induce_nothing",
    )


def test_derived_relationships_are_counted_under_a_filter() -> None:
    named = {"kinds": (Kind.ENTITY,)}
    assert _names(Relationship.RELATES, **named) == ("expand_entities", "induce_entities induce_nothing")
    assert _names(Relationship.RELATES, **named, has_filter=True) == ("expand_counted", "count_relates induce_nothing")
    assert _names(Relationship.CO_OCCURS, Relationship.SYNONYM, **named) == (
        "expand_counted",
        "induce_entities count_co_occurs induce_nothing",
    )


class _Recording(Server):
    """A server that notes what it is asked, and has nothing."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__("neo4j://nowhere", Neo4jSettings())
        self.asked: list[tuple[tuple[str, ...], Mapping[str, Any]]] = []
        self._error = error

    def read(self, work: Any) -> Any:
        if self._error is not None:
            raise self._error
        return work(self)

    def union(self, names: Sequence[str], **params: Any) -> Any:
        self.asked.append((tuple(names), params))
        return []

    def ask(self, name: str, /, **params: Any) -> Any:
        del params
        return [] if name == "persist/read_corpora" else [{"version": 9}]


def test_planned_queries_have_the_parameters_of_a_pull() -> None:
    """Names and types of parameters are a part of what a server keeps plans by."""
    sent: list[Mapping[str, Any]] = []

    class _Inner:
        def run(self, text: str, params: Mapping[str, Any]) -> Any:
            del text
            sent.append(params)
            return MagicMock(keys=list)

    transaction = Transaction(_Inner(), Server("neo4j://nowhere", Neo4jSettings()))  # type: ignore[arg-type]
    for names, params in planned():
        transaction.union(names, **params)
        wanted = frozenset[str]().union(*(queries.load(name).params for name in names))
        assert set(sent[-1]) == wanted
        assert all(not isinstance(value, list) for value in sent[-1].values())  # lists are in one map
    assert len(sent) == len(list(planned())) >= 10


def test_queries_are_planned_once_and_only_without_an_image() -> None:
    server = _Recording()
    graph = Neo4jGraphStore(server)
    graph.plan_ahead()
    graph.plan_ahead()
    graph._warming.join()
    assert [names for names, _ in server.asked] == [names for names, _ in planned()]
    with Neo4jGraphStore(unused := _Recording()):
        pass
    assert unused.asked == []


def test_planning_ignores_an_unavailable_server() -> None:
    warming = Warming(_Recording(StoreUnavailableError("away")))
    warming.begin()
    warming.close()
    warming.begin()  # after the end nothing begins
    assert warming._thread is not None
    assert not warming._thread.is_alive()
