"""A corpus stays equal to a folder: what is added, changed and removed, before the watch began and while it runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import boto3
import pytest

import hlgraph
from hlgraph.errors import InputError, MissingExtraError, ReadError, StoreLockedError
from hlgraph.ingest.options import IngestOptions
from hlgraph.ingest.run import Ingestion
from hlgraph.read.s3 import S3Object
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
    (folder / "b.bin").write_text("x")
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


def test_an_empty_file_is_said_once_wherever_it_comes_from(graph: HLGraph, tmp_path: Path) -> None:
    folder, stop = tmp_path / "docs", threading.Event()
    (folder / "old").mkdir(parents=True)
    (folder / "a.txt").write_text("Mara Quill left.")
    for name in ("old/none.md", ".hidden.txt", "none.bin"):
        (folder / name).touch()
    events = watch(graph, folder, options=IngestOptions(), debounce=0.1, stop=stop)
    assert until(events, 2) == {("synchronised", "docs"), ("left_out", "none.md")}
    (folder / "new.txt").touch()
    assert next(events) == WatchEvent("left_out", (folder / "new.txt").as_uri(), "empty")
    (folder / "a.txt").write_text("")  # what it said is no longer said
    assert until(events, 2) == {("removed", "a.txt"), ("left_out", "a.txt")}
    (folder / "new.txt").write_text("Ivo Brandt came.")
    assert until(events, 1) == {("read", "new.txt")}
    assert stored(graph) == {"new.txt"}
    stop.set()
    assert list(events) == []


def _away(folder: Path) -> None:
    """The folder is gone for a while, as a disk that is not mounted."""
    folder.rename(folder.with_name("old"))


def _empty(folder: Path) -> None:
    """An empty folder is in its place, as where a disk was unmounted."""
    folder.rename(folder.with_name("old"))
    folder.mkdir()


def _link(folder: Path) -> None:
    """The folder is a link, which leads to an empty folder."""
    folder.rename(folder.with_name("old"))
    folder.with_name("nothing").mkdir()
    folder.symlink_to(folder.with_name("nothing"))


@pytest.mark.parametrize("change", [_away, _empty, _link])
def test_a_folder_that_goes_away_removes_nothing_and_is_followed_where_it_comes_back(
    change: Callable[[Path], None], graph: HLGraph, tmp_path: Path
) -> None:
    folder, stop, new = tmp_path / "docs", threading.Event(), tmp_path / "new"
    for each in (folder, new):
        each.mkdir()
    for path in (folder / "a.txt", folder / "b.txt", new / "b.txt", new / "c.txt"):
        path.write_text(f"Mara Quill left {path.stem}.")
    events = watch(graph, folder, options=IngestOptions(), debounce=0.1, stop=stop)
    assert until(events, 1) == {("synchronised", "docs")}
    change(folder)
    event = next(events)
    assert (event.action, event.text.partition(",")[0]) == ("failed", "the folder went away")
    assert stored(graph) == {"a.txt", "b.txt"}
    if change is _empty:
        folder.rmdir()
    if change is _link:
        folder.unlink()
    new.rename(folder)
    event = next(events)
    assert (event.action, event.text) == ("synchronised", "1 added, 0 changed, 1 unchanged, 1 removed, 0 failed")
    (folder / "d.txt").write_text("Ivo Brandt came.")
    assert until(events, 1) == {("read", "d.txt")}
    assert stored(graph) == {"b.txt", "c.txt", "d.txt"}
    stop.set()
    assert list(events) == []


def test_a_link_that_leads_to_another_folder_is_followed(graph: HLGraph, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text("Mara Quill left.")
    (tmp_path / "docs").symlink_to("one")
    events = watch(graph, tmp_path / "docs", options=IngestOptions(), debounce=0.1)
    assert until(events, 1) == {("synchronised", "docs")}
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(tmp_path / "docs")
    assert until(events, 2) == {("failed", "docs"), ("synchronised", "docs")}
    assert stored(graph) == {"two.txt"}


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


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws_models: None) -> tuple[str, Any]:
    """A bucket of a local server, and a client."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    client = boto3.client("s3")
    client.create_bucket(Bucket="watched")
    return "watched", client


def test_a_corpus_follows_its_folder_in_s3(
    graph: HLGraph, bucket: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (name, client), stop = bucket, threading.Event()

    def put(key: str, text: str) -> None:
        client.put_object(Bucket=name, Key=f"docs/{key}", Body=text.encode())

    for key in ("a.txt", "b c#1.txt", "old/c.txt", ".hidden.txt", "rows.jsonl"):
        put(key, '{"id": "1", "text": "Mara Quill left."}' if key == "rows.jsonl" else f"Mara Quill left {key[0]}.")
    read: list[str] = []
    monkeypatch.setattr(
        S3Object, "opened", lambda self, opened=S3Object.opened: read.append(self.place.key) or opened(self)
    )
    events = watch(graph, f"s3://{name}/docs", options=IngestOptions(), debounce=0.05, stop=stop)
    first = next(events)
    assert (first.action, first.uri) == ("synchronised", f"s3://{name}/docs/")
    assert first.text == "4 added, 0 changed, 0 unchanged, 0 removed, 0 failed"
    read.clear()
    put("a.txt", "Ivo Brandt came.")
    put("new.txt", "Petra Voss sold it.")
    put("old/c.txt", "Mara Quill left o.")  # the same content
    put(".other.txt", "hidden")
    for key in ("b c#1.txt", "rows.jsonl"):
        client.delete_object(Bucket=name, Key=f"docs/{key}")
    seen = set[tuple[str, str]]()
    while len(seen) < 4:
        seen |= until(events, 1)
    assert seen == {
        ("read", "a.txt"), ("read", "new.txt"), ("removed", "b%20c%231.txt"), ("removed", "rows.jsonl")
    }  # fmt: skip
    assert sorted(read) == ["docs/a.txt", "docs/new.txt"]
    assert stored(graph) == {"a.txt", "new.txt", "c.txt"}
    with monkeypatch.context() as away:
        away.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        gone = next(events)
        assert (gone.action, gone.uri) == ("failed", f"s3://{name}/docs/")
        put("a.txt", "Ivo Brandt left.")
    while ("read", "a.txt") not in until(events, 1):
        pass
    stop.set()
    assert list(events) == []
    # What happened meanwhile is made up for by the next watch.
    client.delete_object(Bucket=name, Key="docs/new.txt")
    again = watch(graph, f"s3://{name}/docs/", options=IngestOptions())
    assert next(again).text == "0 added, 0 changed, 2 unchanged, 1 removed, 0 failed"
    with pytest.raises(ReadError, match="no such bucket"):
        next(watch(graph, "s3://nowhere/", options=IngestOptions()))


def test_what_cannot_be_watched(graph: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no folder"):
        next(watch(graph, tmp_path / "none", options=IngestOptions()))
    with pytest.raises(InputError, match="debounce"):
        next(watch(graph, tmp_path, options=IngestOptions(), debounce=0))
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(MissingExtraError, match=r"hlgraph\[watch\]"):
        next(watch(graph, tmp_path, options=IngestOptions()))
