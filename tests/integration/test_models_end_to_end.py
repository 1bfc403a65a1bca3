"""The whole way with models of providers: the command line and the SDK, by HTTP, to cited answers and back to a clean store."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from command_line import Done, call
from provider_wires import CHATS, KEYS, QUESTION, WIRES, Waits, Wire
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import hlgraph
from hlgraph.errors import ModelAccessError, ModelFilterError, ModelMismatchError
from hlgraph.models.choose import chat_named
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_WORDS = WordEmbedder(16)


class _Provider:
    """Speaks OpenAI's chat and embeddings and Cohere's rerank; counts what it is asked."""

    def __init__(self, server: HTTPServer) -> None:
        self.asked: Counter[str] = Counter()
        self.texts = 0
        self.url = server.url_for("").rstrip("/")
        server.expect_request("/v1/embeddings").respond_with_handler(self._embed)
        server.expect_request("/v1/chat/completions").respond_with_handler(self._chat)
        server.expect_request("/v2/rerank").respond_with_handler(self._rerank)

    def _embed(self, request: Request) -> Response:
        tree = self._tree(request, "embed")
        texts = tree["input"] if isinstance(tree["input"], list) else [tree["input"]]
        self.texts += len(texts)
        data = [{"object": "embedding", "index": at, "embedding": [3 * x for x in row.tolist()]}
                for at, row in enumerate(_WORDS.embed(texts))]  # fmt: skip
        return _json(
            {"object": "list", "data": data, "model": tree["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        )

    def _chat(self, request: Request) -> Response:
        system = self._tree(request, "chat")["messages"][0]["content"]
        said = "Mara Quill designed it [1]. She was tall."
        if system.startswith("You list"):
            said = '{"entities": [{"name": "Mara Quill", "kind": "person"}]}'
        elif system.startswith("You rewrite"):
            said = '{"propositions": [{"text": "Mara Quill designed the Aldane Bridge.", "entities": ["Mara Quill"]}]}'
        message = {"role": "assistant", "content": said}
        return _json({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                      "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                      "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})  # fmt: skip

    def _rerank(self, request: Request) -> Response:
        documents = self._tree(request, "rerank")["documents"]
        scores = [
            {"index": at, "relevance_score": 0.9 if "Tessing" in text else 0.1} for at, text in enumerate(documents)
        ]
        return _json({"id": "1", "results": scores})

    def _tree(self, request: Request, what: str) -> Any:
        self.asked[what] += 1
        return json.loads(request.get_data())


def _json(tree: object) -> Response:
    return Response(json.dumps(tree), content_type="application/json")


@pytest.fixture
def provider(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("CO_API_KEY", "test")
    yield _Provider(httpserver)
    httpserver.check_handler_errors()


def _settings(folder: Path, provider: _Provider, **names: str) -> Settings:
    models = ModelSettings(
        cache=str(folder / "cache"),
        embedder="openai:words",
        embedder_url=f"{provider.url}/v1",
        chat_url=f"{provider.url}/v1",
        reranker_url=provider.url,
        **names,
    )
    return Settings(store=f"hlgraph://{folder}/store", models=models)


def test_embedding_and_reranking_by_a_provider(tmp_path: Path, provider: _Provider) -> None:
    with hlgraph.connect(_settings(tmp_path, provider, reranker="cohere:r")) as graph:
        graph.ingest(DOCUMENTS)
        stats = graph.stats()[0]
        assert (stats.embedding, stats.dimensions) == ("openai:words", 16)
        found = graph.search("Who designed the Aldane Bridge?", strategy="statement")
        assert "Tessing" in found.evidence[0].text
        assert found.evidence[0].why["rerank"] == pytest.approx(0.9)
        assert provider.asked["rerank"] == 1
        once = graph.search("Who designed the Aldane Bridge?", strategy="chunk", k=1).evidence[0]
        assert once.source.uri == "doc:bridge"
    before = provider.texts
    with hlgraph.connect(_settings(tmp_path, provider)) as graph:
        # In a new process the vectors of texts and questions come from the cache; only their length is asked for.
        assert graph.search("Who designed the Aldane Bridge?", strategy="chunk", k=1).evidence[0] == once
        assert graph.ingest(DOCUMENTS).sources_unchanged == 4
        assert provider.texts == before + 1
        graph.search("Another question", strategy="chunk", k=1)
    with hlgraph.connect(_settings(tmp_path, provider)) as graph:
        before = provider.texts
        graph.search("A third question", strategy="chunk", k=1)
        assert provider.texts == before + 1


def test_a_corpus_of_another_model_is_refused(tmp_path: Path, provider: _Provider) -> None:
    with hlgraph.connect(_settings(tmp_path, provider), embedder=_WORDS) as graph:
        graph.ingest(DOCUMENTS)
    with (
        hlgraph.connect(_settings(tmp_path, provider)) as graph,
        pytest.raises(ModelMismatchError, match="openai:words"),
    ):
        graph.search("bridge")


def test_a_wrong_key_stops_an_ingest_before_anything_is_stored(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    httpserver.expect_request("/v1/embeddings").respond_with_json({"error": {"message": "bad key"}}, status=401)
    models = ModelSettings(cache=str(tmp_path), embedder="openai:words", embedder_url=httpserver.url_for("/v1"))
    with hlgraph.connect(Settings(store=f"hlgraph://{tmp_path}/s", models=models)) as graph:
        with pytest.raises(ModelAccessError, match=r"openai:words: the provider answered 401 \(bad key\)"):
            graph.ingest(DOCUMENTS)
        assert graph.stats() == () or not graph.stats()[0].records.get("source")


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire.reply in CHATS], ids=lambda wire: wire.name)
def test_every_provider_says_that_a_reply_was_cut_off_or_filtered(
    wire: Wire, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    reasons = {
        "finish_reason": ("stop", "length", "content_filter"),
        "stop_reason": ("end_turn", "max_tokens", "refusal"),
        "stopReason": ("end_turn", "max_tokens", "guardrail_intervened"),
        "done_reason": ("stop", "length", "content_filter"),
    }
    kind = 1

    def serve(request: Request) -> Response:
        text = json.dumps(wire.reply(json.loads(request.get_data())))
        for name, said in reasons.items():
            text = text.replace(f'"{name}": "{said[0]}"', f'"{name}": "{said[kind]}"')
        return Response(text, content_type="application/json")

    httpserver.expect_request(wire.path).respond_with_handler(serve)
    chat = chat_named(wire.name, wire.connection(httpserver, Waits()))
    reply = chat.complete("Be short.", QUESTION, max_tokens=77)
    httpserver.check_handler_errors()
    assert (reply.text, reply.is_cut) == ("Mara Quill.", True)
    kind = 2
    with pytest.raises(ModelFilterError, match=f"{wire.name}: the content filter of the provider stopped the reply"):
        chat.complete("Be short.", QUESTION, max_tokens=77)


def _call(folder: Path, provider: _Provider, *arguments: str, **more: str) -> Done:
    environment = {
        "HLGRAPH_STORE": f"hlgraph://{folder}/store",
        "HLGRAPH_CACHE": str(folder / "cache"),
        "HLGRAPH_CHAT": "openai:m",
        "HLGRAPH_CHAT_URL": f"{provider.url}/v1",
        "HLGRAPH_EMBEDDER": "openai:words",
        "HLGRAPH_EMBEDDER_URL": f"{provider.url}/v1",
        **more,
    }
    # A process of its own would import the clients of the providers each time: three seconds.
    with mock.patch.dict(os.environ, environment):
        return call(*arguments)


def test_the_command_line_extracts_and_answers(tmp_path: Path, provider: _Provider) -> None:
    (tmp_path / "bridge.md").write_text("# Aldane Bridge\n\nIt was designed by Mara Quill.\n")
    run = _call(tmp_path, provider, "ingest", str(tmp_path / "bridge.md"), "--extract", "chat", "--json")
    assert run.code == 0, run.err
    report = json.loads(run.out)
    assert report["statements"]["added"] == 1
    assert report["usage"] == {"calls": 2, "input_tokens": 14, "output_tokens": 6, "left_out": 0, "kept": 0}
    again = _call(tmp_path, provider, "ingest", str(tmp_path / "bridge.md"), "--extract", "chat")
    assert "chat model: 0 calls, 0 tokens in, 0 out" in again.out
    run = _call(tmp_path, provider, "answer", "Who designed the Aldane Bridge?", "--json")
    answer = json.loads(run.out)
    assert (answer["answer"], answer["is_supported"]) == ("Mara Quill designed it [1]. She was tall.", True)
    assert answer["uncited"] == ["She was tall."]
    assert answer["citations"][0]["source"]["title"] == "Aldane Bridge"
    run = _call(tmp_path, provider, "answer", "Who designed the Aldane Bridge?")
    assert "not cited, so not shown to be in the corpus: She was tall." in run.out


def test_a_model_that_is_none_is_bad_input(tmp_path: Path, provider: _Provider) -> None:
    run = _call(tmp_path, provider, "stats", HLGRAPH_CHAT="nobody:m")
    assert run.code == 0
    (tmp_path / "a.txt").write_text("A text.")
    run = _call(
        tmp_path, provider, "ingest", str(tmp_path / "a.txt"), "--extract", "chat", "--json", HLGRAPH_CHAT="nobody:m"
    )
    assert run.code == 2
    assert "write provider:model with one of the providers anthropic, bedrock, ollama, openai" in run.err
    run = _call(tmp_path, provider, "config", HLGRAPH_CHAT_URL="https://me:secret@host/v1")
    assert run.code == 2
    assert "secret" not in run.err + run.out
