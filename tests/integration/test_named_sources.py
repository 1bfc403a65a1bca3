"""Commands that name sources read those alone, whatever else the corpus has, also where a history is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from live_stores import opened, settings_for

import hlgraph
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.stores import trace
from hlgraph.testing.embedder import WordEmbedder

_NAMED, _OTHERS = 26, 150


@pytest.fixture(params=["embedded", "servers"])
def opener(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], HLGraph]]:
    monkeypatch.chdir(tmp_path)
    if request.param == "embedded":
        yield lambda corpus: hlgraph.connect("hlgraph://./store", corpus=corpus, embedder=WordEmbedder())
        return
    servers: Any = request.getfixturevalue("servers")
    settings = settings_for(servers)
    with opened(servers, settings):
        yield lambda corpus: hlgraph.connect(settings, corpus=corpus, embedder=WordEmbedder())


def _rows_of(action: Callable[[], object]) -> int:
    with trace.listening() as heard:
        action()
    return sum(call.rows or 0 for call in heard.calls if "source" in call.name)


def test_few_rows_are_read_of_a_large_corpus(opener: Callable[[str], HLGraph], tmp_path: Path) -> None:
    names = [str(tmp_path / f"{at}.md") for at in range(_NAMED)]
    documents = [Document(f"file://{name}", f"Mara Quill left Orne {at}.") for at, name in enumerate(names)]
    others = [Document(f"doc:{at}", "Ivo Brandt left Tessing.") for at in range(_OTHERS)]
    with opener("c") as graph:
        graph.ingest([*documents, *others], keep_history=True)
        actions: dict[str, Callable[[], object]] = {
            "groups": lambda: graph.groups.set("board", uris=names),
            "hold": lambda: graph.holds.add("audit", uris=names[10:]),
            "delete": lambda: graph.delete(names[:5]),
            "edit": lambda: graph.ingest([Document("doc:0", "Ivo Brandt left Orne.")]),
            "versions": lambda: graph.history.versions(names[0]),
            "erase": lambda: graph.delete(names[3:9], history=True),
            "edit again": lambda: graph.ingest([Document("doc:0", "Una Moss left Orne.")]),
        }
        read = {name: _rows_of(action) for name, action in actions.items()}
        assert [len(graph.history.versions(name)) for name in ("doc:0", "doc:1", names[0])] == [3, 1, 1]
    assert {name: rows for name, rows in read.items() if rows >= _OTHERS} == {}
