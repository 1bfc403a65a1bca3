"""The client of Graph Data Science on the graphs that hlgraph ranks, on the live server."""

from __future__ import annotations

import ssl
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from live_stores import drop_projections, neo4j_of
from neo4j_graphs import TinyGraph
from tcp_proxy import passed_on

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError, StoreError, UnknownNameError
from hlgraph.integrations.gds import open_projection
from hlgraph.records import Kind
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.gds import GraphDataScience, ShapeProjection
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, RankQuery, Scope

_WITHOUT = """
import sys
sys.modules["graphdatascience"] = None
from hlgraph.errors import MissingExtraError
try:
    import hlgraph.integrations.gds
except MissingExtraError as error:
    print(error)
"""


@pytest.fixture
def settings(servers: Any, tiny: TinyGraph, tmp_path: Path) -> Settings:
    return Settings(
        store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/v", corpus=tiny.corpus, neo4j=neo4j_of(servers)
    )


@pytest.mark.parametrize("shape", list(ProjectionShape))
def test_the_client_ranks_as_hlgraph_does(settings: Settings, shape: ProjectionShape) -> None:
    opened = open_stores(settings)
    with opened.closing, open_projection(settings, shape) as (client, graph):
        found = client.page_rank.stream(graph, relationship_weight_property="weight", damping_factor=0.5)
        nodes = client.util.as_nodes(found["nodeId"].tolist())
        scores = {node["id"]: score for node, score in zip(nodes, found["score"], strict=True)}
        query = RankQuery(shape, dict.fromkeys(scores, 1.0), damping=0.5)
        hits = opened.stores.graph.rank(query, scope=Scope(settings.corpus))
    total = sum(scores.values())
    assert scores
    assert {hit.id: pytest.approx(hit.score, abs=1e-4) for hit in hits} == {
        key: score / total for key, score in scores.items()
    }


def test_nodes_carry_the_ids_of_records(settings: Settings) -> None:
    opened = open_stores(settings)
    with opened.closing, open_projection(settings, "entity_entity") as (client, graph):
        degrees = client.degree_centrality.stream(graph)
        ids = [node["id"] for node in client.util.as_nodes(degrees["nodeId"].tolist())]
        shape = PullShape(frozenset(), frozenset({Kind.ENTITY}), hops=0)
        assert sorted(ids) == opened.stores.graph.pull(ids, shape, scope=Scope(settings.corpus)).ids.tolist()
        held = opened.stores.graph.records(Kind.ENTITY, ids, scope=Scope(settings.corpus))
        assert len(held) == len(ids) == graph.node_count()


def test_what_was_there_stays_and_what_was_made_goes(settings: Settings, tiny: TinyGraph) -> None:
    with closing(GraphDataScience(tiny.server)) as ours:
        drop_projections(tiny.server)
        with open_projection(settings, "entity_passage") as (_, graph):
            name = graph.name()
        assert not tiny.server.ask("admin/list_projections", prefix=name)
        assert ours.project(ShapeProjection(settings.corpus, ProjectionShape.ENTITY_PASSAGE)) == name
        with open_projection(settings, "entity_passage") as (_, graph):
            assert graph.name() == name
        assert tiny.server.ask("admin/list_projections", prefix=name)


@pytest.mark.parametrize(
    ("changed", "shape", "kind", "says"),
    [
        (Settings(store="hlgraph://./x"), "entity_entity", InputError, "embedded store"),
        (Settings(store="hlgraph://./x"), "entities", UnknownNameError, "choose entity_passage, "),
    ],
    ids=["embedded", "shape"],
)
def test_what_cannot_be_projected_is_said(changed: Settings, shape: str, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says), open_projection(changed, shape):
        raise AssertionError("it was opened")


def test_a_private_authority_is_trusted(settings: Settings, tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with passed_on(settings.store, tls=context) as proxy:
        near = replace(settings, store=f"bolt+s://127.0.0.1:{proxy.port}")
        trusted = replace(near, neo4j=replace(settings.neo4j, ca=str(tmp_path / "ca.pem")))
        with open_projection(trusted, "entity_entity") as (_, graph):
            assert graph.node_count() > 0
        with pytest.raises(StoreError, match=r"not trusted; set neo4j\.ca"), open_projection(near, "entity_entity"):
            raise AssertionError("it was opened")


def test_corpora_that_are_not_known_are_said(settings: Settings) -> None:
    elsewhere = replace(settings, corpus="nowhere")
    with pytest.raises(UnknownNameError, match="nowhere"), open_projection(elsewhere, "entity_entity"):
        raise AssertionError("it was opened")


def test_without_the_extra_the_pip_line_is_said() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        "hlgraph for Graph Data Science needs an optional dependency; run: pip install 'hlgraph[gds]'"
    )
