"""Personalised PageRank and Leiden on the server (GDS): a projection a corpus version, made once, reused, dropped.

A projection is named after what it holds (prefix, corpus, version, relationships with their weights). So one that is there
is the right one, whoever made it; those of older versions of the same corpus are dropped when a newer one is made.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from hlgraph.algorithms.communities import Communities, by_smallest_node
from hlgraph.errors import InputError, StoreError, StoreUnavailableError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.records import Relationship
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Row, Server, Transaction

_PREFIX = "hlgraph"
_ALL = 1 << 31
_SHARE = 0.5
"""The share of the server's heap that a projection and the algorithm on it may be estimated to take."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Which part of a corpus to project: relationships, undirected, and a factor for the weights of each."""

    corpus: str
    relationships: Mapping[Relationship, float]

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not self.relationships:
            raise InputError("a projection needs at least one relationship")


class Scored(NamedTuple):
    """Nodes by score, best first; scores of all nodes of the projection would sum to 1."""

    ids: list[str]
    scores: np.ndarray[tuple[int], np.dtype[np.float64]]


class Clustered(NamedTuple):
    """Nodes in ascending order of id, and their communities; the labels are indices into ``ids``."""

    ids: list[str]
    communities: Communities


class _Seeds(NamedTuple):
    inside: dict[str, float]
    outside: dict[str, float]


class Memory(NamedTuple):
    """Estimated bytes, upper bounds: the projection itself, and what each algorithm takes beside it."""

    projection: int
    page_rank: int
    leiden: int


class GraphDataScience:
    """The projections of one database. As a context manager it drops at the end what it made."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in sorted(self._made):
            self._drop(name)

    def rank(
        self,
        projection: Projection,
        seed_weights: Mapping[str, float],
        *,
        k: int = 1_000,
        damping: float = 0.85,
        tolerance: float = 1e-8,
        max_iterations: int = 100,
    ) -> Scored:
        """The ``k`` nodes with the highest personalised PageRank; same definition as ``personalised_pagerank``.

        Raises InputError for weights that cannot be used, StoreError when the server has no GDS.
        """
        if not seed_weights or min(seed_weights.values()) < 0 or not sum(seed_weights.values()) > 0:
            raise InputError("seed_weights must not be negative, and at least one must be above 0")
        if not 0 <= damping < 1:
            raise InputError(f"damping is {damping}; it must be from 0 to below 1")
        name = self.project(projection)
        seeds = self._seeds(projection, seed_weights)
        options: Row = {"damping": damping, "tolerance": tolerance, "max_iterations": max_iterations}
        ranked = self._ranked(seeds.inside, k, name=name, corpus=projection.corpus, options=options)
        # GDS gives x = (1 - d) (I - d W')^-1 s, and lets go what reaches a node without edges. The walk of
        # personalised_pagerank goes back to the seeds from there: its p is x but for one factor, and such a seed has c s.
        factor = 1 / (sum(seeds.outside.values()) + sum(seeds.inside.values()) / (1 - damping))
        scores = {key: factor / (1 - damping) * score for key, score in ranked.items()}
        scores |= {key: factor * weight for key, weight in seeds.outside.items()}
        best = sorted(scores, key=lambda key: (-scores[key], key))[:k]
        return Scored(best, np.array([scores[key] for key in best], dtype=np.float64))

    def _ranked(self, seeds: Mapping[str, float], k: int, *, name: str, corpus: str, options: Row) -> dict[str, float]:
        """Scores of GDS by node. Seeds of unequal weight in one run where GDS knows them (not 2.13), else a run a weight."""
        by_weight: dict[float, list[str]] = {}
        for key, weight in seeds.items():
            by_weight.setdefault(weight, []).append(key)
        if len(by_weight) > 1:
            weighted = [{"id": key, "weight": weight} for key, weight in seeds.items()]
            with contextlib.suppress(StoreError):
                return self._scores("retrieve/rank_nodes", name=name, corpus=corpus, k=k, seeds=weighted, **options)
            k = _ALL  # PageRank is linear in the weights: whole rankings are added
        scores: defaultdict[str, float] = defaultdict(float)
        for weight, keys in sorted(by_weight.items()):
            found = self._scores("retrieve/rank_evenly", name=name, corpus=corpus, k=k, ids=keys, **options)
            for key, score in found.items():
                scores[key] += weight * score
        return dict(scores)

    def _scores(self, query: str, /, **params: object) -> dict[str, float]:
        rows = self._server.read(lambda transaction: transaction.rows(query, **params))
        return {str(row["id"]): _number(row["score"]) for row in rows}

    def _seeds(self, projection: Projection, weights: Mapping[str, float]) -> _Seeds:
        """The seeds that are nodes of the corpus, their weights over their sum, by whether the projection holds them."""
        relationships = [key.value for key in sorted(projection.relationships)]
        wanted = sorted(key for key, weight in weights.items() if weight > 0)
        rows = self._server.read(
            lambda transaction: transaction.collect(
                "retrieve/find_projected", wanted, corpus=projection.corpus, relationships=relationships
            )
        )
        total = sum(weights[str(row["id"])] for row in rows)
        if not total:
            raise InputError(
                f"none of the seeds is a node of corpus {projection.corpus!r}; search for seeds in that corpus"
            )
        shares = {str(row["id"]): weights[str(row["id"])] / total for row in rows}
        inside = {str(row["id"]) for row in rows if row["is_projected"]}
        return _Seeds(
            {key: share for key, share in shares.items() if key in inside},
            {key: share for key, share in shares.items() if key not in inside},
        )

    def cluster(
        self, projection: Projection, *, resolution: float = 1.0, max_levels: int = 10, seed: int = 0
    ) -> Clustered:
        """Communities by Leiden; row 0 of the levels is the coarsest. Nodes without relationships are not projected.

        The same projection, parameters and seed give the same result (one thread).
        """
        name = self.project(projection)
        rows = self._server.read(
            lambda transaction: transaction.rows(
                "retrieve/cluster_nodes", name=name, resolution=resolution, seed=seed, max_levels=max_levels
            )
        )
        table = np.array([row["communities"] for row in rows], dtype=np.int64).reshape(len(rows), -1)
        levels = np.stack([by_smallest_node(table[:, level]) for level in reversed(range(table.shape[1]))])
        return Clustered([str(row["id"]) for row in rows], Communities(levels))

    def project(self, projection: Projection) -> str:
        """The name of the projection of the corpus's present version, made when it is not there.

        Raises UnknownNameError when there is no such corpus, StoreUnavailableError when it would take too much memory.
        """
        rows = self._server.read(lambda transaction: transaction.rows("persist/read_corpora"))
        versions = {str(row["name"]): whole(row, "version") for row in rows}
        if projection.corpus not in versions:
            raise UnknownNameError(f"there is no corpus {projection.corpus!r}; ingest something first")
        family = _family(projection.corpus)
        weights = {key.value: projection.relationships[key] for key in sorted(projection.relationships)}
        name = f"{family}-{versions[projection.corpus]}-{content_id('projection', repr(weights))[:12]}"
        held = {str(row["name"]) for row in self._list(family)}
        if name not in held:
            for old in held:
                if not old.startswith(f"{family}-{versions[projection.corpus]}-"):
                    self._drop(old)
            self._make(name, projection, weights)
        return name

    def _make(self, name: str, projection: Projection, weights: Mapping[str, float]) -> None:
        self._check_memory(projection)
        params: Row = {"corpus": projection.corpus, "relationships": list(weights), "weights": dict(weights)}
        with self._unless_made(name):
            self._server.read(lambda transaction: transaction.rows("retrieve/project_graph", name=name, **params))
            self._made.add(name)

    @contextlib.contextmanager
    def _unless_made(self, name: str) -> Iterator[None]:
        """Another process may have made the same projection in the meantime: then it is there."""
        try:
            yield
        except StoreError:
            if name not in {str(row["name"]) for row in self._list(name)}:
                raise

    def _check_memory(self, projection: Projection) -> None:
        need = self.estimate(projection)
        rows = self._server.read(lambda transaction: transaction.rows("admin/read_heap"))
        heap = whole(rows[0], "heap")
        most = need.projection + max(need.page_rank, need.leiden)
        if most > _SHARE * heap:
            raise StoreUnavailableError(
                f"{self._server.url}: a projection of corpus {projection.corpus!r} may take {most >> 20} MiB, more than "
                f"{_SHARE:.0%} of the server's heap ({heap >> 20} MiB); raise server.memory.heap.max_size, or rank in process"
            )

    def estimate(self, projection: Projection) -> Memory:
        """How much memory the projection would take on the server."""

        def work(transaction: Transaction) -> Row:
            records = transaction.rows("admin/count_records", corpus=projection.corpus)
            counts = transaction.rows("admin/count_relationships", corpus=projection.corpus)
            wanted = {key.value for key in projection.relationships}
            return transaction.rows(
                "admin/estimate_projection",
                nodes=sum(whole(row, "number") for row in records),
                # Undirected: each relationship is held in both directions.
                relationships=2 * sum(whole(row, "number") for row in counts if row["relationship"] in wanted),
            )[0]

        row = self._server.read(work)
        return Memory(whole(row, "projection"), whole(row, "page_rank"), whole(row, "leiden"))

    def drop(self, corpus: str) -> list[str]:
        """Drop all projections of a corpus; returns their names."""
        names = [str(row["name"]) for row in self._list(_family(corpus))]
        for name in names:
            self._drop(name)
        return names

    def _list(self, prefix: str) -> list[Row]:
        return self._server.read(lambda transaction: transaction.rows("admin/list_projections", prefix=prefix))

    def _drop(self, name: str) -> None:
        self._server.read(lambda transaction: transaction.rows("admin/drop_projection", name=name))
        self._made.discard(name)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _family(corpus: str) -> str:
    """What the names of a corpus's projections begin with; a corpus's name itself may be anything."""
    return f"{_PREFIX}-{content_id('corpus', corpus)[:12]}"
