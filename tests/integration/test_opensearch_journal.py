"""The journal over two stores: the graph embedded, the vectors on OpenSearch, against all of it embedded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from opensearch_fixture import opened
from opensearch_proxy import Reply, proxied, times

from hlgraph.change import ChangeState
from hlgraph.errors import StoreUnavailableError
from hlgraph.persist import journal
from hlgraph.records import Document, Hit, Kind
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores, VectorQuery
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, change_for
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(16)
_KINDS = (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Stores]:
    found = open_stores(f"hlgraph://{tmp_path}/all")
    with found.closing:
        yield found.stores


def ingest(stores: Stores, documents: tuple[Document, ...]) -> None:
    with stores.graph.lock():
        change = change_for(documents, stores, embedder=_EMBEDDER)
        assert change is not None
        journal.persist(change, stores)


def held(stores: Stores) -> tuple[dict[Kind, set[str]], list[list[Hit]]]:
    """The ids of every kind, and what some questions find."""
    ids = {kind: set(stores.vectors.ids(kind, CORPUS)) for kind in _KINDS}
    questions = itertools.product(
        ("Who designed the bridge?", "Orne", "born in Tessing"),
        (None, parse('category = "person"'), parse("not exists year")),
    )
    hits = [
        stores.vectors.search(VectorQuery(Kind.STATEMENT, CORPUS, 9, _EMBEDDER.embed([text])[0], text, where))
        for text, where in questions
    ]
    return ids, hits


def test_ingests_edits_and_removals_leave_the_same_in_both(
    servers: SimpleNamespace, tmp_path: Path, embedded: Stores
) -> None:
    graph = open_stores(f"hlgraph://{tmp_path}/graph")
    with graph.closing, opened(servers.opensearch) as vectors:
        stores = Stores(graph.stores.graph, vectors)
        moved = replace(DOCUMENTS[2], metadata={"category": "person", "year": 7})
        edited = replace(DOCUMENTS[0], text="The Aldane Bridge opened in 1931.")
        for documents in (DOCUMENTS, (moved,), (edited,)):
            for each in (embedded, stores):
                ingest(each, documents)
            assert held(stores) == held(embedded)


def test_a_change_whose_vectors_could_not_be_written_is_finished_later(
    servers: SimpleNamespace, tmp_path: Path, embedded: Stores
) -> None:
    server = servers.opensearch
    graph = open_stores(f"hlgraph://{tmp_path}/graph")
    with graph.closing, proxied(server) as proxy:
        near = SimpleNamespace(url=proxy.url, user=server.user, password=server.password, ca=None)
        with opened(near, patience=0.2) as vectors:
            stores = Stores(graph.stores.graph, vectors)
            # After some of the kinds: the server goes away in the middle of the change.
            proxy.behaviour = times(10**6, Reply(503, b"{}", {}), path="-topic/_bulk")
            with pytest.raises(StoreUnavailableError):
                ingest(stores, DOCUMENTS)
            proxy.behaviour = None
            with stores.graph.lock() as unfinished:
                assert [pending.state for pending in unfinished] == [ChangeState.STAGED]
                for pending in unfinished:
                    journal.finish(pending, stores)
            ingest(embedded, DOCUMENTS)
            assert held(stores) == held(embedded)
