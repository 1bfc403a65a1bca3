"""Rows as entities and facts in a store: reruns, edits, removals, filters and refusals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import call

from hlgraph import Document, HLGraph, connect
from hlgraph.errors import InputError
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

sys.path.insert(0, str(Path(__file__).parents[1] / "read"))
from test_table_mapping import HEADER, MAPPING, rows, write_csv

COUNT = 1000


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
    for at, name in enumerate(HEADER[1:], 500):
        table[at][name] = edits[name]
        write_csv(path, table)
        report = graph.ingest(path, rows=MAPPING, delete_missing=True)
        changed = (report.sources_added, report.sources_changed, report.sources_unchanged, report.sources_removed)
        assert changed == (0, 1, COUNT - 1, 0), name
    table[600]["No"] = "new"
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
    with pytest.raises(InputError, match="not for documents"):
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
