"""Build the communities of a corpus with the Leiden algorithm on one of its graphs, and store all levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hlgraph import progress
from hlgraph.errors import StoreError
from hlgraph.ids import WITHOUT_NAME
from hlgraph.persist.journal import finish
from hlgraph.records import Community
from hlgraph.stores.derived import Clustered, ClusterQuery, DerivedStore, Made, Run, Saved, community_id, run_named
from hlgraph.stores.protocols import Stores, existing


@dataclass(frozen=True, slots=True)
class BuiltCommunities:
    """The result of :func:`build_communities`.

    Attributes
    ----------
    run : the stored run
    communities : number of communities per level, finest level first
    saved : numbers of added, removed and kept communities
    is_unchanged : True if the stored communities were already up to date, so nothing was done
    """

    run: Run
    communities: tuple[int, ...]
    saved: Saved
    is_unchanged: bool = False


def derived_store(stores: Stores) -> DerivedStore:
    """Return the store of derived data.

    Raises
    ------
    StoreError
        The stores keep no derived data.
    """
    if stores.graph.derived is None:
        raise StoreError("this pair of stores keeps no derived data; open the stores with hlgraph.connect")
    return stores.graph.derived


def build_communities(corpus: str, query: ClusterQuery, *, stores: Stores) -> BuiltCommunities:
    """Find the communities of a corpus, and replace the stored communities of the same graph.

    Interrupted changes are finished first. If neither the corpus nor the parameters have changed since the last run, nothing is
    done. Leiden takes time nearly linear in the number of edges. Only new communities are written.

    Parameters
    ----------
    corpus : the corpus to cluster
    query : the graph and the parameters of Leiden
    stores : both stores

    Returns
    -------
    BuiltCommunities
        The stored run, with the numbers of communities.

    Raises
    ------
    UnknownNameError
        There is no such corpus.
    StoreLockedError
        Another process is writing.
    MissingExtraError
        Leiden would run in this process, but the extra ``communities`` is not installed.
    StoreError
        The stores keep no derived data.
    """
    derived = derived_store(stores)
    with stores.graph.lock(corpus) as pending:
        for change in pending:
            finish(change, stores)
        stats = existing(stores.graph, corpus)
        name = query.shape.value
        stored = run_named(derived, corpus, name=name)
        if stored is not None and not stored.is_stale and stored.parameters == query.parameters:
            counts = _counts(derived.communities(corpus, name), stored.levels)
            return BuiltCommunities(stored, counts, Saved(0, 0, sum(counts)), is_unchanged=True)
        with progress.step("cluster"):
            clustered = stores.graph.cluster(query, corpus=corpus)
        levels = len(clustered.communities.levels) if clustered.ids else 0
        run = Run(corpus, name, stats.version, query.parameters, levels, clustered.by)
        result = from_levels(run, clustered, scheme=stats.ids)
        run = replace(run, stamp=result.stamp)
        with progress.step("persist"):
            saved = derived.save(run, result)
        return BuiltCommunities(run, _counts(result.communities, levels), saved)


def _counts(communities: Sequence[Community], levels: int) -> tuple[int, ...]:
    counts = np.bincount([community.level for community in communities], minlength=levels)
    return tuple(map(int, counts))


def from_levels(run: Run, clustered: Clustered, *, scheme: int = WITHOUT_NAME) -> Made:
    """Build the communities of all levels, each with its members and its parent in the next coarser level.

    Level 0 is the finest level, which is the last row of ``clustered.communities.levels``.

    Parameters
    ----------
    run : the run; community ids depend on it
    clustered : the clustered nodes
    scheme : id scheme of the corpus

    Returns
    -------
    Made
        Communities ordered by level and id, and their members.
    """
    communities: dict[str, Community] = {}
    members: dict[str, tuple[str, ...]] = {}
    above: list[str] = []
    rows = clustered.communities.levels if clustered.ids else ()
    for level, row in zip(range(len(rows) - 1, -1, -1), rows, strict=True):
        inside: defaultdict[int, list[int]] = defaultdict(list)
        for place, label in enumerate(row.tolist()):
            inside[label].append(place)
        names: list[str] = [""] * len(row)
        for places in inside.values():
            own = tuple(clustered.ids[place] for place in places)
            name = community_id(run, level, members=own, scheme=scheme)
            parent = above[places[0]] if above else None
            communities[name] = Community(name, run.corpus, level, len(own), parent)
            members[name] = own
            for place in places:
                names[place] = name
        above = names
    ordered = sorted(communities.values(), key=lambda community: (community.level, community.id))
    return Made(ordered, members)
