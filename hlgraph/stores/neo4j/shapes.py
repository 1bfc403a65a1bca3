"""Which small statements of the library a pull of a shape takes: those of its relationships and kinds, and no others."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from hlgraph.records import Kind, Relationship
from hlgraph.stores.image.image import FOLLOWED
from hlgraph.stores.neo4j.server import Row
from hlgraph.stores.protocols import PullShape

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
