"""The launcher with containers; a script stands in for the docker command, because an engine is not at hand everywhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from local_servers import compose, operate
from local_servers.errors import ServerError
from local_servers.state import Neo4jEndpoint, Servers

GRAPH = Neo4jEndpoint(
    url="bolt://127.0.0.1:7001",
    http="http://127.0.0.1:7002",
    user="neo4j",
    password="graph-secret",
    database="neo4j",
    version="2026.08.1",
)

DOCKER = """\
#!/bin/sh
echo "$*" >> "$DOCKER_LOG"
case "$*" in
  *" exec "*) echo "-----BEGIN CERTIFICATE-----" ;;
  *" ps "*) printf 'neo4j\\nopensearch\\n' ;;
  *" up "*) test ! -e "$DOCKER_LOG.broken" || { echo "no space left" >&2; exit 1; } ;;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of what docker was asked."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)
    log = tmp_path / "docker.log"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_LOG", str(log))
    return log


def test_containers_are_started_killed_and_stopped_by_compose(docker: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    made = operate.start(folder, by=operate.AUTO)
    assert made.neo4j
    assert made.opensearch
    assert (made.neo4j.pid, made.opensearch.pid) == (0, 0)
    assert operate.start(folder, by=operate.AUTO) == made
    assert operate.running(folder) == {"neo4j": True, "opensearch": True}
    assert operate.stop(folder, ["neo4j"], force=True) == ["neo4j"]
    assert operate.restart(folder, "neo4j") == made
    assert operate.stop(folder) == ["neo4j", "opensearch"]
    asked = docker.read_text()
    prefix = f"compose -f compose.yaml --env-file {folder / compose.ENVIRONMENT}"
    assert f"{prefix} up --detach --wait --wait-timeout 300 neo4j opensearch" in asked
    assert f"{prefix} kill --signal SIGKILL neo4j" in asked
    assert f"{prefix} stop neo4j opensearch" in asked
    assert "secret" not in asked
    assert made.neo4j.password not in asked
    assert made.opensearch.password not in asked
    assert (folder / "ca.pem").read_text().startswith("-----BEGIN CERTIFICATE-----")
    with pytest.raises(ServerError, match="its servers were not started by jars; choose another folder"):
        operate.start(folder, by=operate.JARS)
    operate.remove(folder)
    assert f"{prefix} down --volumes" in docker.read_text()
    assert not folder.exists()


def test_a_container_that_does_not_start_is_one_error(docker: Path, tmp_path: Path) -> None:
    Path(f"{docker}.broken").touch()
    with pytest.raises(ServerError, match=r"docker compose did not work: no space left\n.*--by jars"):
        operate.start(tmp_path / "state", by=operate.DOCKER)


def test_without_docker_the_reason_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("docker") is None
    with pytest.raises(ServerError, match=r"containers cannot be used: there is no docker command; .* --by jars"):
        operate.start(tmp_path / "state", by=operate.DOCKER)


def test_each_state_folder_is_a_project_of_its_own(tmp_path: Path) -> None:
    one, other = (compose.environment(tmp_path / name, Servers(neo4j=GRAPH)) for name in ("one", "other"))
    assert one.splitlines()[0] != other.splitlines()[0]
    assert "NEO4J_PASSWORD=graph-secret" in one.splitlines()
