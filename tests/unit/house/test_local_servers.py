"""The launcher of the local servers, as far as it goes without a server: pins, cache, Java, processes, state."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from local_servers import cache, cli, fetch, java, neo4j_server, operate, pins, process, state
from local_servers.errors import PortTakenError, ServerError
from local_servers.pins import Jar
from local_servers.state import Neo4jEndpoint, OpenSearchEndpoint, Servers

GRAPH = Neo4jEndpoint(
    url="bolt://127.0.0.1:7001",
    http="http://127.0.0.1:7002",
    user="neo4j",
    password="graph-secret",
    database="neo4j",
    version="2026.08.1",
)
INDEX = OpenSearchEndpoint(
    url="https://127.0.0.1:7003", user="admin", password="index-secret", ca="/there/ca.pem", version="3.5.0"
)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    return tmp_path / "cache"


def jar_of(content: bytes) -> Jar:
    return Jar("org/example/thing/1.0/thing-1.0.jar", hashlib.sha256(content).hexdigest())


class Repository:
    """Serves one content for every jar, and counts how often it is asked."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.asked = 0

    def __call__(self, wanted: Sequence[Jar], folder: Path) -> None:
        self.asked += 1
        for jar in wanted if self.content is not None else ():
            (folder / jar.path).parent.mkdir(parents=True)
            (folder / jar.path).write_bytes(self.content or b"")


# Pins


def test_every_server_is_locked_with_the_checksum_of_every_jar() -> None:
    found = pins.pins()
    servers = ["neo4j-2026.08.1", "neo4j-5.26.31", "opensearch-3.5.0", "opensearch-2.19.1"]
    assert [pin.name for pin in found] == [*servers, "compiler"]
    for pin in found:
        assert pin.jars
        assert len({jar.name for jar in pin.jars}) == len(pin.jars)
        assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in pin.jars)


def test_what_a_server_brings_is_not_brought_again_by_its_plugins() -> None:
    for pin in pins.pins():
        there = {jar.coordinate[:2] for jar in pin.lib}
        assert not [jar.name for jar in pin.plugins if jar.coordinate[:2] in there]


def test_a_version_is_found_by_its_beginning() -> None:
    assert pins.pin("neo4j").version == "2026.08.1"
    assert pins.pin("neo4j", "5.26").version == "5.26.31"
    with pytest.raises(ServerError, match=r"neo4j 5\.2: this version is not pinned; there are: 2026\.08\.1, 5\.26\.31"):
        pins.pin("neo4j", "5.2")


def test_a_changed_version_needs_a_new_lock(tmp_path: Path) -> None:
    changed = tmp_path / "versions.toml"
    changed.write_text(pins.VERSIONS.read_text().replace("gds:proc:2.26.0", "gds:proc:2.27.0"))
    with pytest.raises(ServerError, match=r"neo4j-2026\.08\.1: lock\.json was not made for .* run: .*servers\.py lock"):
        pins.pins(changed)


@pytest.mark.parametrize(
    ("path", "coordinate"),
    [
        ("org/neo4j/neo4j/5.26.31/neo4j-5.26.31.jar", ("org.neo4j", "neo4j", "5.26.31", "", "jar")),
        (
            "io/netty/native/4.2.9.Final/native-4.2.9.Final-linux-x86_64.jar",
            ("io.netty", "native", "4.2.9.Final", "linux-x86_64", "jar"),
        ),
        ("a/b/1.0/b-1.0.zip", ("a", "b", "1.0", "", "zip")),
    ],
)
def test_the_path_of_a_jar_holds_its_coordinate(path: str, coordinate: tuple[str, ...]) -> None:
    assert Jar(path, "").coordinate == coordinate


def test_a_pinned_jar_is_fetched_without_what_it_depends_on() -> None:
    text = fetch.project([Jar("a/b/1.0/b-1.0.jar", "")])
    assert "<groupId>*</groupId>" in text
    assert "<groupId>*</groupId>" not in fetch.project([Jar("a/b/1.0/b-1.0.jar", "")], is_transitive=True)


# Cache


def test_a_jar_is_fetched_once(empty_cache: Path) -> None:
    serve = Repository(b"right")
    for _ in range(2):
        (path,) = cache.jars([jar_of(b"right")], fetch_missing=serve)
        assert path.read_bytes() == b"right"
    assert serve.asked == 1
    assert not list(empty_cache.glob("fetching-*"))


def test_a_fetched_jar_with_another_checksum_does_not_enter_the_cache(empty_cache: Path) -> None:
    with pytest.raises(ServerError, match=r"thing-1\.0\.jar: what was fetched has the sha256 .*, pinned is"):
        cache.jars([jar_of(b"right")], fetch_missing=Repository(b"wrong"))
    assert not list(empty_cache.rglob("*.jar"))


def test_a_jar_that_changed_in_the_cache_is_refused(empty_cache: Path) -> None:
    (path,) = cache.jars([jar_of(b"right")], fetch_missing=Repository(b"right"))
    path.write_bytes(b"righ")
    with pytest.raises(ServerError, match=r"thing-1\.0\.jar: its sha256 is .* cut off: remove it"):
        cache.jars([jar_of(b"right")], fetch_missing=Repository(b"right"))


def test_what_could_be_fetched_is_kept(empty_cache: Path) -> None:
    here, away = jar_of(b"right"), Jar("org/example/away/1.0/away-1.0.jar", "0" * 64)

    def serve(wanted: Sequence[Jar], folder: Path) -> None:
        Repository(b"right")([here], folder)
        raise ServerError("the network went away")

    with pytest.raises(ServerError, match="the network went away"):
        cache.jars([here, away], fetch_missing=serve)
    assert [path.name for path in empty_cache.rglob("*.jar")] == [here.name]


# jgo leaves the refused answer to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_repository_that_stumbles_is_asked_again(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PAUSES", (0.0, 0.0))
    jar = jar_of(b"right")
    httpserver.expect_ordered_request(f"/{jar.path}").respond_with_data("busy", status=503)
    httpserver.expect_ordered_request(f"/{jar.path}").respond_with_data(b"right")
    httpserver.expect_ordered_request(f"/{jar.path}.sha1").respond_with_data(hashlib.sha1(b"right").hexdigest())  # noqa: S324
    fetch.by_jgo([jar], tmp_path, {"here": httpserver.url_for("").rstrip("/")})
    assert (tmp_path / jar.path).read_bytes() == b"right"
    gc.collect()


# jgo leaves the refused answer to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_repository_without_the_jar_is_one_error(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "PAUSES", (0.0,))
    httpserver.expect_request(re.compile(".*")).respond_with_data("no", status=404)
    with pytest.raises(ServerError, match=r"thing-1\.0\.jar: it cannot be fetched \(.*\); look at the network"):
        fetch.by_jgo([jar_of(b"right")], tmp_path, {"here": httpserver.url_for("").rstrip("/")})
    gc.collect()


@pytest.mark.parametrize("has_settings", [True, False])
def test_jgo_and_maven_stand_in_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_settings: bool
) -> None:
    (tmp_path / "mvn").write_text("#!/bin/sh\necho 'ERROR: JAVA_HOME is not set' >&2\nexit 1\n")
    (tmp_path / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = tmp_path / "settings.xml"
    if has_settings:
        settings.touch()
    monkeypatch.setattr(fetch, "SETTINGS", settings)

    def no_network(wanted: Sequence[Jar], folder: Path) -> None:
        raise ServerError("no network")

    monkeypatch.setattr(fetch, "by_jgo", no_network)
    with pytest.raises(ServerError) as caught:
        fetch.fetch([jar_of(b"right")], tmp_path / "aside")
    said = str(caught.value)
    assert "Maven did not fetch the servers' jars (ERROR: JAVA_HOME is not set)" in said
    assert (said.index("Maven") < said.index("no network")) is has_settings


def test_a_jar_that_nobody_serves_is_named(empty_cache: Path) -> None:
    with pytest.raises(ServerError, match=r"thing-1\.0\.jar: it was not fetched"):
        cache.jars([jar_of(b"right")], fetch_missing=Repository(None))


# Java


def a_java(folder: Path, version: str) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    command.chmod(0o755)
    return command


def test_java_is_taken_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = a_java(tmp_path / "home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java.find(17, 25) == java.Java(command, 17)
    assert java.find(21, 25).command != command


def test_a_java_that_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = a_java(tmp_path / "home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(ServerError, match=rf"a Java of version 90 to 99 is needed; found: {command} \(version 17\)"):
        java.find(90, 99)


# Processes and state


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is nobody's server."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as made:
        yield made
        made.kill()


def test_a_stale_pid_is_nobodys_server(tmp_path: Path, bystander: subprocess.Popen[bytes]) -> None:
    stale = Neo4jEndpoint(
        **{name: getattr(GRAPH, name) for name in GRAPH.__dataclass_fields__} | {"pid": bystander.pid}
    )
    state.write(tmp_path, Servers(neo4j=stale))
    assert operate.running(tmp_path) == {"neo4j": False}
    assert operate.stop(tmp_path) == []
    assert operate.stop(tmp_path, force=True) == []
    assert bystander.poll() is None


def test_a_process_is_ended_by_its_mark(tmp_path: Path) -> None:
    mark = f"-Dhlgraph.server={tmp_path} "
    pid = process.spawn(
        [sys.executable, "-c", "import time; time.sleep(60)", mark.rstrip(), "more"], log=tmp_path / "log", cwd=tmp_path
    )
    assert process.is_running(pid, mark)
    assert not process.is_running(pid, "-Dhlgraph.server=/elsewhere ")
    assert not process.end(pid, "-Dhlgraph.server=/elsewhere ")
    assert process.end(pid, mark)
    assert not process.is_running(pid, mark)
    assert not process.end(pid, mark)


def test_a_process_is_recognised_as_soon_as_it_is_spawned(tmp_path: Path) -> None:
    """An interrupt in this moment kills by the mark: on a busy machine the system shows the command line later."""
    with contextlib.ExitStack() as busy:
        for _ in range(2 * (os.cpu_count() or 1)):
            other = busy.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            busy.callback(other.kill)
        for _ in range(40):
            pid = process.spawn(["/bin/sleep", "60"], log=tmp_path / "log", cwd=tmp_path)
            assert process.end(pid, "sleep 60 ", force=True)


def test_a_server_that_ends_while_it_starts_shows_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pid = process.spawn([sys.executable, "-c", "print('no memory left')"], log=log, cwd=tmp_path)
    with pytest.raises(ServerError, match=r"thing: it ended while it was starting; its log .* ends:\nno memory left"):
        process.wait_until(lambda: False, pid, name="thing", log=log, patience=30)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ServerError, match=rf"opensearch 3\.5\.0: port {port} of 127\.0\.0\.1 is taken"):
            process.check_free(port, "opensearch 3.5.0")
    process.check_free(port, "opensearch 3.5.0")


def test_a_free_port_is_none_that_the_system_gives_to_others() -> None:
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first, last = map(int, given.read_text().split()) if given.exists() else (49_152, 65_535)
    if first <= process.PORTS[0]:
        first = last + 1  # a machine that gives out all of them
    for _ in range(50):
        port = process.free_port()
        assert not first <= port <= last
        process.check_free(port, "anybody")


def test_a_free_port_is_found_among_taken_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setattr(process, "PORTS", range(taken - 99, taken + 1))
        assert all(process.free_port() != taken for _ in range(20))
        monkeypatch.setattr(process, "PORTS", [taken] * 100)
        assert process.free_port() != taken


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Caused by: org.neo4j.configuration.helpers.PortBindException: 127.0.0.1:7687", PortTakenError),
        ("BindHttpException[Failed to bind to 127.0.0.1:9200]" + "\n\tat somewhere" * 200, PortTakenError),
        ("java.lang.OutOfMemoryError: Java heap space", ServerError),
    ],
)
def test_a_server_that_could_not_listen_is_told_from_others(tmp_path: Path, said: str, kind: type[ServerError]) -> None:
    log = tmp_path / "log"
    pid = process.spawn([sys.executable, "-c", f"print({said!r})"], log=log, cwd=tmp_path)
    with pytest.raises(ServerError, match="thing: it ended while it was starting") as raised:
        process.wait_until(lambda: False, pid, name="thing", log=log, patience=30)
    assert raised.type is kind


@pytest.mark.parametrize(
    ("ports", "tries", "is_started"),
    [
        pytest.param({}, 3, True, id="chosen-here"),
        pytest.param({}, 4, False, id="taken-each-time"),
        pytest.param({"neo4j": 7687}, 2, False, id="asked-for"),
    ],
)
def test_a_server_moves_on_only_from_a_port_that_was_chosen_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ports: dict[str, int], tries: int, is_started: bool
) -> None:
    seen = []

    def start(pin: pins.Pin, folder: Path, endpoint: Neo4jEndpoint, note: object) -> None:
        seen.append((endpoint.url, endpoint.http, endpoint.password))
        if len(seen) < tries:
            raise PortTakenError("neo4j: its port is taken")

    monkeypatch.setattr(neo4j_server, "start", start)
    if is_started:
        started = operate.start(tmp_path, ["neo4j"], ports=ports).neo4j
        assert started
        assert (started.url, started.http, started.password) == seen[-1], "what is written down is where it runs"
    else:
        with pytest.raises(PortTakenError, match="its port is taken"):
            operate.start(tmp_path, ["neo4j"], ports=ports)
    assert len(seen) == (1 if ports else 3)
    assert len({url for url, _, _ in seen}) == len({http for _, http, _ in seen}) == len(seen)
    assert len({password for _, _, password in seen}) == 1


def test_the_state_is_read_as_it_was_written_and_only_by_its_owner(tmp_path: Path) -> None:
    state.write(tmp_path, Servers(neo4j=GRAPH, opensearch=INDEX))
    assert state.read(tmp_path) == Servers(neo4j=GRAPH, opensearch=INDEX)
    for name in (state.FILE, state.SETTINGS):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert state.read(tmp_path / "nothing") == Servers()


def test_a_broken_state_file_is_named(tmp_path: Path) -> None:
    (tmp_path / state.FILE).write_text("[")
    with pytest.raises(ServerError, match=r"servers\.json: not a list of servers \(JSONDecodeError\)"):
        state.read(tmp_path)


def test_endpoints_do_not_show_their_passwords() -> None:
    assert "secret" not in repr(Servers(neo4j=GRAPH, opensearch=INDEX))


def test_the_settings_file_is_one_that_hlgraph_reads(tmp_path: Path) -> None:
    from hlgraph.settings import load

    state.write(tmp_path, Servers(neo4j=GRAPH, opensearch=INDEX))
    found = load(tmp_path / state.SETTINGS, environment={})
    assert (found.store, found.vectors) == ("neo4j://127.0.0.1:7001", "https://127.0.0.1:7003")
    assert (found.neo4j.user, found.neo4j.password, found.neo4j.database) == ("neo4j", "graph-secret", "neo4j")
    assert (found.opensearch.password, found.opensearch.ca) == ("index-secret", "/there/ca.pem")


def test_data_of_another_version_are_not_opened(tmp_path: Path) -> None:
    state.write(tmp_path, Servers(neo4j=GRAPH))
    with pytest.raises(ServerError, match=r"holds the data of neo4j 2026\.08\.1, asked for is 5\.26\.31"):
        operate.start(tmp_path, ["neo4j"], versions={"neo4j": "5.26"})


def test_the_configuration_of_neo4j_listens_on_loopback_with_authentication() -> None:
    lines = neo4j_server.configuration(GRAPH).splitlines()
    assert "server.default_listen_address=127.0.0.1" in lines
    assert "server.bolt.listen_address=127.0.0.1:7001" in lines
    assert "dbms.security.auth_enabled=true" in lines
    assert "secret" not in neo4j_server.configuration(GRAPH)


def test_neo4j_takes_settings_from_the_environment_and_no_room_before_it_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(neo4j_server.MORE, "one.setting=1h other.setting=INTERPRETED")
    lines = neo4j_server.configuration(GRAPH).splitlines()
    assert lines[-2:] == ["one.setting=1h", "other.setting=INTERPRETED"]
    assert "db.tx_log.preallocate=false" in lines
    monkeypatch.delenv(neo4j_server.MORE)
    assert neo4j_server.configuration(GRAPH).splitlines() == lines[:-2]


# The command line


def test_a_folder_without_servers_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--state", str(tmp_path)]) == 0
    assert cli.main(["stop", "--state", str(tmp_path / "none")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{tmp_path}: no server was started here", "stopped: nothing ran"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kill", "neo4j"], "neo4j does not run"),
        (["restart", "opensearch"], "no opensearch was started here; run start first"),
        (["start", "--only", "neo4j", "--neo4j", "4.4"], "neo4j 4.4: this version is not pinned"),
    ],
)
def test_one_error_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert cli.main([*arguments, "--state", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
