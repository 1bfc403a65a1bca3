"""Creates lock.json from versions.toml: Maven resolves the roots, and every jar is recorded with its checksum."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from local_servers.cache import sha256
from local_servers.fetch import project, run_maven
from local_servers.pins import LOCK, Jar, Roots, roots


def write_lock(path: Path = LOCK) -> int:
    """Resolves versions.toml and writes lock.json; returns the number of jars in it.

    Raises
    ------
    ServerError : there is no Maven client, or it cannot resolve the roots
    """
    made = {one.name: _resolved(one) for one in roots()}
    path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return sum(len(one["lib"]) + len(one["plugins"]) for one in made.values())


def _resolved(wanted: Roots) -> dict[str, list[str] | dict[str, str]]:
    lib = _closure(wanted.lib)
    there = {_identity(jar) for jar in lib}
    plugins = [jar for jar in _closure(wanted.plugins) if _identity(jar) not in there]
    return {
        "roots": [*wanted.lib, *wanted.plugins],
        "lib": {jar.path: jar.sha256 for jar in lib},
        "plugins": {jar.path: jar.sha256 for jar in plugins},
    }


def _identity(jar: Jar) -> tuple[str, ...]:
    group, artifact, _, classifier, kind = jar.coordinate
    return group, artifact, classifier, kind


def _closure(coordinates: tuple[str, ...]) -> list[Jar]:
    """The jars that these coordinates (group:artifact[:type]:version) need at run time, sorted by path."""
    if not coordinates:
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_maven(project([_wanted(one) for one in coordinates], is_transitive=True), folder)
        files = sorted(path for kind in ("*.jar", "*.zip") for path in folder.rglob(kind))
        return [Jar(path.relative_to(folder).as_posix(), sha256(path)) for path in files]


def _wanted(coordinate: str) -> Jar:
    group, artifact, *kind, version = coordinate.split(":")
    suffix = kind[0] if kind else "jar"
    return Jar(f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.{suffix}", "")
