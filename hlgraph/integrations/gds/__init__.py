"""Open the Python client of Neo4j Graph Data Science (GDS) on the graphs that hlgraph ranks (extra ``gds``).

::

    from hlgraph import connect
    from hlgraph.integrations.gds import open_projection

    with open_projection(connect("hlgraph.yaml"), "entity_passage") as (gds, graph):
        scores = gds.betweenness_centrality.stream(graph)
        scores["id"] = [node["id"] for node in gds.util.as_nodes(scores["nodeId"].tolist())]

Any GDS algorithm can run on the graph that hlgraph's rankers use: nodes carry the id of their record, relationships a
``weight``. The rankers themselves do not need this client; they call GDS through the driver of the store.
"""

from hlgraph.errors import MissingExtraError

try:
    import graphdatascience  # noqa: F401 - imported here, so that its absence gives one clear error
except ImportError as error:
    raise MissingExtraError("gds", "hlgraph for Graph Data Science") from error

from hlgraph.integrations.gds.project import Projected, open_projection

__all__ = ["Projected", "open_projection"]
