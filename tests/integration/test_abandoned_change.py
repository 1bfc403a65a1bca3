"""A change that Neo4j cannot take, or whose vectors were lost with a run, is given up: nothing is left in either store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from killed_rows import rows
from live_stores import opened

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import ModelMismatchError, StoreCorruptError, StoreUnavailableError
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.persist.journal import abandon, persist
from hlgraph.records import Document, Kind
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import Scope, Stores, VectorBatch, VectorQuery
from hlgraph.testing.corpus import change_for, snapshot
from hlgraph.testing.embedder import WordEmbedder

_STEPS = pipeline.Steps(ContentDefinedChunker(80, 0.2), LocalExtractor(), WordEmbedder())
_WITH_VECTORS = (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)


def documents() -> list[Document]:
    return [Document(f"doc:{row['id']}", str(row["text"]), f"Title {number}") for number, row in enumerate(rows(5, 6))]


def held(stores: Stores) -> dict[Kind, set[str]]:
    return {kind: stores.vectors.ids(kind, "c") for kind in _WITH_VECTORS}


def test_a_change_that_cannot_be_published_is_given_up(servers: Any, graph_server: Any) -> None:
    first, second = documents()[:3], documents()[3:]
    twin = Document(second[0].uri, second[0].text, first[0].title)
    with opened(servers) as found:
        stores = found.stores
        pipeline.ingest(first, "c", stores=stores, steps=_STEPS)
        whole, rows_before = snapshot(stores, "c"), held(stores)
        graph_server.schema(["CREATE CONSTRAINT theirs FOR (n:Source) REQUIRE n.title IS UNIQUE"])
        try:
            for _ in range(2):  # the same command again fails the same way
                with pytest.raises(StoreCorruptError):
                    pipeline.ingest([twin, *second[1:]], "c", stores=stores, steps=_STEPS)
            assert held(stores)[Kind.STATEMENT] > rows_before[Kind.STATEMENT]
            with stores.graph.lock() as pending:
                assert len(pending) == 1
                abandon(pending[0], stores)
            assert held(stores) == rows_before
            assert snapshot(stores, "c") == whole
            assert not [item for item in found.check() if not item.is_fine]
            report = pipeline.ingest(second, "c", stores=stores, steps=_STEPS)  # without the twin it fits
            assert (report.resumed, report.sources_added) == (0, 3)
        finally:
            graph_server.schema(["DROP CONSTRAINT theirs"])
        names = sorted(held(stores)[Kind.STATEMENT])
        visible = {record.id for record in stores.graph.records(Kind.STATEMENT, names, scope=Scope("c"))}
        assert visible == held(stores)[Kind.STATEMENT]
        assert stores.vectors.search(VectorQuery(Kind.STATEMENT, "c", 5, text="bridge"))


def test_the_journal_holds_no_vectors_and_a_run_that_lost_them_is_undone(
    servers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, beside: Callable[[], object] = tuple) -> None:
        beside()
        raise StoreUnavailableError("gone")

    first, second = documents()[:3], documents()[3:]
    with opened(servers) as found:
        stores = found.stores
        pipeline.ingest(first, "c", stores=stores, steps=_STEPS)
        rows_before = held(stores)
        for place, name in ((OpenSearchVectorStore, "upsert"), (Neo4jGraphStore, "advance")):
            with monkeypatch.context() as patch:
                patch.setattr(place, name, away)
                with pytest.raises(StoreUnavailableError):
                    pipeline.ingest(second, "c", stores=stores, steps=_STEPS)
            with stores.graph.lock() as (pending,):
                assert all(block.is_hollow and not block.texts for block in pending.change.vectors)
            if name == "upsert":  # nothing of the rows is there: undone by the next writer, whoever it is
                assert pipeline.ingest(first, "c", stores=stores, steps=_STEPS).resumed == 0
                assert held(stores) == rows_before
        report = pipeline.ingest(second, "c", stores=stores, steps=_STEPS)  # all rows are there: finished
        assert (report.resumed, report.sources_unchanged) == (1, 3)
        assert held(stores)[Kind.STATEMENT] > rows_before[Kind.STATEMENT]
        assert not [item for item in found.check() if not item.is_fine]


def test_a_change_whose_vectors_do_not_fit_is_undone_and_blocks_no_write(servers: Any) -> None:
    first, second = documents()[:3], documents()[3:]
    with opened(servers) as found:
        stores = found.stores
        pipeline.ingest(first, "c", stores=stores, steps=_STEPS)
        rows_before = held(stores)
        with stores.graph.lock():
            change = change_for(second, stores, embedder=WordEmbedder(), corpus="c")
            assert change is not None
            wide = [
                replace(block, dimensions=2 * block.dimensions, data=np.hstack([block.matrix()] * 2).tobytes())
                for block in change.vectors
            ]
            stores.graph.stage(replace(change, vectors=tuple(wide)))  # as an earlier version did
        assert pipeline.ingest(first, "c", stores=stores, steps=_STEPS).resumed == 0
        assert held(stores) == rows_before
        stores.vectors.upsert(VectorBatch("d", "earlier", (), tuple(wide[:1])))
        with stores.graph.lock():
            other = change_for(second, stores, embedder=WordEmbedder(), corpus="d")
            assert other is not None
            with pytest.raises(ModelMismatchError, match="of 64 dimensions, these have 32"):
                persist(other, stores)
        with stores.graph.lock() as pending:
            assert not pending
        assert pipeline.ingest(second, "c", stores=stores, steps=_STEPS).sources_added == 3
