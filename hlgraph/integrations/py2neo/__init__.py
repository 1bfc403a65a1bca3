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

from hlgraph.errors import MissingExtraError

try:
    import py2neo  # noqa: F401 - imported here, so that its absence gives one clear error
except ImportError as error:
    raise MissingExtraError("py2neo", "hlgraph for py2neo") from error

from hlgraph.integrations.py2neo.connect import close, to_py2neo

__all__ = ["close", "to_py2neo"]
