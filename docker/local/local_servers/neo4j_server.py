"""Neo4j with Graph Data Science as a local process."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from local_servers import cache, java, process, web
from local_servers.errors import ServerError
from local_servers.pins import Pin
from local_servers.state import Neo4jEndpoint

USER, FIRST_PASSWORD = "neo4j", "neo4j"
DATABASE = "neo4j"
# With 512 MB of heap, a projection of about 10^5 relationships beside other tests ran out of memory.
PAGE_CACHE = "256m"
PATIENCE = 180.0
MORE = "HLGRAPH_NEO4J_SETTINGS"
ADMIN, ARGUMENTS = "org.neo4j.cli.AdminTool", "import.args"
OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang", "java.util.concurrent")


def home(state: Path) -> Path:
    """The folder of the server's configuration, data and logs."""
    return state / "neo4j"


def mark(state: Path) -> str:
    """A part of the command line that identifies this server."""
    return f"-Dhlgraph.server={home(state)} "


def log(state: Path) -> Path:
    """The log of the server."""
    return home(state) / "logs" / "neo4j.log"


def start(pin: Pin, state: Path, endpoint: Neo4jEndpoint, note: Callable[[Neo4jEndpoint], None]) -> None:
    """Starts the server on the ports of the endpoint and waits until it answers; first passes its process id to ``note``.

    Raises
    ------
    ServerError : a port is taken, there is no suitable Java, a jar is not the pinned one, or the server does not start
    """
    runtime = java.find(*pin.java)
    paths = dict(zip(pin.jars, cache.jars(pin.jars), strict=True))
    for url in (endpoint.url, endpoint.http):
        process.check_free(process.port_of(url), f"neo4j {pin.version}")
    folder = home(state)
    for name in ("conf", "data", "logs", "run", "import", "licenses"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    plugins = folder / "plugins"
    shutil.rmtree(plugins, ignore_errors=True)
    plugins.mkdir()
    for jar in pin.plugins:
        _link(paths[jar], plugins / jar.name)
    (folder / "conf" / "neo4j.conf").write_text(configuration(endpoint), encoding="utf-8")
    command = [
        *_java(runtime, mark(state).rstrip(), "-Xms512m"),
        java.class_path([*(paths[jar] for jar in pin.lib), plugins / "*"], folder / "conf" / "class-path"),
        pin.main,
        f"--home-dir={folder}",
        f"--config-dir={folder / 'conf'}",
    ]
    log(state).unlink(missing_ok=True)
    pid = process.spawn(command, log=folder / "logs" / "console.log", cwd=folder)
    running = replace(endpoint, pid=pid)
    try:
        note(running)
        process.wait_until(
            lambda: _answers(running), pid, name=f"neo4j {pin.version}", log=_log(state), patience=PATIENCE
        )
        _check_plugins(pin, running)
    except BaseException:
        process.end(pid, mark(state), force=True)
        raise


def load(pin: Pin, state: Path, files: Path, *, database: str = DATABASE) -> None:
    """Replaces a database of a stopped server by the one in the import files of a folder.

    Runs ``neo4j-admin database import full @import.args DATABASE`` in the folder, whose arguments ``hlgraph ingest --bulk``
    has written; the output of the tool goes to this process's.

    Raises
    ------
    ServerError : the folder has no import files, there is no suitable Java, or the tool fails
    """
    if not (files / ARGUMENTS).is_file():
        raise ServerError(f"{files}: it has no {ARGUMENTS}; give the folder of: hlgraph ingest PATHS --bulk FOLDER")
    runtime, folder = java.find(*pin.java), home(state)
    paths = dict(zip(pin.jars, cache.jars(pin.jars), strict=True))
    command = [
        *_java(runtime),
        java.class_path([paths[jar] for jar in pin.lib], folder / "conf" / "admin-class-path"),
        ADMIN,
        *("database", "import", "full", f"@{ARGUMENTS}", database),
    ]
    places = {"NEO4J_HOME": str(folder), "NEO4J_CONF": str(folder / "conf")}
    done = subprocess.run(command, cwd=files, env={**os.environ, **places}, check=False)
    if done.returncode:
        raise ServerError(f"neo4j {pin.version}: neo4j-admin database import ended with status {done.returncode}")


def _java(runtime: java.Java, *options: str) -> list[str]:
    """The beginning of a command line of the server or its tools."""
    return [
        str(runtime.command),
        *options,
        f"-Xmx{java.heap()}",
        *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED),
        "--enable-native-access=ALL-UNNAMED",
        *(["--sun-misc-unsafe-memory-access=allow"] if runtime.version >= 23 else []),
    ]


def new_endpoint(password: str, version: str, *, port: int = 0) -> Neo4jEndpoint:
    """An endpoint that serves Bolt on the given port, or on a free one."""
    return Neo4jEndpoint(
        url=f"bolt://127.0.0.1:{port or process.free_port()}",
        http=f"http://127.0.0.1:{process.free_port()}",
        user=USER,
        password=password,
        database=DATABASE,
        version=version,
    )


def ask(endpoint: Neo4jEndpoint, statement: str, *, database: str = DATABASE, **parameters: str) -> list[list[object]]:
    """Rows of one statement, through the server's HTTP interface.

    Raises
    ------
    ServerError : the server refused; for a wrong password the message contains 401
    """
    return _ask(endpoint, endpoint.password, statement, database=database, parameters=parameters)


def _ask(
    endpoint: Neo4jEndpoint, password: str, statement: str, *, database: str, parameters: dict[str, str]
) -> list[list[object]]:
    status, answer = web.ask(
        f"{endpoint.http}/db/{database}/tx/commit",
        {"statements": [{"statement": statement, "parameters": parameters}]},
        user=endpoint.user,
        password=password,
    )
    errors = answer.get("errors") if isinstance(answer, dict) else answer
    if status != 200 or errors or not isinstance(answer, dict):
        raise ServerError(f"neo4j {endpoint.http}: it answered {status}, {errors}")
    return [one["row"] for one in answer["results"][0]["data"]]


def _answers(endpoint: Neo4jEndpoint) -> bool:
    """Whether the server answers; sets the password of a new one first."""
    try:
        ask(endpoint, "RETURN 1")
    except (OSError, http.client.HTTPException):
        return False
    except ServerError as error:
        if "401" not in str(error) and "Forbidden" not in str(error):
            return False  # the database is not open yet
        _set_password(endpoint)
        return False
    return True


def _set_password(endpoint: Neo4jEndpoint) -> None:
    change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
    passwords = {"old": FIRST_PASSWORD, "new": endpoint.password}
    try:
        _ask(endpoint, FIRST_PASSWORD, change, database="system", parameters=passwords)
    except (OSError, http.client.HTTPException):
        return  # the caller tries again
    except ServerError as error:
        raise ServerError(
            f"neo4j {endpoint.http}: neither the password of servers.json nor the first one opens it ({error}); "
            "the data are another server's: start with an empty state folder"
        ) from error


def _check_plugins(pin: Pin, endpoint: Neo4jEndpoint) -> None:
    expected = pin.answers["gds"]
    try:
        found = ask(endpoint, "RETURN gds.version()")[0][0]
    except ServerError as error:
        raise ServerError(f"neo4j {pin.version}: Graph Data Science does not answer ({error})") from error
    if found != expected:
        raise ServerError(f"neo4j {pin.version}: Graph Data Science is {found}, pinned is {expected}")


def configuration(endpoint: Neo4jEndpoint) -> str:
    """The text of neo4j.conf: this machine only, authentication on, procedures of Graph Data Science allowed.

    The variable ``HLGRAPH_NEO4J_SETTINGS`` adds settings: NAME=VALUE, separated by spaces.
    """
    settings = {
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.listen_address": f"127.0.0.1:{process.port_of(endpoint.url)}",
        "server.http.listen_address": f"127.0.0.1:{process.port_of(endpoint.http)}",
        "server.default_advertised_address": "127.0.0.1",
        "server.bolt.advertised_address": f"127.0.0.1:{process.port_of(endpoint.url)}",
        "server.http.advertised_address": f"127.0.0.1:{process.port_of(endpoint.http)}",
        "server.https.enabled": "false",
        "server.memory.pagecache.size": PAGE_CACHE,
        "server.directories.logs": "logs",
        "server.directories.plugins": "plugins",
        "dbms.security.auth_enabled": "true",
        # Tests of wrong passwords must not lock out the tests beside them.
        "dbms.security.auth_max_failed_attempts": "0",
        "dbms.security.procedures.unrestricted": "gds.*",
        "dbms.usage_report.enabled": "false",
        "db.tx_log.rotation.retention_policy": "2 files",
        "db.tx_log.preallocate": "false",  # else each of the two databases takes 256 MB before anything is written
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    return "".join(f"{line}\n" for line in (*lines, *os.environ.get(MORE, "").split()))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)


def _log(state: Path) -> Path:
    return log(state) if log(state).exists() else home(state) / "logs" / "console.log"
