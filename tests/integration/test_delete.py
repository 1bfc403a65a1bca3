"""What can be named to be deleted: a uri, a path, a row of a file, all rows of a file, a folder; and nothing half done."""

from __future__ import annotations

import gc
import json
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hlgraph
from hlgraph import errors
from hlgraph.ingest.delete import Remover
from hlgraph.models.cache import CachedEmbedder
from hlgraph.records import Document, Record, Source
from hlgraph.sdk.client import HLGraph
from hlgraph.stores import trace
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.testing.embedder import WordEmbedder

_FIVE = ["docs/a.txt", "docs/inner/b.txt", "rows.jsonl#r0", "rows.jsonl#r1", "rows.jsonl#r2"]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "inner").mkdir(parents=True)
    (tmp_path / "docs" / "a.txt").write_text("Mara Quill was born in Tessing.")
    (tmp_path / "docs" / "inner" / "b.txt").write_text("Ivo Brandt left Tessing.")
    rows = [{"id": f"r{n}", "text": f"Row {n} names Tessing."} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder()) as opened:
        opened.ingest(["docs", "rows.jsonl"])
        yield opened


@pytest.mark.parametrize(
    ("names", "count"),
    [
        (["docs/a.txt"], 1),
        (["docs"], 2),
        (["docs/inner/"], 1),
        (["rows.jsonl"], 3),
        (["rows.jsonl#r1"], 1),
        (["rows.jsonl#r1", "rows.jsonl"], 3),
        (["docs/a.txt", "rows.jsonl#r2"], 2),
    ],
)
def test_names(graph: HLGraph, names: list[str], count: int) -> None:
    assert graph.delete(names).sources_removed == count
    assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 5 - count
    assert not [item for item in graph.check() if not item.is_fine]


@pytest.mark.parametrize(
    ("name", "uris"),
    [
        ("docs", _FIVE[:2]),
        ("docs/inner/", _FIVE[1:2]),
        ("rows.jsonl", _FIVE[2:]),
        ("rows.jsonl#r1", _FIVE[3:4]),
        ("d", []),
    ],
)
def test_only_what_is_named_is_read(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, name: str, uris: list[str]
) -> None:
    read: set[str] = set()

    def watched(method: Callable[..., Iterable[Record]]) -> Callable[..., list[Record]]:
        def call(*args: Any, **named: Any) -> list[Record]:
            records = list(method(*args, **named))
            read.update(record.uri.partition(f"{Path.cwd()}/")[2] for record in records if isinstance(record, Source))
            return records

        return call

    graph.ingest([Document(f"doc:{number}", "Petra Voss left.") for number in range(3)])
    for method in ("find", "records", "sources_inside"):
        monkeypatch.setattr(EmbeddedGraphStore, method, watched(getattr(EmbeddedGraphStore, method)))
    for change in (lambda: graph.groups.set("board", uris=name), lambda: graph.holds.add("court", uris=name)):
        read.clear()
        if uris:
            change()
        else:
            with pytest.raises(errors.UnknownNameError):
                change()
        assert read == set(uris)


def test_one_unknown_name_and_nothing_is_deleted(graph: HLGraph) -> None:
    for names in (
        ["docs/a.txt", "rows.jsonl#r9"],
        ["doc"],
        ["rows.json"],
        ["docs", *map("docs/{}.md".format, range(400))],
    ):
        with pytest.raises(errors.UnknownNameError, match="nothing was deleted"):
            graph.delete(names)
    assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 5


def test_a_uri_is_found_without_reading_the_other_sources(graph: HLGraph) -> None:
    graph.ingest([hlgraph.Document(f"u:{n}", f"Entry {n} names Tessing.", "Entry") for n in range(3)])
    with trace.listening():
        assert graph.delete(["u:0", "u:2", "u:0"]).sources_removed == 2
        assert [call.rows for call in trace.heard() if call.name == "read source"] == [2]
    with pytest.raises(errors.UnknownNameError, match="u:9: no source"):
        graph.delete(["u:1", "u:9"])
    assert graph.delete(["u:1"]).sources_removed == 1


def test_an_emptied_corpus_takes_another_model(graph: HLGraph) -> None:
    assert graph.delete(everything=True).sources_removed == 5
    with hlgraph.connect(graph.settings, embedder=WordEmbedder(8, name="other")) as other:
        assert other.ingest("docs").sources_added == 2
        assert other.search("Who was born in Tessing?").evidence
        assert not [item for item in other.check() if not item.is_fine]


class Stopped(BaseException):
    """Ends a deletion in the middle, as a kill does."""


@pytest.mark.parametrize(("kept", "has_notes"), [(0, True), (1, True), (0, False)])
def test_a_list_that_was_stopped_in_the_middle_is_completed(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, kept: int, has_notes: bool
) -> None:
    """Stopped after the flip of the first or the second change, the rows of the vector store still there."""
    monkeypatch.setattr(Remover.__new__, "__defaults__", (2 if has_notes else 9, None, None, None))
    opened = hlgraph.connect(graph.settings, embedder=WordEmbedder())
    real, left = opened._opened.stores.vectors.delete, [kept]

    def stop(*given: object) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(opened._opened.stores.vectors, "delete", stop)
    with opened, pytest.raises(Stopped):
        opened.delete(_FIVE)
    if has_notes:
        with pytest.raises(errors.UnknownNameError, match=r"docs/c.txt: no source of corpus .*; nothing was deleted"):
            graph.delete([*_FIVE, "docs/c.txt"])
    else:  # as on another machine: the change in the journal says what it removed
        for path in Path("store").glob("removed*"):
            path.unlink()
    report = graph.delete(_FIVE)
    gone = 2 * (kept + 1) if has_notes else 5
    assert (report.sources_removed, report.sources_gone) == (5 - gone, gone)
    assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 0
    assert not [item for item in graph.check() if not item.is_fine]
    if has_notes:
        again = graph.delete(_FIVE)
        assert (again.sources_removed, again.sources_gone) == (0, 5)


def test_what_is_there_again_is_deleted_again(graph: HLGraph) -> None:
    assert graph.delete(where="title = 'a'").sources_removed == 1
    assert graph.delete("docs").sources_removed == 1
    graph.ingest("docs")
    assert [graph.delete(name).sources_gone for name in ("docs/a.txt", "docs/", "docs")] == [0, 0, 1]


def test_the_vectors_of_deleted_texts_leave_the_cache(graph: HLGraph, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "embeddings-1.sqlite"
    cached = CachedEmbedder(WordEmbedder(), path)

    def held() -> int:
        with closing(sqlite3.connect(path)) as connection:
            return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])

    with hlgraph.connect(graph.settings, corpus="other", embedder=cached) as other:
        other.ingest(["docs/a.txt"])
        alone = held()
        other.ingest(["docs"])
        assert held() > alone
        other.delete("docs/inner/b.txt")
        # "tessing" is in both documents, so its vector stays.
        assert held() == alone
        embedded = len(cached._inner._inner.embedded)  # type: ignore[attr-defined]
        cached.embed(["tessing", "mara quill"])
        assert len(cached._inner._inner.embedded) == embedded  # type: ignore[attr-defined]
        other.delete(everything=True)
        assert held() == 0
    cached.close()


class Forgetful(WordEmbedder):
    """An embedder that does not list what it embedded."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return super().embed(texts)
        finally:
            self.embedded.clear()


def in_memory(word: str) -> set[str]:
    """The texts that objects of this process refer to, and that have the word."""
    gc.collect()
    texts = (text for held in gc.get_objects() for text in gc.get_referents(held) if isinstance(text, str))
    return {text for text in texts if word in text.lower()}


@pytest.mark.parametrize("is_own", [True, False])
def test_no_text_of_a_deleted_source_stays_in_memory(tmp_path: Path, *, is_own: bool) -> None:
    """Of the process that deletes, and of another one from its next search on. Single words may stay."""
    word, uri, question = f"zanz{uuid.uuid4().hex}", "doc:mill", "Who built the mill, and what did it cost?"
    name = word.capitalize()
    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=Forgetful()) as graph:
        text = (
            f"# Mill\n\nAda {name} built the mill. Una left {name} Works.\n\n| item | cost |\n|---|---|\n| {name} | 7 |"
        )
        graph.ingest([Document(uri, text), Document("doc:forge", "Una sold the Forge to Edda.")])
        for strategy in ("auto", "path", "statement", "global", "chunk"):
            graph.search(question, strategy=strategy, explain=True)
        assert word in graph.answer(question).text.lower()
        del text
        assert len(in_memory(word)) > 5
        if is_own:
            graph.delete(uri)
        else:
            command = [sys.executable, "-m", "hlgraph", "--store", f"hlgraph://{tmp_path}/store", "delete", uri]
            subprocess.run(command, check=True, capture_output=True)
            graph.search(question)
        assert {text for text in in_memory(word) if len(text) > len(word)} == set()
