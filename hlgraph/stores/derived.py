"""Communities and summaries: derived from a whole corpus, stale once the corpus changes, and always rebuildable.

:meth:`hlgraph.stores.protocols.GraphStore.cluster` finds communities. A ``DerivedStore`` keeps them; it belongs to the graph
store, whose lock guards every write.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.communities import CommunityLevels
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.change import Synonym
from hlgraph.errors import InputError
from hlgraph.ids import WITHOUT_NAME, content_id, free_half, halved_id
from hlgraph.records import Calibration, Community, Kind, Summary

if TYPE_CHECKING:
    from hlgraph.stores.protocols import VectorSets


_MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ClusterQuery:
    """What to cluster, and how. Raises InputError for a value out of range.

    Attributes
    ----------
    shape : the graph whose nodes are clustered
    resolution : a value above 1 gives more and smaller communities
    max_size : maximum number of nodes of a community on the finest level; larger ones are divided again
    max_levels : maximum number of levels; from 2 on, the coarsest and the finest are always among them
    seed : the same graph, parameters and seed give the same communities
    """

    shape: ProjectionShape
    resolution: float = 1.0
    max_size: int = 100
    max_levels: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.positive("resolution", self.resolution)
        if self.resolution > _MOST:
            raise InputError(f"resolution is {self.resolution}; it must be {_MOST} or less")
        for name, least in (("max_size", 2), ("max_levels", 1), ("seed", 0)):
            if not least <= getattr(self, name) <= _MOST:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more, and fit into 64 bits")

    @property
    def parameters(self) -> str:
        """Everything that the result depends on besides the graph, in one line."""
        return (
            f"shape={self.shape.value} resolution={self.resolution:g} max_size={self.max_size} "
            f"max_levels={self.max_levels} seed={self.seed}"
        )


class Clustered(NamedTuple):
    """Nodes and their communities; nodes without edges are left out.

    Attributes
    ----------
    ids : ids of the nodes, ascending
    communities : its labels are indices into ``ids``
    by : ``server``, ``process``, or ``process:`` and the reason why not on the server
    """

    ids: list[str]
    communities: CommunityLevels
    by: str = "process"


@dataclass(frozen=True, slots=True)
class Run:
    """One derivation: its name, the version of the corpus that it used, and its parameters.

    Attributes
    ----------
    name : unique in the corpus; a new run replaces the old one of the same name
    version : version of the corpus that the run used
    parameters : everything that the result depends on besides the corpus
    levels : number of levels of communities
    by : who clustered, see :class:`Clustered`
    stamp : fingerprint of the result; differs when the result differs
    corpus_version : present version of the corpus; set when the run is read
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
        """Whether the corpus has changed since the run."""
        return self.corpus_version not in (0, self.version)


class Summarised(NamedTuple):
    """A summary, its subject, the vector of its text, and the statements or chunks that its words come from.

    Attributes
    ----------
    community_id : the community that it summarises; empty: it summarises a source
    vector : shape (d,)
    parts : ids of the statements or chunks quoted. Empty when a model wrote the text: then the summary depends on all
        members of the community. For a source: all its chunks, and the statements quoted
    source_id : the source that it summarises, all of it (level -1) or a large chunk (level -2); empty: it summarises a community
    chunk_ids : for a source, the chunks that it summarises, ascending; all are among the parts
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
    """The result of a run.

    Attributes
    ----------
    communities : by level, then by id
    members : ids of the members of each community, by id of the community; summaries of sources may be members, as nodes are
    summaries : summaries of some of the communities, and of long sources
    """

    communities: Sequence[Community] = ()
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    summaries: Sequence[Summarised] = ()

    @property
    def stamp(self) -> str:
        """A fingerprint of the result."""
        names = [*(item.id for item in self.communities), *(item.summary.id for item in self.summaries)]
        return content_id("made", *sorted(names))


class Saved(NamedTuple):
    """How many communities a run added, removed and left unchanged."""

    added: int
    removed: int
    kept: int


class Member(NamedTuple):
    """A node of a community, and its kind."""

    id: str
    kind: Kind


class Membership(NamedTuple):
    """A community, and those of some statements that are its members, by ascending id."""

    community: Community
    members: tuple[str, ...]


class DerivedStore(ABC):
    """The communities of a corpus, by run, and their summaries.

    Deleting a source removes what it asserted from the communities in the same transaction. A summary is deleted as soon as
    one member of its community or one of its parts is deleted, so that no summary depends on deleted data. The summary of a
    whole source is also deleted when the source gets a new chunk, and leaves the communities that it is a member of.
    """

    _summaries: dict[tuple[str, str], tuple[Run, int, Summaries]]

    def __init__(self) -> None:
        self._summaries = {}

    @abstractmethod
    def runs(self, corpus: str) -> tuple[Run, ...]:
        """The runs of a corpus, by name."""

    @abstractmethod
    def save(self, run: Run, tier: Made) -> Saved:
        """Replace the run of the same name: afterwards all of the new run is visible, or nothing of it.

        Communities that both runs have are not written again. Needs the lock of the graph store.

        Parameters
        ----------
        run : name, version of the corpus and parameters
        tier : its communities and summaries

        Raises
        ------
        StoreConflictError
            The corpus has changed since the version of the run.
        """

    @abstractmethod
    def count_communities(self, corpus: str, name: str, *, level: int | None = None) -> int:
        """The number of communities of a run.

        Parameters
        ----------
        corpus, name, level : see :meth:`communities`
        """

    @abstractmethod
    def communities(
        self, corpus: str, name: str, *, level: int | None = None, k: int | None = None, skip: int = 0
    ) -> list[Community]:
        """The communities of a run: finest level first, then largest first, then by id.

        Parameters
        ----------
        corpus : name of the corpus
        name : name of the run
        level : return this level only; None: all levels
        k : maximum number of communities; None: no limit
        skip : number of the first communities that are left out
        """

    def summaries(self, corpus: str, name: str) -> Summaries:
        """All summaries of a run; cached until the run or the corpus changes. Thread-safe: the last read wins.

        Parameters
        ----------
        corpus : name of the corpus
        name : name of the run
        """
        run = run_named(self, corpus, name=name)
        if run is None:
            return Summaries((), np.empty((0, 0), dtype=np.float32))
        cached = self._summaries.get((corpus, name))
        if cached is None or cached[:2] != (run, run.corpus_version):
            items = tuple(sorted(self._read_summaries(run), key=lambda item: item.summary.id))
            matrix = np.stack([item.vector for item in items]) if items else np.empty((0, 0), dtype=np.float32)
            cached = self._summaries[corpus, name] = (run, run.corpus_version, Summaries(items, matrix))
        return cached[2]

    @abstractmethod
    def _read_summaries(self, run: Run) -> Iterable[Summarised]: ...

    @abstractmethod
    def members(self, ids: Sequence[str], *, most: int | None = None) -> dict[str, tuple[Member, ...]]:
        """The members of each of these communities, by ascending id.

        Parameters
        ----------
        ids : ids of communities
        most : maximum number of members of one community; None: no limit
        """

    def memberships(self, corpus: str, name: str, *, ids: Sequence[str]) -> list[Membership]:
        """The communities of a run that have any of these statements as members, the coarsest level first, then by id.

        Parameters
        ----------
        corpus : name of the corpus
        name : name of the run
        ids : ids of statements

        Returns
        -------
        list of Membership
            Communities without their parents.
        """
        members: dict[tuple[str, int, int], list[str]] = {}
        for community, level, size, member in self._read_memberships(corpus, name, ids) if ids else ():
            members.setdefault((community, level, size), []).append(member)
        return [
            Membership(Community(community, corpus, level, size), tuple(some))
            for (community, level, size), some in members.items()
        ]

    @abstractmethod
    def _read_memberships(self, corpus: str, name: str, ids: Sequence[str]) -> Iterable[tuple[str, int, int, str]]: ...


def run_named(store: DerivedStore, corpus: str, *, name: str) -> Run | None:
    """The run of this name; None if there is none.

    Parameters
    ----------
    store : store that keeps the runs
    corpus : name of the corpus
    name : name of the run
    """
    return next((item for item in store.runs(corpus) if item.name == name), None)


def with_sources(input_hash: str, versions: Mapping[str, int]) -> str:
    """The hash of the inputs of a summary, followed by a hash of the states of the sources that it rests on.

    A build stores it; a search computes it again from the sources as they are. Where they differ, the summary is stale.

    Parameters
    ----------
    input_hash : the hash of the inputs, with or without that of sources
    versions : the version of each source, by its id
    """
    states = sorted(f"{source}:{version}" for source, version in versions.items())
    return f"{input_hash.partition('+')[0]}+{content_id('sources', *states)[:16]}"


def community_id(run: Run, level: int, *, members: Sequence[str], scheme: int = WITHOUT_NAME) -> str:
    """The id of a community: a hash of its run, level and members, so it is the same in every version of the corpus.

    Parameters
    ----------
    run : run that found the community
    level : level, 0 the coarsest
    members : ids of its members, in any order
    scheme : scheme of the ids of the corpus
    """
    whole, own = (run.name, str(level)), sorted(members)
    free = (*whole, *map(free_half, own))
    return halved_id(Kind.COMMUNITY, (run.corpus, *whole, *own), free=free, scheme=scheme)


# Retention: holds on sources, and the last receipt of a deletion. They are stored with the graph, so that every process sees them.


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold on sources: as long as it is there, they are neither deleted nor replaced.

    Attributes
    ----------
    corpus, name : the corpus, and the name of the hold in it
    uris : uris, files and folders that it names; sources that come later under them are under the hold, too
    where : a filter, as text, that sources under the hold match; empty: none
    ids : the sources that it named when it was added; they stay under it, whatever their metadata becomes
    at : when it was added, ISO 8601 in UTC
    """

    corpus: str
    name: str
    uris: tuple[str, ...] = ()
    where: str = ""
    ids: tuple[str, ...] = ()
    at: str = ""

    @property
    def id(self) -> str:
        """The key of the hold."""
        return content_id("hold", self.corpus, self.name)


class ReceiptMark(NamedTuple):
    """The number and the hash of a receipt; 0 and an empty hash before the first one of a corpus."""

    number: int = 0
    hash: str = ""


class RetentionStore(ABC):
    """The holds of corpora, and the last receipt of each. They stay when their corpus is deleted."""

    @abstractmethod
    def holds(self, corpus: str) -> tuple[Hold, ...]:
        """The holds of a corpus, by name."""

    @abstractmethod
    def add(self, hold: Hold) -> None:
        """Write a hold, whose name is new. Needs the lock of the graph store."""

    @abstractmethod
    def release(self, hold: Hold) -> None:
        """Remove a hold. Needs the lock of the graph store."""

    @abstractmethod
    def last_receipt(self, corpus: str) -> ReceiptMark:
        """The last receipt of a deletion from a corpus."""

    @abstractmethod
    def record_receipt(self, corpus: str, mark: ReceiptMark) -> None:
        """Record the last receipt of a corpus. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        mark : the receipt
        """


# A second set of vectors. Which set is current is stored with the graph, so that it changes together with what rests on vectors.


@dataclass(frozen=True, slots=True)
class Rebinding:
    """What a corpus becomes when another set of its vectors becomes current.

    Attributes
    ----------
    version : version of the corpus that the rest was computed from
    before : fingerprint of the model that it had; noted in the parameters of its runs, which are outdated
    sets : the sets, the new one current
    calibration : the scale of its cosines; None: there are too few names to measure it
    synonyms : all of its synonyms, which replace the stored ones
    summaries : vectors of all of its summaries by their ids, which replace the stored ones
    """

    corpus: str
    version: int
    before: str
    sets: VectorSets
    calibration: Calibration | None
    synonyms: Sequence[Synonym]
    summaries: Mapping[str, NDArray[np.float32]]


class RebindingStore(ABC):
    """Which sets of vectors a corpus has, and which of them is current."""

    @abstractmethod
    def save(self, corpus: str, sets: VectorSets) -> None:
        """Record the sets of a corpus, with the same one current. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        sets : its sets
        """

    @abstractmethod
    def rebind(self, rebindings: Sequence[Rebinding]) -> None:
        """Make other sets current, each with what rests on its vectors, in one transaction. Needs the lock of the corpora.

        Every corpus gets its next version, so searches under way end in the old state or are repeated in the new one.

        Raises
        ------
        StoreConflictError
            A corpus is not at the version of its rebinding.
        """
