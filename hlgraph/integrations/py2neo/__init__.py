"""hlgraph for analysts who work with py2neo: a ``py2neo.Graph`` on the same store, by the same settings (extra ``py2neo``).

py2neo is at its end of life: its last release with changes is of 2021, made for Neo4j up to 4.4, and its makers send people
to the official driver. It still speaks to Neo4j 5.26 and 2026.x, and may stop with any later one. New work should call
:meth:`hlgraph.HLGraph.cypher`, or the driver itself.

::

    from hlgraph import connect
    from hlgraph.integrations.py2neo import close, to_py2neo

    graph = to_py2neo(connect("hlgraph.yaml"))
    graph.query("MATCH (e:Entity {corpus: 'default'}) RETURN e.name LIMIT 5").to_table()
    close(graph)

``Graph.query`` reads only; the server refuses to write in it. ``Graph.run`` can write, and hlgraph does not see what it
writes: nothing of it is in the journal, the counts or the vectors, and the next ingest may remove it.
"""

from hlgraph.errors import MissingExtraError

try:
    import py2neo  # noqa: F401 - asked for here, so that its absence is one clear error
except ImportError as error:
    raise MissingExtraError("py2neo", "hlgraph for py2neo") from error

from hlgraph.integrations.py2neo.connect import close, to_py2neo

__all__ = ["close", "to_py2neo"]
