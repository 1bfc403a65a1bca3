"""What a program has in its hands is ingested: mappings, data frames, Arrow tables and texts; a path that is none is an error."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hlgraph
from hlgraph.errors import InputError, SettingsError
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "Mara Quill left.", "day": datetime(2024, 1, 2, tzinfo=UTC), "cost": Decimal("1.5"), "n": 1},
    {"id": "b", "text": "Ivo Brandt came.", "day": None, "cost": None, "n": 2},
]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(f"hlgraph://{tmp_path}", embedder=WordEmbedder()) as graph:
        yield graph


def stored(graph: HLGraph) -> dict[str, dict[str, object]]:
    return {source.uri: dict(source.metadata) for source in graph.sources.list()}


@pytest.mark.parametrize("kind", [list, iter, pd.DataFrame, pa.Table.from_pylist, lambda rows: [pd.DataFrame(rows)]])
def test_rows_of_any_kind_are_the_same_sources(graph: HLGraph, kind: Any) -> None:
    report = graph.ingest(kind(ROWS))
    assert (report.sources_added, report.failed) == (2, [])
    assert stored(graph) == {
        "rows:#a": {"day": "2024-01-02T00:00:00+00:00", "cost": 1.5, "n": 1},
        "rows:#b": {"n": 2},
    }
    assert graph.ingest(kind(ROWS)).sources_unchanged == 2
    assert len(graph.sources.list(where="day >= '2024-01-01'")) == 1


def _photos() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"id": at, "text": f"Mara Quill left {at}.", "photo": b"\x89PNG", "n": at} for at in (1, 2)
    ]
    return [*rows, {"id": 3, "text": "Ivo Brandt came.", "photo": None, "n": math.nan}]


@pytest.mark.parametrize("kind", [list, pd.DataFrame, pa.Table.from_pylist])
def test_bytes_are_left_out_with_one_warning_for_their_column_and_missing_values_without(
    graph: HLGraph, kind: Any
) -> None:
    report = graph.ingest(kind(_photos()))
    assert (report.sources_added, report.failed) == (3, [])
    (warning,) = report.warnings
    assert warning.uri == "rows:"
    assert warning.error == (
        "column 'photo': left out 2 values (bytes), which metadata cannot hold; give text, numbers, booleans, dates, or lists "
        "of these"
    )
    assert stored(graph) == {"rows:#1": {"n": 1}, "rows:#2": {"n": 2}, "rows:#3": {}}


@pytest.mark.parametrize(
    ("value", "column", "kind"),
    [
        (bytearray(b"x"), "x", "bytearray"),
        (memoryview(b"x"), "x", "memoryview"),
        (np.bytes_(b"x"), "x", "bytes"),
        ({"y": [b"x"]}, "x.y", "bytes"),
        (object(), "x", "object"),
        (iter([]), "x", "list_iterator"),
        ([[1], [2]], "x", "lists of lists or objects"),
        ([{"y": 1}], "x", "lists of lists or objects"),
        (np.eye(2), "x", "lists of lists or objects"),
        (math.inf, "x", "infinities"),
    ],
)
def test_what_metadata_cannot_hold_is_said(graph: HLGraph, value: object, column: str, kind: str) -> None:
    for row in ({"id": 1, "text": "Mara Quill left.", "x": value}, {"id": 2, "text": "Ivo.", "metadata": {"x": value}}):
        report = graph.ingest(row)
        (warning,) = report.warnings
        assert f"column {column!r}: left out 1 value ({kind})" in warning.error.replace("'metadata.x", "'x")
    assert set(map(str, stored(graph).values())) == {"{}"}


@pytest.mark.parametrize("value", [None, math.nan, np.nan, pd.NA, pd.NaT, [], {}, [None], ""])
def test_what_is_missing_is_left_out_without_a_word(graph: HLGraph, value: object) -> None:
    assert graph.ingest({"id": 1, "text": "Mara Quill left.", "x": value}).warnings == []


@pytest.mark.parametrize("value", [uuid.UUID(int=1), Path("a"), {1, 2}, Decimal("Infinity"), 1 << 70])
def test_what_has_a_text_is_kept(graph: HLGraph, value: object) -> None:
    assert graph.ingest({"id": 1, "text": "Mara Quill left.", "x": value}).warnings == []
    assert "x" in stored(graph)["rows:#1"]


def test_a_row_names_its_document_and_its_metadata(graph: HLGraph) -> None:
    row = {"uri": "doc:9", "body": "Mara Quill left.", "name": "Notes", "metadata": {"year": 1900, "none": None}}
    assert graph.ingest(row, mapping={"text": "body"}).warnings == []
    assert graph.sources.list()[0].title == "Notes"
    assert stored(graph) == {"doc:9": {"year": 1900}}
    report = graph.ingest([{"text": "Ivo Brandt came.", "x": math.nan, "tags": {"b", "a"}}, {"text": "", "id": 7}])
    assert [failure.uri for failure in report.failed] == ["rows:#7"]
    assert {"tags": ("a", "b")} in stored(graph).values()


def test_a_table_without_a_text_is_statements(graph: HLGraph) -> None:
    graph.ingest(pd.DataFrame({"bridge": ["Aldane", "Halfmoon"], "spans": [3, 5]}))
    (source,) = graph.sources.list()
    assert "| Halfmoon | 5 |" in graph.sources.open(source.uri).text
    with pytest.raises(InputError, match="two columns"):
        graph.ingest(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_texts_are_sources(graph: HLGraph) -> None:
    assert graph.ingest(text="Mara Quill left.").sources_added == 1
    report = graph.ingest([Document("doc:a", "Petra Voss sold it.")], text=["Mara Quill left.", "Ivo Brandt came."])
    assert (report.sources_added, report.sources_unchanged) == (2, 1)


def test_a_path_that_is_none_is_an_error_before_anything_is_stored(graph: HLGraph, tmp_path: Path) -> None:
    for wrong in ("Mara Quill designed the bridge.", [tmp_path / "none"], ["gone.md", "also-gone/"]):
        with pytest.raises(InputError, match=r"no such file or folder, so nothing was ingested; .* text="):
            graph.ingest(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no address is fetched, so nothing was ingested; download it"):
        graph.ingest("https://example.org/mill.html")
    (tmp_path / "a.txt").write_text("Mara Quill left.")
    report = graph.ingest([tmp_path / "a.txt", tmp_path / "none"])
    assert (report.sources_added, len(report.failed)) == (1, 1)
    assert graph.ingest([str(tmp_path / "*.none")]).failed  # a glob may match nothing, which the report says


def test_a_folder_is_a_store_and_an_address_of_http_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for target in ("./new", tmp_path / "new", "new"):
        with hlgraph.connect(target, embedder=WordEmbedder()) as graph:
            graph.ingest(text="Mara Quill left.")
            assert graph.sources.list().total == 1
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    (tmp_path / "a.txt").write_text("Ivo Brandt came.")
    (tmp_path / "none.txt").write_text("")
    with hlgraph.connect("new", embedder=WordEmbedder()) as graph:
        left_out = {file.uri.rstrip("/").rpartition("/")[2]: file.reason for file in graph.ingest(".").files.left_out}
        assert left_out == {"new": "store of hlgraph with all that is in it", "none.txt": "empty"}
    with pytest.raises(
        InputError, match=r"an address of HTTP, .* opened by hlgraph://./folder; OpenSearch goes beside it"
    ):
        hlgraph.connect("https://graphs.example.org").stats()
    with pytest.raises(SettingsError):
        hlgraph.connect("none.yaml")


def test_the_shell_completes_commands(tmp_path: Path) -> None:
    # The shell is that of the nearest process above; with one command only, bash would become that command.
    installed = ["bash", "-c", f"{sys.executable} -m hlgraph --install-completion; exit $?"]
    subprocess.run(installed, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, check=True)
    script = (tmp_path / ".bash_completions" / "hlgraph.sh").read_text()
    assert "_HLGRAPH_COMPLETE=complete_bash" in script
    words = {"_HLGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": "hlgraph sour", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "hlgraph"], env={**os.environ, **words}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["sources"]


def test_documents_may_have_none_and_decimals(graph: HLGraph) -> None:
    metadata: Any = {"a": None, "cost": Decimal("2.25"), "day": date(2024, 3, 5)}
    assert graph.ingest(Document("doc:a", "Mara Quill left.", metadata=metadata)).failed == []
    assert stored(graph) == {"doc:a": {"cost": 2.25, "day": "2024-03-05"}}


class Words(str):
    """A text of a library, such as one that BeautifulSoup or MarkupSafe returns."""


class Member(str, Enum):  # noqa: UP042 - its text is not its value
    ONE = "one"


SCALARS: list[tuple[object, object]] = [
    (np.float64(0.5), 0.5),
    (np.float32(0.5), 0.5),
    (np.longdouble(1.5), 1.5),
    (np.int64(5), 5),
    (np.bool_(True), True),
    (np.str_("abc"), "abc"),
    (Words("abc"), "abc"),
    (Member.ONE, "one"),
    (np.datetime64("2024-03-05"), "2024-03-05"),
    (np.datetime64("2024-03-05T10:30", "ns"), "2024-03-05T10:30:00+00:00"),
    (np.datetime64("20000-01-01"), "20000-01-01"),
    (pd.Timestamp("2024-03-05T10:30:00.123456789+01:00"), "2024-03-05T09:30:00.123456+00:00"),
    (pa.scalar(date(2024, 3, 5)), "2024-03-05"),
    (Decimal("2.25"), 2.25),
    (Decimal("NaN"), None),
    (np.datetime64("NaT", "ns"), None),
    (pd.NaT, None),
    (pd.NA, None),
]


@pytest.mark.parametrize(("given", "plain"), SCALARS)
def test_scalars_of_libraries_are_plain_in_rows_documents_and_filters(
    graph: HLGraph, given: object, plain: object
) -> None:
    metadata: Any = {"x": given, "of": [given, None]}
    document = Document(Words("doc:a"), Words("Mara Quill left."), Words("Note"), metadata)
    report = graph.ingest([document, {"uri": "row:a", "text": "Ivo Brandt came.", **metadata}])  # type: ignore[list-item]
    wanted = {} if plain is None else {"x": plain, "of": (plain,)}
    assert report.failed == []
    assert stored(graph) == {"doc:a": wanted or {"of": ()}, "row:a": wanted}
    if plain is not None:
        assert len(graph.sources.list(where={"x": given})) == 2
        assert {type(value) for source in graph.sources.each() for value in source.metadata.values()} == {
            type(plain),
            tuple,
        }


def test_a_column_of_ids_with_a_missing_one_names_the_same_sources(graph: HLGraph) -> None:
    """Data frames turn such a column into floats, and databases give whole numbers as decimals."""
    graph.ingest([{"id": 1, "text": "Mara Quill left."}, {"id": 2, "text": "Ivo Brandt came."}])
    for ids in ([1.0, 2.0], [Decimal(1), Decimal("2.0")], [np.int64(1), np.float32(2)]):
        report = graph.ingest(pd.DataFrame({"id": ids, "text": ["Mara Quill left.", "Ivo Brandt came."]}))
        assert report.sources_unchanged == 2


def test_arrays_and_series_in_rows_are_lists(graph: HLGraph) -> None:
    days = np.array(["2024-03-05"], dtype="M8[ns]")
    row = {"uri": "row:a", "text": "Mara Quill left.", "d": days, "s": pd.Series([1, 2]), "c": pd.Categorical(["a"])}
    assert graph.ingest(row).failed == []
    assert stored(graph) == {"row:a": {"d": ("2024-03-05T00:00:00+00:00",), "s": (1, 2), "c": ("a",)}}


def test_a_row_that_holds_itself_fails_alone(graph: HLGraph) -> None:
    nested: dict[str, Any] = {}
    nested["self"] = [nested]
    report = graph.ingest(
        [{"id": 1, "text": "Mara Quill left.", "more": nested}, {"id": 2, "text": "Ivo Brandt came."}]
    )
    assert [failure.error.partition("; ")[0] for failure in report.failed] == [
        "rows:: row 1 nests values too deeply, or in themselves"
    ]
    assert list(stored(graph)) == ["rows:#2"]


def test_options_for_files_are_refused_for_rows(graph: HLGraph, tmp_path: Path) -> None:
    graph.ingest(ROWS)
    for given in (ROWS[:1], pd.DataFrame(ROWS[:1]), Document("doc:a", "Mara Quill left.")):
        with pytest.raises(InputError, match="have none; leave it out, and delete what is gone by its uri"):
            graph.ingest(given, delete_missing=True)
        with pytest.raises(InputError, match="write those to a file"):
            graph.ingest(given, rows={"name": "text"})
    assert graph.sources.list().total == 2
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Petra Voss sold it.")
    assert graph.ingest([*ROWS, tmp_path / "docs"], delete_missing=True).sources_added == 1


def test_durations_of_data_frames_are_hours_minutes_and_seconds(graph: HLGraph, tmp_path: Path) -> None:
    spans = pd.to_timedelta(["1 days 02:03:04", "-90 min", None])
    frame = pd.DataFrame(
        {"id": [1, 2, 3], "text": ["Mara Quill left.", "Ivo Brandt came.", "Petra Voss sold it."], "span": spans}
    )
    frame.to_parquet(tmp_path / "spans.parquet")
    for given in (frame, pa.Table.from_pandas(frame), frame.to_dict("records"), tmp_path / "spans.parquet"):
        graph.ingest(given)
        assert [
            source.metadata.get("span") for source in sorted(graph.sources.each(), key=lambda source: source.uri)
        ] == [
            "26:03:04",
            "-1:30:00",
            None,
        ]
        graph.delete(everything=True)
    graph.ingest({"id": 1, "text": "Mara Quill left.", "span": np.timedelta64(26, "h")})
    assert stored(graph) == {"rows:#1": {"span": "26:00:00"}}
