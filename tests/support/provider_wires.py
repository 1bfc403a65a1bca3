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
from hlgraph.models.providers import Connection, chat_named, embedder_named, reranker_named

KEY = "sk-test-0123456789abcdefghij"
KEYS = {
    "OPENAI_API_KEY": KEY,
    "ANTHROPIC_API_KEY": KEY,
    "CO_API_KEY": KEY,
    "AWS_ACCESS_KEY_ID": "AKIA0123456789ABCDEF",
    "AWS_SECRET_ACCESS_KEY": KEY,
    "AWS_DEFAULT_REGION": "eu-west-1",
}
QUESTION = "Who built the bridge?"
TEXTS = ["The bridge was built by Mara Quill.", "", "It rained."]


@dataclass
class Waits:
    """Records instead of waiting."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@dataclass(frozen=True)
class Wire:
    """One provider's format for one kind of model.

    ``ask`` does a whole call through the seam and checks the answer; ``reply`` makes the good answer to a request.
    """

    name: str
    path: str
    ask: Callable[[Connection], None]
    reply: Callable[[Mapping[str, Any]], Any]
    prefix: str = ""

    def connection(self, server: HTTPServer, waits: Waits, *, timeout: float = 5.0, calls: int = 3) -> Connection:
        return Connection(
            url=server.url_for("/").rstrip("/") + self.prefix,
            region="eu-west-1",
            timeout=timeout,
            patience=Patience(calls=calls, sleep=waits),
        )

    def good(self, request: Request) -> Response:
        answer = self.reply(json.loads(request.get_data()))
        return Response(json.dumps(answer), content_type="application/json")


def _ask_chat(name: str) -> Callable[[Connection], None]:
    def ask(connection: Connection) -> None:
        reply = chat_named(name, connection).complete("Be short.", QUESTION, max_tokens=77)
        assert (reply.text, reply.input_tokens, reply.output_tokens, reply.is_cut) == ("Mara Quill.", 21, 4, False)

    return ask


def _ask_embedder(name: str) -> Callable[[Connection], None]:
    def ask(connection: Connection) -> None:
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

    return ask


def _ask_reranker(name: str) -> Callable[[Connection], None]:
    def ask(connection: Connection) -> None:
        reranker = reranker_named(name, connection)
        np.testing.assert_allclose(reranker.rerank(QUESTION, TEXTS), [0.9, 0.1, 0.2])
        assert reranker.fingerprint == name
        assert reranker.rerank(QUESTION, []).shape == (0,)

    return ask


def direction(text: str) -> list[float]:
    """A vector that is a function of the text, of any length."""
    return [1.0, float(len(text)), float(sum(map(ord, text)) % 97), -2.0]


def _openai_chat(request: Mapping[str, Any]) -> Any:
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["messages"][1]["content"] == QUESTION
    assert request["max_completion_tokens"] == 77
    assert "temperature" not in request
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Mara Quill."}}],
        "usage": {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25},
    }


def _openai_embeddings(request: Mapping[str, Any]) -> Any:
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    assert all(text for text in texts)
    rows = [{"object": "embedding", "index": at, "embedding": direction(text)} for at, text in enumerate(texts)]
    return {"object": "list", "data": rows, "model": request["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _anthropic(request: Mapping[str, Any]) -> Any:
    assert (request["system"], request["max_tokens"]) == ("Be short.", 77)
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [{"type": "text", "text": "Mara Quill."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 21, "output_tokens": 4},
    }


def _ollama_chat(request: Mapping[str, Any]) -> Any:
    assert request["options"]["num_predict"] == 77
    return {
        "model": request["model"],
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "Mara Quill."},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 21,
        "eval_count": 4,
    }


def _ollama_embed(request: Mapping[str, Any]) -> Any:
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    return {"model": request["model"], "embeddings": [direction(text) for text in texts]}


def _cohere_embed(request: Mapping[str, Any]) -> Any:
    is_question = request["texts"] == [QUESTION]
    assert request["input_type"] == ("search_query" if is_question else "search_document")
    assert request["embedding_types"] == ["float"]
    return {
        "id": "e1",
        "texts": request["texts"],
        "embeddings": {"float": [direction(text) for text in request["texts"]]},
    }


def _cohere_rerank(request: Mapping[str, Any]) -> Any:
    assert (request["query"], len(request["documents"])) == (QUESTION, 3)
    scores = [{"index": 0, "relevance_score": 0.9}, {"index": 2, "relevance_score": 0.2}]
    return {"id": "r1", "results": [*scores, {"index": 1, "relevance_score": 0.1}]}


def _converse(request: Mapping[str, Any]) -> Any:
    assert request["system"] == [{"text": "Be short."}]
    assert request["inferenceConfig"]["maxTokens"] == 77
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": "Mara Quill."}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 21, "outputTokens": 4, "totalTokens": 25},
        "metrics": {"latencyMs": 1},
    }


def _titan(request: Mapping[str, Any]) -> Any:
    return {"embedding": direction(request["inputText"]), "inputTextTokenCount": 1}


def _bedrock_cohere(request: Mapping[str, Any]) -> Any:
    is_question = request["texts"] == [QUESTION]
    assert request["input_type"] == ("search_query" if is_question else "search_document")
    return {"id": "e1", "response_type": "embeddings_floats", "embeddings": [direction(t) for t in request["texts"]]}


def _bedrock_rerank(request: Mapping[str, Any]) -> Any:
    inner = request["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    arn = "arn:aws:bedrock:eu-west-1::foundation-model/cohere.rerank-v3-5:0"
    assert inner["modelConfiguration"]["modelArn"] == arn
    if request.get("nextToken") == "page-2":
        return {"results": [{"index": 1, "relevanceScore": 0.1}]}
    scores = [{"index": 0, "relevanceScore": 0.9}, {"index": 2, "relevanceScore": 0.2}]
    return {"results": scores, "nextToken": "page-2"}


def _wire(
    name: str, path: str, ask: Callable[[str], Callable[[Connection], None]], reply: Any, *, prefix: str = ""
) -> Wire:
    return Wire(name, path, ask(name), reply, prefix)


CHATS = (_openai_chat, _anthropic, _converse, _ollama_chat)
_TITAN = "bedrock:amazon.titan-embed-text-v2:0"
WIRES = [
    _wire("openai:gpt-4o-mini", "/v1/chat/completions", _ask_chat, _openai_chat, prefix="/v1"),
    _wire("anthropic:claude-of-tests", "/v1/messages", _ask_chat, _anthropic),
    _wire("bedrock:amazon.nova-lite-v1:0", "/model/amazon.nova-lite-v1:0/converse", _ask_chat, _converse),
    _wire("ollama:llama3:8b", "/api/chat", _ask_chat, _ollama_chat),
    _wire("openai:text-embedding-3-small", "/v1/embeddings", _ask_embedder, _openai_embeddings, prefix="/v1"),
    _wire("ollama:nomic-embed-text", "/api/embed", _ask_embedder, _ollama_embed),
    _wire("cohere:embed-v4.0", "/v2/embed", _ask_embedder, _cohere_embed),
    _wire(_TITAN, "/model/amazon.titan-embed-text-v2:0/invoke", _ask_embedder, _titan),
    _wire("bedrock:cohere.embed-english-v3", "/model/cohere.embed-english-v3/invoke", _ask_embedder, _bedrock_cohere),
    _wire("cohere:rerank-v3.5", "/v2/rerank", _ask_reranker, _cohere_rerank),
    _wire("bedrock:cohere.rerank-v3-5:0", "/rerank", _ask_reranker, _bedrock_rerank),
]
