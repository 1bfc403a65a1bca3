"""The server before Neo4j and OpenSearch: every kind of route, as before an embedded store."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from live_stores import opened as opened_servers
from live_stores import settings_for

from hlgraph.serve.application import application
from hlgraph.serve.service import Service, opened
from hlgraph.settings import ServeSettings
from hlgraph.testing.embedder import WordEmbedder

DOCUMENTS = [
    {"uri": "notes/bridge", "text": "Mara Quill designed the Aldane Bridge."},
    {"uri": "notes/sale", "text": "Ivo Brandt sold the Aldane Bridge."},
]


def check_document(client: TestClient, corpus: str) -> None:
    """A few requests that the document allows to each route, of this corpus: none breaks the server."""
    import hypothesis
    import requests
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

    checks = [not_a_server_error, status_code_conformance, response_schema_conformance]
    few = hypothesis.settings(
        max_examples=2, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
    )

    def check(case: schemathesis.Case) -> None:
        if "corpus" in case.path_parameters:
            case.path_parameters["corpus"] = corpus
        sent = requests.Request(
            **case.as_transport_kwargs(base_url="http://127.0.0.1")
        ).prepare()  # its values are of requests
        response = client.request(str(sent.method), str(sent.url), headers=dict(sent.headers), content=sent.body)
        case.validate_response(response, checks=checks)

    for result in schemathesis.openapi.from_dict(client.get("/v1/openapi.json").json()).get_all_operations():
        operation = result.ok()
        if "{corpus}" in operation.path:  # the others ask no store
            few(hypothesis.given(case=operation.as_strategy())(check))()


def test_every_kind_of_route_works_before_servers(servers: Any, tmp_path: Path) -> None:
    settings = replace(settings_for(servers), serve=ServeSettings(state=str(tmp_path)))
    with opened_servers(servers, settings):
        service = Service(opened(settings, embedder=WordEmbedder()), is_open=True)
        with TestClient(application(service, is_local=True), base_url="http://127.0.0.1") as client:
            corpus = f"/v1/corpora/{settings.corpus}"
            location = client.post(f"{corpus}/ingest", json={"documents": DOCUMENTS}).headers["location"]
            while (job := client.get(location).json())["state"] in ("queued", "running"):
                time.sleep(0.05)
            assert (job["state"], job["report"]["sources"]["added"]) == ("done", 2), job["problem"]
            asked = {"question": "Who designed the Aldane Bridge?"}
            assert client.post(f"{corpus}/search", json=asked).json()["evidence"][0]["source"]["uri"] == "notes/bridge"
            assert client.post(f"{corpus}/answer", json=asked).json()["answer"].startswith("Mara Quill")
            tag = client.get(f"{corpus}/stats").headers["etag"]
            assert client.get(f"{corpus}/stats", headers={"if-none-match": tag}).status_code == 304
            for name in ("sources", "entities", "facts", "communities", "summaries", "merges"):
                assert client.get(f"{corpus}/{name}").status_code == 200
            path = client.get(f"{corpus}/path", params={"from": "Mara Quill", "to": "Ivo Brandt"}).json()
            assert [entity["name"] for entity in path["entities"]] == ["Mara Quill", "Aldane Bridge", "Ivo Brandt"]
            assert client.get("/v1/ready").json()["status"] == "ok"
            (source, _) = client.get(f"{corpus}/sources").json()["sources"]
            assert client.delete(f"{corpus}/sources/{source['id']}").json()["report"]["sources"]["removed"] == 1
            assert client.get(f"{corpus}/stats", headers={"if-none-match": tag}).status_code == 200
            assert client.post("/v1/corpora/nowhere/search", json=asked).status_code == 404
            check_document(client, settings.corpus)
