"""py2neo on the store of hlgraph. It is old and gets no updates: what it forgets to close is no error here."""

from __future__ import annotations

import ssl
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from live_stores import neo4j_of
from neo4j_graphs import TinyGraph
from py2neo.errors import ClientError
from tcp_proxy import passed_on

import hlgraph
from hlgraph.errors import InputError, SettingsError, StoreUnavailableError
from hlgraph.integrations.py2neo import close, to_py2neo
from hlgraph.sdk import cypher as analyst
from hlgraph.settings import Neo4jSettings, Settings

# A connection that fails leaves its socket to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
_WITHOUT = """
import sys
sys.modules["py2neo"] = None
from hlgraph.errors import MissingExtraError
try:
    import hlgraph.integrations.py2neo
except MissingExtraError as error:
    print(error)
"""


@pytest.fixture
def settings(servers: Any, tiny: TinyGraph, tmp_path: Path) -> Settings:
    return Settings(
        store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/v", corpus=tiny.corpus, neo4j=neo4j_of(servers)
    )


def test_py2neo_reads_what_hlgraph_wrote(settings: Settings) -> None:
    graph = to_py2neo(settings)
    found = graph.nodes.match("Entity", corpus=settings.corpus).order_by("_.name").all()
    assert [node["name"] for node in found] == ["Aldane Bridge", "Ivo Brandt", "Mara Quill", "Orne", "Tessing"]
    close(graph)


def test_an_open_graph_gives_the_same(settings: Settings) -> None:
    with hlgraph.connect(settings) as opened:
        graph = to_py2neo(opened)
    text = analyst.load("rank_entities").text
    rows = graph.query(text, {"corpus": settings.corpus, "where": None, "kinds": [], "k": 2}).data()
    assert [row["degree"] for row in rows] == [2, 2]
    close(graph)


def test_a_reading_query_cannot_write(settings: Settings) -> None:
    graph = to_py2neo(settings)
    with pytest.raises(ClientError, match="read access mode"):
        graph.query("CREATE (:Intruder)")
    close(graph)


@pytest.mark.parametrize(
    ("changed", "kind", "says"),
    [
        (Settings(store="hlgraph://./x"), InputError, "embedded store"),
        (Settings(store="neo4j://h:1", neo4j=Neo4jSettings(auth="bearer", token="t")), SettingsError, "auth is bearer"),
        (Settings(store="bolt://127.0.0.1:1"), StoreUnavailableError, "py2neo cannot connect"),
    ],
    ids=["embedded", "bearer", "nobody there"],
)
def test_what_py2neo_cannot_do_is_said(changed: Settings, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        to_py2neo(changed)


@pytest.mark.filterwarnings("ignore:ssl.PROTOCOL_TLS is deprecated:DeprecationWarning")
def test_a_private_authority_is_trusted(settings: Settings, tmp_path: Path) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with passed_on(settings.store, tls=context) as proxy:
        near = replace(settings, store=f"neo4j://127.0.0.1:{proxy.port}")
        graph = to_py2neo(replace(near, neo4j=replace(settings.neo4j, ca=str(tmp_path / "ca.pem"))))
        assert graph.nodes.match("Entity", corpus=settings.corpus).count() == 5
        close(graph)


def test_a_wrong_password_is_said(settings: Settings) -> None:
    with pytest.raises(StoreUnavailableError, match="HLGRAPH_NEO4J_PASSWORD"):
        to_py2neo(replace(settings, neo4j=replace(settings.neo4j, password="not the password")))


def test_without_the_extra_the_pip_line_is_said() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == (
        "hlgraph for py2neo needs an optional dependency; run: pip install 'hlgraph[py2neo]'"
    )
