"""The n-th call of a kind fails: the error is one of hlgraph, the store is in one of two states, and the same call mends all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import neo4j
import neo4j.exceptions
import opensearchpy
import pytest
from edited_corpus import BEFORE, OPERATIONS, documents, edit, spread
from live_stores import opened, settings_for
from store_dump import dump
from thoroughness import cases

import hlgraph
from hlgraph.errors import HLGraphError
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

PLACES = cases(4, 10_000)


class Failing(sqlite3.Connection):
    """A connection whose statements :data:`FAULTS` can fail."""

    def execute(self, *args: Any) -> sqlite3.Cursor:
        return run(super().execute, *args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        return run(super().executemany, *args)


def run(statement: Callable[..., sqlite3.Cursor], *args: Any) -> sqlite3.Cursor:
    return statement(*args)


class Fault(NamedTuple):
    """A function that fails: ``error`` makes what it raises; ``is_after``: the call is done first, as where a reply is lost."""

    owner: Any
    name: str
    error: Callable[[], BaseException]
    is_after: bool = False


@contextlib.contextmanager
def failing(fault: Fault, number: int) -> Iterator[list[int]]:
    """Fails the call of a kind with this number, once; yields a list that gets an item for each call, on any thread."""
    inner = getattr(fault.owner, fault.name)
    calls: list[int] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(len(calls))
        if calls[-1] != number:
            return inner(*args, **kwargs)
        if fault.is_after:
            inner(*args, **kwargs)
        raise fault.error()

    with mock.patch.object(fault.owner, fault.name, call):
        yield calls


def disk(number: int) -> OSError:
    return OSError(number, os.strerror(number))


THIS = __import__("sys").modules[__name__]
FAULTS = {
    "a statement, disk": Fault(THIS, "run", lambda: sqlite3.OperationalError("disk I/O error")),
    "a statement, locked": Fault(THIS, "run", lambda: sqlite3.OperationalError("database is locked")),
    "a statement, done": Fault(THIS, "run", lambda: sqlite3.OperationalError("disk I/O error"), is_after=True),
    "fsync": Fault(os, "fsync", lambda: disk(errno.EIO)),
    "open": Fault(Path, "open", lambda: disk(errno.ENOSPC)),
    "rename": Fault(Path, "rename", lambda: disk(errno.EACCES)),
    "unlink": Fault(Path, "unlink", lambda: disk(errno.EACCES)),
    "embed": Fault(WordEmbedder, "embed", lambda: ConnectionResetError(errno.ECONNRESET, "reset by peer")),
}


def connect(folder: Path) -> HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}/store", embedder=WordEmbedder())


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Failing))
    with connect(tmp_path / "before") as graph:
        graph.ingest(documents(BEFORE))
    return tmp_path / "before"


@pytest.mark.faults
@pytest.mark.parametrize("name", FAULTS)
def test_an_edit_of_which_a_call_fails_is_done_whole_by_the_next(name: str, before: Path, tmp_path: Path) -> None:
    shutil.copytree(before, tmp_path / "right")
    with connect(tmp_path / "right") as graph, failing(FAULTS[name], -1) as calls:
        edit(graph)
    assert calls or name == "rename"
    right, raw = dump(tmp_path / "right"), []
    for place in spread(len(calls), PLACES):
        folder = tmp_path / str(place)
        shutil.copytree(before, folder)
        try:
            with connect(folder) as graph, failing(FAULTS[name], place):
                edit(graph)
        except HLGraphError:
            pass
        except Exception as error:  # noqa: BLE001 - none may get out
            raw.append((place, repr(error)))
        with connect(folder) as graph:
            graph.search("Who designed the Halfmoon Bridge?")  # what is visible can be searched at once
            edit_again(graph)
        assert dump(folder) == right, place
        shutil.rmtree(folder)
    assert not raw


def edit_again(graph: HLGraph) -> None:
    edit(graph, [0])
    if len(graph.facts.sources()) > len(BEFORE):
        edit(graph, [1])
    graph.reconcile(repair=True)  # the last writer could not empty its log, if that was what failed


@pytest.mark.faults
@pytest.mark.parametrize("name", FAULTS)
def test_a_search_of_which_a_call_fails_raises_one_clear_error_or_is_right(name: str, before: Path) -> None:
    raw, wrong = [], []
    for read in (OPERATIONS["path"], OPERATIONS["auto"], OPERATIONS["stats"]):
        with connect(before) as graph:
            right = read(graph)
        with connect(before) as graph, failing(FAULTS[name], -1) as calls:
            read(graph)
        for place in spread(len(calls), PLACES):
            with connect(before) as graph:
                try:
                    with failing(FAULTS[name], place):
                        found = read(graph)
                    wrong += [] if found == right else [(place, found)]
                except HLGraphError:
                    pass
                except Exception as error:  # noqa: BLE001 - none may get out
                    raw.append((place, repr(error)))
                assert read(graph) == right, place
    assert (raw, wrong) == ([], [])


def lost() -> BaseException:
    return neo4j.exceptions.ServiceUnavailable("the connection was lost")


def reset() -> BaseException:
    return opensearchpy.exceptions.ConnectionError("N/A", "the connection was reset", OSError())


SERVERS = {
    "Neo4j": Fault(neo4j.Driver, "execute_query", lost),
    "Neo4j, done": Fault(neo4j.Driver, "execute_query", lost, is_after=True),
    "Neo4j writes": Fault(neo4j.Session, "execute_write", lost),
    "OpenSearch": Fault(opensearchpy.Urllib3HttpConnection, "perform_request", reset),
    "OpenSearch, done": Fault(opensearchpy.Urllib3HttpConnection, "perform_request", reset, is_after=True),
}


@pytest.fixture(scope="module")
def live(servers: Any) -> Iterator[Callable[[], HLGraph]]:
    settings = settings_for(servers)
    with opened(servers, settings):
        yield lambda: hlgraph.connect(settings, embedder=WordEmbedder())


@pytest.mark.faults
@pytest.mark.parametrize("name", SERVERS)
def test_calls_to_servers_that_fail_once_are_repeated(name: str, live: Callable[[], HLGraph]) -> None:
    """An edit and a search give what they give without the fault, or an error of hlgraph and then the same."""
    with live() as graph:
        graph.ingest(documents(BEFORE))
        with failing(SERVERS[name], -1) as calls:
            edit(graph)
            right = OPERATIONS["path"](graph)
        raw = []
        for place in spread(len(calls), cases(2, 10_000)):
            graph.delete(everything=True)
            graph.ingest(documents(BEFORE))
            try:
                with failing(SERVERS[name], place):
                    edit(graph)
                    found = OPERATIONS["path"](graph)
            except HLGraphError:
                edit_again(graph)
                found = OPERATIONS["path"](graph)
            except Exception as error:  # noqa: BLE001 - none may get out
                raw.append((place, repr(error)))
                continue
            assert found == right, place
            assert [item for item in graph.check() if not item.is_fine] == [], place
    assert not raw
