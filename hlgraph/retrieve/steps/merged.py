"""Reading as merges say: entities that are one have the neighbours of all of them, and a walk begins at all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hlgraph.algorithms.merging import share_edges
from hlgraph.records import Kind
from hlgraph.stores.merges import Aliases
from hlgraph.stores.protocols import GraphStore, PullShape, Scope
from hlgraph.subgraph import Subgraph


class Pulled(NamedTuple):
    """What was pulled, and in how many round trips."""

    graph: Subgraph
    round_trips: int


def pull_merged(seeds: Sequence[str], shape: PullShape, *, scope: Scope, graph: GraphStore, aliases: Aliases) -> Pulled:
    """A pull in which the entities of a group are one node: to step from one of them to another takes no hop.

    Every entity of a group that the scope lets be seen is in the result, each with the edges of all. Where nothing that is
    reached was merged with something that is not, it is one pull as ever; else one a hop and one for the edges, and a hub
    may then follow some neighbours fewer than its fan-out, since those that are known by then count.
    """
    found = graph.pull(seeds, shape, scope=scope)
    if not aliases or not shape.relationships or Kind.ENTITY not in shape.kinds:
        return Pulled(found, 1)
    reached = set(found.ids.tolist())
    if all(reached.issuperset(aliases[name]) for name in reached & aliases.keys()):
        return Pulled(share_edges(found, aliases), 1)
    is_cut = found.is_cut
    frontier = _with_aliases(seeds, aliases)
    known = dict.fromkeys(frontier[: shape.node_cap])
    one_hop = replace(shape, hops=1)
    round_trips = 2  # the look that found it is partly merged, and the edges
    for _ in range(shape.hops):
        step = graph.pull(frontier, one_hop, scope=scope)
        round_trips += 1
        new = [name for name in _with_aliases(step.ids.tolist(), aliases) if name not in known]
        room = shape.node_cap - len(known)
        is_cut = is_cut or step.is_cut or len(new) > room
        frontier = new[:room]
        if not frontier:
            break
        known.update(dict.fromkeys(frontier))
    every = graph.pull(list(known), replace(shape, hops=0, node_cap=max(len(known), 1)), scope=scope)
    whole = Subgraph(every.ids, every.kinds, every.edges, every.version, is_cut)
    return Pulled(share_edges(whole, aliases), round_trips)


def spread_seeds(weights: Mapping[str, float], aliases: Aliases) -> Mapping[str, float]:
    """The weights of seeds, where an entity has the largest one of its group.

    Examples
    --------
    >>> spread_seeds({"a": 0.5, "c": 1.0}, {"a": ("a", "b"), "b": ("a", "b")})
    {'a': 0.5, 'c': 1.0, 'b': 0.5}
    """
    if not any(name in aliases for name in weights):
        return weights
    found = dict(weights)
    for name, weight in weights.items():
        for other in aliases.get(name, ()):
            found[other] = max(found.get(other, 0.0), weight)
    return found


def _with_aliases(names: Iterable[str], aliases: Aliases) -> list[str]:
    """The same, each with what it is one with; ascending."""
    return sorted({other for name in names for other in (name, *aliases.get(name, ()))})
