"""The import files of a bulk load hold the rows of a corpus, whatever its texts are, and mark what CSV cannot hold."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlgraph import connect
from hlgraph.cli import main
from hlgraph.records import Document
from hlgraph.stores.embedded.copying import EmbeddedCorpusReader
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.neo4j import bulk_load
from hlgraph.testing.embedder import WordEmbedder

_TEXT = '# "A, b"\n\nMara Quill\\ built the "mill", so.\r\nIvo Brandt repaired the tower of Orne; Mara Quill saw it.'


def _rows(path: Path) -> Iterator[dict[str, str]]:
    return csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode(), newline=""))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The files of two sources."""
    store, folder = tmp_path / "store", tmp_path / "import"
    with connect(f"hlgraph://{store}", corpus='a "b"', embedder=WordEmbedder(8)) as graph:
        graph.ingest([Document("doc:1", _TEXT, "One"), Document("doc:2", f"Orne is old. {_TEXT}", "Two")])
    database = Database(store)
    folder.mkdir()
    found = bulk_load.write(EmbeddedCorpusReader(database, 'a "b"'), folder, corpus='a "b"', load="abc", prefix="Acme_")
    database.close()
    for item in found:
        assert len(list(_rows(folder / item.name))) == item.rows
        assert item.size == (folder / item.name).stat().st_size
    return folder


def test_texts_and_lists_round_trip(written: Path) -> None:
    chunks = list(_rows(written / "chunks.csv.gz"))
    assert {row["corpus"] for row in chunks} == {'a "b"'}
    assert any(
        row["text"].endswith('built the "mill", so.\r\nIvo Brandt repaired the tower of Orne; Mara Quill saw it.')
        for row in chunks
    )
    ids = {row["id:ID"] for row in chunks}
    mentions = list(_rows(written / "mentions.csv.gz"))
    assert mentions
    for row in mentions:
        parts = [row[f"{name}:string[]"].split(bulk_load.BETWEEN) for name in ("chunks", "surfaces", "kinds")]
        assert len({len(part) for part in parts}) == 1
        assert set(parts[0]) <= ids
    assert bulk_load.ONE_EMPTY in {row["kinds:string[]"] for row in mentions}


def test_arguments_name_every_file_and_prefixed_label(written: Path) -> None:
    lines = (written / "import.args").read_text().splitlines()
    named = {line.rpartition("./")[2] for line in lines if "./" in line}
    assert named == {path.name for path in written.glob("*.csv.gz")}
    assert "--nodes=Acme_Chunk=./chunks.csv.gz" in lines
    assert "--relationships=IN_CHUNK=./placements.csv.gz" in lines


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--import-command", "sh x {folder}"], "--import-command has no effect without --bulk"),
        (["--bulk", "load", "--ray"], "not on a Ray cluster"),
        (["--bulk", "load"], "is an embedded store, which --bulk would not load faster"),
    ],
)
def test_contradictory_options_are_refused(
    options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("Mara Quill built the mill.")
    with pytest.raises(SystemExit) as ended:
        main(["--store", f"hlgraph://{tmp_path}/store", "ingest", str(tmp_path / "a.txt"), *options])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err
    assert not Path("load").exists()
    assert not (tmp_path / "store").exists()
