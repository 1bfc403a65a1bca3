"""Graph Data Science (GDS) on the server: one projection per version of a corpus, created once, reused, then dropped.

The name of a projection encodes its content (prefix, corpus, version, relationships with their weights), so an existing
projection can be reused, whichever process created it. Creating a projection drops those of older versions of the same corpus.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from hlgraph.algorithms.communities import CommunityLevels, at_most, by_smallest_node, capped
from hlgraph.algorithms.projection import NODE_KINDS, ProjectionShape
from hlgraph.errors import StoreConflictError, StoreError, StoreUnavailableError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.records import Hit, Kind
from hlgraph.stores.batches import batched
from hlgraph.stores.derived import Clustered, ClusterQuery
from hlgraph.stores.in_process import PulledRanker, check_query
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import BATCH, Row, Server
from hlgraph.stores.protocols import RankQuery, Scope
from hlgraph.stores.trace import hasty

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
PLUGIN = "gds.version"
"""The function that shows whether the plugin is installed."""
_PREFIX = "hlgraph"
_ATTEMPTS = 3
_NO_DENDROGRAM = "LeidenDendrogramManager"
"""In the message of gds.leiden when no two nodes are joined: a NullPointerException of GDS 2.26."""
_SHARE = 0.5
"""Maximum share of the server's heap for the estimated memory of a projection and its algorithm."""
_SHAPES: Mapping[ProjectionShape, str] = {
    ProjectionShape.ENTITY_PASSAGE: "retrieve/project_entity_passage",
    ProjectionShape.STATEMENT_ENTITY_CHUNK: "retrieve/project_statement_entity_chunk",
    ProjectionShape.ENTITY_ENTITY: "retrieve/project_entity_entity",
}


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


class Memory(NamedTuple):
    """Estimated memory in bytes, as upper bounds: of the projection itself, and of each algorithm in addition."""

    projection: int
    page_rank: int
    leiden: int


class GraphDataScience:
    """The projections of one database. Thread-safe.

    Any process may use an existing projection. :meth:`close` drops the projections that this object created; another process
    that still needs one creates it again. With the setting ``keep_projections`` they stay for the next process, until a newer
    version of the corpus is projected.

    The statements come from the query library and run over the open driver of the store. The client library of GDS would
    bring pandas and a second connection with its own retries, errors and counters, and would add nothing to four calls.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: set[str] = set()
        self._seen: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._guard = threading.Lock()

    def close(self) -> None:
        """Drop the projections that this object created, unless the settings keep them."""
        if self._server.settings.keep_projections:
            return
        try:
            with hasty():
                for name in sorted(self._made):
                    self._drop(name)
        except StoreError as error:  # projections end with the server, and are dropped when a newer one is made
            _LOG.warning("the projections could not be dropped: %s", error)

    def cluster(
        self, projection: ShapeProjection, *, resolution: float = 1.0, max_levels: int = 10, seed: int = 0
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
        return Clustered([row["id"] for row in rows], CommunityLevels(levels), "server")

    def clustered(self, query: ClusterQuery, corpus: str) -> Clustered | str:
        """The communities, or the reason why the server cannot find them; see :meth:`GraphStore.cluster`.

        Runs ``gds.leiden`` on a projection of the shape. It has no cap on sizes, so larger communities are divided in the way
        of its finer levels. It fails where its first pass joins no two nodes, as at a high resolution.

        Parameters
        ----------
        query : graph and parameters
        corpus : name of the corpus
        """
        if not self.has_plugin():
            return "the server has no Graph Data Science plugin (GDS)"
        projection = ShapeProjection(corpus, query.shape)
        try:
            clustered = self.cluster(projection, resolution=query.resolution, max_levels=_LEVELS, seed=query.seed)
        except StoreUnavailableError as error:
            return str(error)
        except StoreError as error:
            if _NO_DENDROGRAM not in str(error):
                raise
            return f"the server's Leiden joins no two nodes at resolution {query.resolution:g}, and then has no result"
        levels = capped(clustered.communities.levels, query.max_size)
        if levels.shape[1] and int(np.bincount(levels[-1]).max()) > query.max_size:
            return f"the levels of the server's Leiden leave communities above {query.max_size} nodes"
        return clustered._replace(communities=CommunityLevels(at_most(levels, query.max_levels)))

    def on(self, projection: ShapeProjection, work: Callable[[str], T]) -> T:
        """Run work on a projection; repeat it if another process has dropped the projection or changed the corpus.

        Parameters
        ----------
        projection : graph to work on; created if it does not exist
        work : function of the name of the projection

        Raises
        ------
        StoreConflictError
            The projection was dropped in every attempt.
        """
        with hasty(is_so=False):  # a projection is slow, and must not be started twice
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

    def project(self, projection: ShapeProjection) -> str:
        """The name of the projection of the present version of the corpus; creates it if it does not exist.

        A projection is looked up only once per version. Raises UnknownNameError if the corpus does not exist, and
        StoreUnavailableError if the projection would take too much memory.
        """
        name = self._name(projection)
        while name not in self._seen:
            with self._guard:
                self._find(name, projection)
            # A query sees what is committed when it runs: a writer may have changed the corpus during the projection.
            created, name = name, self._name(projection)
            if created != name:
                self._drop(created)
        return name

    def nodes(self, name: str) -> int:
        """The number of nodes of a projection that :meth:`on` works on; 0 if it is not known."""
        return self._seen.get(name, 0)

    def _name(self, projection: ShapeProjection) -> str:
        rows = self._server.ask("retrieve/read_state", corpus=projection.corpus)
        if not rows:
            raise UnknownNameError(f"there is no corpus {projection.corpus!r}; ingest something first")
        version = rows[0]["version"]
        return f"{self._family(projection.corpus)}-{version}-{content_id('projection', projection.content)[:12]}"

    def _find(self, name: str, projection: ShapeProjection) -> None:
        """Create the projection if it does not exist, and drop those of older versions."""
        projections = self._list(self._family(projection.corpus))
        present = name.rpartition("-")[0] + "-"
        for old in projections:
            if not old.startswith(present):
                self._drop(old)
        self._seen[name] = projections[name] if name in projections else self._make(name, projection)

    def _make(self, name: str, projection: ShapeProjection) -> int:
        """Create the projection and return its number of nodes; 0 if another process creates it at the same time."""
        if name not in self._refused:
            self._check_memory(name, projection)
        if name in self._refused:
            raise StoreUnavailableError(self._refused[name])
        params: Row = {"name": name, "corpus": projection.corpus}
        if projection.shape is ProjectionShape.STATEMENT_ENTITY_CHUNK:
            params["synonyms"] = projection.synonyms
        try:
            rows = self._server.ask(_SHAPES[projection.shape], **params)
        except StoreError:
            if name not in self._list(name):
                raise
            rows = []  # another process has created it meanwhile
        if any(row["nodes"] is None for row in rows):  # GDS makes no graph without a relationship
            self._refused[name] = f"{self._server.url}: corpus {projection.corpus!r} has no relationship to project"
            raise StoreUnavailableError(self._refused[name], retryable=False)
        self._made.add(name)
        return sum(row["nodes"] for row in rows)

    def _check_memory(self, name: str, projection: ShapeProjection) -> None:
        """Raise StoreUnavailableError for a projection that is too large; the refusal is cached for the version of the corpus."""
        need = self.estimate(projection)
        heap = self._server.ask("admin/read_heap")[0]["heap"]
        most = need.projection + max(need.page_rank, need.leiden)
        if most > _SHARE * heap:
            self._refused[name] = (
                f"{self._server.url}: a projection of corpus {projection.corpus!r} may take {most >> 20} MiB, more than "
                f"{_SHARE:.0%} of the server's heap ({heap >> 20} MiB); raise server.memory.heap.max_size, or rank in process"
            )

    def estimate(self, projection: ShapeProjection) -> Memory:
        """The memory that the projection would take on the server, as an upper bound."""
        corpus, shape = projection.corpus, projection.shape
        counted = self._server.ask("admin/count_edges", corpus=corpus, shape=shape.value)[0]
        edges = counted["edges"]
        if shape is ProjectionShape.ENTITY_ENTITY:
            edges += self._server.ask("admin/count_common_chunks", corpus=corpus)[0]["pairs"]
        # Undirected: each relationship is held in both directions.
        return Memory(
            **self._server.ask("admin/estimate_projection", nodes=counted["nodes"], relationships=2 * edges)[0]
        )

    def has_plugin(self) -> bool:
        """Whether the server has GDS."""
        return bool(self._server.ask("admin/find_plugin_functions", function=PLUGIN))

    def _list(self, prefix: str) -> dict[str, int]:
        """The projections whose names begin with a prefix, with their numbers of nodes."""
        return {row["name"]: row["nodes"] for row in self._server.ask("admin/list_projections", prefix=prefix)}

    def _drop(self, name: str) -> None:
        self._server.ask("admin/drop_projection", name=name)
        self._made.discard(name)
        self._seen.pop(name, None)

    def _family(self, corpus: str) -> str:
        """The beginning of the names of a corpus's projections: a hash, because the name of a corpus may be any text."""
        return f"{_PREFIX}-{content_id('corpus', f'{self._server.settings.label_prefix}{corpus}')[:12]}"


# Personalised PageRank.


_KINDS = (Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY)
_ALL = 1 << 31
_RUNS = 8
"""Maximum number of different seed weights to rank in one run each, if this GDS has no weights of seeds."""
_SPARE = 64
"""Number of nodes requested beyond ``k``, so that nodes of equal score can be ordered by id."""
_LIGHTEST = 0.1
"""Lower bound of the sum of a node's edge weights, since no synonym is less similar."""
_MILLION = 1_000_000
_NUMBERS = {Kind.CHUNK: 0, Kind.STATEMENT: 1, Kind.ENTITY: 2}
"""The number of each kind of node in a projection, since node properties of GDS cannot be texts."""
_Shares = dict[Kind, dict[str, float]]


class _Seeds(NamedTuple):
    """Weights of the seeds, normalised, by kind and id: ``joined`` seeds have edges, ``alone`` seeds have none."""

    joined: _Shares
    alone: _Shares


class GdsRanker:
    """Ranks on the server; see :meth:`hlgraph.stores.protocols.GraphStore.rank`.

    Runs ``gds.pageRank`` on a projection of the shape, created once per version of the corpus. Like
    :mod:`hlgraph.algorithms.ppr`, GDS drops the mass that reaches a node without edges, and the scores are divided by their
    sum. The tolerance of GDS bounds the change of a single node, so the tolerance of a query is divided; see :func:`bounds`.
    A query with ``epsilon`` stops when its bound is met.

    ``fallback`` ranks under a filter, because projections hold whole corpora, and whenever the server cannot; the first
    such case logs a warning with the reason.

    Parameters
    ----------
    server : the database
    fallback : ranks where the server cannot

    Attributes
    ----------
    projections : the projections of the database
    """

    def __init__(self, server: Server, *, fallback: PulledRanker) -> None:
        self._server = server
        self.projections = GraphDataScience(server)
        self._fallback = fallback
        self._has_gds: bool | None = None
        self._takes_weights: bool | None = None
        self._failed: dict[str, str] = {}
        self._warned: set[str] = set()
        self._guard = threading.Lock()

    def close(self) -> None:
        """Drop the projections that this object created."""
        self.projections.close()

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`GraphStore.rank`."""
        check_query(query)
        if not self._why_never(scope):
            try:
                hits = self._rank(query, scope.corpus)
            except StoreUnavailableError as error:
                self._failed[scope.corpus] = str(error)
                self._warn(str(error))
            else:
                self._failed.pop(scope.corpus, None)
                return hits
        return self._fallback.rank(query, scope=scope)

    def projection(self, shape: ProjectionShape, corpus: str) -> str:
        """See :meth:`GraphStore.projection`.

        Raises UnknownNameError when the corpus does not exist, and StoreUnavailableError without GDS or with too little
        memory.
        """
        if why := self._why_never(Scope(corpus)):
            raise StoreUnavailableError(f"{self._server.url}: {why}; install the plugin, or rank in process")
        return self.projections.project(ShapeProjection(corpus, shape))

    def ranked_by(self, scope: Scope) -> str:
        """See :meth:`GraphStore.ranked_by`. The reason is why the server does not rank in this scope, or did not the last time."""
        why = self._why_never(scope) or self._failed.get(scope.corpus, "")
        return f"process: {why}" if why else "server"

    def _why_never(self, scope: Scope) -> str:
        if scope.where is not None or scope.sources is not None:
            return "the filter is applied on every hop, which a projection of the whole corpus cannot"
        if self._has_gds is None:
            self._has_gds = self.projections.has_plugin()
            if not self._has_gds:
                self._warn("the Graph Data Science plugin (GDS) is not installed; install it to rank on the server")
        return "" if self._has_gds else "the server has no Graph Data Science plugin (GDS)"

    def _warn(self, why: str) -> None:
        with self._guard:
            is_new = why not in self._warned
            self._warned.add(why)
        if is_new:
            _LOG.warning("ranking in process, around the seeds: %s", why)

    def _rank(self, query: RankQuery, corpus: str) -> list[Hit]:
        kinds = NODE_KINDS[query.shape] & (query.kinds or NODE_KINDS[query.shape])
        try:
            projection = ShapeProjection(corpus, query.shape, query.synonyms)
            return self.projections.on(projection, lambda name: self._run(query, corpus, name=name, kinds=kinds))
        except UnknownNameError:
            return []

    def _run(self, query: RankQuery, corpus: str, *, name: str, kinds: frozenset[Kind]) -> list[Hit]:
        seeds = self._seeds(query, corpus)
        tolerance, steps = bounds(query, self.projections.nodes(name))
        options: Row = {"name": name, "corpus": corpus, "kinds": sorted(_NUMBERS[kind] for kind in kinds)}
        options |= {"damping": query.damping, "tolerance": tolerance, "max_iterations": steps}
        scores = self._scores(seeds.joined, query.k, options=options) if any(seeds.joined.values()) else {}
        kept = 1 - query.damping
        scores |= {key: kept * share for kind in kinds for key, share in seeds.alone.get(kind, {}).items()}
        best = sorted(scores, key=lambda key: (-scores[key], key))[: query.k]
        alone = sum(share for shares in seeds.alone.values() for share in shares.values())
        return [Hit(key, scores[key] / (1 - query.damping * alone)) for key in best]

    def _scores(self, seeds: _Shares, k: int, *, options: Row) -> dict[str, float]:
        """Score at least the best ``k`` nodes: one run if weights are equal or GDS supports weights, else one run per weight."""
        weights = sorted({share for shares in seeds.values() for share in shares.values()})
        if len(weights) > 1 and self._takes_weights is not False:
            try:
                ranking = self._ask("retrieve/rank_nodes", _rows(seeds), k, options=options)
            except StoreUnavailableError:
                raise
            except StoreError:
                if self._takes_weights:
                    raise
                # If this fails too, the projection or a seed is gone, and the weights are not the cause.
                self._ask("retrieve/rank_evenly", _rows(seeds), 1, options=options)
                self._takes_weights = False
            else:
                self._takes_weights = True
                return ranking
        if len(weights) > _RUNS:
            raise StoreUnavailableError(
                f"{self._server.url}: this version of GDS has no weights of seeds; install a newer one to rank on the server"
            )
        scores: defaultdict[str, float] = defaultdict(float)
        for weight in weights:
            # PageRank is linear in the weights: whole rankings are added.
            most = k if len(weights) == 1 else _ALL
            ranking = self._ask("retrieve/rank_evenly", _rows(seeds, weight=weight), most, options=options)
            for key, score in ranking.items():
                scores[key] += weight * score
        return dict(scores)

    def _ask(self, name: str, rows: Row, k: int, *, options: Row) -> dict[str, float]:
        """The best ``k`` nodes, and all others with the same score as the last of them."""
        most = k + _SPARE
        params = {key: value for key, value in options.items() if key != "kinds"}
        while True:
            asked = self._server.ask(name, k=most, lists={"kinds": options["kinds"], **rows}, **params)
            ranking = [(row["id"], row["score"]) for row in asked]
            if not k or len(ranking) < most or ranking[k - 1][1] > ranking[-1][1]:
                return dict(ranking)
            most *= 16

    def _seeds(self, query: RankQuery, corpus: str) -> _Seeds:
        wanted = sorted(key for key, weight in query.seed_weights.items() if weight > 0)
        ask = partial(self._server.ask, "retrieve/find_rank_seeds", corpus=corpus, shape=query.shape.value)
        rows = [row for batch in batched(wanted, BATCH) for row in ask(lists={"ids": batch})]
        total = sum(query.seed_weights[row["id"]] for row in rows)
        seeds = _Seeds({kind: {} for kind in _KINDS}, {kind: {} for kind in _KINDS})
        for row in rows:
            key, kind = row["id"], Kind(row["kind"])
            (seeds.joined if row["is_joined"] else seeds.alone)[kind][key] = query.seed_weights[key] / total
        return seeds


def bounds(query: RankQuery, nodes: int) -> tuple[float, int]:
    """The tolerance of a node and the number of steps with which GDS meets the bound of a query.

    In each step a node passes on the mass that it received, unless this is at most the tolerance. In ``T`` steps a node
    retains at most ``T`` times the tolerance, and the mass still under way is at most ``d^T``. Each error gets half of the
    bound. Without ``epsilon`` the bound applies to the sum of all errors, in which the mass retained by n nodes counts
    ``d / (1 - d)`` times. With ``epsilon`` it applies to the error of each node divided by its degree, as in
    :func:`hlgraph.algorithms.ppr.local_pagerank`.

    Parameters
    ----------
    query : damping, tolerance and epsilon
    nodes : number of nodes of the projection; 0: unknown

    Returns
    -------
    tuple
        Tolerance and maximum number of iterations.

    Examples
    --------
    >>> from hlgraph.algorithms.projection import ProjectionShape
    >>> query = RankQuery(ProjectionShape.ENTITY_PASSAGE, {"a": 1.0}, damping=0.5, tolerance=1e-3)
    >>> tolerance, steps = bounds(query, 100)
    >>> steps, round(tolerance * 1e7, 3)
    (11, 4.545)
    """
    half = (query.tolerance if query.epsilon is None else query.epsilon * _LIGHTEST) / 2
    damping = query.damping
    steps = max(1, math.ceil(math.log(half) / math.log(damping))) if damping else 1
    if query.epsilon is None and damping:
        half *= (1 - damping) / (damping * (nodes or _MILLION))
    return half / steps, steps


def _rows(seeds: _Shares, *, weight: float | None = None) -> Row:
    """The seeds (of one weight) as query parameters."""
    return {
        PLURAL[kind]: [
            {"id": key, "weight": share} for key, share in seeds[kind].items() if weight is None or share == weight
        ]
        for kind in _KINDS
    }


# Leiden communities.


_LEVELS = 10
"""Maximum number of levels requested from GDS; it produces fewer with a cap of 100 nodes."""
