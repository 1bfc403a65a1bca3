"""Rows of a large matrix lie in files: the same searches as from memory, and nothing of what was deleted."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.ids import source_id
from hlgraph.records import Kind, Source
from hlgraph.stores.embedded import vector_files
from hlgraph.stores.embedded import vectors as vectors_module
from hlgraph.stores.embedded import vectors as view_module
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Row, Stores, VectorBatch, VectorQuery
from hlgraph.where import parse

_WIDTH = 16
_SOURCES = [
    Source(source_id("c", f"doc:{at}"), "c", f"doc:{at}", f"Title {at}", "", {"year": at % 3}, 1) for at in range(12)
]


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of any number in files, the first time and whenever there are ten more."""
    monkeypatch.setattr(vector_files, "LEAST_ROWS", 10)
    monkeypatch.setattr(vector_files, "_BATCH", 7)


def _name(at: int) -> str:
    return f"{at:032x}"


def _vectors(ids: range) -> NDArray[np.float32]:
    rows = [np.random.default_rng(at).standard_normal(_WIDTH) for at in ids]
    return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)


def _write(stores: Stores, ids: range, *, change: str, kind: Kind = Kind.STATEMENT) -> None:
    sources = tuple(_SOURCES[at % len(_SOURCES)].id for at in ids)
    names = tuple(_name(at) for at in ids)
    texts = ("",) * len(names)
    block = VectorBlock(kind, names, texts, sources, _WIDTH, _vectors(ids).tobytes())
    stores.vectors.upsert(VectorBatch("c", change, tuple(_SOURCES), (block,)))


def _found(stores: Stores) -> list[list[tuple[str, float]]]:
    """Searches with and without filters and changes that are hidden."""
    found = []
    for vector in _vectors(range(1000, 1004)):
        for where in (None, parse("year = 1"), parse("year = 9")):
            for hidden in ((), ("three",), ("one", "nothing")):
                query = VectorQuery(Kind.STATEMENT, "c", 8, vector, where=where, hidden=hidden)
                found.append([(hit.id, round(hit.score, 5)) for hit in stores.vectors.search(query)])
    near = stores.vectors.neighbours(Kind.STATEMENT, "c", vectors=_vectors(range(0, 40, 7)), threshold=0.4)
    return [
        *found,
        sorted((name, round(float(score), 4)) for name, score in zip(near.ids, near.similarities, strict=True)),
    ]


def _change(stores: Stores) -> Iterator[list[list[tuple[str, float]]]]:
    _write(stores, range(40), change="one")
    yield _found(stores)
    _write(stores, range(40, 45), change="two")
    yield _found(stores)
    _write(stores, range(45, 80), change="three")
    yield _found(stores)
    stores.vectors.delete("c", {"statement": [_name(at) for at in range(3, 60, 9)]})
    yield _found(stores)
    _write(stores, range(70, 90), change="four")  # some are replaced
    yield _found(stores)


def _folders(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "store" / "vectors").iterdir() if path.is_dir())


@pytest.mark.parametrize("has_codes", [False, True])
def test_searches_over_files_are_those_over_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_codes: bool
) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/one")
    with opened.closing:
        expected = list(_change(opened.stores))
    assert any(path.is_dir() for path in (tmp_path / "one" / "vectors").iterdir()) is False
    monkeypatch.setattr(vector_files, "LEAST_ROWS", 10)
    monkeypatch.setattr(vector_files, "_BATCH", 7)
    if has_codes:
        monkeypatch.setattr(vector_files, "COARSE_LEAST_ROWS", 10)
        monkeypatch.setattr(vector_files, "BLOCK", 9)
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        for step, found in enumerate(_change(opened.stores)):
            assert found == expected[step]
            other = open_stores(f"hlgraph://{tmp_path}/store")
            with other.closing:  # another reader, that begins with what the first one wrote
                assert _found(other.stores) == expected[step]
            assert len(_folders(tmp_path)) == 1
        names = {path.name.partition(".")[2] for path in (tmp_path / "store" / "vectors").rglob("*.*")}
        assert ("codes" in names) == has_codes


@pytest.mark.usefixtures("in_files")
def test_what_is_in_files_is_not_read_from_the_database_again(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(stores, range(40), change="one")
    expected = _found(stores)
    _write(stores, range(40, 44), change="two")
    read: list[int] = []
    original = vector_files.read_columns

    def counted(*args: object, **options: object) -> vector_files.Columns:
        found = original(*args, **options)  # type: ignore[arg-type]
        read.append(len(found.ids))
        return found

    monkeypatch.setattr(view_module, "read_columns", counted)
    other = open_stores(f"hlgraph://{tmp_path}/store")
    with other.closing:
        assert _found(other.stores) != expected
    assert read == [4]


@pytest.mark.usefixtures("in_files")
def test_rows_of_other_kinds_are_not_looked_at_again(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows after the last one of its kind were read by each search after a change: tens of thousands."""
    _write(stores, range(40), change="one")
    _write(stores, range(400), change="two", kind=Kind.ENTITY)
    _found(stores)
    steps: list[int] = []
    original = vector_files.read_columns

    def counted(connection: sqlite3.Connection, *args: object, **options: object) -> vector_files.Columns:
        steps.append(0)

        def step() -> None:
            steps[-1] += 1

        connection.set_progress_handler(step, 1)
        try:
            return original(connection, *args, **options)  # type: ignore[arg-type]
        finally:
            connection.set_progress_handler(None, 0)

    monkeypatch.setattr(view_module, "read_columns", counted)
    for gone in (7, 8):
        stores.vectors.delete("c", {"statement": [_name(gone)]})
        _found(stores)
    assert len(steps) == 2
    assert max(steps) < 60


def _files(tmp_path: Path) -> dict[str, bytes]:
    """The cached files, by what they hold."""
    found = (path for path in (tmp_path / "store" / "vectors").glob("*/*") if path.suffix != ".lock")
    return {path.suffix: path.read_bytes() for path in found}


@pytest.mark.usefixtures("in_files")
def test_nothing_of_a_deleted_row_stays(stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files stay, but for the places of the row, and for the source that no other row has."""
    monkeypatch.setattr(vector_files, "COARSE_LEAST_ROWS", 10)
    _write(stores, range(11), change="one")
    _write(stores, range(12, 40), change="two")  # the last source is that of rows 23 and 35 alone
    for _ in range(2):
        _found(stores)
    before = _files(tmp_path)
    gone = [11, 22, 34]
    stores.vectors.delete("c", {"statement": [_name(at) for at in (12, 23, 35)]})
    after = _files(tmp_path)
    assert [len(data) for data in before.values()] == [len(data) for data in after.values()]
    held = (before, after)
    for name, width in (
        (".ids", 32),
        (".checksums", 4),
        (".codes", _WIDTH),
        (".scales", 4),
        (".lengths", 4),
        (".rests", 4),
    ):
        one, two = (np.frombuffer(files[name], dtype=f"V{width}") for files in held)
        assert all(any(item) for item in one[gone].tolist())
        assert not any(any(item) for item in two[gone].tolist())
        assert np.flatnonzero(one != two).tolist() == gone
    assert _SOURCES[11].id.encode() in before[".names"]
    assert _SOURCES[11].id.encode() not in after[".names"]
    assert all(_SOURCES[at].id.encode() in after[".names"] for at in range(11))
    expected = _found(stores)
    other = open_stores(f"hlgraph://{tmp_path}/store")
    with other.closing:
        for _ in range(2):
            assert _found(other.stores) == expected
    assert _files(tmp_path) == after
    stores.vectors.delete("c", {"statement": [_name(at) for at in range(40)]})
    assert list((tmp_path / "store" / "vectors").iterdir()) == []


@pytest.mark.usefixtures("in_files")
def test_a_reader_that_comes_late_writes_nothing_of_a_deleted_row(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are deleted between the look at the state and the making of the files, or when they are half made."""
    _write(stores, range(40), change="one")
    make = view_module.Views._make

    def late(self: view_module.Views, *args: object) -> None:
        stores.vectors.delete("c", {"statement": [_name(7)]})
        make(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(view_module.Views, "_make", late)
    query = VectorQuery(Kind.STATEMENT, "c", 40, _vectors(range(7, 8))[0])
    assert _name(7) not in {hit.id for hit in stores.vectors.search(query)}
    written = [path for path in (tmp_path / "store" / "vectors").rglob("*") if path.is_file()]
    assert not [path for path in written if _name(7).encode() in path.read_bytes()]


@pytest.mark.usefixtures("in_files")
def test_where_nothing_can_be_written_rows_are_in_memory(stores: Stores, tmp_path: Path) -> None:
    _write(stores, range(40), change="one")
    (tmp_path / "store" / "vectors" / "1-1").write_text("a file where the folder should be")
    assert sum(len(hits) for hits in _found(stores)) > 100


@pytest.mark.usefixtures("in_files")
def test_files_of_fewer_rows_go(stores: Stores, tmp_path: Path) -> None:
    rng = random.Random(1)
    first = 0
    for step in range(6):
        count = rng.randint(10, 20)
        _write(stores, range(first, first + count), change=f"step {step}")
        first += count
        _found(stores)
        (folder,) = (path for path in (tmp_path / "store" / "vectors").iterdir() if path.is_dir())
        assert len(list(folder.glob("*.ids"))) == 1
        assert sum(path.stat().st_size for path in folder.glob("*.ids")) == 32 * first


@pytest.mark.usefixtures("in_files")
def test_a_search_that_meets_a_wiped_row_begins_again(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """It raised StoreCorruptError, as if the row had been altered."""
    _write(stores, range(40), change="one")
    query = VectorQuery(Kind.STATEMENT, "c", 3, _vectors(range(7, 8))[0])
    expected = [hit.id for hit in stores.vectors.search(query)]
    assert expected[0] == _name(7)
    score = vectors_module._scores
    left = [_name(7)]

    def late(*args: object) -> NDArray[np.float32]:
        found = score(*args)  # type: ignore[arg-type]
        if left:
            stores.vectors.delete("c", {"statement": [left.pop()]})
        return found

    monkeypatch.setattr(vectors_module, "_scores", late)
    assert [hit.id for hit in stores.vectors.search(query)][:2] == expected[1:]


@pytest.mark.usefixtures("in_files")
def test_a_source_that_was_mended_is_that_of_all_searches(stores: Stores, tmp_path: Path) -> None:
    """The files held the old one."""
    _write(stores, range(40), change="one")
    _found(stores)
    row = Row(_name(7), "", _SOURCES[0].id)
    assert stores.vectors.examine(Kind.STATEMENT, "c", rows=[row], repair=True).texts == {_name(7)}
    for where, is_there in (("year = 0", True), ("year = 1", False)):
        query = VectorQuery(Kind.STATEMENT, "c", 40, _vectors(range(7, 8))[0], where=parse(where))
        other = open_stores(f"hlgraph://{tmp_path}/store")
        with other.closing:
            for held in (stores, other.stores):
                assert (_name(7) in {hit.id for hit in held.vectors.search(query)}) is is_there


def test_the_approximate_index_of_an_older_version_goes(stores: Stores, tmp_path: Path) -> None:
    """It holds the vectors that are deleted."""
    _write(stores, range(4), change="one")
    old = tmp_path / "store" / "vectors" / "1-1.usearch"
    old.write_bytes(b"vectors")
    stores.vectors.delete("c", {"statement": [_name(1)]})
    assert not old.exists()
