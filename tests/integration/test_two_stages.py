"""An ingest in two stages, one batch written while the next is prepared, makes what it makes in turn, and fails as it does."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import StoreError
from hlgraph.ingest import pipeline
from hlgraph.ingest.report import Report
from hlgraph.progress import Progress
from hlgraph.records import Document, Kind
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.writers_contract import documents, steps_of

_WORDS = tuple(f"w{number}" for number in range(8))


class _Asked(WordEmbedder):
    """Notes the texts that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts.extend(texts)
        return super().embed(texts)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """Stores of which the ingest is told that servers write."""
    with (opened := open_stores(Settings(store=f"hlgraph://{tmp_path}/apart"))).closing:
        opened.stores.graph.is_remote = True
        yield opened.stores


def _stored(stores: Stores) -> set[str]:
    return {record.uri.removeprefix("doc:") for record in stores.graph.find(Kind.SOURCE, Scope("c"))}  # type: ignore[attr-defined]


def _history(seed: int) -> list[list[Document]]:
    """Ingests of new and changed documents; their names are said again in later batches, and are synonyms of each other."""
    rng = random.Random(seed)
    words = [f"{rng.choice('abc')}{number}" for number in range(150)]
    ends = ("is near Orne", "is old", "is near the mill", "stands at Orne")
    found = [[item for word in words[:135] for item in documents(word, text=rng.choice(ends))]]
    for _ in range(2):
        again = rng.sample(words, 20)
        found.append([item for word in again for item in documents(word, text=rng.choice(ends))])
    return found


def _run(stores: Stores, seed: int) -> tuple[object, list[tuple[object, ...]], list[str]]:
    embedder = _Asked()
    steps = replace(steps_of(), embedder=embedder, batch_sources=15)
    told: list[tuple[object, ...]] = []
    for given in _history(seed):
        report = pipeline.ingest(given, "c", stores=stores, steps=steps)
        counts = report.sources_added, report.sources_changed, report.sources_unchanged
        told.append((*counts, report.added, report.removed, report.kept))
    stats = stores.graph.stats("c")[0]
    assert stats.calibration is not None
    return (snapshot(stores, "c"), stats.records, stats.relationships, stats.calibration), told, sorted(embedder.texts)


def test_a_history_makes_the_same_graph_counts_and_calls_as_in_turn(stores: Stores, tmp_path: Path) -> None:
    seed = 20
    with (opened := open_stores(Settings(store=f"hlgraph://{tmp_path}/turn"))).closing:
        in_turn = _run(opened.stores, seed)
    assert _run(stores, seed) == in_turn


def test_the_next_batch_is_prepared_while_one_is_written_and_no_other(stores: Stores) -> None:
    extracted: list[list[str]] = []
    is_prepared, most = threading.Event(), list[int]()

    def extract(texts: list[str]) -> None:
        extracted.append(texts)
        if len(extracted) == 2:
            is_prepared.set()

    def write() -> None:
        assert is_prepared.wait(10)
        most.append(len(extracted) - len(most))

    steps = replace(steps_of(extract), before_writing=write)
    report = pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=steps)
    assert report.sources_added == len(_WORDS)
    assert most[0] == 2
    assert max(most) == 2


def _failing(at: int, error: BaseException, *, before: Callable[[], object] = tuple) -> Callable[[object], None]:
    """Raises an error at the call of this number, from 1."""
    calls: list[object] = []

    def call(given: object = None) -> None:
        calls.append(given)
        if len(calls) == at:
            before()
            raise error

    return call


def test_an_error_of_writing_is_raised_once_and_the_same_call_completes_the_work(stores: Stores) -> None:
    steps = replace(steps_of(), before_writing=_failing(2, StoreError("the disk is full")))  # type: ignore[arg-type]
    with pytest.raises(StoreError, match=r"^the disk is full$"):
        pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=steps)
    assert _stored(stores) == {"w0", "w1"}
    assert stores.graph.unfinished() == ()
    again = pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=steps_of())
    assert (again.sources_added, again.sources_unchanged) == (6, 2)


@pytest.mark.parametrize("error", [StoreError("no model answers"), KeyboardInterrupt()])
def test_an_error_of_preparing_leaves_what_was_prepared_before_written(stores: Stores, error: BaseException) -> None:
    is_writing = threading.Event()
    count: list[int] = []

    def write() -> None:
        count.append(1)
        if len(count) == 2:
            is_writing.set()

    extract = _failing(3, error, before=lambda: is_writing.wait(10))
    with pytest.raises(type(error)):
        pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=replace(steps_of(extract), before_writing=write))
    assert _stored(stores) == {"w0", "w1", "w2", "w3"}
    assert stores.graph.unfinished() == ()
    assert not [item for item in threading.enumerate() if item.name.startswith("hlgraph-writer")]


def test_one_listener_hears_both_stages_one_event_at_a_time(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    heard: list[Progress] = []
    inside = threading.Lock()

    def hear(event: Progress) -> None:
        assert inside.acquire(blocking=False)
        heard.append(event)
        inside.release()

    with progress.listening(hear):
        report: Report = pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=steps_of())
        pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=steps_of())
    ends = [item for item in heard if item.step == "persist" and item.done == item.total]
    assert [item.sources for item in ends] == [2, 4, 6, 8]
    assert [item.statements for item in ends] == [2, 4, 6, 8]
    assert [item.so_far for item in heard if item.step == "extract" and item.done == item.total] == [2, 4, 6, 8]
    assert heard[-1].sources == 16
    assert set(report.seconds) == {"read", "resolve", "chunk", "extract", "embed", "persist"}


def test_an_error_of_a_listener_in_either_stage_ends_the_ingest(stores: Stores) -> None:
    def hear(event: Progress) -> None:
        if event.step == "persist":
            raise StoreError("the terminal is gone")

    with pytest.raises(StoreError, match="terminal"), progress.listening(hear):
        pipeline.ingest(documents(*_WORDS), "c", stores=stores, steps=steps_of())
    assert stores.graph.unfinished() == ()
