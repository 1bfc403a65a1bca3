"""What the graph knows of pieces of evidence: the entities that they mention and the facts that they support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hlgraph.evaluate.spans import Known
from hlgraph.records import Entity, Fact, Kind, Relationship
from hlgraph.stores.protocols import PullShape, Scope, Stores

if TYPE_CHECKING:
    from hlgraph.records import Evidence
    from hlgraph.sdk.client import HLGraph

_OF_STATEMENTS = frozenset({Relationship.MENTIONS, Relationship.SUPPORTS})
_FOUND = (Kind.ENTITY, Kind.FACT)
_ENTERED = frozenset({Kind.CHUNK, Kind.STATEMENT, *_FOUND})
_FAN_OUT, _NODE_CAP = 100, 2_000

Knower = Callable[[Sequence["Evidence"]], Known]


def knower(graph: HLGraph) -> Knower:
    """A function from pieces of evidence to what the graph knows of them, with three reads of the graph store.

    Parameters
    ----------
    graph : the corpus
    """
    seen: list[Stores] = []

    def see(stores: Stores) -> Stores:
        seen.append(stores)
        return stores

    graph.watched(see)
    (stores,) = seen
    scope = Scope(graph.corpus)

    def know(evidence: Sequence[Evidence]) -> Known:
        statements = sorted({item.statement_id for item in evidence if item.statement_id})
        chunks = sorted({item.chunk_id for item in evidence if not item.statement_id})
        among = _OF_STATEMENTS | ({Relationship.IN_CHUNK} if chunks else set())
        shape = PullShape(among, _ENTERED, hops=2 if chunks else 1, fan_out=_FAN_OUT, node_cap=_NODE_CAP)
        if not statements and not chunks:
            return Known()
        pulled = stores.graph.pull([*statements, *chunks], shape, scope=scope)
        found = {kind: [str(pulled.ids[at]) for at in pulled.nodes(kind)] for kind in _FOUND}
        facts = [
            item for item in stores.graph.records(Kind.FACT, found[Kind.FACT], scope=scope) if isinstance(item, Fact)
        ]
        ends = {end for item in facts for end in (item.subject_id, item.object_id) if end}
        ids = sorted(ends | set(found[Kind.ENTITY]))
        held = stores.graph.records(Kind.ENTITY, ids, scope=scope)
        entities = {item.id: item for item in held if isinstance(item, Entity)}
        names = (name for item in entities.values() for name in (item.name, *item.aliases))
        return Known(tuple(dict.fromkeys(names)), tuple(_triple(item, entities) for item in facts))

    return know


def _triple(fact: Fact, entities: dict[str, Entity]) -> tuple[str, str, str]:
    """Subject, predicate and object; a literal object is what follows the predicate in the text of the fact."""
    subject = entities[fact.subject_id].name if fact.subject_id in entities else ""
    held = entities.get(fact.object_id or "")
    literal = fact.text.rpartition(f" {fact.predicate} ")[2]
    return subject, fact.predicate, held.name if held else literal
