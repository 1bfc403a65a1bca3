"""The two servers of the tests as one store, empty."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from opensearch_fixture import opened as opened_vectors
from opensearch_fixture import settings_of

from hlgraph.settings import Neo4jSettings, Settings
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import Opened, open_stores

# The schema stays, and so does what records it: making it anew takes a hundred times as long as to remove some nodes.
EMPTY = ("MATCH (n) WHERE NOT n:Migration CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS",)
FORGET_SCHEMA = ("MATCH (n:Migration) DELETE n",)


def neo4j_of(servers: Any, *, ranking: str = "auto") -> Neo4jSettings:
    """How to reach the Neo4j server, with images beside what it keeps."""
    server = servers.neo4j
    login = {"user": server.user, "password": server.password, "database": server.database}
    return Neo4jSettings(**login, timeout=20, retry_seconds=20, ranking=ranking, images=str(servers.folder / "images"))


def empty(servers: Any) -> None:
    """Remove every node of the Neo4j database but for those that record its schema."""
    with contextlib.closing(Server(servers.neo4j.url, neo4j_of(servers))) as server:
        server.schema(EMPTY)


def settings_for(servers: Any) -> Settings:
    """Settings for both servers, with a new prefix for the indexes."""
    login = {"neo4j": neo4j_of(servers), "opensearch": settings_of(servers.opensearch)}
    return Settings(store=servers.neo4j.url, vectors=servers.opensearch.url, **login)


@contextlib.contextmanager
def opened(servers: Any, settings: Settings | None = None) -> Iterator[Opened]:
    """Both servers, empty; the indexes are removed at the end."""
    empty(servers)
    chosen = settings or settings_for(servers)
    stores = open_stores(chosen)
    with stores.closing:
        yield stores
    with opened_vectors(servers.opensearch, prefix=chosen.opensearch.prefix):
        pass


def drop_projections(server: Server) -> list[str]:
    """Drops all projections of hlgraph; returns their names."""
    names = [row["name"] for row in server.ask("admin/list_projections", prefix="hlgraph-")]
    for name in names:
        server.ask("admin/drop_projection", name=name)
    return names
