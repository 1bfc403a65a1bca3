"""Extraction by batch files: the calls of an ingest, made elsewhere, come back and cost half."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import Asked, good_reply, usage_tokens
from ingest_keywords import keywords

import hlgraph
from hlgraph import Document
from hlgraph.cli import main
from hlgraph.errors import InputError
from hlgraph.models.accounts.ledger import total
from hlgraph.models.protocols import Completion
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import ModelSettings, Price, Settings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

NAME = "openai:m"
CHAT = IngestOptions(extract="chat")
DOCUMENTS = sorted((Path(hlgraph.__file__).parent / "samples").glob("*.md"))[:3]


def opened(folder: Path, chat: ScriptedChat | str = NAME, **more: Any) -> HLGraph:
    models = ModelSettings(prices={NAME: Price(1.0, 2.0)}, quarantine=str(folder / "quarantine"), **more)
    return hlgraph.connect(
        Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder(), chat=chat
    )


def no_call(system: str, user: str) -> str:
    raise AssertionError("nothing is left to be asked")


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def made(batch: Path, results: Path, *, change: Callable[[int, Any], Any] = lambda at, tree: tree) -> None:
    """What a provider does with a batch; the results come in another order."""
    trees = []
    for at, line in enumerate(lines(batch)):
        assert (line["method"], line["url"], line["body"]["model"]) == ("POST", "/v1/chat/completions", "m")
        system, user = (message["content"] for message in line["body"]["messages"])
        text = good_reply(Asked(system, user))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": usage_tokens(system + user), "completion_tokens": usage_tokens(text)}
        response = {"status_code": 200, "body": {"choices": [choice], "usage": usage}}
        tree = {"id": f"b{at}", "custom_id": line["custom_id"], "response": response, "error": None}
        trees.append(change(at, tree))
    results.write_text("".join(f"{json.dumps(tree)}\n" for tree in reversed(trees)))


def test_two_rounds_and_an_ingest_asks_nothing(tmp_path: Path) -> None:
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"
    calls = 0
    with opened(tmp_path) as graph:
        plan = graph.plan(DOCUMENTS)
        for round_ in range(2):
            report = graph.batches.export(DOCUMENTS, CHAT, path=batch)
            assert (report.sources, report.chunks, report.calls) == (3, plan.chunks, plan.chunks)
            made(batch, results)
            taken = graph.batches.take(DOCUMENTS, CHAT, results=[results])
            assert (taken.calls, taken.waiting, taken.refused, taken.unknown) == (report.calls, 0, 0, 0)
            again = graph.batches.take(DOCUMENTS, CHAT, results=[results])
            assert (again.calls, again.known) == (0, report.calls)
            assert again.waiting == (plan.chunks if round_ == 0 else 0)
            calls += report.calls
        assert graph.batches.export(DOCUMENTS, CHAT, path=batch).calls == 0
        assert batch.read_text() == ""
        spent = total(graph.ledger())
        assert spent.calls == calls == plan.calls
        assert spent.usd == pytest.approx((spent.input_tokens + 2 * spent.output_tokens) / 2e6)
    with opened(tmp_path, ScriptedChat(no_call, name=NAME)) as graph:
        report = graph.ingest(DOCUMENTS, **keywords(CHAT))
        assert report.problems == []
        assert report.usage is not None
        assert (report.usage.calls, report.usage.kept) == (0, calls)
        batched = snapshot(graph._opened.stores, "default")
    asked = ScriptedChat(lambda system, user: good_reply(Asked(system, user)), name=NAME)
    with opened(tmp_path / "straight", asked) as graph:
        graph.ingest(DOCUMENTS, **keywords(CHAT))
        assert snapshot(graph._opened.stores, "default") == batched


def test_what_cannot_be_used_is_said_and_exported_again(tmp_path: Path) -> None:
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"

    def change(at: int, tree: Any) -> Any:
        choice = tree["response"]["body"]["choices"][0]
        if at == 0:
            return {**tree, "response": {"status_code": 429, "body": {}}}
        if at == 1:
            return {**tree, "response": None, "error": {"code": "batch_expired"}}
        if at == 2:
            choice["finish_reason"] = "length"
        if at == 3:
            choice["message"]["content"] = "I would rather not."
        if at == 4:
            return {**tree, "custom_id": "of another batch"}
        return tree

    with opened(tmp_path) as graph:
        first = graph.batches.export(DOCUMENTS, CHAT, path=batch)
        made(batch, results, change=change)
        taken = graph.batches.take(DOCUMENTS, CHAT, results=[results])
        assert (taken.refused, taken.waiting, taken.unknown) == (4, 1, 1)
        assert taken.calls == first.calls - 5
        assert total(graph.ledger()).calls == taken.calls
        second = graph.batches.export(DOCUMENTS, CHAT, path=batch)
        assert second.calls == first.calls
        systems = [line["body"]["messages"][0]["content"] for line in lines(batch)]
        assert sum(system.startswith("You list the entities") for system in systems) == 5


def test_what_came_back_stays_while_other_sources_go(tmp_path: Path) -> None:
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"
    with opened(tmp_path) as graph:
        graph.ingest(DOCUMENTS[:1])
        exported = graph.batches.export(DOCUMENTS[1:], CHAT, path=batch).calls
        made(batch, results)
        graph.batches.take(DOCUMENTS[1:], CHAT, results=[results])
        graph.delete([str(DOCUMENTS[0])])
        assert graph.batches.take(DOCUMENTS[1:], CHAT, results=[results]).known == exported


def test_chunks_that_would_ask_the_same_share_a_line(tmp_path: Path) -> None:
    same = [Document(f"doc:{n}", "Mara Quill designed the Aldane Bridge.", "Bridges") for n in range(3)]
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"
    with opened(tmp_path) as graph:
        for _ in range(2):
            report = graph.batches.export(same, CHAT, path=batch)
            assert (report.chunks, report.calls) == (3, 1)
            made(batch, results)
            graph.batches.take(same, CHAT, results=[results])
    with opened(tmp_path, ScriptedChat(no_call, name=NAME)) as graph:
        graph.ingest(same, **keywords(CHAT))
        # All three go, and the replies with them.
        graph.delete(everything=True)
    assert not any(b"Aldane" in path.read_bytes() for path in (tmp_path / "store").glob("replies*"))


def test_what_is_no_batch_is_refused(tmp_path: Path) -> None:
    with (
        opened(tmp_path, "anthropic:m") as graph,
        pytest.raises(InputError, match="name a model as openai:MODEL or bedrock:MODEL"),
    ):
        graph.batches.export(DOCUMENTS, CHAT, path=tmp_path / "b.jsonl")
    with opened(tmp_path, keep_replies=False) as graph, pytest.raises(InputError, match=r"models\.keep_replies"):
        graph.batches.export(DOCUMENTS, CHAT, path=tmp_path / "b.jsonl")
    with opened(tmp_path) as graph:
        with pytest.raises(InputError, match="name a file in a folder that is there"):
            graph.batches.export(DOCUMENTS, CHAT, path=tmp_path / "nowhere" / "b.jsonl")
        with pytest.raises(InputError, match="the results cannot be read"):
            graph.batches.take(DOCUMENTS, CHAT, results=[tmp_path / "nowhere"])
        graph.batches.export(DOCUMENTS, CHAT, path=tmp_path / "b.jsonl")
        with pytest.raises(InputError, match=r"b\.jsonl:1: this line is no result of a batch"):
            graph.batches.take(DOCUMENTS, CHAT, results=[tmp_path / "b.jsonl"])


def test_a_reply_counts_its_tokens_where_the_batch_does_not(tmp_path: Path) -> None:
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"

    def change(at: int, tree: Any) -> Any:
        tree["response"]["body"].pop("usage")
        return tree

    with opened(tmp_path) as graph:
        graph.batches.export(DOCUMENTS[:1], CHAT, path=batch)
        made(batch, results, change=change)
        taken = graph.batches.take(DOCUMENTS[:1], CHAT, results=[results])
        line = total(graph.ledger())
        assert line.estimated_calls == taken.calls == line.calls
        assert line.input_tokens > 0
    assert Completion("").is_estimated is False


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
            main([str(item) for item in arguments])
        return end.value.code, out.getvalue()  # type: ignore[return-value]

    chosen = (DOCUMENTS[0], "--chat", NAME)
    code, out = run("extract", "export", *chosen, "--out", "batch.jsonl")
    assert code == 0
    assert f"calls: {len(lines(Path('batch.jsonl')))} in batch.jsonl" in out
    made(Path("batch.jsonl"), Path("results.jsonl"))
    code, out = run("extract", "import", *chosen, "--results", "results.jsonl", "--json")
    assert (code, json.loads(out)["calls"]) == (0, len(lines(Path("batch.jsonl"))))
    code, out = run("extract", "import", *chosen, "--results", "results.jsonl")
    assert "0 stored" in out
