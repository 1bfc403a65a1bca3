"""Ingest with a chat model into the embedded store: what lands, what is asked again, what a failure leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ingest_keywords import keywords
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import hlgraph
from hlgraph.errors import InputError, ModelUnavailableError
from hlgraph.records import Chunk, Document, Kind
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import ModelSettings, Settings
from hlgraph.stores.protocols import Scope
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import DOCUMENTS, snapshot
from hlgraph.testing.embedder import WordEmbedder

_CHAT = IngestOptions(extract="chat", is_chunked=True)
_NAMES = ("Aldane Bridge", "Mara Quill", "Tessing", "Orne", "Ivo Brandt")


def reply(system: str, user: str) -> str:
    """What a good model says of the tiny corpus: its names, and a proposition a sentence."""
    text = re.findall(r"<text \w+>\n(.*)\n</text", user, flags=re.DOTALL)[-1]
    names = [name for name in _NAMES if name in text]
    if system.startswith("You list the entities"):
        return json.dumps({"entities": [{"name": name, "kind": "name"} for name in names]})
    listed = json.loads(re.findall(r"<entities \w+>\n(.*)\n</entities", user)[0])
    sentences = re.findall(r"[^.]+\.", text)
    return json.dumps({"propositions": [_proposition(item.strip(), listed) for item in sentences]})


def _proposition(text: str, names: list[str]) -> dict[str, object]:
    here = [name for name in names if name in text]
    facts = [{"subject": here[0], "predicate": "is joined to", "object": here[1]}] if len(here) > 1 else []
    return {"text": text, "topics": [f"about {here[0]}"] if here else [], "entities": here, "facts": facts}


def _open(folder: Path, chat: ScriptedChat) -> HLGraph:
    settings = Settings(store=f"hlgraph://{folder}/store", models=ModelSettings(quarantine=str(folder / "quarantine")))
    return hlgraph.connect(settings, embedder=WordEmbedder(), chat=chat)


@pytest.fixture
def good() -> ScriptedChat:
    return ScriptedChat(reply)


@pytest.fixture
def graph(tmp_path: Path, good: ScriptedChat) -> Iterator[HLGraph]:
    with _open(tmp_path, good) as opened:
        yield opened


def _counts(graph: HLGraph) -> dict[Kind, int]:
    return dict(graph.stats()[0].records)


def _is_clean(graph: HLGraph) -> bool:
    return all(item.is_fine for item in graph.check())


def _kept(folder: Path) -> list[Path]:
    return sorted((folder / "quarantine").rglob("*.json"))


def test_statements_facts_entities_and_topics_land(graph: HLGraph, good: ScriptedChat) -> None:
    report = graph.ingest(DOCUMENTS, **keywords(_CHAT))
    assert (report.failed, report.problems) == ([], [])
    counts = _counts(graph)
    assert (counts[Kind.SOURCE], counts[Kind.CHUNK], counts[Kind.STATEMENT], counts[Kind.ENTITY]) == (4, 4, 5, 5)
    assert (counts[Kind.FACT], counts[Kind.TOPIC]) == (4, 4)
    assert report.usage is not None
    assert report.usage.calls == len(good.asked) == 8
    assert report.usage.input_tokens > 0
    found = graph.search("Who designed the Aldane Bridge?", k=1).evidence[0]
    assert found.text == "The Aldane Bridge was designed by Mara Quill."
    bridge = next(item for item in DOCUMENTS if item.uri == found.source.uri)
    assert bridge.text[found.start : found.end] == found.text
    assert _is_clean(graph)


def test_prompts_and_model_stand_on_what_they_made(graph: HLGraph) -> None:
    graph.ingest(DOCUMENTS, **keywords(_CHAT))
    stores = graph._opened.stores
    found = graph.search("Who designed the Aldane Bridge?", k=1).evidence[0]
    (chunk,) = stores.graph.records(Kind.CHUNK, [found.chunk_id], scope=Scope(graph.corpus))
    assert isinstance(chunk, Chunk)
    assert chunk.fingerprint.partition(" ")[2] == "chat/1/entities/1+propositions/1+repair/1/scripted"


def test_what_did_not_change_is_not_asked_for_again(graph: HLGraph, good: ScriptedChat) -> None:
    graph.ingest(DOCUMENTS, **keywords(_CHAT))
    before = len(good.asked)
    again = graph.ingest(DOCUMENTS, **keywords(_CHAT))
    assert (again.sources_unchanged, len(good.asked)) == (4, before)
    assert again.usage is not None
    assert again.usage.calls == 0
    poet = Document("doc:poet", "Ivo Brandt left Tessing.", "Ivo Brandt")
    graph.ingest([poet], **keywords(_CHAT))
    assert len(good.asked) == before + 2


def _broken_for(word: str) -> tuple[Callable[[str, str], str], list[bool]]:
    """A model that says nonsense of texts with a word, until the list is emptied."""
    broken = [True]

    def script(system: str, user: str) -> str:
        return "As a model I would rather not." if broken and word in user else reply(system, user)

    return script, broken


def test_a_failed_chunk_is_reported_kept_raw_and_tried_again(tmp_path: Path) -> None:
    script, broken = _broken_for("Ivo Brandt")
    chat = ScriptedChat(script)
    with _open(tmp_path, chat) as graph:
        report = graph.ingest(DOCUMENTS, **keywords(_CHAT))
        assert [item.uri for item in report.problems] == ["doc:poet"]
        assert "no JSON object" in report.problems[0].error
        (kept,) = _kept(tmp_path)
        assert str(kept) in report.problems[0].error
        assert json.loads(kept.read_bytes())["replies"] == ["As a model I would rather not."] * 2
        assert _counts(graph)[Kind.STATEMENT] == 4
        before = len(chat.asked)
        again = graph.ingest(DOCUMENTS, **keywords(_CHAT))
        assert (again.sources_unchanged, again.sources_changed, len(again.problems)) == (3, 1, 1)
        assert len(chat.asked) == before + 2
        broken.clear()
        mended = graph.ingest(DOCUMENTS, **keywords(_CHAT))
        assert (mended.sources_changed, mended.problems, _kept(tmp_path)) == (1, [], [])
        assert _is_clean(graph)
        assert graph.ingest(DOCUMENTS, **keywords(_CHAT)).sources_unchanged == 4
        tried = snapshot(graph._opened.stores, "default")
    with _open(tmp_path / "straight", ScriptedChat(reply)) as straight:
        straight.ingest(DOCUMENTS, **keywords(_CHAT))
        assert _counts(straight)[Kind.STATEMENT] == 5
        direct = snapshot(straight._opened.stores, "default")
    assert tried == direct


def test_a_failure_of_another_model_leaves_what_the_first_one_said(tmp_path: Path) -> None:
    with _open(tmp_path, ScriptedChat(reply, name="first")) as graph:
        graph.ingest(DOCUMENTS, **keywords(_CHAT))
    script, broken = _broken_for("Ivo Brandt")
    with _open(tmp_path, ScriptedChat(script, name="second")) as graph:
        report = graph.ingest(DOCUMENTS, **keywords(_CHAT))
        assert (report.sources_changed, len(report.problems)) == (4, 1)
        assert _counts(graph)[Kind.STATEMENT] == 5
        assert graph.search("Ivo Brandt wrote about the Orne", k=1).evidence[0].source.uri == "doc:poet"
        assert _is_clean(graph)
        broken.clear()
        assert graph.ingest(DOCUMENTS, **keywords(_CHAT)).sources_changed == 1
        assert graph.ingest(DOCUMENTS, **keywords(_CHAT)).sources_unchanged == 4


def test_a_deleted_source_leaves_the_quarantine_too(tmp_path: Path) -> None:
    script, _ = _broken_for("")
    with _open(tmp_path, ScriptedChat(script)) as graph:
        graph.ingest(DOCUMENTS, **keywords(_CHAT))
        assert len(_kept(tmp_path)) == 4
        graph.delete(["doc:poet"])
        assert len(_kept(tmp_path)) == 3
        graph.ingest([Document("doc:town", "Another town lies there.", "Tessing")], is_chunked=True)
        assert len(_kept(tmp_path)) == 2
        graph.delete(everything=True)
        assert _kept(tmp_path) == []


def test_a_provider_that_goes_away_ends_the_run_and_the_next_one_goes_on(tmp_path: Path) -> None:
    away = [True]

    def script(system: str, user: str) -> str | Exception:
        # In the second batch: the calls that are under way when it happens end, and no other begins.
        return ModelUnavailableError("p:m: away") if away and "number 10" in user else reply(system, user)

    documents = [Document(f"doc:{n}", f"The bridge number {n} is long. " + "Word. " * 3000) for n in range(18)]
    chat = ScriptedChat(script)
    with _open(tmp_path, chat) as graph:
        with pytest.raises(ModelUnavailableError, match="away"):
            graph.ingest(documents, **keywords(_CHAT))
        assert 0 < graph.stats()[0].records[Kind.SOURCE] < 18
        assert _is_clean(graph)
        away.clear()
        report = graph.ingest(documents, **keywords(_CHAT))
        assert report.problems == []
        assert graph.stats()[0].records[Kind.SOURCE] == 18
        assert graph.ingest(documents, **keywords(_CHAT)).sources_unchanged == 18


def test_without_a_chat_model_it_says_how_to_name_one(tmp_path: Path) -> None:
    settings = Settings(store=f"hlgraph://{tmp_path}/store")
    with (
        hlgraph.connect(settings, embedder=WordEmbedder()) as graph,
        pytest.raises(InputError, match="name it in HLGRAPH_CHAT"),
    ):
        graph.ingest(DOCUMENTS, **keywords(_CHAT))


def test_a_model_by_name_from_the_settings(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way: settings, LangChain, HTTP, and back."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")

    def serve(request: Request) -> Response:
        tree = json.loads(request.get_data())
        said = reply(*(message["content"] for message in tree["messages"]))
        message = {"role": "assistant", "content": said}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": tree["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        return Response(json.dumps(body), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(serve)
    models = ModelSettings(chat="openai:m", chat_url=httpserver.url_for("/v1"), quarantine=str(tmp_path / "q"))
    settings = Settings(store=f"hlgraph://{tmp_path}/store", models=models)
    with hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        report = graph.ingest(DOCUMENTS, **keywords(_CHAT))
        assert report.usage is not None
        assert (report.usage.calls, report.usage.input_tokens, report.usage.output_tokens) == (8, 80, 40)
        assert _counts(graph)[Kind.STATEMENT] == 5
    httpserver.check_handler_errors()
