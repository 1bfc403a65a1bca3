"""The server as a process: the client of OpenAI, events on the wire, several workers, slow clients, and a kill during ingests."""

from __future__ import annotations

import json
import random
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from server_process import ServerProcess, running

from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph, connect
from hlgraph.testing.corpus import snapshot

pytestmark = pytest.mark.model
QUESTION = "Who designed the Aldane Bridge?"
NOTES = [{"uri": "notes/bridge", "text": "Mara Quill designed the Aldane Bridge in 1931.", "title": "Bridge"}]
JOBS = [
    [
        {"uri": f"notes/{job}-{number}", "text": f"Ada {job} left Bremen {number}. She built the mill of {job}."}
        for number in range(3)
    ]
    for job in range(20)
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running(tmp_path_factory.mktemp("serve"), "--workers", "2") as server:
        assert server.done(server.ingest("default", NOTES))["state"] == "done"
        yield server


def test_the_client_of_openai_works_unchanged(server: ServerProcess) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0)
    assert "default" in [model.id for model in client.models.list()]
    assert client.models.retrieve("default/chunk").owned_by == "hlgraph"
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="default", messages=messages, temperature=0.1, n=1)  # type: ignore[arg-type]
    message = whole.choices[0].message
    assert message.content is not None
    assert "Mara Quill" in message.content
    assert message.annotations is not None
    cited = message.annotations[0].url_citation
    assert (cited.url, message.content[cited.start_index : cited.end_index]) == ("notes/bridge", "[1]")
    assert whole.usage is not None
    assert whole.usage.total_tokens > 0
    assert whole.model_extra is not None
    assert whole.model_extra["citations"] == ["notes/bridge"]
    chunks = list(
        client.chat.completions.create(
            model="default",
            messages=messages,  # type: ignore[arg-type]
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    messages += [
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": "When was it designed?"},
    ]
    further = client.chat.completions.create(model="default", messages=messages)  # type: ignore[arg-type]
    assert further.model_extra is not None
    assert further.model_extra["hlgraph"]["question"] == "When was the Aldane Bridge designed?"
    with pytest.raises(openai.NotFoundError, match="there is no corpus 'nowhere'"):
        client.chat.completions.create(model="nowhere", messages=messages)  # type: ignore[arg-type]


def test_events_come_one_by_one(server: ServerProcess) -> None:
    names = []
    route = f"{server.url}/v1/corpora/default/answer"
    with httpx.stream("POST", route, json={"question": QUESTION}, headers={"accept": "text/event-stream"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        names = [line.removeprefix("event: ") for line in stream.iter_lines() if line.startswith("event: ")]
    assert names == ["plan", "evidence", "text", "sentence", "citation", "done"]


def test_a_client_that_goes_away_ends_nothing_else(server: ServerProcess) -> None:
    address = urlsplit(server.url)
    body = json.dumps({"question": QUESTION})
    head = f"POST /v1/corpora/default/answer HTTP/1.1\r\nhost: {address.netloc}\r\ncontent-type: application/json\r\n"
    for sent in (head, f"{head}content-length: 500\r\n\r\n{{", f"{head}content-length: {len(body)}\r\n\r\n{body}"):
        with socket.create_connection((str(address.hostname), int(address.port or 0))) as connection:
            connection.sendall(sent.encode())
    assert httpx.post(f"{server.url}/v1/corpora/default/answer", json={"question": QUESTION}).status_code == 200


def test_workers_share_jobs_and_metrics(server: ServerProcess) -> None:
    for _ in range(8):  # each on a connection of its own, to any worker
        location = server.ingest("default", NOTES)
        assert server.done(location)["report"]["sources"]["unchanged"] == 1
    text = httpx.get(f"{server.url}/v1/metrics").text
    counts = re.findall(
        r'hlgraph_requests_total\{.*route="/v1/corpora/\{corpus\}/ingest",status="202"\} ([\d.]+)', text
    )
    assert sum(map(float, counts)) >= 8


def test_a_server_that_is_killed_during_ingests_ends_as_one_that_was_not(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        locations = [server.ingest("default", documents) for documents in JOBS]
        time.sleep(random.uniform(0.1, 1.0))
        server.kill()
    assert list((tmp_path / "state" / "incoming").iterdir()) != []  # what the next server removes
    with running(tmp_path) as server:
        jobs = [server.done(location) for location in locations]
        assert [job["state"] for job in jobs] == ["done"] * len(JOBS)
        assert max(job["attempts"] for job in jobs) <= 2
        again = [server.done(server.ingest("default", documents)) for documents in JOBS[:3]]
        assert [job["report"]["sources"] for job in again] == [_unchanged(3)] * 3, again
    assert list((tmp_path / "state" / "jobs").iterdir()) == []
    assert list((tmp_path / "state" / "incoming").iterdir()) == []
    with connect(f"hlgraph://{tmp_path}/store") as killed, connect(f"hlgraph://{tmp_path}/never") as never:
        never.ingest([Document(each["uri"], each["text"]) for documents in JOBS for each in documents])
        assert _content(killed) == _content(never)


def _unchanged(count: int) -> dict[str, int]:
    return {"added": 0, "changed": 0, "unchanged": count, "removed": 0, "gone": 0}


def _content(graph: HLGraph) -> object:
    return snapshot(graph.ingestion.opened.stores, "default")
