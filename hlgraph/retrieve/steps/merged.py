"""Reads the graph with merges applied: merged entities share the neighbours of their group, and a walk starts at all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hlgraph.algorithms.merging import share_edges
from hlgraph.records import Kind
from hlgraph.stores.merges import Aliases
from hlgraph.stores.protocols import GraphStore, PullShape, Scope
from hlgraph.subgraph import Subgraph


class Pulled(NamedTuple):
    """What was pulled, and the number of round trips that it took."""

    graph: Subgraph
    round_trips: int


def pull_merged(
    seeds: Sequence[str], shape: PullShape, *, scope: Scope, graph: GraphStore, aliases: Callable[[], Aliases]
) -> Pulled:
    """A pull in which merged entities act as one node: to step from one of them to another takes no hop.

    Every entity of a group that the scope makes visible is in the result, each with the edges of the whole group. Where no
    reached entity was merged with an unreached one, a single pull is enough. Otherwise it takes one pull for each hop and one for
    the edges. A hub may then follow fewer neighbours than its fan-out, because those already known count towards it.

    Parameters
    ----------
    seeds : ids to start from
    shape : bounds of the pull
    scope : what may be seen
    graph : the store
    aliases : reads the ids of the group of each merged entity; called after the first pull, which may have brought them

    Returns
    -------
    Pulled
        The subgraph, and the number of round trips.
    """
    found = graph.pull(seeds, shape, scope=scope)
    groups = aliases()
    if not groups or not shape.relationships or Kind.ENTITY not in shape.kinds:
        return Pulled(found, 1)
    reached = set(found.ids.tolist())
    if all(reached.issuperset(groups[name]) for name in reached & groups.keys()):
        return Pulled(share_edges(found, groups), 1)
    is_cut = found.is_cut
    frontier = _with_aliases(seeds, groups)
    known = dict.fromkeys(frontier[: shape.node_cap])
    one_hop = replace(shape, hops=1)
    round_trips = 2  # the first pull, which showed that a group is only partly reached, and the pull of the edges
    for _ in range(shape.hops):
        step = graph.pull(frontier, one_hop, scope=scope)
        round_trips += 1
        new = [name for name in _with_aliases(step.ids.tolist(), groups) if name not in known]
        room = shape.node_cap - len(known)
        is_cut = is_cut or step.is_cut or len(new) > room
        frontier = new[:room]
        if not frontier:
            break
        known.update(dict.fromkeys(frontier))
    every = graph.pull(list(known), replace(shape, hops=0, node_cap=max(len(known), 1)), scope=scope)
    whole = Subgraph(every.ids, every.kinds, every.edges, every.version, is_cut)
    return Pulled(share_edges(whole, groups), round_trips)


def spread_seeds(weights: Mapping[str, float], aliases: Aliases) -> Mapping[str, float]:
    """The weights of seeds, spread over merged entities: each entity of a group gets the largest weight in it.

    Parameters
    ----------
    weights : from id to weight
    aliases : from the id of each merged entity to the ids of its group

    Returns
    -------
    Mapping
        ``weights`` itself where no seed was merged.

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
    """The same ids and those of their groups, ascending."""
    return sorted({other for name in names for other in (name, *aliases.get(name, ()))})
