"""Open the stores that the settings name: one closed table per protocol, keyed by the scheme of the URL."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError, SettingsError, UnknownNameError
from hlgraph.settings import Settings, cache_folder
from hlgraph.stores.bulk_copies import BulkReader
from hlgraph.stores.closing import Calls
from hlgraph.stores.migrate import MigrationTarget
from hlgraph.stores.protocols import Finding, GraphStore, Stores, VectorStore

if TYPE_CHECKING:
    import neo4j

    from hlgraph.stores.embedded.backup import Backups
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.neo4j.bulk_load import Neo4jBulkGraph


class Probe(NamedTuple):
    """Checks with a few requests whether a store can be used.

    Attributes
    ----------
    name : ``graph store``, ``vector store`` or ``store``
    ask : yields its version and state; raises an error of hlgraph if the store does not answer
    target : the store as a migration target; None: it has no schema
    check : runs all checks of ``hlgraph doctor``, one by one; needs no model
    image : returns the version of a corpus and that of its image on this machine, None without an image; None: the store has
        no images
    """

    name: str
    ask: Callable[[], Iterator[Finding]]
    target: MigrationTarget | None = None
    check: Callable[[], Iterator[Finding]] = lambda: iter(())
    image: Callable[[str], tuple[int, int | None] | None] | None = None


_SAMPLE = 500
"""Number of records of each kind and corpus that the doctor reads on a server. Ids are hashes: the lowest are a fair sample."""


class Opened(NamedTuple):
    """Open stores, and everything that a caller needs to check, migrate and close them.

    Attributes
    ----------
    stores : the stores
    closing : closes them
    check : runs all checks, one by one; needs no model and reads each store by itself
    probes : the checks of ``hlgraph health`` and ``hlgraph doctor``, one per store
    sample : records of each kind whose content ``hlgraph doctor`` compares with their ids and rows; None: all
    exclusive : locks the whole graph store during a block, whatever its schema is; the store must exist
    forget : call it after the database of a server was replaced by another one
    """

    stores: Stores
    closing: contextlib.ExitStack
    check: Callable[[], Iterator[Finding]]
    probes: tuple[Probe, ...]
    exclusive: Callable[[], contextlib.AbstractContextManager[object]]
    sample: int | None = None
    forget: Callable[[], None] = lambda: None

    @property
    def targets(self) -> tuple[MigrationTarget, ...]:
        """The stores as migration targets."""
        return tuple(probe.target for probe in self.probes if probe.target is not None)


class OpenedGraph(NamedTuple):
    """A graph store that an opener returns; see :class:`Opened` for the rest."""

    store: GraphStore
    probe: Probe
    exclusive: Callable[[], contextlib.AbstractContextManager[object]]
    forget: Callable[[], None] = lambda: None


def _embedded(settings: Settings) -> Opened:
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.embedded.graph import EmbeddedGraphStore
    from hlgraph.stores.embedded.vectors import EmbeddedVectorStore

    database = Database(_folder(settings.store), wait=settings.patience)
    closing = contextlib.ExitStack()
    vectors = closing.enter_context(EmbeddedVectorStore(database))
    graph = closing.enter_context(EmbeddedGraphStore(database))  # closed first: it reads until its files are written
    vectors.sets = graph.vector_sets
    calls = Calls(settings.store, ended=database.release, is_replaced=database.is_replaced)
    stores = Stores(graph, vectors, is_one=True, calls=calls)
    probe = _embedded_probe(database, "store")
    return Opened(stores, closing, probe.check, (probe,), functools.partial(database.lock, create=False))


def _embedded_probe(database: Database, name: str) -> Probe:
    from hlgraph.stores.embedded.doctor import check, probed
    from hlgraph.stores.embedded.migrations import SqliteTarget

    checked = functools.partial(check, database, has_graph=name == "store")
    return Probe(name, functools.partial(probed, database, name), SqliteTarget(database.file), checked)


def _folder(url: str) -> Path:
    return Path(url.partition("://")[2]).expanduser()


def _neo4j(settings: Settings) -> OpenedGraph:
    from hlgraph.stores.neo4j.doctor import check, probed
    from hlgraph.stores.neo4j.graph import Neo4jGraphStore
    from hlgraph.stores.neo4j.images import Images
    from hlgraph.stores.neo4j.migrations import Neo4jTarget
    from hlgraph.stores.neo4j.server import Server

    ours = replace(settings.neo4j, database=settings.neo4j.database_of(settings.corpus))
    server, ranking = Server(settings.store, ours), ours.ranking
    images = None
    if ranking != "server":
        configured = settings.neo4j.images
        folder = Path(configured).expanduser() if configured else cache_folder(settings.models.cache) / "images"
        images = Images(server, folder, most=settings.neo4j.image_links, waits=ranking == "process")
    graph = Neo4jGraphStore(server, images=images, wait=settings.patience)
    probe = Probe(
        "graph store",
        functools.partial(probed, server),
        Neo4jTarget(server, leases=graph.leases),
        functools.partial(check, server),
        None if images is None else images.lag,
    )
    return OpenedGraph(graph, probe, functools.partial(graph.leases.held, None), server.forget)


def _opensearch(settings: Settings) -> tuple[VectorStore, Probe]:
    from hlgraph.stores.opensearch.doctor import probed
    from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore

    store = OpenSearchVectorStore(settings.vectors, settings.opensearch)
    return store, Probe("vector store", functools.partial(probed, store.connection), store.target, store.check)


def _embedded_vectors(settings: Settings) -> tuple[VectorStore, Probe]:
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.embedded.vectors import EmbeddedVectorStore

    database = Database(_folder(settings.vectors), wait=settings.patience)
    return EmbeddedVectorStore(database), _embedded_probe(database, "vector store")


GRAPHS: dict[str, Callable[[Settings], OpenedGraph]] = dict.fromkeys(
    ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"), _neo4j
)
"""Openers of graph stores by the scheme of their URL."""
VECTORS: dict[str, Callable[[Settings], tuple[VectorStore, Probe]]] = {
    "http": _opensearch,
    "https": _opensearch,
    "hlgraph": _embedded_vectors,
}
"""Openers of vector stores by the scheme of their URL."""


def open_stores(target: str | Settings) -> Opened:
    """Open the stores that a URL such as ``hlgraph://./folder``, or settings, name. Reads and creates nothing yet.

    ``settings.store`` names the graph store; if that is a server, ``settings.vectors`` names the vector store.

    Raises
    ------
    UnknownNameError
        A URL names no known kind of store, or no folder or host.
    SettingsError
        The vector store is missing, or is named in addition to the embedded store.
    """
    settings = Settings(store=target) if isinstance(target, str) else target
    scheme = _scheme(settings.store, ("hlgraph", *GRAPHS))
    if scheme == "hlgraph":
        if settings.vectors:
            raise SettingsError(
                f"the embedded store {settings.store} holds the vectors itself; leave vectors out, or set store to "
                "neo4j://host:port"
            )
        return _embedded(settings)
    if not settings.vectors:
        raise SettingsError(
            f"{settings.store} holds only the graph; set the vector store as well, such as "
            "vectors: https://localhost:9200 (or HLGRAPHVECTORS)"
        )
    graph = GRAPHS[scheme](settings)
    vectors, probe = VECTORS[_scheme(settings.vectors, tuple(VECTORS))](settings)
    vectors.sets = graph.store.vector_sets
    closing = contextlib.ExitStack()
    pair = closing.enter_context(graph.store), closing.enter_context(vectors)
    return Opened(
        Stores(*pair, calls=Calls(settings.store)),
        closing,
        lambda: itertools.chain(graph.probe.check(), probe.check()),
        (graph.probe, probe),
        graph.exclusive,
        sample=_SAMPLE,
        forget=graph.forget,
    )


@contextlib.contextmanager
def open_graph(settings: Settings) -> Iterator[GraphStore]:
    """Open only the graph store of the settings; needs no vector store.

    Raises UnknownNameError for a URL that names no known kind of store, or no folder or host.
    """
    scheme = _scheme(settings.store, ("hlgraph", *GRAPHS))
    opened = _embedded(settings).stores.graph if scheme == "hlgraph" else GRAPHS[scheme](settings).store
    with opened as graph:
        yield graph


@contextlib.contextmanager
def open_backups(settings: Settings) -> Iterator[Backups]:
    """Open the backups of an embedded store. Raises UnknownNameError for a URL that names no folder."""
    from hlgraph.stores.embedded.backup import Backups
    from hlgraph.stores.embedded.database import Database

    _scheme(settings.store, ("hlgraph",))
    with contextlib.closing(Database(_folder(settings.store), wait=settings.patience)) as database:
        yield Backups(database)


class Bulk(NamedTuple):
    """Both ends of a bulk load.

    Attributes
    ----------
    scratch : the embedded store in which the corpus is built
    reader : reads the corpus out of it
    graph : the database that imports files
    """

    scratch: Opened
    reader: BulkReader
    graph: Neo4jBulkGraph


@contextlib.contextmanager
def open_bulk(settings: Settings, folder: Path) -> Iterator[Bulk]:
    """Open both ends of a bulk load into the servers of the settings.

    Parameters
    ----------
    settings : Neo4j and vector store, and the corpus
    folder : folder of the embedded store

    Raises
    ------
    InputError
        The store is embedded: it has no faster way.
    """
    from hlgraph.stores.embedded.copying import EmbeddedCorpusReader
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.neo4j.bulk_load import Neo4jBulkGraph
    from hlgraph.stores.neo4j.lease import Leases
    from hlgraph.stores.neo4j.server import Server

    if _scheme(settings.store, ("hlgraph", *GRAPHS)) == "hlgraph":
        raise InputError(
            f"{settings.store} is an embedded store, which --bulk would not load faster; leave --bulk out, or set store to "
            "neo4j://host:port"
        )
    ours = replace(settings.neo4j, database=settings.neo4j.database_of(settings.corpus))
    server, database = Server(settings.store, ours), Database(folder)
    scratch = _embedded(replace(settings, store=f"hlgraph://{folder}", vectors=""))
    with contextlib.closing(database), contextlib.closing(server), scratch.closing:
        leases = Leases(server, wait=settings.patience)
        yield Bulk(scratch, EmbeddedCorpusReader(database, settings.corpus), Neo4jBulkGraph(server, leases))


@contextlib.contextmanager
def open_projected(settings: Settings, shape: ProjectionShape) -> Iterator[str]:
    """Project the corpus of the settings on the server; yields the name of the projection, which exists until the block ends.

    Parameters
    ----------
    settings : Neo4j store and corpus
    shape : nodes and relationships to project

    Raises
    ------
    InputError
        The store is embedded.
    UnknownNameError
        The corpus does not exist.
    StoreUnavailableError
        The server has no GDS, or too little memory.
    """
    with open_graph(settings) as graph:
        if settings.store.startswith("hlgraph://"):
            raise InputError(f"{settings.store} is an embedded store; projections live on a Neo4j server with GDS")
        yield graph.projection(shape, settings.corpus)


@contextlib.contextmanager
def open_driver(settings: Settings) -> Iterator[neo4j.Driver]:
    """A driver of Neo4j for other libraries, with the credentials and certificates of the settings.

    Raises
    ------
    StoreUnavailableError, StoreError, SettingsError
        The server cannot be reached, or refuses the connection.
    """
    from hlgraph.stores.neo4j.server import Server

    with contextlib.closing(Server(settings.store, settings.neo4j)) as server:
        yield server.driver()


def _scheme(url: str, known: tuple[str, ...]) -> str:
    scheme, separator, rest = url.partition("://")
    if scheme in ("http", "https") and scheme not in known:
        raise UnknownNameError(
            f"{url!r} is an address of HTTP, and a graph is opened by {_example(known)}; OpenSearch goes beside it, as vectors= or "
            "--vectors. A server of hlgraph is asked over HTTP, not opened"
        )
    if not separator or scheme not in known:
        names = ", ".join(f"{name}://" for name in sorted(known))
        raise UnknownNameError(
            f"{url!r} is not the URL of a store; start it with one of {names}, such as {_example(known)}"
        )
    if not rest:
        raise UnknownNameError(f"{url!r} names no folder or host; add one, such as {_example(known)}")
    return scheme


def _example(known: tuple[str, ...]) -> str:
    return "hlgraph://./folder" if "hlgraph" in known else "neo4j://localhost:7687"
