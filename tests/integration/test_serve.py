"""The server in this process: every route, who may ask what, jobs, problem documents, and the document of the routes."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import jsonschema
import jwt
import msgspec
import pytest
from command_line import call
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi.testclient import TestClient
from pytest_httpserver import HTTPServer
from thoroughness import cases

import hlgraph
from hlgraph.errors import (
    BudgetError,
    HLGraphError,
    InputError,
    MissingExtraError,
    ModelMissingError,
    ModelUnavailableError,
    SettingsError,
    StoreConflictError,
    StoreCorruptError,
    StoreLockedError,
    StoreUnavailableError,
)
from hlgraph.progress import advance
from hlgraph.records import Answer, Citation, Document, Entity, Evidence, Kind, Source
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.contents import Page
from hlgraph.serve import completions, jobs, routes, shapes
from hlgraph.serve.access import Keys, StateFile
from hlgraph.serve.application import ServeOptions, application, check_protected
from hlgraph.serve.jobs import JobList
from hlgraph.serve.service import Service
from hlgraph.settings import ServeSettings, Settings
from hlgraph.stores.protocols import Scope
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.leakage import History, leaks, listings, questions

URL = "http://127.0.0.1:8080"
QUESTION = {"question": "Who designed the Aldane Bridge?"}
DOCUMENTS = [
    Document("notes/bridge", "Mara Quill designed the Aldane Bridge. It cost three million.", "Bridge", {"year": 1931}),
    Document("notes/works", "Ivo Brandt paid for the Orsel Works. Petra Voss left Gannow.", "Works", {"year": 1940}),
]


class Open:
    """A server in this process, and its client."""

    def __init__(self, client: TestClient, service: Service) -> None:
        self.client, self.service = client, service

    def key(self, *, rights: tuple[str, ...] = ("read",), **options: Any) -> dict[str, str]:
        """The header with a new key."""
        text, _ = self.service.keys.add("test", rights=rights, **options)
        return {"authorization": f"Bearer {text}"}

    def done(self, location: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        """A job, once it is over."""
        for _ in range(400):
            job: dict[str, Any] = self.client.get(location, headers=headers).json()
            if job["state"] not in ("queued", "running"):
                return job
            time.sleep(0.02)
        raise AssertionError(job)


@contextmanager
def serving(
    folder: Path,
    *,
    is_open: bool = True,
    documents: list[Document] | None = None,
    embedder: WordEmbedder | None = None,
    **serve: Any,
) -> Iterator[Open]:
    """A server of a new store, without a key unless ``is_open`` is False."""
    settings = Settings(
        store=f"hlgraph://{folder}/store", serve=ServeSettings(**{"state": str(folder / "state"), **serve}), wait=1.0
    )
    graph = HLGraph(settings, embedder=embedder or WordEmbedder())
    if documents:
        graph.ingest(documents)
    service = Service(graph, is_open=is_open)
    with TestClient(application(service, is_local=is_open), base_url=URL, raise_server_exceptions=False) as client:
        yield Open(client, service)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """A server of two notes, which tests only read."""
    with serving(tmp_path_factory.mktemp("notes"), documents=DOCUMENTS) as server:
        yield server


def problem(response: Any, status: int) -> dict[str, Any]:
    """The problem document of a response."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json"), (
        response.text
    )
    tree: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "mend", "retryable", "id"} <= tree.keys()
    assert tree["mend"]
    assert "Traceback" not in response.text
    return tree


def events(text: str) -> list[tuple[str, Any]]:
    """The server-sent events of a body, by name."""
    pairs = []
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            pairs.append((fields.get("event", ""), fields["data"]))
    return pairs


# Questions


def test_a_search_is_that_of_the_sdk(notes: Open) -> None:
    for strategy in ("chunk", "auto"):
        given = notes.client.post("/v1/corpora/default/search", json={**QUESTION, "strategy": strategy, "k": 3}).json()
        expected = notes.service.graph.search(QUESTION["question"], strategy=strategy, k=3).evidence
        assert [(piece["id"], piece["score"], piece["start"]) for piece in given["evidence"]] == [
            (piece.id, piece.score, piece.start) for piece in expected
        ]
        assert given["evidence"][0]["source"] == {
            "id": expected[0].source.id,
            "uri": "notes/bridge",
            "title": "Bridge",
            "metadata": {"year": 1931},
        }
    only = {**QUESTION, "where": {"year": 1940}}
    found = notes.client.post("/v1/corpora/default/search", json=only).json()["evidence"]
    assert {piece["source"]["uri"] for piece in found} == {"notes/works"}


def test_an_answer_is_one_document_or_the_same_as_events(notes: Open) -> None:
    whole = notes.client.post("/v1/corpora/default/answer", json=QUESTION).json()
    assert whole["answer"].startswith("Mara Quill designed the Aldane Bridge. [1]")
    assert whole["citations"][0]["source"]["uri"] == "notes/bridge"
    streamed = notes.client.post("/v1/corpora/default/answer", json=QUESTION, headers={"accept": "text/event-stream"})
    named = events(streamed.text)
    assert [name for name, _ in named] == ["plan", "evidence", "text", "sentence", "citation", "done"]
    assert {**json.loads(named[-1][1]), "usage": None} == {**whole, "usage": None}
    assert json.loads(named[2][1])["text"] == whole["answer"]


def test_a_name_with_slashes_is_opened(notes: Open) -> None:
    source = notes.client.get("/v1/corpora/default/sources/notes%2Fbridge").json()["source"]
    assert notes.client.get(f"/v1/corpora/default/sources/{source['id']}").json()["source"] == source
    refused = notes.client.get("/v1/corpora/default/entities/AC%2FDC")
    assert "AC/DC" in problem(refused, 404)["detail"]


def test_a_uri_with_a_line_break_is_opened_and_removed(tmp_path: Path) -> None:
    uris = ["notes/a\nb", "a\n", "a\r\n"]
    with serving(tmp_path, documents=[Document(uri, "Mara Quill left.") for uri in uris]) as server:
        for uri in uris:
            opened = server.client.get(f"/v1/corpora/default/sources/{quote(uri, safe='')}").json()["source"]
            assert opened["uri"] == uri
            removed = server.client.delete(f"/v1/corpora/default/sources/{opened['id']}").json()["report"]["sources"]
            assert removed["removed"] == 1


def test_an_explanation_has_words_data_and_a_picture(notes: Open) -> None:
    given = notes.client.post("/v1/corpora/default/explain", json={**QUESTION, "strategy": "path"}).json()
    assert given["explanation"]["seeds"]
    assert given["text"]
    assert given["picture"].startswith("<svg")


def test_a_state_has_an_etag_and_a_known_one_no_body(tmp_path: Path) -> None:
    with serving(tmp_path, documents=DOCUMENTS) as server:
        first = server.client.get("/v1/corpora/default/stats")
        known = {"if-none-match": first.headers["etag"]}
        assert first.json()["records"]["source"] == 2
        assert server.client.get("/v1/corpora/default/stats", headers=known).status_code == 304
        server.service.graph.delete("notes/works")
        assert server.client.get("/v1/corpora/default/stats", headers=known).json()["records"]["source"] == 1


def test_an_etag_changes_with_what_is_derived(tmp_path: Path) -> None:
    with serving(tmp_path, documents=DOCUMENTS) as server:
        graph = server.service.graph

        def tags() -> dict[str, str]:
            names = ("communities", "summaries", "merges", "entities/Mara Quill")
            replies = {name: server.client.get(f"/v1/corpora/default/{name}") for name in names}
            for name, reply in replies.items():
                known = {"if-none-match": reply.headers["etag"]}
                again = server.client.get(f"/v1/corpora/default/{name}", headers=known)
                assert (again.status_code, again.content) == (304, b"")
            return {name: reply.headers["etag"] for name, reply in replies.items()}

        first = tags()
        graph.communities.build()
        built = tags()
        assert {name for name in first if first[name] != built[name]} >= {"communities"}
        graph.merges.apply([("Petra Voss", "Mara Quill")])
        merged = tags()
        assert {name for name in built if built[name] != merged[name]} >= {"merges", "entities/Mara Quill"}


def test_decisions_about_entities_are_made_and_undone(tmp_path: Path) -> None:
    with serving(tmp_path, documents=DOCUMENTS) as server:
        route = "/v1/corpora/default/merges"
        asked = {"pairs": [["Petra Voss", "Mara Quill"]], "why": "the same person"}
        (decision,) = server.client.post(route, json=asked).json()["decisions"]
        assert (decision["verdict"], decision["made_by"], decision["why"]) == ("same", "local", "the same person")
        (listed,) = server.client.get(route).json()["decisions"]
        assert sorted(listed["names"].values()) == ["Mara Quill", "Petra Voss"]
        about = server.client.get(f"{route}?entity={decision['alias']}").json()
        assert (about["decisions"], about["total"]) == ([listed], 1)
        assert server.client.get(f"{route}?entity=x").json()["total"] == 0
        assert server.client.get(f"{route}?skip=1").json() == {"decisions": [], "total": 1, "has_more": False}
        assert server.client.delete(f"{route}/{decision['id']}").json()["decisions"][0]["id"] == decision["id"]
        assert server.client.get(route).json()["decisions"] == []
        problem(server.client.delete(f"{route}/{'0' * 32}"), 404)


def test_sources_entities_and_facts_are_listed_and_opened(notes: Open) -> None:
    def get(path: str, **query: Any) -> Any:
        response = notes.client.get(f"/v1/corpora/default/{path}", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    first = get("sources", limit=1)
    second = get("sources", limit=1, after=first["after"])
    assert (first["total"], second["after"]) == (2, None)
    assert {first["sources"][0]["uri"], second["sources"][0]["uri"]} == {"notes/bridge", "notes/works"}
    assert [source["uri"] for source in get("sources", where="year = 1940")["sources"]] == ["notes/works"]
    source = get(f"sources/{get('sources', where='year = 1931')['sources'][0]['id']}")
    assert source["text"] == DOCUMENTS[0].text
    for span in (*source["chunks"], *source["statements"]):
        assert 0 <= span["start"] < span["end"] <= len(source["text"])
    assert "Mara Quill" in {entity["name"] for entity in get("entities")["entities"]}
    assert [entity["name"] for entity in get("entities", name="quill mara")["entities"]] == ["Mara Quill"]
    entities = notes.service.graph.entities
    matched = entities.list(match="a", limit=2)
    assert [entity.name for entity in entities.list(match="QUILL mara")] == ["Mara Quill"]
    following = entities.list(match="a", after=matched.after)
    assert {*matched, *following} == {entity for entity in entities.each() if "a" in entity.name.casefold()}
    assert following.after is None
    entity = get("entities/Mara Quill")
    assert [fact["fact"]["text"] for fact in entity["facts"]] == ["Mara Quill designed Aldane Bridge"]
    assert entity["facts"][0]["statements"][0]["source"]["uri"] == "notes/bridge"
    assert entity["neighbours"][0]["entity"]["name"] == "Aldane Bridge"
    rest = get("entities/Mara Quill", skip=1)
    assert (rest["facts"], rest["neighbours"]) == ([], entity["neighbours"][1:])
    assert (rest["fact_count"], rest["neighbour_count"]) == (entity["fact_count"], entity["neighbour_count"])
    fact = get(f"facts/{entity['facts'][0]['fact']['id']}")
    assert fact["total"] == 1
    assert get(f"facts/{fact['fact']['id']}", skip=1) == {**fact, "statements": []}
    assert get("facts")["total"] == len(get("facts")["facts"])
    for path in ("sources/x", "entities/Nobody", "facts/x", "path?from=Mara Quill&to=Nobody"):
        problem(notes.client.get(f"/v1/corpora/default/{path}"), 404)
    problem(notes.client.get("/v1/corpora/default/path?from=Mara Quill"), 400)


def test_a_path_between_two_entities_is_a_shortest_one(tmp_path: Path) -> None:
    chain = [
        Document("a", "Mara Quill designed the Aldane Bridge."),
        Document("b", "Ivo Brandt sold the Aldane Bridge."),
        Document("c", "Ivo Brandt visited Tessing."),
        Document("d", "Petra Voss left Gannow."),
    ]
    with serving(tmp_path, documents=chain) as server:

        def path(**query: Any) -> Any:
            return server.client.get("/v1/corpora/default/path", params=query).json()

        found = path(**{"from": "Mara Quill", "to": "Tessing"})
        assert [entity["name"] for entity in found["entities"]] == [
            "Mara Quill",
            "Aldane Bridge",
            "Ivo Brandt",
            "Tessing",
        ]
        assert [fact["statements"][0]["source"]["uri"] for fact in found["facts"]] == ["a", "b", "c"]
        assert found["is_complete"]
        assert path(**{"from": "Mara Quill", "to": "Tessing", "hops": 2})["facts"] == []
        assert path(**{"from": "Mara Quill", "to": "Gannow"}) == {"entities": [], "facts": [], "is_complete": True}
        same = path(**{"from": "Tessing", "to": "Tessing"})
        assert [entity["name"] for entity in same["entities"]] == ["Tessing"]


def test_communities_and_summaries_are_listed(tmp_path: Path) -> None:
    with serving(tmp_path, documents=DOCUMENTS) as server:
        server.service.graph.communities.build()
        server.service.graph.hierarchy.build()
        listed = server.client.get("/v1/corpora/default/communities?limit=1&names=2").json()
        assert len(listed["communities"]) == 1
        assert listed["communities"][0]["names"]
        route = "/v1/corpora/default/communities?names=0"
        every = server.client.get(route).json()
        assert every["total"] == len(every["communities"]) == listed["total"]
        assert server.client.get(f"{route}&skip=1").json()["communities"] == every["communities"][1:]
        assert "summaries" in server.client.get("/v1/corpora/default/summaries").json()


def test_the_map_has_the_most_linked_entities_and_the_heaviest_links(tmp_path: Path) -> None:
    with serving(tmp_path, documents=DOCUMENTS) as server:
        route = "/v1/corpora/default/map"
        empty = server.client.get(route).json()
        assert (empty["nodes"], empty["node_total"]) == ([], 0)
        server.service.graph.communities.build()
        drawn = server.client.get(route).json()
        degrees = {node["id"]: 0 for node in drawn["nodes"]}
        for edge in drawn["edges"]:
            degrees[edge["start"]] += 1
            degrees[edge["end"]] += 1
        assert degrees == {node["id"]: node["degree"] for node in drawn["nodes"]}
        assert (len(degrees), len(drawn["edges"])) == (drawn["node_total"], drawn["edge_total"])
        order = [(-node["degree"], node["id"]) for node in drawn["nodes"]]
        assert order == sorted(order)
        weights = [edge["weight"] for edge in drawn["edges"]]
        assert weights == sorted(weights, reverse=True)
        few = server.client.get(f"{route}?limit=2&edges=0").json()
        assert (few["nodes"], few["edges"], few["node_total"]) == (drawn["nodes"][:2], [], drawn["node_total"])
        for community in server.client.get("/v1/corpora/default/communities").json()["communities"]:
            own = server.client.get(f"{route}?community={community['id']}").json()
            assert (len(own["nodes"]), own["node_total"]) == (community["size"], community["size"])
            if community["level"] == 0:
                assert {node["community_id"] for node in own["nodes"]} == {community["id"]}
        problem(server.client.get(f"{route}?community=x"), 404)


# Bad input

CHAT: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": "Who?"}]}
BAD: tuple[tuple[str, str, Any, int], ...] = (
    ("POST", "/v1/corpora/default/search", {}, 400),
    ("POST", "/v1/corpora/default/search", {"question": ""}, 400),
    ("POST", "/v1/corpora/default/search", {"question": "  "}, 400),
    ("POST", "/v1/corpora/default/search", {"question": 7}, 400),
    ("POST", "/v1/corpora/default/search", {"question": "x" * 10_001}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "k": 0}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "k": 201}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "strategy": "nearest"}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "colour": "red"}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "where": "year >"}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "where": {"no_such_field": 1}}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "where": {"year": {"$gt": 1}}}, 400),
    ("POST", "/v1/corpora/default/search", {**QUESTION, "as_of": "yesterday"}, 400),
    ("POST", "/v1/corpora/default/search", b"{", 400),
    ("POST", "/v1/corpora/default/search", b"\xff\xfe", 400),
    ("POST", "/v1/corpora/default/search", b"[" * 100_000, 400),
    ("POST", "/v1/corpora/default/search", {"question": "\ud800"}, 400),
    ("POST", "/v1/corpora/nowhere/search", QUESTION, 404),
    ("POST", "/v1/corpora/default@history/search", QUESTION, 404),
    ("POST", "/v1/corpora/a%00b/search", QUESTION, 400),
    ("POST", "/v1/corpora/default/answer", {**QUESTION, "verify": "chat"}, 400),
    ("POST", "/v1/corpora/default/answer", {**QUESTION, "choices": ["one"]}, 400),
    ("POST", "/v1/corpora/default/ingest", {}, 400),
    ("POST", "/v1/corpora/default/ingest", {"documents": [{"uri": "", "text": "x"}]}, 400),
    ("POST", f"/v1/corpora/{'n' * 201}/ingest", {"documents": [{"uri": "a", "text": "x"}]}, 400),
    ("POST", "/v1/corpora/default/ingest", {"paths": ["/etc/passwd"]}, 403),
    ("POST", "/v1/corpora/default/ingest", {"documents": [{"uri": "a", "text": "x"}], "options": {"max_usd": 1}}, 400),
    ("DELETE", f"/v1/corpora/default/sources/{'0' * 32}", None, 404),
    ("GET", "/v1/corpora/default/merges?limit=0", None, 400),
    ("GET", "/v1/corpora/default/merges?limit=1&limit=2", None, 400),
    ("GET", "/v1/corpora/default/merges?colour=red", None, 400),
    ("GET", "/v1/corpora/nowhere/stats", None, 404),
    ("GET", "/v1/corpora/default/stats?as_of=yesterday", None, 400),
    ("GET", "/v1/corpora?colour=red", None, 400),
    ("GET", "/v1/corpora/default/sources?after=garbage", None, 400),
    ("GET", "/v1/corpora/default/facts?after=garbage", None, 400),
    ("GET", f"/v1/jobs/{'0' * 32}", None, 404),
    ("GET", "/v1/jobs/x/events", None, 404),
    ("GET", "/v1/models/nowhere", None, 404),
    ("GET", "/v1/nothing", None, 404),
    ("PUT", "/v1/corpora", None, 405),
    ("POST", "/v1/chat/completions", {"model": "default", "messages": []}, 400),
    ("POST", "/v1/chat/completions", {"model": "default", "messages": [{"role": "system", "content": "x"}]}, 400),
    ("POST", "/v1/chat/completions", {"model": "nowhere", "messages": [{"role": "user", "content": "x"}]}, 404),
    ("POST", "/v1/chat/completions", CHAT | {"n": 2}, 400),
    ("POST", "/v1/chat/completions", CHAT | {"n": 0}, 400),
    ("POST", "/v1/chat/completions", CHAT | {"response_format": {"type": "json_object"}}, 400),
    ("POST", "/v1/chat/completions", CHAT | {"tool_choice": "required"}, 400),
    ("POST", "/v1/chat/completions", CHAT | {"tool_choice": {"type": "function", "function": {"name": "f"}}}, 400),
)


@pytest.mark.parametrize(("method", "path", "body", "status"), BAD)
def test_bad_input_is_one_problem_document(notes: Open, method: str, path: str, body: Any, status: int) -> None:
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    response = notes.client.request(method, path, content=content, headers={"content-type": "application/json"})
    tree = problem(response, status)
    assert tree["status"] == status
    assert tree["id"] == response.headers["x-request-id"]
    if path.startswith("/v1/chat"):
        assert tree["error"]["message"] == tree["detail"]


def test_a_body_of_another_kind_or_too_large_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, max_body=2_000, max_upload=3_000, documents=DOCUMENTS) as server:
        post = server.client.post
        problem(post("/v1/corpora/default/search", content=b"{}", headers={"content-type": "text/plain"}), 415)
        problem(post("/v1/corpora/default/search", json={"question": "x" * 3_000}), 413)

        def parts() -> Iterator[bytes]:  # no content-length says how much comes
            yield b'{"question": "'
            for _ in range(100):
                yield b"x" * 100
            yield b'"}'

        chunked = post("/v1/corpora/default/search", content=parts(), headers={"content-type": "application/json"})
        problem(chunked, 413)
        problem(post("/v1/corpora/default/ingest", files={"files": ("a.txt", b"x" * 1_100_000)}), 413)
        assert list((tmp_path / "state" / "incoming").rglob("a.txt")) == []


def test_a_bug_says_nothing_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise ZeroDivisionError("the secret of the house")

    with serving(tmp_path, documents=DOCUMENTS) as server:
        monkeypatch.setattr(server.service, "search", broken)
        response = server.client.post("/v1/corpora/default/search", json=QUESTION)
        assert "secret" not in response.text
        assert problem(response, 500)["detail"] == "the server failed; this is a bug in hlgraph"


def test_more_calls_than_wait_are_refused_before_they_hurt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, concurrency=1, waiting=1, documents=DOCUMENTS) as server:
        goes_on, real = threading.Event(), server.service.search

        def slow(*args: Any, **named: Any) -> Any:
            goes_on.wait(10)
            return real(*args, **named)

        monkeypatch.setattr(server.service, "search", slow)
        statuses: list[int] = []

        def ask() -> None:
            statuses.append(server.client.post("/v1/corpora/default/search", json=QUESTION).status_code)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        while server.client.app.state.server.gate.calls < 2:  # type: ignore[attr-defined]
            time.sleep(0.01)
        refused = server.client.post("/v1/corpora/default/search", json=QUESTION)
        assert problem(refused, 429)["retryable"]
        assert int(refused.headers["retry-after"]) >= 1
        goes_on.set()
        for thread in threads:
            thread.join()
        assert statuses == [200, 200]


def test_a_call_that_takes_too_long_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, max_seconds=0.1, documents=DOCUMENTS) as server:
        monkeypatch.setattr(server.service, "search", lambda *_, **__: time.sleep(0.3))
        assert problem(server.client.post("/v1/corpora/default/search", json=QUESTION), 504)["retryable"]


def test_a_client_that_stops_in_the_middle_of_its_body_is_not_waited_for(
    notes: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlgraph.serve.application._CHUNK_SECONDS", 0.05)
    parts = [{"type": "http.request", "body": b"{", "more_body": True}]
    sent: list[Any] = []

    async def receive() -> Any:
        if not parts:
            await asyncio.sleep(10)
        return parts.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"500")]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http"}
    scope |= {"path": "/v1/corpora/default/search", "raw_path": b"", "query_string": b"", "root_path": ""}
    asyncio.run(notes.client.app({**scope, "headers": headers}, receive, send))
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["retryable"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StoreLockedError("x"), 409),
        (StoreConflictError("x"), 409),
        (StoreUnavailableError("x"), 503),
        (ModelUnavailableError("x", retry_after=7), 503),
        (BudgetError("x"), 402),
        (ModelMissingError("x"), 502),
        (MissingExtraError("spacy", "x"), 501),
        (StoreCorruptError("x"), 500),
    ],
)
def test_an_error_of_a_store_or_a_model_is_a_problem_that_says_whether_to_repeat(
    notes: Open, monkeypatch: pytest.MonkeyPatch, error: HLGraphError, status: int
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr(notes.service, "search", fail)
    response = notes.client.post("/v1/corpora/default/search", json=QUESTION)
    assert problem(response, status)["retryable"] is error.retryable
    waits = int(response.headers.get("retry-after", "0"))
    assert waits == (getattr(error, "retry_after", None) or int(error.retryable))


def test_a_full_disk_is_a_problem_and_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with serving(tmp_path, documents=DOCUMENTS) as server:
        monkeypatch.setattr("hlgraph.serve.jobs.files.sync", full)
        body = {"documents": [{"uri": "a", "text": "Ada left Bremen."}]}
        for sent in ({"json": body}, {"files": {"files": ("a.md", b"Ada left Bremen.")}}):
            refused = problem(server.client.post("/v1/corpora/default/ingest", **sent), 503)  # type: ignore[arg-type]
            assert "No space left" in refused["detail"]
        assert server.client.get("/v1/corpora/default/jobs").json() == {"jobs": []}
        for folder in ("jobs", "incoming"):
            assert [path for path in (tmp_path / "state" / folder).rglob("*.*") if path.suffix != ".lock"] == []


def test_where_the_store_lies_is_for_who_operates(tmp_path: Path) -> None:
    """Every route and every kind of answer over a store that is gone: others are told its title and what to do."""
    with serving(tmp_path, is_open=False, documents=DOCUMENTS) as server:
        writer, operator = server.key(rights=("write",)), server.key(rights=("operate",))
        document = server.client.get("/v1/openapi.json", headers=writer).json()
        (tmp_path / "store").rename(tmp_path / "gone")
        (tmp_path / "store").mkdir()
        (tmp_path / "store" / "hlgraph.db").write_text("not a database")

        def said(key: dict[str, str]) -> str:
            texts = []
            for path, method, operation in (
                (path, *pair) for path, methods in document["paths"].items() for pair in methods.items()
            ):
                media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                where = re.sub("[{][a-z]+[}]", "default", path)
                for accept in ("application/json", "text/event-stream"):
                    headers = {**key, "accept": accept}
                    response = server.client.request(method, where, json=media.get("example"), headers=headers)
                    texts.append(response.text)
                    if path.endswith("/ingest") and method == "post":
                        texts.append(json.dumps(server.done(response.headers["location"], key)))
                        texts.append(server.client.get("/v1/corpora/default/jobs", headers=key).text)
            asked = {"model": "default", "messages": [{"role": "user", "content": QUESTION["question"]}]}
            for more in ({}, {"stream": True}):
                texts.append(server.client.post("/v1/chat/completions", json={**asked, **more}, headers=key).text)
            return "\n".join(texts)

        assert str(tmp_path) in said(operator)
        text = said(writer)
        assert str(tmp_path) not in text
        assert text.count("the server failed; tell the operator of the server") > 30


def test_without_the_extra_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("hlgraph.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    ended = call("serve", "--port", "0")
    assert ended.code == 4
    assert "pip install 'hlgraph[server]'" in ended.err


def test_other_sites_and_other_names_of_this_machine_are_refused(notes: Open) -> None:
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"host": "evil.example"}):
        problem(notes.client.get("/v1/corpora", headers=headers), 403)
    assert notes.client.get("/v1/corpora", headers={"origin": URL}).status_code == 200
    headers = notes.client.get("/v1/health").headers
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]
    assert "set-cookie" not in headers


# Who may ask


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """A server that needs a key, with two corpora."""
    folder = tmp_path_factory.mktemp("locked")
    with serving(folder, is_open=False, documents=DOCUMENTS) as server:
        server.service.graph.in_corpus("other").ingest(DOCUMENTS)
        yield server


def test_a_key_opens_its_corpora_and_no_other(locked: Open) -> None:
    get, post = locked.client.get, locked.client.post
    problem(get("/v1/corpora"), 401)
    assert get("/v1/corpora").headers["www-authenticate"] == "Bearer"
    problem(get("/v1/corpora", headers={"authorization": "Bearer hlg_000000000000_" + "x" * 43}), 401)
    problem(get("/v1/corpora", headers={"authorization": "Basic eA=="}), 401)
    key = locked.key(corpora=["default"])
    assert [corpus["name"] for corpus in get("/v1/corpora", headers=key).json()["corpora"]] == ["default"]
    assert post("/v1/corpora/default/search", json=QUESTION, headers=key).status_code == 200
    hidden = problem(post("/v1/corpora/other/search", json=QUESTION, headers=key), 404)
    absent = problem(post("/v1/corpora/absent/search", json=QUESTION, headers=key), 404)
    assert hidden["detail"].replace("other", "absent") == absent["detail"]
    assert get("/v1/models", headers=key).json()["data"][0]["id"] == "default"
    problem(get("/v1/models/other", headers=key), 404)


def test_a_right_is_needed_and_includes_those_before_it(locked: Open) -> None:
    client, documents = locked.client, {"documents": [{"uri": "notes/new", "text": "Ada left Bremen."}]}
    reader, writer, operator = (locked.key(rights=(right,)) for right in ("read", "write", "operate"))
    assert (
        "right to write"
        in problem(client.post("/v1/corpora/new/ingest", json=documents, headers=reader), 403)["detail"]
    )
    problem(client.post("/v1/corpora/default/merges", json={"pairs": [["a", "b"]]}, headers=writer), 403)
    problem(client.get("/v1/metrics", headers=writer), 403)
    started = client.post("/v1/corpora/new/ingest", json=documents, headers=writer)
    assert started.status_code == 202
    assert locked.done(started.headers["location"], writer)["report"]["sources"]["added"] == 1
    problem(client.get(started.headers["location"], headers=locked.key(rights=("write",))), 404)
    assert client.get(started.headers["location"], headers=operator).status_code == 200
    assert client.get("/v1/corpora/new/jobs", headers=locked.key(rights=("write",))).json() == {"jobs": []}
    assert client.get("/v1/metrics", headers=operator).text.count("hlgraph_requests_total{") > 1
    assert client.get("/v1/ready", headers=operator).json()["checks"]
    assert client.get("/v1/ready").json() == {"status": "ok", "version": hlgraph.__version__, "checks": []}


def test_what_a_model_says_of_a_failed_chunk_is_for_who_operates(locked: Open) -> None:
    writer, operator = (locked.key(rights=(right,)) for right in ("write", "operate"))
    documents = {"documents": [{"uri": "notes/failed", "text": "Ada left Bremen."}]}
    location = locked.client.post("/v1/corpora/new/ingest", json=documents, headers=writer).headers["location"]
    report = locked.done(location, writer)["report"]
    error = "chunk 0 was not extracted: openai:x: no answer (http://models.internal:9000); its replies are in /srv/cache; wait"
    report["problems"] = [{"uri": "notes/failed", "error": error}]
    locked.service.jobs.finish(location.rpartition("/")[2], "done", report=report)
    for header, has_address in ((writer, False), (operator, True)):
        body = locked.client.get(location, headers=header).text
        assert [word in body for word in ("models.internal", "/srv/cache")] == [has_address] * 2
        assert "chunk 0 was not extracted" in body
    listed = locked.client.get("/v1/corpora/new/jobs", headers=writer).text
    assert "chunk 0 was not extracted" in listed
    assert "models.internal" not in listed


def test_a_revoked_or_expired_key_is_refused_from_the_next_request_on(locked: Open) -> None:
    text, key = locked.service.keys.add("short", rights=("read",))
    header = {"authorization": f"Bearer {text}"}
    assert locked.client.get("/v1/corpora", headers=header).status_code == 200
    locked.service.keys.revoke(key.id)
    problem(locked.client.get("/v1/corpora", headers=header), 401)
    problem(locked.client.get("/v1/corpora", headers=locked.key(days=1e-9)), 401)


def test_a_key_that_is_revoked_during_a_stream_ends_it(locked: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_KEY_SECONDS", 0.0)
    monkeypatch.setattr(routes, "_POLL_SECONDS", 0.0)
    key = locked.key(rights=("write",))
    name = f"key:{key['authorization'].split('_')[1]}"
    running = shapes.Job(id="x", corpus="default", state="running", created="", updated="1")
    seen: list[shapes.Job] = []

    def find(*_: object) -> shapes.Job:
        seen.append(running)
        if len(seen) == 3:
            locked.service.keys.revoke(name.removeprefix("key:"))
        return msgspec.structs.replace(running, updated=str(len(seen)))

    monkeypatch.setattr(locked.service.ingests, "find", find)
    sent = events(locked.client.get("/v1/jobs/x/events", headers=key).text)
    assert [event for event, _ in sent] == ["progress", "progress", "problem"]
    assert json.loads(sent[-1][1])["status"] == 401
    ends = iter((running, msgspec.structs.replace(running, state="done")))  # within one tick of the clock
    monkeypatch.setattr(locked.service.ingests, "find", lambda *_: next(ends))
    sent = events(locked.client.get("/v1/jobs/x/events", headers=locked.key(rights=("write",))).text)
    assert [event for event, _ in sent] == ["progress", "done"]
    answer_events = locked.service.answer_events
    for path, body in (
        ("/v1/corpora/default/answer", QUESTION),
        (
            "/v1/chat/completions",
            {"model": "default", "stream": True, "messages": [{"role": "user", "content": QUESTION["question"]}]},
        ),
    ):
        key = locked.key()
        identity = key["authorization"].split("_")[1]

        def revoked(*args: Any, identity: str = identity, **named: Any) -> Iterator[Any]:
            yield from itertools.islice(answer_events(*args, **named), 1)
            locked.service.keys.revoke(identity)
            yield from answer_events(*args, **named)

        with monkeypatch.context() as patch:
            patch.setattr(locked.service, "answer_events", revoked)
            text = locked.client.post(path, json=body, headers={**key, "accept": "text/event-stream"}).text
        assert "the key is not valid" in text
        assert "Mara Quill" not in text


def test_the_command_line_makes_lists_and_revokes_keys(tmp_path: Path) -> None:
    state = ["--state", str(tmp_path / "state")]
    made = json.loads(call("keys", "add", "page", "--corpus", "news", "--group", "board", *state, "--json").out)
    assert made["rights"] == ["read"]
    assert made["groups"] == ["board"]
    assert made["key"] not in call("keys", "list", *state).out
    assert made["key"][-43:].encode() not in (tmp_path / "state" / "state-1.sqlite").read_bytes()
    assert call("keys", "revoke", made["id"], *state).code == 0
    assert "revoked" in call("keys", "list", *state).out
    assert call("keys", "add", "x", "--right", "own", *state).code == 2
    assert call("keys", "add", "x", "--right", "operate", "--group", "board", *state).code == 2
    assert call("keys", "add", "x", "--group", "board;public", *state).code == 2
    for days in ("0", "nan", "inf", "1e9"):
        assert call("keys", "add", "x", "--days", days, *state).code == 2
    assert call("keys", "list", *state).code == 0
    assert call("keys", "revoke", "0", *state).code == 2


def test_others_reach_a_server_with_a_key_only(tmp_path: Path) -> None:
    settings = Settings(store=f"hlgraph://{tmp_path}/store", serve=ServeSettings(state=str(tmp_path / "state")))
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):  # noqa: S104 - refused
        with pytest.raises(SettingsError, match="keys add"):
            check_protected(settings, ServeOptions(host=host))
    for host in ("127.0.0.1", "::1", "localhost"):
        check_protected(settings, ServeOptions(host=host))
    _, key = Keys(StateFile(tmp_path / "state")).add("x")
    check_protected(settings, ServeOptions(host="0.0.0.0"))  # noqa: S104
    Keys(StateFile(tmp_path / "state")).revoke(key.id)
    with pytest.raises(SettingsError):
        check_protected(settings, ServeOptions(host="0.0.0.0"))  # noqa: S104
    with serving(tmp_path) as server:
        problem(server.client.get("/v1/corpora"), 401)  # a server whose keys are all revoked is not open again


def test_a_token_of_the_issuer_names_corpora_rights_and_groups(tmp_path: Path) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(private.public_key()))
    with HTTPServer(threaded=True) as issuer:
        issuer.expect_request("/.well-known/openid-configuration").respond_with_json(
            {"jwks_uri": issuer.url_for("/keys")}
        )
        issuer.expect_request("/keys").respond_with_json(
            {"keys": [{**public, "kid": "one", "use": "sig", "alg": "ES256"}]}
        )
        name = issuer.url_for("")
        claims = {
            "iss": name,
            "aud": "hlgraph",
            "sub": "ada",
            "exp": time.time() + 60,
            "hlgraph_corpora": ["default"],
            "groups": ["board"],
        }

        def token(*, key: Any = private, kid: str = "one", algorithm: str = "ES256", **others: Any) -> dict[str, str]:
            text = jwt.encode({**claims, **others}, key, algorithm=algorithm, headers={"kid": kid})
            return {"authorization": f"Bearer {text}"}

        with serving(
            tmp_path, is_open=False, issuer=name, audience="hlgraph", leeway=5.0, documents=DOCUMENTS
        ) as server:
            ask = lambda headers: server.client.get("/v1/corpora", headers=headers)  # noqa: E731
            assert [corpus["name"] for corpus in ask(token()).json()["corpora"]] == ["default"]
            assert ask(token(exp=time.time() - 3)).status_code == 200  # within the leeway
            for refused in (
                token(exp=time.time() - 30),
                token(aud="another"),
                token(iss="http://evil.example"),
                token(kid="two"),
                token(key=ec.generate_private_key(ec.SECP256R1())),
                token(key="x" * 64, algorithm="HS256"),
                token(key=None, algorithm="none"),
                {"authorization": "Bearer a.b.c"},
            ):
                problem(ask(refused), 401)
            assert ask(token(hlgraph_corpora=[])).json() == {"corpora": []}
            who = server.service.principal(token(hlgraph_rights="write")["authorization"].removeprefix("Bearer "))
            assert (who.name, who.groups, who.has("write"), who.has("operate")) == (
                "token:ada",
                ("board",),
                True,
                False,
            )


# Groups


class Tree(dict[str, Any]):
    """A JSON object whose members are attributes, too."""

    __getattr__ = dict.__getitem__


class RestPart:
    """The sources, entities or facts of a caller, over HTTP."""

    def __init__(self, client: TestClient, headers: Mapping[str, str], name: str) -> None:
        self._client, self._headers, self._name = client, headers, name

    def _get(self, path: str, options: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in options.items() if value is not None}
        response = self._client.get(f"/v1/corpora/default/{path}", params=given, headers=self._headers)
        if response.status_code != 200:
            raise InputError(response.json()["detail"])
        assert ("etag" in response.headers) == (path == "communities")  # which is that of the answer
        return response.json()

    def list(self, **options: Any) -> Page[Any]:
        tree = self._get(self._name, options)
        return Page(tuple(Tree(record) for record in tree[self._name]), tree["total"], tree["after"])

    def open(self, name: str, **options: Any) -> Any:
        return self._get(f"{self._name}/{quote(name, safe='')}", options)

    def find(self, **options: Any) -> Any:
        return self._get(self._name, options)

    def map(self, *, k: int, edges: int) -> Any:
        return self._get("map", {"limit": k, "edges": edges})


class RestView:
    """A caller of the leakage kit who asks over HTTP; what comes back has the shape that the kit reads."""

    def __init__(self, client: TestClient, headers: Mapping[str, str]) -> None:
        self._client, self._headers = client, headers

    def _ask(self, route: str, body: dict[str, Any]) -> Any:
        asked = {name: value for name, value in body.items() if value is not None}
        response = self._client.post(f"/v1/corpora/default/{route}", json=asked, headers=self._headers)
        if response.status_code != 200:
            raise InputError(response.json()["detail"])
        return response.json()

    def search(self, question: str, *, explain: bool = False, **options: Any) -> Any:
        tree = self._ask("explain", {"question": question, **options})
        explanation = tree["explanation"]
        parts = {
            name: [SimpleNamespace(**part) for part in explanation[name]]
            for name in ("steps", "seeds", "hops", "paths")
        }
        picture = SimpleNamespace(**explanation["graph"])
        rest = {name: explanation[name] for name in ("round_trips", "version", "calls", "stores")}
        return SimpleNamespace(
            evidence=[_evidence(piece) for piece in tree["evidence"]],
            explain=SimpleNamespace(**parts, **rest, graph=picture),
            communities=(),
            calibration=None,
        )

    @property
    def sources(self) -> RestPart:
        return RestPart(self._client, self._headers, "sources")

    @property
    def entities(self) -> RestPart:
        return RestPart(self._client, self._headers, "entities")

    @property
    def facts(self) -> RestPart:
        return RestPart(self._client, self._headers, "facts")

    @property
    def communities(self) -> RestPart:
        return RestPart(self._client, self._headers, "communities")

    def answer(self, question: str, **options: Any) -> Answer:
        tree = self._ask("answer", {"question": question, **options})
        cited = tuple(Citation(piece["number"], _evidence(piece)) for piece in tree["citations"])
        sentences = msgspec.convert(tree["sentences"], tuple[hlgraph.AnswerSentence, ...])
        return Answer(question, tree["answer"], cited, is_supported=tree["is_supported"], sentences=sentences)


def _evidence(piece: Mapping[str, Any]) -> Evidence:
    named = piece["source"]
    source = Source(named["id"], "default", named["uri"], named["title"], "", named["metadata"])
    kind = {"statement": "statement_id", "summary": "summary_id"}.get(piece["kind"])
    return Evidence(
        piece["text"],
        piece["score"],
        piece["chunk_id"],
        piece["start"],
        piece["end"],
        source,
        why=piece["why"],
        labels=tuple(piece["labels"]),
        rests_on=tuple(_evidence(part) for part in piece["rests_on"]),
        **({kind: piece["id"]} if kind else {}),
    )


class RestGraph:
    """An operator of the leakage kit, whose callers ask over HTTP with keys of their groups."""

    def __init__(self, server: Open) -> None:
        self._server = server
        self.ingest = server.service.graph.ingest
        self.ingestion = server.service.graph.ingestion
        self.corpus = "default"

    def as_caller(self, groups: Any) -> RestView:
        return RestView(self._server.client, self._server.key(groups=sorted(groups)))


@pytest.mark.parametrize("seed", range(cases(1, 12)))
def test_nothing_leaks_over_http(tmp_path: Path, seed: int) -> None:
    numbers = iter(range(100))

    @contextmanager
    def opened() -> Iterator[Any]:
        with serving(tmp_path / str(next(numbers)), is_open=False) as server:
            yield RestGraph(server)

    history = History.of(seed)
    with serving(tmp_path / "own", is_open=False) as server:
        history.run(server.service.graph)
        graph: Any = RestGraph(server)
        calls = [*questions(strategies=("chunk", "path"), modes=("text",), seed=seed), *listings()]
        assert list(leaks(graph, history, opened=opened, calls=calls)) == []


def test_what_lists_a_corpus_with_groups_is_for_who_operates(tmp_path: Path) -> None:
    groups = [replace(DOCUMENTS[0], metadata={"acl": "board"}), DOCUMENTS[1]]
    with serving(tmp_path, is_open=False, documents=groups) as server:
        seen = server.client.get("/v1/corpora/default/map", headers=server.key(groups=["board"])).json()
        assert {node["name"] for node in seen["nodes"]} == {"Mara Quill", "Aldane Bridge", "Bridge"}
        for path in ("stats", "communities", "map", "summaries", "merges"):
            is_recounted = path in ("communities", "map")
            for key in (server.key(), *(() if is_recounted else (server.key(groups=["board"]),))):
                response = server.client.get(f"/v1/corpora/default/{path}", headers=key)
                problem(response, 403)
                assert "etag" not in response.headers
            assert (
                server.client.get(f"/v1/corpora/default/{path}", headers=server.key(rights=("operate",))).status_code
                == 200
            )
        for path, asked in (("search", QUESTION), ("answer", QUESTION), ("sources", None), ("facts/x", None)):
            method = "GET" if asked is None else "POST"
            refused = server.client.request(method, f"/v1/corpora/default/{path}", json=asked, headers=server.key())
            assert "hlgraph keys add --group" in problem(refused, 403)["detail"]
        write = server.key(rights=("write",), groups=["board"])
        for acl, status in (("board", 202), ("public", 403)):
            documents = {"documents": [{"uri": f"new/{acl}", "text": "Ada left Bremen.", "metadata": {"acl": acl}}]}
            assert server.client.post("/v1/corpora/default/ingest", json=documents, headers=write).status_code == status


def test_a_writer_with_groups_changes_and_counts_no_sources_of_others(tmp_path: Path) -> None:
    hidden, own = (replace(each, metadata={"acl": acl}) for each, acl in zip(DOCUMENTS, ("board", "us"), strict=True))
    upload = Document("upload:plan.md", "The plan of the board.", metadata={"acl": "board"})
    with serving(tmp_path, is_open=False, documents=[hidden, own, upload]) as server:
        write = server.key(rights=("write",), groups=["us"])
        given = [(hidden.uri, "Ours."), (own.uri, "Ivo Brandt paid."), ("new", hidden.text)]
        documents = {"documents": [{"uri": uri, "text": text} for uri, text in given]}
        named = {
            "plan.md": b"Our own plan.",
            "other.md": b"---\nacl: us\n---\nAnother plan.",
            "sent.md": b"---\nacl: [board, us]\n---\nA plan for the board.",
            "rows.csv": b"id,text,acl\n1,A row for the board.,board\n2,A row without groups.,\n3,A row of ours.,us\n",
        }
        files = [("files", each) for each in named.items()]
        reports = []
        for body in ({"json": documents}, {"files": files}):
            started = server.client.post("/v1/corpora/default/ingest", headers=write, **body)
            reports.append(server.done(started.headers["location"], headers=write)["report"])
        refused = [hidden.uri, upload.uri, "upload:rows.csv#1", "upload:sent.md"]
        assert sorted(failure["uri"] for report in reports for failure in report["failed"]) == refused
        assert [report["sources"]["added"] for report in reports] == [1, 3]
        assert [report["sources"]["changed"] for report in reports] == [1, 0]
        seen = server.service.graph.as_operator().sources
        for each in (hidden, upload):
            problem(
                server.client.delete(f"/v1/corpora/default/sources/{seen.open(each.uri).source.id}", headers=write), 404
            )
            assert seen.open(each.uri).text == each.text
        removed = server.client.delete(f"/v1/corpora/default/sources/{seen.open('new').source.id}", headers=write)
        reports.append(removed.json()["report"])
        assert reports[-1]["sources"]["removed"] == 1
        assert {name: [report[name] for report in reports] for name in ("added", "removed")} == {  # the graph is shared
            "added": [{}, {}, {}],
            "removed": [{}, {}, {}],
        }


@pytest.mark.parametrize("groups", [["us"], []])
def test_a_source_that_is_deleted_twice_at_once_takes_no_other_with_it(groups: list[str], tmp_path: Path) -> None:
    own, inside = Document("file:///data/notes", "Ours."), Document("file:///data/notes/plan", "The plan of the board.")
    documents = [replace(own, metadata={"acl": "us"}), replace(inside, metadata={"acl": "board"})]
    with serving(tmp_path, is_open=False, documents=documents) as server:
        graph, write = server.service.graph.as_operator(), server.key(rights=("write",), groups=groups)
        path = f"/v1/corpora/default/sources/{graph.sources.open(own.uri).source.id}"
        with ThreadPoolExecutor(3) as threads:
            with graph.ingestion.opened.stores.graph.lock("default"):
                deletions = [threads.submit(server.client.delete, path, headers=write) for _ in range(3)]
                time.sleep(0.3)
            reports = [each.result().json()["report"]["sources"] for each in deletions]
        assert [source.uri for source in graph.sources.list()] == [inside.uri]
        assert sorted(report["removed"] for report in reports) == [0, 0, 1]
        problem(server.client.delete(path, headers=write), 404)


def test_a_source_that_others_close_or_add_during_a_job_is_not_replaced(tmp_path: Path) -> None:
    shared = Document("shared", "Ada Quill left Bremen.", metadata={"acl": ["us", "board"]})
    plans = [replace(shared, uri=uri, metadata={"acl": "board"}) for uri in ("plan", "shared")]
    with serving(tmp_path, is_open=False, documents=[shared], embedder=_Slow()) as server:
        graph, write = server.service.graph, server.key(rights=("write",), groups=["us"])
        given = [{"uri": uri, "text": f"Our {uri} slowly."} for uri in ("plan", "shared", "ours")]
        body = {"documents": given}
        job = server.client.post("/v1/corpora/default/ingest", json=body, headers=write).headers["location"]
        while (server.client.get(job, headers=write).json()["progress"] or {}).get("step") != "embed":
            time.sleep(0.01)
        graph.ingest(plans)
        report = server.done(job, headers=write)["report"]
        assert [failure["uri"] for failure in report["failed"]] == ["plan", "shared"]
        assert (report["sources"]["added"], report["sources"]["changed"]) == (1, 0)
        seen = graph.as_operator().sources
        assert {each.uri: seen.open(each.uri).text for each in plans} == {each.uri: each.text for each in plans}


# Jobs


class _Slow(WordEmbedder):
    """Embeds for seconds, and reports it, as the embedders of models do."""

    def embed(self, texts: Sequence[str]) -> Any:
        for _ in range(100 if any("slowly" in text for text in texts) else 0):
            advance("embed", 0)
            time.sleep(0.02)
        return super().embed(texts)


def test_jobs_run_in_the_order_of_their_requests_if_the_clock_goes_backwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = JobList(StateFile(tmp_path))
    jobs.begin()
    started = []
    for hour in (3, 2, 1):
        monkeypatch.setattr("hlgraph.serve.jobs.now", lambda hour=hour: f"2026-11-29T0{hour}:00:00.000+00:00")
        with jobs.incoming() as folder:
            started.append(jobs.start("default", folder, owner="us", about={}).id)
    assert [job.id for job in jobs.list("default", owner=None, limit=9)] == started[::-1]
    claimed = [jobs.claim(set()) for _ in started]
    assert [claim[0].id for claim in claimed if claim is not None] == started
    jobs.end()


def test_a_job_that_stops_of_the_server_ended_may_be_killed_as_often_as_any(tmp_path: Path) -> None:
    jobs = JobList(StateFile(tmp_path))
    jobs.begin()
    with jobs.incoming() as folder:
        identity = jobs.start("default", folder, owner="us", about={}).id
    for _ in range(4):
        assert jobs.claim(set()) is not None
        jobs.finish(identity, "queued")
    for state in ("queued", "queued", "interrupted"):
        assert jobs.claim(set()) is not None
        jobs.recover()
        job = jobs.find(identity)
        assert job is not None
        assert job.state == state
    jobs.end()


def test_the_last_jobs_are_kept_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_KEPT", 3)
    listed = JobList(StateFile(tmp_path))
    listed.begin()
    started = []
    for number in range(7):
        with listed.incoming() as folder:
            started.append(listed.start("default" if number else "other", folder, owner="us", about={}).id)
    for identity in started[1:]:  # the first one waits
        listed.finish(identity, "done", report={})
    assert [job.id for job in listed.list("default", owner=None, limit=9)] == started[:-4:-1]
    assert [job.state for job in listed.list("other", owner=None, limit=9)] == ["queued"]
    listed.end()


def test_jobs_wait_for_a_lock_that_cannot_be_taken_yet(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "runner.lock"
    lock.mkdir(parents=True)
    with serving(tmp_path) as server:
        documents = {"documents": [{"uri": "a", "text": "Ada left Bremen."}]}
        started = server.client.post("/v1/corpora/new/ingest", json=documents)
        time.sleep(0.1)
        assert server.client.get(started.headers["location"]).json()["state"] == "queued"
        lock.rmdir()
        assert server.done(started.headers["location"])["state"] == "done"


def test_an_ingest_is_a_job_that_is_stored_before_it_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.service.jobs.wake = threading.Event()
        started = server.client.post(
            "/v1/corpora/new/ingest",
            json={"documents": [{"uri": "a", "text": "Ada left Bremen.", "metadata": {"n": [1, 2]}}]},
        )
        stored = JobList(StateFile(tmp_path / "state")).find(started.json()["id"])
        assert stored is not None
        assert started.headers["location"] == f"/v1/jobs/{stored.id}"
        job = server.done(started.headers["location"])
        assert (job["state"], job["report"]["sources"]["added"], job["report"]["failed"]) == ("done", 1, [])
        named = events(server.client.get(f"/v1/jobs/{stored.id}/events").text)
        assert named[-1][0] == "done"
        assert json.loads(named[-1][1]) == job
        assert server.client.get("/v1/corpora/new/jobs").json()["jobs"] == [job]
        assert list((tmp_path / "state" / "jobs").iterdir()) == []


def test_uploaded_files_are_sources_under_their_names(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        files = [
            ("files", ("docs/bridge.md", b"# Bridge\n\nMara Quill designed the Aldane Bridge.")),
            ("files", ("people.csv", b"id,text\n7,Petra Voss left Gannow.\n8,Ivo Brandt left Gannow.\n")),
            ("files", ("broken.pdf", b"%PDF-1.4 nothing")),
        ]
        started = server.client.post("/v1/corpora/default/ingest", files=files, data={"options": '{"acl": ["public"]}'})
        job = server.done(started.headers["location"])
        assert job["report"]["sources"]["added"] == 3
        assert [failure["uri"] for failure in job["report"]["failed"]] == ["upload:broken.pdf"]
        assert str(tmp_path) not in json.dumps(job)
        found = server.client.post(
            "/v1/corpora/default/search", json=QUESTION, headers=server.key(groups=["public"])
        ).json()
        assert {piece["source"]["uri"] for piece in found["evidence"]} == {
            "upload:docs/bridge.md",
            "upload:people.csv#7",
            "upload:people.csv#8",
        }
        operator = server.key(rights=("operate",))
        (source,) = {piece["source"]["id"] for piece in found["evidence"] if piece["source"]["uri"].endswith(".md")}
        gone = server.client.delete(f"/v1/corpora/default/sources/{source}", headers=operator)
        assert gone.json()["report"]["sources"]["removed"] == 1
        for wrong in ({}, {"files": ("..", b"x")}, {"other": ("a.md", b"x")}):
            problem(
                server.client.post("/v1/corpora/default/ingest", files=wrong or None, headers=operator),
                415 if not wrong else 400,
            )


@pytest.mark.parametrize("end", ["\r\n--b--\r\n", "\r\n--b--", "\r\n--b\r\n", "\r\n--b", "\r\n", ""])
def test_a_form_that_has_no_end_or_says_two_things_starts_no_job(end: str, tmp_path: Path) -> None:
    part = "--b\r\nContent-Disposition: form-data; name="
    files = [f'{part}"files"; filename="{name}.md"\r\n\r\nAda left Bremen.' for name in "ab"]
    options = [f'{part}"options"\r\n\r\n{{"acl": ["{group}"]}}' for group in ("us", "public")]
    header = {"content-type": "multipart/form-data; boundary=b"}
    with serving(tmp_path) as server:
        for parts in (files, [*files, options[0]], [files[0], *options]):
            body = "\r\n".join(parts) + end
            sent = server.client.post("/v1/corpora/default/ingest", content=body, headers=header)
            if end.endswith(("--", "--\r\n")) and parts[-1] is not options[1]:
                assert server.done(sent.headers["location"])["state"] == "done"
            else:
                assert re.search("no end|Invalid|came twice", problem(sent, 400)["detail"])
        assert len(server.client.get("/v1/corpora/default/jobs").json()["jobs"]) == 2 * end.endswith(("--", "--\r\n"))


def test_a_write_with_a_key_of_its_own_is_done_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        body = {"documents": [{"uri": "a", "text": "Ada left Bremen."}]}
        once = {"idempotency-key": "first"}
        first = server.client.post("/v1/corpora/default/ingest", json=body, headers=once)
        again = server.client.post("/v1/corpora/default/ingest", json=body, headers=once)
        assert (again.status_code, again.content, again.headers["idempotent-replayed"]) == (202, first.content, "true")
        problem(server.client.post("/v1/corpora/default/ingest", json={**body, "options": {}}, headers=once), 400)
        problem(server.client.post("/v1/corpora/default/ingest", json=body, headers={"idempotency-key": "a b"}), 400)
        assert len(server.client.get("/v1/corpora/default/jobs").json()["jobs"]) == 1
        server.done(first.headers["location"])
        refused = server.client.delete(f"/v1/corpora/default/merges/{'0' * 32}", headers={"idempotency-key": "second"})
        problem(refused, 404)
        problem(
            server.client.delete(f"/v1/corpora/default/merges/{'0' * 32}", headers={"idempotency-key": "second"}), 404
        )


def test_paths_are_read_under_the_roots_of_the_operator_only(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "a.md").write_text("Ada left Bremen.")
    (root / "link").symlink_to(outside)
    with serving(tmp_path, roots=(str(root), "s3://docs/in")) as server:
        for path in (
            str(outside / "a.md"),
            str(root / "link" / "a.md"),
            str(root / ".." / "outside" / "a.md"),
            f"{root}/*.md",
            f"{root}2/a.md",
            "a.md",
            "-",
            "sql:x",
            "s3://docs/inner",
            "s3://docs/in/../out",
            "s3://other/in",
        ):
            refused = problem(server.client.post("/v1/corpora/default/ingest", json={"paths": [path]}), 403)
            assert "root" in refused["detail"]
        started = server.client.post("/v1/corpora/default/ingest", json={"paths": [str(root / "a.md")]})
        assert server.done(started.headers["location"])["report"]["sources"]["added"] == 1
        key = server.key(rights=("read", "write"), groups=["board"])
        body = {"paths": [str(root / "a.md")]}
        refused = problem(server.client.post("/v1/corpora/default/ingest", json=body, headers=key), 403)
        assert "may not name paths of the server" in refused["detail"]


def test_a_job_is_cancelled_and_a_locked_store_is_waited_for(tmp_path: Path) -> None:
    body = {"documents": [{"uri": "a", "text": "Ada left Bremen."}]}
    with serving(tmp_path, documents=DOCUMENTS) as server:
        with server.service.graph.ingestion.opened.stores.graph.lock("default"):
            first = server.client.post("/v1/corpora/default/ingest", json=body).headers["location"]
            second = server.client.post("/v1/corpora/default/ingest", json=body).headers["location"]
            assert server.client.post(f"{second}/cancel").json()["state"] == "cancelled"
            for _ in range(200):
                if server.client.get(first).json()["state"] == "running":
                    break
                time.sleep(0.02)
            server.client.post(f"{first}/cancel")
            assert server.done(first)["state"] == "cancelled"
        third = server.client.post("/v1/corpora/default/ingest", json=body).headers["location"]
        assert server.done(third)["state"] == "done"
        assert server.client.post(f"{third}/cancel").json()["state"] == "done"


def test_a_job_that_embeds_is_cancelled_or_begins_again_with_the_server(tmp_path: Path) -> None:
    bodies = [{"documents": [{"uri": uri, "text": f"Ada {uri} left Bremen slowly."}]} for uri in "ab"]
    with serving(tmp_path, embedder=_Slow()) as server:
        jobs = [server.client.post("/v1/corpora/default/ingest", json=body).headers["location"] for body in bodies]
        for job in jobs:
            while (server.client.get(job).json()["progress"] or {}).get("step") != "embed":
                assert server.client.get(job).json()["state"] in ("queued", "running")
            if job == jobs[0]:
                server.client.post(f"{job}/cancel")
                assert server.done(job)["state"] == "cancelled"
    with serving(tmp_path) as server:
        job = server.done(jobs[1])
        assert (job["state"], job["attempts"], job["report"]["sources"]["added"]) == ("done", 1, 1)
        assert [source["uri"] for source in server.client.get("/v1/corpora/default/sources").json()["sources"]] == ["b"]


def test_the_end_of_a_job_waits_for_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish, failures = JobList.finish, ["finish", "finish", "note"]

    def full(*_: Any, **__: Any) -> None:
        if failures:
            failures.pop()
            raise StoreUnavailableError("no space left on device")

    def finished(*args: Any, **values: Any) -> None:
        full()
        finish(*args, **values)

    monkeypatch.setattr(JobList, "note", full)
    monkeypatch.setattr(JobList, "finish", finished)
    monkeypatch.setattr(jobs, "_LOOK_SECONDS", 0.02)
    with serving(tmp_path, documents=DOCUMENTS) as server:
        body = {"documents": [{"uri": "a", "text": "Ada left Bremen."}]}
        started = server.client.post("/v1/corpora/default/ingest", json=body)
        assert server.done(started.headers["location"])["report"]["sources"]["added"] == 1
        assert failures == []


def test_a_job_that_kills_its_server_again_and_again_is_interrupted(tmp_path: Path) -> None:
    state = StateFile(tmp_path)
    jobs = JobList(state)
    jobs.begin()
    with jobs.incoming() as folder:
        job = jobs.start("default", folder, owner="local", about={})
    for _ in range(3):
        assert jobs.claim(set()) is not None
        jobs.recover()
    ended = jobs.find(job.id)
    assert ended is not None
    assert ended.state == "interrupted"
    assert ended.problem is not None
    assert ended.problem["mend"].startswith("send what it was given again")
    assert list((tmp_path / "jobs").iterdir()) == []
    jobs.end()
    state.close()


# The interface of OpenAI


def test_tasks_of_open_webui_are_answered_without_a_search(notes: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes.service, "answer", lambda *_, **__: pytest.fail("a task was searched"))
    task = '### Task:\nSuggest {} for the chat.\n### Output:\nJSON format: {{ "{}": [] }}\n<chat_history>\nUSER: Who built it?\n'
    task += 'ASSISTANT: See {{"title": "A", "tags": [], "text": "B"}}.\n'
    for name, expected in (("title", "Who built it?"), ("tags", []), ("follow_ups", []), ("queries", [])):
        message = {"role": "user", "content": task.format(name, name)}
        reply = notes.client.post("/v1/chat/completions", json={"model": "default", "messages": [message]}).json()
        assert json.loads(reply["choices"][0]["message"]["content"]) == {name: expected}


# The document of the routes


def test_the_examples_are_what_the_classes_take_and_give() -> None:
    for name, example in {**shapes.EXAMPLES, **completions.EXAMPLES}.items():
        assert type(example).__name__ == name
        assert msgspec.convert(msgspec.to_builtins(example), type(example)) == example


def test_the_document_describes_every_route_with_examples(notes: Open) -> None:
    document = notes.client.get("/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    served = {
        (method.lower(), route.path.replace(":path", ""))
        for route in notes.client.app.routes  # type: ignore[attr-defined]
        for method in getattr(route, "methods", ())
        if method != "HEAD" and route.path.startswith("/v1/") and route.path != "/v1/openapi.json"
    }
    described = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert described == served
    for methods in document["paths"].values():
        for operation in methods.values():
            contents = [response.get("content", {}) for response in operation["responses"].values()]
            contents.append(operation.get("requestBody", {}).get("content", {}))
            assert all(media["example"] for content in contents for media in content.values()), operation["operationId"]


def test_every_parameter_has_an_example_that_its_route_takes(notes: Open) -> None:
    """Each alone, beside those that are needed; a record of another id is unknown, and the notes keep no history."""
    document = notes.client.get("/v1/openapi.json").json()
    asked = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parameters = operation["parameters"]
            for each in parameters:
                jsonschema.validate(each["example"], each["schema"])
                assert each["example"] is not None
            where, names = path, [each for each in parameters if each["in"] == "path"]
            for each in names:
                where = where.replace(f"{{{each['name']}}}", quote(each["example"]))
            queries = [each for each in parameters if each["in"] == "query"]
            needed = {each["name"]: each["example"] for each in queries if each["required"]}
            for each in queries:
                response = notes.client.request(method, where, params=needed | {each["name"]: each["example"]})
                expected = (400,) if each["name"] == "as_of" else (200, 404) if needed or len(names) > 1 else (200,)
                assert response.status_code in expected, (path, each["name"], response.text)
                assert response.status_code != 400 or "keeps no history" in response.text
                asked.add(each["name"])
    assert asked >= {"limit", "where", "after", "name", "from", "to", "hops", "level", "verdict", "entity", "community"}


def test_clients_of_openai_may_add_parameters_of_proxies(notes: Open) -> None:
    """OpenAI ignores what it does not know; other routes refuse it."""
    for path in ("models", "models/default"):
        assert notes.client.get(f"/v1/{path}", params={"api-version": "2024-10-21"}).status_code == 200
    chat = {"model": "default", "messages": [{"role": "user", "content": QUESTION["question"]}]}
    for more in ({}, {"stream": True}):
        response = notes.client.post("/v1/chat/completions?api-version=2024-10-21&api-version=x", json=chat | more)
        assert response.status_code == 200
    assert "leave it out" in problem(notes.client.post("/v1/corpora/default/search?a=1", json=QUESTION), 400)["detail"]


def test_a_problem_names_routes_and_no_command(notes: Open) -> None:
    for kind, mend in (
        ("sources", "GET /v1/corpora/CORPUS/sources lists them"),
        ("entities", "GET /v1/corpora/CORPUS/entities lists them"),
        ("facts", "GET /v1/corpora/CORPUS/entities/ENTITY lists those of an entity"),
    ):
        found = problem(notes.client.get(f"/v1/corpora/default/{kind}/{'0' * 32}"), 404)
        assert found["mend"] == mend
        assert found["detail"].endswith(mend)


def test_no_request_that_the_document_allows_breaks_the_server(tmp_path: Path) -> None:
    import hypothesis
    import requests
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    with serving(tmp_path, documents=DOCUMENTS, max_seconds=20.0) as server:
        schema = schemathesis.openapi.from_dict(server.client.get("/v1/openapi.json").json())
        checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
        statuses: dict[int, int] = {}

        def check(case: schemathesis.Case) -> None:
            if "corpus" in (case.path_parameters or {}):
                case.path_parameters["corpus"] = "default"  # any other is unknown
            # Its values are those of requests; for some forms httpx has none.
            sent = requests.Request(**case.as_transport_kwargs(base_url=URL)).prepare()
            response = server.client.request(
                str(sent.method), str(sent.url), headers=dict(sent.headers), content=sent.body
            )
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
            case.validate_response(response, checks=checks)

        few = hypothesis.settings(
            max_examples=cases(3, 300), deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        for result in schema.get_all_operations():
            operation = result.ok()
            if operation.path.endswith("/events"):
                continue  # which end with their job
            strategy = operation.as_strategy()
            few(hypothesis.given(case=strategy)(check))()
        assert statuses.get(200, 0) > 9
        assert not [status for status in statuses if status >= 500]


# The audit


def test_the_audit_names_who_did_what_and_no_text(tmp_path: Path) -> None:
    with serving(tmp_path, documents=DOCUMENTS) as server:
        answer = server.client.post("/v1/corpora/default/answer", json=QUESTION, headers={"x-request-id": "r-1"}).json()
        server.client.post("/v1/corpora/default/answer", json=QUESTION, headers={"accept": "text/event-stream"})
        server.client.delete(f"/v1/corpora/default/sources/{answer['citations'][0]['source']['id']}")
        text = (tmp_path / "state" / "audit.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["who"], line["what"], line["corpus"]) for line in lines] == [
        ("local", "answer", "default"),
        ("local", "answer", "default"),
        ("local", "delete", "default"),
    ]
    assert lines[0]["ids"] == [piece["id"] for piece in answer["citations"]]
    assert lines[0]["request"] == "r-1"
    assert "Aldane" not in text
    assert "Bridge" not in text


def test_every_route_says_of_hidden_records_what_it_says_of_none(tmp_path: Path) -> None:
    """By id, name and filter, and on the paths between entities: status, body and headers of a store without the hidden source."""
    shown = Document("doc:open", "Ada met Una. Ada built the Mill.", metadata={"acl": "public"})
    hidden = Document(
        "doc:board", "Ada met Edda. Edda owns the Forge. Una sold the Forge.", metadata={"acl": "board", "k": 1}
    )
    with (
        serving(tmp_path / "all", is_open=False, documents=[shown, hidden]) as own,
        serving(tmp_path / "alone", is_open=False, documents=[shown]) as alone,
    ):
        keys = [(server.client, server.key(groups=["public"])) for server in (own, alone)]

        def said(path: str, **body: Any) -> tuple[object, ...]:
            seen = []
            for client, key in keys:
                where = f"/v1/corpora/default/{path}"
                response = client.post(where, json=body, headers=key) if body else client.get(where, headers=key)
                tree = json.loads(response.text, parse_float=lambda number: round(float(number), 4))
                named = {403: ("id", "detail"), 404: ("id",), 422: ("id",)}.get(response.status_code, ("seconds",))
                tree = {name: part for name, part in tree.items() if name not in named}
                text = re.sub(r'"valid_from": "[^"]*"|"milliseconds": [0-9.e-]+', "", json.dumps(tree, sort_keys=True))
                seen.append((response.status_code, text, sorted(response.headers)))
            assert seen[0] == seen[1], path
            return seen[0]

        store = own.service.graph.ingestion.opened.stores.graph
        names = [record.name for record in store.find(Kind.ENTITY, Scope("default")) if isinstance(record, Entity)]
        assert len(names) >= 4
        ids = [
            record.id for kind in (Kind.SOURCE, Kind.ENTITY, Kind.FACT) for record in store.find(kind, Scope("default"))
        ]
        lists = ("sources", "entities", "facts")
        codes = {
            said(f"{part}/{quote(name, safe='')}")[0]
            for part in lists
            for name in (*ids, *names, "doc:board", "doc:none")
        }
        assert codes == {200, 404}
        for part in (*lists, *(f"{part}?where=k=1" for part in lists), *(f"{part}?limit=1" for part in lists)):
            said(part)
        for path in ("stats", "summaries", "merges", "jobs"):
            assert said(path)[0] == 403
        for path in ("communities", "map", "map?limit=2&edges=1"):
            assert said(path)[0] == 200
        for one, other in itertools.permutations(names, 2):
            said(f"path?from={quote(one)}&to={quote(other)}")
        for route, where in itertools.product(("search", "answer"), (None, "k = 1", "none = 1")):
            said(route, question="Who owns the Forge that Una sold?", **({"where": where} if where else {}))
