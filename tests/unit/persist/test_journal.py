"""The journal: the order of writes, and that any interruption ends in the same state."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from hlgraph.change import ChangeState, Outcome, Pending
from hlgraph.chunk import WholeChunker
from hlgraph.errors import StoreError, StoreUnavailableError
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.persist.assemble import removal
from hlgraph.persist.journal import abandon, finish, persist
from hlgraph.records import Document, Kind, Metadata, Record, Source
from hlgraph.retrieve import SearchRequest, search
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import GraphStore, Scope, Stores, VectorBatch, VectorStore
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor, change_for, snapshot
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_STEPS = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
_WRITES = ("stage", "advance", "upsert", "delete")

# From the tiny corpus to this: one source is new, one lost its statement and an entity, one has a new title (its chunk is
# extracted again), one only new metadata.
_NEXT = (
    Document("doc:new", "Ivo Brandt met Mara Quill. They wrote about the Aldane Bridge.", "Meeting", {"year": 1925}),
    Document("doc:bridge", "The Aldane Bridge opened in 1931. It fell.", "Aldane Bridge", {"category": "structure"}),
    replace(DOCUMENTS[1], title="The engineer"),
    replace(DOCUMENTS[2], metadata={"category": "town", "year": 1200}),
    DOCUMENTS[3],
)


class _Watched:
    """A store of which every write is noted in a list shared with its partner, and one write fails.

    ``fails_at``: the number of the write, from 1, that raises; when ``is_done`` only after it was done.
    """

    def __init__(
        self, inner: GraphStore | VectorStore, log: list[str], *, fails_at: int = 0, is_done: bool = False
    ) -> None:
        self._inner, self._log, self._fails_at, self._is_done = inner, log, fails_at, is_done
        self.calls: list[tuple[str, tuple[object, ...]]] = []

    def __getattr__(self, name: str) -> object:
        method = cast("Callable[..., object]", getattr(self._inner, name))
        return self._noting(name, method) if name in _WRITES else method

    def _noting(self, name: str, method: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, beside: Callable[[], object] = tuple) -> object:
            beside()  # one after the other, as in the embedded store
            self._log.append(f"advance {args[1]}" if name == "advance" else name)
            self.calls.append((name, args))
            is_failing = len(self._log) == self._fails_at
            if is_failing and not self._is_done:
                raise StoreUnavailableError("the disk is away")
            result = method(*args)
            if is_failing:
                raise StoreUnavailableError("the disk is away")
            return result

        return call


def _watched(stores: Stores, *, fails_at: int = 0, is_done: bool = False) -> tuple[Stores, list[str], _Watched]:
    """The same stores, the list of their writes, and the watched vector store."""
    log: list[str] = []
    graph = _Watched(stores.graph, log, fails_at=fails_at, is_done=is_done)
    vectors = _Watched(stores.vectors, log, fails_at=fails_at, is_done=is_done)
    return Stores(cast("GraphStore", graph), cast("VectorStore", vectors)), log, vectors


def _write(documents: Sequence[Document], stores: Stores) -> Outcome:
    with stores.graph.lock():
        change = change_for(documents, stores, embedder=_EMBEDDER)
        assert change is not None
        return persist(change, stores)


def _records(stores: Stores) -> list[list[Record]]:
    """What the graph shows."""
    return [list(stores.graph.find(kind, Scope(CORPUS))) for kind in Kind]


def _answers(stores: Stores) -> list[list[tuple[str, str, Metadata]]]:
    """What searches show: texts, and the sources as they are described."""
    found: list[list[tuple[str, str, Metadata]]] = []
    for strategy, mode in (("statement", "vector"), ("chunk", "text"), ("chunk_entity", "hybrid"), ("topic", "vector")):
        request = SearchRequest("Who designed the Aldane Bridge, wrote, or fell?", CORPUS, 20, mode=mode)  # type: ignore[arg-type]
        result = search(request, strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
        found.append(sorted((item.text, item.source.title, dict(item.source.metadata)) for item in result.evidence))
    return found


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the tiny corpus, to be copied."""
    folder = tmp_path_factory.mktemp("before") / "store"
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        _write(DOCUMENTS, opened.stores)
    return folder


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, list[object]], object]:
    """What a fresh ingest of the new state looks like, and what it answers."""
    opened = open_stores(f"hlgraph://{tmp_path_factory.mktemp('after')}/store")
    with opened.closing:
        _write(_NEXT, opened.stores)
        return snapshot(opened.stores, CORPUS), _answers(opened.stores)


@pytest.fixture
def opened(before: Path, tmp_path: Path) -> Opened:
    shutil.copytree(before, tmp_path / "store")
    return open_stores(f"hlgraph://{tmp_path}/store")


def _again(tmp_path: Path) -> Opened:
    return open_stores(f"hlgraph://{tmp_path}/store")


def _check_clean(opened: Opened) -> None:
    assert [item for item in opened.check() if not item.is_fine] == []


# The order


def test_new_sources_are_staged_then_indexed_then_published(tmp_path: Path) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/new")
    with opened.closing:
        stores, log, vectors = _watched(opened.stores)
        _write(DOCUMENTS, stores)
        assert log == ["stage", "upsert", "advance published", "advance done"]
        [(_, (batch,))] = vectors.calls
        assert isinstance(batch, VectorBatch)
        assert {source.uri for source in batch.sources} == {document.uri for document in DOCUMENTS}
        assert {block.kind for block in batch.blocks} == {Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY}
        _check_clean(opened)


def test_what_was_visible_is_replaced_and_removed_only_after_the_flip(opened: Opened) -> None:
    with opened.closing:
        stores, log, vectors = _watched(opened.stores)
        outcome = _write(_NEXT, stores)
        assert log == ["stage", "upsert", "advance published", "upsert", "delete", "advance done"]
        first, second = (cast("VectorBatch", args[0]) for name, args in vectors.calls if name == "upsert")
        assert first.change_id == second.change_id
        assert [source.uri for source in first.sources] == ["doc:new"]
        assert [source.uri for source in second.sources] == ["doc:bridge", "doc:engineer", "doc:town"]
        # The chunk that is known by a new title takes the place of another, and so does the topic with other statements.
        chunks, topics = second.blocks
        assert (chunks.kind, chunks.texts) == (Kind.CHUNK, ("The engineer\nMara Quill was born in Tessing.",))
        assert (topics.kind, topics.texts) == (Kind.TOPIC, ("aldane bridge",))
        gone = cast("Mapping[str, Sequence[str]]", vectors.calls[-1][1][1])
        assert set(gone) == {"chunk", "statement", "topic"}
        assert {kind: set(names) for kind, names in gone.items()} == {
            kind: set(names) for kind, names in outcome.vanished.items() if kind != "fact"
        }


def test_new_metadata_alone_is_told_to_the_vectors_after_the_flip(opened: Opened) -> None:
    with opened.closing:
        stores, log, vectors = _watched(opened.stores)
        _write([replace(DOCUMENTS[2], metadata={"category": "town"})], stores)
        assert log == ["stage", "advance published", "upsert", "advance done"]
        batch = cast("VectorBatch", vectors.calls[0][1][0])
        assert (len(batch.sources), batch.blocks) == (1, ())


def test_a_removal_deletes_rows_after_the_flip(opened: Opened) -> None:
    with opened.closing:
        stores, log, vectors = _watched(opened.stores)
        poet = source_id(CORPUS, "doc:poet")
        with stores.graph.lock():
            persist(removal(CORPUS, [poet], versions=[1]), stores)
        assert log == ["stage", "advance published", "delete", "advance done"]
        gone = cast("Mapping[str, Sequence[str]]", vectors.calls[-1][1][1])
        assert {kind: len(names) for kind, names in gone.items()} == {
            "source": 1, "chunk": 1, "statement": 1, "topic": 1, "entity": 1,
        }  # fmt: skip
        _check_clean(opened)


# Interruptions


@pytest.mark.parametrize("is_done", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("fails_at", [1, 2, 3, 4, 5, 6])
def test_a_change_interrupted_at_any_write_is_finished_to_the_same_state(
    opened: Opened, tmp_path: Path, after: tuple[Mapping[str, list[object]], object], fails_at: int, *, is_done: bool
) -> None:
    with opened.closing:
        old = _answers(opened.stores), _records(opened.stores)
        stores, log, _ = _watched(opened.stores, fails_at=fails_at, is_done=is_done)
        with pytest.raises(StoreUnavailableError):
            _write(_NEXT, stores)
        assert len(log) == fails_at
    opened = _again(tmp_path)  # another process finds what was left
    with opened.closing:
        is_flipped = fails_at > 3 or (fails_at == 3 and is_done)
        if not is_flipped:
            assert (_answers(opened.stores), _records(opened.stores)) == old
        else:
            texts = {text for found in _answers(opened.stores) for text, *_ in found}
            assert any("It fell." in text for text in texts)
            assert not any("designed by" in text for text in texts)
        is_recorded = fails_at > 1 or is_done
        with opened.stores.graph.lock() as pending:
            assert len(pending) == int(is_recorded and not (fails_at == 6 and is_done))
            assert [item.state for item in pending] == [
                ChangeState.PUBLISHED if is_flipped else ChangeState.STAGED for _ in pending
            ]
            for item in pending:
                finish(item, opened.stores)
        if not is_recorded:
            _write(_NEXT, opened.stores)
        assert (snapshot(opened.stores, CORPUS), _answers(opened.stores)) == after
        _check_clean(opened)


def test_finishing_twice_changes_nothing(opened: Opened, after: tuple[Mapping[str, list[object]], object]) -> None:
    with opened.closing:
        stores = opened.stores
        with stores.graph.lock():
            change = change_for(_NEXT, stores, embedder=_EMBEDDER)
            assert change is not None
            stores.graph.stage(change)
            staged = Pending(change, ChangeState.STAGED, Outcome())
            outcome = stores.graph.advance(change.id, ChangeState.PUBLISHED)
            # It was published by another that stopped: one who still believes it staged writes its rows again.
            assert finish(staged, stores) == outcome
            version = stores.graph.stats(CORPUS)[0].version
            for _ in range(2):
                finish(Pending(change, ChangeState.PUBLISHED, outcome), stores)
            assert stores.graph.stats(CORPUS)[0].version == version
        assert snapshot(stores, CORPUS) == after[0]
        _check_clean(opened)


@pytest.mark.parametrize("fails_at", [2, 4, 5])
def test_an_ingest_whose_vector_store_fails_is_completed_by_the_next(
    opened: Opened, after: tuple[Mapping[str, list[object]], object], fails_at: int
) -> None:
    with opened.closing:
        # Brought into the state that the pipeline gives: it names its chunker and extractor in the checksums.
        pipeline.ingest(DOCUMENTS, CORPUS, stores=opened.stores, steps=_STEPS)
        old = _answers(opened.stores)
        stores, log, _ = _watched(opened.stores, fails_at=fails_at)
        with pytest.raises(StoreUnavailableError) as error:
            pipeline.ingest(_NEXT, CORPUS, stores=stores, steps=_STEPS)
        assert error.value.retryable
        assert log[-1] in ("upsert", "delete")
        assert (_answers(opened.stores) == old) is (fails_at == 2)
        embedder = WordEmbedder()
        report = pipeline.ingest(_NEXT, CORPUS, stores=opened.stores, steps=replace(_STEPS, embedder=embedder))
        assert (report.resumed, report.sources_unchanged, report.failed) == (1, len(_NEXT), [])
        assert embedder.embedded == []  # all that it needed stood in the journal
        assert _without_checksums(snapshot(opened.stores, CORPUS)) == _without_checksums(after[0])
        assert _answers(opened.stores) == after[1]
        _check_clean(opened)
        again = pipeline.ingest(_NEXT, CORPUS, stores=opened.stores, steps=_STEPS)
        assert (again.resumed, again.sources_unchanged) == (0, len(_NEXT))


def _without_checksums(found: Mapping[str, list[object]]) -> dict[str, list[object]]:
    sources: list[object] = [replace(item, checksum="") for item in found["source"] if isinstance(item, Source)]
    return {**found, "source": sources}


def test_deleting_finishes_what_was_left_too(opened: Opened) -> None:
    with opened.closing:
        stores, _, _ = _watched(opened.stores, fails_at=2)
        with pytest.raises(StoreUnavailableError):
            _write(_NEXT, stores)
        report = delete_sources([source_id(CORPUS, "doc:bridge")], CORPUS, stores=opened.stores)
        assert (report.resumed, report.sources_removed) == (1, 1)
        uris = {item.uri for item in opened.stores.graph.find(Kind.SOURCE, Scope(CORPUS)) if isinstance(item, Source)}
        assert uris == {document.uri for document in _NEXT} - {"doc:bridge"}
        _check_clean(opened)


def test_changes_of_other_corpora_are_left_to_their_writers(opened: Opened) -> None:
    with opened.closing:
        stores, _, _ = _watched(opened.stores, fails_at=2)
        with pytest.raises(StoreUnavailableError):
            pipeline.ingest(DOCUMENTS[:1], "other", stores=stores, steps=_STEPS)
        assert opened.stores.graph.stats("other") == ()
        report = pipeline.ingest(DOCUMENTS[1:2], "third", stores=opened.stores, steps=_STEPS)
        assert (report.resumed, report.sources_added) == (0, 1)
        assert [item.change.corpus for item in opened.stores.graph.unfinished()] == ["other"]
        assert opened.stores.graph.unfinished("third") == opened.stores.graph.stats("other") == ()
        report = pipeline.ingest(DOCUMENTS[:1], "other", stores=opened.stores, steps=_STEPS)
        assert (report.resumed, report.sources_unchanged) == (1, 1)
        assert opened.stores.graph.stats("other")[0].records[Kind.STATEMENT] == 2
        _check_clean(opened)


# Giving up


@pytest.mark.parametrize("fails_at", [2, 3], ids=["nothing written", "rows written"])
def test_a_change_that_was_never_visible_can_be_given_up(opened: Opened, tmp_path: Path, fails_at: int) -> None:
    with opened.closing:
        old = snapshot(opened.stores, CORPUS), _answers(opened.stores)
        stores, _, _ = _watched(opened.stores, fails_at=fails_at)
        with pytest.raises(StoreUnavailableError):
            _write(_NEXT, stores)
    opened = _again(tmp_path)
    with opened.closing:
        with opened.stores.graph.lock() as pending:
            abandon(pending[0], opened.stores)
            abandon(pending[0], opened.stores)
        with opened.stores.graph.lock() as pending:
            assert pending == ()
        assert (snapshot(opened.stores, CORPUS), _answers(opened.stores)) == old
        _check_clean(opened)
        _write(_NEXT, opened.stores)
        assert not [item for item in opened.check() if not item.is_fine]


def test_a_change_that_is_visible_can_only_be_finished(opened: Opened) -> None:
    with opened.closing:
        stores, _, _ = _watched(opened.stores, fails_at=4)
        with pytest.raises(StoreUnavailableError):
            _write(_NEXT, stores)
        with opened.stores.graph.lock() as pending:
            with pytest.raises(StoreError, match="visible already; run any ingest"):
                abandon(pending[0], opened.stores)
            finish(pending[0], opened.stores)
        _check_clean(opened)
