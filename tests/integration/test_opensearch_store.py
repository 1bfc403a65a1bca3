"""What the OpenSearch store does beyond the contract: large corpora, many processes, other languages, the disk."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from opensearch_fixture import opened

from hlgraph.change import VectorBlock
from hlgraph.errors import InputError
from hlgraph.records import Kind, Source
from hlgraph.stores import migrate, trace
from hlgraph.stores.opensearch import query_bodies
from hlgraph.stores.opensearch import query_bodies as search
from hlgraph.stores.opensearch.indexes import Seen
from hlgraph.stores.opensearch.migrations import OpenSearchTarget
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Anything
from hlgraph.stores.protocols import VectorBatch, VectorQuery
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(16)
_ALL = 10_000


@pytest.fixture
def store(servers: SimpleNamespace) -> Iterator[OpenSearchVectorStore]:
    with opened(servers.opensearch) as found:
        yield found


@pytest.fixture
def other(store: OpenSearchVectorStore) -> Iterator[OpenSearchVectorStore]:
    """As another process sees the same server."""
    with OpenSearchVectorStore(store.connection.url, store.connection.settings) as found:
        yield found


def rows(texts: list[str], *, first: int = 0, source: str = "") -> VectorBlock:
    ids = tuple(f"{at:032x}" for at in range(first, first + len(texts)))
    owners = tuple(source or name for name in ids)
    return VectorBlock(Kind.ENTITY, ids, tuple(texts), owners, 16, _EMBEDDER.embed(texts).tobytes())


def write(store: OpenSearchVectorStore, *blocks: VectorBlock, change: str = "one", sources: Any = ()) -> None:
    store.upsert(VectorBatch("c", change, tuple(sources), blocks))


def test_a_first_migration_that_was_interrupted_is_completed_by_the_first_write(store: OpenSearchVectorStore) -> None:
    with store.target.lock():
        store.target.apply(migrate.discover("opensearch")[0])
    assert len(migrate.plan(store.target).pending) == 1
    write(store, rows(["mill"]))
    assert migrate.plan(store.target).pending == ()


def near(store: OpenSearchVectorStore, text: str) -> set[str]:
    return set(store.neighbours(Kind.ENTITY, "c", vectors=_EMBEDDER.embed([text]), threshold=0.99).ids)


def test_the_indexes_of_all_kinds_are_looked_up_at_once(
    store: OpenSearchVectorStore, other: OpenSearchVectorStore
) -> None:
    block = rows(["a bridge", "a river"])
    write(store, block, replace(block, kind=Kind.CHUNK))
    with trace.listening():
        for kind in (Kind.ENTITY, Kind.CHUNK):
            assert len(other.search(VectorQuery(kind, "c", k=9, text="bridge river"))) == 2
        assert sum("_mapping" in call.name for call in trace.heard()) == 1


def test_a_write_looks_at_the_indexes_of_all_kinds_at_once(store: OpenSearchVectorStore) -> None:
    block, sources = rows(["a bridge", "a river"]), [Source("s", "c", "u", "t", "x")]
    blocks = [replace(block, kind=kind) for kind in (Kind.ENTITY, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC)]
    write(store, *blocks, sources=sources)
    with trace.listening():
        write(store, *blocks, sources=sources, change="two")
        assert sum("_mapping" in call.name for call in trace.heard()) == 1


def test_no_index_lets_a_refresh_wait_for_merges(store: OpenSearchVectorStore) -> None:
    write(store, rows(["a bridge"]), sources=[Source("s", "c", "u", "t", "x")])
    path = f"/{store.connection.settings.prefix}-*/_settings?flat_settings=true"
    found = store.connection.ask("GET", path, answer=dict[str, Seen])
    waits = {name: item.settings["index.merge_on_flush.enabled"] for name, item in found.items() if "-v0" in name}
    assert sorted(waits.values()) == ["false", "false"]


@pytest.mark.parametrize("asked", [0, 100], ids=["copied", "asked"])
def test_the_rows_of_neighbours_follow_what_any_process_writes(
    store: OpenSearchVectorStore, other: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch, asked: int
) -> None:
    monkeypatch.setattr(query_bodies, "_ASKED", asked)
    write(store, rows(["a bridge", "a river", "a poet"]))
    name = [f"{at:032x}" for at in range(9)]
    assert near(store, "a river") == {name[1]}
    write(other, rows(["a river", "a lock"], first=5))
    assert near(store, "a river") == {name[1], name[5]}
    write(other, rows(["a canal"], first=1), change="two")
    assert near(store, "a river") == {name[5]}
    assert near(store, "a canal") == {name[1]}
    other.delete("c", {"entity": [name[1], name[2]]})
    assert near(store, "a canal") == set()
    assert near(store, "a bridge") == {name[0]}
    other.delete("c", {"entity": name})
    assert near(store, "a bridge") == set()


def test_the_rows_are_read_once_a_process_has_asked_for_those_near_many(
    store: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, rows(["a bridge", "a river", "a poet"]))
    monkeypatch.setattr(query_bodies, "_ASKED", 4)
    vectors = _EMBEDDER.embed(["a river", "a poet"])

    def requests() -> list[str]:
        with trace.listening():
            found = store.neighbours(Kind.ENTITY, "c", vectors=vectors, threshold=0.99)
            assert (found.queries.tolist(), found.ids) == ([0, 1], [f"{1:032x}", f"{2:032x}"])
            assert found.similarities == pytest.approx([1, 1])
            return [call.name for call in trace.heard() if "_mapping" not in call.name]

    alias = store.indexes.alias("c", Kind.ENTITY)
    look, read = [f"POST /{alias}/_search"], [f"POST /{alias}/_search"]  # what the state is, and the rows
    assert [requests() for _ in range(4)] == [["POST /_msearch"], ["POST /_msearch"], look + read, look]


def test_vectors_of_several_kinds_travel_in_one_request(store: OpenSearchVectorStore) -> None:
    ids = [f"{0:032x}"]
    block = rows(["a bridge"])
    write(store, block, replace(block, kind=Kind.TOPIC))
    store.vectors(Kind.TOPIC, "c", ids=ids)  # looks at the indexes first
    with trace.listening():
        found = store.vectors_many("c", {Kind.ENTITY: ids, Kind.TOPIC: ids})
        assert [call.name for call in trace.heard()] == ["POST /_msearch"]
    assert [names for names, _ in found.values()] == [ids, ids]


def test_a_change_leaves_the_vectors_of_other_rows_where_they_are(store: OpenSearchVectorStore) -> None:
    write(store, rows([f"bridge {at}" for at in range(6)]))
    asked = VectorQuery(Kind.ENTITY, "c", 9, _EMBEDDER.embed(["bridge 3"])[0])

    def sent() -> list[bool]:
        """Whether each request of a search asks for vectors."""
        with trace.listening():
            store.search(asked)
            return ["'data'" in str(call.params) for call in trace.heard() if call.name.endswith("_search")]

    assert [sent() for _ in range(3)] == [
        [False, True],
        [True],
        [False],
    ]  # how many rows there are; vectors; all are kept
    store.delete("c", {"entity": [f"{1:032x}"]})
    assert sent() == [False]
    write(store, rows(["a pier"], first=7))
    assert sent() == [False, True]  # of the new row alone
    assert sent() == [False]


def test_a_vector_with_more_neighbours_than_are_asked_for_has_all(
    store: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, rows(["a bridge"] * 9))
    monkeypatch.setattr(query_bodies, "_MOST", 5)
    assert near(store, "a bridge") == {f"{at:032x}" for at in range(9)}


@pytest.mark.parametrize("asked", [0, 100], ids=["copied", "asked"])
def test_an_index_made_anew_under_the_same_name_is_read_anew(
    store: OpenSearchVectorStore, other: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch, asked: int
) -> None:
    monkeypatch.setattr(query_bodies, "_ASKED", asked)
    write(store, rows(["a bridge", "a river"]))
    assert near(store, "a river") == {f"{1:032x}"}
    other.delete("c", {"entity": [f"{at:032x}" for at in range(2)]})
    write(other, rows(["a poet", "a lock", "a river", "a canal"], first=10))
    monkeypatch.setattr("hlgraph.stores.opensearch.indexes.REMEMBERED_SECONDS", 0.0)
    assert near(store, "a river") == {f"{12:032x}"}
    assert near(store, "a bridge") == set()


def test_nothing_of_deleted_rows_is_on_the_disk_after_a_purge(store: OpenSearchVectorStore) -> None:
    write(store, rows([f"text {at}" for at in range(300)]), sources=[Source("s", "c", "u", "t", "x")])
    write(store, rows(["another text"]), change="two")
    store.delete("c", {"entity": [f"{at:032x}" for at in range(10, 60)]})
    store.upsert(VectorBatch("gone", "one", (), (rows(["a row of a corpus that shares the index"]),)))
    store.delete("gone", {"entity": [f"{0:032x}"]})
    store.purge("c")
    path = f"/{store.indexes.alias('c', Kind.ENTITY)}/_stats/docs,translog"
    primaries = store.connection.ask("GET", path, answer=dict[str, Any])["_all"]["primaries"]
    assert primaries["docs"] == {"count": 250, "deleted": 0}
    assert primaries["translog"]["operations"] == 0
    assert len(store.ids(Kind.ENTITY, "c")) == 250


@pytest.mark.parametrize("limit", [10, 1_000])
def test_a_purge_begins_where_it_is_cheap_or_due(
    store: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr("hlgraph.stores.opensearch.vectors.PURGE_BELOW", limit)
    write(store, rows([f"text {at}" for at in range(100)]))
    store.delete("c", {"entity": [f"{0:032x}"]})  # far from a tenth
    store.delete("c", {"entity": [f"{at:032x}" for at in range(1, 40)]})
    assert len(store.ids(Kind.ENTITY, "c")) == 60


def test_hnsw_proposes_and_stored_vectors_score(store: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [Source(f"{at:032x}", "c", f"u{at}", "", "", {"n": at}) for at in range(20)]
    blocks = [
        rows([f"word{at} word{at % 7} word{at % 11}" for at in range(first, first + 50)], first=first, source=item.id)
        for first, item in zip(range(0, 1_000, 50), sources, strict=True)
    ]
    write(store, *blocks, sources=sources)
    monkeypatch.setattr(search, "EXACT_BELOW", 100)
    questions = _EMBEDDER.embed([f"word{at} word3" for at in range(30)])
    for where in (None, parse("n >= 5")):
        for question in questions:
            asked = VectorQuery(Kind.ENTITY, "c", 10, question, where=where)
            approximate = store.search(asked)
            with monkeypatch.context() as patch:
                patch.setattr(search, "EXACT_BELOW", _ALL)
                assert store.search(asked) == approximate
    narrow = store.search(VectorQuery(Kind.ENTITY, "c", 60, questions[0], where=parse("n = 3")))
    assert {int(hit.id, 16) for hit in narrow} == set(range(150, 200))


def test_a_large_index_is_searched_in_one_request_until_it_has_shrunk(
    store: OpenSearchVectorStore, other: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, rows([f"word{at} word{at % 7}" for at in range(300)]))
    monkeypatch.setattr(search, "EXACT_BELOW", 100)
    asked = VectorQuery(Kind.ENTITY, "c", 10, _EMBEDDER.embed(["word3 word5"])[0], state="one")

    def requests(asked: VectorQuery) -> list[bool]:
        with trace.listening():
            store.search(asked)
            return ["knn_score" in str(call.params) for call in trace.heard() if call.name.endswith("search")]

    assert requests(asked) == [False, False]  # counts the rows first
    assert requests(asked) == [False]
    write(other, rows(["nothing alike"], first=300))
    asked = replace(asked, state="two")
    assert requests(asked) == [False]  # counts them again in the same request
    other.delete("c", {"entity": [f"{at:032x}" for at in range(240)]})
    asked = replace(asked, state="three")
    assert requests(asked)[:2] == [False, True]  # it has become small: every row is scored
    assert requests(asked) == [True]
    assert {int(hit.id, 16) for hit in store.search(asked)} <= set(range(240, 301))


def test_ids_of_many_pages_and_filters_of_many_sources(
    store: OpenSearchVectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [Source(f"{at:032x}", "c", f"u{at}", "", "", {"n": at}) for at in range(40)]
    write(store, rows([f"text {at}" for at in range(40)]), sources=sources)
    monkeypatch.setattr(search, "PAGE", 7)
    monkeypatch.setattr(search, "MOST_TERMS", 3)
    assert len(store.ids(Kind.ENTITY, "c")) == 40
    assert len(store.ids(Kind.ENTITY, "c", among=[f"{at:032x}" for at in range(35, 60)])) == 5
    hits = store.search(VectorQuery(Kind.ENTITY, "c", 99, text="text", where=parse("n >= 11")))
    assert {int(hit.id, 16) for hit in hits} == set(range(11, 40))


def test_a_filter_of_the_greatest_size_and_depth(store: OpenSearchVectorStore) -> None:
    sources = [Source(f"{at:032x}", "c", f"u{at}", "", "", {"n": at}) for at in range(3)]
    write(store, rows(["a", "b", "c"]), sources=sources)
    wide = parse(" or ".join(f"n = {at}" for at in range(2, 990)))
    deep = parse("not (n = 7 or " * 24 + "n = 1" + ")" * 24)
    for where, found in ((wide, {2}), (deep, {1}), (parse(f"n in ({', '.join(map(str, range(1, 9_999)))})"), {1, 2})):
        hits = store.search(VectorQuery(Kind.ENTITY, "c", 9, _EMBEDDER.embed(["a"])[0], where=where))
        assert {int(hit.id, 16) for hit in hits} == found


def test_a_question_of_thousands_of_words(store: OpenSearchVectorStore) -> None:
    write(store, rows([f"word{at} and word{at + 1}" for at in range(1_100)]))
    question = " ".join([*(f"other{at}" for at in range(2_000)), *(f"word{at}" for at in range(1_000))])
    assert len(store.search(VectorQuery(Kind.ENTITY, "c", 3_000, text=question))) == 1_000
    with pytest.raises(InputError, match="1,001 different words of the corpus, more than 1,000; shorten it"):
        store.search(VectorQuery(Kind.ENTITY, "c", 3_000, text=f"{question} word1000"))


def test_text_in_another_language(servers: SimpleNamespace) -> None:
    texts = ["die Häuser am Fluss", "eine Brücke aus Stahl"]
    question = VectorQuery(Kind.ENTITY, "c", 5, text="Haus")
    with opened(servers.opensearch) as english, opened(servers.opensearch, language="german") as german:
        for store, found in ((english, 0), (german, 1)):
            write(store, rows(texts))
            assert len(store.search(question)) == found
        changed = OpenSearchVectorStore(servers.opensearch.url, german.connection.settings)
        with changed:
            assert all(is_fine for _, is_fine, _ in changed.check())


def test_searches_go_on_while_rows_are_written(store: OpenSearchVectorStore, other: OpenSearchVectorStore) -> None:
    write(store, rows(["a bridge over the river"] * 50), change="first")
    wrong: list[int] = []
    is_done = threading.Event()

    def look() -> None:
        while not is_done.is_set():
            asked = VectorQuery(Kind.ENTITY, "c", 99, _EMBEDDER.embed(["river"])[0], "river", hidden=("new",))
            found = len(other.search(asked))
            if found != 50:
                wrong.append(found)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for at in range(5):
            write(store, rows([f"another river {at}"] * 200, first=1_000 + 200 * at), change="new")
    finally:
        is_done.set()
        thread.join()
    assert wrong == []


def test_a_copy_of_a_mapping_that_drifted_is_a_finding(store: OpenSearchVectorStore) -> None:
    write(store, rows(["a"]), sources=[Source("s", "c", "u", "t", "x")])
    assert [row for row in store.check() if not row[1]] == []
    home = store.indexes.ensure("c", Kind.ENTITY, dimensions=16)
    meta = {"corpus": "c", "kind": "entity", "dimensions": 16, "schema": 2, "language": "english"}
    foreign = {"mappings": {"_meta": meta, "properties": {"id": {"type": "text"}}}}
    store.indexes.drop(home)
    store.connection.ask("PUT", f"/{home.alias}-v002", answer=Anything, body={**foreign, "aliases": {home.alias: {}}})
    found = {name: seen for name, is_fine, seen in store.check() if not is_fine}
    assert set(found) >= {"vector mappings"}
    assert "field data: missing; delete the index, then run: hlgraph reconcile --repair" in found["vector mappings"]


def test_what_is_read_back_is_what_was_written_bit_for_bit(store: OpenSearchVectorStore) -> None:
    rng = np.random.default_rng(random.Random(1).randrange(99))
    values = rng.standard_normal((1_500, 16)).astype(np.float32)
    ids = tuple(f"{at:032x}" for at in range(1_500))
    write(store, VectorBlock(Kind.ENTITY, ids, ("x",) * 1_500, ids, 16, values.tobytes()))
    names, found = store.vectors(Kind.ENTITY, "c", ids=[*ids[::-1], "gone", ids[0]])
    assert names == list(ids[::-1])
    np.testing.assert_array_equal(found, values[::-1])


def test_a_vector_of_zeros_is_held_and_found(store: OpenSearchVectorStore) -> None:
    values = np.zeros((2, 16), dtype=np.float32)
    values[1, 0] = 1.0
    write(store, VectorBlock(Kind.ENTITY, ("a", "b"), ("x", "y"), ("", ""), 16, values.tobytes()))
    hits = store.search(VectorQuery(Kind.ENTITY, "c", 5, values[1]))
    assert [(hit.id, hit.score) for hit in hits] == [("b", 1.0), ("a", 0.0)]


def test_the_trial_of_a_migration_that_was_killed_is_removed_by_the_next(servers: Any) -> None:
    with opened(servers.opensearch) as store:
        left = f"{store.connection.settings.prefix}-migrations-trial-0123456789ab"
        body = {"mappings": {"_meta": {"corpus": "", "kind": "row", "dimensions": 2, "schema": 1}}}
        store.connection.ask("PUT", f"/{left}", answer=Anything, body=body)
        assert not [item for item in store.check() if not item[1]]  # no index of a corpus: nothing is wrong with it
        assert migrate.apply(store.target).version == 2
        assert store.connection.send("GET", f"/{left}").status == 404
        assert not [item for item in store.check() if not item[1]]


def test_settings_and_aliases_that_were_changed_are_named_and_mended(store: OpenSearchVectorStore) -> None:
    target = OpenSearchTarget(store.connection)
    migrate.apply(target)
    write(store, rows(["a bridge"]), sources=[Source("s", "c", "u", "t", "x")])
    assert migrate.differences(target) == ()
    home = store.indexes.ensure("c", Kind.ENTITY, dimensions=16)
    alias, name = home.alias, home.name
    changed = {"index.max_result_window": 50, "index.refresh_interval": "1s"}
    store.connection.ask("PUT", f"/{name}/_settings", answer=Anything, body=changed)
    store.connection.ask("PUT", f"/{name}/_mapping", answer=Anything, body={"properties": {"own": {"type": "keyword"}}})
    store.connection.ask("DELETE", f"/{name}/_alias/{alias}", answer=Anything)
    assert sorted(map(str, migrate.differences(target))) == [
        f"{name}, field own: not hlgraph's",
        f"{name}, setting index.max_result_window: is 50, not 1000000",
        f"{name}, setting index.refresh_interval: is 1s, not 30s",
        f"{name}: has no alias of corpus 'c', so nothing in it is found",
    ]
    assert [item for item, is_fine, _ in store.check() if not is_fine] == ["vector mappings"]
    assert len(migrate.repair(target)) == 4
    assert migrate.differences(target) == ()
    assert store.indexes.ensure("c", Kind.ENTITY, dimensions=16).name == f"{name}b"  # the field took a re-index
    assert near(store, "a bridge") == {f"{0:032x}"}
