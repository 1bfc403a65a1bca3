"""Exports and imports between embedded stores: equal bytes, other names, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from command_line import call

from hlgraph import HLGraph, connect
from hlgraph.errors import (
    InputError,
    MigrationError,
    ModelMismatchError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from hlgraph.ingest import exports, imports
from hlgraph.records import Document, Domain, Kind
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_TEXT = "Mara Quill designed the Aldane Bridge in 1931. Ivo Brandt, of Orne, repaired the mill of Tessing in {}."


def documents() -> list[Document]:
    """Sources with metadata of every type, among them equal chunks of one source."""
    metadata: list[dict[str, Any]] = [
        {"year": 1931, "ratio": 0.1, "open": True, "tags": ("a", "b"), "acl": ("board", "staff")},
        {"huge": -(1 << 63), "none": (), "mixed": ("a", 1), "odd key: \u2028": "\x7f\u00e9\U0001f309"},
    ]
    return [
        Document(f"doc:{at}", "\n\n".join([_TEXT.format(1900 + at)] * (1 + 30 * (at == 2))), f"Title {at}", values)
        for at, values in enumerate([*metadata, {}, {}])
    ]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    """A store with a corpus that has all there is."""
    with connect(f"hlgraph://{tmp_path}/a", corpus="one", embedder=WordEmbedder(48)) as found:
        found.ingest(documents())
        found.merges.apply([("Orne", "Tessing")])
        found.hierarchy.build()
        found.domain.set(Domain(("bridge",), ()))
        yield found


def another(tmp_path: Path, corpus: str = "one") -> HLGraph:
    """Another store."""
    return connect(f"hlgraph://{tmp_path}/b", corpus=corpus, embedder=WordEmbedder(48))


def parts(folder: Path) -> dict[str, bytes]:
    """The files of an export."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_export_of_an_import_has_equal_bytes(
    graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = graph.export_corpus(tmp_path / "export")
    assert (done.corpus, done.records["source"]) == ("one", 4)
    monkeypatch.setattr(imports, "_NODES", 5)
    with another(tmp_path) as other:
        assert other.import_corpus(tmp_path / "export").records == done.records
        assert snapshot(other._opened.stores, "one") == snapshot(graph._opened.stores, "one")
        assert all(item.is_fine for item in other.check())
        assert other.reconcile()[0].is_none
        assert other.as_operator().search("Who repaired the mill?", where="acl = 'board'").evidence
        assert other.ingest(documents()).sources_unchanged == 4
        other.export_corpus(tmp_path / "again")
    assert parts(tmp_path / "again") == parts(tmp_path / "export")
    matrix = np.load(tmp_path / "export" / "statement.npy")
    assert matrix.shape == (done.records["statement"], 48)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "export").iterdir()} == {0o600}


def test_another_name_gives_the_ids_of_an_ingest_under_this_name(graph: HLGraph, tmp_path: Path) -> None:
    graph.export_corpus(tmp_path / "export")
    with another(tmp_path, "two") as other:
        done = other.import_corpus(tmp_path / "export")
        assert (done.exported_from, done.left_out) == ("one", ("hierarchy",))
        assert [item.verdict.value for item in other.merges.list().decisions] == ["same"]
        assert all(item.is_fine for item in other.check())
        moved = snapshot(other._opened.stores, "two")
        other.export_corpus(tmp_path / "renamed")
    with connect(f"hlgraph://{tmp_path}/c", corpus="two", embedder=WordEmbedder(48)) as ingested:
        ingested.ingest(documents())
        ingested.merges.apply([("Orne", "Tessing")])
        assert snapshot(ingested._opened.stores, "two") == moved
    with another(tmp_path, "one") as back:
        back.import_corpus(tmp_path / "renamed")
        back.export_corpus(tmp_path / "back")
    kept = [
        name for name in parts(tmp_path / "back") if name not in {"derived.jsonl.gz", "summary.npy", "manifest.json"}
    ]
    assert [name for name in kept if parts(tmp_path / "back")[name] != parts(tmp_path / "export")[name]] == []


def test_another_embedder_can_import_and_not_search(graph: HLGraph, tmp_path: Path) -> None:
    graph.export_corpus(tmp_path / "export")
    with connect(f"hlgraph://{tmp_path}/b", corpus="one", embedder=WordEmbedder(64)) as other:
        other.import_corpus(tmp_path / "export")
        with pytest.raises(ModelMismatchError, match="has vectors of words/48"):
            other.as_operator().search("Who repaired the mill?")


def test_a_complete_export_of_the_corpus_is_replaced_and_nothing_else(graph: HLGraph, tmp_path: Path) -> None:
    graph.export_corpus(tmp_path / "export")
    before = parts(tmp_path / "export")
    graph.delete(["doc:3"])
    graph.export_corpus(tmp_path / "export")
    assert parts(tmp_path / "export") != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "export"]
    with another(tmp_path, "two") as other:
        other.ingest(documents()[:1])
        with pytest.raises(InputError, match="it is an export of corpus 'one'"):
            other.export_corpus(tmp_path / "export")
        with pytest.raises(InputError, match="there is no corpus 'three'"):
            other.in_corpus("three").export_corpus(tmp_path / "three")
    for name in ("mine", "export.part", "export.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, why in (("mine", "is no export"), ("file", "is no export"), ("export", "something else is there")):
        with pytest.raises(InputError, match=why):
            graph.export_corpus(tmp_path / name)
    assert [(tmp_path / name / "note.txt").exists() for name in ("mine", "export.part", "export.old")] == [True] * 3


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_an_export_that_was_altered_is_refused(graph: HLGraph, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    graph.export_corpus(folder)
    with another(tmp_path) as other:
        for name, data in parts(folder).items():
            for at in sorted({0, len(data) // 2, len(data) - 1}):
                _flip(folder / name, at)
                with pytest.raises((InputError, StoreCorruptError), match=r"was altered|is no export"):
                    other.import_corpus(folder)
                (folder / name).write_bytes(data)
            (folder / name).unlink()
            with pytest.raises((InputError, StoreCorruptError), match=r"is missing|is no export"):
                other.import_corpus(folder)
            (folder / name).write_bytes(data)
        assert other.stats() == ()
        other.import_corpus(folder)


def _rewritten(folder: Path, **values: Any) -> None:
    """Another manifest with these values and a right digest."""
    tree = {**msgspec.to_builtins(exports.read_manifest(folder)), **values, "digest": ""}
    sealed = msgspec.convert(tree, exports.Manifest).sealed()
    (folder / exports.MANIFEST).write_bytes(msgspec.json.encode(sealed))


def _with_lines(folder: Path, name: str, lines: list[bytes]) -> None:
    """Another part with these lines, and a manifest that fits."""
    (folder / name).write_bytes(gzip.compress(b"\n".join([*lines, b""])))
    found, data = msgspec.to_builtins(exports.read_manifest(folder))["parts"], (folder / name).read_bytes()
    _rewritten(folder, parts={**found, name: [len(lines), len(data), hashlib.sha256(data).hexdigest()]})


def test_an_export_that_is_wrong_inside_leaves_nothing(graph: HLGraph, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    graph.export_corpus(folder)
    lines = gzip.decompress((folder / exports.SOURCES).read_bytes()).splitlines()
    last = max(at for at, line in enumerate(lines) if b'"type":"source"' in line)
    _with_lines(folder, exports.DERIVED, [])
    wrong = [
        ("cannot be read", [*lines, b"{"]),
        ("cannot be read", [*lines[:-1], lines[-1].replace(b'"text"', b'"test"')]),
        ("rows are too few", [*lines, *lines]),
        ("is not as it was exported", lines[:last]),
    ]
    with another(tmp_path) as other:
        for why, some in wrong:
            _with_lines(folder, exports.SOURCES, some)
            with pytest.raises(StoreError, match=why):
                other.import_corpus(folder)
            assert other.stats() == ()
            assert not other._opened.stores.vectors.ids(Kind.CHUNK, "one")
        _with_lines(folder, exports.SOURCES, lines)
        other.import_corpus(folder)
        assert all(item.is_fine for item in other.check())


def test_what_is_no_export_or_of_a_newer_format_or_does_not_fit_is_refused(graph: HLGraph, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    graph.export_corpus(folder)
    with another(tmp_path) as other:
        for path in (tmp_path / "nowhere", tmp_path, folder / "manifest.json"):
            with pytest.raises(InputError, match="this is no export"):
                other.import_corpus(path)
        other.ingest(documents()[:1])
        with pytest.raises(InputError, match=r"corpus 'one' is not empty \(1 source.* --corpus"):
            other.import_corpus(folder)
        other.delete(everything=True)
        other.domain.set(Domain(("river",), ()))
        with pytest.raises(InputError, match="has a domain that the import would replace"):
            other.import_corpus(folder)
        other.domain.clear()
        tree = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**tree, "format": 2}))
        with pytest.raises(MigrationError, match="format 2, and this hlgraph reads up to 1"):
            other.import_corpus(folder)
        (folder / "manifest.json").write_text(json.dumps(tree))
        other.import_corpus(folder)  # a corpus that was emptied is empty
        assert snapshot(other._opened.stores, "one") == snapshot(graph._opened.stores, "one")
        assert other.import_corpus(folder).records["source"] == 4  # it is there
        other.ingest([Document("doc:new", "Lena Foss left Rusk.")])
        with pytest.raises(InputError, match="is not empty"):
            other.import_corpus(folder)


def test_a_store_that_was_altered_is_not_exported(graph: HLGraph, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a" / "hlgraph.db")) as connection, connection:
        connection.execute("UPDATE chunk SET text = 'forged' WHERE n = (SELECT min(n) FROM chunk)")
    with pytest.raises(StoreCorruptError, match=r"1 records were altered.* reconcile --repair"):
        graph.export_corpus(tmp_path / "export")
    assert not (tmp_path / "export").exists()


def test_a_full_disk_ends_an_export_and_leaves_nothing(graph: HLGraph, tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    graph.stats()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
        with pytest.raises(StoreUnavailableError, match="the disk is full; free some space, and run the same command"):
            graph.export_corpus(tmp_path / "export")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    graph.export_corpus(tmp_path / "export")


def test_the_commands_say_what_they_did(graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del graph
    monkeypatch.setenv("HLGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/a")
    code, out, _ = call("export", str(tmp_path / "export"), "--corpus", "one", "-q")
    assert (code, out.split(":")[0]) == (0, f"{tmp_path}/export holds corpus 'one'")
    code, out, _ = call("import", str(tmp_path / "export"), "--corpus", "two", "-q")
    assert (code, out.splitlines()[1:]) == (0, ["not imported under another name: hierarchy; build it again"])
    code, out, _ = call("import", str(tmp_path / "export"), "--corpus", "three", "--json", "-q")
    assert json.loads(out)["exported_from"] == "one"
    code, _, errors = call("import", str(tmp_path / "nothing"), "--corpus", "four", "-q")
    assert (code, "this is no export" in errors) == (2, True)
