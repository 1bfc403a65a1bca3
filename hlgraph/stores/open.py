"""From the settings to the two protocols: one closed table a protocol, by the scheme of a url."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError, SettingsError, UnknownNameError
from hlgraph.settings import Settings
from hlgraph.stores.cypher import CypherReader
from hlgraph.stores.derived import Clusterer, DerivedStore
from hlgraph.stores.domains import DomainStore
from hlgraph.stores.merges import MergeStore
from hlgraph.stores.migrate import MigrationTarget
from hlgraph.stores.protocols import GraphStore, Stores, VectorStore
from hlgraph.stores.ranking import ServerRanker


class Finding(NamedTuple):
    """What a doctor found: the name of the check, whether it is fine, and what was seen."""

    check: str
    is_fine: bool
    seen: str


_SERVER_BATCH = 200_000
"""Characters of text of one change on a server: some 1,500 statements, so that a transaction stays below 200 MiB of heap."""


class Opened(NamedTuple):
    """A store that is open: the pair, what is to be closed, what checks it, and what migrates it.

    ``batch_characters`` is how much text one change should hold, ``batch_removed`` how many sources it should remove: as
    much as one transaction of the store bears. ``cypher`` runs queries of people, where the store speaks Cypher.
    """

    stores: Stores
    closing: contextlib.ExitStack
    check: Callable[[], list[Finding]]
    targets: tuple[MigrationTarget, ...]
    batch_characters: int = 1_000_000
    batch_removed: int = 500
    cypher: CypherReader | None = None


class _Graph(NamedTuple):
    store: GraphStore
    ranker: contextlib.AbstractContextManager[ServerRanker]
    clusterer: contextlib.AbstractContextManager[Clusterer]
    derived: DerivedStore
    merges: MergeStore
    domains: DomainStore
    check: Callable[[], list[Finding]]
    target: MigrationTarget
    cypher: CypherReader


class _Vectors(NamedTuple):
    store: VectorStore
    check: Callable[[], list[Finding]]
    target: MigrationTarget


def _embedded(settings: Settings) -> Opened:
    from hlgraph.stores.clustering import ProcessClusterer
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.embedded.derived import EmbeddedDerivedStore
    from hlgraph.stores.embedded.doctor import check
    from hlgraph.stores.embedded.domains import EmbeddedDomainStore
    from hlgraph.stores.embedded.graph import EmbeddedGraphStore
    from hlgraph.stores.embedded.merges import EmbeddedMergeStore
    from hlgraph.stores.embedded.migrations import SqliteTarget
    from hlgraph.stores.embedded.ranker import EmbeddedRanker
    from hlgraph.stores.embedded.vectors import EmbeddedVectorStore

    database = Database(_folder(settings.store))
    closing = contextlib.ExitStack()
    graph = closing.enter_context(EmbeddedGraphStore(database))
    stores = Stores(
        graph,
        closing.enter_context(EmbeddedVectorStore(database)),
        EmbeddedRanker(graph),
        ProcessClusterer(lambda shape, scope: graph.whole(shape, scope=scope)),
        EmbeddedDerivedStore(database),
        EmbeddedMergeStore(database),
        EmbeddedDomainStore(database),
    )
    return Opened(stores, closing, lambda: [Finding(*item) for item in check(database)], (SqliteTarget(database.file),))


def _folder(url: str) -> Path:
    return Path(url.partition("://")[2]).expanduser()


def _neo4j(settings: Settings) -> _Graph:
    from hlgraph.stores.clustering import ProcessClusterer, pulled
    from hlgraph.stores.neo4j.clusterer import GdsClusterer
    from hlgraph.stores.neo4j.derived import Neo4jDerivedStore
    from hlgraph.stores.neo4j.doctor import check
    from hlgraph.stores.neo4j.domains import Neo4jDomainStore
    from hlgraph.stores.neo4j.graph import Neo4jGraphStore
    from hlgraph.stores.neo4j.merges import Neo4jMergeStore
    from hlgraph.stores.neo4j.migrations import Neo4jTarget
    from hlgraph.stores.neo4j.ranker import GdsRanker
    from hlgraph.stores.neo4j.reading import Neo4jReader
    from hlgraph.stores.neo4j.server import Server
    from hlgraph.stores.ranking import PulledRanker

    server = Server(settings.store, settings.neo4j)
    graph = Neo4jGraphStore(server)
    return _Graph(
        graph,
        GdsRanker(server, fallback=PulledRanker(graph)),
        GdsClusterer(server, fallback=ProcessClusterer(pulled(graph))),
        Neo4jDerivedStore(server, graph.lease),
        Neo4jMergeStore(server, graph.lease),
        Neo4jDomainStore(server, graph.lease),
        lambda: [Finding(*item) for item in check(server)],
        Neo4jTarget(server),
        Neo4jReader(server),
    )


def _opensearch(settings: Settings) -> _Vectors:
    from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore

    store = OpenSearchVectorStore(settings.vectors, settings.opensearch)
    return _Vectors(store, lambda: [Finding(*item) for item in store.check()], store.target)


def _embedded_vectors(settings: Settings) -> _Vectors:
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.embedded.doctor import check
    from hlgraph.stores.embedded.migrations import SqliteTarget
    from hlgraph.stores.embedded.vectors import EmbeddedVectorStore

    database = Database(_folder(settings.vectors))
    store = EmbeddedVectorStore(database)
    return _Vectors(
        store, lambda: [Finding(*item) for item in check(database, has_graph=False)], SqliteTarget(database.file)
    )


_GRAPHS: Mapping[str, Callable[[Settings], _Graph]] = dict.fromkeys(
    ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"), _neo4j
)
_VECTORS: Mapping[str, Callable[[Settings], _Vectors]] = {
    "http": _opensearch,
    "https": _opensearch,
    "hlgraph": _embedded_vectors,
}


def open_stores(target: str | Settings) -> Opened:
    """Open the stores of a url such as ``hlgraph://./folder``, or of settings. Nothing is read or made yet.

    ``settings.store`` names the graph store, ``settings.vectors`` the vector store where the graph store is a server.

    Raises UnknownNameError for a url that names no kind of store, or no place, SettingsError for a pair that does not fit.
    """
    settings = Settings(store=target) if isinstance(target, str) else target
    scheme = _scheme(settings.store, ("hlgraph", *_GRAPHS))
    if scheme == "hlgraph":
        if settings.vectors:
            raise SettingsError(
                f"the embedded store {settings.store} holds vectors itself; leave vectors out, or set store to neo4j://host:port"
            )
        return _embedded(settings)
    if not settings.vectors:
        raise SettingsError(
            f"{settings.store} holds the graph only; name the store of the vectors too, such as "
            "vectors: https://localhost:9200 (or HLGRAPH_VECTORS)"
        )
    graph = _GRAPHS[scheme](settings)
    vectors = _VECTORS[_scheme(settings.vectors, tuple(_VECTORS))](settings)
    closing = contextlib.ExitStack()
    pair = closing.enter_context(graph.store), closing.enter_context(vectors.store)
    ranker, clusterer = closing.enter_context(graph.ranker), closing.enter_context(graph.clusterer)
    stores = Stores(*pair, ranker, clusterer, graph.derived, graph.merges, graph.domains)
    return Opened(
        stores,
        closing,
        lambda: [*graph.check(), *vectors.check()],
        (graph.target, vectors.target),
        _SERVER_BATCH,
        cypher=graph.cypher,
    )


@contextlib.contextmanager
def open_cypher(settings: Settings) -> Iterator[CypherReader | None]:
    """The graph store of settings for queries of people; None where it is the embedded one. It needs no vectors.

    Raises UnknownNameError for a url that names no kind of store, or no place.
    """
    scheme = _scheme(settings.store, ("hlgraph", *_GRAPHS))
    if scheme == "hlgraph":
        yield None
        return
    graph = _GRAPHS[scheme](settings)
    with graph.store:
        yield graph.cypher


@contextlib.contextmanager
def open_projected(settings: Settings, shape: ProjectionShape) -> Iterator[str]:
    """The name of the projection of the settings' corpus on the server, which is there until the block ends.

    Raises InputError for the embedded store, UnknownNameError for a corpus that is not there, StoreUnavailableError where
    the server has no GDS or too little memory.
    """
    scheme = _scheme(settings.store, ("hlgraph", *_GRAPHS))
    if scheme == "hlgraph":
        raise InputError(f"{settings.store} is an embedded store; projections live on a Neo4j server with GDS")
    graph = _GRAPHS[scheme](settings)
    with graph.store, graph.ranker as ranker:
        yield ranker.projection(shape, settings.corpus)


def _scheme(url: str, known: tuple[str, ...]) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in known:
        names = ", ".join(f"{name}://" for name in sorted(known))
        raise UnknownNameError(
            f"{url!r} is no url of a store; write one that starts with {names}, such as {_example(known)}"
        )
    if not rest:
        raise UnknownNameError(f"{url!r} names no folder or host; write one, such as {_example(known)}")
    return scheme


def _example(known: tuple[str, ...]) -> str:
    return "hlgraph://./folder" if "hlgraph" in known else "neo4j://localhost:7687"
