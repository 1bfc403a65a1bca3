"""OpenSearch with k-NN as a local process, behind TLS and basic authentication."""

from __future__ import annotations

import hashlib
import http.client
import os
import secrets
import shutil
import ssl
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from local_servers import cache, certificates, java, pins, process, web
from local_servers.errors import ServerError
from local_servers.pins import Pin
from local_servers.state import OpenSearchEndpoint, write_private

USER = "admin"
SECURITY = "org.opensearch.security.OpenSearchSecurityPlugin"
PATIENCE = 180.0
# The plugin hashes the password itself, from a variable of its environment. Its own files would give rights to every user.
USERS = {
    "internal_users": f"""\
_meta: {{type: internalusers, config_version: 2}}
{USER}: {{hash: "${{envbc.HLGRAPH_ADMIN}}", backend_roles: [admin]}}
""",
    "roles_mapping": """\
_meta: {type: rolesmapping, config_version: 2}
all_access: {backend_roles: [admin]}
""",
}
SOURCES = pins.HERE / "java"
VECTOR_MODULE = "jdk.incubator.vector"
# A reduced Java runtime does not support --release.
COMPILE = ("-source", "21", "-target", "21", "-proc:none", "-nowarn", "-encoding", "UTF-8")
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


def home(state: Path) -> Path:
    """The folder of the server's configuration, data and logs."""
    return state / "opensearch"


def mark(state: Path) -> str:
    """A part of the command line that identifies this server."""
    return f"-Dhlgraph.server={home(state)} "


def log(state: Path) -> Path:
    """The log of the server."""
    return home(state) / "logs" / "console.log"


def new_endpoint(state: Path, password: str, version: str, *, port: int = 0) -> OpenSearchEndpoint:
    """An endpoint on the given port, or on a free one."""
    return OpenSearchEndpoint(
        url=f"https://127.0.0.1:{port or process.free_port()}",
        user=USER,
        password=password,
        ca=str(state / "ca.pem"),
        version=version,
    )


def start(pin: Pin, state: Path, endpoint: OpenSearchEndpoint, note: Callable[[OpenSearchEndpoint], None]) -> None:
    """Starts the server on the port of the endpoint and waits until it answers; first passes its process id to ``note``.

    Raises
    ------
    ServerError : the port is taken, there is no suitable Java, a jar is not the pinned one, or the server does not start
    """
    runtime = java.find(*pin.java)
    paths = dict(zip(pin.jars, cache.jars(pin.jars), strict=True))
    process.check_free(process.port_of(endpoint.url), f"opensearch {pin.version}")
    folder = home(state)
    for name in ("config", "data", "logs", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    lib = [paths[jar] for jar in pin.lib]
    lib += _unpacked([paths[jar] for jar in pin.plugins], folder / "jars", {path.name for path in lib})
    classes = _classes(lib, runtime, is_secured=SECURITY in pin.answers)
    _configure(folder, endpoint, Path(endpoint.ca), is_secured=SECURITY in pin.answers)
    command = [
        str(runtime.command),
        mark(state).rstrip(),
        f"-Xms{java.heap()}",
        f"-Xmx{java.heap()}",
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-Dlog4j2.configurationFile={folder / 'config' / 'log4j2.properties'}",
        "-Djava.util.logging.manager=org.apache.logging.log4j.jul.LogManager",
        "--enable-native-access=ALL-UNNAMED",
        *([f"--add-modules={VECTOR_MODULE}"] if runtime.has_module(VECTOR_MODULE) else []),
        java.class_path([classes, *lib], folder / "config" / "class-path"),
        pin.main,
        str(folder),
    ]
    pid = process.spawn(command, log=log(state), cwd=folder, env={**os.environ, "HLGRAPH_ADMIN": endpoint.password})
    running = replace(endpoint, pid=pid)
    try:
        note(running)
        process.wait_until(
            lambda: _answers(running), pid, name=f"opensearch {pin.version}", log=log(state), patience=PATIENCE
        )
        _check_plugins(pin, running)
    except BaseException:
        process.end(pid, mark(state), force=True)
        raise


def ask(endpoint: OpenSearchEndpoint, path: str, body: object = None) -> tuple[int, object]:
    """Sends one request; returns the status and the decoded answer."""
    return web.ask(endpoint.url + path, body, user=endpoint.user, password=endpoint.password, ca=Path(endpoint.ca))


def _answers(endpoint: OpenSearchEndpoint) -> bool:
    try:
        status, answer = ask(endpoint, "/_cluster/health")
    except ssl.SSLCertVerificationError as error:
        raise ServerError(
            f"opensearch {endpoint.url}: its certificate is not signed by {endpoint.ca} ({error.verify_message}); "
            "start with an empty state folder"
        ) from error
    except (OSError, http.client.HTTPException):
        return False
    if status == http.client.UNAUTHORIZED:
        raise ServerError(
            f"opensearch {endpoint.url}: it refuses the password of servers.json; start with an empty folder"
        )
    return isinstance(answer, dict) and answer.get("status") in ("green", "yellow")


def _check_plugins(pin: Pin, endpoint: OpenSearchEndpoint) -> None:
    _, answer = ask(endpoint, "/_cat/plugins")
    found = {one["component"] for one in answer} if isinstance(answer, list) else set()
    missing = sorted(set(pin.answers) - found)
    if missing:
        raise ServerError(
            f"opensearch {pin.version}: the plugin {missing[0]} is not loaded; see {endpoint.url}/_cat/plugins"
        )


def _configure(folder: Path, endpoint: OpenSearchEndpoint, ca: Path, *, is_secured: bool) -> None:
    keystore = folder / "config" / "server.p12"
    door = folder / "config" / "door.properties"
    secret = secrets.token_urlsafe(24)
    if not (keystore.exists() and ca.exists() and door.exists()):
        certificates.make(ca, keystore, password=secret)
        lines = {
            "user": endpoint.user,
            "password": endpoint.password,
            "keystore": keystore.name,
            "keystore_password": secret,
        }
        write_private(door, "".join(f"{name}={_escaped(value)}\n" for name, value in lines.items()))
    (folder / "config" / "log4j2.properties").write_text(LOGGING, encoding="utf-8")
    (folder / "config" / "opensearch.yml").write_text(
        "cluster.name: hlgraph-local\n"
        "node.name: one\n"
        "discovery.type: single-node\n"
        "network.host: 127.0.0.1\n"
        f"http.port: {process.port_of(endpoint.url)}\n"
        "transport.port: 0\n"
        f"path.data: {folder / 'data'}\n"
        f"path.logs: {folder / 'logs'}\n"
        f"path.repo: {folder / 'snapshots'}\n"
        # The disk of a development machine is often fuller than the watermarks of a server allow.
        "cluster.routing.allocation.disk.threshold_enabled: false\n"
        + (_security(folder, ca) if is_secured else "http.type: netty4-secure\n"),
        encoding="utf-8",
    )


def _security(folder: Path, ca: Path) -> str:
    """The settings of the security plugin. Its own files say the rest, but for the users: one, who alone has a role."""
    target = folder / "config" / "opensearch-security"
    if not target.exists():
        shutil.copytree(folder / "jars" / "config", target)
        for name, text in USERS.items():
            (target / f"{name}.yml").write_text(text, encoding="utf-8")
    lines = ["allow_default_init_securityindex: true", "restapi.roles_enabled: [all_access]", "ssl.http.enabled: true"]
    for layer in ("http", "transport"):
        lines += [f"ssl.{layer}.{name}_filepath: server.pem" for name in ("pemcert", "pemkey")]
        lines.append(f"ssl.{layer}.pemtrustedcas_filepath: {ca}")
    return "".join(f"plugins.security.{line}\n" for line in lines)


def _escaped(value: str) -> str:
    """A value, escaped for a Java properties file."""
    return "".join(f"\\{one}" if one in "\\=:#! " else one for one in value)


def _unpacked(archives: Sequence[Path], folder: Path, there: set[str]) -> list[Path]:
    """Extracts the jars from archives, except those with a name in ``there``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for archive in archives:
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if (name.endswith(".jar") and "/" not in name and name not in there) or name.startswith("config/"):
                    opened.extract(name, folder)
    return sorted(folder.glob("*.jar"))


def _classes(lib: Sequence[Path], runtime: java.Java, *, is_secured: bool) -> Path:
    """The folder of the compiled sources; compiled once for each state of the sources and the compiler."""
    compiler = pins.pin(pins.COMPILER)
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.java"))}
    if is_secured:
        # The security plugin takes the place of the door; the modules of its line of OpenSearch have shorter names.
        del sources["Door.java"]
        sources = {
            name: text.replace("ModulePlugin", "Plugin").replace("Door.class", f"{SECURITY}.class")
            for name, text in sources.items()
        }
    digest = hashlib.sha256(repr([jar.sha256 for jar in compiler.jars]).encode())
    digest.update(repr([path.name for path in lib]).encode())
    digest.update("".join(sources.values()).encode())
    target = cache.root() / "classes" / digest.hexdigest()[:16]
    if target.is_dir():
        return target
    (tool,) = cache.jars(compiler.jars)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=target.parent))
    written = [aside / name for name in sources]
    try:
        for path in written:
            path.write_text(sources[path.name], encoding="utf-8")
        done = subprocess.run(
            [runtime.command, "-jar", tool, *COMPILE, "-cp", os.pathsep.join(map(str, lib)), "-d", aside, *written],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise ServerError(f"{SOURCES}: it does not compile:\n{done.stderr[-process.TAIL :]}")
        try:
            aside.rename(target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return target
