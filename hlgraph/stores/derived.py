"""What is derived from a corpus as a whole, and what keeps it. It can be made again, and is stale once the corpus changed.

Beside the two stores of :mod:`hlgraph.stores.protocols`: a ``Clusterer`` finds communities, a ``DerivedStore`` keeps what
was found. Both belong to the graph store, whose lock guards every write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from hlgraph.algorithms import check
from hlgraph.algorithms.communities import Communities
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError
from hlgraph.ids import content_id
from hlgraph.records import Community, Kind


@dataclass(frozen=True, slots=True)
class ClusterQuery:
    """What to cluster, and how.

    Attributes
    ----------
    shape : the graph whose nodes are clustered
    resolution : above 1 more and smaller communities
    max_size : the most nodes of a community of the finest level; larger ones are divided again
    max_levels : so many levels at most; the coarsest and the finest are always among them, when it is 2 or more
    seed : the same graph, parameters and seed give the same communities

    Raises InputError for a value out of its bounds.
    """

    shape: ProjectionShape
    resolution: float = 1.0
    max_size: int = 100
    max_levels: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.positive("resolution", self.resolution)
        for name, least in (("max_size", 2), ("max_levels", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more")

    @property
    def parameters(self) -> str:
        """All that the result depends on beside the graph, in one line."""
        return (
            f"shape={self.shape.value} resolution={self.resolution:g} max_size={self.max_size} "
            f"max_levels={self.max_levels} seed={self.seed}"
        )


class Clustered(NamedTuple):
    """Nodes in ascending order of id, and their communities; the labels are indices into ``ids``.

    Nodes without edges are in none. ``by``: ``server``, ``process``, or ``process:`` and why the server did not.
    """

    ids: list[str]
    communities: Communities
    by: str = "process"


class Clusterer(Protocol):
    """Communities of a graph of one corpus by Leiden, on the server or in process, with the same type of result."""

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """The communities of every node with an edge, row 0 the coarsest level, each next one inside the one before.

        No community of the last level is larger than ``query.max_size``.
        """


@dataclass(frozen=True, slots=True)
class Run:
    """One derivation: what was made, from which version of the corpus, with which parameters.

    Attributes
    ----------
    name : what it is called in its corpus; a new run of a name takes the place of the old one
    version : the version of the corpus that it was made from
    parameters : all that it depends on beside the corpus
    levels : how many levels its communities have
    by : who made it, see :class:`Clustered`
    is_stale : whether the corpus has changed since; filled in by reading
    """

    corpus: str
    name: str
    version: int
    parameters: str
    levels: int = 0
    by: str = "process"
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """What a run made: communities, those of a level in the order of their ids, and the ids of the members of each."""

    communities: Sequence[Community] = ()
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Saved(NamedTuple):
    """How many communities a run added, removed, and left as they were."""

    added: int
    removed: int
    kept: int


class Member(NamedTuple):
    """A node of a community, and what it is."""

    id: str
    kind: Kind


class DerivedStore(Protocol):
    """Communities of a corpus, by run. What a deleted source asserted leaves its communities in the same transaction."""

    def runs(self, corpus: str) -> tuple[Run, ...]:
        """What was made of a corpus, by name."""

    def save(self, run: Run, made: Made) -> Saved:
        """Put a run in the place of the one of its name: all of it is visible afterwards, or nothing of it.

        Communities that were there before are not written again. Needs the lock of the graph store. Raises
        StoreConflictError when the corpus is not at the version of the run any more.
        """

    def communities(self, corpus: str, name: str, *, level: int | None = None, k: int | None = None) -> list[Community]:
        """The communities of a run (of one level): finest level first, then largest first, then by id; at most ``k``."""

    def members(self, ids: Sequence[str], *, most: int | None = None) -> dict[str, tuple[Member, ...]]:
        """The members of each of these communities by ascending id, at most ``most`` of each."""


def community_id(run: Run, level: int, *, members: Sequence[str]) -> str:
    """A community is its members on one level of a run: the same in every version of the corpus that has it."""
    return content_id(Kind.COMMUNITY, run.corpus, run.name, str(level), *sorted(members))
