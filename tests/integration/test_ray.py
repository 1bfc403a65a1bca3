"""An ingest on a local cluster of Ray: the same graph, the same report, and nothing lost with a process that is killed."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from chat_server import MODEL, Asked, ChatServer, busy
from command_line import call
from ingest_keywords import keywords
from pytest_httpserver import HTTPServer
from thoroughness import IS_THOROUGH, cases
from werkzeug import Response

import hlgraph
from hlgraph import Budget, Document, HLGraph, IngestOptions
from hlgraph.errors import BudgetError, InputError, MissingExtraError, ModelAccessError
from hlgraph.integrations.ray import ingest, local_cluster, run
from hlgraph.models.accounts.ledger import total
from hlgraph.read.table_mapping import table_mapping
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.chat import without_salt
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

# A node that a busy machine starts too late is started again; Ray leaves the processes of the first one to the collector.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
SAMPLES = Path(hlgraph.__file__).parent / "samples"
MARKDOWN = sorted(SAMPLES.glob("*.md"))[:3]
KEY = "sk-of-the-ray-tests-alone"
CONCURRENCY = 3
WORKERS = 2
CHAT = IngestOptions(extract="chat")


_CALLER = """
import sys
from pathlib import Path
import hlgraph
from hlgraph.integrations.ray import ingest
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.embedder import WordEmbedder

folder, url, address, workers, *paths = sys.argv[1:]
models = ModelSettings(chat="openai:m", chat_url=url, concurrency=3, cache=folder, quarantine=f"{folder}/quarantine")
settings = Settings(store=f"hlgraph://{folder}/store", models=models)
with hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
    ingest(graph, paths, options=hlgraph.IngestOptions(extract="chat"), address=address, workers=int(workers))
"""


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        if IS_THOROUGH:
            patch.setattr(run, "loaded", _late_once(patch))
        with local_cluster(WORKERS, store_bytes=100 << 20):
            # Of this home; each test has another one.
            patch.setenv("RAY_AUTH_TOKEN_PATH", str(Path.home() / ".ray" / "auth_token"))
            yield


def _late_once(patch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """Imports Ray as an ingest does, whose first node then does not tell of itself in time: one start more."""
    load, calls = run.loaded, list[object]()

    def loaded() -> ModuleType:
        found = load()
        from ray._private import services

        tell = services.get_node

        def late(*arguments: object) -> object:
            calls.append(arguments)
            if len(calls) == 1:
                raise TimeoutError("the node is late")
            return tell(*arguments)

        patch.setattr(services, "get_node", late)
        return found

    return loaded


def opened(folder: Path, server: ChatServer | None = None) -> HLGraph:
    chat = {"chat": MODEL, "chat_url": server.url} if server else {}
    models = ModelSettings(
        concurrency=CONCURRENCY, cache=str(folder / "cache"), quarantine=str(folder / "quarantine"), **chat
    )
    return hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder())


def state(graph: HLGraph) -> object:
    assert all(item.is_fine for item in graph.check())
    return snapshot(graph._opened.stores, "default")


def straight(folder: Path, server: ChatServer, options: IngestOptions = CHAT) -> object:
    """What one process makes of the documents by the chat model."""
    with opened(folder, server) as graph:
        graph.ingest(MARKDOWN, **keywords(options))
        return state(graph)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, _cluster: None) -> tuple[object, int]:
    """What one process makes of the documents, and how many calls it takes."""
    with HTTPServer(threaded=True) as running:
        chat = ChatServer(running)
        return straight(tmp_path_factory.mktemp("alone"), chat), chat.calls


def _without_salt(asked: Asked) -> Asked:
    return Asked(without_salt(asked.system), without_salt(asked.user))


def paid(folder: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(folder / "store" / "ledger-1.sqlite")) as connection:
        return [row[0] for row in connection.execute("SELECT request FROM calls WHERE state = 'paid'")]


def processes(title: str) -> list[int]:
    """Processes of this test's cluster that have a title like this."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if re.match(title, (folder / "cmdline").read_text()) and os.getpid() in _ancestors(int(folder.name)):
                found.append(int(folder.name))
    return found


def _ancestors(process: int) -> Iterator[int]:
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        yield process


def test_the_graph_and_the_report_are_those_of_one_process(tmp_path: Path) -> None:
    """Of sources that are new, changed, the same, gone, and that cannot be read."""
    docs = tmp_path / "docs"
    docs.mkdir()
    before = {*MARKDOWN[1:], SAMPLES / "haldrey.md", SAMPLES / "ombry.md"}
    for path in before:
        shutil.copy(path, docs)
    with opened(tmp_path / "one") as one, opened(tmp_path / "many") as many:
        for graph in (one, many):
            assert graph.ingest(docs).sources_added == len(before)
        shutil.copy(MARKDOWN[0], docs)
        (docs / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
        (docs / "rows.jsonl").write_text('{"id": 1, "text": "Orla Vane keeps bees."}\nnot a row\n')
        edited = docs / "haldrey.md"
        edited.write_text(edited.read_text().replace("Haldrey", "Haldrey Town", 1))
        (docs / "ombry.md").unlink()
        twice = [Document("note:1", "Ivo Brandt repaired the clock."), Document("note:1", "Another text.")]
        sources = [docs, tmp_path / "nowhere.txt", *twice]
        options = IngestOptions(delete_missing=True)
        want = one.ingest(sources, **keywords(options))
        got = ingest(many, sources, options=options, workers=WORKERS)
        failed = {item.uri.rpartition("/")[2] for item in got.failed}
        assert failed == {"broken.pdf", "rows.jsonl", "nowhere.txt", "note:1"}
        assert sorted(got.failed) == sorted(want.failed)
        assert {**_figures(got), "failed": None} == {**_figures(want), "failed": None}
        assert state(many) == state(one)
        assert (got.sources_changed, got.sources_removed) == (1, 1)
        assert got.sources_added > 1
        assert got.sources_unchanged == len(before) - 2


@pytest.mark.thorough
def test_rows_are_those_of_one_process_and_a_mapping_that_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    names = ["a.csv", "b.csv"]
    for name in names:
        (tmp_path / name).write_text("No,Part,Mass\n" + "".join(f"{at},{name} {at},{at}.5\n" for at in range(20)))
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE parts (No, Part, Mass)")
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?)", [(at, f"Part {at}", 1.5 * at) for at in range(20)])
        connection.commit()
    query = {"connection": f"sqlite:///{tmp_path}/shop.db", "query": "SELECT * FROM parts"}
    mapping = {"name": "Part", "key": "No", "columns": {"Mass": {"type": "number", "unit": "kg"}}}
    files = IngestOptions(rows=table_mapping(mapping), delete_missing=True)
    result = replace(files, rows=table_mapping(mapping | {"sql": query}))
    paths = [str(tmp_path / name) for name in names]
    with opened(tmp_path / "one") as one, opened(tmp_path / "many") as many:
        for sources, options, workers in (
            (paths, files, WORKERS),
            (["sql:parts"], result, 1),
            (["sql:parts"], result, 1),
        ):
            want = one.ingest(sources, **keywords(options))
            got = ingest(many, sources, options=options, workers=workers)
            assert _figures(got) == _figures(want)
            assert state(many) == state(one)
        assert got.sources_unchanged == 20
        (tmp_path / "b.csv").write_text("No,Part\n1,new\n")
        (tmp_path / "a.csv").write_text("No,Part,Mass\n1,new,1\n")
        with pytest.raises(InputError, match=r"b\.csv: the mapping names the column 'Mass', which no row has"):
            ingest(many, paths, options=files, workers=1)
        wrong = replace(
            result,
            rows=table_mapping(mapping | {"sql": query, "name": "No", "key": "Part", "columns": {"Part": "date"}}),
        )
        with pytest.raises(InputError, match="sql:parts: the mapping of the column 'Part' does not fit 20 of 20 rows"):
            ingest(many, ["sql:parts"], options=wrong, workers=1)
        assert state(many) == state(one)


def test_the_command_line_ingests_on_the_cluster(tmp_path: Path) -> None:
    done = call("--store", f"hlgraph://{tmp_path}/store", "ingest", MARKDOWN[0], "--ray", "--workers", 1, "--json")
    assert done.code == 0, done.err
    assert done.tree["sources"]["added"] == 1


def _figures(report: object) -> dict[str, object]:
    names = ("sources_added", "sources_changed", "sources_unchanged", "sources_removed", "problems", "added", "removed")
    return {name: getattr(report, name) for name in (*names, "kept", "resumed", "files")}


@pytest.mark.thorough
def test_what_is_killed_at_any_moment_loses_nothing_and_pays_for_its_calls_under_way_at_most(
    tmp_path: Path, server: ChatServer, alone: tuple[object, int]
) -> None:
    want, calls = alone
    rng = random.Random(7)
    killed: list[int] = []
    at = sorted(rng.sample(range(5, calls - 5), 3))
    server.seconds = 0.05

    def kill(number: int, asked: Asked) -> Response | None:
        if at and number >= at[0]:
            at.pop(0)
            stages = "Extract|Embed|Compare" if killed else "Extract"
            killed.append(rng.choice(processes(rf"ray::MapWorker\(MapBatches\(({stages})\)\)")))
            os.kill(killed[-1], signal.SIGKILL)
        return None

    server.fault = kill
    with opened(tmp_path / "many", server) as graph:
        report = ingest(graph, MARKDOWN, options=CHAT, workers=WORKERS)
        assert len(killed) == 3
        assert (report.failed, report.problems, report.sources_added) == ([], [], len(MARKDOWN))
        assert state(graph) == want
        assert total(graph.ledger()).unfinished_calls <= len(killed) * CONCURRENCY
    requests = Counter(map(_without_salt, server.paid))
    assert len(requests) == calls
    assert requests.total() - len(requests) <= len(killed) * CONCURRENCY
    assert set(Counter(paid(tmp_path / "many")).values()) == {1}


@pytest.mark.thorough
def test_an_ingest_whose_caller_is_killed_goes_on_without_paying_again(
    tmp_path: Path, server: ChatServer, alone: tuple[object, int]
) -> None:
    import ray

    want, calls = alone
    address = ray.get_runtime_context().gcs_address
    callers: list[subprocess.Popen[bytes]] = []

    def kill(number: int, asked: Asked) -> None:
        if number == calls // 2:
            callers[0].kill()

    server.fault, server.seconds = kill, 0.05
    # Each worker is three processes, which import everything.
    place, workers = str(tmp_path / "many"), str(cases(1, WORKERS))
    command = [sys.executable, "-c", _CALLER, place, server.url, address, workers, *map(str, MARKDOWN)]
    callers.append(subprocess.Popen(command, env={**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}))
    assert callers[0].wait() == -signal.SIGKILL
    with opened(tmp_path / "many", server) as graph:
        report = ingest(graph, MARKDOWN, options=CHAT, workers=1)
        assert (report.failed, report.problems) == ([], [])
        assert report.usage is not None
        assert report.usage.kept > 0
        assert state(graph) == want
    requests = Counter(map(_without_salt, server.paid))
    assert len(requests) == calls
    assert requests.total() - calls <= WORKERS * CONCURRENCY


@pytest.mark.thorough
def test_a_budget_holds_for_all_processes_and_the_next_run_pays_for_the_rest_alone(
    tmp_path: Path, server: ChatServer
) -> None:
    """The domain is inferred once within the budget, and all processes name it."""
    adapted = replace(CHAT, adapt=True)
    want = straight(tmp_path / "one", server, adapted)
    calls, tokens = server.calls, server.tokens
    server.calls, server.tokens, server.paid = 0, 0, []
    budget = Budget(max_tokens=tokens // 2)
    with opened(tmp_path / "many", server) as graph:
        with pytest.raises(BudgetError, match="repeat the command to resume it") as caught:
            ingest(graph, MARKDOWN, options=replace(adapted, budget=budget), workers=WORKERS)
        dearest = max(1 + len(asked.system) + len(asked.user) for asked in server.paid)
        assert caught.value.tokens == server.tokens
        assert tokens // 4 < server.tokens <= tokens // 2 + WORKERS * CONCURRENCY * dearest
        paid = server.calls
        report = ingest(graph, MARKDOWN, options=adapted, workers=1)
        assert (report.failed, report.problems, report.domain) == ([], [], None)
        assert report.usage is not None
        assert report.usage.calls == calls - paid
        assert state(graph) == want
        spent = total(graph.ledger())
        assert (spent.calls, spent.input_tokens + spent.output_tokens, spent.unfinished_calls) == (calls, tokens, 0)
        assert graph.ingest(MARKDOWN, **keywords(CHAT)).sources_unchanged == len(MARKDOWN)
    assert sum(asked.is_for_domain for asked in server.paid) == 1
    assert all("<kinds " in asked.user for asked in server.paid if asked.is_for_entities)
    assert (server.tokens, server.calls, len({*map(_without_salt, server.paid)})) == (tokens, calls, calls)


@pytest.mark.thorough
def test_the_report_of_an_ingest_that_infers_a_domain_counts_that_call_too(tmp_path: Path, server: ChatServer) -> None:
    with opened(tmp_path, server) as graph:
        report = ingest(graph, MARKDOWN[:1], options=replace(CHAT, adapt=True), workers=1)
        assert report.usage is not None
        assert report.domain == graph.domain.find()
        assert (report.usage.calls, report.usage.input_tokens + report.usage.output_tokens) == (
            len(server.paid),
            server.tokens,
        )


@pytest.mark.thorough
def test_a_refused_key_is_the_error_of_one_process(tmp_path: Path, server: ChatServer) -> None:
    server.fault = lambda number, asked: busy(status=401)
    with opened(tmp_path, server) as graph, pytest.raises(ModelAccessError):
        ingest(graph, MARKDOWN[:2], options=CHAT, workers=1)


def test_the_key_is_written_nowhere() -> None:
    """The ingests above call a model with it."""
    from ray._private import worker

    logs = Path(worker._global_node.get_session_dir_path())
    files = [path for path in logs.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_nothing_is_left_of_a_node_that_did_not_start() -> None:
    assert len(processes(r".*/gcs_server\0")) == 1


def test_the_cluster_listens_on_this_machine_alone() -> None:
    import ray

    port = int(ray.get_runtime_context().gcs_address.rpartition(":")[2])
    socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(ConnectionRefusedError):  # an address of every machine: who listens on all would answer
        socket.create_connection(("127.0.0.2", port))


def test_a_model_that_cannot_be_sent_is_said_before_anything_is_begun(tmp_path: Path) -> None:
    class Unsendable(WordEmbedder):
        def __reduce__(self) -> str:
            raise TypeError("it holds a connection")

    settings = Settings(store=f"hlgraph://{tmp_path}/store")
    with hlgraph.connect(settings, embedder=Unsendable()) as graph:
        with pytest.raises(InputError, match=r"Unsendable cannot be sent to other processes \(it holds a connection"):
            ingest(graph, MARKDOWN)
        assert graph.stats() == ()


def test_what_cannot_be_done_is_said_before_anything_is_begun(tmp_path: Path) -> None:
    with opened(tmp_path) as graph:
        with pytest.raises(InputError, match="cannot read standard input; write it to a file"):
            ingest(graph, ["-"])
        with pytest.raises(InputError, match="workers is 0; choose at least 1"):
            ingest(graph, MARKDOWN, workers=0)
        with pytest.raises(InputError, match="this process already uses a Ray cluster"), local_cluster():
            pass
        assert ingest(graph, []).sources_added == 0


def test_without_ray_the_pip_line_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with opened(tmp_path) as graph, pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[ray\]'"):
        ingest(graph, MARKDOWN)
