"""Graph Data Science (GDS) on the server: one projection per version of a corpus, created once, reused, then dropped.

The name of a projection states its content (prefix, corpus, version, relationships with their weights). An existing
projection is therefore the right one, whichever process created it. Creating a newer one drops those of older versions of
the same corpus.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import numpy as np

from hlgraph.algorithms.communities import CommunityLevels, by_smallest_node
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError, StoreConflictError, StoreError, StoreUnavailableError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.records import Relationship
from hlgraph.stores.derived import Clustered
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Row, Server
from hlgraph.stores.trace import hasty

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
_PREFIX = "hlgraph"
_ATTEMPTS = 3
_SHARE = 0.5
"""Maximum share of the server's heap for the estimated memory of a projection and its algorithm."""
_SHAPES: Mapping[ProjectionShape, str] = {
    ProjectionShape.ENTITY_PASSAGE: "retrieve/project_entity_passage",
    ProjectionShape.STATEMENT_ENTITY_CHUNK: "retrieve/project_statement_entity_chunk",
    ProjectionShape.ENTITY_ENTITY: "retrieve/project_entity_entity",
}


@dataclass(frozen=True, slots=True)
class Projection:
    """The part of a corpus to project.

    Attributes
    ----------
    corpus : name of the corpus
    relationships : relationships to project, undirected, and a factor for the weights of each
    """

    corpus: str
    relationships: Mapping[Relationship, float]

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.relationships:
            raise InputError("a projection needs at least one relationship")

    @property
    def weights(self) -> dict[str, float]:
        """The factors, by name of the relationship, in alphabetical order."""
        return {key.value: self.relationships[key] for key in sorted(self.relationships)}

    @property
    def content(self) -> str:
        """The content of the projection, for its name."""
        return repr(self.weights)


@dataclass(frozen=True, slots=True)
class ShapeProjection:
    """The graph of a shape over a corpus, without the nodes that have no edge.

    Nodes and weights are otherwise those of :func:`hlgraph.algorithms.projection.project`.
    """

    corpus: str
    shape: ProjectionShape
    synonyms: float | None = None

    @property
    def content(self) -> str:
        """The content of the projection, for its name."""
        synonyms = "" if self.synonyms is None else f", synonyms {self.synonyms}"
        return f"{self.shape.value} with kinds{synonyms}"


AnyProjection = Projection | ShapeProjection


class Memory(NamedTuple):
    """Estimated memory in bytes, as upper bounds: of the projection itself, and of each algorithm in addition."""

    projection: int
    page_rank: int
    leiden: int


class GraphDataScience:
    """The projections of one database. Thread-safe.

    Any process may use an existing projection. :meth:`close`, or the end of the context, drops the projections that this
    object created; another process that still needs one creates it again. With the setting ``keep_projections`` they stay
    for the next process, until a newer version of the corpus is projected or :meth:`drop` is called.

    The statements come from the query library and run over the open driver of the store. The client library of GDS would
    bring pandas and a second connection with its own retries, errors and counters, and would add nothing to four calls.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: set[str] = set()
        self._seen: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drops the projections that this object created, unless the settings keep them."""
        if self._server.settings.keep_projections:
            return
        try:
            with hasty():
                for name in sorted(self._made):
                    self._drop(name)
        except StoreError as error:  # projections end with the server, and are dropped when a newer one is made
            _LOG.warning("the projections could not be dropped: %s", error)

    def cluster(
        self, projection: AnyProjection, *, resolution: float = 1.0, max_levels: int = 10, seed: int = 0
    ) -> Clustered:
        """Leiden communities of a projection; row 0 of the levels is the coarsest. Nodes without edges are left out.

        The levels are those of the algorithm itself, and a coarser level may divide a community of a finer one. It runs on
        one thread, so the same projection, parameters and seed give the same result.

        Parameters
        ----------
        projection : graph to cluster; created if it does not exist
        resolution : a value above 1 gives more and smaller communities
        max_levels : maximum number of levels
        seed : seed of the random numbers
        """
        options: Row = {"resolution": resolution, "seed": seed, "max_levels": max_levels}
        rows = self.on(projection, lambda name: self._server.ask("retrieve/cluster_nodes", name=name, **options))
        table = np.array([row["communities"] for row in rows], dtype=np.int64).reshape(len(rows), -1)
        if not rows:
            return Clustered([], CommunityLevels(np.empty((1, 0), dtype=np.int64)), "server")
        levels = np.stack([by_smallest_node(table[:, level]) for level in reversed(range(table.shape[1]))])
        return Clustered([str(row["id"]) for row in rows], CommunityLevels(levels), "server")

    def on(self, projection: AnyProjection, work: Callable[[str], T]) -> T:
        """Runs work on a projection; repeats it if another process has dropped the projection or changed the corpus.

        Parameters
        ----------
        projection : graph to work on; created if it does not exist
        work : function of the name of the projection

        Raises
        ------
        StoreConflictError
            The projection was dropped in every attempt.
        """
        with hasty(is_so=False):  # a projection takes its time, and must not be begun twice
            return self._on(projection, work)

    def _on(self, projection: AnyProjection, work: Callable[[str], T]) -> T:
        for _ in range(_ATTEMPTS):
            name = self.project(projection)
            try:
                return work(name)
            except StoreUnavailableError:
                raise
            except StoreError:
                self._seen.pop(name, None)
                if self._list(name) and self.project(projection) == name:
                    raise
        raise StoreConflictError(
            f"{self._server.url}: the projection of corpus {projection.corpus!r} was dropped {_ATTEMPTS} times while it was "
            "in use; ask again"
        )

    def project(self, projection: AnyProjection) -> str:
        """The name of the projection of the present version of the corpus; creates it if it does not exist.

        A projection is looked up only once per version. Raises UnknownNameError when the corpus does not exist, and
        StoreUnavailableError when the projection would take too much memory.
        """
        name = self._name(projection)
        while name not in self._seen:
            with self._guard:
                self._find(name, projection)
            # A query sees what is committed when it runs: a writer may have changed the corpus during the projection.
            made, name = name, self._name(projection)
            if made != name:
                self._drop(made)
        return name

    def nodes(self, name: str) -> int:
        """The number of nodes of a projection that :meth:`on` works on; 0 if it is not known."""
        return self._seen.get(name, 0)

    def _name(self, projection: AnyProjection) -> str:
        rows = self._server.ask("retrieve/read_state", corpus=projection.corpus)
        if not rows:
            raise UnknownNameError(f"there is no corpus {projection.corpus!r}; ingest something first")
        version = whole(rows[0], "version")
        return f"{self._family(projection.corpus)}-{version}-{content_id('projection', projection.content)[:12]}"

    def _find(self, name: str, projection: AnyProjection) -> None:
        """Creates the projection if it does not exist, and drops those of older versions."""
        held = {str(row["name"]): whole(row, "nodes") for row in self._list(self._family(projection.corpus))}
        present = name.rpartition("-")[0] + "-"
        for old in held:
            if not old.startswith(present):
                self._drop(old)
        self._seen[name] = held[name] if name in held else self._make(name, projection)

    def _make(self, name: str, projection: AnyProjection) -> int:
        """Creates the projection; returns its number of nodes, 0 if another process creates it meanwhile."""
        if name not in self._refused:
            self._check_memory(name, projection)
        if name in self._refused:
            raise StoreUnavailableError(self._refused[name])
        params: Row
        rows: list[Row] = []
        with self._unless_made(name):
            if isinstance(projection, ShapeProjection):
                params = {"name": name, "corpus": projection.corpus}
                if projection.shape is ProjectionShape.STATEMENT_ENTITY_CHUNK:
                    params["synonyms"] = projection.synonyms
                rows = self._server.ask(_SHAPES[projection.shape], **params)
            else:
                params = {"relationships": list(projection.weights), "weights": projection.weights}
                rows = self._server.ask("retrieve/project_graph", name=name, corpus=projection.corpus, **params)
            if any(row["nodes"] is None for row in rows):  # GDS makes no graph without a relationship
                self._refused[name] = f"{self._server.url}: corpus {projection.corpus!r} has no relationship to project"
                raise StoreUnavailableError(self._refused[name], retryable=False)
            self._made.add(name)
        return sum(whole(row, "nodes") for row in rows)

    @contextlib.contextmanager
    def _unless_made(self, name: str) -> Iterator[None]:
        """Ignores an error of a block if the projection exists afterwards: another process has created it meanwhile."""
        try:
            yield
        except StoreError:
            if name not in {str(row["name"]) for row in self._list(name)}:
                raise

    def _check_memory(self, name: str, projection: AnyProjection) -> None:
        """Refuses a projection that is too large, for as long as the version of the corpus stays."""
        need = self.estimate(projection)
        heap = whole(self._server.ask("admin/read_heap")[0], "heap")
        most = need.projection + max(need.page_rank, need.leiden)
        if most > _SHARE * heap:
            self._refused[name] = (
                f"{self._server.url}: a projection of corpus {projection.corpus!r} may take {most >> 20} MiB, more than "
                f"{_SHARE:.0%} of the server's heap ({heap >> 20} MiB); raise server.memory.heap.max_size, or rank in process"
            )

    def estimate(self, projection: AnyProjection) -> Memory:
        """The memory that the projection would take on the server, as an upper bound."""
        corpus = projection.corpus
        if isinstance(projection, ShapeProjection):
            counted = self._server.ask("admin/count_edges", corpus=corpus, shape=projection.shape.value)[0]
            nodes, edges = whole(counted, "nodes"), whole(counted, "edges")
            has_common_chunks = projection.shape is ProjectionShape.ENTITY_ENTITY
        else:
            nodes = sum(whole(row, "number") for row in self._server.ask("admin/count_records", corpus=corpus))
            rows = self._server.ask("admin/count_relationships", corpus=corpus)
            edges = sum(whole(row, "number") for row in rows if row["relationship"] in projection.weights)
            has_common_chunks = Relationship.CO_OCCURS in projection.relationships
        if has_common_chunks:
            edges += whole(self._server.ask("admin/count_common_chunks", corpus=corpus)[0], "pairs")
        # Undirected: each relationship is held in both directions.
        row = self._server.ask("admin/estimate_projection", nodes=nodes, relationships=2 * edges)[0]
        return Memory(whole(row, "projection"), whole(row, "page_rank"), whole(row, "leiden"))

    def drop(self, corpus: str) -> list[str]:
        """Drops all projections of a corpus; returns their names."""
        names = [str(row["name"]) for row in self._list(self._family(corpus))]
        for name in names:
            self._drop(name)
        return names

    def _list(self, prefix: str) -> list[Row]:
        return self._server.ask("admin/list_projections", prefix=prefix)

    def _drop(self, name: str) -> None:
        self._server.ask("admin/drop_projection", name=name)
        self._made.discard(name)
        self._seen.pop(name, None)

    def _family(self, corpus: str) -> str:
        """The beginning of the names of a corpus's projections: a hash, because the name of a corpus may be any text."""
        return f"{_PREFIX}-{content_id('corpus', f'{self._server.settings.label_prefix}{corpus}')[:12]}"
