"""Indexes of OpenSearch that corpora share, and re-indexes behind the alias while searches and writes go on."""

from __future__ import annotations

import dataclasses
import itertools
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from opensearch_fixture import opened, settings_of
from schemas import verify

from hlgraph.change import VectorBlock
from hlgraph.errors import HLGraphError, MigrationError
from hlgraph.records import Hit, Kind, Source
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores import migrate
from hlgraph.stores.opensearch import indexes, writes
from hlgraph.stores.opensearch import query_bodies as search
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Home, index_body
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Anything, Meta
from hlgraph.stores.opensearch.writes import row_items, source_items
from hlgraph.stores.protocols import VectorBatch, VectorQuery
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

# Reads settings as JSON, then regular expressions: for each, a child applies the migrations and kills itself after the first
# request that matches. Prints the signal that ended the child, or 0.
_WORKER = r"""
import json, os, re, signal, sys
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores import migrate
from hlgraph.stores.opensearch import migrations, writes
from hlgraph.stores.opensearch.connection import Connection

class Mortal(Connection):
    def send(self, method, path, **more):
        answer = super().send(method, path, **more)
        if self.last.search(f"{method} {path} {more.get('body')}"):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

target = json.loads(sys.stdin.readline())
migrations._LEASE_SECONDS = 0.0  # the lock of a killed process would be waited for
migrations.OpenSearchTarget._try = lambda *_: None
migrations._PAGE = migrations._BLOCK = 40
writes.BODY_BYTES = 8_000
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        mortal = Mortal(target["url"], OpenSearchSettings(**target["settings"]))
        mortal.last = re.compile(line.strip())
        migrate.apply(migrations.OpenSearchTarget(mortal))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)
"""
_EMBEDDER = WordEmbedder(16)
_STEPS = (
    r"PUT \S+-v002",
    r"POST /_aliases.*shared",
    r"PUT \S+_mapping.*moving",
    r"_bulk",
    r"_block/write",
    r"remove_index",
)
_ROWS = 120


def rows(count: int, *, first: int = 0, dimensions: int = 16) -> VectorBlock:
    ids = tuple(f"{at:032x}" for at in range(first, first + count))
    texts = tuple(f"word{at % 5} word{at % 11} of all" for at in range(first, first + count))
    values = WordEmbedder(dimensions).embed(texts)
    return VectorBlock(
        Kind.ENTITY, ids, texts, tuple(f"s{at % 3}" for at in range(count)), dimensions, values.tobytes()
    )


def sources(corpus: str) -> tuple[Source, ...]:
    return tuple(Source(f"s{at}", corpus, f"u{at}", "t", "x", {"n": at}) for at in range(3))


def question(corpus: str, *, k: int = 20, n: int | None = None) -> VectorQuery:
    text = "word1 word3"
    where = None if n is None else parse(f"n = {n}")
    return VectorQuery(Kind.ENTITY, corpus, k, _EMBEDDER.embed([text])[0], text, where)


def answers(store: OpenSearchVectorStore, corpora: tuple[str, ...]) -> list[list[Hit]]:
    return [store.search(question(corpus, n=n)) for corpus in corpora for n in (None, 1)]


@contextmanager
def looking(store: OpenSearchVectorStore, corpora: tuple[str, ...]) -> Iterator[list[Any]]:
    """Searches all the time in a thread; what was ever other than at the beginning, or an error, is yielded."""
    before, wrong, is_done = answers(store, corpora), list[Any](), threading.Event()
    assert all(before)

    def look() -> None:
        while not is_done.is_set():
            try:
                now: Any = answers(store, corpora)
            except HLGraphError as error:
                now = error
            if now != before:
                wrong.append(now)
            is_done.wait(0.02)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield wrong
    finally:
        is_done.set()
        thread.join()


def written_by_the_first_layout(store: OpenSearchVectorStore, corpora: tuple[str, ...]) -> None:
    """The indexes, rows and history that hlgraph 0.2 left: five indexes a corpus, without the name of the corpus in the rows."""
    connection, first = store.connection, migrate.discover("opensearch")[0]
    for corpus, kind in itertools.product(corpora, (Kind.ENTITY, Kind.SOURCE)):
        meta = Meta(corpus, kind.value, 0 if kind is Kind.SOURCE else 16, 1, "english", f"{corpus}{kind}")
        alias = store.indexes.alias(corpus, kind)
        body: Any = {**index_body(first.text, meta, settings=connection.settings), "aliases": {alias: {}}}
        connection.ask("PUT", f"/{alias}-v001", answer=Anything, body=body)
        home = Home(alias, "", corpus, "", meta)
        items = (
            source_items(sources(corpus), home=home) if kind is Kind.SOURCE else row_items(rows(_ROWS), "1", home=home)
        )
        writes.write(connection, alias, items=items)
        connection.ask("POST", f"/{alias}/_refresh", answer=Anything)
    run: Any = {
        "version": 1,
        "name": first.name,
        "checksum": first.checksum,
        "applied_at": "2026",
        "hlgraph_version": "0.2",
    }
    path = f"/{connection.settings.prefix}-migrations/_doc/history"
    connection.ask("PUT", path, answer=Anything, body={"json": [run]})


@contextmanager
def worker(url: str, settings: OpenSearchSettings) -> Iterator[Callable[[str], int]]:
    """A process that migrates and is killed after the request that a regular expression describes."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin
        assert process.stdout
        inside, outside = process.stdin, process.stdout

        def ask(line: str) -> None:
            inside.write(f"{line}\n")
            inside.flush()

        ask(json.dumps({"url": url, "settings": dataclasses.asdict(settings)}))
        assert outside.readline() == "ready\n"

        def killed_after(step: str) -> int:
            ask(step)
            return int(outside.readline())

        yield killed_after


def test_a_migration_that_is_killed_at_every_step_leaves_searches_whole_and_goes_on(
    servers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "EXACT_BELOW", 50)
    with opened(servers.opensearch) as store:
        written_by_the_first_layout(store, ("c", "d"))
        kept = Connection(store.connection.url, dataclasses.replace(store.connection.settings, layout="dedicated"))
        looked = indexes.look(kept, migrate.discover("opensearch")[-1])
        assert looked
        assert not any(index.needs_move for index in looked)  # with this layout
        with pytest.raises(MigrationError, match="needs migration V002__share_indexes; run: hlgraph migrate apply"):
            store.upsert(VectorBatch("c", "two", (), (rows(1),)))
        with (
            looking(store, ("c", "d")) as wrong,
            worker(store.connection.url, store.connection.settings) as killed_after,
        ):
            assert [killed_after(step) for step in _STEPS] == [signal.SIGKILL] * len(_STEPS)
            assert len(migrate.plan(store.target).pending) == 1
            assert killed_after("_doc/history .*share_indexes") == signal.SIGKILL
        assert wrong == []
        verify(store.target)
        assert {store.indexes.ensure(corpus, Kind.ENTITY, dimensions=16).meta.corpus for corpus in "cd"} == {""}
        assert len(store.indexes.all()) == 2  # one of rows, one of sources
        assert [row for row in store.check() if not row[1]] == []
        store.upsert(VectorBatch("c", "two", (), (rows(1, first=_ROWS),)))
        assert len(store.ids(Kind.ENTITY, "c")) == _ROWS + 1
        assert len(store.ids(Kind.ENTITY, "d")) == _ROWS


def test_changed_settings_are_named_and_brought_to_the_indexes_while_rows_are_written(servers: SimpleNamespace) -> None:
    server = servers.opensearch
    first = settings_of(server)
    forms: list[dict[str, Any]] = [
        {"hnsw_m": 8, "quantisation": "byte", "language": "german"},
        {"layout": "dedicated", "shards": 2, "hnsw_ef_construction": 64, "hnsw_ef_search": 600},
    ]
    with opened(server, prefix=first.prefix, layout="dedicated", shards=2) as store:
        for corpus in "cd":
            store.upsert(VectorBatch(corpus, "one", sources(corpus), (rows(_ROWS),)))
        for turn, form in enumerate(forms, 1):
            changed = OpenSearchVectorStore(server.url, dataclasses.replace(first, **form))
            with changed:
                assert all(item.is_mendable for item in migrate.differences(changed.target))
                assert migrate.differences(changed.target)
                with looking(store, ("d",)) as wrong:
                    thread = threading.Thread(target=migrate.repair, args=[changed.target])
                    thread.start()
                    for at in itertools.count(turn * 1_000, 10):
                        store.upsert(VectorBatch("c", f"at {at}", (), (rows(10, first=at),)))
                        store.delete("c", {"entity": [f"{at:032x}"]})
                        if not thread.is_alive():
                            break
                    thread.join()
                assert wrong == []
                verify(changed.target)
                written = {f"{row:032x}" for row in range(turn * 1_000, at + 10) if row % 10}
                assert changed.ids(Kind.ENTITY, "c") >= written
                assert not changed.ids(
                    Kind.ENTITY, "c", among=[f"{row:032x}" for row in range(turn * 1_000, at + 10, 10)]
                )
                assert near(changed, "c") == near(store, "c") >= {f"{1:032x}"}


def near(store: OpenSearchVectorStore, corpus: str) -> set[str]:
    return set(store.neighbours(Kind.ENTITY, corpus, vectors=rows(2).matrix()[1:], threshold=0.99).ids)


def test_corpora_in_one_index_see_and_leave_their_own_rows_alone(
    servers: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(servers.opensearch, shards=3) as store:
        store.upsert(VectorBatch("big", "one", sources("big"), (rows(600),)))
        store.upsert(VectorBatch("tiny", "one", sources("tiny"), (rows(9),)))
        store.upsert(VectorBatch("short", "one", (), (rows(4, dimensions=4),)))
        names = {corpus: store.indexes.find(corpus, Kind.ENTITY) for corpus in ("big", "tiny", "short")}
        assert len({home.name for home in names.values() if home}) == 2  # the length of vectors is part of the index
        for limit in (10_000, 1):  # every row is scored, or HNSW proposes
            monkeypatch.setattr(search, "EXACT_BELOW", limit)
            for asked in (VectorQuery(Kind.ENTITY, "tiny", 9, np.ones(16, dtype=np.float32)), question("tiny", k=9)):
                assert {int(hit.id, 16) for hit in store.search(asked)} == set(range(9))
            assert {int(hit.id, 16) for hit in store.search(question("tiny", n=1))} == {1, 4, 7}
        assert store.delete("tiny", {"entity": [f"{at:032x}" for at in range(9)], "source": ["s0", "s1", "s2"]}) == 12
        assert store.search(question("tiny")) == []
        assert len(store.ids(Kind.ENTITY, "big")) == 600
        store.upsert(VectorBatch("tiny", "two", (), (rows(2, dimensions=4),)))  # another model may fill it
        assert [row for row in store.check() if not row[1]] == []
