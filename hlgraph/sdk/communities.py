"""Build the communities of a corpus, and list them with the names of their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.sparse import triu

from hlgraph import progress
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.errors import UnknownNameError
from hlgraph.index.communities import BuiltCommunities, build_communities, derived_store
from hlgraph.progress import OnProgress
from hlgraph.records import Chunk, Community, Entity, Kind, Record, Statement
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.stores.derived import ClusterQuery, Member, Run, run_named
from hlgraph.stores.protocols import PullShape, Scope, Stores, existing

__all__ = ["BuiltCommunities", "Communities", "CommunityMap", "FoundCommunities", "MapNode"]

SHAPE = ProjectionShape.ENTITY_ENTITY.value
_LONGEST = 60
_MOST_MAPPED = 20_000  # entities among which those of a map are chosen


@dataclass(frozen=True, slots=True)
class FoundCommunities:
    """Communities of one run: the finest level first, the largest first within a level.

    Attributes
    ----------
    run : parameters and corpus version of the build; ``run.is_stale`` if the corpus has changed since. None: none were built
    communities : of the levels asked for
    names : names of the first members of each community, or the beginnings of their texts
    total : number of all communities of these levels
    """

    run: Run | None = None
    communities: tuple[Community, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    total: int = 0


class MapNode(NamedTuple):
    """An entity of a map: its community of the finest level, and the number of entities that it is linked with."""

    entity: Entity
    community_id: str
    degree: int


@dataclass(frozen=True, slots=True)
class CommunityMap:
    """The most linked entities of some communities, and the links between them.

    Attributes
    ----------
    run : as in :class:`FoundCommunities`
    nodes : the most linked first, then by id
    edges : indices of two nodes, and the weight of their link: the number of their facts and common chunks; the heaviest first
    node_total : number of entities of the communities
    edge_total : number of links between the nodes
    """

    run: Run | None = None
    nodes: tuple[MapNode, ...] = ()
    edges: tuple[tuple[int, int, float], ...] = ()
    node_total: int = 0
    edge_total: int = 0


@checked
@dataclass(frozen=True, slots=True)
class Communities:
    """The communities of one corpus.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.communities.build()
            for community in graph.communities.find(level=0).communities:
                print(community.size, community.id)
    """

    corpus: str
    stores: Stores

    def build(
        self,
        shape: str = SHAPE,
        *,
        resolution: float = 1.0,
        max_size: int = 100,
        max_levels: int = 4,
        seed: int = 0,
        on_progress: OnProgress | None = None,
    ) -> BuiltCommunities:
        """Find and store the communities of a graph of the corpus; older ones of the same shape are replaced.

        Repeating the call changes nothing.

        Parameters
        ----------
        shape : the graph, a value of :class:`hlgraph.algorithms.projection.ProjectionShape`
        resolution : higher gives more and smaller communities
        max_size : communities of more members are divided further
        max_levels : of the hierarchy
        seed : of the algorithm
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        BuiltCommunities

        Raises
        ------
        UnknownNameError : there is no such shape or corpus
        InputError : a number is out of its bounds
        And what :func:`hlgraph.index.communities.build_communities` raises.
        """
        query = ClusterQuery(_shape(shape), resolution=resolution, max_size=max_size, max_levels=max_levels, seed=seed)
        with progress.listening(on_progress):
            return build_communities(self.corpus, query, stores=self.stores)

    def find(
        self, shape: str = SHAPE, *, level: int | None = None, k: int | None = None, skip: int = 0, names: int = 10
    ) -> FoundCommunities:
        """The stored communities; empty if none were built.

        Parameters
        ----------
        shape : see :meth:`build`
        level : 0: the finest; None: all levels
        k : maximum number of communities; None: all
        skip : number of the first communities that are left out
        names : number of members that are named

        Returns
        -------
        FoundCommunities

        Raises
        ------
        InputError : a number is negative
        UnknownNameError : there is no such shape or corpus
        """
        check_not_negative(level=level, k=k, skip=skip, names=names)
        name = _shape(shape).value
        existing(self.stores.graph, self.corpus)
        derived = derived_store(self.stores)
        run = run_named(derived, self.corpus, name=name)
        if run is None:
            return FoundCommunities()
        communities = derived.communities(self.corpus, name, level=level, k=k, skip=skip)
        members = derived.members([community.id for community in communities], most=names) if names else {}
        total = derived.count_communities(self.corpus, name, level=level)
        return FoundCommunities(run, tuple(communities), self._names(members), total)

    def map(self, *, community: str | None = None, k: int = 500, edges: int = 5_000) -> CommunityMap:
        """The most linked entities of the communities of entities, with the links between them; empty if none were built.

        The entities are chosen among 20,000, an equal number of each community.

        Parameters
        ----------
        community : only the entities of this community; None: of all
        k : maximum number of entities
        edges : maximum number of links

        Raises
        ------
        InputError : a number is negative
        UnknownNameError : there is no such corpus or community
        """
        check_not_negative(k=k, edges=edges)
        existing(self.stores.graph, self.corpus)
        derived = derived_store(self.stores)
        run = run_named(derived, self.corpus, name=SHAPE)
        if run is None:
            return CommunityMap()
        every = {each.id: each for each in derived.communities(self.corpus, SHAPE)}
        if community is not None and community not in every:
            raise UnknownNameError(f"there is no community {community!r:.200}; list them")
        finest = [each for each in every.values() if each.level == 0]
        chosen = finest if community is None else [every[community]]
        most = max(1, _MOST_MAPPED // max(1, len(chosen)))
        inside = derived.members([each.id for each in chosen], most=most)
        ids = sorted({each.id for some in inside.values() for each in some})
        total = sum(each.size for each in chosen)
        nodes, links, edge_total = self._linked(ids, k, edges)
        is_finest = community is None or every[community].level == 0
        members = inside if is_finest else derived.members([each.id for each in finest])
        own = {each.id: name for name, some in members.items() for each in some}
        scope = Scope(self.corpus)
        records = self.stores.graph.records(Kind.ENTITY, [name for name, _ in nodes], scope=scope)
        entities = {record.id: record for record in records if isinstance(record, Entity)}
        mapped = tuple(MapNode(entities[name], own.get(name, ""), degree) for name, degree in nodes)
        return CommunityMap(run, mapped, links, total, edge_total)

    def _linked(
        self, ids: Sequence[str], k: int, edges: int
    ) -> tuple[list[tuple[str, int]], tuple[tuple[int, int, float], ...], int]:
        """The most linked of some entities with their degrees, the heaviest links between them, and the number of all links."""
        relationships, kinds = INGREDIENTS[ProjectionShape.ENTITY_ENTITY]
        whole = PullShape(relationships, kinds, hops=0, node_cap=max(len(ids), 1))
        graph = self.stores.graph.pull(ids, whole, scope=Scope(self.corpus))
        projected = project(graph, ProjectionShape.ENTITY_ENTITY)
        degrees = np.diff(projected.adjacency.indptr)
        best = np.argsort(-degrees, kind="stable")[:k]
        links = triu(projected.adjacency[best][:, best], k=1).tocoo()
        order = np.lexsort((links.col, links.row, -links.data))[:edges]
        names = graph.ids[projected.nodes[best]].tolist()
        nodes = list(zip(names, degrees[best].tolist(), strict=True))
        rows = (links.row[order].tolist(), links.col[order].tolist(), links.data[order].tolist())
        return nodes, tuple(zip(*rows, strict=True)), int(links.nnz)

    def _names(self, members: Mapping[str, tuple[Member, ...]]) -> dict[str, tuple[str, ...]]:
        records: dict[str, Record] = {}
        for kind in (Kind.ENTITY, Kind.CHUNK, Kind.STATEMENT):
            ids = sorted({item.id for some in members.values() for item in some if item.kind is kind})
            records |= {item.id: item for item in self.stores.graph.records(kind, ids, scope=Scope(self.corpus))}
        return {
            name: tuple(_name(records[item.id]) for item in some if item.id in records)
            for name, some in members.items()
        }


def _shape(name: str) -> ProjectionShape:
    if name not in set(ProjectionShape):
        known = ", ".join(shape.value for shape in ProjectionShape)
        raise UnknownNameError(f"there is no shape {name!r}; choose one of {known}")
    return ProjectionShape(name)


def _name(record: Record) -> str:
    if isinstance(record, Entity):
        return record.name
    text = " ".join(record.text.split()) if isinstance(record, Chunk | Statement) else record.id
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
