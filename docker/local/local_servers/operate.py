"""Starts, stops, kills and restarts the servers of a state folder."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from local_servers import compose, neo4j_server, opensearch_server, pins, process, state
from local_servers.errors import PortTakenError, ServerError
from local_servers.pins import NEO4J, OPENSEARCH, Pin
from local_servers.state import Neo4jEndpoint, OpenSearchEndpoint, Servers

NAMES = (NEO4J, OPENSEARCH)
JARS, DOCKER, AUTO = "jars", "docker", "auto"
WAYS = (AUTO, DOCKER, JARS)
Endpoint = Neo4jEndpoint | OpenSearchEndpoint
TRIES = 3


def start(
    folder: Path,
    names: Sequence[str] = NAMES,
    *,
    versions: Mapping[str, str] | None = None,
    ports: Mapping[str, int] | None = None,
    by: str = JARS,
) -> Servers:
    """Starts the named servers that do not run yet, and waits until they answer; returns all servers of the folder.

    A server that ran before keeps its data, password and ports. ``versions`` and ``ports`` give a server another version or
    port. A new server without a port takes a free one; a process (not a container) takes another if that port is used before
    it listens. ``by`` chooses processes (``jars``) or containers (``docker``); ``auto`` prefers containers if a Docker engine
    answers. A folder keeps its kind. An interrupt (Ctrl-C) ends the servers that were starting.

    Raises
    ------
    ServerError : a server cannot be fetched or started, or already has another version or runs on another port
    """
    folder = folder.absolute()
    with state.locked(folder):
        servers = state.read(folder)
        if _is_docker(folder, servers, by):
            servers = compose.start(folder, names, known=servers, versions=versions or {}, ports=ports or {})
            state.write(folder, servers)
            return servers
        asked = [(ports or {}).get(name, 0) for name in names]
        wanted = [
            _wanted(name, folder, servers, (versions or {}).get(name, ""), port)
            for name, port in zip(names, asked, strict=True)
        ]
        book = _Book(folder, servers)
        with ThreadPoolExecutor() as pool:
            started = [
                pool.submit(_start_one, pin, endpoint, book, port)
                for (pin, endpoint), port in zip(wanted, asked, strict=True)
                if pin
            ]
            try:
                wait(started)
            except BaseException:
                book.give_up()  # the threads that wait for the servers see no interrupt
                raise
        for one in started:  # all have finished: a running server is recorded even if the other one failed
            one.result()
        return book.servers


def stop(folder: Path, names: Sequence[str] = NAMES, *, force: bool = False) -> list[str]:
    """Ends the servers of a folder, by SIGTERM or (``force``) by SIGKILL; returns the names of those that ran.

    ``force`` kills those, too, that another process is starting: it gives up.
    """
    folder, ended = folder.absolute(), set[str]()
    if not folder.is_dir():
        return []

    def end() -> None:
        servers = state.read(folder)
        known = {name: endpoint.pid for name in names if (endpoint := _endpoint(servers, name))}
        with ThreadPoolExecutor() as pool:
            found = {
                name: pool.submit(process.end, pid, _mark(name, folder), force=force) for name, pid in known.items()
            }
        ended.update(name for name, one in found.items() if one.result())

    with state.locked(folder, meanwhile=end if force else None):
        if compose.is_used(folder):
            return compose.stop(folder, names, force=force)
        end()
    return [name for name in names if name in ended]


def restart(folder: Path, name: str) -> Servers:
    """Ends one server if it runs, and starts it with the same version, ports and data.

    Raises
    ------
    ServerError : it was never started here, or does not start
    """
    endpoint = _endpoint(state.read(folder), name)
    if endpoint is None:
        raise ServerError(f"{folder}: no {name} was started here; run start first")
    stop(folder, [name])
    return start(folder, [name], versions={name: endpoint.version}, by=AUTO)


def load(folder: Path, files: Path, *, database: str = neo4j_server.DATABASE) -> Servers:
    """Ends the Neo4j of a folder, replaces a database by the one in import files, and starts it again on the same ports.

    The server starts again, too, if the import fails.

    Raises
    ------
    ServerError : it was never started here, the import fails, or it does not start
    """
    folder = folder.absolute()
    endpoint = _endpoint(state.read(folder), NEO4J)
    if endpoint is None:
        raise ServerError(f"{folder}: no {NEO4J} was started here; run start first")
    stop(folder, [NEO4J])
    try:
        with state.locked(folder):
            if compose.is_used(folder):
                compose.load(folder, files.absolute(), database=database)
            else:
                neo4j_server.load(pins.pin(NEO4J, endpoint.version), folder, files.absolute(), database=database)
    finally:
        servers = start(folder, [NEO4J], versions={NEO4J: endpoint.version}, by=AUTO)
    return servers


def running(folder: Path) -> dict[str, bool]:
    """The servers that were ever started in the folder, and whether the process or container of each runs."""
    folder = folder.absolute()
    servers = state.read(folder)
    endpoints = {name: one for name in NAMES if (one := _endpoint(servers, name))}
    if compose.is_used(folder):
        return {name: compose.is_running(folder, name) for name in endpoints}
    return {name: process.is_running(one.pid, _mark(name, folder)) for name, one in endpoints.items()}


def remove(folder: Path) -> list[str]:
    """Kills the servers of a folder and removes it with all their data; returns the names of those that ran."""
    folder = folder.absolute()
    ended = stop(folder, force=True)
    if compose.is_used(folder):
        compose.remove(folder)
    if (folder / state.FILE).exists():
        shutil.rmtree(folder)
    return ended


def _is_docker(folder: Path, servers: Servers, by: str) -> bool:
    if servers.neo4j or servers.opensearch:
        if by != AUTO and (by == DOCKER) != compose.is_used(folder):
            raise ServerError(f"{folder}: its servers were not started by {by}; choose another folder")
        return compose.is_used(folder)
    why_not = compose.missing() if by != JARS else ""
    if by == DOCKER and why_not:
        raise ServerError(f"containers cannot be used: {why_not}; start the servers without: --by {JARS}")
    return by != JARS and not why_not


class _Book:
    """The servers.json of a folder while its servers start in parallel."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        self.folder, self.servers = folder, servers
        self._lock = threading.Lock()
        self._pids: dict[str, int] = {}
        self._is_given_up = False

    def give_up(self) -> None:
        """Kills the servers that were started, and lets no other one start."""
        with self._lock:
            self._is_given_up = True
            for name, pid in self._pids.items():
                process.kill(pid, _mark(name, self.folder))

    def note(self, endpoint: Endpoint) -> None:
        """Records how to reach a server, before it gets its password and again when its process exists."""
        with self._lock:
            if self._is_given_up:
                raise ServerError(f"{self.folder}: the start was interrupted")
            name = NEO4J if isinstance(endpoint, Neo4jEndpoint) else OPENSEARCH
            self._pids[name] = endpoint.pid
            if isinstance(endpoint, Neo4jEndpoint):
                self.servers = replace(self.servers, neo4j=endpoint)
            else:
                self.servers = replace(self.servers, opensearch=endpoint)
            state.write(self.folder, self.servers)


def _wanted(name: str, folder: Path, servers: Servers, asked: str, port: int) -> tuple[Pin | None, Endpoint]:
    """The pin and the endpoint of a server to start; no pin if it already runs."""
    before = _endpoint(servers, name)
    pin = pins.pin(name, asked or (before.version if before else ""))
    if before and before.version != pin.version:
        raise ServerError(
            f"{folder}: holds the data of {name} {before.version}, asked for is {pin.version}; choose another folder"
        )
    if before and process.is_running(before.pid, _mark(name, folder)):
        if port and port != process.port_of(before.url):
            raise ServerError(f"{name}: it runs at {before.url} already, asked for is port {port}; stop it first")
        return None, before
    # A server that has run keeps its ports, so that clients find it again.
    if before and before.pid and not port:
        return pin, before
    return pin, _new(pin, folder, before.password if before else secrets.token_urlsafe(18), port)


def _new(pin: Pin, folder: Path, password: str, port: int) -> Endpoint:
    if pin.kind == NEO4J:
        return neo4j_server.new_endpoint(password, pin.version, port=port)
    return opensearch_server.new_endpoint(folder, password, pin.version, port=port)


def _start_one(pin: Pin, endpoint: Endpoint, book: _Book, port: int) -> None:
    """Starts a server; tries other ports if the port was neither chosen by the user nor used before."""
    for _ in range(0 if endpoint.pid or port else TRIES - 1):
        try:
            return _try(pin, endpoint, book)
        except PortTakenError:
            endpoint = _new(pin, book.folder, endpoint.password, port)
    return _try(pin, endpoint, book)


def _try(pin: Pin, endpoint: Endpoint, book: _Book) -> None:
    book.note(endpoint)
    if isinstance(endpoint, Neo4jEndpoint):
        neo4j_server.start(pin, book.folder, endpoint, book.note)
    else:
        opensearch_server.start(pin, book.folder, endpoint, book.note)


def _endpoint(servers: Servers, name: str) -> Endpoint | None:
    return servers.neo4j if name == NEO4J else servers.opensearch


def _mark(name: str, folder: Path) -> str:
    return neo4j_server.mark(folder) if name == NEO4J else opensearch_server.mark(folder)
