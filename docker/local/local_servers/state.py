"""The servers of a state folder: its servers.json, which only its owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeVar

import filelock

from local_servers.errors import ServerError

FILE = "servers.json"
SETTINGS = "hlgraph.yaml"

Endpoint = TypeVar("Endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jEndpoint:
    """How to reach a Neo4j server. ``pid`` is 0 if it does not run as a local process."""

    url: str
    http: str
    user: str
    password: str
    database: str
    version: str
    pid: int = 0

    def __repr__(self) -> str:
        """Without the password, because failing tests print endpoints."""
        return f"Neo4jEndpoint({self.url}, version {self.version}, pid {self.pid})"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSearchEndpoint:
    """How to reach an OpenSearch server; ``ca`` is a file with the certificate to trust. ``pid`` as for Neo4j."""

    url: str
    user: str
    password: str
    ca: str
    version: str
    pid: int = 0

    def __repr__(self) -> str:
        """Without the password, because failing tests print endpoints."""
        return f"OpenSearchEndpoint({self.url}, version {self.version}, pid {self.pid})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The servers of a state folder; None: never started."""

    neo4j: Neo4jEndpoint | None = None
    opensearch: OpenSearchEndpoint | None = None


def read(folder: Path) -> Servers:
    """The servers of a state folder; empty if it holds no servers.json.

    Raises
    ------
    ServerError : servers.json has another form
    """
    path = folder / FILE
    if not path.exists():
        return Servers()
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        return Servers(
            neo4j=_made(Neo4jEndpoint, tree.get("neo4j")),
            opensearch=_made(OpenSearchEndpoint, tree.get("opensearch")),
        )
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ServerError(
            f"{path}: not a list of servers ({type(error).__name__}); end its servers yourself and remove the file"
        ) from error


def write(folder: Path, servers: Servers) -> None:
    """Replaces servers.json atomically and, if both servers are known, the settings file for hlgraph."""
    tree = {name: value for name, value in asdict(servers).items() if value is not None}
    write_private(folder / FILE, json.dumps(tree, indent=2) + "\n")
    if servers.neo4j and servers.opensearch:
        write_private(folder / SETTINGS, settings(servers.neo4j, servers.opensearch))


def settings(graph: Neo4jEndpoint, index: OpenSearchEndpoint) -> str:
    """The text of a settings file of hlgraph, including the passwords. JSON values are valid YAML."""
    lines = {
        "store": graph.url.replace("bolt://", "neo4j://"),
        "vectors": index.url,
        "neo4j": {"user": graph.user, "password": graph.password, "database": graph.database},
        "opensearch": {"user": index.user, "password": index.password, "ca": index.ca},
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in lines.items())


def write_private(path: Path, text: str | bytes) -> None:
    """Writes a file atomically; only its owner can read it, from the first byte on."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    aside.replace(path)


@contextmanager
def locked(folder: Path, *, meanwhile: Callable[[], None] | None = None) -> Iterator[None]:
    """Holds the exclusive right to start and stop the servers of a folder; calls ``meanwhile`` while it waits for it."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / "servers.lock", timeout=0.2 if meanwhile else -1)
    while True:
        try:
            lock.acquire()
            break
        except filelock.Timeout:
            if meanwhile:
                meanwhile()
    try:
        yield
    finally:
        lock.release()


def _made(kind: type[Endpoint], tree: dict[str, object] | None) -> Endpoint | None:
    if tree is None:
        return None
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in tree.items() if name in known})
