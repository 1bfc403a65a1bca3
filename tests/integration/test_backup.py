"""Backups of the embedded store: one state while others write, few bytes after a small change, and what a restore refuses."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import command_worker
import pytest
from command_line import call
from older_store import undo_words_fields_and_lists
from store_dump import dump
from thoroughness import cases

import hlgraph
from hlgraph import HLGraph
from hlgraph.errors import (
    HLGraphError,
    InputError,
    MigrationError,
    StoreClosedError,
    StoreCorruptError,
    StoreLockedError,
    StoreUnavailableError,
)
from hlgraph.models.choose import LEDGER_FILE
from hlgraph.settings import REPLIES_FILE
from hlgraph.stores.embedded import backup as backups
from hlgraph.stores.embedded import database, mirror
from hlgraph.stores.freed_bytes import unwiped
from hlgraph.testing.embedder import WordEmbedder

_WORDS = (
    "abbey",
    "bridge",
    "canal",
    "dam",
    "elm",
    "ford",
    "gate",
    "hill",
    "isle",
    "jetty",
    "kiln",
    "lock",
    "mill",
    "nave",
)
_WRITER = """
import itertools, sys
from pathlib import Path
import hlgraph
from hlgraph.testing.embedder import WordEmbedder
store, docs, stop = map(Path, sys.argv[1:])
with hlgraph.connect(f"hlgraph://{store}", embedder=WordEmbedder(64)) as graph:
    for number in itertools.count(1):
        for name in ("first", "second"):
            (docs / f"{name}.txt").write_text(f"Round {number} of Mara Quill saw {number} mills in Tessing {number}.")
            graph.ingest([docs / f"{name}.txt"])
        graph.ingest([docs / "third.txt"])
        graph.delete([str(docs / "third.txt")])
        print(number, flush=True)
        if stop.exists():
            break
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    found = tmp_path / "docs"
    found.mkdir()
    for number, word in enumerate(_WORDS):
        others = " ".join(f"Jonas Querl saw the {word} of {other} in {1800 + number}." for other in _WORDS)
        (found / f"{word}.txt").write_text(
            f"The {word} of Tessing was built by Ivo Brandt in {1700 + number}. {others}"
        )
    return found


@pytest.fixture
def graph(tmp_path: Path, docs: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder(64)) as opened:
        opened.ingest([docs])
        yield opened


def _restored(backup: Path, number: int = 0) -> Path:
    """A folder with a store that was made from a backup."""
    folder = backup.parent / f"restored-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    hlgraph.restore(backup, f"hlgraph://{folder}/store")
    return folder


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """A process that does not outlive a failure of the block."""
    try:
        yield
    finally:
        process.kill()


def _held(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file())


def test_a_restored_store_is_equal_and_is_found_the_same(tmp_path: Path, graph: HLGraph) -> None:
    done = graph.backup(tmp_path / "backup")
    assert (done.written, done.is_unfinished, done.locked_seconds) == (done.bytes, False, 0.0)
    found = _restored(tmp_path / "backup")
    assert dump(found) == dump(tmp_path)
    wanted = graph.search("Who built the bridge of Tessing?", strategy="statement").evidence
    with hlgraph.connect(f"hlgraph://{found}/store", embedder=WordEmbedder(64)) as other:
        assert other.search("Who built the bridge of Tessing?", strategy="statement").evidence == wanted
        assert other.ingest([tmp_path / "docs"]).sources_unchanged == len(_WORDS)


def test_a_later_backup_writes_what_changed_and_keeps_nothing_deleted(
    tmp_path: Path, docs: Path, graph: HLGraph
) -> None:
    target = tmp_path / "backup"
    graph.backup(target)
    assert graph.backup(target).written == 0
    (docs / "new.txt").write_text("Sela Vantongeren wrote about Quarrick.")
    graph.ingest([docs])
    added = graph.backup(target)
    assert 0 < added.written < added.bytes / 3
    assert b"Vantongeren" in _held(target)
    graph.delete([str(docs / "new.txt")])
    graph.backup(target)
    assert b"Vantongeren" not in _held(target)
    assert b"vantongeren" not in _held(target)
    assert dump(_restored(target)) == dump(tmp_path)
    graph.delete(everything=True)
    emptied = graph.backup(target)
    assert [path.name for path in (target / "store").rglob("*.f32")] == []
    assert (emptied.files, dump(_restored(target))) == (2, dump(tmp_path))


def test_a_backup_holds_nothing_that_a_writer_at_work_has_deleted_and_not_overwritten(
    tmp_path: Path, docs: Path, graph: HLGraph
) -> None:
    store, copy = tmp_path / "store", tmp_path / "backup" / "store"
    (docs / "new.txt").write_text("Sela Vantongeren wrote about Quarrick. " * 9)
    graph.ingest([docs])
    with graph._opened.stores.graph.lock():
        graph.delete([str(docs / "new.txt")])
        graph.backup(tmp_path / "backup")
        assert b"Vantongeren" in _held(store)
        assert _held(copy / "vectors") != _held(store / "vectors")
    assert b"antongeren" not in _held(tmp_path / "backup")
    assert _held(copy / "vectors") == _held(store / "vectors")
    found = _restored(tmp_path / "backup") / "store"
    assert (found / "hlgraph.db-wiped").exists()
    assert unwiped_pages(found) == 0
    assert dump(found.parent) == dump(tmp_path)


def unwiped_pages(store: Path) -> int:
    with closing(sqlite3.connect(store / "hlgraph.db")) as connection:
        connection.execute("SELECT count(*) FROM node").fetchone()
        return len(unwiped(store / "hlgraph.db"))


def test_a_backup_is_one_state_while_another_process_writes(tmp_path: Path, docs: Path, graph: HLGraph) -> None:
    (docs / "third.txt").write_text("The third was here. It is gone soon.")
    stop, target = tmp_path / "stop", tmp_path / "backup"
    command = [sys.executable, "-c", _WRITER, str(tmp_path / "store"), str(docs), str(stop)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer, ended(writer):
        assert writer.stdout is not None
        assert writer.stdout.readline() == "1\n"
        rounds = []
        for number in range(4):
            graph.backup(target)
            found = _restored(target, number)
            with hlgraph.connect(f"hlgraph://{found}/store", embedder=WordEmbedder(64)) as other:
                texts = {
                    Path(item.source.uri).name: int(re.findall(r"\d+", item.text)[0])
                    for item in other.search("Round Mara Quill mills", strategy="statement", k=50).evidence
                    if "Round" in item.text
                }
                wrong = [item for item in other.check() if not item.is_fine and item.check != "journal"]
                assert wrong == []
                assert texts["first.txt"] - texts.get("second.txt", texts["first.txt"] - 1) in (0, 1)
                rounds.append(texts["first.txt"])
                other.delete([str(docs / "abbey.txt")])  # finishes what was unfinished
                assert [item for item in other.check() if not item.is_fine] == []
        stop.touch()
        writer.communicate(timeout=120)
    assert writer.returncode == 0
    assert rounds == sorted(rounds)
    assert rounds[-1] > rounds[0]
    assert [item for item in graph.check() if not item.is_fine] == []


@pytest.mark.parametrize("edits", [1, 3, 1_000])
@pytest.mark.parametrize("is_before", [True, False])
def test_a_state_whose_rows_are_removed_meanwhile_is_not_taken(
    tmp_path: Path, docs: Path, graph: HLGraph, monkeypatch: pytest.MonkeyPatch, edits: int, *, is_before: bool
) -> None:
    real = backups.Backups._copy_blocks
    left = list(range(edits))
    monkeypatch.setattr(backups, "_TRIES", 6)
    monkeypatch.setattr(database, "_DRAIN", 0)  # a writer waits for the state that is pinned, here by its own thread
    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder(64)) as other:

        def edit() -> None:
            if left:
                number = left.pop()
                text = f"Una Moss saw {number} boats in the year {number}. " * (1 + number % 3)
                (docs / "mill.txt").write_text(text)
                if number % 4 == 3:
                    other.delete(everything=True)
                other.ingest([docs])

        def copy(self: backups.Backups, *args: object) -> str:
            if is_before and not self._database._depth:
                edit()
            lost = real(self, *args)  # type: ignore[arg-type]
            if not is_before and not self._database._depth:
                edit()
            return lost

        monkeypatch.setattr(backups.Backups, "_copy_blocks", copy)
        done = graph.backup(tmp_path / "backup")
    assert not done.is_unfinished
    assert (done.locked_seconds > 0) == (edits == 1_000)
    assert dump(_restored(tmp_path / "backup"))["doctor"] == []
    if not left:
        assert dump(_restored(tmp_path / "backup")) == dump(tmp_path)


def test_a_backup_at_each_moment_of_a_change_is_fine_but_for_the_journal(
    tmp_path: Path, docs: Path, graph: HLGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Copying(command_worker.Moments):
        states: list[bool]
        passed = 0

        def pass_one(self) -> None:
            self.passed += 1
            if self.passed % cases(3, 1):
                return
            monkeypatch.setattr(Copying, "pass_one", lambda _: None)
            self.states.append(graph.backup(tmp_path / "backup").is_unfinished)
            monkeypatch.setattr(Copying, "pass_one", real)

    real = Copying.pass_one
    moments = Copying()
    moments.states = []
    (docs / "mill.txt").write_text("Una Moss saw Quarrick.")
    (docs / "kiln.txt").unlink()
    with pytest.MonkeyPatch.context() as patch:
        moments.arm(patch.setattr)
        graph.ingest([docs], delete_missing=True)
    assert len(moments.states) > cases(13, 40)
    assert {*moments.states} == {True, False}
    assert not graph.backup(tmp_path / "backup").is_unfinished
    assert dump(_restored(tmp_path / "backup")) == dump(tmp_path)


def test_damage_in_a_backup_is_found_and_named(tmp_path: Path, graph: HLGraph) -> None:
    target, before = tmp_path / "backup", dump(tmp_path)
    graph.backup(target)
    for path in sorted((target / "store").rglob("*")):
        if path.is_dir():
            continue
        whole = path.read_bytes()
        middle = len(whole) // 2
        for altered in (
            bytes([whole[0] ^ 1]) + whole[1:],
            whole[:middle] + bytes([whole[middle] ^ 64]) + whole[middle + 1 :],
            whole[:-1],
        ):
            path.write_bytes(altered)
            with pytest.raises(StoreCorruptError, match=re.escape(f"{path} (from byte ")):
                hlgraph.restore(target, graph.settings, replace=True)
        path.unlink()
        with pytest.raises(StoreCorruptError, match=re.escape(f"{path} (from byte 0)")):
            hlgraph.restore(target, graph.settings, replace=True)
        path.write_bytes(whole)
    manifest = target / "hlgraph-backup.json"
    whole = manifest.read_bytes()
    for place in range(0, len(whole), 101):
        manifest.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises((StoreCorruptError, MigrationError), match=re.escape(str(manifest))):
            hlgraph.restore(target, graph.settings, replace=True)
    manifest.write_bytes(whole)
    assert dump(tmp_path) == before
    hlgraph.restore(target, graph.settings, replace=True)
    assert dump(tmp_path) == before


def test_a_backup_mends_the_damaged_copy_of_a_store_that_exists(tmp_path: Path, graph: HLGraph) -> None:
    target = tmp_path / "backup"
    graph.backup(target)
    copy = target / "store" / "hlgraph.db"
    copy.write_bytes(copy.read_bytes()[:-5_000] + b"x" * 5_000)
    assert graph.backup(target).written > 0
    assert dump(_restored(target)) == dump(tmp_path)


@pytest.mark.parametrize("path", ["../escaped.sqlite", "/escaped.sqlite", "vectors/../../x.sqlite", "a/b.sqlite"])
def test_a_manifest_cannot_lead_out_of_the_store(tmp_path: Path, graph: HLGraph, path: str) -> None:
    target = tmp_path / "backup"
    graph.backup(target)
    file = target / "hlgraph-backup.json"
    tree = json.loads(file.read_bytes())
    tree["manifest"]["files"][0]["path"] = path
    raw = json.dumps(tree["manifest"], separators=(",", ":")).encode()
    file.write_bytes(b'{"format":1,"checksum":"' + mirror.checksum(raw).hex().encode() + b'","manifest":' + raw + b"}")
    with pytest.raises(StoreCorruptError, match="is no file of a store"):
        _restored(target)


def test_a_backup_of_a_newer_hlgraph_is_refused(tmp_path: Path, graph: HLGraph) -> None:
    target = tmp_path / "backup"
    graph.backup(target)
    file = target / "hlgraph-backup.json"
    file.write_text('{"format":2,"checksum":"","manifest":["of", "another", "form"]}')
    for action in (lambda: _restored(target), lambda: graph.backup(target)):
        with pytest.raises(MigrationError, match="this backup has format 2, and this hlgraph reads formats up to 1"):
            action()


def test_a_damaged_store_is_not_backed_up_and_the_last_backup_stays(tmp_path: Path, graph: HLGraph) -> None:
    target, before = tmp_path / "backup", dump(tmp_path)
    graph.backup(target)
    for name in ("vectors/2-1.f32", "hlgraph.db"):
        path = tmp_path / "store" / name
        whole = path.read_bytes()
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes(len(whole) - middle))
        with pytest.raises(StoreCorruptError, match=r"run: hlgraph .*doctor"):
            graph.backup(target)
        path.unlink()
        with pytest.raises(HLGraphError, match=r"2-1.f32 is gone or too short|store that was read here is gone"):
            graph.backup(target)
        path.write_bytes(whole)
        assert dump(_restored(target)) == before
    assert graph.backup(target).bytes == before_size(tmp_path)


def before_size(folder: Path) -> int:
    files = [folder / "store" / "hlgraph.db", *(folder / "store").glob("*.sqlite"), *(folder / "store").rglob("*.f32")]
    return sum(path.stat().st_size for path in files)


def test_what_cannot_be_a_target_is_refused(tmp_path: Path, docs: Path, graph: HLGraph) -> None:
    store, file, other = tmp_path / "store", tmp_path / "file", tmp_path / "other"
    file.write_text("")
    for target, why in (
        (store, "must not lie in each other"),
        (store / "backup", "must not lie in each other"),
        (tmp_path, "must not lie in each other"),
        (file, "is a file"),
        (docs, "not empty, and holds no backup"),
    ):
        before = sorted(docs.iterdir())
        with pytest.raises(InputError, match=why):
            graph.backup(target)
        with pytest.raises(InputError, match=r"must not lie in each other|is a file|holds no backup"):
            hlgraph.restore(target, graph.settings, replace=True)
        assert sorted(docs.iterdir()) == before
    with hlgraph.connect(f"hlgraph://{other}", embedder=WordEmbedder(64)) as another:
        with pytest.raises(InputError, match="no store here to back up"):
            another.backup(tmp_path / "backup")
        assert not (tmp_path / "backup").exists()
        another.ingest([docs / "abbey.txt"])
        graph.backup(tmp_path / "backup")
        with pytest.raises(InputError, match=f"holds the backup of another store, {store}"):
            another.backup(tmp_path / "backup")
    for server in ("neo4j://localhost:1", "bolt://localhost:1"):
        settings = hlgraph.Settings(store=server, vectors="https://localhost:1")
        with (
            hlgraph.connect(settings, embedder=WordEmbedder(64)) as served,
            pytest.raises(StoreUnavailableError, match="no Neo4j server answers"),
        ):
            served.backup(tmp_path / "backup")
        with pytest.raises(InputError, match=r"this is no backup of servers.* restore it to an embedded store"):
            hlgraph.restore(tmp_path / "backup", settings)
    with pytest.raises(InputError, match="there is no backup here"):
        hlgraph.restore(tmp_path / "nothing", f"hlgraph://{tmp_path}/new")
    graph.close()
    with pytest.raises(StoreClosedError):
        graph.backup(tmp_path / "backup")


def test_a_restore_replaces_a_store_only_when_told_and_nothing_else(tmp_path: Path, docs: Path, graph: HLGraph) -> None:
    target, store = tmp_path / "backup", tmp_path / "store"
    graph.backup(target)
    wanted = dump(tmp_path)
    graph.delete([str(docs / "abbey.txt")])
    with pytest.raises(InputError, match="there is a store here already; restore elsewhere, or replace it"):
        hlgraph.restore(target, graph.settings)
    (store / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt is no part of a store; move it away"):
        hlgraph.restore(target, graph.settings, replace=True)
    (store / "notes.txt").unlink()
    graph.search("the mill", strategy="path")
    hlgraph.restore(target, graph.settings, replace=True)
    assert dump(tmp_path) == wanted
    (tmp_path / "empty").mkdir()
    hlgraph.restore(target, f"hlgraph://{tmp_path}/empty")
    assert (tmp_path / "empty" / "hlgraph.db").exists()
    (tmp_path / "plain").write_text("")
    with pytest.raises(InputError, match="plain is a file"):
        hlgraph.restore(target, f"hlgraph://{tmp_path}/plain")


def test_a_folder_is_used_by_one_backup_or_restore_at_a_time(tmp_path: Path, graph: HLGraph) -> None:
    target = tmp_path / "backup"
    graph.backup(target)
    with mirror.locked(target, create=False):
        for action in (lambda: graph.backup(target), lambda: _restored(target)):
            with pytest.raises(StoreLockedError, match="another backup or restore uses this folder"):
                action()
    with graph._opened.stores.graph.lock():
        graph.backup(target)  # a writer at work does not stop it
        settings = hlgraph.Settings(store=graph.settings.store, wait=0)
        with pytest.raises(StoreLockedError, match="is writing to this store"):
            hlgraph.restore(target, settings, replace=True)


def test_the_modes_of_files_are_those_of_the_store(tmp_path: Path, graph: HLGraph) -> None:
    store, target = tmp_path / "store", tmp_path / "backup"
    (store / "vectors" / "1-1.f32").chmod(0o640)
    store.chmod(0o750)
    graph.backup(target)
    assert {path.stat().st_mode & 0o077 for path in target.rglob("*")} == {0}
    found = _restored(target) / "store"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (found, *found.rglob("*"))}
    assert (modes["store"], modes["1-1.f32"], modes["2-1.f32"], modes["hlgraph.db"]) == (0o750, 0o640, 0o600, 0o600)


def test_the_ledger_and_the_stored_replies_are_in_the_backup(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    monkeypatch.setenv("HLGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HLGRAPH_LEDGER", raising=False)
    command_worker.models(monkeypatch.setattr)
    assert call("ingest", str(docs / "mill.txt"), "--extract", "chat")[0] == 0
    spent = call("ledger", "--json")
    assert call("backup", str(tmp_path / "backup"))[0] == 0
    shutil.rmtree(tmp_path / "store")
    assert call("restore", str(tmp_path / "backup"))[0] == 0
    assert {LEDGER_FILE, REPLIES_FILE} <= {path.name for path in (tmp_path / "store").iterdir()}
    assert call("ledger", "--json") == spent
    assert json.loads(spent[1])


def test_a_store_of_an_older_schema_is_backed_up_before_it_is_migrated(
    tmp_path: Path, graph: HLGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db")) as connection, connection:
        undo_words_fields_and_lists(connection)
    (tmp_path / "store" / "hlgraph.db-wiped").unlink()  # older versions made none

    connect, opened = sqlite3.connect, list[sqlite3.Connection]()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *given, **named: opened.append(connect(*given, **named)) or opened[-1])
        with hlgraph.connect(graph.settings) as older, pytest.raises(MigrationError):
            older.stats()
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    with hlgraph.connect(graph.settings) as older:
        older.backup(tmp_path / "backup")
    found = _restored(tmp_path / "backup")
    for folder in (tmp_path, found):
        assert call("--store", f"hlgraph://{folder}/store", "migrate", "apply")[0] == 0
    assert dump(found) == dump(tmp_path)


def test_a_full_disk_ends_a_backup_and_the_last_one_stays(
    tmp_path: Path, docs: Path, graph: HLGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "backup"
    graph.backup(target)
    before = dump(tmp_path)
    (docs / "new.txt").write_text("Sela Vantongeren wrote about Quarrick.")
    graph.ingest([docs])
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    held = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:  # the copy of the database in the temporary folder
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
        with pytest.raises(StoreUnavailableError, match=r"free some space|cannot write"):
            graph.backup(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, held)
    real = os.fsync
    for number in itertools.count(1):  # each write that is waited for
        calls = itertools.count(1)

        def sync(file: int, calls: Iterator[int] = calls, number: int = number) -> None:
            if next(calls) == number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(file)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", sync)
            try:
                graph.backup(target)
            except StoreUnavailableError as error:
                assert str(target) in str(error), number  # noqa: PT017 - the last round raises nothing
            else:
                break
        assert dump(_restored(target)) in (before, dump(tmp_path))
    assert number > 5
    assert dump(_restored(target)) == dump(tmp_path)


def _json(line: list[str]) -> dict[str, object]:
    code, out, _ = call(*line, "--json")
    return {"code": code, **json.loads(out)}


def test_the_commands_say_what_they_did(tmp_path: Path, docs: Path, graph: HLGraph) -> None:
    store = ["--store", graph.settings.store]
    code, out, _ = call(*store, "backup", str(tmp_path / "backup"))
    assert (code, out.splitlines()[1]) == (0, "the copy is fine")
    assert re.match(rf"{tmp_path}/backup holds the state of \S+: 5 files, [\d,]+ bytes, [\d,]+ written\n", out)
    again = _json([*store, "backup", str(tmp_path / "backup")])
    assert (again["code"], again["written"], again["store"]) == (0, 0, str(tmp_path / "store"))
    code, _, err = call(*store, "restore", str(tmp_path / "backup"))
    assert (code, "replace it: restore --replace" in err) == (2, True)
    new = _json(["--store", f"hlgraph://{tmp_path}/new", "restore", str(tmp_path / "backup")])
    assert (new["restored_to"], new["bytes"]) == (f"hlgraph://{tmp_path}/new", again["bytes"])
