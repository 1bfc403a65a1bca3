"""What holds of docker/compose.yaml and docker/Dockerfile, read as the texts that they are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from local_servers import compose, pins
from local_servers.state import Neo4jEndpoint, OpenSearchEndpoint, Servers

FOLDER = Path(__file__).parents[3] / "docker"
TEXT = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
IMAGE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
SERVICES = yaml.safe_load(TEXT)["services"]
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::([-?])([^}]*))?\}")
NAMES = sorted(SERVICES)
SERVERS = [name for name in NAMES if "profiles" not in SERVICES[name]]  # those that `make servers` starts


def default(text: str) -> str:
    """The text with every variable at its default."""
    return VARIABLE.sub(lambda match: match[3] if match[2] == "-" else "", text)


@pytest.mark.parametrize("name", NAMES)
def test_ports_are_open_on_loopback_only(name: str) -> None:
    assert SERVICES[name]["ports"]
    for port in SERVICES[name]["ports"]:
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", default(port))
    assert "network_mode" not in SERVICES[name]
    assert "privileged" not in SERVICES[name]


@pytest.mark.parametrize("name", SERVERS)
def test_the_image_is_the_pinned_version(name: str) -> None:
    image, _, tag = default(SERVICES[name]["image"]).rpartition(":")
    assert image in ("neo4j", "opensearchproject/opensearch")
    assert tag.removesuffix("-community") == pins.pin(name).version


@pytest.mark.parametrize("name", SERVERS)
def test_healthy_means_that_it_lets_in_and_its_plugin_answers(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["interval"]
    assert check["retries"] > 1
    assert {"neo4j": "gds.version()", "opensearch": "opensearch-knn"}[name] in check["test"][-1]


def test_the_service_of_hlgraph_serves_callers_with_a_key_and_is_checked() -> None:
    service = SERVICES["hlgraph"]
    assert service["command"] == ["serve", "--host", "0.0.0.0"]  # noqa: S104 - refused without a key
    assert "/v1/ready" in service["healthcheck"]["test"][-1]
    assert service["profiles"] == ["serve"]
    assert service["init"]  # a signal that comes before Python listens reaches it
    assert service["read_only"]  # but for /data
    assert sorted(SERVERS) == ["neo4j", "opensearch"]


def test_no_password_stands_in_the_file() -> None:
    for name, service in SERVICES.items():
        for variable, value in service["environment"].items():
            if re.search("PASSWORD|AUTH", variable):
                needed = VARIABLE.search(value)
                assert needed, f"{name}: {variable}"
                assert needed[2] == "?", f"{name}: {variable} starts without a password"
                assert re.fullmatch(r"(neo4j/)?", default(value))
    assert "DISABLE_SECURITY_PLUGIN" not in TEXT
    assert not re.search(r"NEO4J_AUTH: *['\"]?none", TEXT)


def test_the_example_names_what_must_be_set_and_sets_no_password() -> None:
    lines = (FOLDER / ".env.example").read_text(encoding="utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    needed = {match[1] for match in VARIABLE.finditer(TEXT) if match[2] == "?"}
    assert needed == {name for name, value in given.items() if not value}
    defaults = {match[1]: match[3] for match in VARIABLE.finditer(TEXT) if match[2] == "-"}
    assert {name: value for name, value in given.items() if value}.items() <= defaults.items()


def test_the_launcher_sets_every_variable() -> None:
    graph = Neo4jEndpoint(
        url="bolt://127.0.0.1:1", http="http://127.0.0.1:2", user="", password="p", database="", version="5"
    )
    index = OpenSearchEndpoint(url="https://127.0.0.1:3", user="", password="q", ca="", version="3")
    text = compose.environment(Path("/state"), Servers(neo4j=graph, opensearch=index))
    given = {line.partition("=")[0] for line in text.splitlines()}
    assert given - {"COMPOSE_PROJECT_NAME"} == {match[1] for match in VARIABLE.finditer(TEXT)}


def test_the_image_of_hlgraph_is_built_from_all_that_its_wheel_holds() -> None:
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))
    asked = re.search(r"/source\[([\w,]+)\]", IMAGE)
    assert asked
    extras = set(asked[1].split(","))
    assert extras <= project["project"]["optional-dependencies"].keys() - {"dev", "all"}
    assert extras >= {"local", "neo4j", "opensearch", "readers", "server"}
    assert extras >= {"communities"}  # the map of the page
    assert extras >= {"anthropic", "bedrock", "cohere", "ollama", "openai"}  # what models may be named
    copied: set[str] = set()
    for *names, target in map(str.split, re.findall(r"^COPY (?!--from)(.+)", IMAGE, re.MULTILINE)):
        copied |= set(names)
        assert all(f"/source/{name}" == target for name in names) or target == "/source/"
    admitted = {line[1:] for line in (FOLDER.parent / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert copied == admitted
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert copied - {"pyproject.toml"} == {
        *wheel["packages"],
        *wheel["force-include"],
        *project["project"]["license-files"],
        project["project"]["readme"],
    }


def test_the_image_of_hlgraph_runs_as_any_user_who_may_write_to_data() -> None:
    assert re.findall(r"^USER (\S+)", IMAGE, re.MULTILINE) == ["hlgraph"]
    assert all(re.search(r":\d+\.\d+", line) for line in re.findall(r"^FROM (\S+)", IMAGE, re.MULTILINE))
    build, run = IMAGE.split("\nFROM ")[1:]
    assert "hlgraph models install" in build
    assert "HLGRAPH_MODELS=/opt/hlgraph/models" in build
    assert "HLGRAPH_MODELS=/opt/hlgraph/models" in run
    assert re.search(r"\bHOME=/data\b", run)
    assert "--group 0 --mode 775 /data" in run  # a user whom the image does not know is in the group 0
