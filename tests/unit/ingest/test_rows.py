"""Rows as entities and facts in a store: reruns, edits, removals, filters and refusals."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command_line import call
from msgspec.structs import replace

from hlgraph import Document, HLGraph, connect
from hlgraph.errors import InputError
from hlgraph.read.table_mapping import table_mapping
from hlgraph.records import Kind
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

sys.path.insert(0, str(Path(__file__).parents[1] / "read"))
from test_table_mapping import HEADER, MAPPING, rows, write_csv

COUNT = 100


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    with connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder()) as opened:
        yield opened


def _parts(graph: HLGraph) -> dict[str, object]:
    return dict(snapshot(graph.ingestion.opened.stores, graph.corpus))


def test_a_rerun_changes_nothing_and_an_edit_in_any_column_changes_its_source_only(
    graph: HLGraph, tmp_path: Path
) -> None:
    table = rows(COUNT)
    path = write_csv(tmp_path / "parts.csv", table)
    report = graph.ingest(path, rows=MAPPING)
    assert (report.sources_added, report.failed) == (COUNT, [])
    assert report.added["statement"] == COUNT
    assert report.added["entity"] == COUNT + 3
    before = _parts(graph)
    again = graph.ingest(path, rows=MAPPING)
    assert (again.sources_unchanged, dict(again.added), dict(again.removed)) == (COUNT, {}, {})
    assert _parts(graph) == before
    edits = {
        "Mass": "7.25",
        "Made": "1999-12-31",
        "Maker": "Delta AG",
        "Is used": "",
        "Uses": "Part 3",
        "Note": "new",
        "Part": "Part X",
    }
    for at, name in enumerate(HEADER[1:], 50):
        table[at][name] = edits[name]
        write_csv(path, table)
        report = graph.ingest(path, rows=MAPPING, delete_missing=True)
        changed = (report.sources_added, report.sources_changed, report.sources_unchanged, report.sources_removed)
        assert changed == (0, 1, COUNT - 1, 0), name
    table[60]["No"] = "new"
    report = graph.ingest(write_csv(path, table), rows=MAPPING, delete_missing=True)
    changed = (report.sources_added, report.sources_changed, report.sources_unchanged, report.sources_removed)
    assert changed == (1, 0, COUNT - 1, 1)


def test_edits_and_removals_give_the_state_of_a_fresh_store(graph: HLGraph, tmp_path: Path) -> None:
    table = rows(100)
    path = write_csv(tmp_path / "parts.csv", table)
    graph.ingest(path, rows=MAPPING)
    table[3]["Maker"] = "Delta AG"
    del table[50]
    report = graph.ingest(write_csv(path, table), rows=MAPPING, delete_missing=True)
    assert (report.sources_changed, report.sources_removed) == (1, 1)
    with connect(f"hlgraph://{tmp_path}/fresh", embedder=WordEmbedder()) as fresh:
        fresh.ingest(path, rows=MAPPING)
        assert _parts(graph) == _parts(fresh)


def test_filters_see_typed_values(graph: HLGraph, tmp_path: Path) -> None:
    graph.ingest(write_csv(tmp_path / "parts.csv", rows(100)), rows=MAPPING)
    hits = graph.search("Part", where="Mass > 140 and `Is used` = true and Made >= '2016-01-01'", k=100).evidence
    expected = {
        row["Part"]
        for row in rows(100)
        if float(row["Mass"]) > 140 and row["Is used"] == "yes" and row["Made"] >= "2016"
    }
    assert {each.source.title for each in hits} == expected
    assert expected


def test_a_new_mapping_extracts_again(graph: HLGraph, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "parts.csv", rows(10))
    graph.ingest(path, rows=MAPPING)
    columns = MAPPING["columns"] | {"Maker": {"type": "reference", "predicate": "built by"}}
    report = graph.ingest(path, rows=MAPPING | {"columns": columns})
    assert report.sources_changed == 10
    assert report.added["fact"] == report.removed["fact"] == 10


def test_a_mapping_that_does_not_fit_writes_nothing(graph: HLGraph, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "parts.csv", rows(100))
    with pytest.raises(InputError, match="'Maker' does not fit 100 of 100 rows"):
        graph.ingest(path, rows=MAPPING | {"columns": {"Maker": "number"}})
    assert list(graph.stats()) == []


def test_options_that_have_no_effect_are_refused(graph: HLGraph, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "parts.csv", rows(1))
    with pytest.raises(InputError, match="extract='spacy' has no effect"):
        graph.ingest(path, rows=MAPPING, extract="spacy")
    with pytest.raises(InputError, match="mapping has no effect"):
        graph.ingest(path, rows=MAPPING, mapping={"text": "Note"})
    with pytest.raises(InputError, match="not documents and rows"):
        graph.ingest([Document("a", "Text.")], rows=MAPPING)
    with pytest.raises(InputError, match="standard input"):
        graph.ingest("-", rows=MAPPING)


def test_the_command_line_infers_a_mapping_and_ingests_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "parts.csv", rows(20))
    inferred = call("plan", "parts.csv", "--rows")
    assert inferred.code == 0
    assert call("plan", "parts.csv", "--rows", "--json").tree["key"] == "No"
    (tmp_path / "parts.yaml").write_text(inferred.out, encoding="utf-8")
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    (tmp_path / "wrong.yaml").write_text("name: Part\ncolumns: {Weight: number}", encoding="utf-8")
    refused = call("ingest", "parts.csv", "--rows", "wrong.yaml")
    assert refused.code == 2
    assert "the mapping names the column 'Weight', which no row has; its columns: No, Part, Mass, Made" in refused.err
    with connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder()) as opened:
        assert list(opened.stats()) == []


def test_a_plan_of_rows_refuses_options_without_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "parts.csv", rows(20))
    for options in (["--adapt"], ["--map", "text=Note"], ["--mode", "report"]):
        refused = call("plan", "parts.csv", "--rows", *options)
        assert refused.code == 2
        assert f"{options[0]} has no effect with --rows" in refused.err
    refused = call("plan", "--question", "Who?", "--rows")
    assert "--rows is about an ingest, and --question about an answer" in refused.err


QUERY = 'SELECT "No", Part, Mass, Made, Maker, "Is used", Uses, Note FROM parts'


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        columns = ", ".join(f'"{name}"' for name in HEADER)
        connection.execute(f"CREATE TABLE parts ({columns})")
        table = [tuple(row.values()) for row in rows(20)]
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", table)
        connection.commit()
        yield connection


def _mapping_of(path: Path, query: str = QUERY, **more: str) -> dict[str, object]:
    return MAPPING | {"sql": {"connection": f"sqlite:///{path}/shop.db", "query": query, **more}}


def _ingest_query(graph: HLGraph, mapping: dict[str, object]) -> tuple[int, int, int, int]:
    report = graph.ingest("sql:parts", rows=mapping, delete_missing=True)
    assert report.failed == []
    return report.sources_added, report.sources_changed, report.sources_unchanged, report.sources_removed


def test_a_row_that_is_edited_or_deleted_in_the_database_is_so_after_the_next_ingest(
    graph: HLGraph, tmp_path: Path, database: sqlite3.Connection
) -> None:
    assert _ingest_query(graph, _mapping_of(tmp_path)) == (20, 0, 0, 0)
    assert _ingest_query(graph, _mapping_of(tmp_path, f"{QUERY} ORDER BY Mass DESC")) == (0, 0, 20, 0)
    database.execute("DELETE FROM parts WHERE \"No\" = 'P10'")
    database.execute("UPDATE parts SET Mass = 7.25 WHERE \"No\" = 'P11'")
    database.execute("INSERT INTO parts (\"No\", Part) VALUES ('PX', 'Part X')")
    database.commit()
    assert _ingest_query(graph, _mapping_of(tmp_path)) == (1, 1, 18, 1)
    hits = graph.search("Part", where="Mass = 7.25").evidence
    assert {each.source.uri for each in hits} == {"sql:parts#P11"}
    graph.delete("sql:parts")
    assert graph.stats()[0].records[Kind.SOURCE] == 0


FAILING = {
    "SELECT * FROM part": "its query failed (no such table: part)",
    "DELETE FROM parts": "its query failed (attempt to write a readonly database)",
    "SELECT Part, Part FROM parts": "two columns are called 'Part'; rename one of them with AS",
    f"{QUERY} WHERE abs(CASE \"No\" WHEN 'P19' THEN -9223372036854775807 - 1 ELSE 1 END)": "(integer overflow)",
    f"{QUERY} WHERE 0": "is empty: it holds no rows",
    "SELECT sesame FROM parts": "no such column: ***",
    "-- nothing": "its query returns no rows; write a SELECT",
}


def test_a_query_that_fails_changes_nothing_and_shows_no_password(
    graph: HLGraph, tmp_path: Path, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "sesame")
    _ingest_query(graph, _mapping_of(tmp_path))
    before = _parts(graph)
    database.execute("UPDATE parts SET Mass = 1")
    database.commit()
    for query, reason in FAILING.items():
        mapping = _mapping_of(tmp_path, query, password="SHOP_PASSWORD")
        (failure,) = graph.ingest("sql:parts", rows=mapping, delete_missing=True).failed
        assert failure.uri == "sql:parts"
        assert reason in failure.error
    assert _parts(graph) == before
    assert database.execute("SELECT count(*) FROM parts").fetchone() == (20,)


@pytest.mark.parametrize(
    ("source", "more", "reason"),
    [
        ("sql:parts", {"connection": "postgresql://me:sesame@h/shop"}, "the connection holds a password"),
        ("sql:parts", {"connection": "postgresql://me@h/shop?password=sesame"}, "the connection holds a password"),
        (
            "sql:parts",
            {"connection": "mssql://?odbc_connect=UID%3Dme%3BPWD%3Dsesame"},
            "the connection holds a password",
        ),
        ("sql:parts", {"connection": "shop.db"}, "its connection cannot be used"),
        ("sql:parts", {"connection": "sqlite+none:///shop.db"}, "its connection cannot be used"),
        ("sql:parts", {"connection": "mysql+mysqldb://me@h/shop"}, "the driver of the database is not installed"),
        (
            "sql:parts",
            {"password": "SHOP_PASSWORD"},
            "the environment variable SHOP_PASSWORD with the password is not set",
        ),
        ("sql:parts", {"user": "me"}, "unknown field `user`"),
        ("parts.csv", {}, "its only source is sql:NAME, not parts.csv"),
    ],
)
def test_a_query_that_cannot_be_used_is_one_error_without_its_password(
    graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, source: str, more: dict[str, str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "parts.csv", rows(1))
    with pytest.raises(InputError) as error:
        graph.ingest(source, rows=_mapping_of(tmp_path, **more))
    assert reason in str(error.value)
    assert "sesame" not in str(error.value)
    assert list(graph.stats()) == []


def test_a_mapping_that_does_not_fit_the_result_of_a_query_writes_nothing(
    graph: HLGraph, tmp_path: Path, database: sqlite3.Connection
) -> None:
    with pytest.raises(InputError, match="sql:parts: the mapping of the column 'Maker' does not fit 20 of 20 rows"):
        graph.ingest("sql:parts", rows=_mapping_of(tmp_path) | {"columns": {"Maker": "number"}})
    with pytest.raises(InputError, match="the mapping names the column 'Mass', which no row has"):
        graph.ingest("sql:parts", rows=_mapping_of(tmp_path, 'SELECT "No", Part FROM parts'))
    assert list(graph.stats()) == []
    report = graph.ingest("sql:a b", rows=_mapping_of(tmp_path))
    assert "write sql:NAME with letters, digits, . _ -" in report.failed[0].error
    report = graph.ingest("sql:parts", rows=MAPPING)
    assert "is the result of a query, and no query is given" in report.failed[0].error


def test_the_command_line_infers_the_mapping_of_a_query(
    tmp_path: Path, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    (tmp_path / "query.yaml").write_text(
        f"sql:\n  connection: sqlite:///shop.db\n  query: '{QUERY}'\n", encoding="utf-8"
    )
    inferred = call("plan", "query.yaml", "--rows")
    assert inferred.code == 0
    (tmp_path / "parts.yaml").write_text(inferred.out, encoding="utf-8")
    mapping = table_mapping(tmp_path / "parts.yaml")
    assert (mapping.key, mapping.name, mapping.columns["Mass"].type) == ("No", "Part", "number")
    assert mapping.sql is not None
    assert mapping.fingerprint == replace(mapping, sql=None).fingerprint
    for text, reason in (("name: Part", "has no query"), ("sql: {connection: 'sqlite:///shop.db'}", "`query`")):
        (tmp_path / "query.yaml").write_text(text, encoding="utf-8")
        refused = call("plan", "query.yaml", "--rows")
        assert refused.code == 2
        assert reason in refused.err
