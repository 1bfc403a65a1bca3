"""Open a ``py2neo.Graph`` on the store of hlgraph, with the same settings (extra ``py2neo``).

py2neo has reached its end of life: its last functional release dates from 2021 and supports Neo4j up to 4.4; its authors
recommend the official driver. It still works with Neo4j 5.26 and 2026.x, but may fail with any later version. New code
should call :meth:`hlgraph.HLGraph.cypher`, or use the driver.

::

    from hlgraph import connect
    from hlgraph.integrations.py2neo import close, to_py2neo

    graph = to_py2neo(connect("hlgraph.yaml"))
    graph.query("MATCH (e:Entity {corpus: 'default'}) RETURN e.name LIMIT 5").to_table()
    close(graph)

``Graph.query`` is read-only; the server refuses writes in it. ``Graph.run`` can write, but hlgraph does not know of such
writes: they are missing from the journal, the counts and the vectors, and the next ingest may remove them.
"""

from __future__ import annotations

from pathlib import Path

from hlgraph.errors import InputError, SettingsError, StoreUnavailableError, needs_extra
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings, variables

with needs_extra("py2neo", "hlgraph for py2neo"):
    import py2neo
    from py2neo import errors as foreign


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
