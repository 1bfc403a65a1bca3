"""What a search, a count and an ingest read of the stores does not grow with the number of corpora that they hold."""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from live_stores import neo4j_of, opened, settings_for

from hlgraph.chunk import WholeChunker
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Kind
from hlgraph.retrieve import SearchRequest, search
from hlgraph.stores import trace
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch import indexes
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import Stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_STEPS = pipeline.Steps(WholeChunker(), TinyExtractor(), WordEmbedder())
_QUESTION = "Who designed the Aldane Bridge?"
_FEW, _MANY = 3, 60
_TOOK = 100  # bytes of an answer that tell how long the server took
_WRITES = re.compile(r"^\s*(MERGE|CREATE|SET|REMOVE|DELETE)\b", re.MULTILINE)


class _Read(NamedTuple):
    """What some calls read: rows by call, bytes, and the hits of the database of all Cypher that only reads."""

    rows: Counter[str]
    bytes: int
    hits: int


def _add_embedded(folder: Path, count: int) -> None:
    with contextlib.closing(sqlite3.connect(folder / "hlgraph.db")) as database, database:
        rows = [(f"other {count} {at}",) for at in range(count)]
        database.executemany(
            "INSERT INTO corpus (name, embedding, dimensions, version) VALUES (?, 'words', 64, 1)", rows
        )


def _add_servers(stores: Stores, server: Server, count: int) -> None:
    """Corpora of one source each, written at once: an ingest of each would take a minute."""
    names = [f"other {count} {at}" for at in range(count)]
    server.driver().execute_query(
        "UNWIND $names AS name CREATE (:Corpus {name: name, version: 1, stamp: name, embedding: 'words', dimensions: 64}) "
        "CREATE (:Source {id: name, corpus: name, uri: name, title: name, metadata: '{}', metadata_keys: [], version: 1})",
        names=names,
        database_=server.settings.database,
    )
    assert isinstance(stores.vectors, OpenSearchVectorStore)
    ours = stores.vectors.indexes
    homes = {kind: ours.find(CORPUS, kind, is_fresh=True) for kind in Kind}
    ours.act(
        *(
            {"add": {"index": home.name, "alias": ours.alias(name, kind), **ours.view(name)}}
            for kind, home in homes.items()
            if home is not None
            for name in names
        )
    )


def _actions(stores: Stores) -> dict[str, Callable[[], object]]:
    def asking(strategy: str, where: str | None = None) -> Callable[[], object]:
        request = SearchRequest(_QUESTION, CORPUS, where=None if where is None else parse(where))
        return lambda: search(request, strategy, stores=stores, embedder=WordEmbedder(), reranker=LexicalReranker())

    return {
        **{name: asking(name) for name in ("chunk", "auto", "path", "chunk_entity")},
        "filtered": asking("chunk_entity", 'category = "structure"'),
        "stats": lambda: stores.graph.stats(CORPUS),
        "ingest": lambda: pipeline.ingest(DOCUMENTS, CORPUS, stores=stores, steps=_STEPS),
    }


def _reads(action: Callable[[], object], profile: Callable[[trace.Call], int]) -> _Read:
    for _ in range(3):  # what is asked for once a process, and what is kept from then on
        action()
    with trace.listening() as heard:
        action()
    calls = [call for call in heard.calls if call.round_trips]
    rows = Counter({call.name: 0 for call in calls})
    for call in calls:
        rows[call.name] += call.rows or 0
    return _Read(rows, sum(call.bytes or 0 for call in calls), sum(profile(call) for call in calls))


class _Rig(NamedTuple):
    """Stores, what adds corpora to them, and the hits of the database that a call takes (0: they are not counted)."""

    stores: Stores
    add: Callable[[int], None]
    profile: Callable[[trace.Call], int]


@pytest.fixture(params=["image", "server", "embedded"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[_Rig]:
    if request.param == "embedded":
        found = open_stores(f"hlgraph://{tmp_path}/s")
        with found.closing:
            yield _Rig(found.stores, lambda count: _add_embedded(tmp_path / "s", count), lambda _: 0)
        return
    servers: Any = request.getfixturevalue("servers")
    settings = settings_for(servers)
    if request.param == "server":
        settings = replace(settings, neo4j=neo4j_of(servers, ranking="server"))
    with opened(servers, settings) as found:
        server = Server(servers.neo4j.url, neo4j_of(servers))

        def profile(call: trace.Call) -> int:
            if call.language != "cypher" or _WRITES.search(call.text):
                return 0
            with server.reading(timeout=60, fetch_size=1_000) as transaction:
                plan: Any = transaction.run(f"PROFILE {call.text}", dict(call.params)).consume().profile
            return _hits(plan)

        yield _Rig(found.stores, lambda count: _add_servers(found.stores, server, count), profile)
        server.close()


def _hits(plan: Any) -> int:
    return plan["args"].get("DbHits", 0) + sum(map(_hits, plan.get("children", ())))


def test_what_is_read_does_not_grow_with_the_number_of_corpora(rig: _Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "REMEMBERED_SECONDS", math.inf)  # else a slow run asks for mappings again
    pipeline.ingest(DOCUMENTS, CORPUS, stores=rig.stores, steps=_STEPS)
    rig.add(_FEW)
    few = {name: _reads(action, rig.profile) for name, action in _actions(rig.stores).items()}
    rig.add(_MANY)
    many = {name: _reads(action, rig.profile) for name, action in _actions(rig.stores).items()}
    for name, read in many.items():
        assert (name, read.rows, read.hits) == (name, few[name].rows, few[name].hits)
        assert (name, read.bytes) == (name, pytest.approx(few[name].bytes, abs=_TOOK))
