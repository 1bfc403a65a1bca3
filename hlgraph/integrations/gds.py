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

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import UnknownNameError, needs_extra
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings
from hlgraph.stores.open import open_driver, open_projected

with needs_extra("gds", "hlgraph for Graph Data Science"):
    import graphdatascience as foreign
    from graphdatascience.graph.graph_api import Graph


class Projected(NamedTuple):
    """A GDS client with a graph.

    Attributes
    ----------
    client : connected over Bolt
    graph : the projection to pass to the algorithms of the client
    """

    client: foreign.GraphDataScience
    graph: Graph


@contextlib.contextmanager
def open_projection(source: HLGraph | Settings, shape: ProjectionShape | str) -> Iterator[Projected]:
    """A GDS client and the projection of a corpus in one shape, for use in a ``with`` block.

    The projection is that of the current version of the corpus, which the rankers share. It is created if it does not exist,
    and then dropped at the end of the block; an existing one is kept. The client is closed at the end.

    Parameters
    ----------
    source : gives the url, the corpus, and all settings of the connection: credentials, certificates, database
    shape : ``entity_passage``, ``statement_entity_chunk`` or ``entity_entity``; see :class:`ProjectionShape`

    Raises
    ------
    UnknownNameError
        The shape or the corpus does not exist.
    InputError
        The store is the embedded one, which has no GDS.
    StoreError
        The server cannot be reached, has no GDS, or lacks the memory for the projection.
    """
    settings = source.settings if isinstance(source, HLGraph) else source
    known = [known_shape.value for known_shape in ProjectionShape]
    if shape not in known:
        raise UnknownNameError(f"there is no shape {str(shape)!r}; choose {', '.join(known)}")
    database = settings.neo4j.database_of(settings.corpus)
    with open_projected(settings, ProjectionShape(shape)) as name, open_driver(settings) as driver:
        client = foreign.GraphDataScience(driver, database=database, arrow=False, show_progress=False)
        with contextlib.closing(client):
            yield Projected(client, client.graph.get(name))
