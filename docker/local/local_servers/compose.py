"""The same two servers in containers, if a Docker engine answers: docker/compose.yaml, through testcontainers."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from local_servers import neo4j_server, opensearch_server, pins, process
from local_servers.errors import ServerError
from local_servers.pins import NEO4J, OPENSEARCH
from local_servers.state import Servers, write_private

if TYPE_CHECKING:
    from testcontainers.compose import DockerCompose

FOLDER = pins.HERE.parent
FILE = "compose.yaml"
ENVIRONMENT = "docker.env"
AUTHORITY = "/usr/share/opensearch/config/root-ca.pem"


def missing() -> str:
    """The reason why containers cannot be used here; empty if they can."""
    docker = shutil.which("docker")
    if not docker:
        return "there is no docker command"
    for question in (["version", "--format", "{{.Server.Version}}"], ["compose", "version"]):
        try:
            done = subprocess.run(
                [docker, *question], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=20
            )
        except subprocess.TimeoutExpired:
            return f"docker {question[0]} does not answer"
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"docker {question[0]} failed: {said[0] if said else done.returncode}"
    return ""


def is_used(folder: Path) -> bool:
    """Whether the servers of this state folder are containers."""
    return (folder / ENVIRONMENT).exists()


def start(
    folder: Path, names: Sequence[str], *, known: Servers, versions: Mapping[str, str], ports: Mapping[str, int]
) -> Servers:
    """Starts containers and waits until they are healthy; they keep their data, passwords and ports.

    Raises
    ------
    ServerError : Docker could not start them, or they did not become healthy
    """
    servers = known
    if NEO4J in names and servers.neo4j is None:
        version = pins.pin(NEO4J, versions.get(NEO4J, "")).version
        servers = replace(servers, neo4j=neo4j_server.new_endpoint(_password(), version, port=ports.get(NEO4J, 0)))
    if OPENSEARCH in names and servers.opensearch is None:
        version = pins.pin(OPENSEARCH, versions.get(OPENSEARCH, "")).version
        port = ports.get(OPENSEARCH, 0)
        index = opensearch_server.new_endpoint(folder, _password(), version, port=port)
        servers = replace(servers, opensearch=index)
    write_private(folder / ENVIRONMENT, environment(folder, servers))
    compose = _compose(folder, names)
    _run([*compose.compose_command_property, "up", "--detach", "--wait", "--wait-timeout", "300", *names], compose)
    if OPENSEARCH in names:
        text = _run([*compose.compose_command_property, "exec", "-T", OPENSEARCH, "cat", AUTHORITY], compose)
        (folder / "ca.pem").write_text(text, encoding="ascii")
    return servers


def stop(folder: Path, names: Sequence[str], *, force: bool = False) -> list[str]:
    """Ends containers, by a request or (``force``) by SIGKILL, but keeps their data; returns the names of those that ran."""
    ended = [name for name in names if is_running(folder, name)]
    if ended:
        compose = _compose(folder, ended)
        how = ["kill", "--signal", "SIGKILL"] if force else ["stop"]
        _run([*compose.compose_command_property, *how, *ended], compose)
    return ended


def load(folder: Path, files: Path, *, database: str) -> None:
    """Imports files into a database of a stopped Neo4j: a container that ends afterwards has its data and the files.

    Raises
    ------
    ServerError : the import fails
    """
    compose = _compose(folder, [NEO4J])
    script = 'neo4j-admin database import full @import.args "$0" && chown -R neo4j:neo4j /data'
    once = ["run", "--rm", "--no-deps", "-T", "--volume", f"{files}:/load", "--workdir", "/load", "--entrypoint", "sh"]
    _run([*compose.compose_command_property, *once, NEO4J, "-c", script, database], compose)


def remove(folder: Path) -> None:
    """Ends the containers of a state folder and removes them with their data."""
    compose = _compose(folder, ())
    _run([*compose.compose_command_property, "down", "--volumes"], compose)


def is_running(folder: Path, name: str) -> bool:
    """Whether the container of a server runs."""
    compose = _compose(folder, ())
    up = _run([*compose.compose_command_property, "ps", "--status", "running", "--services"], compose)
    return name in up.split()


def environment(folder: Path, servers: Servers) -> str:
    """The environment of compose.yaml: a separate project for each state folder, passwords, ports, versions."""
    lines = {"COMPOSE_PROJECT_NAME": f"hlgraph-{pins.digest(str(folder))[:8]}"}
    # compose.yaml requires both passwords, whichever server is started.
    lines |= {"NEO4J_PASSWORD": "unused", "OPENSEARCH_PASSWORD": "unused"}
    if servers.neo4j:
        lines |= {
            "NEO4J_VERSION": servers.neo4j.version,
            "NEO4J_PASSWORD": servers.neo4j.password,
            "NEO4J_PORT": str(process.port_of(servers.neo4j.url)),
            "NEO4J_HTTP_PORT": str(process.port_of(servers.neo4j.http)),
        }
    if servers.opensearch:
        lines |= {
            "OPENSEARCH_VERSION": servers.opensearch.version,
            "OPENSEARCH_PASSWORD": servers.opensearch.password,
            "OPENSEARCH_PORT": str(process.port_of(servers.opensearch.url)),
        }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def _password() -> str:
    """A password that OpenSearch accepts: upper-case and lower-case letters, a digit, a special character."""
    return f"{secrets.token_urlsafe(18)}-aZ9"


def _compose(folder: Path, names: Sequence[str]) -> DockerCompose:
    try:
        from testcontainers.compose import DockerCompose
    except ImportError as error:
        raise ServerError(
            "starting containers needs testcontainers, which is not installed; run: pip install 'hlgraph[dev]'"
        ) from error
    return DockerCompose(
        context=FOLDER, compose_file_name=FILE, env_file=str(folder / ENVIRONMENT), services=list(names) or None
    )


def _run(command: Sequence[str], compose: DockerCompose) -> str:
    done = subprocess.run(
        command, cwd=compose.context, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ServerError(
            f"docker compose did not work: {done.stderr.strip()[-process.TAIL :]}\n"
            f"look at it with: docker compose --file {FOLDER / FILE} logs; "
            "or start the servers without Docker: servers.py start --by jars"
        )
    return done.stdout
