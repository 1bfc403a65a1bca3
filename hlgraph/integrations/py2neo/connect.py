"""Opens and closes a ``py2neo.Graph``."""

from __future__ import annotations

import py2neo
from py2neo import errors as foreign

from hlgraph.errors import InputError, SettingsError, StoreUnavailableError
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings


def to_py2neo(source: HLGraph | Settings) -> py2neo.Graph:
    """A connected ``py2neo.Graph`` on the database of an open graph or of settings.

    Parameters
    ----------
    source : gives url, user, password and database of Neo4j. The corpus is not used: name it in each query

    Raises
    ------
    InputError
        The store is the embedded one, which py2neo cannot read.
    SettingsError
        ``neo4j.ca`` is set. py2neo trusts only the certificates of the system or, with ``+ssc``, every certificate.
    StoreUnavailableError
        No connection can be made.
    """
    settings = source.settings if isinstance(source, HLGraph) else source
    url, server = settings.store, settings.neo4j
    if url.startswith("hlgraph://"):
        raise InputError(f"{url} is an embedded store; py2neo reads a Neo4j server, such as neo4j://localhost:7687")
    if server.ca:
        raise SettingsError(
            f"neo4j.ca is {server.ca}, but py2neo takes no certificates; add it to the certificates of the system, and leave "
            "out neo4j.ca"
        )
    auth = (server.user, server.password) if server.password else None
    try:
        return py2neo.Graph(url, auth=auth, name=server.database)
    except (foreign.ConnectionUnavailable, foreign.ServiceUnavailable, foreign.ProtocolError) as error:
        raise StoreUnavailableError(
            f"{url}: py2neo cannot connect ({error}); check that the server is running and that HLGRAPH_NEO4J_PASSWORD is "
            "right (hlgraph stats tells which of the two it is)"
        ) from error


def close(graph: py2neo.Graph) -> None:
    """Close the connections of a ``py2neo.Graph``, which has no method for it."""
    graph.service.connector.close()
