"""What a read of a graph store asks for and may see: scopes, bounds, and queries to rank or match.

:mod:`hlgraph.stores.protocols` exports all of it; it stands apart so that the defaults of ``GraphStore`` can use it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.records import Kind, Relationship
from hlgraph.where import Where


@dataclass(frozen=True, slots=True)
class Scope:
    """What a read may see: one corpus, restricted to the sources that match a filter and to a list of sources.

    Attributes
    ----------
    corpus : name of the corpus
    where : metadata filter on sources; None admits all
    sources : ids of sources; None admits all
    state : ``CorpusStats.state`` of the corpus when the reader first looked. A store may answer from its cache of that state;
        a read without a state always sees the present one
    """

    corpus: str
    where: Where | None = None
    sources: tuple[str, ...] | None = None
    state: str = field(default="", compare=False)


_JOINED: Mapping[Relationship, frozenset[Kind]] = {
    Relationship.IN_CHUNK: frozenset({Kind.STATEMENT, Kind.CHUNK}),
    Relationship.ABOUT: frozenset({Kind.STATEMENT, Kind.TOPIC}),
    Relationship.SUPPORTS: frozenset({Kind.STATEMENT, Kind.FACT}),
    Relationship.MENTIONS: frozenset({Kind.STATEMENT, Kind.ENTITY}),
    Relationship.RELATES: frozenset({Kind.ENTITY}),
    Relationship.CO_OCCURS: frozenset({Kind.ENTITY}),
    Relationship.SYNONYM: frozenset({Kind.ENTITY}),
    Relationship.SAME_AS: frozenset({Kind.ENTITY}),
}


@dataclass(frozen=True, slots=True)
class PullShape:
    """Which part of the graph to pull: breadth-first from the seeds, along ``relationships`` in both directions.

    The result also holds every edge of ``relationships`` between the nodes reached.

    Attributes
    ----------
    relationships : relationships to follow
    kinds : kinds of nodes that the search may enter
    hops : maximum number of steps from a seed
    fan_out : maximum number of neighbours followed from one node, heaviest first, then by id
    node_cap : maximum number of nodes in the result, nearest first, then by id
    """

    relationships: frozenset[Relationship]
    kinds: frozenset[Kind]
    hops: int = 1
    fan_out: int = 100
    node_cap: int = 10_000

    @classmethod
    def along(
        cls, *relationships: Relationship, hops: int = 1, fan_out: int = 100, node_cap: int = 10_000
    ) -> PullShape:
        """The shape that enters the kinds of nodes that its relationships join; by IN_CHUNK, those of statements, not of topics.

        Parameters
        ----------
        relationships : relationships to follow
        hops, fan_out, node_cap : as for the class
        """
        kinds = frozenset[Kind]().union(*(_JOINED[item] for item in relationships))
        return cls(frozenset(relationships), kinds, hops, fan_out, node_cap)


@dataclass(frozen=True, slots=True)
class RankQuery:
    """One question to a ranker: the graph, the seeds of the walk, and the precision of the scores.

    Attributes
    ----------
    shape : the graph to walk on
    seed_weights : by id, not negative, not all 0; ids outside the graph are ignored
    k : number of nodes to return
    damping : the probability of continuing the walk, from 0 to below 1
    kinds : kinds of the nodes to return; None: all
    tolerance : bound on the sum of absolute errors of the scores
    epsilon : None: exact scores. A number above 0 lets a ranker explore only the surroundings of the seeds, in time that does
        not grow with the graph: a score is then never above the exact one, and below it by at most ``epsilon`` times the sum
        of the weights of the node's edges. 1e-5 finds nearly all of the best 50. A ranker may still return scores exact to
        ``tolerance``
    synonyms : shape ``statement_entity_chunk`` only: least similarity of the SYNONYM edges that the walk crosses; None: none
    """

    shape: ProjectionShape
    seed_weights: Mapping[str, float]
    k: int = 1_000
    damping: float = 0.85
    kinds: frozenset[Kind] | None = None
    tolerance: float = 1e-6
    epsilon: float | None = None
    synonyms: float | None = None


@dataclass(frozen=True, slots=True)
class MatchQuery:
    """A query for the statements that mention the most of some names.

    Attributes
    ----------
    names : ids of the entities of each name; a statement that mentions several entities of one name mentions one name
    k : number of statements wanted
    most : largest group of statements with equal counts whose ids are returned, at least 1
    among : ids of the statements to count for; None: all
    """

    names: tuple[tuple[str, ...], ...]
    k: int
    most: int = 1_000
    among: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """The statements that mention the same number of names.

    Attributes
    ----------
    count : number of names that each of them mentions
    size : number of these statements
    ids : their ids, ascending; empty if there are more than ``MatchQuery.most``
    """

    count: int
    size: int
    ids: tuple[str, ...]


class IdPage(NamedTuple):
    """Some ids of the records of a kind in a scope, and the number of all of them.

    Attributes
    ----------
    ids : ascending
    total : number of records of the kind in the scope
    """

    ids: tuple[str, ...]
    total: int
