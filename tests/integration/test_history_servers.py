"""The history of a corpus on Neo4j and OpenSearch is that of the embedded store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from live_stores import opened, settings_for

import hlgraph
from hlgraph.errors import InputError
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

QUESTION = "Who leads the Aldane Works?"


def run(graph: HLGraph) -> list[Any]:
    """Edit, restrict, delete and erase sources; returns what callers see of each version, and what is left."""
    seen: list[Any] = []
    for leader in ("Mara Quill", "Ivo Brandt"):
        text = f"{leader} leads the Aldane Works. The works stand in Tessing."
        mill = Document("doc:mill", "Edda Thorn bought the Vessel Mill.", metadata={"acl": "public"})
        graph.ingest([Document("doc:works", text, metadata={"acl": "public", "year": 1}), mill], keep_history=True)
    graph.groups.set("board", uris="doc:works")
    graph.delete("doc:mill")

    for version in graph.history.versions("doc:works"):
        assert (version.valid_to is None) is (version.number == 2)
        for caller in (graph.as_operator(), graph.as_caller({"public"}), graph.as_caller({"board"})):
            result = caller.search(
                QUESTION, strategy="statement", as_of=version.valid_from, where="year = 1 or acl = 'public'"
            )
            seen.append([(piece.text, piece.source.uri, piece.source.version) for piece in result.evidence])
    seen.append(graph.history.diff(1))
    seen.append([change._replace(at="") for change in graph.history.changes()])
    seen.append([(v.number, v.version_from, v.version_to) for v in graph.history.versions("doc:works")])
    (second,) = (version.version_from for version in graph.history.versions("doc:works") if version.number == 2)
    seen.append([graph.stats(as_of=number)[0].records for number in (1, second)])
    if not graph.settings.store.startswith("hlgraph:"):
        for number, leader in ((1, "Mara Quill"), (second, "Ivo Brandt")):
            for where in ("", "year = 1"):
                (row,) = graph.cypher("find_facts", as_of=number, where=where, predicate="leads").rows
                assert row["subject"] == leader
        assert graph.cypher("find_facts", as_of=1, where="acl = 'nobody'", predicate="leads").rows == ()
        with pytest.raises(InputError, match="as_of"):
            graph.cypher("find_facts", as_of=10_000)
    report = graph.delete("doc:works", history=True, receipt="r.jsonl")
    seen.append((report.versions_removed, graph.stats(everything=True)[1].records))
    assert all(finding.is_fine for finding in graph.check())
    seen.append(graph.delete(everything=True).versions_removed)
    graph.ingest([Document("doc:works", "Una Moss leads the Aldane Works.")])  # the history is still kept
    seen.append([(v.number, v.version_from, v.version_to) for v in graph.history.versions("doc:works")])
    return seen


def test_queries_of_the_past_give_what_they_gave_then(servers: Any) -> None:
    """The date of a version is that of its source, not of its ingest; the title of a source names its version of the moment."""
    queries: list[tuple[str, dict[str, Any]]] = [
        ("count_growth", {}),
        ("count_mentions", {"entity": "Mara Quill"}),
        ("date_facts", {"entity": "Mara Quill"}),
        ("find_bridges", {"first": "Works", "second": "works-2"}),
        ("find_bridges", {"first": "Works", "second": "doc:works-2", "where": "title != 'Mill'"}),
    ]

    def rows(graph: HLGraph, **more: Any) -> list[Any]:
        found = (graph.cypher(name, **values, **more).rows for name, values in queries)
        return [
            [[value for key, value in row.items() if key not in ("id", "fact_id")] for row in some] for some in found
        ]

    settings = settings_for(servers)
    with opened(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        then: list[tuple[int, list[Any]]] = []
        for leader, year in (("Mara Quill", 1931), ("Mara Quill", 1932), ("Ivo Brandt", 1933)):
            for name, metadata in (("works", {"year": year}), ("works-2", {})):
                text = f"{leader} leads the Aldane Works. Mara Quill lives in Tessing."
                graph.ingest([Document(f"doc:{name}", text, name.title(), metadata)], keep_history=True)
            then.append((graph.stats()[0].version, rows(graph)))
        assert [day for day, *_ in then[0][1][0]] == ["1931", None]
        assert all(len(some) > 0 for _, all_rows in then for some in all_rows)
        for version, expected in then:
            assert rows(graph, as_of=version) == expected


def test_servers_keep_the_history_that_the_embedded_store_keeps(servers: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder()) as graph:
        expected = run(graph)
    Path("r.jsonl").unlink()
    Path("r.jsonl.history").unlink()
    settings = settings_for(servers)
    with opened(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        assert run(graph) == expected
