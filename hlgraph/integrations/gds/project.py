"""From settings to a client of GDS and one projected graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import graphdatascience as foreign
from graphdatascience.graph.graph_api import Graph

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import SettingsError, UnknownNameError
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings
from hlgraph.stores.open import open_projected


class Projected(NamedTuple):
    """The client, connected over Bolt, and the graph to hand to its algorithms."""

    client: foreign.GraphDataScience
    graph: Graph


@contextlib.contextmanager
def open_projection(source: HLGraph | Settings, shape: ProjectionShape | str) -> Iterator[Projected]:
    """A client of GDS and the projection of the corpus in one shape, made where it is not there yet.

    The projection is that of the corpus's present version, the one that the rankers share. One that is made here is dropped
    at the end; one that was there stays. The client is closed at the end.

    Parameters
    ----------
    source : its url, user, password, database and corpus are taken
    shape : ``entity_passage``, ``statement_entity_chunk`` or ``entity_entity``; see :class:`ProjectionShape`

    Raises
    ------
    UnknownNameError
        For another shape, or a corpus that is not there.
    InputError
        For the embedded store, which has no GDS.
    SettingsError
        For ``neo4j.ca``: the client trusts the certificates of the system alone, or with ``+ssc`` every one.
    StoreError
        When the server cannot be reached or has no GDS, or the projection would not fit into its memory.
    """
    settings = source.settings if isinstance(source, HLGraph) else source
    known = [item.value for item in ProjectionShape]
    if shape not in known:
        raise UnknownNameError(f"there is no shape {str(shape)!r}; choose {', '.join(known)}")
    server = settings.neo4j
    if server.ca:
        raise SettingsError(
            f"neo4j.ca is {server.ca}; the client of GDS cannot be told of certificates: add it to those of the system and "
            "leave neo4j.ca out"
        )
    auth = (server.user, server.password) if server.password else None
    with open_projected(settings, ProjectionShape(shape)) as name:
        client = foreign.GraphDataScience(
            settings.store, auth=auth, database=server.database, arrow=False, show_progress=False
        )
        with contextlib.closing(client):
            yield Projected(client, client.graph.get(name))
