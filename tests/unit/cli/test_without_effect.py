"""An option that changes nothing says so, and what is read otherwise than expected stands in the report."""

from __future__ import annotations

from pathlib import Path

import pytest

import hlgraph
from hlgraph.cli.commands.search import chosen
from hlgraph.cli.output import report_tree
from hlgraph.ingest.report import Failure, Report
from hlgraph.testing.embedder import WordEmbedder


def ingested(folder: Path, mapping: dict[str, str] | None = None) -> Report:
    with hlgraph.connect(f"hlgraph://{folder.with_name('store')}", embedder=WordEmbedder()) as graph:
        return graph.ingest(folder, mapping=mapping or {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def test_a_mapping_without_rows_is_reported_as_ineffective(folder: Path) -> None:
    (folder / "a.txt").write_text("Ada met Bob.")
    report = ingested(folder, {"text": "body"})
    assert (report.failed, report.problems) == ([], [])
    [line] = [line for line in str(report).splitlines() if line.startswith("warning")]
    assert line.startswith("warning: --map: had no effect: it maps the columns of rows (CSV, JSON, JSON lines)")


def test_a_reason_shared_by_sources_is_printed_once() -> None:
    reasons = ["is empty", "is binary", *["is empty"] * 4, *(f"line {at} is not JSON" for at in range(30))]
    report = Report(failed=[Failure(f"file:{at}", f"file:{at}: {reason}") for at, reason in enumerate(reasons)])
    lines = [line for line in str(report).splitlines() if line.startswith(("failed", "..."))]
    assert lines[:3] == [
        "failed: is empty (5 sources: file:0, file:2, file:3 and 2 more)",
        "failed: file:1: is binary",
        "failed: file:6: line 0 is not JSON",
    ]
    assert lines[20:] == ["... and 12 more reasons of failures (--json lists all)"]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_mapped_column_missing_from_all_rows_is_named(folder: Path, name: str) -> None:
    rows = {"a.csv": "id,body\n1,one\n2,two\n", "a.jsonl": '{"id": 1, "body": "one"}\n{"id": 2, "body": "two"}\n'}
    (folder / name).write_text(rows[name])
    report = ingested(folder, {"text": "body", "title": "headline"})
    assert report.sources_added == 2
    assert [item.error for item in report.warnings] == [
        "no row has the column of --map title=headline; it had no effect"
    ]


def test_reading_warnings_are_reported_when_nothing_changed(folder: Path) -> None:
    (folder / "a.txt").write_bytes("Grüße aus Köln.".encode("latin-1"))
    for _ in range(2):
        report = ingested(folder)
        [warning] = report_tree(report)["warnings"]  # type: ignore[misc]
        assert warning["uri"] == (folder / "a.txt").as_uri()
        assert "read as cp1252" in warning["warning"]
    assert report.sources_unchanged == 1


def test_a_preset_without_effect_prints_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    chosen("chunk", "tuned", by="rules", sets=None)
    said = capsys.readouterr().err
    assert said.startswith("--preset tuned had no effect: chunk has no such preset; ")
    assert "statement" in said
    chosen("statement", "tuned", by="rules", sets=None)
    chosen("chunk", "paper", by="rules", sets=None)
    assert capsys.readouterr().err == ""
