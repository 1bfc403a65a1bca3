"""A corpus stays equal to a folder: what is added, changed and removed, before the watch began and while it runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import hlgraph
from hlgraph.errors import InputError, MissingExtraError, StoreLockedError
from hlgraph.ingest.options import IngestOptions
from hlgraph.ingest.run import Ingestion
from hlgraph.sdk import watching
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.watching import WatchEvent, watch
from hlgraph.testing.embedder import WordEmbedder


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(tmp_path / "store", embedder=WordEmbedder()) as graph:
        yield graph


def stored(graph: HLGraph) -> set[str]:
    return {source.uri.rpartition("/")[2] for source in graph.sources.list(limit=100)}


def until(events: Iterator[WatchEvent], count: int) -> set[tuple[str, str]]:
    """The next events: what happened to which file."""
    return {(event.action, event.uri.rstrip("/").rpartition("/")[2]) for event in islice(events, count)}


def test_a_corpus_follows_its_folder(graph: HLGraph, tmp_path: Path) -> None:
    folder, stop = tmp_path / "docs", threading.Event()
    (folder / "old").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "old/c.txt", "old/d.txt"):
        (folder / name).write_text(f"Mara Quill left {name[-5]}.")
    (folder / "cut.json").write_text("{")
    events = watch(graph, folder, options=IngestOptions(), debounce=0.1, stop=stop)
    first = next(events)
    assert (first.action, first.text) == ("synchronised", "4 added, 0 changed, 0 unchanged, 0 removed, 1 failed")
    assert until(events, 1) == {("failed", "cut.json")}
    (folder / "a.txt").write_text("Ivo Brandt came.")
    (folder / "new.txt").write_text("Petra Voss sold it.")
    (folder / "b.txt").unlink()
    (folder / ".b.txt.swp").write_text("x")
    (folder / "b.log").write_text("x")
    seen = set[tuple[str, str]]()
    while len(seen) < 3:
        seen |= until(events, 1)
    assert seen == {("read", "a.txt"), ("read", "new.txt"), ("removed", "b.txt")}
    assert stored(graph) == {"a.txt", "new.txt", "c.txt", "d.txt"}
    assert "Ivo" in graph.sources.open(str(folder / "a.txt")).text
    (folder / "old").rename(tmp_path / "away")
    (folder / "cut.json").write_text('[{"id": 1, "text": "Orsel Works paid."}]')
    while stored(graph) != {"a.txt", "new.txt", "cut.json#1"}:
        next(events)
    stop.set()
    assert [event.action for event in events if event.action != "removed"] == []


def test_what_a_store_does_not_take_is_tried_again(
    graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, bring = tmp_path / "docs", Ingestion.bring
    folder.mkdir()
    (folder / "a.txt").write_text("Mara Quill left.")
    events = watch(graph, folder, options=IngestOptions(), debounce=0.1)
    assert until(events, 1) == {("synchronised", "docs")}

    def locked(*_: object, **__: object) -> None:
        monkeypatch.setattr(Ingestion, "bring", bring)
        raise StoreLockedError("another process is writing")

    monkeypatch.setattr(watching, "_AGAIN", 0.2)
    monkeypatch.setattr(Ingestion, "bring", locked)
    (folder / "b.txt").write_text("Ivo Brandt came.")
    assert until(events, 2) == {("failed", "docs"), ("read", "b.txt")}
    assert stored(graph) == {"a.txt", "b.txt"}


def test_what_cannot_be_watched(graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no folder"):
        next(watch(graph, tmp_path / "none", options=IngestOptions()))
    with pytest.raises(InputError, match="debounce"):
        next(watch(graph, tmp_path, options=IngestOptions(), debounce=0))
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(MissingExtraError, match=r"hlgraph\[watch\]"):
        next(watch(graph, tmp_path, options=IngestOptions()))
