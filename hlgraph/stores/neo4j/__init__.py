"""The graph store on a Neo4j server (extra ``neo4j``)."""

from importlib.util import find_spec

from hlgraph.errors import MissingExtraError

if find_spec("neo4j") is None:
    raise MissingExtraError("neo4j", "a Neo4j store")
