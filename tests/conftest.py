"""The servers of the tests: real ones, with authentication on. A missing one fails a test, it never skips one."""

from __future__ import annotations

import functools
import gc
import http.client
import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from _pytest.doctest import DoctestModule
from filelock import FileLock
from thoroughness import IS_THOROUGH, cases
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from hlgraph.cli import command
from hlgraph.models.install import default_root
from local_model import install, operate
from local_servers import cache, neo4j_server, opensearch_server, process, state
from local_servers.errors import ServerError
from local_servers.state import Neo4jEndpoint, OpenSearchEndpoint, Servers

if TYPE_CHECKING:
    from chat_server import ChatServer
    from neo4j_graphs import MillGraph, TinyGraph
    from playwright.sync_api import Browser

    from hlgraph import HLGraph
    from hlgraph.settings import Neo4jSettings
    from hlgraph.stores.neo4j.server import Server
    from hlgraph.stores.open import Opened
    from hlgraph.stores.protocols import Stores

ENVIRONMENT = "HLGRAPH_TEST_SERVERS"
REPOSITORY = Path(__file__).parents[1]

collect_ignore_glob = ["typing/*.py"]  # mypy reads these; one of them is wrong on purpose
LAUNCHER = REPOSITORY / "docker" / "local" / "servers.py"
KEPT = (cache.ENVIRONMENT, install.ENVIRONMENT, neo4j_server.MORE)
# The launcher may have to fetch jars, with what the user's home says of mirrors.
BEFORE = dict(os.environ)
# The servers of a test live for seconds or minutes: with the first compiler alone, a collector without threads of its own, and
# no proof that the classes of the pinned jars are sound, one is up after half the time, for less than half the processor time.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
# Tests empty and fill a database every second: Neo4j would plan each query anew, which takes longer than to run it, and once
# more for each size of a list that is sent.
NEO4J_OPTIONS = (
    "dbms.cypher.min_replan_interval=1h internal.cypher.expression_engine=INTERPRETED "
    "internal.cypher.use_parameter_size=false"
)


def _ticks() -> tuple[int, int]:
    """The idle time of all cores since the system began, and all time, in ticks."""
    place = Path("/proc/stat")
    ticks = [int(word) for word in place.read_text().partition("\n")[0].split()[1:9]] if place.exists() else [0] * 8
    return ticks[3] + ticks[4], sum(ticks)


_BEGAN, _TICKS = time.time(), _ticks()


@dataclass
class LiveServers:
    """The servers of a state folder; one that was not given starts when a test first asks for it."""

    folder: Path
    found: Servers
    is_given: bool

    @property
    def neo4j(self) -> Neo4jEndpoint:
        if self.found.neo4j is None:
            self._start("neo4j")
        return self.found.neo4j or pytest.fail(f"{self.folder}: no Neo4j was started there; {_mend(self.folder)}")

    @property
    def opensearch(self) -> OpenSearchEndpoint:
        if self.found.opensearch is None:
            self._start("opensearch")
        return self.found.opensearch or pytest.fail(
            f"{self.folder}: no OpenSearch was started there; {_mend(self.folder)}"
        )

    def _start(self, name: str) -> None:
        if self.is_given:
            return
        made = subprocess.run(
            [sys.executable, str(LAUNCHER), "start", "--by", "auto", "--only", name, "--state", str(self.folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env=BEFORE | {name: os.environ[name] for name in ("JAVA_TOOL_OPTIONS", *KEPT)},
        )
        if made.returncode != 0:
            pytest.fail(f"the servers of the tests did not start: {made.stderr}", pytrace=False)
        self.found = _checked(self.folder)


class _Homes:
    """Each test, and what it starts, has a new home, and no variable that hlgraph reads: the user's own state is not there.

    What is expensive to fetch stays where it is: the installed models by a link, the jars and the chat model by variables.
    """

    def __init__(self) -> None:
        self._number = itertools.count()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """What is not of one test has a home, too."""
        self._models = default_root().resolve()
        self._folder = session.config._tmp_path_factory.getbasetemp() / "homes"  # type: ignore[attr-defined]
        os.environ[cache.ENVIRONMENT], os.environ[install.ENVIRONMENT] = str(cache.root()), str(install.root())
        for name in filter(_is_of_the_user, list(os.environ)):
            del os.environ[name]
        self._move()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._move()
        return (yield)

    def _move(self) -> None:
        home = self._folder / str(next(self._number))
        os.environ["HOME"] = str(home)
        link = default_root()
        link.parent.mkdir(parents=True)
        link.symlink_to(self._models, target_is_directory=True)


def _is_of_the_user(variable: str) -> bool:
    """Whether a variable says where a user's files are, or is one of the settings of hlgraph."""
    kept = ("HLGRAPH_TEST_", "HLGRAPH_FAULT_", "HLGRAPH_UPDATE_", "HLGRAPH_JAVA_", *KEPT)
    return variable.startswith(("HLGRAPH_", "XDG_")) and not variable.startswith(kept)


class _Examples:
    """Looks for examples in the files that have some: to look for them in another one is to import it, in every process."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        if ">>>" in file_path.read_text(encoding="utf-8", errors="replace"):
            return found
        return [item for item in found if not isinstance(item, DoctestModule)]


def pytest_configure(config: pytest.Config) -> None:
    """Servers that tests start, here and in processes of their own, read these options, or one's own, from the environment."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA_OPTIONS)  # not added to others: two collectors are an error
    os.environ.setdefault(neo4j_server.MORE, NEO4J_OPTIONS)
    # OpenVINO imports absl, which is here for rouge-score; it would hold on to the stream of the first test as standard error,
    # and close that of all others.
    sys.modules.setdefault("absl", None)  # type: ignore[arg-type]
    if sets := BEFORE.get("HLGRAPH_DATA"):  # tests have no variable that hlgraph reads
        os.environ.setdefault("HLGRAPH_TEST_DATA", sets)
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # a process that a signal ends says where it was
    give_way()
    command.EVERY = threading.TIMEOUT_MAX  # else a command that takes long on a busy machine says so
    config.pluginmanager.register(_Examples())
    if not config.pluginmanager.hasplugin("dsession"):  # this process runs tests, and does not only hand them out
        config.pluginmanager.register(_Homes())
        gc.disable()  # until all tests are collected: what is imported stays
    few = hypothesis.settings(max_examples=cases(12, 100), deadline=None)  # machines are shared and noisy
    hypothesis.settings.register_profile("tests", few)
    hypothesis.settings.load_profile("tests")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServers:
    """For the runs in several processes."""
    return ByServers(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the servers or the small chat model, which `make test-fast` leaves out; leave out what is thorough."""
    for item in items:
        for fixture, mark in (("servers", pytest.mark.servers), ("small_model", pytest.mark.model)):
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
    if not IS_THOROUGH and (left_out := [item for item in items if item.get_closest_marker("thorough")]):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """The collector of garbage leaves alone what is there before the tests: a million objects, looked at again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many of each kind of test passed, failed and were skipped, and of several processes which was left alone at the end."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    ends: dict[str, float] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            parts = report.nodeid.partition("::")[0].split("/")
            kinds[parts[1] if parts[0] == "tests" else "doctests"][outcome] += 1
            worker = getattr(report, "worker_id", "")
            if isinstance(report, pytest.TestReport):  # a folder that cannot be collected has no times
                ends[worker] = max(report.stop - _BEGAN, ends.get(worker, 0))
    terminalreporter.section("kinds of tests")
    for kind, counts in sorted(kinds.items()):
        shown = {outcome: count for outcome, count in counts.items() if count and outcome != "skipped"}
        said = [*(f"{count} {outcome}" for outcome, count in shown.items()), f"{counts['skipped']} skipped"]
        terminalreporter.line(f"{kind:12} {', '.join(said)}")
    if len(ends) > 1:
        idle, whole = (now - then for now, then in zip(_ticks(), _TICKS, strict=True))
        terminalreporter.line(f"cores idle   {idle / max(1, whole):.0%}")
        terminalreporter.line(f"last tests   {', '.join(f'{name} {end:.0f} s' for name, end in sorted(ends.items()))}")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """An empty embedded store, in the folder ``store`` of the test."""
    from hlgraph.stores.open import open_stores

    store = open_stores(f"hlgraph://{tmp_path}/store")
    with store.closing:
        yield store


@pytest.fixture
def stores(opened: Opened) -> Stores:
    """The graph store and the vector store of an empty embedded store, in the folder ``store`` of the test."""
    return opened.stores


@pytest.fixture
def tiny_stores(opened: Opened) -> Stores:
    """The same stores with the tiny corpus."""
    from extractors import ingest_tiny

    ingest_tiny(opened.stores)
    return opened.stores


@pytest.fixture(scope="module")
def module_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """An empty embedded store for the tests of one file, whose own fixture fills it."""
    from hlgraph.stores.open import open_stores

    store = open_stores(f"hlgraph://{tmp_path_factory.mktemp('module')}/store")
    with store.closing:
        yield store.stores


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    """The client of an empty embedded store, in the folder ``store`` of the test, with words as vectors."""
    import hlgraph
    from hlgraph.testing.embedder import WordEmbedder

    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder()) as client:
        yield client


@pytest.fixture
def openai_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for the local chat servers, which ask for none; the client of OpenAI does not start without one."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A local chat server that extracts by rules."""
    from chat_server import ChatServer
    from pytest_httpserver import HTTPServer

    with HTTPServer(threaded=True) as http:
        yield ChatServer(http)
        http.check_assertions()


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The requested pauses, in seconds; none takes place."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    return pauses


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of a local S3 server."""
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser."""
    from readme_picture import chromium

    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def aws_models() -> Iterator[None]:
    """The descriptions of Amazon's services are read once, not anew for each client: that takes longer than what is tested."""
    from botocore.loaders import JSONFileLoader

    read = functools.cache(JSONFileLoader().load_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JSONFileLoader, "load_file", lambda _loader, path: read(path))
        yield


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServers]:
    """Neo4j and OpenSearch: those of the state folder in HLGRAPH_TEST_SERVERS, else started at first use.

    The started ones end with the last test or with this process, however it ends.

    Containers where a Docker engine answers, else processes from published jars.
    """
    from live_stores import FORGET_SCHEMA

    given = os.environ.get(ENVIRONMENT)
    if given:
        folder = Path(given).absolute()
        found = _checked(folder)
        if found.neo4j:  # what a run that was killed left there
            neo4j_server.ask(found.neo4j, *FORGET_SCHEMA)
        yield LiveServers(folder, found, is_given=True)
        return
    folder = tmp_path_factory.mktemp("servers")
    with process.afterwards([sys.executable, LAUNCHER, "stop", "--remove", "--state", folder]):
        yield LiveServers(folder, Servers(), is_given=False)


def _checked(folder: Path) -> Servers:
    """The servers of a folder, each of which answers."""
    try:
        found = state.read(folder)
        if found.neo4j:
            neo4j_server.ask(found.neo4j, "RETURN 1")
        if found.opensearch and opensearch_server.ask(found.opensearch, "/")[0] != http.client.OK:
            pytest.fail(f"{ENVIRONMENT}={folder}: OpenSearch refuses its password; {_mend(folder)}", pytrace=False)
    except (OSError, http.client.HTTPException, ServerError) as error:
        pytest.fail(f"{ENVIRONMENT}={folder}: a server does not answer ({error}); {_mend(folder)}", pytrace=False)
    if not (found.neo4j or found.opensearch):
        pytest.fail(f"{ENVIRONMENT}={folder}: no server was started there; {_mend(folder)}", pytrace=False)
    return found


@pytest.fixture(scope="session")
def neo4j_settings(servers: LiveServers) -> Neo4jSettings:
    """How to reach the Neo4j server of the tests."""
    from live_stores import neo4j_of

    return neo4j_of(servers)


@pytest.fixture
def graph_server(servers: LiveServers, neo4j_settings: Neo4jSettings) -> Iterator[Server]:
    """An empty database with the schema of hlgraph."""
    from live_stores import EMPTY

    from hlgraph.stores import migrate
    from hlgraph.stores.neo4j.migrations import Neo4jTarget
    from hlgraph.stores.neo4j.server import Server

    server = Server(servers.neo4j.url, neo4j_settings)
    server.schema(EMPTY)
    migrate.apply(Neo4jTarget(server))
    yield server
    server.close()


@pytest.fixture(scope="module")
def tiny(servers: LiveServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyGraph]:
    """The tiny corpus on the Neo4j server."""
    from neo4j_graphs import tiny_graph

    with tiny_graph(servers, tmp_path_factory.mktemp("tiny")) as graph:
        yield graph


@pytest.fixture(scope="module")
def mill(servers: LiveServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MillGraph]:
    """The corpus about a mill on the Neo4j server."""
    from neo4j_graphs import mill_graph

    with mill_graph(servers, tmp_path_factory.mktemp("mill")) as graph:
        yield graph


def _mend(folder: Path) -> str:
    return f"run: python docker/local/servers.py start --state {folder}, or leave {ENVIRONMENT} out"


@pytest.fixture(scope="session")
def sample_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache file with the vectors of the samples by the local model.

    They are embedded once per run, by whichever process needs them first: that takes 15 seconds of a processor, where no
    earlier run has left them.
    """
    import hlgraph
    from hlgraph.models.cache import CACHE_FILE
    from hlgraph.settings import ModelSettings, Settings

    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    done, unfinished, earlier = run / "sample-vectors", run / "sample-vectors.new", cache.root() / "sample-vectors.db"
    with FileLock(run / "sample-vectors.lock"):
        if not done.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            if earlier.exists():
                shutil.copy(earlier, unfinished / CACHE_FILE)
            settings = Settings(store=f"hlgraph://{unfinished}/store", models=ModelSettings(cache=str(unfinished)))
            with hlgraph.connect(settings) as graph:
                graph.ingest([REPOSITORY / "hlgraph" / "samples"])
            shutil.copy(unfinished / CACHE_FILE, earlier.with_suffix(f".{os.getpid()}")).replace(earlier)
            unfinished.rename(done)
    return done / CACHE_FILE


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a small real chat model; started where a test first asks for it, and ended with this process at the latest."""
    folder = tmp_path_factory.mktemp("model")
    with process.afterwards([sys.executable, LAUNCHER.with_name("model.py"), "stop", "--remove", "--state", folder]):
        try:
            served = operate.start(folder)
        except ServerError as error:
            pytest.fail(f"the small chat model of the tests did not start: {error}", pytrace=False)
        yield served.url


# The order of a run in several processes (`-n`): which of them have servers, and what begins first.

_OF_SERVERS = r"(servers|graph_server|neo4j_settings|TinyGraph|MillGraph)\b"

# Begun first, so that none of them is left alone at the end.
_LONGEST = (
    "tests/contract/test_opensearch.py",
    "tests/congruence/test_stores.py",
    "tests/contract/test_neo4j.py",
    "tests/integration/test_small_model.py",
    "tests/integration/test_notebooks.py",
    "tests/integration/test_ray.py",
    "tests/faults/test_killed_budget_ingest.py",
    "tests/faults/test_killed_commands.py",
    "tests/integration/test_local_servers_live.py",
    "tests/faults/test_killed_chat_ingest.py",
    "tests/integration/test_pages.py",
    "tests/integration/test_cli_contract.py",
    "tests/unit/retrieve/test_retrieve.py",
)
# After the others that use Neo4j: the first ones change the schema, so that it forgets all plans; the last ones start it again.
_LAST = (
    "tests/integration/test_abandoned_change.py",
    "tests/integration/test_replaced_servers.py",
    "tests/integration/test_pages_servers.py",
    "tests/integration/test_neo4j_migrations.py",
    "tests/integration/test_neo4j_faults.py",
    "tests/congruence/test_bulk_load.py",
    "tests/faults/test_killed_servers.py",
)
_NICENESS = 12
_FIRST = "gw0"
_APART = "::servers"  # the part of a file with those of its tests that use servers


class ByServers(LoadScopeScheduling):  # type: ignore[misc]
    """A file runs in one process. One has Neo4j, for all files that use it; a second one OpenSearch, for those that use it alone.

    A second Neo4j would start and plan every query once more: that takes 50 seconds of a processor. Tests wait for servers,
    so there are more processes than cores: while one waits, another computes. The process with Neo4j has the longest way,
    and the right to a core before the others (:func:`give_way`). Both take any other file afterwards. Servers that were
    given are for one process.
    """

    def _split_scope(self, nodeid: str) -> str:
        file, name = nodeid.partition("::")[0], nodeid.partition("[")[0].rpartition("::")[2]
        return f"{file}{_APART}" if name in _apart(file) else file

    def _next(self, node: WorkerController) -> str | None:
        """The file, or part of one, that this process begins next; None: what is left is for others."""
        takers = sorted((one for one in self.nodes if not one.shutting_down), key=lambda one: str(one.gateway.id))
        place = takers.index(node) if node in takers else len(takers)
        ranks = {file: rank for file in self.workqueue if (rank := _rank(file, place)) is not None}
        return min(ranks, key=lambda file: (ranks[file], _turn(file)), default=None)

    def _assign_work_unit(self, node: WorkerController) -> None:
        file = self._next(node)
        if file is not None:
            self.workqueue.move_to_end(file, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if not node.shutting_down and self._next(node) is None:
            node.shutdown()  # it ends after the tests that it has
            return
        super()._reschedule(node)


def give_way() -> None:
    """Has this process, if it is one of several and not the first, leave the cores to the first, and so its children."""
    if os.environ.get("PYTEST_XDIST_WORKER", _FIRST) != _FIRST:
        os.nice(_NICENESS)


def _turn(scope: str) -> int:
    """The place of a file among those of one rank."""
    file = scope.removesuffix(_APART)
    if file in _LAST:
        return len(_LONGEST) + 1 + _LAST.index(file)
    return _LONGEST.index(file) if file in _LONGEST else len(_LONGEST)


def _rank(scope: str, place: int) -> int | None:
    """How soon a process takes a file, by the place of the process among all; None: never.

    The first can take all of them, so that none is left when it ends.
    """
    needed = servers_of(scope)
    if place == 0:
        return {"neo4j": 0, "": 1, "opensearch": 2}[needed]
    if place == 1 and not os.environ.get(ENVIRONMENT):
        return {"opensearch": 0, "": 1}.get(needed)
    return None if needed else 0


def servers_of(scope: str) -> str:
    """The servers that a file needs: ``neo4j`` (OpenSearch too, it may be), ``opensearch``, or none.

    A function of it takes one of the fixtures, or asks for it by name; a file that only writes of servers needs none.
    """
    file = scope.removesuffix(_APART)
    if not _takers(file) or (scope == file and _apart(file)):
        return ""
    return (
        "neo4j"
        if re.search(r"neo4j(?!://)|\blive_stores\b", (REPOSITORY / file).read_text(encoding="utf-8"))
        else "opensearch"
    )


@functools.cache
def _takers(file: str) -> frozenset[str]:
    """The functions of a file that take servers; one that asks for them by name has the name of the fixture."""
    parts = Path(file).parts
    if parts[0] != "tests" or parts[1] == "unit":
        return frozenset()
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    found = re.findall(rf'\bdef (\w+)\([^)]*\b{_OF_SERVERS}|getfixturevalue\("{_OF_SERVERS}', text)
    return frozenset(name or fixture for name, _, fixture in found)


def _apart(file: str) -> frozenset[str]:
    """The tests of a file that alone need servers: its others run in any process. None where a fixture of it takes servers."""
    takers = _takers(file)
    return takers if all(name.startswith("test_") for name in takers) else frozenset()
