"""Replies in a form, asked for by each provider's own means, over HTTP; and what happens where there are none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from chat_server import busy, cut_off
from langchain_core.language_models import FakeListChatModel
from provider_wires import KEYS, Waits
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from hlgraph.errors import ModelAccessError, ModelAnswerError, ModelFilterError
from hlgraph.extract.chat.messages import FoundEntities, parse, schema
from hlgraph.models.calls import Patience
from hlgraph.models.choose import Connection, chat_named
from hlgraph.models.langchain import LangChainChat

_FORM = schema(FoundEntities)
_TREE = {"entities": [{"name": "Mara Quill", "kind": "person"}]}
_TEXT = json.dumps(_TREE)
Tree = Mapping[str, Any]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def _openai(tree: Tree) -> Tree:
    wanted = tree["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["schema"]["properties"]["entities"]["type"] == "array"
    return _openai_reply(_TEXT)


def _openai_reply(text: str) -> Tree:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _anthropic(tree: Tree) -> Tree:
    (tool,) = tree["tools"]
    assert tree["tool_choice"]["name"] == tool["name"] == "FoundEntities"
    block = {"type": "tool_use", "id": "t1", "name": tool["name"], "input": _TREE}
    usage = {"input_tokens": 21, "output_tokens": 4}
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [block],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }


def _ollama(tree: Tree) -> Tree:
    assert tree["format"]["properties"]["entities"]["type"] == "array"
    return {
        "model": "m",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": _TEXT},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 21,
        "eval_count": 4,
    }


def _bedrock(tree: Tree) -> Tree:
    (tool,) = tree["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "FoundEntities"
    block = {"toolUse": {"toolUseId": "t1", "name": "FoundEntities", "input": _TREE}}
    return {
        "output": {"message": {"role": "assistant", "content": [block]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 21, "outputTokens": 4, "totalTokens": 25},
        "metrics": {"latencyMs": 1},
    }


def _chat(server: HTTPServer, name: str, path: str, answer: Callable[[Tree], Tree | Response]) -> LangChainChat:
    def serve(request: Request) -> Response:
        found = answer(json.loads(request.get_data()))
        return found if isinstance(found, Response) else Response(json.dumps(found), content_type="application/json")

    server.expect_request(path).respond_with_handler(serve)
    url = server.url_for("/v1" if name.startswith("openai") else "").rstrip("/")
    return chat_named(name, Connection(url=url, region="eu-west-1", patience=Patience(calls=2, sleep=Waits())))


@pytest.mark.parametrize(
    ("name", "path", "answer"),
    [
        ("openai:gpt-4o-mini", "/v1/chat/completions", _openai),
        ("anthropic:claude-of-tests", "/v1/messages", _anthropic),
        ("ollama:llama3:8b", "/api/chat", _ollama),
        ("bedrock:amazon.nova-lite-v1:0", "/model/amazon.nova-lite-v1:0/converse", _bedrock),
    ],
    ids=["openai", "anthropic", "ollama", "bedrock"],
)
def test_each_provider_is_asked_in_its_own_way(
    httpserver: HTTPServer, name: str, path: str, answer: Callable[[Tree], Tree]
) -> None:
    chat = _chat(httpserver, name, path, answer)
    reply = chat.attempt("s", "u", max_tokens=50, form=_FORM)
    httpserver.check_assertions()
    assert parse(reply.text, FoundEntities) == parse(_TEXT, FoundEntities)
    assert (reply.input_tokens, reply.output_tokens, reply.is_cut, chat.has_forms) == (21, 4, False, True)


def test_a_reply_in_a_form_that_a_filter_stopped_is_not_asked_for_again_without_the_form(
    httpserver: HTTPServer,
) -> None:
    def stopped(tree: Tree) -> Response:
        answer = json.loads(cut_off("").get_data())
        answer["choices"][0]["finish_reason"] = "content_filter"
        return Response(json.dumps(answer), content_type="application/json")

    chat = _chat(httpserver, "openai:m", "/v1/chat/completions", stopped)
    with pytest.raises(ModelFilterError, match="content filter"):
        chat.attempt("s", "u", max_tokens=10, form=_FORM)
    assert (len(httpserver.log), chat.has_forms) == (1, True)


def test_a_reply_in_a_form_that_is_cut_off_says_so_and_what_it_cost(httpserver: HTTPServer) -> None:
    chat = _chat(httpserver, "openai:m", "/v1/chat/completions", lambda tree: cut_off('{"entities": [{"na'))
    reply = chat.attempt("s", "u", max_tokens=50, form=_FORM)
    assert (reply.text, reply.is_cut, reply.input_tokens, reply.output_tokens) == ('{"entities": [{"na', True, 10, 10)
    assert chat.has_forms


def test_a_server_that_knows_no_forms_is_asked_without_from_then_on(httpserver: HTTPServer) -> None:
    asked: list[bool] = []

    def answer(tree: Tree) -> Tree | Response:
        asked.append("response_format" in tree)
        return busy(status=400) if asked[-1] else _openai_reply(_TEXT)

    chat = _chat(httpserver, "openai:m", "/v1/chat/completions", answer)
    for _ in range(2):
        assert chat.attempt("s", "u", max_tokens=50, form=_FORM).text == _TEXT
    assert asked == [True, False, False]


def test_a_request_that_is_refused_in_any_way_does_not_end_forms(httpserver: HTTPServer) -> None:
    chat = _chat(httpserver, "openai:m", "/v1/chat/completions", lambda tree: busy(status=400))
    with pytest.raises(ModelAnswerError, match="400"):
        chat.attempt("s", "u", max_tokens=50, form=_FORM)
    assert chat.has_forms


def test_what_trying_without_a_form_would_not_mend_is_raised_at_once(httpserver: HTTPServer) -> None:
    chat = _chat(httpserver, "openai:m", "/v1/chat/completions", lambda tree: busy(status=401))
    with pytest.raises(ModelAccessError, match="401"):
        chat.attempt("s", "u", max_tokens=50, form=_FORM)
    assert len(httpserver.log) == 1


def test_a_model_without_forms_is_asked_by_the_prompt_alone() -> None:
    chat = LangChainChat(FakeListChatModel(responses=[_TEXT]))
    assert chat.attempt("s", "u", max_tokens=50, form=_FORM).text == _TEXT
    assert not chat.has_forms


def test_forms_can_be_switched_off(httpserver: HTTPServer) -> None:
    def answer(tree: Tree) -> Tree:
        assert "response_format" not in tree
        return _openai_reply(_TEXT)

    chat = _chat(httpserver, "openai:m", "/v1/chat/completions", answer)
    chat.has_forms = False
    assert chat.attempt("s", "u", max_tokens=50, form=_FORM).text == _TEXT
    httpserver.check_assertions()
