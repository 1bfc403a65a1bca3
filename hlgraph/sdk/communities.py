"""Build the communities of a corpus, and list them with the names of their members.

A caller with groups gets the communities of what it sees: they are found anew in each state of the corpus, as a store without the
other sources would find them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import triu

from hlgraph import progress
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.errors import AccessError, UnknownNameError
from hlgraph.index.communities import BuiltCommunities, build_communities, derived_store, from_levels
from hlgraph.progress import OnProgress
from hlgraph.records import Chunk, Community, Entity, Kind, Record, Statement
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.sdk.contents import Contents, Reading
from hlgraph.stores.derived import ClusterQuery, DerivedStore, Made, Member, Run, run_named
from hlgraph.stores.in_process import ProcessClusterer
from hlgraph.stores.protocols import GraphStore, PullShape, Scope, existing, read_records

_T = TypeVar("_T")
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


class _Stored(NamedTuple):
    """The communities of a stored run."""

    run: Run
    derived: DerivedStore
    scope: Scope

    def page(self, level: int | None = None, *, k: int | None = None, skip: int = 0) -> Sequence[Community]:
        return self.derived.communities(self.run.corpus, self.run.name, level=level, k=k, skip=skip)

    def total(self, level: int | None) -> int:
        return self.derived.count_communities(self.run.corpus, self.run.name, level=level)

    def members(self, ids: Sequence[str], most: int | None = None) -> Mapping[str, tuple[Member, ...]]:
        return self.derived.members(ids, most=most)


class _Seen(NamedTuple):
    """The communities of what a caller with groups sees."""

    run: Run
    made: Made
    scope: Scope

    def page(self, level: int | None = None, *, k: int | None = None, skip: int = 0) -> Sequence[Community]:
        own = sorted(self._of(level), key=lambda each: (each.level, -each.size, each.id))
        return own[skip : None if k is None else skip + k]

    def total(self, level: int | None) -> int:
        return len(self._of(level))

    def members(self, ids: Sequence[str], most: int | None = None) -> Mapping[str, tuple[Member, ...]]:
        return {name: tuple(Member(each, Kind.ENTITY) for each in self.made.members[name][:most]) for name in ids}

    def _of(self, level: int | None) -> list[Community]:
        return [each for each in self.made.communities if level is None or each.level == level]


_SEEN: WeakKeyDictionary[GraphStore, dict[tuple[Scope, int], Made]] = WeakKeyDictionary()
_MOST_SEEN = 8  # scopes and versions of one store whose communities are in memory


@checked
@dataclass(frozen=True, slots=True)
class Communities(Contents):
    """The communities of one corpus.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it
    caller : who asks; one with groups gets the communities of entities among what it sees, and builds none

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.communities.build()
            for community in graph.communities.find(level=0).communities:
                print(community.size, community.id)
    """

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
        AccessError : the caller may not operate
        InputError : a number is out of its bounds
        And what :func:`hlgraph.index.communities.build_communities` raises.
        """
        if self._is_of_groups:
            raise AccessError("building communities needs the right to operate; callers find those of what they see")
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
        AccessError : a source names groups, and no caller is named; or a caller with groups asks for another shape than entities
        """
        check_not_negative(level=level, k=k, skip=skip, names=names)

        def read(source: _Stored | _Seen) -> FoundCommunities:
            communities = source.page(level, k=k, skip=skip)
            members = source.members([community.id for community in communities], names) if names else {}
            return FoundCommunities(
                source.run, tuple(communities), self._names(members, source.scope), source.total(level)
            )

        return self._of(_shape(shape), read) or FoundCommunities()

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

        def read(source: _Stored | _Seen) -> CommunityMap:
            return self._mapped(source, community, k=k, edges=edges)

        return self._of(ProjectionShape.ENTITY_ENTITY, read) or CommunityMap()

    @property
    def _is_of_groups(self) -> bool:
        return self.caller is not None and not self.caller.operates

    def _of(self, shape: ProjectionShape, read: Callable[[_Stored | _Seen], _T]) -> _T | None:
        """What is read of the communities of a shape; None if none were built."""
        if self._is_of_groups:
            if shape is not ProjectionShape.ENTITY_ENTITY:
                raise AccessError(f"communities of {shape.value} need the right to operate; leave the shape out")
            return self._read(lambda reading: read(self._seen(reading)))
        existing(self.stores.graph, self.corpus)
        derived = derived_store(self.stores)
        run = run_named(derived, self.corpus, name=shape.value)
        return None if run is None else read(_Stored(run, derived, Scope(self.corpus)))

    def _seen(self, reading: Reading) -> _Seen:
        """The communities of what a caller sees, from memory if neither the corpus nor its groups have changed."""
        query, graph, scope = ClusterQuery(ProjectionShape.ENTITY_ENTITY), reading.stores.graph, reading.scope
        run = Run(scope.corpus, SHAPE, 0, query.parameters)
        known, key = _SEEN.setdefault(graph, {}), (scope, reading.stats.version)
        result = known.get(key)
        if result is None:
            ids = graph.entities(scope)
            shape = PullShape(*INGREDIENTS[query.shape], hops=0, node_cap=max(len(ids), 1))
            around = graph.pull(ids, shape, scope=scope)
            clusterer = ProcessClusterer(lambda _, __: around)
            result = from_levels(run, clusterer.cluster(query, corpus=scope.corpus), scheme=reading.stats.ids)
            for oldest in list(known)[: len(known) - _MOST_SEEN + 1]:
                known.pop(oldest, None)
            known[key] = result
        return _Seen(run, result, scope)

    def _mapped(self, source: _Stored | _Seen, community: str | None, *, k: int, edges: int) -> CommunityMap:
        every = {each.id: each for each in source.page()}
        if community is not None and community not in every:
            raise UnknownNameError(f"there is no community {community!r:.200}; list them")
        finest = [each for each in every.values() if each.level == 0]
        chosen = finest if community is None else [every[community]]
        most = max(1, _MOST_MAPPED // max(1, len(chosen)))
        inside = source.members([each.id for each in chosen], most)
        ids = sorted({each.id for some in inside.values() for each in some})
        total = sum(each.size for each in chosen)
        nodes, links, edge_total = self._linked(ids, source.scope, k, edges)
        is_finest = community is None or every[community].level == 0
        members = inside if is_finest else source.members([each.id for each in finest])
        own = {each.id: name for name, some in members.items() for each in some}
        entities = read_records(self.stores.graph, Entity, ids=[name for name, _ in nodes], scope=source.scope)
        mapped = tuple(MapNode(entities[name], own.get(name, ""), degree) for name, degree in nodes)
        return CommunityMap(source.run, mapped, links, total, edge_total)

    def _linked(
        self, ids: Sequence[str], scope: Scope, k: int, edges: int
    ) -> tuple[list[tuple[str, int]], tuple[tuple[int, int, float], ...], int]:
        """The most linked of some entities with their degrees, the heaviest links between them, and the number of all links."""
        relationships, kinds = INGREDIENTS[ProjectionShape.ENTITY_ENTITY]
        whole = PullShape(relationships, kinds, hops=0, node_cap=max(len(ids), 1))
        graph = self.stores.graph.pull(ids, whole, scope=scope)
        projected = project(graph, ProjectionShape.ENTITY_ENTITY)
        degrees = np.diff(projected.adjacency.indptr)
        best = np.argsort(-degrees, kind="stable")[:k]
        links = triu(projected.adjacency[best][:, best], k=1).tocoo()
        order = np.lexsort((links.col, links.row, -links.data))[:edges]
        names = graph.ids[projected.nodes[best]].tolist()
        nodes = list(zip(names, degrees[best].tolist(), strict=True))
        rows = (links.row[order].tolist(), links.col[order].tolist(), links.data[order].tolist())
        return nodes, tuple(zip(*rows, strict=True)), int(links.nnz)

    def _names(self, members: Mapping[str, tuple[Member, ...]], scope: Scope) -> dict[str, tuple[str, ...]]:
        records: dict[str, Record] = {}
        for kind in (Kind.ENTITY, Kind.CHUNK, Kind.STATEMENT):
            ids = sorted({item.id for some in members.values() for item in some if item.kind is kind})
            records |= {item.id: item for item in self.stores.graph.records(kind, ids, scope=scope)}
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
