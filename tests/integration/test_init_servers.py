"""``hlgraph init --servers``: a settings file without secrets, that works on the real servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import call as _call

from hlgraph.errors import SettingsError
from hlgraph.settings import load

_PASSWORDS = {"HLGRAPH_NEO4J_PASSWORD": "first", "HLGRAPH_OPENSEARCH_PASSWORD": "pw-two"}


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("STORE", "VECTORS", "CONFIG", "CORPUS", "NEO4J_PASSWORD", "OPENSEARCH_PASSWORD", "CHAT"):
        monkeypatch.delenv(f"HLGRAPH_{name}", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_file_names_variables_for_passwords_and_says_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _PASSWORDS.items():
        monkeypatch.setenv(name, value)
    code, out, err = _call("init", "--servers")
    text = (tmp_path / "hlgraph.yaml").read_text()
    assert (code, err) == (0, "")
    for name, value in _PASSWORDS.items():
        assert f'"${{{name}}}"' in text
        assert name in out
        assert value not in text + out
    assert "hlgraph --config hlgraph.yaml migrate apply" in out
    assert "hlgraph --config hlgraph.yaml ingest" in out
    assert not (tmp_path / ".hlgraph").exists()
    made = load(tmp_path / "hlgraph.yaml", environment=_PASSWORDS)
    assert (made.store, made.vectors) == ("neo4j://localhost:7687", "https://localhost:9200")
    assert (made.neo4j.user, made.neo4j.password) == ("neo4j", "first")
    assert (made.opensearch.user, made.opensearch.password) == ("admin", "pw-two")


@pytest.mark.parametrize("auth", ["bearer", "kerberos", "none", "custom"])
def test_the_file_has_the_credentials_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auth: str) -> None:
    secrets = {**_PASSWORDS, "HLGRAPH_NEO4J_TOKEN": "third"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "given.yaml").write_text(
        f"neo4j: {{auth: {auth}, token: third, scheme: x, realm: r, label_prefix: Acme_}}\n"
    )
    assert _call("--config", "given.yaml", "init", "--servers", "made.yaml")[0] == 0
    text = (tmp_path / "made.yaml").read_text()
    assert "third" not in text
    made = load(tmp_path / "made.yaml", environment=secrets).neo4j
    assert (made.auth, made.label_prefix) == (auth, "Acme_")
    assert ("HLGRAPH_NEO4J_TOKEN" in text) == (auth in ("bearer", "kerberos"))
    assert (made.scheme, made.realm) == (("x", "r") if auth == "custom" else ("", ""))


def test_the_file_without_its_variables_names_the_one_that_is_missing(tmp_path: Path) -> None:
    _call("init", "--servers")
    with pytest.raises(SettingsError, match="HLGRAPH_NEO4J_PASSWORD is not set"):
        load(tmp_path / "hlgraph.yaml", environment={})


def test_the_file_has_what_was_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_NEO4J_DATABASE", "library")
    monkeypatch.setenv("HLGRAPH_CORPUS", "reports: 2024 #1")
    monkeypatch.setenv("HLGRAPH_CHAT", "ollama:llama3.1")
    for name, value in (("SERVICE", "es"), ("REGION", "eu-west-1"), ("CA", "/etc/ssl/own.pem")):
        monkeypatch.setenv(f"HLGRAPH_OPENSEARCH_{name}", value)
    code, out, _ = _call(
        "--store", "neo4j+s://graph:7687", "--vectors", "https://search", "init", "--servers", "s.yaml"
    )
    assert code == 0
    assert "OPENSEARCH_PASSWORD" not in out
    made = load(tmp_path / "s.yaml", environment={"HLGRAPH_NEO4J_PASSWORD": "first"})
    assert (made.store, made.vectors, made.corpus) == ("neo4j+s://graph:7687", "https://search", "reports: 2024 #1")
    assert (made.neo4j.database, made.models.chat) == ("library", "ollama:llama3.1")
    index = made.opensearch
    assert (index.service, index.region, index.ca, index.user) == ("es", "eu-west-1", "/etc/ssl/own.pem", "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--store", "neo4j://me:hidden@graph:7687"), "HLGRAPH_NEO4J_PASSWORD"),
        (("--vectors", "https://me:hidden@search"), "set opensearch.user and opensearch.password"),
        (("--store", "graph:7687"), "not the URL of a store"),
        (("--vectors", "search:9200"), "not the URL of a store"),
    ],
)
def test_a_url_that_cannot_be_used_is_not_written(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    code, out, err = _call(*options, "init", "--servers")
    assert (code, out) == (2, "")
    assert says in err
    assert "hidden" not in err
    assert not (tmp_path / "hlgraph.yaml").exists()


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "hlgraph.yaml").write_text("corpus: mine\n")
    code, _, err = _call("init", "--servers")
    assert code == 2
    assert "already exists" in err
    assert (tmp_path / "hlgraph.yaml").read_text() == "corpus: mine\n"


def test_the_file_works_on_the_servers(servers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, index = servers.neo4j, servers.opensearch
    for name, value in (("NEO4J", graph.user), ("OPENSEARCH", index.user)):
        monkeypatch.setenv(f"HLGRAPH_{name}_USER", value)
    if index.ca:
        monkeypatch.setenv("HLGRAPH_OPENSEARCH_CA", index.ca)
    assert _call("--store", graph.url, "--vectors", index.url, "init", "--servers")[0] == 0
    for name in ("NEO4J_USER", "OPENSEARCH_USER", "OPENSEARCH_CA"):
        monkeypatch.delenv(f"HLGRAPH_{name}", raising=False)
    monkeypatch.setenv("HLGRAPH_NEO4J_PASSWORD", graph.password)
    monkeypatch.setenv("HLGRAPH_OPENSEARCH_PASSWORD", index.password)
    code, out, err = _call("--config", "hlgraph.yaml", "migrate")
    assert (code, err) == (0, "")
    assert "neo4j:" in out
    assert "opensearch:" in out
