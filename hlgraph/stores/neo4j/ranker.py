"""Personalised PageRank on the server (GDS), or in process if there is no plugin, too little memory, or a filter."""

from __future__ import annotations

import logging
import math
import threading
from collections import defaultdict
from types import TracebackType
from typing import NamedTuple, Self

from hlgraph.algorithms.projection import NODE_KINDS, ProjectionShape
from hlgraph.errors import StoreError, StoreUnavailableError, UnknownNameError
from hlgraph.records import Hit, Kind
from hlgraph.stores.neo4j.gds import GraphDataScience, ShapeProjection
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import BATCH, Row, Server
from hlgraph.stores.protocols import Ranker, RankQuery, Scope
from hlgraph.stores.ranking import check_query

_log = logging.getLogger(__name__)
_KINDS = (Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY)
PLUGIN = "gds.version"
"""The function that shows whether the plugin is installed."""
_ALL = 1 << 31
_RUNS = 8
"""Maximum number of different seed weights to rank in one run each, if this GDS has no weights of seeds."""
_SPARE = 64
"""Number of nodes that are asked for beyond ``k``, so that those of equal scores can be ordered by id."""
_LIGHTEST = 0.1
"""The sum of the weights of the edges of one node is at least this: no synonym is less similar."""
_MILLION = 1_000_000
_NUMBERS = {Kind.CHUNK: 0, Kind.STATEMENT: 1, Kind.ENTITY: 2}
"""The kinds of nodes as the projections have them: GDS has numbers as properties, and no texts."""
_Shares = dict[Kind, dict[str, float]]


class _Seeds(NamedTuple):
    """The shares of the seeds in the graph, by kind and id: ``joined`` have edges, ``alone`` have none."""

    joined: _Shares
    alone: _Shares

    @property
    def has_joined(self) -> bool:
        return any(self.joined.values())


class GdsRanker:
    """Ranks on the server; see :class:`hlgraph.stores.protocols.Ranker`.

    Runs ``gds.pageRank`` on a projection of the shape, created once per version of the corpus. Like
    :mod:`hlgraph.algorithms.ppr`, GDS drops the mass that reaches a node without edges, and the scores are divided by their
    sum. GDS compares its tolerance with the change of a single node, so that of a query is divided; see :func:`bounds`. A query
    with ``epsilon`` walks only as far as its bound asks for.

    ``fallback`` ranks under a filter, because projections hold whole corpora, and whenever the server cannot; the first
    such case logs a warning with the reason.

    Parameters
    ----------
    server : the database
    fallback : ranks where the server cannot
    """

    def __init__(self, server: Server, *, fallback: Ranker) -> None:
        self._server = server
        self._gds = GraphDataScience(server)
        self._fallback = fallback
        self._has_gds: bool | None = None
        self._takes_weights: bool | None = None
        self._failed: dict[str, str] = {}
        self._warned: set[str] = set()
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drops the projections that this object created; those of a lost server are gone with it."""
        try:
            self._gds.close()
        except StoreError as lost:
            _log.info("projections were not dropped: %s", lost)

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
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
        """See :meth:`ServerRanker.projection`.

        Raises UnknownNameError when the corpus does not exist, and StoreUnavailableError without GDS or with too little
        memory.
        """
        if why := self._why_never(Scope(corpus)):
            raise StoreUnavailableError(f"{self._server.url}: {why}; install the plugin, or rank in process")
        return self._gds.project(ShapeProjection(corpus, shape))

    def why_in_process(self, scope: Scope) -> str:
        """The reason why the server does not rank in this scope, or did not the last time; empty when it does."""
        return self._why_never(scope) or self._failed.get(scope.corpus, "")

    def _why_never(self, scope: Scope) -> str:
        if scope.where is not None or scope.sources is not None:
            return "the filter is applied on every hop, which a projection of the whole corpus cannot"
        if self._has_gds is None:
            self._has_gds = bool(self._server.ask("admin/find_plugin_functions", function=PLUGIN))
            if not self._has_gds:
                self._warn("the Graph Data Science plugin (GDS) is not installed; install it to rank on the server")
        return "" if self._has_gds else "the server has no Graph Data Science plugin (GDS)"

    def _warn(self, why: str) -> None:
        with self._guard:
            is_new = why not in self._warned
            self._warned.add(why)
        if is_new:
            _log.warning("ranking in process, around the seeds: %s", why)

    def _rank(self, query: RankQuery, corpus: str) -> list[Hit]:
        kinds = NODE_KINDS[query.shape] & (query.kinds or NODE_KINDS[query.shape])
        try:
            projection = ShapeProjection(corpus, query.shape, query.synonyms)
            return self._gds.on(projection, lambda name: self._run(query, corpus, name=name, kinds=kinds))
        except UnknownNameError:
            return []

    def _run(self, query: RankQuery, corpus: str, *, name: str, kinds: frozenset[Kind]) -> list[Hit]:
        seeds = self._seeds(query, corpus)
        tolerance, steps = bounds(query, self._gds.nodes(name))
        options: Row = {
            "name": name,
            "corpus": corpus,
            "kinds": sorted(_NUMBERS[kind] for kind in kinds),
            "damping": query.damping,
            "tolerance": tolerance,
            "max_iterations": steps,
        }
        scores = self._scores(seeds.joined, query.k, options=options) if seeds.has_joined else {}
        kept = 1 - query.damping
        scores |= {key: kept * share for kind in kinds for key, share in seeds.alone.get(kind, {}).items()}
        best = sorted(scores, key=lambda key: (-scores[key], key))[: query.k]
        alone = sum(share for shares in seeds.alone.values() for share in shares.values())
        return [Hit(key, scores[key] / (1 - query.damping * alone)) for key in best]

    def _scores(self, seeds: _Shares, k: int, *, options: Row) -> dict[str, float]:
        """At least the best ``k``: in one run if the seeds have one weight or GDS has weights, else one run per weight."""
        weights = sorted({share for shares in seeds.values() for share in shares.values()})
        if len(weights) > 1 and self._takes_weights is not False:
            try:
                found = self._ask("retrieve/rank_nodes", _rows(seeds), k, options=options)
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
                return found
        if len(weights) > _RUNS:
            raise StoreUnavailableError(
                f"{self._server.url}: this version of GDS has no weights of seeds; install a newer one to rank on the server"
            )
        scores: defaultdict[str, float] = defaultdict(float)
        for weight in weights:
            # PageRank is linear in the weights: whole rankings are added.
            most = k if len(weights) == 1 else _ALL
            found = self._ask("retrieve/rank_evenly", _rows(seeds, weight=weight), most, options=options)
            for key, score in found.items():
                scores[key] += weight * score
        return dict(scores)

    def _ask(self, name: str, rows: Row, k: int, *, options: Row) -> dict[str, float]:
        """The best ``k`` and all that are as good as the last of them."""
        most = k + _SPARE
        given = {key: value for key, value in options.items() if key != "kinds"}
        while True:
            asked = self._server.ask(name, k=most, lists={"kinds": options["kinds"], **rows}, **given)
            found = [(str(row["id"]), _number(row["score"])) for row in asked]
            if not k or len(found) < most or found[k - 1][1] > found[-1][1]:
                return dict(found)
            most *= 16

    def _seeds(self, query: RankQuery, corpus: str) -> _Seeds:
        wanted = sorted(key for key, weight in query.seed_weights.items() if weight > 0)
        rows = [
            row
            for start in range(0, len(wanted), BATCH)
            for row in self._server.ask(
                "retrieve/find_rank_seeds",
                lists={"ids": wanted[start : start + BATCH]},
                corpus=corpus,
                shape=query.shape.value,
            )
        ]
        total = sum(query.seed_weights[str(row["id"])] for row in rows)
        found = _Seeds({kind: {} for kind in _KINDS}, {kind: {} for kind in _KINDS})
        for row in rows:
            key, kind = str(row["id"]), Kind(str(row["kind"]))
            (found.joined if row["is_joined"] else found.alone)[kind][key] = query.seed_weights[key] / total
        return found


def bounds(query: RankQuery, nodes: int) -> tuple[float, int]:
    """The tolerance of a node and the number of steps with which GDS meets the bound of a query.

    In each step a node passes on what it has got, unless that is at most the tolerance. With ``T`` steps a node keeps back at
    most ``T`` times the tolerance, and what is left after ``T`` steps is at most ``d^T``. Half of the bound is for each. Without
    ``epsilon`` the bound is the sum of all errors, and what n nodes keep back counts ``d / (1 - d)``-fold. With ``epsilon`` it is
    the error of each node over its degree, as in :func:`hlgraph.algorithms.push.local_pagerank`.

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


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
