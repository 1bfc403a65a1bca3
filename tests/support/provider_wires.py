"""Local HTTP servers that speak the wire formats of providers, and how each is asked through our seams."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from hlgraph.models.calls import Patience
from hlgraph.models.choose import Connection, chat_named, embedder_named, reranker_named

KEY = "sk-test-0123456789abcdefghij"
KEYS = {
    **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CO_API_KEY", "AWS_SECRET_ACCESS_KEY"), KEY),
    "AWS_ACCESS_KEY_ID": "AKIA0123456789ABCDEF",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
QUESTION = "Who built the bridge?"
TEXTS = ["The bridge was built by Mara Quill.", "", "It rained."]
_Tree = Mapping[str, Any]


@dataclass
class Waits:
    """Records instead of waiting."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@dataclass(frozen=True)
class Wire:
    """One provider's format for one kind of model.

    ``check`` does a whole call of a named model through the seam and checks the answer; ``reply`` is the good answer to a request.
    """

    name: str
    path: str
    check: Callable[[str, Connection], None]
    reply: Callable[[_Tree], Any]
    prefix: str = ""

    def ask(self, connection: Connection) -> None:
        self.check(self.name, connection)

    def connection(self, server: HTTPServer, waits: Waits, *, timeout: float = 5.0, calls: int = 3) -> Connection:
        url = server.url_for("/").rstrip("/") + self.prefix
        patience = Patience(calls=calls, sleep=waits)
        return Connection(url=url, region="eu-west-1", timeout=timeout, patience=patience)

    def good(self, request: Request) -> Response:
        return Response(json.dumps(self.reply(json.loads(request.get_data()))), content_type="application/json")


def _check_chat(name: str, connection: Connection) -> None:
    reply = chat_named(name, connection).complete("Be short.", QUESTION, max_tokens=77)
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.is_cut) == ("Mara Quill.", 21, 4, False)


def _check_embedder(name: str, connection: Connection) -> None:
    embedder = embedder_named(name, connection)
    vectors = embedder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((3, 4), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for text, vector in zip(TEXTS, vectors, strict=True):
        expected = np.array(direction(text or " "))
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert embedder.embed_question(QUESTION).shape == (4,)
    assert (embedder.dimensions, embedder.fingerprint) == (4, name)
    assert embedder.embed([]).shape == (0, 4)


def _check_reranker(name: str, connection: Connection) -> None:
    reranker = reranker_named(name, connection)
    np.testing.assert_allclose(reranker.rerank(QUESTION, TEXTS), [0.9, 0.1, 0.2])
    assert reranker.fingerprint == name
    assert reranker.rerank(QUESTION, []).shape == (0,)


def direction(text: str) -> list[float]:
    """A vector that is a function of the text, of any length."""
    return [1.0, float(len(text)), float(sum(map(ord, text)) % 97), -2.0]


def _openai_chat(request: _Tree) -> Any:
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["messages"][1]["content"] == QUESTION
    assert request["max_completion_tokens"] == 77
    assert "temperature" not in request
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Mara Quill."}}
    usage = {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25}
    common = {"id": "c1", "object": "chat.completion", "created": 1, "model": request["model"]}
    return {**common, "choices": [choice], "usage": usage}


def _openai_embeddings(request: _Tree) -> Any:
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    assert all(text for text in texts)
    rows = [{"object": "embedding", "index": at, "embedding": direction(text)} for at, text in enumerate(texts)]
    return {"object": "list", "data": rows, "model": request["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _anthropic(request: _Tree) -> Any:
    assert (request["system"], request["max_tokens"]) == ("Be short.", 77)
    common = {"id": "m1", "type": "message", "role": "assistant", "model": request["model"], "stop_reason": "end_turn"}
    content = [{"type": "text", "text": "Mara Quill."}]
    return {**common, "content": content, "usage": {"input_tokens": 21, "output_tokens": 4}}


def _ollama_chat(request: _Tree) -> Any:
    assert request["options"]["num_predict"] == 77
    common = {"model": request["model"], "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
    message = {"role": "assistant", "content": "Mara Quill."}
    return {**common, "message": message, "prompt_eval_count": 21, "eval_count": 4}


def _ollama_embed(request: _Tree) -> Any:
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    return {"model": request["model"], "embeddings": [direction(text) for text in texts]}


def _cohere_vectors(request: _Tree) -> list[list[float]]:
    is_question = request["texts"] == [QUESTION]
    assert request["input_type"] == ("search_query" if is_question else "search_document")
    return [direction(text) for text in request["texts"]]


def _cohere_embed(request: _Tree) -> Any:
    assert request["embedding_types"] == ["float"]
    return {"id": "e1", "texts": request["texts"], "embeddings": {"float": _cohere_vectors(request)}}


def _cohere_rerank(request: _Tree) -> Any:
    assert (request["query"], len(request["documents"])) == (QUESTION, 3)
    scores = ((0, 0.9), (2, 0.2), (1, 0.1))
    return {"id": "r1", "results": [{"index": at, "relevance_score": score} for at, score in scores]}


def _converse(request: _Tree) -> Any:
    assert request["system"] == [{"text": "Be short."}]
    assert request["inferenceConfig"]["maxTokens"] == 77
    output = {"message": {"role": "assistant", "content": [{"text": "Mara Quill."}]}}
    usage = {"inputTokens": 21, "outputTokens": 4, "totalTokens": 25}
    return {"output": output, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}


def _titan(request: _Tree) -> Any:
    return {"embedding": direction(request["inputText"]), "inputTextTokenCount": 1}


def _bedrock_cohere(request: _Tree) -> Any:
    return {"id": "e1", "response_type": "embeddings_floats", "embeddings": _cohere_vectors(request)}


def _bedrock_rerank(request: _Tree) -> Any:
    inner = request["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    arn = "arn:aws:bedrock:eu-west-1::foundation-model/cohere.rerank-v3-5:0"
    assert inner["modelConfiguration"]["modelArn"] == arn
    if request.get("nextToken") == "page-2":
        return {"results": [{"index": 1, "relevanceScore": 0.1}]}
    scores = [{"index": 0, "relevanceScore": 0.9}, {"index": 2, "relevanceScore": 0.2}]
    return {"results": scores, "nextToken": "page-2"}


CHATS = (_openai_chat, _anthropic, _converse, _ollama_chat)
_TITAN, _COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-english-v3"
WIRES = [
    Wire("openai:gpt-4o-mini", "/v1/chat/completions", _check_chat, _openai_chat, "/v1"),
    Wire("anthropic:claude-of-tests", "/v1/messages", _check_chat, _anthropic),
    Wire("bedrock:amazon.nova-lite-v1:0", "/model/amazon.nova-lite-v1:0/converse", _check_chat, _converse),
    Wire("ollama:llama3:8b", "/api/chat", _check_chat, _ollama_chat),
    Wire("openai:text-embedding-3-small", "/v1/embeddings", _check_embedder, _openai_embeddings, "/v1"),
    Wire("ollama:nomic-embed-text", "/api/embed", _check_embedder, _ollama_embed),
    Wire("cohere:embed-v4.0", "/v2/embed", _check_embedder, _cohere_embed),
    Wire(f"bedrock:{_TITAN}", f"/model/{_TITAN}/invoke", _check_embedder, _titan),
    Wire(f"bedrock:{_COHERE}", f"/model/{_COHERE}/invoke", _check_embedder, _bedrock_cohere),
    Wire("cohere:rerank-v3.5", "/v2/rerank", _check_reranker, _cohere_rerank),
    Wire("bedrock:cohere.rerank-v3-5:0", "/rerank", _check_reranker, _bedrock_rerank),
]
