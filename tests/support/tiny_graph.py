"""The tiny corpus on the Neo4j server of the tests, under a name of its own, beside whatever else is there."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from live_stores import neo4j_of

from hlgraph.ids import source_id
from hlgraph.ingest.delete import delete_sources
from hlgraph.settings import Settings
from hlgraph.stores import migrate
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import DOCUMENTS, fill


class TinyGraph(NamedTuple):
    """A server whose database holds the tiny corpus, and the name of the corpus."""

    server: Server
    corpus: str


@contextlib.contextmanager
def tiny_graph(servers: Any, folder: Path) -> Iterator[TinyGraph]:
    """The schema and the tiny corpus; the corpus is deleted at the end. ``folder`` is for its vectors."""
    corpus = f"tiny-{uuid.uuid4().hex[:8]}"
    server = Server(servers.neo4j.url, neo4j_of(servers))
    migrate.apply(Neo4jTarget(server))
    opened = open_stores(
        Settings(store=servers.neo4j.url, vectors=f"hlgraph://{folder}/vectors", neo4j=neo4j_of(servers))
    )
    with opened.closing, contextlib.closing(server):
        fill(opened.stores, corpus=corpus)
        try:
            yield TinyGraph(server, corpus)
        finally:
            with opened.stores.graph.lock():
                uris = [source_id(corpus, document.uri) for document in DOCUMENTS]
                delete_sources(uris, corpus, stores=opened.stores)
