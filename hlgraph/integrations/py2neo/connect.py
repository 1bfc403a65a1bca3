"""From settings to a ``py2neo.Graph``."""

from __future__ import annotations

import py2neo
from py2neo import errors as foreign

from hlgraph.errors import InputError, SettingsError, StoreUnavailableError
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings


def to_py2neo(source: HLGraph | Settings) -> py2neo.Graph:
    """A graph of py2neo on the database of an open graph or of settings; it connects at once.

    Parameters
    ----------
    source : its url, user, password and database of Neo4j are taken; the corpus is not: name it in each query

    Raises
    ------
    InputError
        For the embedded store, which py2neo cannot read.
    SettingsError
        For ``neo4j.ca``: py2neo trusts the certificates of the system alone, or with ``+ssc`` every one.
    StoreUnavailableError
        When no connection can be made.
    """
    settings = source.settings if isinstance(source, HLGraph) else source
    url, server = settings.store, settings.neo4j
    if url.startswith("hlgraph://"):
        raise InputError(f"{url} is an embedded store; py2neo reads a Neo4j server, such as neo4j://localhost:7687")
    if server.ca:
        raise SettingsError(
            f"neo4j.ca is {server.ca}; py2neo cannot be told of certificates: add it to those of the system and leave neo4j.ca out"
        )
    auth = (server.user, server.password) if server.password else None
    try:
        return py2neo.Graph(url, auth=auth, name=server.database)
    except (foreign.ConnectionUnavailable, foreign.ServiceUnavailable, foreign.ProtocolError) as error:
        raise StoreUnavailableError(
            f"{url}: py2neo cannot connect ({error}); look whether the server runs and HLGRAPH_NEO4J_PASSWORD is right: "
            "hlgraph stats says which"
        ) from error


def close(graph: py2neo.Graph) -> None:
    """Close the connections of a graph of py2neo, which has no such method itself."""
    graph.service.connector.close()
