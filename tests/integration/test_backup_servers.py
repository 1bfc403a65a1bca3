"""Backups of servers: all corpora in one state, restored to servers or to an embedded store, with all that belongs to them."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transfer_worker
from command_line import call
from command_worker import start_script
from live_stores import empty, neo4j_of, settings_for
from opensearch_fixture import opened as opened_vectors
from thoroughness import cases

import hlgraph
from hlgraph import HLGraph, connect
from hlgraph.errors import HoldError, InputError, MigrationError, StoreCorruptError, StoreLockedError
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.ingest import backups
from hlgraph.records import Document, Domain
from hlgraph.settings import Settings, load
from hlgraph.testing.embedder import WordEmbedder

_TEXT = "Mara Quill designed the Aldane Bridge in 1931. Ivo Brandt, of Orne, repaired the mill of Tessing in {}."


def documents(count: int, first: int = 0) -> list[Document]:
    """Sources with groups."""
    return [
        Document(f"doc:{at}", _TEXT.format(1900 + at), f"Title {at}", {"acl": ("board", f"g{at}")})
        for at in range(first, first + count)
    ]


def fill(graph: HLGraph) -> None:
    """Three corpora, one with all that there is, and what is left of a fourth and of a fifth."""
    graph.in_corpus("small").ingest(documents(2))
    one = graph.in_corpus("one")
    one.ingest(documents(3), keep_history=True)
    one.ingest([replace(documents(1)[0], text="Lena Foss left Rusk in 1930.")])
    one.merges.apply([("Orne", "Tessing")])
    one.hierarchy.build(HierarchyQuery(neighbours=3, threshold=0.1, max_size=5))
    one.communities.build()
    one.domain.set(Domain(("bridge",), ("water",)))
    one.holds.add("case 7", "doc:1")
    gone = graph.in_corpus("gone")
    gone.ingest(documents(1))
    gone.delete(everything=True, receipt="gone.jsonl")
    graph.in_corpus("planned").domain.set(Domain(("river",), ()))


def everything(graph: HLGraph, folder: Path) -> dict[str, object]:
    """All of a store in a form that does not depend on the store."""
    shutil.rmtree(folder, ignore_errors=True)
    result: dict[str, object] = {}
    for stats in graph._opened.stores.graph.stats(has_counts=False):
        graph.in_corpus(stats.corpus).export_corpus(folder / stats.corpus)
        parts = {path.name: path.read_bytes() for path in (folder / stats.corpus).iterdir()}
        result[stats.corpus] = {name: data for name, data in parts.items() if name != "manifest.json"}
    for name in ("one", "small", "gone", "planned", "one@history"):
        retention: Any = graph._opened.stores.graph.retention
        domain = graph._opened.stores.graph.domains.read(name)  # type: ignore[union-attr]
        result[f"{name}: beside"] = (retention.holds(name), retention.last_receipt(name), domain)
    return result


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HLGraph]:
    """An embedded store that is backed up as servers are: what fails before anything is written needs no servers."""
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with connect(f"hlgraph://{folder}/a", corpus="one", embedder=WordEmbedder(48)) as graph:
            fill(graph)
            backups.back_up(graph._opened.stores, store="x", target=folder / "backup")
            yield graph


@pytest.fixture
def backup(original: HLGraph, tmp_path: Path) -> Path:
    """A copy of its backup."""
    return shutil.copytree(
        Path(original.settings.store.removeprefix("hlgraph://")).parent / "backup", tmp_path / "backup"
    )


def test_one_state_of_all_corpora_goes_to_an_embedded_store(original: HLGraph, backup: Path, tmp_path: Path) -> None:
    done = hlgraph.restore(backup, f"hlgraph://{tmp_path}/b")
    assert done.corpora == ("gone", "one", "one@history", "planned", "small")
    with connect(f"hlgraph://{tmp_path}/b", corpus="one", embedder=WordEmbedder(48)) as graph:
        assert everything(graph, tmp_path / "two") == everything(original, tmp_path / "one")
        assert all(finding.is_fine for finding in graph.check())
        versions = {one.corpus: one.version for one in graph._opened.stores.graph.stats(has_counts=False)}
        before = {one.corpus: one.version for one in original._opened.stores.graph.stats(has_counts=False)}
        assert all(versions[name] >= number for name, number in before.items())
        assert graph.as_operator().search("Who left Rusk?", as_of=before["one"]).evidence
        assert hlgraph.restore(backup, f"hlgraph://{tmp_path}/b").corpora == done.corpora  # it is there
        with pytest.raises(HoldError, match="case 7"):
            graph.delete("doc:1")
        graph.in_corpus("small").ingest(documents(3))
    with pytest.raises(
        InputError, match=r"the store is not empty, .* it has corpus .*'small'; restore to an empty store"
    ):
        hlgraph.restore(backup, f"hlgraph://{tmp_path}/b")


def test_a_restore_that_fails_leaves_nothing(backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(backups, "_write_beside", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            hlgraph.restore(backup, f"hlgraph://{tmp_path}/b")
    with connect(f"hlgraph://{tmp_path}/b", embedder=WordEmbedder(48)) as graph:
        assert graph._opened.stores.graph.stats() == ()
        graph.domain.set(Domain(("bridge",), ()))
    with pytest.raises(InputError, match="it has corpus 'default'"):
        hlgraph.restore(backup, f"hlgraph://{tmp_path}/b")


def test_a_backup_with_a_changed_byte_or_without_a_part_is_refused(backup: Path, tmp_path: Path) -> None:
    rng, target = random.Random(3), f"hlgraph://{tmp_path}/b"
    for path in sorted(path for path in backup.rglob("*") if path.is_file() and path.suffix != ".lock"):
        data = path.read_bytes()
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises((StoreCorruptError, MigrationError), match=r"altered|replaced|missing|format"):
            hlgraph.restore(backup, target)
        path.unlink()
        with pytest.raises((StoreCorruptError, InputError), match=r"missing|no complete backup|no backup"):
            hlgraph.restore(backup, target)
        path.write_bytes(data)
    assert not (tmp_path / "b" / "hlgraph.db").exists()
    with pytest.raises(InputError, match=r"restored to an empty store.*leave replace out"):
        hlgraph.restore(backup, target, replace=True)
    with pytest.raises(InputError, match="there is no backup here"):
        hlgraph.restore(tmp_path / "nowhere", target)
    tree = json.loads((backup / backups.MANIFEST).read_text())
    (backup / backups.MANIFEST).write_text(json.dumps({**tree, "format": 2}))
    with pytest.raises(MigrationError, match="format 2, and this hlgraph reads up to 1"):
        hlgraph.restore(backup, target)


# On Neo4j and OpenSearch.


@pytest.fixture
def settings(servers: Any) -> Iterator[Settings]:
    """Settings for empty servers; all that was written is removed."""
    empty(servers)
    chosen = replace(settings_for(servers), corpus="one")
    yield chosen
    clear(servers, chosen)


def clear(servers: Any, settings: Settings) -> None:
    """Empty both servers."""
    with opened_vectors(servers.opensearch, prefix=settings.opensearch.prefix):
        pass
    empty(servers)


@pytest.fixture
def config(servers: Any, settings: Settings, tmp_path: Path) -> Path:
    """The same settings as a file."""
    tree = dataclasses.asdict(replace(settings, neo4j=neo4j_of(servers)))
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({name: tree[name] for name in ("store", "vectors", "corpus", "neo4j", "opensearch")}))
    path.chmod(0o600)
    return path


def test_servers_are_restored_and_backed_up_after_kills_while_others_write_and_search(
    original: HLGraph, backup: Path, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(config)
    source, rng = Path(transfer_worker.__file__).read_text(encoding="utf-8"), random.Random(5)

    def kill(what: str, last: int) -> None:
        for _ in range(cases(1, 20)):
            worker = start_script(source, config, backup, rng.randint(8, last), what)
            worker.join()
            assert worker.exitcode == -9

    kill("restore", 60)
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        assert graph._opened.stores.graph.stats(has_counts=False) == ()
        assert len(hlgraph.restore(backup, settings).corpora) == 5
        assert everything(graph, tmp_path / "again") == everything(original, tmp_path / "one")
        assert all(finding.is_fine for finding in graph.check())
        assert graph.reconcile()[0].is_none
        (backup / backups.MANIFEST).unlink()  # that of the store it came from
        export, update, written = backups.export_corpus, backups._Work.update, []

        def while_searched(*args: Any, **named: Any) -> Any:
            assert graph.as_caller({"board"}).search("Who repaired the mill?").evidence
            return export(*args, **named)

        def disturbed(work: Any) -> int:
            count = update(work)
            if not written:  # another writer, after all corpora were exported
                written.append(graph.in_corpus("small").ingest(documents(2, 5)))
            return count

        with monkeypatch.context() as patch:
            patch.setattr(backups, "export_corpus", while_searched)
            patch.setattr(backups._Work, "update", disturbed)
            done = graph.backup(backup)
        assert (done.store, len(written)) == (settings.store, 1)
        wanted = everything(graph, tmp_path / "wanted")
        graph.in_corpus("small").delete("doc:0")
        graph.ingest([Document("doc:9", "Una Moss opened the Orne Hall.", "", {"acl": "board"})])
        kill("backup", 30)
        restored(backup, wanted, tmp_path)
        monkeypatch.setenv("HLGRAPH_CONFIG", str(config))
        code, out, _ = call("backup", str(backup), "-q")
        assert (code, out.splitlines()[1]) == (0, "one state of 5 corpora")
        restored(backup, everything(graph, tmp_path / "newer"), tmp_path)


def test_only_what_changed_is_written_and_nothing_older_stays(settings: Settings, tmp_path: Path) -> None:
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        stores, target = graph._opened.stores, tmp_path / "backup"
        with pytest.raises(InputError, match="there is nothing here to back up"):
            backups.back_up(stores, store="x", target=target)
        graph.ingest(documents(3))
        graph.in_corpus("two").ingest(documents(2))
        first = backups.back_up(stores, store="x", target=target)
        assert first.written == first.bytes
        assert backups.back_up(stores, store="x", target=target).written == 0
        graph.in_corpus("two").merges.apply([("Orne", "Tessing")])
        graph.holds.add("case 7", "doc:1")
        assert 0 < backups.back_up(stores, store="x", target=target).written < first.bytes
        graph.in_corpus("two").delete(everything=True)
        part = next((target / "corpora").glob("*/sources.jsonl.gz"))
        part.write_bytes(part.read_bytes()[:-1])  # what a disk has altered is written again
        last = backups.back_up(stores, store="x", target=target)
        assert (last.written > 0, len(list((target / "corpora").iterdir()))) == (True, len(last.corpora))
        with pytest.raises(InputError, match="holds the backup of another store, x"):
            backups.back_up(stores, store="y", target=target)
        with backups._claimed(target, create=False), pytest.raises(StoreLockedError, match="another backup or restore"):
            backups.back_up(stores, store="x", target=target)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "note.txt").write_text("mine")
        with pytest.raises(InputError, match="is not empty, and holds no backup of servers"):
            backups.back_up(stores, store="x", target=tmp_path / "mine")
    hlgraph.restore(target, f"hlgraph://{tmp_path}/b")
    with connect(f"hlgraph://{tmp_path}/b", corpus="one", embedder=WordEmbedder(48)) as graph:
        assert [hold.name for hold in graph.holds.list()] == ["case 7"]


def restored(backup: Path, wanted: dict[str, object], folder: Path) -> None:
    """The backup restores this state."""
    shutil.rmtree(folder / "b", ignore_errors=True)
    hlgraph.restore(backup, f"hlgraph://{folder}/b")
    with connect(f"hlgraph://{folder}/b", corpus="one", embedder=WordEmbedder(48)) as graph:
        assert everything(graph, folder / "restored") == wanted
