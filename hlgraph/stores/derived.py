"""What is derived from a corpus as a whole, and what keeps it. It can be made again, and is stale once the corpus changed.

Beside the two stores of :mod:`hlgraph.stores.protocols`: a ``Clusterer`` finds communities, a ``DerivedStore`` keeps what
was found. Both belong to the graph store, whose lock guards every write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.communities import CommunityLevels
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError
from hlgraph.ids import content_id
from hlgraph.records import Community, Kind, Summary


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
    communities: CommunityLevels
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
    stamp : differs between two runs that made something different
    corpus_version : the version that the corpus is at; filled in by reading
    """

    corpus: str
    name: str
    version: int
    parameters: str
    levels: int = 0
    by: str = "process"
    stamp: str = ""
    corpus_version: int = field(default=0, compare=False)

    @property
    def is_stale(self) -> bool:
        """Whether the corpus has changed since."""
        return self.corpus_version not in (0, self.version)


class Summarised(NamedTuple):
    """A summary, what it is about, the vector of its text, and the statements or chunks that its words are from.

    Attributes
    ----------
    community_id : of the community that it is about; empty: it is about a source
    parts : empty where the words are a model's own: then it rests on all members of the community; of a source these are
        all its chunks, and the statements that the words are from
    source_id : of the long source that it is about; empty: it is about a community
    chunk_ids : of a source its chunks, ascending; all are among the parts
    """

    summary: Summary
    community_id: str
    vector: NDArray[np.float32]
    parts: tuple[str, ...] = ()
    source_id: str = ""
    chunk_ids: tuple[str, ...] = ()


class Summaries(NamedTuple):
    """Summaries by ascending id, and their vectors: shape (n, d), float32."""

    items: tuple[Summarised, ...]
    matrix: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Made:
    """What a run made: communities by level and id, the ids of the members of each, and summaries of some of them.

    Summaries of sources may be members of communities, as nodes are.
    """

    communities: Sequence[Community] = ()
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    summaries: Sequence[Summarised] = ()

    @property
    def stamp(self) -> str:
        """A fingerprint of what was made."""
        names = [*(item.id for item in self.communities), *(item.summary.id for item in self.summaries)]
        return content_id("made", *sorted(names))


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
    """Communities of a corpus, by run, and their summaries.

    What a deleted source asserted leaves its communities in the same transaction. A summary leaves with the first member of
    its community, and with the first of its parts: what is there rests on nothing that is gone. One of a source leaves when
    the source gets a chunk too, and its communities lose it as a member.
    """

    def runs(self, corpus: str) -> tuple[Run, ...]:
        """What was made of a corpus, by name."""

    def save(self, run: Run, made: Made) -> Saved:
        """Put a run in the place of the one of its name: all of it is visible afterwards, or nothing of it.

        Communities that were there before are not written again. Needs the lock of the graph store. Raises
        StoreConflictError when the corpus is not at the version of the run any more.
        """

    def communities(self, corpus: str, name: str, *, level: int | None = None, k: int | None = None) -> list[Community]:
        """The communities of a run (of one level): finest level first, then largest first, then by id; at most ``k``."""

    def summaries(self, corpus: str, name: str) -> Summaries:
        """All summaries of a run; kept in memory for as long as neither the run nor the corpus changes."""

    def members(self, ids: Sequence[str], *, most: int | None = None) -> dict[str, tuple[Member, ...]]:
        """The members of each of these communities by ascending id, at most ``most`` of each."""


class Kept:
    """The summaries of runs that were read last, by corpus and name; safe for threads: the last one to read wins."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[Run, int, Summaries]] = {}

    def get(self, run: Run) -> Summaries | None:
        """The summaries of this run as of this version of its corpus, if they are held."""
        held = self._held.get((run.corpus, run.name))
        return held[2] if held is not None and held[:2] == (run, run.corpus_version) else None

    def put(self, run: Run, items: Iterable[Summarised]) -> Summaries:
        """Hold these instead."""
        ordered = tuple(sorted(items, key=lambda item: item.summary.id))
        matrix = np.stack([item.vector for item in ordered]) if ordered else np.empty((0, 0), dtype=np.float32)
        found = Summaries(ordered, matrix)
        self._held[run.corpus, run.name] = (run, run.corpus_version, found)
        return found


def run_named(store: DerivedStore, corpus: str, *, name: str) -> Run | None:
    """The run of this name; None where there is none."""
    return next((item for item in store.runs(corpus) if item.name == name), None)


def community_id(run: Run, level: int, *, members: Sequence[str]) -> str:
    """A community is its members on one level of a run: the same in every version of the corpus that has it."""
    return content_id(Kind.COMMUNITY, run.corpus, run.name, str(level), *sorted(members))
