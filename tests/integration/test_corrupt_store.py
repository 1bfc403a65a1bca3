"""A store that was altered behind its back: the doctor says what, a search never lies about it, and the repair restores it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hlgraph
from hlgraph.errors import StoreCorruptError
from hlgraph.records import Document, Kind
from hlgraph.stores.embedded.sqlite import broken_seals, totals
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_DOCUMENTS = [
    Document(
        f"doc:{at}",
        f"# Bridges of Tessing\n\nMara Quill designed the Aldane Bridge in 19{at}0. Ivo Brandt wrote about the Orne.\n\n"
        f"# Rivers\n\nThe Orne froze in 18{at}0. Mara Quill met Ivo Brandt in Tessing{at * ' again'}.",
        f"Title {at}",
        {"year": at},
    )
    for at in range(1, 4)
]
_QUESTION = "Who designed the Aldane Bridge?"

Files = Mapping[Kind, Path]
Alter = Callable[[Path, Files], None]


def _connect(folder: Path) -> hlgraph.HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}", corpus="c", embedder=WordEmbedder())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, list[object]]]:
    """A store, and what it holds."""
    folder = tmp_path_factory.mktemp("written") / "store"
    with _connect(folder) as graph:
        graph.ingest(_DOCUMENTS)
        assert [item for item in graph.check() if not item.is_fine] == []
        assert graph.reconcile()[0].is_none
        return folder, snapshot(graph._opened.stores, "c")


def _files(folder: Path) -> Files:
    with closing(sqlite3.connect(folder / "hlgraph.db")) as connection:
        rows = connection.execute("SELECT kind, file, generation FROM vector_file").fetchall()
    return {Kind(kind): folder / "vectors" / f"{file}-{generation}.f32" for kind, file, generation in rows}


def _vectors(change: Callable[[NDArray[np.float32]], None]) -> Alter:
    def alter(folder: Path, files: Files) -> None:
        rows = np.fromfile(files[Kind.STATEMENT], dtype="<f4").reshape(-1, 32)
        change(rows)
        rows.tofile(files[Kind.STATEMENT])

    return alter


def _flip(rows: NDArray[np.float32]) -> None:
    rows.view("<u4")[1, 3] ^= 1 << 20


def _zero(rows: NDArray[np.float32]) -> None:
    rows[2:4] = 0


def _swap(rows: NDArray[np.float32]) -> None:
    rows[[0, 1]] = rows[[1, 0]]


def _nan(rows: NDArray[np.float32]) -> None:
    rows[0, 0] = np.nan


def _sql(*statements: str) -> Alter:
    def alter(folder: Path, files: Files) -> None:
        numbers = {kind.value: int(path.name.partition("-")[0]) for kind, path in files.items()}
        with closing(sqlite3.connect(folder / "hlgraph.db")) as connection, connection:
            for statement in statements:
                changed = connection.execute(statement.format_map(numbers)).rowcount
                assert changed, statement

    return alter


def _gone(folder: Path, files: Files) -> None:
    shutil.rmtree(folder / "vectors")


def _cut(folder: Path, files: Files) -> None:
    with files[Kind.STATEMENT].open("r+b") as file:
        file.truncate(300)


_STATEMENTS, _CHUNKS = "vectors and text of statements", "vectors and text of chunks"
_WAYS: dict[str, tuple[Alter, str, bool]] = {
    # how it is altered, the check of the doctor that finds it, whether its documents are needed
    "a flipped bit": (_vectors(_flip), _STATEMENTS, False),
    "vectors of zeros": (_vectors(_zero), _STATEMENTS, False),
    "vectors in another order": (_vectors(_swap), _STATEMENTS, False),
    "a vector with NaN": (_vectors(_nan), _STATEMENTS, False),
    "no vectors": (_gone, "vector files", False),
    "a cut vector file": (_cut, "vector files", False),
    "a slot beyond the matrix": (
        _sql("UPDATE vector SET slot = 1 << 40 WHERE file = {statement} AND n % 2"),
        _STATEMENTS,
        False,
    ),
    "a negative slot": (
        _sql("UPDATE vector SET slot = -1 WHERE n = (SELECT min(n) FROM vector WHERE file = {chunk})"),
        _CHUNKS,
        False,
    ),
    "a matrix of impossible size": (_sql("UPDATE vector_file SET slots = 1 << 60"), "vector files", False),
    "a matrix of another width": (_sql("UPDATE vector_file SET dimensions = 31 WHERE file = {chunk}"), _CHUNKS, False),
    "full text deleted": (_sql("DELETE FROM text WHERE file = {statement}"), _STATEMENTS, False),
    "full text of other statements": (
        _sql("UPDATE text SET words = (SELECT t.words FROM text AS t WHERE t.file = {chunk}) WHERE file = {statement}"),
        _STATEMENTS,
        False,
    ),
    "sources of vectors deleted": (_sql("DELETE FROM vector_origin"), "vectors without a source", False),
    "full text of garbage": (
        _sql("UPDATE text SET words = CAST('lies' AS BLOB) WHERE file = {statement}"),
        _STATEMENTS,
        False,
    ),
    "a destroyed full-text index": (_sql("DELETE FROM posting WHERE file = {statement}"), _STATEMENTS, False),
    "a full-text index of garbage": (_sql("UPDATE posting SET entries = x'00' WHERE file = {chunk}"), _CHUNKS, False),
    "full text that counts too often": (
        _sql("UPDATE posting SET entries = CAST(entries || entries AS BLOB) WHERE file = {chunk} AND word = 'mara'"),
        _CHUNKS,
        False,
    ),
    "an altered name": (
        _sql("UPDATE entity SET name = 'Mara Quilt' WHERE name = 'Mara Quill'"),
        "names of entities",
        False,
    ),
    "an altered statement": (
        _sql("UPDATE statement SET text = 'Ivo Brandt designed it.'"),
        "content of statements",
        False,
    ),
    "an altered fact": (_sql("UPDATE fact SET predicate = 'destroyed'"), "content of facts", False),
    "altered mentions": (_sql("UPDATE mentions SET surface = 'Nobody'"), "records as written", False),
    "altered spans": (_sql("UPDATE in_chunk SET start = start + 1"), "records as written", False),
    "lost links": (_sql("DELETE FROM about"), "records as written", False),
    "an altered chunk": (_sql("UPDATE chunk SET text = replace(text, 'Orne', 'Arno')"), "content of chunks", True),
    "altered offsets": (_sql('UPDATE chunk SET start = start + 5, "end" = "end" + 5'), "records as written", True),
    "altered metadata": (_sql("UPDATE source SET metadata = 'no json'"), "records as written", True),
    "an altered title": (_sql("UPDATE source SET title = 'Title 9'"), "records as written", True),
}


@pytest.mark.parametrize("way", _WAYS)
def test_a_corrupt_store_is_found_and_repaired(
    way: str, written: tuple[Path, Mapping[str, list[object]]], tmp_path: Path
) -> None:
    alter, check, needs_documents = _WAYS[way]
    source, wanted = written
    folder = tmp_path / "store"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.lock"))
    alter(folder, _files(folder))
    with _connect(folder) as graph:
        for mode in ("vector", "text"):
            # Either it does not touch what is damaged, or it says so.
            with contextlib.suppress(StoreCorruptError):
                graph.search(_QUESTION, strategy="statement", mode=mode, k=50)
        seen = graph.check()
        assert check in {item.check for item in seen if not item.is_fine}
        found, left = graph.reconcile(repair=True)
        assert not found.is_none
        if needs_documents:
            assert set(left.sources_to_ingest)
            graph.ingest(_DOCUMENTS)
        assert graph.reconcile()[0].is_none
        assert [item for item in graph.check() if not item.is_fine] == []
        now = snapshot(graph._opened.stores, "c")
        for name in wanted:
            assert now[name] == wanted[name], name
        assert graph.search(_QUESTION).evidence


def test_a_seal_is_broken_if_it_is_not_the_sum_of_its_rows(
    written: tuple[Path, Mapping[str, list[object]]], tmp_path: Path
) -> None:
    shutil.copytree(written[0], tmp_path / "store")
    with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db")) as connection:
        assert broken_seals(connection) == []
        connection.executescript(
            "UPDATE mentions SET surface = 'Nobody' WHERE chunk = (SELECT max(chunk) FROM mentions);"
            "DELETE FROM source WHERE n = (SELECT min(n) FROM source);"
            "DELETE FROM seal WHERE owner = (SELECT 4 * max(n) FROM chunk);"
        )
        connection.executemany("INSERT INTO seal VALUES (?, ?)", [(1 << 40, -1 << 63), (-4, 7)])
        stored = {owner: total % (1 << 64) for owner, total in connection.execute("SELECT owner, total FROM seal")}
        actual = totals(connection)
        owners = sorted(owner for owner in stored.keys() | actual.keys() if stored.get(owner) != actual.get(owner))
        assert len(owners) == 5
        assert broken_seals(connection) == owners
