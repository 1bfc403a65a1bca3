"""The graph of a corpus is written for other tools, and each of them reads what was stored: networkx, pyarrow and rdflib."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import rdflib
from command_line import call
from live_stores import opened as opened_servers
from live_stores import settings_for
from pyarrow import parquet
from rdflib.namespace import PROV, RDF, SKOS

import hlgraph
from hlgraph.errors import AccessError, InputError
from hlgraph.records import Document, Kind, Record
from hlgraph.sdk import graph_formats
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.protocols import Scope
from hlgraph.testing.embedder import WordEmbedder

OA = rdflib.Namespace("http://www.w3.org/ns/oa#")
PAPERS = [
    Document(
        "doc:open",
        'Mara Quill designed the "Aldane" Bridge & <b>Tessing</b>\x0b.\n\nThe Aldane Bridge opened in 1931.',
        "Open <1>",
        {"acl": "public", "year": 1931, "tags": ["a", "b"]},
    ),
    Document("doc:cost", "Mara Quill designed the Orne Weir. Ivo Brandt paid Mara Quill.", metadata={"acl": "board"}),
]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(tmp_path / "store", embedder=WordEmbedder()) as graph:
        graph.ingest(PAPERS)
        yield graph.as_operator()


@pytest.mark.parametrize(("form", "read"), [("graphml", nx.read_graphml), ("gexf", nx.read_gexf)])
def test_networkx_reads_the_knowledge_graph(graph: HLGraph, tmp_path: Path, form: Any, read: Any) -> None:
    written = graph.export_graph(tmp_path / "out" / f"graph.{form}", format=form)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"graph.{form}"]
    assert written.bytes == written.path.stat().st_size
    found = nx.MultiDiGraph(read(written.path))
    entities, facts = list(graph.entities.each()), list(graph.facts.each())
    literals = [fact for fact in facts if fact.object_id is None]
    assert set(found.nodes) == {each.id for each in entities} | {each.id for each in literals}
    assert {found.nodes[each.id]["label"] for each in entities} == {each.name for each in entities}
    assert found.number_of_edges() == len(facts) == written.edges["fact"]
    edges = {(a, b, values["predicate"]): values for a, b, values in found.edges(data=True)}
    for fact in facts:
        values = edges[fact.subject_id, fact.object_id or fact.id, fact.predicate]
        opened = graph.facts.open(fact.id)
        assert (values["text"], int(values["statements"])) == (fact.text, opened.total)
        assert values["sources"].split(" | ") == sorted(source.uri for source in opened.sources.values())


def test_arrow_reads_nodes_edges_and_vectors(graph: HLGraph, tmp_path: Path) -> None:
    for _ in range(2):  # an earlier export is replaced
        written = graph.export_graph(tmp_path / "tables", format="parquet")
    tables = {path.stem: parquet.read_table(path).to_pylist() for path in sorted(written.path.iterdir())}
    nodes, records = {row["id"]: row for row in tables["nodes"]}, graph.stats()[0]
    kinds = [row["kind"] for row in tables["nodes"]]
    for kind in (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.FACT, Kind.ENTITY):
        assert kinds.count(kind.value) == records.records[kind] == written.nodes[kind.value]
    edges = [row["relationship"] for row in tables["edges"]]
    for relationship, count in records.relationships.items():
        if relationship in ("from_source", "mentions", "supports", "subject", "object"):
            assert edges.count(relationship.value) == count
    assert {end for row in tables["edges"] for end in (row["source"], row["target"])} <= nodes.keys()
    source = next(row for row in tables["nodes"] if row["uri"] == "doc:open")
    assert json.loads(source["metadata"]) == {"acl": ["public"], "year": 1931, "tags": ["a", "b"]}
    text = graph.sources.open("doc:open").text
    for row in tables["nodes"]:
        if row["kind"] == "chunk" and row["source_id"] == source["id"]:
            assert text[row["start"] : row["end"]] == row["text"]
    stores = graph.ingestion.opened.stores
    wanted = {row["id"]: row["vector"] for row in tables["vectors"] if row["kind"] == "entity"}
    names, vectors = stores.vectors.vectors(Kind.ENTITY, graph.corpus, ids=sorted(wanted))
    assert len(names) == len(wanted) == records.records[Kind.ENTITY]
    assert np.allclose([wanted[name] for name in names], vectors)


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # of rdflib itself
def test_rdflib_reads_where_each_statement_comes_from(graph: HLGraph, tmp_path: Path) -> None:
    written = graph.export_graph(tmp_path / "graph.jsonld", format="jsonld")
    found = rdflib.Graph().parse(written.path, format="json-ld")
    facts = list(graph.facts.each())
    assert len(list(found.subjects(RDF.type, RDF.Statement))) == len(facts)
    assert {str(name) for name in found.objects(None, SKOS.prefLabel)} == {each.name for each in graph.entities.each()}
    fact = next(each for each in facts if each.subject == "Ivo Brandt")
    node = rdflib.URIRef(f"urn:hlgraph:{fact.id}")
    (statement,) = found.objects(node, PROV.wasDerivedFrom)
    (chunk,) = found.objects(statement, PROV.wasDerivedFrom)
    (source,) = found.objects(chunk, PROV.wasQuotedFrom)
    assert str(found.value(source, rdflib.DCTERMS.identifier)) == "doc:cost"
    start, end = (found.value(statement, OA[name]).toPython() for name in ("start", "end"))
    assert graph.sources.open("doc:cost").text[start:end] == str(found.value(statement, PROV.value))
    (activity,) = found.objects(statement, PROV.wasGeneratedBy)
    assert (activity, RDF.type, PROV.Activity) in found
    assert "hlgraph" in str(found.value(found.value(activity, PROV.wasAssociatedWith), rdflib.RDFS.label))


def test_a_file_holds_what_the_caller_may_see(graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = graph.as_caller({"public"})
    for form in ("graphml", "gexf", "jsonld"):
        text = view.export_graph(tmp_path / "seen", format=form).path.read_text()  # type: ignore[arg-type]
        assert "Mara Quill" in text
        assert not [word for word in ("Orne", "Ivo", "doc:cost", "board") if word in text]
    whole, part = (
        parquet.read_table(each.export_graph(tmp_path / name, format="parquet").path / "vectors.parquet").num_rows
        for each, name in ((graph, "all"), (view, "part"))
    )
    assert 0 < part < whole
    with graph.in_corpus("default") as other, pytest.raises(InputError, match="format is 'dot'"):
        other.export_graph(tmp_path / "x", format="dot")  # type: ignore[arg-type]
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    with hlgraph.connect(tmp_path / "store", embedder=WordEmbedder()) as plain, pytest.raises(AccessError):
        plain.export_graph(tmp_path / "x", format="gexf")
    assert not (tmp_path / "x").exists()
    done = call("export", tmp_path / "g.GEXF", "--as", "board", "--where", "exists acl", "--json")
    assert done.tree["nodes"]["entity"] == 3
    assert call("export", tmp_path / "c", "--where", "exists acl").code == 2


def test_both_stores_write_the_same_file(graph: HLGraph, tmp_path: Path, servers: Any) -> None:
    settings = settings_for(servers)
    with opened_servers(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as other:
        other.ingest(PAPERS)
        for form in ("gexf", "jsonld"):
            one, two = (
                each.as_operator().export_graph(tmp_path / name, format=form).path.read_bytes()  # type: ignore[arg-type]
                for each, name in ((graph, "one"), (other, "two"))
            )
            assert one == two
        tables = [
            parquet.read_table(
                each.as_operator().export_graph(tmp_path / name, format="parquet").path / "edges.parquet"
            )
            for each, name in ((graph, "three"), (other, "four"))
        ]
        assert tables[0].equals(tables[1])


def test_what_is_in_memory_at_once_is_bounded_by_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No read asks for more than a page of records, and what those of a page are linked to."""
    monkeypatch.setattr(graph_formats, "_PAGE", 7)
    monkeypatch.setattr(graph_formats, "_SOURCES_AT_ONCE", 3)
    sizes = []
    original = EmbeddedGraphStore.records

    def records(store: EmbeddedGraphStore, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        sizes.append(len(ids))
        return original(store, kind, ids, scope=scope)

    monkeypatch.setattr(EmbeddedGraphStore, "records", records)
    papers = [Document(f"doc:{at}", f"Mara Quill {at} designed Tessing {at}.") for at in range(40)]
    with hlgraph.connect(tmp_path / "store", embedder=WordEmbedder()) as graph:
        graph.ingest(papers)
        sizes.clear()
        for form in ("graphml", "gexf", "parquet", "jsonld"):
            written = graph.export_graph(tmp_path / form, format=form)  # type: ignore[arg-type]
            assert written.nodes["entity"] == 80
    assert max(sizes) <= 14  # both ends of seven facts
