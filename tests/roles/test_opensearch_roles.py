"""hlgraph with accounts of few rights: what works, and what an account with too few gets instead.

Not collected by `make test`, since OpenSearch 3.5 has no security plugin here: `make roles` starts 2.19, which has, and runs these.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_stores import opened, settings_for

import hlgraph
from hlgraph.errors import StoreError
from hlgraph.records import Document, Kind
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import Settings
from hlgraph.stores.migrate import repair
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.where_query import conditions
from hlgraph.stores.opensearch.wire import Json
from hlgraph.stores.protocols import Scope
from hlgraph.testing.embedder import WordEmbedder

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "access.md"
PASSWORD = "Xy7-few-rights-4821"
QUESTION = "What did the Aldane Bridge cost, and who designed the mill?"
STRATEGIES = ("auto", "statement", "chunk", "topic", "path", "local", "global", "topic_graph", "diameter", "fused")
MODES = ("vector", "text", "hybrid")
OPEN = Document(
    "doc:open", "Mara Quill designed the Aldane Bridge. Ivo Brandt left Tessing.", metadata={"acl": "public"}
)
COST = "The Aldane Bridge cost three million. Mara Quill designed the mill in Tessing."
CLOSED = Document("doc:cost", COST, metadata={"acl": ["finance", "board"]})
EDITED = replace(CLOSED, text=COST.replace("three", "four"))

Role = Mapping[str, Any]
Account = Callable[[Role], Settings]


def documented(name: str) -> Role:
    """A role of the page about access, as it stands there."""
    (body,) = re.findall(
        rf"PUT /_plugins/_security/api/roles/{name}\n((?:    .*\n)+)", PAGE.read_text(encoding="utf-8")
    )
    role: Role = json.loads(body)
    return role


def named(what: str) -> list[str]:
    """The permissions that the page lists as the fewest for a purpose."""
    (line,) = re.findall(rf"^- \*\*{what}\*\*(.*(?:\n  .*)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return re.findall(r"`((?:indices|cluster):[^`]+)`", line)


def role_of(permissions: list[str]) -> Role:
    """A role with these permissions, each where the plugin wants it."""
    composite = ("indices:data/write/bulk", "indices:data/read/msearch")
    cluster = [one for one in permissions if one.startswith("cluster:") or one in composite]
    inner = sorted({*permissions} - {*cluster})
    return {"cluster_permissions": cluster, "index_permissions": [{"allowed_actions": inner}]}


READ, WRITE = named("Search and answer"), named("Ingest, edit and delete")


@pytest.fixture
def settings(servers: Any) -> Iterator[Settings]:
    """Those of the account with all rights."""
    chosen = settings_for(servers)
    with opened(servers, chosen):
        yield chosen


@pytest.fixture
def account(settings: Settings) -> Iterator[Account]:
    """Makes an account with one role, for the indexes of this test alone."""
    admin = Connection(settings.vectors, settings.opensearch)
    prefix = settings.opensearch.prefix

    def made(role: Role) -> Settings:
        inner = [{"index_patterns": [f"{prefix}-*"], **one, **_own(one, prefix)} for one in role["index_permissions"]]
        admin.command("PUT", f"/_plugins/_security/api/roles/{prefix}", body={**role, "index_permissions": inner})
        user: Json = {"password": PASSWORD, "opendistro_security_roles": [prefix]}
        admin.command("PUT", f"/_plugins/_security/api/internalusers/{prefix}", body=user)
        return replace(settings, opensearch=replace(settings.opensearch, user=prefix, password=PASSWORD))

    yield made
    admin.close()


def _own(permissions: Mapping[str, Any], prefix: str) -> dict[str, list[str]]:
    patterns = permissions.get("index_patterns", ["hlgraph-*"])
    return {"index_patterns": [one.replace("hlgraph", prefix) for one in patterns]}


def connected(settings: Settings) -> HLGraph:
    return hlgraph.connect(settings, embedder=WordEmbedder())


def evidence(graph: HLGraph, strategy: str, mode: str) -> list[tuple[str, float]]:
    found = graph.search(QUESTION, strategy=strategy, mode=mode, k=20).evidence
    return [(piece.text, piece.score) for piece in found]


def statements(settings: Settings) -> set[str]:
    """The texts that a search finds, by vectors or by words."""
    with connected(settings) as graph:
        if not graph.stats():
            return set()
        both = [evidence(graph.as_operator(), "statement", mode) for mode in ("vector", "text")]
        assert {text for text, _ in both[1]} <= {text for text, _ in both[0]}
        return {text for text, _ in both[0]}


def test_a_reader_gets_what_an_account_with_all_rights_gets_and_changes_nothing(
    settings: Settings, account: Account
) -> None:
    with connected(settings) as graph:
        graph.ingest([OPEN, CLOSED])
        with connected(account(documented("hlgraph_reader"))) as reader:
            for groups in ({"public"}, {"public", "board"}):
                one, other = graph.as_caller(groups), reader.as_caller(groups)
                for strategy in STRATEGIES:
                    for mode in MODES:
                        assert evidence(other, strategy, mode) == evidence(one, strategy, mode)
                assert other.answer(QUESTION).text == one.answer(QUESTION).text
                assert other.sources.list() == one.sources.list()
            assert reader.health().is_ready
            before = statements(settings)
            for change in (lambda: reader.ingest([EDITED]), lambda: reader.delete("doc:open")):
                with pytest.raises(StoreError, match=r"is not allowed \(403: .*add the permission to a role"):
                    change()
                assert statements(settings) == before


@pytest.mark.parametrize("permission", READ)
def test_a_search_without_one_of_the_permissions_says_which(
    permission: str, settings: Settings, account: Account
) -> None:
    with connected(settings) as graph:
        graph.ingest([OPEN])
    with connected(account(role_of(READ))) as reader:
        assert evidence(reader.as_caller({"public"}), "auto", "hybrid")
    said = rf"is not allowed \(403: .*\[{re.escape(permission)}\]"
    few = account(role_of([one for one in READ if one != permission]))
    with connected(few) as reader, pytest.raises(StoreError, match=said):
        evidence(reader.as_caller({"public"}), "auto", "hybrid")


@pytest.mark.parametrize("permission", WRITE)
def test_a_change_without_one_of_the_permissions_is_whole_or_did_not_happen(
    permission: str, settings: Settings, account: Account
) -> None:
    few = account(role_of([one for one in WRITE if one != permission]))
    steps: list[Callable[[HLGraph], object]] = [
        lambda graph: graph.ingest([OPEN, CLOSED]),
        lambda graph: graph.ingest([EDITED]),
        lambda graph: evidence(graph.as_caller({"board"}), "auto", "hybrid"),
        lambda graph: graph.delete("doc:open"),
    ]
    refused = []
    for step in steps:
        before = statements(settings)
        with connected(few) as graph:
            try:
                step(graph)
            except StoreError as error:
                refused.append(str(error))
        between = statements(settings)
        with connected(settings) as graph:
            step(graph)
        assert between in (before, statements(settings))
    assert refused
    assert all(re.search(rf"is not allowed \(403: .*\[{re.escape(permission)}\]", said) for said in refused)
    with connected(settings) as graph:
        assert [*graph.reconcile()[0].without_vector] == []


def test_the_fewest_permissions_of_a_writer_and_a_password_that_is_in_no_output(
    settings: Settings, account: Account, tmp_path: Path
) -> None:
    few = account(role_of(WRITE))
    with connected(few) as graph:
        graph.ingest([OPEN, CLOSED])
        graph.ingest([EDITED])
        assert evidence(graph.as_caller({"board"}), "auto", "hybrid")
        graph.delete("doc:open")
    few = account(role_of(READ))
    config = tmp_path / "hlgraph.yaml"
    index = {name: getattr(few.opensearch, name) for name in ("user", "password", "ca", "prefix")}
    graph_login = {name: getattr(few.neo4j, name) for name in ("user", "password", "database")}
    lines = {"corpus": "other", "store": few.store, "vectors": few.vectors, "neo4j": graph_login, "opensearch": index}
    config.write_text(json.dumps(lines), encoding="utf-8")
    (tmp_path / "a.md").write_text("Mara Quill designed the Aldane Bridge.", encoding="utf-8")
    for command in (["ingest", str(tmp_path / "a.md")], ["doctor"]):
        ran = subprocess.run(
            [sys.executable, "-m", "hlgraph", "--config", str(config), *command],
            capture_output=True,
            text=True,
            check=False,
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode != 0
        assert "is not allowed (403" in said
        assert "Traceback" not in said
        assert few.opensearch.password not in said
        assert few.neo4j.password not in said


def test_a_writer_does_all_that_hlgraph_does(settings: Settings, account: Account, tmp_path: Path) -> None:
    writer = account(documented("hlgraph_writer"))
    with connected(writer) as graph:
        graph.ingest([OPEN, CLOSED])
        graph.ingest([EDITED])
        graph.groups.set("works", uris="doc:open")
        assert [one for one in graph.check() if not one.is_fine] == []
        assert graph.health().is_ready
        graph.reconcile(repair=True)
        assert graph.delete("doc:open", receipt=tmp_path / "receipt").receipt
        store = graph.ingestion.opened.stores.vectors
        store.purge("default")  # type: ignore[attr-defined]
        assert set(store.remnants("default").awaiting.values()) == {0}
    dedicated = replace(writer, opensearch=replace(writer.opensearch, layout="dedicated"))
    with connected(dedicated) as graph:
        (target,) = [one for one in graph.ingestion.opened.targets if one.kind == "opensearch"]
        repair(target)
        assert [one for one in graph.check() if not one.is_fine] == []
        assert evidence(graph.as_caller({"board"}), "statement", "text")


def test_deleted_rows_that_a_role_may_not_flush_do_not_count_as_gone(settings: Settings, account: Account) -> None:
    """The server answers this flush with 200."""
    with connected(account(role_of([*WRITE, "indices:admin/flush", "indices:admin/forcemerge"]))) as graph:
        graph.ingest([OPEN, CLOSED])
        graph.delete("doc:open")
        with pytest.raises(StoreError, match=r"is not allowed .*\[indices:admin/flush\[s\]\]"):
            graph.ingestion.opened.stores.vectors.purge("default")  # type: ignore[attr-defined]


def test_document_level_security_hides_rows_but_not_the_graph_and_refuses_words(
    settings: Settings, account: Account
) -> None:
    with connected(settings) as graph:
        graph.ingest([OPEN, CLOSED])
        store = graph.ingestion.opened.stores.graph
        (admitted,) = (one for one in store.find(Kind.SOURCE, Scope("default")) if one.uri == OPEN.uri)  # type: ignore[union-attr]
        groups = [one for one in conditions(admitted) if one.endswith("spublic")]  # type: ignore[arg-type]
        # The rows of a source name its groups; those of its chunks, statements and topics the source; those of entities nothing.
        may: Json = [{"terms": {"conditions": groups}}, {"terms": {"source": [admitted.id, ""]}}]
        reader = documented("hlgraph_reader")
        inner = {**reader["index_permissions"][0], "dls": json.dumps({"bool": {"should": may}})}
        with connected(account({**reader, "index_permissions": [inner]})) as limited:
            mine, other = graph.as_caller({"public"}), limited.as_operator()
            for strategy in ("statement", "chunk", "topic"):
                assert evidence(other, strategy, "vector") == evidence(mine, strategy, "vector")
            shown = {text for text, _ in evidence(other, "local", "vector")}
            assert COST.partition(". ")[0] + "." in shown - {text for text, _ in evidence(mine, "local", "vector")}
            assert evidence(limited.as_caller({"public"}), "local", "vector") == evidence(mine, "local", "vector")
            for view in (other, limited.as_caller({"public"})):
                with pytest.raises(StoreError, match="document-level security"):
                    evidence(view, "chunk", "text")
