"""A full disk is an error before anything is written: never a write to a hole of a mapped file, which ends the process."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import pytest

from hlgraph.errors import StoreUnavailableError
from hlgraph.records import Kind, Relationship
from hlgraph.stores import files
from hlgraph.stores.embedded import images, vector_files
from hlgraph.stores.image.graph_files import ArrayFiles
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch import query_bodies
from hlgraph.stores.protocols import PullShape, Scope, Stores, VectorQuery
from hlgraph.testing.corpus import CORPUS
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_KINDS = frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY})


@pytest.fixture
def stores(tiny_stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """A store of the tiny corpus that keeps graphs and rows of any size in files."""
    monkeypatch.setattr(images, "LEAST_NODES", 0)
    monkeypatch.setattr(vector_files, "LEAST_ROWS", 1)
    return tiny_stores


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A disk without room; the sizes that were asked of it."""
    asked: list[int] = []

    def refuse(handle: int, start: int, size: int) -> None:
        asked.append(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    return asked


def read(stores: Stores) -> list[object]:
    """What needs the graph and the rows of the vectors."""
    shape = PullShape(frozenset(Relationship), _KINDS)
    graph = stores.graph.whole(shape, scope=Scope(CORPUS))  # type: ignore[attr-defined]
    query = VectorQuery(Kind.STATEMENT, CORPUS, 5, _EMBEDDER.embed(["the canal"])[0])
    return [list(graph.ids), graph.adjacency().toarray().tolist(), stores.vectors.search(query)]


def test_the_blocks_are_there_before_anything_is_written(tmp_path: Path) -> None:
    files.allocate(tmp_path / "one", 1_000_000)
    found = (tmp_path / "one").stat()
    assert (found.st_size, found.st_mode & 0o777) == (1_000_000, files.FILE)
    assert found.st_blocks * 512 >= 1_000_000
    files.allocate(tmp_path / "none", 0)
    assert (tmp_path / "none").stat().st_size == 0
    made = ArrayFiles(tmp_path)
    with made.filling("nothing", "<i4", size=0) as rows:
        assert len(rows) == 0
    assert len(made.mapped("nothing", "<i4")) == 0


@pytest.mark.parametrize("can", [False, True])
def test_where_blocks_cannot_be_asked_for_zeros_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    def unable(handle: int, start: int, size: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "no")

    if can:
        monkeypatch.setattr(os, "posix_fallocate", unable)
    else:
        monkeypatch.delattr(os, "posix_fallocate")
    files.allocate(tmp_path / "one", (1 << 20) + 7)
    assert (tmp_path / "one").read_bytes() == bytes((1 << 20) + 7)
    assert (tmp_path / "one").stat().st_blocks * 512 >= (1 << 20) + 7


def test_a_full_disk_names_the_file_and_what_it_needs(tmp_path: Path, full: list[int]) -> None:
    said = r"the disk is full: this file needs 1,234,567 bytes; free some space.*one'"
    with pytest.raises(OSError, match=said) as error:
        files.allocate(tmp_path / "one", 1_234_567)
    assert error.value.errno == errno.ENOSPC
    assert full == [1_234_567]
    assert list(tmp_path.iterdir()) == []


def test_no_file_with_a_hole_is_mapped_to_be_written(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    real, names = np.memmap, []

    def checked(path: Any, *, mode: str, **more: Any) -> Any:
        if mode != "r":
            found = Path(path).stat()
            assert found.st_blocks * 512 >= found.st_size, path
            names.append(Path(path).suffix)
        return real(path, mode=mode, **more)

    monkeypatch.setattr(np, "memmap", checked)
    assert read(stores)
    assert {".new", ".cursor"} <= set(names)


def test_on_a_full_disk_arrays_stay_in_memory_with_a_warning(
    tmp_path: Path, stores: Stores, full: list[int], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read(stores)
    assert full
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text for text in said if "kept in memory" in text and f"needs {full[0]:,} bytes" in text]
    assert [text for text in said if "held in memory" in text and "free some space" in text]
    kept = [path.name for folder in ("graph", "vectors") for path in (tmp_path / "store" / folder).rglob("*")]
    assert not [name for name in kept if name.endswith((".new", ".loose", ".cursor"))]
    monkeypatch.undo()
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        assert read(opened.stores) == found


def test_a_temporary_copy_without_room_is_one_error_and_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A file that takes half of what is written."""

        def __init__(self, file: IO[bytes]) -> None:
            self.file = file

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.file.close()
            raise OSError(errno.ENOSPC, "No space left on device")

    vectors = np.eye(3, dtype=np.float32)
    rows = [SimpleNamespace(at=at, text=lambda field, at=at: f"row{at}") for at in range(3)]
    monkeypatch.setattr(query_bodies, "_blocks", lambda *more, **named: iter([rows[:2], rows[2:]]))
    monkeypatch.setattr(query_bodies, "matrix", lambda some, dimensions: vectors[[row.at for row in some]])
    home: Any = SimpleNamespace(alias="hlgraph-c-entity", meta=SimpleNamespace(dimensions=3))
    found = query_bodies.Replica(SimpleNamespace(is_serverless=True), home)  # type: ignore[arg-type]
    real = tempfile.TemporaryFile
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", lambda **named: Full(real(**named)))
        with pytest.raises(StoreUnavailableError, match=r"vectors of hlgraph-c-entity \(No space.*TMPDIR"):
            found.neighbours(vectors, threshold=0.5)
    assert sorted(found.neighbours(vectors, threshold=0.5).ids) == ["row0", "row1", "row2"]
    found.close()
