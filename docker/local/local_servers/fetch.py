"""Fetches jars from Maven repositories: with jgo (a Python package), or with the Maven client."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.sax.saxutils import escape

from local_servers.errors import ServerError
from local_servers.pins import Jar

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
THREADS = 8
TIMEOUT = 60.0
PAUSES = (1.0, 5.0)
SETTINGS = Path("~/.m2/settings.xml")


def fetch(wanted: Sequence[Jar], folder: Path) -> None:
    """Puts jars into a folder with the layout of a Maven repository. Verifies nothing.

    Uses jgo, which requests only the jars and takes half the time of the Maven client; but the client first if the user has
    settings for it, such as a mirror. If one fails, the other is tried.

    Raises
    ------
    ServerError : a jar cannot be fetched; the others are in the folder
    """
    ways = [by_maven, by_jgo] if SETTINGS.expanduser().is_file() else [by_jgo, by_maven]
    failed = []
    for way in ways:
        try:
            way([jar for jar in wanted if not (folder / jar.path).is_file()], folder)
        except ServerError as error:
            failed.append(str(error))
        else:
            return
    raise ServerError("; ".join(failed))


def by_maven(wanted: Sequence[Jar], folder: Path) -> None:
    """Fetches with the Maven client, which has its own settings: mirrors, proxies, its local repository.

    Each jar is a dependency without transitive dependencies, so that Maven resolves nothing again. A project takes one
    version of an artifact, so two versions take two projects.
    """
    rounds: list[dict[tuple[str, ...], Jar]] = []
    for jar in wanted:
        group, artifact, _, classifier, kind = jar.coordinate
        key = (group, artifact, classifier, kind)
        fitting = next((one for one in rounds if key not in one), None)
        if fitting is None:
            fitting = {}
            rounds.append(fitting)
        fitting[key] = jar
    for one in rounds:
        run_maven(project(list(one.values())), folder)


def project(wanted: Sequence[Jar], *, is_transitive: bool = False) -> str:
    """A Maven project that depends on the jars and, if ``is_transitive``, on their dependencies."""
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = []
    for jar in wanted:
        group, artifact, version, classifier, kind = (escape(part) for part in jar.coordinate)
        without = "" if is_transitive and kind == "jar" else alone
        dependencies.append(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
            f"<classifier>{classifier}</classifier><type>{kind}</type>{without}</dependency>"
        )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>hlgraph</groupId><artifactId>servers</artifactId><version>1</version>"
        f"<dependencies>{''.join(dependencies)}</dependencies></project>"
    )


def run_maven(text: str, folder: Path) -> None:
    """Copies the run-time dependencies of a project into a folder with the layout of a Maven repository.

    Raises
    ------
    ServerError : there is no Maven client, or it failed
    """
    maven = shutil.which("mvn")
    if not maven:
        raise ServerError("the Maven client (mvn) is not installed")
    with tempfile.TemporaryDirectory() as name:
        pom = Path(name) / "pom.xml"
        pom.write_text(text, encoding="utf-8")
        options = [
            "-B",
            "-q",
            "-DincludeScope=runtime",
            "-Dmdep.useRepositoryLayout=true",
            f"-DoutputDirectory={folder}",
        ]
        done = subprocess.run(
            [maven, "-f", pom, COPY, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        why = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line][:1]
        raise ServerError(
            f"Maven did not fetch the servers' jars ({' '.join(why)[:400] or done.returncode}); "
            "look at its settings and at the network"
        )


def by_jgo(wanted: Sequence[Jar], folder: Path, repositories: dict[str, str] | None = None) -> None:
    """Fetches with jgo, several jars at a time, with three attempts each.

    ``repositories`` maps names to URLs; None: the defaults of jgo.
    """
    try:
        from jgo.maven import MavenContext
    except ImportError as error:
        raise ServerError(
            "fetching the servers needs jgo, which is not installed; run: pip install 'hlgraph[dev]'"
        ) from error
    context = MavenContext(repo_cache=folder, remote_repos=repositories, timeout=int(TIMEOUT))

    def get(jar: Jar) -> None:
        group, artifact, version, classifier, kind = jar.coordinate
        for pause in (*PAUSES, None):
            try:
                context.project(group, artifact).at_version(version).artifact(classifier, kind).resolve()
            except (OSError, RuntimeError) as error:  # requests' errors are OSErrors
                (folder / jar.path).unlink(missing_ok=True)  # a partial file would count as fetched
                if pause is None:
                    raise ServerError(
                        f"{jar.name}: it cannot be fetched ({error}); look at the network, then try again"
                    ) from error
                time.sleep(pause)
            else:
                return

    with ThreadPoolExecutor(THREADS) as pool:
        tried = [pool.submit(get, jar) for jar in wanted]
        for one in tried:
            try:
                one.result()
            except ServerError:
                pool.shutdown(cancel_futures=True)
                raise
