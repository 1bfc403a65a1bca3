"""What happens to calls that are under way when a graph is closed, its process forks or ends, or its store is replaced."""

from __future__ import annotations

import contextlib
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from thoroughness import cases

import hlgraph
from hlgraph.errors import HLGraphError, MigrationError, StoreClosedError, StoreUnavailableError
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.embedded.database import POOL, Database
from hlgraph.testing.embedder import WordEmbedder

TEXTS = [
    Document(f"doc:{at}", f"Ada Falk built mill {at} in Sarn. Mill {at} was sold to Ben Moro.") for at in range(20)
]
OTHER = [Document("doc:0", "The ferry at Wendlecote was run by Tim Vale.")]
ROUNDS = cases(3, 100)
SEARCHING = """
import asyncio, os, sys, threading, time
import hlgraph, hlgraph.sdk.aio, hlgraph.sdk.client
from hlgraph.errors import StoreClosedError
from hlgraph.testing.embedder import WordEmbedder

# Each round is a process of its own, forked before there is a thread or a store: to import all of it takes longer.
for _ in range(int(sys.argv[2])):
    pid = os.fork()
    if not pid:
        break
    if os.waitpid(pid, 0)[1]:
        sys.exit(1)
else:
    sys.exit()
graph = hlgraph.connect(sys.argv[1], embedder=WordEmbedder())
graph.search("Who built mill 3?")

def search(ends):
    try:
        while True:
            graph.search("Who built mill 3?", strategy="path")
    except StoreClosedError:
        ends.append("closed")
    except BaseException as error:
        ends.append(repr(error))

def begin(count, **options):
    ends = []
    threads = [threading.Thread(target=search, args=(ends,), **options) for _ in range(count)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    return ends, threads
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with connect(tmp_path / "store") as graph:
        graph.ingest(TEXTS)
    return tmp_path / "store"


def connect(folder: Path) -> HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}", embedder=WordEmbedder())


def run(folder: Path, script: str, *, rounds: int = 1) -> list[str]:
    """The lines that the processes of some rounds print; each must end well."""
    made = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SEARCHING + script, f"hlgraph://{folder}", str(rounds)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    return made.stdout.splitlines()


@pytest.mark.parametrize("timeout", ["30", "0"], ids=["waits", "does not wait"])
def test_close_while_threads_search(folder: Path, timeout: str) -> None:
    script = f"""
import logging; logging.disable()
ends, threads = begin(4)
graph.close(timeout={timeout})
for thread in threads:
    thread.join()
print(ends)
"""
    assert run(folder, script, rounds=ROUNDS) == [str(["closed"] * 4)] * ROUNDS


def test_the_interpreter_ends_while_daemons_search(folder: Path) -> None:
    assert run(folder, "begin(4, daemon=True); print('end')", rounds=ROUNDS) == ["end"] * ROUNDS


def test_an_asynchronous_graph_is_left_with_searches_under_way(folder: Path) -> None:
    script = """
async def main():
    async with hlgraph.AsyncHLGraph(graph) as other:
        tasks = [asyncio.create_task(other.search("Who built mill 3?", strategy="path")) for _ in range(12)]
        await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
    print({type(item).__name__ for item in await asyncio.gather(*tasks, return_exceptions=True)} - {"SearchResult"})
    try:
        await other.search("Who?")
    except StoreClosedError:
        print("closed")
asyncio.run(main())
"""
    assert run(folder, script, rounds=ROUNDS)[1::2] == ["closed"] * ROUNDS


def test_a_closed_graph_says_so_and_closes_again(folder: Path) -> None:
    graph = connect(folder)
    part, stream = graph.communities, graph.answer_stream("Who built mill 3?")
    graph.close()
    graph.close()
    for call in (
        lambda: graph.search("Who?"), graph.stats, graph.check, part.find, lambda: next(stream), lambda: graph.ingest(TEXTS),
        lambda: graph.delete(["doc:0"]), lambda: graph.facts, lambda: graph.answer("Who?"), graph.reconcile,
    ):  # fmt: skip
        with pytest.raises(StoreClosedError, match="was closed; open it again"):
            call()


def test_a_call_inside_a_call_is_let_in_while_the_graph_is_closed(folder: Path) -> None:
    graph, seen = connect(folder), threading.Event()
    closing = threading.Thread(target=graph.close)
    counts: list[int] = []

    def told(_: object) -> None:
        if not seen.is_set():
            seen.set()
            closing.start()
            closing.join(0.2)  # it waits for this ingest
        counts.append(graph.stats()[0].version)

    assert graph.ingest(OTHER, on_progress=told).sources_changed == 1
    closing.join()
    assert counts
    with pytest.raises(StoreClosedError):
        graph.stats()


def test_closing_from_inside_a_call_does_not_wait_for_that_call(folder: Path) -> None:
    graph = connect(folder)
    with pytest.raises(StoreClosedError):
        graph.ingest(OTHER, on_progress=lambda _: graph.close())
    with connect(folder) as again:
        assert again.ingest(OTHER).sources_changed == 1


def open_files(folder: Path) -> int:
    """How often this process has files of a store open."""
    held = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    names = (str(item.readlink()) for item in held.iterdir() if item.is_symlink())
    return sum(name.startswith(str(folder)) for name in names)


def test_threads_that_come_and_go_leave_nothing_open(folder: Path) -> None:
    with connect(folder) as graph:
        graph.search("Who built mill 3?")
        before, memory = open_files(folder), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(cases(20, 250)):
            threads = [threading.Thread(target=graph.search, args=("Who built mill 3?",)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert open_files(folder) <= before + 4 * POOL
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < memory + 20_000 + 2 * 4_000  # kilobytes


def test_many_threads_that_stay_share_the_connections(folder: Path) -> None:
    count = 60
    with connect(folder) as graph, ThreadPoolExecutor(count) as threads:
        before = open_files(folder)
        together = threading.Barrier(count)

        def search(_: int) -> int:
            together.wait()
            return len(graph.search("Who built mill 3?").evidence)

        assert set(threads.map(search, range(count))) == {10}
        together.reset()
        assert open_files(folder) <= before + 4 * POOL


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_opens_the_store_again(folder: Path) -> None:
    """The graph of the parent says so; one of the child's own writes and reads, and the parent's goes on."""
    script = """
from hlgraph.records import Document

pid = os.fork()
if not pid:
    try:
        graph.ingest([Document("doc:0", "A ferry.")])
    except StoreClosedError as error:
        said = str(error)
    with hlgraph.connect(sys.argv[1], embedder=WordEmbedder()) as own:
        assert own.ingest([Document("doc:child", "Tim Vale ran the ferry.")]).sources_added == 1
        assert own.search("Who ran the ferry?").evidence
    print(said, flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert graph.search("Who ran the ferry?").evidence[0].text.startswith("Tim Vale")
graph.close()
"""
    assert "of which this one is a fork; open it again here" in run(folder, script)[0]


def replaced(folder: Path, other: Path) -> None:
    """Puts a copy of another store in the place of one, as a backup is restored or a new one is switched to."""
    shutil.copytree(other, folder.with_name("fresh"))
    folder.rename(folder.with_name("old"))
    folder.with_name("fresh").rename(folder)
    shutil.rmtree(folder.with_name("old"))


@pytest.fixture
def other(tmp_path: Path) -> Path:
    with connect(tmp_path / "other") as graph:
        graph.ingest(OTHER)
    return tmp_path / "other"


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_replaced_store_is_opened_again(folder: Path, other: Path, is_warm: bool) -> None:
    with connect(folder) as graph:
        if is_warm:
            graph.search("Who built mill 3?")
            part = graph.communities
        replaced(folder, other)
        assert [item.text for item in graph.search("Who ran the ferry?").evidence] == [OTHER[0].text]
        assert graph.stats()[0].records["source"] == 1
        assert all(item.is_fine for item in graph.check())
        assert graph.ingest(TEXTS).sources_added == len(TEXTS) - 1  # nothing of the old store counts as unchanged
        graph.delete(["doc:1"])
        if is_warm:
            with pytest.raises(StoreClosedError, match="was replaced by another store"):
                part.find()
            assert not graph.communities.find().communities
        assert all(item.is_fine for item in graph.check())


CALLS: dict[str, Callable[[HLGraph], object]] = {
    "search": lambda graph: graph.search("Who built mill 3?"),
    "sources": lambda graph: graph.sources.list(),
    "stats": lambda graph: graph.stats(),
    "ingest": lambda graph: graph.ingest(TEXTS),
    "delete": lambda graph: graph.delete("doc:1"),
    "groups": lambda graph: graph.groups.set("us", uris="doc:1"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_store_that_goes_away_is_no_empty_store(folder: Path, call: str) -> None:
    """As where its disk is not mounted: nothing is created there, and all is as before once it is back."""
    with connect(folder) as graph:
        count = graph.stats()[0].records["source"]
        folder.rename(folder.with_name("away"))
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="the store that was read here is gone; put it back"):
                CALLS[call](graph)
        assert not folder.exists()
        folder.with_name("away").rename(folder)
        assert graph.stats()[0].records["source"] == count
        assert graph.search("Who built mill 3?").evidence
        assert graph.ingest(TEXTS).sources_unchanged == len(TEXTS)


def test_connections_to_two_stores_at_one_path_are_of_neither(
    folder: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One begins before the swap and ends after another one has begun and ended."""
    database = Database(folder)
    connect_to = sqlite3.connect

    def connected_before_the_swap(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect_to(*arguments, **options)
        if options.get("check_same_thread") is not False:  # a look at the schema
            return connection
        monkeypatch.setattr("sqlite3.connect", connect_to)
        replaced(folder, other)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(database.reader).result()
        return connection

    monkeypatch.setattr("sqlite3.connect", connected_before_the_swap)
    database.reader()
    assert database.is_replaced()
    database.close()


def test_a_call_that_begins_while_another_thread_opens_the_new_store_is_repeated(
    folder: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(folder) as graph:
        graph.search("Who built mill 3?")
        calls = graph._resources.opened.stores.calls
        assert calls is not None
        replaced(folder, other)
        entered = calls.call

        def late() -> contextlib.AbstractContextManager[None]:
            graph._resources.current()  # as another thread
            calls.is_replaced = lambda: False  # as if the new store had the inode of the old one
            return entered()

        monkeypatch.setattr(graph._resources, "current", iter([graph._resources.opened]).__next__)
        monkeypatch.setattr(calls, "call", lambda: (monkeypatch.undo(), late())[1])
        assert [item.text for item in graph.search("Who ran the ferry?").evidence] == [OTHER[0].text]


def test_a_call_that_looks_at_the_store_while_another_thread_opens_the_new_one_is_of_the_new_one(
    folder: Path, other: Path
) -> None:
    with connect(folder) as graph:
        graph.search("Who built mill 3?")
        calls = graph._resources.opened.stores.calls
        assert calls is not None
        is_replaced = calls.is_replaced

        def late() -> bool:
            calls.is_replaced = is_replaced
            replaced(folder, other)
            graph._resources.current()  # as another thread
            return False  # what was right a moment ago

        calls.is_replaced = late
        assert [item.text for item in graph.search("Who ran the ferry?").evidence] == [OTHER[0].text]


def test_a_file_without_a_schema_that_another_thread_makes_is_no_store(tmp_path: Path) -> None:
    for number in range(200):
        database = Database(tmp_path / str(number))
        database.path.mkdir()
        maker = threading.Thread(target=database.file.touch)
        maker.start()
        while maker.is_alive():
            assert not database.exists()
        assert not database.exists()


def test_a_store_is_replaced_while_threads_search_and_write(folder: Path, other: Path, tmp_path: Path) -> None:
    """Each search is of one of the two stores; what is ingested in the meantime is in the store at the path."""
    ok = {OTHER[0].text, *(text for item in TEXTS for text in item.text.replace("Sarn. ", "Sarn.\n").splitlines())}
    with connect(folder) as graph, ThreadPoolExecutor(5) as threads:
        ends, wrong = threading.Event(), []

        def search() -> None:
            while not ends.is_set():
                try:
                    found = {item.text for item in graph.search("Who built mill 3?", k=3).evidence}
                except HLGraphError as error:  # between the two renames there is no store
                    found = set() if "no store here yet" in str(error) or "no corpus" in str(error) else {repr(error)}
                if not (found <= ok or found <= {"Lin Orr ran the inn."}):
                    wrong.append(found)

        running = [threads.submit(search) for _ in range(3)]
        for at in range(cases(4, 100)):
            store = tmp_path / f"swap {at}"
            shutil.copytree(other, store)
            replaced(folder, store)
            graph.ingest([Document("doc:inn", "Lin Orr ran the inn.")])
            with connect(folder) as fresh:
                assert fresh.facts.sources() == graph.facts.sources()
                assert fresh.stats()[0].records["source"] == 2
        ends.set()
        for one in running:
            one.result()
    assert not [item for item in wrong if not item <= ok | {"Lin Orr ran the inn."}]


def test_a_store_that_a_newer_program_migrated_is_refused(folder: Path) -> None:
    with connect(folder) as graph:
        graph.search("Who built mill 3?")
        with contextlib.closing(sqlite3.connect(folder / "hlgraph.db")) as newer:
            newer.execute(
                "INSERT INTO migration SELECT max(version) + 1, 'of_the_future', 'x', '2030-01-01', '9.9' FROM migration"
            )
            newer.commit()
        for call in (
            lambda: graph.search("Who built mill 3?"),
            lambda: graph.ingest(OTHER),
            lambda: graph.delete(["doc:1"]),
        ):
            with pytest.raises(MigrationError, match="newer"):
                call()
