"""A backup or a restore killed at any moment: the state before it or the state after it, never a third."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import command_worker
import pytest
from command_line import call
from command_worker import TEXTS as _TEXTS
from command_worker import Moments
from store_dump import dump
from thoroughness import cases

import hlgraph
from hlgraph.sdk.backup import back_up, restore
from hlgraph.settings import Settings
from hlgraph.stores.embedded import mirror

_KILLS = int(os.environ.get("HLGRAPH_FAULT_ROUNDS", str(cases(5, 1_000))))
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["command_worker", "hlgraph.sdk.client", "hlgraph.stores.embedded.doctor"])
_SMALL = 32 * 1024  # bytes that a backup writes at once, so that a kill leaves files that are written in part


class Place:
    """A store in two states, ``old`` and ``new``, and a complete backup of the old one; ``work`` is used up by a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs, self.work = folder / "docs", folder / "work"
        self.backup = self.work / "backup"
        self.states: dict[str, dict[str, object]] = {}

    @property
    def settings(self) -> Settings:
        return Settings(store=f"hlgraph://{self.work}/store")

    def reset(self, name: str) -> None:
        """The store is in one of the states, and the backup is of the old one."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.folder / name, self.work)
        if name == "new":
            shutil.copytree(self.folder / "old" / "backup", self.backup)

    def keep(self, name: str) -> None:
        self.states[name] = dump(self.work)
        assert self.states[name]["doctor"] == []
        shutil.copytree(self.work, self.folder / name)

    def state(self, folder: Path) -> str:
        """The state of the store in a folder."""
        found = {**dump(folder), "cache": self.states["old"]["cache"]}
        (name,) = [name for name, state in self.states.items() if {**state, "cache": found["cache"]} == found]
        return name

    def restored(self) -> str:
        """The state that the backup restores."""
        shutil.rmtree(self.work / "again", ignore_errors=True)
        restore(self.backup, f"hlgraph://{self.work}/again/store")
        return self.state(self.work / "again")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    found = Place(tmp_path_factory.mktemp("killed-backup"))
    found.docs.mkdir()
    for name, text in _TEXTS.items():
        (found.docs / f"{name}.txt").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG", "HLGRAPH_VECTORS", "HLGRAPH_LEDGER"):
            patch.delenv(name, raising=False)
        patch.setenv("HLGRAPH_STORE", found.settings.store)
        patch.setenv("HLGRAPH_CACHE", str(found.work / "cache"))
        patch.setattr(mirror, "_BATCH", _SMALL)
        command_worker.models(patch.setattr)
        with hlgraph.connect() as graph:
            graph.ingest([found.docs])
            graph.backup(found.backup)
        found.keep("old")
        shutil.rmtree(found.backup)
        (found.docs / "flood.txt").unlink()
        (found.docs / "new.txt").write_text("Una Moss opened the Orne Hall in 1951. " * 3)
        (found.docs / "town.txt").write_text(f"{_TEXTS['town']} Una Moss saw it.")
        with hlgraph.connect() as graph:
            graph.ingest([found.docs], delete_missing=True)
        found.keep("new")
        yield found


def _run(arguments: list[str], kill_at: int, environment: dict[str, str]) -> None:
    mirror._BATCH = _SMALL  # type: ignore[misc]
    command_worker.run(arguments, kill_at, environment)


def _killed(arguments: list[str], kill_at: int) -> None:
    worker = _FORKS.Process(target=_run, args=(arguments, kill_at, dict(os.environ)))
    worker.start()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL, kill_at


def _moments(arguments: list[str]) -> list[int]:
    """Some of the moments of a command, spread over it, the last one among them."""
    with pytest.MonkeyPatch.context() as patch:
        moments = Moments()
        moments.arm(patch.setattr)
        code, _, errors = call(*arguments)
    assert code == 0, errors
    every = moments.count + 1
    return sorted({1 + round(at * (every - 1) / max(1, min(_KILLS, every) - 1)) for at in range(min(_KILLS, every))})


@pytest.mark.faults
def test_a_killed_backup_leaves_the_last_one_and_goes_on(place: Place) -> None:
    place.reset("new")
    line = ["backup", str(place.backup)]
    states = []
    for kill_at in _moments(line):
        place.reset("new")
        _killed(line, kill_at)
        states.append(place.restored())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mirror, "_BATCH", _SMALL)
            done = back_up(place.settings, place.backup)
        assert place.restored() == "new"
        assert {path.name for path in place.backup.iterdir()} == {
            "hlgraph-backup.json",
            "hlgraph-backup.lock",
            "store",
        }, kill_at
        assert b"Vantongeren" not in b"".join(path.read_bytes() for path in place.backup.rglob("*") if path.is_file())
        assert done.written < done.bytes
    assert (states[0], states[-1]) == ("old", "new")
    assert states == sorted(states, reverse=True)


@pytest.mark.faults
def test_what_a_killed_first_backup_has_written_is_not_written_again(place: Place) -> None:
    place.reset("new")
    shutil.rmtree(place.backup)
    line = ["backup", str(place.backup)]
    moments = _moments(line)
    shutil.rmtree(place.backup)
    _killed(line, moments[len(moments) // 2])
    if not (place.backup / "hlgraph-backup.json").exists():
        with pytest.raises(hlgraph.errors.InputError, match="the first backup here was not completed"):
            restore(place.backup, f"hlgraph://{place.work}/again/store")
    done = back_up(place.settings, place.backup)
    assert done.written < done.bytes
    assert place.restored() == "new"


@pytest.mark.faults
@pytest.mark.parametrize("is_there", [True, False])
def test_a_killed_restore_leaves_the_old_store_or_the_new_one(place: Place, is_there: bool) -> None:
    line = ["restore", str(place.backup), "--replace"]

    def begin() -> None:
        place.reset("new")
        if not is_there:
            shutil.rmtree(place.work / "store")

    begin()
    states = []
    for kill_at in _moments(line):
        begin()
        _killed(line, kill_at)
        found = (place.work / "store" / "hlgraph.db").exists()
        states.append(place.state(place.work) if found else "none")
        code, _, errors = call(*line)
        assert (code, errors) == (0, ""), kill_at
        assert place.state(place.work) == "old"
        assert [path.name for path in place.work.iterdir() if "restored" in path.name] == []
    assert (states[0], states[-1]) == ("new" if is_there else "none", "old")
    assert states == sorted(states)
