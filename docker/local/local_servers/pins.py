"""The pinned servers of versions.toml and, for each, the jars of lock.json with their checksums."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_servers.errors import ServerError

HERE = Path(__file__).parents[1]
VERSIONS = HERE / "versions.toml"
LOCK = HERE / "lock.json"
NEO4J, OPENSEARCH, COMPILER = "neo4j", "opensearch", "compiler"


@dataclass(frozen=True, slots=True)
class Jar:
    """One published file: its path in a Maven repository, and the sha256 that it must have."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[1]

    @property
    def coordinate(self) -> tuple[str, str, str, str, str]:
        """Group, artifact, version, classifier (often empty) and type, read from the path."""
        *group, artifact, version, name = self.path.split("/")
        rest = name.removeprefix(f"{artifact}-{version}")
        classifier, _, kind = rest.rpartition(".")
        return ".".join(group), artifact, version, classifier.removeprefix("-"), kind


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of a server, or the compiler.

    ``lib`` is the class path, ``plugins`` the jars of plugins; ``java`` is the oldest and the newest Java that it runs on;
    ``answers`` holds the versions that the running server must report.
    """

    kind: str
    version: str
    main: str
    java: tuple[int, int]
    lib: tuple[Jar, ...]
    plugins: tuple[Jar, ...]
    answers: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.version}" if self.version else self.kind

    @property
    def jars(self) -> tuple[Jar, ...]:
        return self.lib + self.plugins


@dataclass(frozen=True, slots=True)
class Roots:
    """The coordinates in versions.toml, before they are resolved."""

    name: str
    lib: tuple[str, ...]
    plugins: tuple[str, ...]


def roots(path: Path = VERSIONS) -> list[Roots]:
    """All coordinates in versions.toml."""
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    servers = [
        Roots(f"{one['kind']}-{one['version']}", tuple(one["lib"]), tuple(one["plugins"])) for one in tree["server"]
    ]
    return [*servers, Roots(COMPILER, tuple(tree[COMPILER]["lib"]), ())]


def pins(versions: Path = VERSIONS, lock: Path = LOCK) -> list[Pin]:
    """All servers that can be started, the preferred version of a kind first, and the compiler last.

    Raises
    ------
    ServerError : lock.json was made for another versions.toml
    """
    tree = tomllib.loads(versions.read_text(encoding="utf-8"))
    locked = json.loads(lock.read_text(encoding="utf-8"))
    for one in roots(versions):
        made_for = locked.get(one.name, {}).get("roots")
        if made_for != [*one.lib, *one.plugins]:
            raise ServerError(
                f"{one.name}: {lock.name} was not made for what {versions.name} asks for; "
                "run: python docker/local/servers.py lock"
            )
    made = [
        Pin(
            kind=one["kind"],
            version=one["version"],
            main=one["main"],
            java=(one["java"][0], one["java"][1]),
            lib=_jars(locked, f"{one['kind']}-{one['version']}", "lib"),
            plugins=_jars(locked, f"{one['kind']}-{one['version']}", "plugins"),
            answers=one["answers"],
        )
        for one in tree["server"]
    ]
    return [*made, Pin(COMPILER, "", "", (21, 99), _jars(locked, COMPILER, "lib"), (), {})]


def pin(kind: str, version: str = "") -> Pin:
    """The pinned server of a kind whose version starts with ``version``; the preferred one if ``version`` is empty.

    Raises
    ------
    ServerError : no such version is pinned
    """
    of_kind = [one for one in pins() if one.kind == kind]
    for one in of_kind:
        if one.version == version or not version or one.version.startswith(version + "."):
            return one
    known = ", ".join(one.version for one in of_kind) or "none"
    raise ServerError(f"{kind} {version}: this version is not pinned; there are: {known} ({VERSIONS.name})")


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _jars(locked: Mapping[str, Mapping[str, Mapping[str, str]]], name: str, part: str) -> tuple[Jar, ...]:
    return tuple(Jar(path, checksum) for path, checksum in locked[name][part].items())
