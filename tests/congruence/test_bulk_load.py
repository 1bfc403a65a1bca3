"""A bulk load of empty servers gives the graph, the rows and the evidence that an ordinary ingest gives; a kill changes nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import bulk_worker
import pytest
from command_worker import start_script
from live_stores import empty, neo4j_of, settings_for
from opensearch_fixture import opened as opened_vectors
from thoroughness import cases

from hlgraph import connect
from hlgraph.errors import InputError, StoreConflictError
from hlgraph.ingest import pipeline
from hlgraph.read.table_mapping import table_mapping
from hlgraph.records import Document
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_NODES = """
    MATCH (n) WHERE NOT n:Migration AND NOT n:Lease AND NOT n:ImageChange
    RETURN labels(n) AS labels, n{.*, stamp: null, before: null} AS properties"""
_LINKS = (
    "MATCH (a)-[r]->(b) WHERE type(r) <> 'CHANGED' RETURN a.id AS a, type(r) AS type, b.id AS b, r{.*} AS properties"
)
_QUESTION = "Who repaired the tower of Orne?"


def _graph(settings: Settings) -> tuple[list[str], list[str]]:
    """All nodes and relationships of the database as they are stored."""
    server = Server(settings.store, settings.neo4j)
    try:
        nodes, links = (server.driver().execute_query(query).records for query in (_NODES, _LINKS))
    finally:
        server.close()
    return tuple(sorted(json.dumps(row.data(), sort_keys=True) for row in rows) for rows in (nodes, links))  # type: ignore[return-value]


def _rows(settings: Settings) -> list[str]:
    """All rows of the vector store, without the change that wrote them; an embedded store sorts the metadata of a source."""
    connection = Connection(settings.vectors, settings.opensearch)
    body = {
        "size": 10_000,
        "query": {"match_all": {}},
        "fields": ["words", "data", "source", "length"],
        "_source": True,
    }
    path = f"/{settings.opensearch.prefix}-*/_search"
    found = json.loads(connection.send("POST", path, body=body).body)["hits"]["hits"]  # type: ignore[arg-type]
    connection.close()
    found = [row for row in found if row["_id"] != "history"]  # of the migrations
    for row in found:
        row["_source"].pop("change", None)
        if "described" in row["_source"]:
            row["_source"]["conditions"].sort()
            row["_source"]["described"]["metadata"] = json.loads(row["_source"]["described"]["metadata"])
        row.pop("_index")
    return sorted(json.dumps(row, sort_keys=True) for row in found)


def _index_settings(settings: Settings) -> set[tuple[str, str]]:
    connection = Connection(settings.vectors, settings.opensearch)
    path, plain = f"/{settings.opensearch.prefix}-*/_settings", {"flat_settings": "true"}
    found = json.loads(connection.send("GET", path, parameters=plain).body)
    connection.close()
    names = ("index.refresh_interval", "index.number_of_replicas")
    rows = [
        item["settings"] for item in found.values() if "index.knn" in item["settings"] or names[0] in item["settings"]
    ]
    assert len(rows) == 5  # the history of the migrations is another one
    return {(name, item[name]) for item in rows for name in names}


@pytest.fixture
def settings(servers: Any) -> Iterator[Settings]:
    """Settings for empty servers; all that was written is removed."""
    empty(servers)
    chosen = replace(settings_for(servers), corpus="loads")
    yield chosen
    with opened_vectors(servers.opensearch, prefix=chosen.opensearch.prefix):
        pass
    empty(servers)


def _clear(servers: Any, settings: Settings) -> None:
    empty(servers)
    with opened_vectors(servers.opensearch, prefix=settings.opensearch.prefix):
        pass


@pytest.mark.thorough
def test_a_bulk_load_that_is_killed_and_completed_is_an_ordinary_ingest(
    servers: Any, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "BATCH_CHARACTERS", bulk_worker.BATCH_CHARACTERS)
    tree = dataclasses.asdict(replace(settings, neo4j=neo4j_of(servers)))
    tree["neo4j"]["import_command"] = bulk_worker.importing(servers)
    config, folder, documents = tmp_path / "settings.json", tmp_path / "load", bulk_worker.documents()
    config.write_text(json.dumps({name: tree[name] for name in ("store", "vectors", "corpus", "neo4j", "opensearch")}))
    config.chmod(0o600)
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        graph.ingest(documents)
        evidence = graph.search(_QUESTION, strategy="path").evidence
    wanted, rows = _graph(settings), _rows(settings)
    assert len(wanted[0]) > 200
    assert len(rows) > 150
    _clear(servers, settings)

    def work(moment: str) -> int | None:
        worker = start_script(Path(bulk_worker.__file__).read_text(encoding="utf-8"), config, folder, moment)
        worker.join()
        return worker.exitcode

    # An import restarts Neo4j, and the one after it plans all queries anew: by default there is one.
    few = (bulk_worker.MOMENTS[1], "some rows are sent", "the corpus is visible")
    for moment in cases(few, bulk_worker.MOMENTS):
        assert work(moment) == -9, moment
        with connect(settings, embedder=WordEmbedder(48)) as graph:
            assert bool(graph.search(_QUESTION).evidence if graph.stats() else ()) == (
                moment == "the corpus is visible"
            )
        if moment == "some rows are sent":
            assert ("index.refresh_interval", "-1") in _index_settings(settings)
            with pytest.raises(StoreConflictError, match="a bulk load of another folder that was not finished"):
                bulk_worker.run(settings, documents, tmp_path / "another")
    assert work("") == 0

    found = _graph(settings)
    assert found[0] == wanted[0]
    assert found[1] == wanted[1]
    assert _rows(settings) == rows
    assert _index_settings(settings) == {("index.refresh_interval", "30s"), ("index.number_of_replicas", "0")}
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        assert graph.search(_QUESTION, strategy="path").evidence == evidence
        assert graph.reconcile()[0].is_none
        assert all(item.is_fine for item in graph._opened.check())
        assert graph.ingest(documents).sources_unchanged == len(documents)
        edited = replace(documents[3], text=f"{documents[3].text} Lena Foss left Rusk.")
        assert graph.ingest([edited]).sources_changed == 1
        after = snapshot(graph._opened.stores, "loads")
    with connect(f"hlgraph://{tmp_path}/load/store", corpus="loads", embedder=WordEmbedder(48)) as scratch:
        scratch.ingest([edited])
        assert snapshot(scratch._opened.stores, "loads") == after
    with pytest.raises(StoreConflictError, match=r"is not empty .*a bulk load replaces all of it"):
        bulk_worker.run(settings, documents, tmp_path / "another")


def test_what_cannot_be_loaded_is_refused_before_anything_is_written(
    servers: Any, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "load"
    with pytest.raises(InputError, match="is an embedded store, which --bulk would not load faster"):
        bulk_worker.run(replace(settings, store=f"hlgraph://{tmp_path}/e", vectors=""), bulk_worker.documents(), folder)
    for command, why in (("sh -c 'a", "cannot be split"), ("sh import.sh", "does not name the folder")):
        with pytest.raises(InputError, match=why):
            bulk_worker.run(settings, bulk_worker.documents(), folder, command=command)
    server = Server(settings.store, settings.neo4j)
    server.schema(["CREATE (:Customer), (:Customer)"])
    with pytest.raises(StoreConflictError, match=r"is not empty \(2 Customer\)"):
        bulk_worker.run(settings, bulk_worker.documents(), folder)
    server.schema(["MATCH (n:Customer) DELETE n"])
    server.close()
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        graph.ingest(bulk_worker.documents()[:1])
    empty(servers)
    with pytest.raises(StoreConflictError, match=r"1 of source, 1 of chunk.*reconcile --repair"):
        bulk_worker.run(settings, bulk_worker.documents(), folder)
    assert not folder.exists()


def test_without_a_command_the_files_wait_for_the_user(servers: Any, settings: Settings, tmp_path: Path) -> None:
    del servers
    folder = tmp_path / "load"
    report = bulk_worker.run(settings, bulk_worker.documents(), folder)
    assert report.command == ("neo4j-admin", "database", "import", "full", "@import.args", "neo4j")
    assert not report.is_done
    written = {path.name: path.read_bytes() for path in (folder / "import").iterdir()}
    assert set(written) == {item.name for item in report.manifest.files} | {"manifest.json", "import.args"}
    again = bulk_worker.run(settings, bulk_worker.documents(), folder)
    assert again.manifest == report.manifest
    assert {path.name: path.read_bytes() for path in (folder / "import").iterdir()} == written
    with pytest.raises(InputError, match="holds a bulk load of corpus 'loads'"):
        bulk_worker.run(replace(settings, corpus="other"), bulk_worker.documents(), folder)
    text = "Mara Quill built the \ufdd0 mill."
    with pytest.raises(InputError, match=r"the character U\+FDD0 or U\+FDD1"):
        bulk_worker.run(
            replace(settings, corpus="odd"), [Document("doc:odd", f"# \ufdd0\n\n{text}", "Odd")], tmp_path / "odd"
        )
    assert not (tmp_path / "odd" / "import").exists()


_OWN_QUERY = """// Sources by the typed values of their rows.
// params: corpus, mass
// columns: part, mass, made, used
// $corpus text = default: the corpus
// $mass number 0.. = 0: least mass
// example: hlgraph cypher run heavy_parts --mass 100
MATCH (d:Source {corpus: $corpus}) WHERE d.meta_Mass >= $mass AND d.meta_Used
RETURN d.title AS part, d.meta_Mass AS mass, d.meta_Made AS made, d.meta_Used AS used ORDER BY part
"""


def test_rows_of_a_table_have_the_same_typed_values_on_servers(
    servers: Any, settings: Settings, tmp_path: Path
) -> None:
    table = ["No,Part,Mass,Made,Used,Maker,Note"]
    table += [f"{n},Part {n},{n}.5 kg,2024-01-{n + 1:02},{'yes' if n % 2 else 'no'},Maker {n % 3}," for n in range(20)]
    table += [f"20,Part 20,heavy,2024-01-01,no,Maker 1,{'x' * 1_000_000}", f"21,Part 21,1 kg,,no,{'y' * 1_000_000},"]
    table += [f"22,Part 22,30 kg,2024-02-01,yes,Maker 1,{'long word ' * 100_000}"]
    path = tmp_path / "parts.csv"
    path.write_text("\n".join(table))
    mass = {"type": "number", "unit": "kg"}
    columns = {"Mass": mass, "Made": "date", "Used": "boolean", "Maker": "reference", "Note": "text"}
    mapping = table_mapping({"name": "Part", "key": "No", "columns": columns})
    (tmp_path / "heavy_parts.cypher").write_text(_OWN_QUERY)
    where = "Mass > 10 and Made >= '2024-01-14' and Used = true"
    del servers
    with (
        connect(settings, embedder=WordEmbedder(48)) as graph,
        connect(f"hlgraph://{tmp_path}/store", corpus="loads", embedder=WordEmbedder(48)) as other,
    ):
        for number in range(2):
            reports = [each.ingest(path, rows=mapping, delete_missing=True) for each in (graph, other)]
            assert {failure.uri.partition("#")[2] for failure in reports[0].failed} == {"20", "21"}
            assert reports[0].failed == reports[1].failed
            assert [each.sources_unchanged for each in reports] == [number * 21] * 2
            if number:
                path.write_text("\n".join(line for line in table if not line.startswith("13,")))
                report = graph.ingest(path, rows=mapping, delete_missing=True)
                assert (report.sources_removed, other.ingest(path, rows=mapping, delete_missing=True).removed) == (
                    1,
                    report.removed,
                )
            assert snapshot(graph._opened.stores, "loads") == snapshot(other._opened.stores, "loads")
        hits = [
            {hit.source.title for hit in each.search("Part", where=where, k=50).evidence} for each in (graph, other)
        ]
        assert hits[0] == hits[1] == {"Part 15", "Part 17", "Part 19", "Part 22"}
        rows = graph.cypher("heavy_parts", folder=tmp_path, mass=17.5).rows
        assert [tuple(row.values()) for row in rows] == [
            ("Part 17", 17.5, "2024-01-18", True),
            ("Part 19", 19.5, "2024-01-20", True),
            ("Part 22", 30, "2024-02-01", True),
        ]
