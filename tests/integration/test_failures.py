"""Chunks that a chat model could not extract: found, tried again, mended by hand, dropped, and gone with their source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import MODEL, Asked, ChatServer
from command_line import call
from ingest_keywords import keywords
from pytest_httpserver import HTTPServer

import hlgraph
from hlgraph import Budget
from hlgraph.errors import BudgetError, InputError, StoreUnavailableError, UnknownNameError
from hlgraph.extract.quarantine import Quarantined
from hlgraph.ingest.delete import delete_sources
from hlgraph.persist.compare import is_incomplete
from hlgraph.records import Chunk, Document, Kind, Source, Statement
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import ModelSettings, Settings
from hlgraph.stores.protocols import Scope
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

pytestmark = pytest.mark.usefixtures("openai_key")

CHAT = IngestOptions(extract="chat")
POET = Document(
    "doc:poet", "Ivo Brandt wrote about the Orne. He was born in Tessing in 1902.", "Ivo Brandt", {"year": 1902}
)
BRIDGE = Document("doc:bridge", "The Aldane Bridge was designed by Mara Quill.", "Aldane Bridge")
TOWN = Document("doc:town", "Tessing lies on the river Orne.", "Tessing")
DOCUMENTS = [BRIDGE, POET, TOWN]
# Two paragraphs too long to share a chunk, under headings, so that one source has a chunk that fails and one that does not.
LONG = Document(
    "doc:long",
    "# Mills\n\n"
    + " ".join(f"Mill {n} of Tessing was built in {1700 + n}." for n in range(60))
    + "\n\n# Poison\n\n"
    + " ".join(f"The poison number {n} was found by Mara Quill in {1800 + n}." for n in range(60)),
    "Mills",
)
GOOD = {
    "entities": [{"name": "Ivo Brandt", "kind": "person"}, {"name": "Orne", "kind": "place"}],
    "propositions": [
        {
            "text": "Ivo Brandt wrote about the Orne.",
            "topics": ["work of Ivo Brandt"],
            "entities": ["Ivo Brandt", "Orne"],
            "facts": [{"subject": "Ivo Brandt", "predicate": "wrote about", "object": "Orne"}],
        }
    ],
}


class Server(ChatServer):
    """The server, which says nonsense of texts with a word of ``broken``, at once or of the propositions only."""

    def __init__(self, server: HTTPServer) -> None:
        super().__init__(server, fault=self._broken)
        self.broken: set[str] = set()
        self.is_late = False

    def _broken(self, number: int, asked: Asked) -> str | None:
        if not any(word in asked.text for word in self.broken) or (self.is_late and asked.is_for_entities):
            return None
        return f"As a model I would rather not ({number})."


@pytest.fixture
def server() -> Iterator[Server]:
    with HTTPServer(threaded=True) as running:
        yield Server(running)
        running.check_assertions()


def settings(folder: Path, server: ChatServer, *, model: str = MODEL) -> Settings:
    models = ModelSettings(chat=model, chat_url=server.url, concurrency=2, cache=str(folder / "cache"))
    return Settings(store=f"hlgraph://{folder}/store", models=models)


def opened(folder: Path, server: ChatServer, *, model: str = MODEL) -> HLGraph:
    return hlgraph.connect(settings(folder, server, model=model), embedder=WordEmbedder())


def sources(graph: HLGraph) -> dict[str, Source]:
    found = graph._opened.stores.graph.find(Kind.SOURCE, Scope(graph.corpus))
    return {item.uri: item for item in found if isinstance(item, Source)}


def statements(graph: HLGraph) -> set[str]:
    found = graph._opened.stores.graph.find(Kind.STATEMENT, Scope(graph.corpus))
    return {item.text for item in found if isinstance(item, Statement)}


def chunk_of(graph: HLGraph, entry: Quarantined) -> Chunk:
    found = graph._opened.stores.graph.find(Kind.CHUNK, Scope(graph.corpus))
    (chunk,) = (item for item in found if isinstance(item, Chunk) and item.text == entry.chunk.text)
    return chunk


def is_clean(graph: HLGraph) -> bool:
    return all(item.is_fine for item in graph.check())


def ingested(graph: HLGraph, server: Server, *documents: Document, broken: str = "Brandt") -> list[Quarantined]:
    server.broken = {broken}
    graph.ingest(documents or DOCUMENTS, **keywords(CHAT))
    return graph.failures.find()


# Looking


def test_what_failed_is_listed_with_its_replies(tmp_path: Path, server: Server) -> None:
    server.is_late = True
    with opened(tmp_path, server) as graph:
        assert graph.failures.find() == []
        (found,) = ingested(graph, server)
        assert (found.chunk.text, found.chunk.title, found.chunk.uri) == (POET.text, "Ivo Brandt", "doc:poet")
        assert (found.model, found.tries, found.call) == (MODEL, 1, "propositions/1")
        assert "no JSON object" in found.reason
        assert [reply.startswith("As a model") for reply in found.replies] == [False, True, True]
        assert graph.failures.find([found.id]) == graph.failures.find([found.id[:4], found.id]) == [found]
        with pytest.raises(UnknownNameError, match="has no failure 'nowhere'; hlgraph failures list shows"):
            graph.failures.find(["nowhere"])
        with pytest.raises(UnknownNameError):
            graph.failures.find([found.id[:3]])
        assert graph.in_corpus("other").failures.find() == []


# A second ingest


def test_an_ingest_tries_a_failed_chunk_three_times_and_then_reports_it_without_a_call(
    tmp_path: Path, server: Server
) -> None:
    with opened(tmp_path, server) as graph:
        (first,) = ingested(graph, server)
        for tries in (2, 3):
            before = server.calls
            report = graph.ingest(DOCUMENTS, **keywords(CHAT))
            assert (report.sources_unchanged, report.sources_changed, len(report.problems)) == (2, 1, 1)
            assert server.calls == before + 2
            assert [(item.id, item.tries) for item in graph.failures.find()] == [(first.id, tries)]
        before = server.calls
        report = graph.ingest(DOCUMENTS, **keywords(CHAT))
        assert server.calls == before
        assert f"hlgraph failures retry {first.id}" in report.problems[0].error
        assert len(graph.failures.find()) == 1
        server.broken.clear()
        assert graph.failures.retry().mended == [first.id]
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).sources_unchanged == 3


def test_what_is_given_up_is_neither_planned_nor_exported(tmp_path: Path, server: Server) -> None:
    """An ingest would not look at the reply: paid for nothing."""
    with opened(tmp_path, server) as graph:
        ingested(graph, server, *DOCUMENTS)
        for _ in range(2):
            graph.ingest(DOCUMENTS, **keywords(CHAT))
        plan = graph.plan(DOCUMENTS)
        assert (plan.chunks, plan.given_up, plan.calls) == (0, 1, 0)
        report = graph.batches.export(DOCUMENTS, CHAT, path=tmp_path / "batch.jsonl")
        assert (report.chunks, report.given_up, report.calls) == (0, 1, 0)
        assert not (tmp_path / "batch.jsonl").read_text()


# Retry


@pytest.mark.parametrize("documents", [DOCUMENTS, [LONG]], ids=["short", "long"])
def test_a_retry_writes_what_an_ingest_would_have_written(
    tmp_path: Path, server: Server, documents: list[Document]
) -> None:
    broken = "Brandt" if documents is DOCUMENTS else "poison"
    with opened(tmp_path, server) as graph:
        failed = ingested(graph, server, *documents, broken=broken)
        assert failed
        assert graph.stats()[0].records[Kind.CHUNK] > len(failed)
        again = graph.failures.retry()
        assert (again.mended, [item.id for item in again.failed]) == ([], [item.id for item in failed])
        assert [item.tries for item in again.failed] == [2] * len(failed)
        server.broken.clear()
        done = graph.failures.retry([item.id for item in failed])
        assert sorted(done.mended) == sorted(item.id for item in failed)
        assert done.report.added[Kind.STATEMENT] > 0
        assert done.report.usage is not None
        assert done.report.usage.calls == 2 * len(failed)
        assert graph.failures.find() == []
        assert not any(is_incomplete(item.checksum) for item in sources(graph).values())
        assert is_clean(graph)
        report = graph.ingest(documents, **keywords(CHAT))
        assert (report.sources_unchanged, report.problems) == (len(documents), [])
        mended = snapshot(graph._opened.stores, "default")
    with opened(tmp_path / "straight", server) as straight:
        straight.ingest(documents, **keywords(CHAT))
        assert snapshot(straight._opened.stores, "default") == mended


def test_a_source_is_complete_only_when_all_its_failures_are_mended(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        failed = ingested(graph, server, LONG, broken="in 1")
        assert len(failed) > 1
        server.broken.clear()
        graph.failures.retry([failed[0].id])
        assert is_incomplete(sources(graph)["doc:long"].checksum)
        assert len(graph.failures.find()) == len(failed) - 1
        graph.failures.retry()
        assert not is_incomplete(sources(graph)["doc:long"].checksum)
        assert graph.ingest([LONG], **keywords(CHAT)).sources_unchanged == 1


def test_another_model_mends_and_the_first_one_is_not_asked_again(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server)
        extractor = failed.extractor
    with opened(tmp_path, server, model="openai:better") as graph:
        still = graph.failures.retry().failed[0]
        assert (still.model, still.extractor) == ("openai:better", extractor)
        server.broken.clear()
        graph.failures.retry()
        assert chunk_of(graph, failed).fingerprint.endswith("openai:better")
    with opened(tmp_path, server) as graph:
        before = server.calls
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).sources_unchanged == 3
        assert server.calls == before


def test_an_edit_elsewhere_in_the_source_leaves_alone_what_was_mended(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        first, *others = ingested(graph, server, LONG, broken="poison")
        assert others
        graph.failures.accept(first.id, json.dumps(GOOD))
        for item in others:
            graph.failures.drop(item.id)
        before, server.paid = statements(graph), []
        edited = replace(LONG, text=f"# Wells\n\nThe well of Ombry was dug in 1650.\n\n{LONG.text}")
        report = graph.ingest([edited], **keywords(CHAT))
        assert (report.problems, report.sources_changed) == ([], 1)
        assert not any("poison number 1 " in asked.text for asked in server.paid)
        assert before < statements(graph)


def test_a_retry_within_a_budget_ends_cleanly_and_goes_on(tmp_path: Path, server: Server) -> None:
    documents = [Document(f"doc:{n}", f"Ivo Brandt {n} wrote about the Orne. " + "Word. " * 300) for n in range(6)]
    with opened(tmp_path, server) as graph:
        failed = ingested(graph, server, *documents)
        assert len(failed) == 6
        server.broken.clear()
        with pytest.raises(BudgetError, match="finished work is kept"):
            graph.failures.retry(budget=Budget(max_tokens=8_000))
        left = graph.failures.find()
        assert 0 < len(left) < 6
        assert all(item in failed for item in left)
        assert is_clean(graph)
        with pytest.raises(BudgetError, match="raise the budget"):
            graph.failures.retry(budget=Budget(max_tokens=1))
        assert sorted(graph.failures.retry().mended) == sorted(item.id for item in left)
        assert graph.ingest(documents, **keywords(CHAT)).sources_unchanged == 6


def test_a_retry_without_a_model_says_how_to_name_one(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        ingested(graph, server)
    bare = replace(settings(tmp_path, server), models=ModelSettings(cache=str(tmp_path / "cache")))
    with (
        hlgraph.connect(bare, embedder=WordEmbedder()) as graph,
        pytest.raises(InputError, match="name it in HLGRAPH_CHAT"),
    ):
        graph.failures.retry()


# Accept


def test_a_reply_by_hand_goes_into_the_graph_and_stays(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server)
        before = server.calls
        done = graph.failures.accept(failed.id, f"Here it is:\n```json\n{json.dumps(GOOD)}\n```")
        assert (done.mended, done.left_out, done.report.added[Kind.STATEMENT]) == ([failed.id], (), 1)
        assert "Ivo Brandt wrote about the Orne." in statements(graph)
        assert chunk_of(graph, failed).fingerprint.endswith("accepted by hand")
        assert (graph.failures.find(), is_clean(graph), server.calls) == ([], True, before)
        assert graph.search("What did Ivo Brandt write about?", k=1).evidence[0].source.uri == "doc:poet"
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).sources_unchanged == 3
        # Read anew under another uri nobody is asked: it is kept as the reply to these very requests.
        report = graph.in_corpus("again").ingest([POET], **keywords(CHAT))
        assert (report.problems, server.calls) == ([], before)


def test_a_reply_by_hand_without_entities_takes_those_of_the_model(tmp_path: Path, server: Server) -> None:
    server.is_late = True
    only = {"propositions": [{"text": "He was born in Tessing.", "entities": ["Tessing", "Nobody"], "facts": []}]}
    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server)
        done = graph.failures.accept(failed.id[:6], json.dumps(only))
        assert done.left_out == ("Nobody",)
        kinds = {
            item.name: item.kind
            for item in graph._opened.stores.graph.find(Kind.ENTITY, Scope("default"))
            if hasattr(item, "kind")
        }
        assert "Tessing" in kinds
        assert "Nobody" not in kinds


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("", "the reply holds no JSON object"),
        ("nothing", "the reply holds no JSON object"),
        ('{"entities": []}', "propositions: Field required"),
        ('{"propositions": [{"text": ""}]}', "must not be empty"),
        ('{"propositions": [{"text": "It is.", "topic": "x"}]}', "propositions.0.topic: Extra inputs"),
        ('{"propositions": [', "the JSON breaks at character"),
    ],
    ids=["empty", "words", "half", "blank", "extra", "cut"],
)
def test_a_wrong_reply_by_hand_is_one_clear_error(tmp_path: Path, server: Server, reply: str, says: str) -> None:
    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server, POET)
        before = snapshot(graph._opened.stores, "default")
        with pytest.raises(InputError, match=f"the reply for {failed.id} cannot be used: ") as told:
            graph.failures.accept(failed.id, reply)
        assert says in str(told.value)
        assert f"hlgraph failures show {failed.id}" in str(told.value)
        assert (graph.failures.find(), snapshot(graph._opened.stores, "default")) == ([failed], before)


def test_a_chunk_is_dropped_on_purpose(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server)
        done = graph.failures.drop(failed.id)
        assert (done.mended, graph.failures.find(), is_clean(graph)) == ([failed.id], [], True)
        assert chunk_of(graph, failed).fingerprint.endswith("dropped by hand")
        assert not any("Brandt" in text for text in statements(graph))
        report = graph.ingest(DOCUMENTS, **keywords(CHAT))
        assert (report.sources_unchanged, report.problems) == (3, [])


def test_a_drop_takes_out_what_another_model_said_before(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        graph.ingest([POET], **keywords(CHAT))
        assert statements(graph)
    with opened(tmp_path, server, model="openai:worse") as graph:
        (failed,) = ingested(graph, server, POET)
        assert statements(graph)
        graph.failures.drop(failed.id)
        assert (statements(graph), is_clean(graph)) == (set(), True)


def test_a_failure_whose_chunk_is_not_in_the_graph_is_for_the_next_ingest(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server, POET)
        # Behind the back of the quarantine, as when an ingest is killed before it stores what failed.
        delete_sources([sources(graph)["doc:poet"].id], "default", stores=graph._opened.stores)
        assert graph.failures.find() == [failed]
        with pytest.raises(InputError, match=f"the chunk of {failed.id} is not in the graph; ingest doc:poet again"):
            graph.failures.drop(failed.id)
        before = server.calls
        done = graph.failures.retry()
        assert (done.mended, done.failed, [item.id for item in done.waiting]) == ([], [], [failed.id])
        assert server.calls == before


def test_what_was_extracted_and_not_stored_is_a_failure_still(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with opened(tmp_path, server) as graph:
        (failed,) = ingested(graph, server)
        server.broken.clear()
        for module, again in (
            ("sdk.failures", graph.failures.retry),
            ("ingest.pipeline", lambda: graph.ingest(DOCUMENTS, **keywords(CHAT))),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(f"hlgraph.{module}.persist", killed)
                with pytest.raises(KeyboardInterrupt):
                    again()
            assert graph.failures.find() == [failed]
        before = server.calls
        assert graph.failures.retry().mended == [failed.id]
        assert server.calls == before  # its replies were kept


# What goes


def _texts(folder: Path) -> str:
    place = folder / "cache" / "quarantine"
    return " ".join(path.read_text() for path in place.rglob("*") if path.is_file())


def test_quarantined_text_leaves_with_its_source(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        server.broken = {"Brandt", "Quill"}
        graph.ingest(DOCUMENTS, **keywords(CHAT))
        assert [item.chunk.uri for item in graph.failures.find()] == ["doc:bridge", "doc:poet"]
        graph.delete(["doc:poet"])
        assert [item.chunk.uri for item in graph.failures.find()] == ["doc:bridge"]
        assert "Brandt" not in _texts(tmp_path)
        graph.delete(everything=True)
        assert (graph.failures.find(), _texts(tmp_path)) == ([], "")


def test_an_edit_drops_the_failures_of_chunks_that_are_gone(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        ingested(graph, server)
        graph.ingest([replace(POET, text="Ivo Brandt is forgotten.")], **keywords(CHAT))
        (left,) = graph.failures.find()
        assert (left.chunk.text, "Orne" in _texts(tmp_path)) == ("Ivo Brandt is forgotten.", False)
        # Extracted by other means it lacks nothing any more, and is no failure.
        graph.ingest([replace(POET, text="Ivo Brandt is forgotten.")])
        assert (graph.failures.find(), _texts(tmp_path)) == ([], "")


def test_what_the_quarantine_cannot_delete_is_an_error_of_the_deletion(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with opened(tmp_path, server) as graph:
        ingested(graph, server)
        with monkeypatch.context() as patch:
            patch.setattr("shutil.rmtree", refuse)
            with pytest.raises(StoreUnavailableError, match="still holds text that was deleted from the store"):
                graph.delete(["doc:poet"])
        assert "Brandt" in _texts(tmp_path)
        # The next change of any kind does it.
        graph.delete(["doc:town"])
        assert _texts(tmp_path) == ""


def test_a_failure_stays_while_an_older_extraction_stands_in(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        graph.ingest(DOCUMENTS)
        before = statements(graph)
        (failed,) = ingested(graph, server)
        assert {text for text in before if "Ivo Brandt" in text} <= statements(graph)
        graph.ingest([TOWN], **keywords(CHAT))
        assert graph.failures.find() == [failed]
        server.broken.clear()
        graph.failures.retry()
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).sources_unchanged == 3


def test_headings_that_changed_are_those_that_a_mended_chunk_has(tmp_path: Path) -> None:
    def script(system: str, user: str) -> str:
        if "poison" in user and broken:
            return "no"
        return '{"entities": []}' if system.startswith("You list") else '{"propositions": [{"text": "Poison is."}]}'

    broken: list[bool] = []
    made = Settings(store=f"hlgraph://{tmp_path}/store", models=ModelSettings(quarantine=str(tmp_path / "q")))
    edited = replace(LONG, text=LONG.text.replace("# Poison", "# Venom"))
    chat: Callable[..., ScriptedChat] = lambda: ScriptedChat(script)  # noqa: E731
    with hlgraph.connect(made, embedder=WordEmbedder(), chat=chat()) as graph:
        graph.ingest([LONG], **keywords(CHAT))
        broken.append(True)
        graph.ingest([edited], **keywords(CHAT))
        assert graph.failures.find()
        broken.clear()
        graph.failures.retry()
        assert graph.ingest([edited], **keywords(CHAT)).sources_unchanged == 1
        mended = snapshot(graph._opened.stores, "default")
    other = replace(made, store=f"hlgraph://{tmp_path}/straight")
    with hlgraph.connect(other, embedder=WordEmbedder(), chat=chat()) as graph:
        graph.ingest([edited], **keywords(CHAT))
        assert snapshot(graph._opened.stores, "default") == mended


# The command line


@pytest.fixture
def store(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    monkeypatch.setenv("HLGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HLGRAPH_CHAT", MODEL)
    monkeypatch.setenv("HLGRAPH_CHAT_URL", server.url)
    with opened(tmp_path, server) as graph:
        ingested(graph, server)
    monkeypatch.setattr("hlgraph.models.choose.ChosenModels.embedder", WordEmbedder())
    return tmp_path


def test_the_command_line_lists_shows_retries_and_accepts(store: Path, server: Server) -> None:
    code, out, _ = call("failures", "list")
    assert code == 0
    assert "chunk 0 of doc:poet" in out
    assert "1 chunks failed; next: hlgraph failures show ID" in out
    name = out.split()[0]
    code, out, _ = call("failures", "show", name)
    assert code == 0
    assert "--- reply 2 of 2" in out
    assert out.rstrip().endswith(POET.text)
    code, out, _ = call("failures", "retry", "--all")
    assert code == 1
    assert "0 repaired, 1 failed again" in out
    code, out, err = call("failures", "accept", name, "--file", "-", text="no")
    assert (code, out) == (2, "")
    assert f"the reply for {name} cannot be used" in err
    file = store / "reply.json"
    file.write_text(json.dumps(GOOD))
    code, out, _ = call("failures", "accept", name, "--file", file)
    assert code == 0
    assert "1 repaired, 0 failed again\nadded: 1 statements, 1 facts" in out
    assert call("failures", "list")[1] == "no chunk failed\n"


def test_the_command_line_ends_with_6_when_the_budget_is_spent(store: Path, server: Server) -> None:
    server.broken.clear()
    code, out, err = call("failures", "retry", "--all", "--max-tokens", 1)
    assert (code, out) == (6, "")
    assert "raise the budget" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("failures", "retry"), "give either the ids of the failures to retry"),
        (("failures", "retry", "--all", "abcd"), "give either the ids of the failures to retry"),
        (("failures", "retry", "abcd"), "has no failure 'abcd'"),
        (("failures", "show", "abcd"), "has no failure 'abcd'"),
        (("failures", "accept", "abcd"), "give either --file with the corrected reply"),
        (("failures", "accept", "abcd", "--drop", "--file", "x"), "give either --file with the corrected reply"),
        (("failures", "accept", "abcd", "--file", "nowhere.json"), "nowhere.json: the reply cannot be read"),
        (("failures", "accept", "abcd", "--drop"), "has no failure 'abcd'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_2_and_one_line(store: Path, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


# What was left out of a chunk that is in the graph

INVENTED = "Zorblax invaded Haldrey."


def incomplete(graph: HLGraph, server: Server, *, propositions: list[dict[str, object]] | None = None) -> Quarantined:
    """The one failure after an ingest whose model adds an invented proposition about the poet, or replies with these."""
    said = [*GOOD["propositions"], {"text": INVENTED}] if propositions is None else propositions

    def fault(number: int, asked: Asked) -> str | None:
        if "Brandt wrote" not in asked.text or "You check" in asked.text:
            return None
        return json.dumps({"entities": GOOD["entities"]} if asked.is_for_entities else {"propositions": said})

    server.fault = fault
    report = graph.ingest(DOCUMENTS, **keywords(CHAT))
    assert (report.problems, report.sources_added, report.dropped + report.ungrounded) == ([], 3, 1)
    (failure,) = graph.failures.find()
    return failure


def test_what_was_left_out_is_listed_while_its_extraction_is_stored(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        failure = incomplete(graph, server)
        assert [(item.text, item.reason) for item in failure.dropped] == [(INVENTED, "the text has no Haldrey")]
        assert "Ivo Brandt wrote about the Orne." in statements(graph)
        assert INVENTED not in statements(graph)
        before = server.calls
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).sources_unchanged == 3
        assert graph.ingest(DOCUMENTS, **keywords(replace(CHAT, ground="off"))).sources_unchanged == 3
        assert server.calls == before
        assert graph.failures.find() == [failure]
        assert is_clean(graph)
        graph.delete([POET.uri])
        assert graph.failures.find() == []


def test_a_retry_without_grounding_stores_it_from_the_kept_replies(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        failure = incomplete(graph, server)
        before = server.calls
        still = graph.failures.retry()
        assert (still.mended, [item.id for item in still.failed], still.report.ungrounded) == ([], [failure.id], 1)
        assert "Ivo Brandt wrote about the Orne." in statements(graph)
        done = graph.failures.retry([failure.id], ground="off")
        assert (done.mended, done.failed, server.calls) == ([failure.id], [], before)
        assert INVENTED in statements(graph)
        assert graph.failures.find() == []
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).sources_unchanged == 3
        with pytest.raises(InputError, match="choose words, chat or off"):
            graph.failures.retry(ground="maybe")  # type: ignore[arg-type]


def test_a_dropped_item_is_asked_for_again_by_a_retry(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        failure = incomplete(graph, server, propositions=[*GOOD["propositions"], {"text": None}])
        assert failure.dropped[0].text == '{"text": null}'
        kept = statements(graph)
        server.fault = lambda number, asked: None
        assert graph.failures.retry().mended == [failure.id]
        assert statements(graph) != kept
        assert graph.failures.find() == []


def test_dropping_what_was_left_out_keeps_the_statements(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        failure = incomplete(graph, server)
        before = statements(graph)
        assert graph.failures.drop(failure.id).mended == [failure.id]
        assert (graph.failures.find(), statements(graph)) == ([], before)
        graph.ingest([replace(POET, text=f"{POET.text} He died.")], **keywords(CHAT))


def test_a_reply_accepted_by_hand_is_not_checked(tmp_path: Path, server: Server) -> None:
    with opened(tmp_path, server) as graph:
        failure = incomplete(graph, server)
        reply = json.dumps({"propositions": [{"text": INVENTED}]})
        assert graph.failures.accept(failure.id, reply).mended == [failure.id]
        assert INVENTED in statements(graph)
        assert graph.failures.find() == []


def test_the_command_line_prints_what_was_left_out(store: Path, server: Server) -> None:
    ferry = {"propositions": [{"text": "The ferry crosses the river."}, {"text": INVENTED}]}
    server.fault = lambda number, asked: None if asked.is_for_entities else json.dumps(ferry)
    (store / "new.md").write_text("The ferry crosses the river.")
    code, out, _ = call("ingest", store / "new.md", "--extract", "chat", "--ground", "words")
    assert (code, "not grounded: 1 proposition left out" in out) == (0, True)
    code, out, _ = call("failures", "list", "--json")
    (name,) = (item["id"] for item in json.loads(out)["failures"] if item["dropped"])
    assert f"{name}  chunk 0 of" in call("failures", "list")[1]
    assert "incomplete: 1 left out" in call("failures", "list")[1]
    assert f"--- left out: the text has no Haldrey\n{INVENTED}" in call("failures", "show", name)[1]
    assert call("failures", "retry", name, "--ground", "off")[0] == 0
    code, _, err = call("ingest", store / "new.md", "--ground", "off")
    assert (code, "there is nothing to ground" in err) == (2, True)
