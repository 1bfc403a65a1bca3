"""What a search reads is counted, on a real store, and nothing of it changes."""

from __future__ import annotations

import numpy as np
import pytest

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.evaluate.runner import Cost, Tally, counted
from hlgraph.records import Kind, Relationship
from hlgraph.stores.protocols import PullShape, RankQuery, Scope, Stores, VectorQuery
from hlgraph.testing.corpus import CORPUS, fill
from hlgraph.testing.embedder import WordEmbedder

IDS = 32  # letters of an id


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    fill(module_stores)
    return module_stores


def test_hits_vectors_and_records(stores: Stores) -> None:
    tally = Tally()
    watched = counted(stores, tally)
    vector = WordEmbedder().embed(["bridge"])[0]
    query = VectorQuery(Kind.STATEMENT, CORPUS, 3, vector)
    hits = watched.vectors.search(query)
    assert hits == stores.vectors.search(query)
    assert tally.take() == Cost(1, 3, 3 * (IDS + 8))
    ids = [hit.id for hit in hits]
    watched.vectors.vectors(Kind.STATEMENT, CORPUS, ids=ids)
    assert tally.take() == Cost(1, 3, 3 * (IDS + 4 * 32))
    assert watched.vectors.ids(Kind.STATEMENT, CORPUS, among=ids) == set(ids)
    assert tally.take() == Cost(1, 3, 3 * IDS)
    entities = list(stores.graph.find(Kind.ENTITY, Scope(CORPUS)))
    assert watched.graph.records(Kind.ENTITY, [item.id for item in entities], scope=Scope(CORPUS)) == entities
    texts = sum(
        len("".join((item.id, item.corpus, item.name, item.kind, *item.aliases)).encode())
        for item in entities
        if hasattr(item, "aliases")
    )
    assert tally.take() == Cost(1, 5, texts)
    assert list(watched.graph.find(Kind.ENTITY, Scope(CORPUS))) == entities
    assert tally.take() == Cost(1, 5, texts)
    assert tally.take() == Cost(0, 0, 0)


def test_subgraphs_and_rankings(stores: Stores) -> None:
    tally = Tally()
    watched = counted(stores, tally)
    chunks = [item.id for item in stores.graph.find(Kind.CHUNK, Scope(CORPUS))]
    shape = PullShape(frozenset({Relationship.IN_CHUNK}), frozenset({Kind.CHUNK, Kind.STATEMENT}))
    graph = watched.graph.pull(chunks, shape, scope=Scope(CORPUS))
    edges = graph.edges[Relationship.IN_CHUNK]
    assert (len(graph), edges.nnz) == (9, 5)
    held = graph.ids.nbytes + graph.kinds.nbytes + edges.data.nbytes + edges.indices.nbytes + edges.indptr.nbytes
    assert tally.take() == Cost(1, 14, held)
    assert graph.ids.nbytes == 9 * IDS * np.dtype("<U1").itemsize
    hits = watched.graph.rank(RankQuery(ProjectionShape.ENTITY_PASSAGE, {chunks[0]: 1.0}, k=2), scope=Scope(CORPUS))
    assert tally.take() == Cost(1, len(hits), len(hits) * (IDS + 8))


def test_what_does_not_read_is_not_counted(stores: Stores) -> None:
    tally = Tally()
    watched = counted(stores, tally)
    assert watched.graph.stats(CORPUS) == stores.graph.stats(CORPUS)
    with watched.graph.lock() as pending:
        assert pending == ()
    assert tally.take() == Cost(0, 0, 0)


def test_an_error_of_the_store_goes_through(stores: Stores) -> None:
    tally = Tally()
    with pytest.raises(Exception, match="k is 0"):
        counted(stores, tally).vectors.search(VectorQuery(Kind.STATEMENT, CORPUS, 0, text="x"))
    assert tally.take() == Cost(0, 0, 0)
