"""The cache of jars: outside the tree, filled once, verified on every use."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import filelock
import platformdirs

from local_servers.errors import ServerError
from local_servers.fetch import fetch
from local_servers.pins import Jar

ENVIRONMENT = "HLGRAPH_SERVER_CACHE"

Fetch = Callable[[Sequence[Jar], Path], None]


def root() -> Path:
    """The cache folder: ``HLGRAPH_SERVER_CACHE``, or a folder of the user's cache."""
    given = os.environ.get(ENVIRONMENT)
    return Path(given).expanduser().absolute() if given else platformdirs.user_cache_path("hlgraph") / "servers"


def jars(wanted: Sequence[Jar], *, fetch_missing: Fetch = fetch) -> list[Path]:
    """Paths of the jars in the cache, each verified; fetches missing jars first.

    Raises
    ------
    ServerError : a jar cannot be fetched, or is not the pinned one
    """
    folder = root() / "maven"
    folder.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(root() / "fetch.lock"):
        missing = [jar for jar in wanted if not (folder / jar.path).is_file()]
        if missing:
            _fill(missing, folder, fetch_missing)
    paths = [folder / jar.path for jar in wanted]
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(sha256, paths))
    for jar, path, checksum in zip(wanted, paths, found, strict=True):
        if checksum != jar.sha256:
            raise ServerError(
                f"{path}: its sha256 is {checksum}, pinned is {jar.sha256}; the file was changed or cut off: "
                "remove it, it will be fetched again"
            )
    return paths


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fill(missing: Sequence[Jar], folder: Path, fetch_missing: Fetch) -> None:
    """Fetches into a temporary folder and moves verified jars, so that a kill leaves no partial jar in the cache.

    Fetched jars are kept even if others cannot be fetched.
    """
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=root()) as name:
        aside = Path(name)
        try:
            fetch_missing(missing, aside)
        finally:
            found = {jar: sha256(aside / jar.path) for jar in missing if (aside / jar.path).is_file()}
            for jar, checksum in found.items():
                if checksum == jar.sha256:
                    (folder / jar.path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(aside / jar.path, folder / jar.path)
    for jar in missing:
        if jar not in found:
            raise ServerError(f"{jar.name}: it was not fetched; look at the network, then try again")
        if found[jar] != jar.sha256:
            raise ServerError(
                f"{jar.name}: what was fetched has the sha256 {found[jar]}, pinned is {jar.sha256}; it was cut off on the "
                "way, or is not the file that was pinned: try again, and if that does not help do not use it"
            )
