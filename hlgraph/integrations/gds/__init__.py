"""hlgraph for people who work with Neo4j Graph Data Science: its own client on the graphs that hlgraph ranks (extra ``gds``).

::

    from hlgraph import connect
    from hlgraph.integrations.gds import open_projection

    with open_projection(connect("hlgraph.yaml"), "entity_passage") as (gds, graph):
        scores = gds.betweenness_centrality.stream(graph)
        scores["id"] = [node["id"] for node in gds.util.as_nodes(scores["nodeId"].tolist())]

Any algorithm of GDS runs on the graph that the rankers of hlgraph walk on: nodes carry the id of their record, relationships
a ``weight``. The rankers themselves do not need this client: they call GDS through the driver that the store has open.
"""

from hlgraph.errors import MissingExtraError

try:
    import graphdatascience  # noqa: F401 - asked for here, so that its absence is one clear error
except ImportError as error:
    raise MissingExtraError("gds", "hlgraph for Graph Data Science") from error

from hlgraph.integrations.gds.project import Projected, open_projection

__all__ = ["Projected", "open_projection"]
