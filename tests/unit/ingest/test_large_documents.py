"""A document that is too large for one change goes in parts, which are published together: the store is that of one change."""

from __future__ import annotations

import errno
import io
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hlgraph.change import Change, ChangeState, LargeChange, Parts, VectorBlock
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import ModelMismatchError, StoreError, StoreUnavailableError
from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.ids import checksum
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.ingest.report import Report
from hlgraph.records import Document, Extraction, Kind, Source
from hlgraph.stores.embedded import rows
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import Scope, Stores, VectorQuery
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_BOUND = 1_500
_FIRST = (
    "Mara",
    "Ivo",
    "Emeric",
    "Una",
    "Sela",
    "Tomas",
    "Idris",
    "Petra",
    "Olav",
    "Runa",
    "Bastian",
    "Cleo",
    "Dario",
    "Edda",
)
_LAST = ("Quill", "Brandt", "Vaude", "Moss", "Vantongeren", "Lind", "Okafor", "Strand", "Hale", "Roth", "Weir", "Pell")
_VERBS = ("designed", "visited", "left", "wrote about", "repaired", "opened")
_PLACES = ("Tessing", "Quarrick", "Orne", "Gannow", "Aldane", "Loom", "Vessel", "Harrow", "Selby", "Norden")
_THINGS = ("Bridge", "Mill", "Light", "Abbey", "Hall", "Canal", "Tower", "Street")


def _text(seed: int, sentences: int) -> str:
    rng = random.Random(seed)

    def sentence() -> str:
        person, place = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}", f"{rng.choice(_PLACES)} {rng.choice(_THINGS)}"
        return f"{person} {rng.choice(_VERBS)} the {place} in {rng.randint(1800, 1999)}."

    paragraphs = [" ".join(sentence() for _ in range(rng.randint(2, 6))) for _ in range(sentences // 4)]
    headings = [f"# {rng.choice(_PLACES)}\n\n" if rng.random() < 0.3 else "" for _ in paragraphs]
    return "\n\n".join(f"{heading}{paragraph}" for heading, paragraph in zip(headings, paragraphs, strict=True))


_LARGE = Document("doc:large", _text(1, 200), "Tessing", {"year": 1900})
_SMALL = [Document(f"doc:{at}", _text(10 + at, 8), "Orne") for at in range(3)]


class _Extractor(LocalExtractor):
    """The rules; calls a function before it extracts for the n-th time."""

    def __init__(self, before: dict[int, Callable[[], object]]) -> None:
        self.before = before
        self.calls = 0

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        self.calls += 1
        self.before.get(self.calls, tuple)()
        return super().extract(chunks)


def _ingest(
    stores: Stores, documents: Sequence[Document], *, bound: int = _BOUND, extractor: LocalExtractor | None = None
) -> Report:
    chosen = LocalExtractor() if extractor is None else extractor
    steps = pipeline.Steps(ContentDefinedChunker(60, 0.2), chosen, WordEmbedder(), batch_characters=bound)
    return pipeline.ingest(documents, "c", stores=stores, steps=steps)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Opened, Opened]]:
    """Two stores: one for documents as whole changes, and one for parts."""
    whole, parts = (open_stores(f"hlgraph://{tmp_path}/{name}") for name in ("whole", "parts"))
    with whole.closing, parts.closing:
        yield whole, parts


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[Change]:
    """What was staged."""
    changes: list[Change] = []
    stage = EmbeddedGraphStore.stage

    def noted(self: EmbeddedGraphStore, change: Change) -> None:
        changes.append(change)
        stage(self, change)

    monkeypatch.setattr(EmbeddedGraphStore, "stage", noted)
    return changes


def _check_equal(one: Opened, other: Opened) -> None:
    """Records, links, vectors, full text, statistics and what doctor says."""
    assert dict(snapshot(one.stores, "c")) == dict(snapshot(other.stores, "c"))
    stats = [replace(opened.stores.graph.stats("c")[0], version=0) for opened in (one, other)]
    assert stats[0] == stats[1]
    assert stats[0].calibration is not None
    for opened in (one, other):
        assert [item for item in opened.check() if not item.is_fine] == []
    for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY):
        query = VectorQuery(kind, "c", k=30, text="who repaired the Aldane Bridge")
        assert one.stores.vectors.search(query) == other.stores.vectors.search(query)


def test_parts_make_the_store_of_one_change(pair: tuple[Opened, Opened], staged: list[Change]) -> None:
    """A new document beside stored ones; most of it edited; all of its chunks extracted again, since its title changed."""
    lines = _LARGE.text.split("\n\n")
    edited = replace(_LARGE, text="\n\n".join([*lines[:10], *_text(2, 150).split("\n\n"), *lines[30:]]))
    history = [[*_SMALL, _LARGE], [edited], [replace(edited, title="Quarrick")], [_SMALL[0]]]
    whole, parts = pair
    for documents in history:
        for document in documents:
            counts = [_ingest(whole.stores, [document], bound=10**6), _ingest(parts.stores, [document])]
            assert counts[0].added == counts[1].added
            assert counts[0].removed == counts[1].removed
            assert counts[0].kept == counts[1].kept
        _check_equal(whole, parts)
    pieces = [piece for change in staged if isinstance(change, LargeChange) for piece in change.pieces()]
    assert sum(isinstance(change, LargeChange) for change in staged) == 3
    assert sum(bool(piece.chunks) for piece in pieces) > 20
    assert max(sum(len(chunk.text) for chunk in piece.chunks) for piece in pieces) < 2 * _BOUND


@pytest.mark.parametrize("call", [1, 4])
def test_a_failure_between_parts_leaves_nothing(tmp_path: Path, pair: tuple[Opened, Opened], call: int) -> None:
    def fail() -> None:
        raise StoreUnavailableError("stop")

    whole, parts = pair
    _ingest(whole.stores, [_LARGE], bound=10**6)
    files = {path.name for path in (tmp_path / "whole").rglob("*")}
    with pytest.raises(StoreUnavailableError, match="stop"):
        _ingest(parts.stores, [_LARGE], extractor=_Extractor(before={call: fail}))
    assert parts.stores.graph.stats() == ()
    assert parts.stores.graph.unfinished() == ()
    assert {path.name for path in (tmp_path / "parts").rglob("*")} <= files
    assert _ingest(parts.stores, [_LARGE]).sources_added == 1
    _check_equal(whole, parts)


def test_a_failure_while_parts_are_written_leaves_nothing(
    pair: tuple[Opened, Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is in the journal, without its content, and the next writer discards it."""
    whole, parts = pair
    for opened in pair:
        _ingest(opened.stores, [_SMALL[0]])
    before = dict(snapshot(whole.stores, "c"))
    run, pieces = rows._run, list[str]()

    def part_way(connection: sqlite3.Connection, name: str, *, corpus: str) -> None:
        run(connection, name, corpus=corpus)
        pieces.append(name)
        if len(pieces) == 4:
            raise StoreUnavailableError("stop")

    with monkeypatch.context() as broken:
        broken.setattr(rows, "_run", part_way)
        with pytest.raises(StoreUnavailableError, match="stop"):
            _ingest(parts.stores, [_LARGE])
    assert pieces == ["publish_piece"] * 4
    (left,) = parts.stores.graph.unfinished()
    assert (left.change.part_count > 3, left.change.vectors, left.change.chunks) == (True, (), ())
    assert dict(snapshot(parts.stores, "c")) == before
    with parts.stores.graph.lock("c"), pytest.raises(StoreError, match="its parts went with the run that made them"):
        parts.stores.graph.advance(left.change.id, ChangeState.PUBLISHED)
    assert _ingest(parts.stores, [_SMALL[0]]).resumed == 0
    assert parts.stores.graph.unfinished() == ()
    assert dict(snapshot(parts.stores, "c")) == before
    _ingest(whole.stores, [_LARGE], bound=10**6)
    _ingest(parts.stores, [_LARGE])
    _check_equal(whole, parts)


def test_entities_that_another_writer_stores_or_removes_meanwhile(pair: tuple[Opened, Opened]) -> None:
    """The graph is the one that the same ingests and deletions make one after the other."""
    whole, parts = pair
    for opened in pair:
        _ingest(opened.stores, _SMALL[:2])

    def other_writer(stores: Stores) -> None:
        _ingest(stores, _SMALL[2:])
        gone = [item.id for item in stores.graph.find(Kind.SOURCE, Scope("c")) if isinstance(item, Source)][:1]
        delete_sources(gone, "c", stores=stores)

    other_writer(whole.stores)
    _ingest(whole.stores, [_LARGE], bound=10**6)
    _ingest(parts.stores, [_LARGE], extractor=_Extractor(before={4: lambda: other_writer(parts.stores)}))
    _check_equal(whole, parts)


def test_vectors_of_several_lengths_are_refused() -> None:
    parts = Parts(io.BytesIO)
    blocks = [
        VectorBlock.of(Kind.ENTITY, [(str(length), "mill", "")], matrix=np.ones((1, length), dtype=np.float32))
        for length in (4, 5)
    ]
    with pytest.raises(ModelMismatchError, match="of 4 and of 5 dimensions for one document"):
        parts.append(Change(checksum("x"), "c", vectors=tuple(blocks)))


def test_a_full_disk_is_named() -> None:
    class Full(io.BytesIO):
        def write(self, *_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    parts = Parts(Full)
    with pytest.raises(StoreUnavailableError, match=r"No space left on device.*free some space"):
        parts.append(Change(checksum("x"), "c"))
