"""Parts of the graph taken out around several pools at once."""

from __future__ import annotations

import re

import numpy as np
import pytest
from extractors import sentence_extractor

from hlgraph.algorithms.query_walk import QueryWalk
from hlgraph.chunk import WholeChunker
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Kind, Statement
from hlgraph.retrieve import SearchRequest
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.suggest import Extraction as Taken
from hlgraph.retrieve.steps.suggest import best_of, horizons
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder(32)


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    """A ring of twenty names, two of them in each statement, and an island of two statements."""
    texts = [f"Name{at} knows Name{(at + 1) % 20}." for at in range(20)] + ["Isle9 knows Isle8. Isle8 is far."]
    documents = [Document(f"doc:{at}", text, "") for at, text in enumerate(texts)]
    steps = pipeline.Steps(WholeChunker(), sentence_extractor(re.compile(r"[A-Z]\w+").findall), _EMBEDDER)
    pipeline.ingest(documents, "c", stores=module_stores, steps=steps)
    return module_stores


def _session(stores: Stores) -> Session:
    [corpus] = stores.graph.stats("c")
    request = SearchRequest("Who knows Name3?", "c")
    return Session(request, stores, embedder=_EMBEDDER, reranker=LexicalReranker(), corpus=corpus)


def _ids(stores: Stores, *starts: str) -> list[str]:
    records = [item for item in stores.graph.find(Kind.STATEMENT, Scope("c")) if isinstance(item, Statement)]
    return [item.id for start in starts for item in records if item.text.startswith(start)]


@pytest.mark.parametrize("by", ["push", "walk"])
def test_each_pool_gets_its_own_part(stores: Stores, by: str) -> None:
    pools = [_ids(stores, "Name3 "), _ids(stores, "Isle9 ")]
    taken = Taken(size=5, by=by, hops=30)  # type: ignore[arg-type]
    ring, island = horizons(_session(stores), pools, extraction=taken)
    near = _ids(stores, "Name1 ", "Name2 ", "Name3 ", "Name4 ", "Name5 ")
    assert set(ring.ids.tolist()) == set(near)
    assert set(island.ids.tolist()) == set(_ids(stores, "Isle"))


def test_together_and_alone_are_the_same(stores: Stores) -> None:
    pools = [_ids(stores, "Name3 "), _ids(stores, "Name11 ", "Name12 "), _ids(stores, "Isle9 ")]
    together = horizons(_session(stores), pools, extraction=Taken(size=6))
    for pool, around in zip(pools, together, strict=True):
        [alone] = horizons(_session(stores), [pool], extraction=Taken(size=6))
        assert around.ids.tolist() == alone.ids.tolist()
        assert around.vectors == pytest.approx(alone.vectors)
        question = _session(stores).vector()[np.newaxis]
        shares = [each.shares([pool], question, walk=QueryWalk()) for each in (around, alone)]
        assert shares[0] == pytest.approx(shares[1])


def test_exact_ranking_reaches_nodes_beyond_the_push(stores: Stores) -> None:
    pool, ring = _ids(stores, "Name3 "), set(_ids(stores, "Name"))
    [pushed], [exact] = (
        horizons(_session(stores), [pool], extraction=Taken(size=20), is_exact=is_exact) for is_exact in (False, True)
    )
    assert set(exact.ids.tolist()) == ring
    assert set(pushed.ids.tolist()) < ring


def test_round_trips_do_not_depend_on_number_of_pools(stores: Stores) -> None:
    counts = []
    for pools in ([_ids(stores, "Name3 ")], [[item] for item in _ids(stores, "Name")]):
        session = _session(stores)
        before = session.round_trips
        horizons(session, pools, extraction=Taken(size=6))
        counts.append(session.round_trips - before)
    assert counts == [3, 3]


@pytest.mark.parametrize("by", ["push", "walk"])
def test_part_contains_its_pool_even_if_pool_exceeds_size(stores: Stores, by: str) -> None:
    pools = [_ids(stores, *(f"Name{at} " for at in range(6))), _ids(stores, "Isle")]
    for count in (1, 2):
        found = horizons(_session(stores), pools[:count], extraction=Taken(size=2, by=by))  # type: ignore[arg-type]
        assert [set(around.ids.tolist()) for around in found] == [set(pool) for pool in pools[:count]]


def test_link_returns_the_joint_of_two_statements(stores: Stores) -> None:
    pool = _ids(stores, "Name3 ")
    [around] = horizons(_session(stores), [pool], extraction=Taken())
    [following] = _ids(stores, "Name4 ")
    ids, kinds = around.link(following, pool)
    assert (ids[0], ids[2]) == (pool[0], following)
    assert kinds == [Kind.STATEMENT, Kind.ENTITY, Kind.STATEMENT]
    assert around.link(_ids(stores, "Name9 ")[0], pool) == ([], [])


def test_the_best_are_above_0_and_ties_break_by_id() -> None:
    ids = np.array(["a", "b", "c", "d"])
    assert best_of(ids, np.array([0.2, 0.5, 0.2, 0.0]), k=9) == [("b", 0.5), ("a", 0.2), ("c", 0.2)]
    assert best_of(ids, np.zeros(4), k=2) == []
