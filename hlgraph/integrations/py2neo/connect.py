"""Open and close a ``py2neo.Graph``."""

from __future__ import annotations

from pathlib import Path

import py2neo
from py2neo import errors as foreign

from hlgraph.errors import InputError, SettingsError, StoreUnavailableError
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings, variables

_CONNECTIONS = 4
_FOREVER = 1_000_000_000  # seconds; an older connection would be replaced, without the certificates


def to_py2neo(source: HLGraph | Settings) -> py2neo.Graph:
    """A connected ``py2neo.Graph`` on the database of an open graph or of settings.

    Parameters
    ----------
    source : gives url, user, password, certificates and database of Neo4j; of the corpus only its database is used: name it
        in each query. With ``neo4j.ca`` all connections are opened now, to the one server of the url

    Raises
    ------
    InputError
        The store is the embedded one, which py2neo cannot read.
    SettingsError
        ``neo4j.auth`` is neither ``basic`` nor ``none``: py2neo supports only users and passwords.
    StoreUnavailableError
        No connection can be made.
    """
    settings = source.settings if isinstance(source, HLGraph) else source
    url, server = settings.store, settings.neo4j
    if url.startswith("hlgraph://"):
        raise InputError(f"{url} is an embedded store; py2neo reads a Neo4j server, such as neo4j://localhost:7687")
    if server.auth not in ("basic", "none"):
        raise SettingsError(
            f"neo4j.auth is {server.auth}, but py2neo supports only users and passwords; use the Neo4j driver"
        )
    auth = (server.user, server.password) if server.auth == "basic" and server.password else None
    name = server.database_of(settings.corpus)
    try:
        if not server.ca:
            return py2neo.Graph(url, auth=auth, name=name)
        # py2neo takes no certificates: the TLS library of Python reads this variable when a connection is opened.
        with variables({"SSL_CERT_FILE": str(Path(server.ca).absolute())}):
            size = {"init_size": _CONNECTIONS, "max_size": _CONNECTIONS, "max_age": _FOREVER}
            return py2neo.Graph(f"bolt+s://{url.partition('://')[2]}", auth=auth, name=name, **size)
    except (foreign.ConnectionUnavailable, foreign.ServiceUnavailable, foreign.ProtocolError) as error:
        raise StoreUnavailableError(
            f"{url}: py2neo cannot connect ({error}); check that the server is running and that HLGRAPH_NEO4J_PASSWORD is "
            "right (hlgraph stats tells which of the two it is)"
        ) from error


def close(graph: py2neo.Graph) -> None:
    """Close the connections of a ``py2neo.Graph``, which has no method for it."""
    graph.service.connector.close()
