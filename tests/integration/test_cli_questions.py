"""Questions by the command line, over both kinds of store; the chat model is asked over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from live_stores import opened, settings_for
from pytest_httpserver import HTTPServer
from question_corpus import BRIDGE, DOCUMENTS, MILL
from werkzeug import Request, Response

import hlgraph
from hlgraph.evaluate.questions.making import make, quotas
from hlgraph.testing.embedder import WordEmbedder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("questions")
    for corpus, documents in (("named", DOCUMENTS), ("mill", MILL)):
        with hlgraph.connect(f"hlgraph://{found}/store", corpus=corpus, embedder=WordEmbedder(384)) as graph:
            graph.ingest(list(documents))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HLGRAPH_STORE", f"hlgraph://{found}/store")
        patch.setenv("HLGRAPH_CACHE", str(found / "cache"))
        patch.setenv("HLGRAPH_LEDGER", str(found / "ledger"))
        for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG", "HLGRAPH_CHAT"):
            patch.delenv(name, raising=False)
        yield found


def test_make_check_and_export(place: Path) -> None:
    asked = place / "asked.jsonl"
    code, out, err = call("questions", "make", "--corpus", "named", "--count", 20, "--out", asked)
    assert (code, out.splitlines()[0]) == (0, f"5 questions in {asked}: 3 bridge, 0 comparison, 1 intersection, 1 null")
    assert "warning: 5 of 5 comparison questions could not be made" in err
    code, out, _ = call("questions", "check", asked, "--json")
    assert (code, json.loads(out)["by_kind"]) == (0, {"bridge": 3, "intersection": 1, "null": 1})
    code, out, _ = call("questions", "export", asked, "--to", place / "set")
    assert (code, out) == (0, f"{place / 'set'}: 5 passages, 4 questions, 1 null questions, 0 abstract ones\n")
    assert BRIDGE in (place / "set" / "questions.jsonl").read_text()
    code, _, err = call("questions", "check", asked, "--corpus", "mill")
    assert (code, "was made from corpus 'named'" in err) == (2, True)
    asked.write_text(asked.read_text().replace("Kestrel Works", "Halden Group"))
    code, out, _ = call("questions", "check", asked)
    assert (code, "answer: question" in out) == (1, True)


def test_what_the_command_refuses(place: Path) -> None:
    for arguments, reason in (
        (("--max-usd", 1), "budgets are for --method chat"),
        (("--kinds", "riddle"), "no questions of kind riddle"),
        (("--method", "chat"), "need one; name it in HLGRAPH_CHAT"),
        (("--corpus", "nothing"), "there is no corpus 'nothing'"),
        (("--count", 0), "count is 0"),
    ):
        code, _, err = call("questions", "make", "--out", place / "no.jsonl", *arguments)
        assert (code, reason in err) == (2, True), err
    assert not (place / "no.jsonl").exists()


def replies(request: Request) -> Response:
    system = request.json["messages"][0]["content"]
    if system.startswith("You think of people"):
        text = '{"users": [{"user": "a historian", "tasks": ["write a book"]}]}'
    else:
        text = '{"questions": ["How did fire change mills?", "Why do rivers draw trade?"]}'
    usage = {"prompt_tokens": 300, "completion_tokens": 30, "total_tokens": 330}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    tree = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Response(json.dumps(tree), content_type="application/json")


def test_a_chat_model_is_planned_paid_once_and_ended_by_its_budget(
    place: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HLGRAPH_CHAT", "openai:m")
    monkeypatch.setenv("HLGRAPH_CHAT_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(replies)
    base = ("questions", "make", "--corpus", "mill", "--method", "chat", "--kinds", "abstract", "--count", 2)
    asked = place / "abstract.jsonl"
    code, out, _ = call(*base, "--out", asked, "--plan", "--json")
    assert (code, json.loads(out)["models"][0]["calls"], len(httpserver.log)) == (0, 2, 0)
    code, _, err = call(*base, "--out", asked, "--max-tokens", 400)
    assert (code, len(httpserver.log)) == (6, 1), err
    assert "2 of 2 abstract questions could not be made" in err
    assert "gives no more" not in err  # the budget ended, not the corpus
    code, out, err = call(*base, "--out", asked, "--json")
    assert (code, json.loads(out)["by_kind"], len(httpserver.log)) == (0, {"abstract": 2}, 2), err
    before = asked.read_text()
    assert call(*base, "--out", asked)[0] == 0
    assert (asked.read_text(), len(httpserver.log)) == (before, 2)


def test_both_kinds_of_store_give_the_same_questions(tmp_path: Path, servers: Any) -> None:
    made = []
    live = settings_for(servers)
    with opened(servers, live):
        for settings in (live, f"hlgraph://{tmp_path}/store"):
            with hlgraph.connect(settings, corpus="named", embedder=WordEmbedder(16)) as graph:
                graph.ingest(list(DOCUMENTS))
                chunks = [
                    name for each in graph.facts.chunks(graph.facts.sources()) for name in (item.id for item in each)
                ]
                made.append((make(graph, quotas(20)), graph.facts.read(), graph.facts.topics(chunks)))
    assert made[0] == made[1]
    assert made[0][2]
