"""Build the communities of a corpus, and list them with the names of their members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hlgraph import progress
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import UnknownNameError
from hlgraph.index.communities import BuiltCommunities, build_communities, derived_store
from hlgraph.progress import OnProgress
from hlgraph.records import Chunk, Community, Entity, Kind, Record, Statement
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.stores.derived import ClusterQuery, Member, Run, run_named
from hlgraph.stores.protocols import Scope, Stores, existing

__all__ = ["BuiltCommunities", "Communities", "FoundCommunities"]

SHAPE = ProjectionShape.ENTITY_ENTITY.value
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class FoundCommunities:
    """Communities of one run: the finest level first, the largest first within a level.

    Attributes
    ----------
    run : parameters and corpus version of the build; ``run.is_stale`` if the corpus has changed since. None: none were built
    communities : of the levels asked for
    names : names of the first members of each community, or the beginnings of their texts
    """

    run: Run | None = None
    communities: tuple[Community, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
        self, shape: str = SHAPE, *, level: int | None = None, k: int | None = None, names: int = 10
    ) -> FoundCommunities:
        """The stored communities; empty if none were built.

        Parameters
        ----------
        shape : see :meth:`build`
        level : 0: the finest; None: all levels
        k : maximum number of communities; None: all
        names : number of members that are named

        Returns
        -------
        FoundCommunities

        Raises
        ------
        InputError : a number is negative
        UnknownNameError : there is no such shape or corpus
        """
        check_not_negative(level=level, k=k, names=names)
        name = _shape(shape).value
        existing(self.stores.graph, self.corpus)
        derived = derived_store(self.stores)
        run = run_named(derived, self.corpus, name=name)
        if run is None:
            return FoundCommunities()
        communities = derived.communities(self.corpus, name, level=level, k=k)
        members = derived.members([community.id for community in communities], most=names) if names else {}
        return FoundCommunities(run, tuple(communities), self._names(members))

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
