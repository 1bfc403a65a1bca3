"""Contract suite of MergeStore. Subclass :class:`MergeStoreContract` and define a fixture ``stores``.

The tests use the tiny corpus. Its entities form a chain of facts: Aldane Bridge - Mara Quill - Tessing - Orne - Ivo Brandt.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hlgraph import ids
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape
from hlgraph.errors import StoreConflictError, StoreError
from hlgraph.records import Document, Kind, Relationship
from hlgraph.retrieve.session import pull_merged
from hlgraph.stores.in_process import PulledRanker
from hlgraph.stores.protocols import Decider, Decision, MergeStore, PullShape, RankQuery, Scope, Stores, Verdict
from hlgraph.testing.corpus import CORPUS, fill, remove, snapshot
from hlgraph.where import parse

_SAME_AS = PullShape.along(Relationship.SAME_AS, hops=3)


def merges(stores: Stores) -> MergeStore:
    """The MergeStore of these stores."""
    assert stores.graph.merges is not None
    return stores.graph.merges


def decision(alias: str, canonical: str, *, verdict: Verdict = Verdict.SAME, corpus: str = CORPUS) -> Decision:
    """A decision by a person about two entities.

    Parameters
    ----------
    alias : name of the entity that is merged
    canonical : name of the entity that it is merged into
    verdict : default ``Verdict.SAME``
    corpus : name of the corpus, default ``tiny``
    """
    pair = ids.entity_id(corpus, alias), ids.entity_id(corpus, canonical)
    return Decision(corpus, *pair, verdict, Decider.PERSON, "Ada", "by hand", 0.75, "2026-01-02T03:04:05+00:00")


def save(stores: Stores, *decisions: Decision, corpus: str = CORPUS) -> None:
    """Save decisions under the lock.

    Parameters
    ----------
    stores : the stores
    decisions : the decisions to save
    corpus : name of the corpus, default ``tiny``
    """
    with stores.graph.lock():
        merges(stores).save(corpus, decisions)


def drop(stores: Stores, *decisions: Decision) -> None:
    """Drop decisions of the tiny corpus under the lock.

    Parameters
    ----------
    stores : the stores
    decisions : the decisions to drop
    """
    with stores.graph.lock():
        merges(stores).drop(CORPUS, decisions)


def _version(stores: Stores) -> int:
    return stores.graph.stats(CORPUS, has_counts=False)[0].version


def _id(name: str) -> str:
    return ids.entity_id(CORPUS, name)


class MergeStoreContract:
    """Tests that every MergeStore must pass, together with its GraphStore."""

    def test_an_empty_store_has_no_decisions(self, stores: Stores) -> None:
        assert merges(stores).decisions(CORPUS) == ()
        assert merges(stores).aliases(CORPUS, version=0) == {}

    def test_decisions_come_back_as_they_went_in(self, stores: Stores) -> None:
        fill(stores)
        decisions = (
            decision("Mara Quill", "Ivo Brandt"),
            decision("Tessing", "Orne", verdict=Verdict.DIFFERENT),
            decision("Aldane Bridge", "Orne", verdict=Verdict.OPEN),
        )
        save(stores, *decisions)
        assert merges(stores).decisions(CORPUS) == tuple(sorted(decisions, key=lambda item: item.id))

    def test_decisions_are_read_page_by_page_and_counted(self, stores: Stores) -> None:
        fill(stores)
        decisions = [
            decision("Mara Quill", "Ivo Brandt"),
            replace(decision("Tessing", "Orne", verdict=Verdict.DIFFERENT), at="2026-01-03T03:04:05+00:00"),
            replace(decision("Aldane Bridge", "Orne", verdict=Verdict.OPEN), at="2026-01-04T03:04:05+00:00"),
        ]
        save(stores, *decisions)
        newest = tuple(reversed(decisions))
        page = merges(stores).page
        assert page(CORPUS, k=2) == (newest[:2], 3)
        assert page(CORPUS, k=2, skip=2) == (newest[2:], 3)
        assert page(CORPUS, verdict=Verdict.SAME, k=5) == (newest[2:], 1)
        assert page(CORPUS, entity=_id("Orne"), k=1) == (newest[:1], 2)
        assert page(CORPUS, entity=_id("Orne"), verdict=Verdict.SAME, k=1) == ((), 0)
        assert page("other", k=5) == ((), 0)

    def test_a_later_decision_takes_the_place_of_an_earlier_one(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Mara Quill", "Ivo Brandt", verdict=Verdict.DIFFERENT))
        for later in (
            decision("Ivo Brandt", "Mara Quill"),
            decision("Mara Quill", "Ivo Brandt"),
            replace(
                decision("Mara Quill", "Ivo Brandt", verdict=Verdict.OPEN), by=Decider.MODEL, made_by="p/1+m", score=0.5
            ),
        ):
            save(stores, later)
            assert merges(stores).decisions(CORPUS) == (later,)

    def test_aliases_are_the_groups_that_merges_make(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Mara Quill", "Ivo Brandt"), decision("Ivo Brandt", "Orne"))
        save(stores, decision("Tessing", "Orne", verdict=Verdict.DIFFERENT))
        group = tuple(sorted(map(_id, ("Mara Quill", "Ivo Brandt", "Orne"))))
        assert merges(stores).aliases(CORPUS, version=_version(stores)) == dict.fromkeys(group, group)
        ends = {_id("Mara Quill"), _id("Orne")}  # joined by Ivo Brandt alone
        assert merges(stores).aliases(CORPUS, version=_version(stores), among=ends) == {}
        drop(stores, decision("Ivo Brandt", "Orne"))
        pair = tuple(sorted(map(_id, ("Mara Quill", "Ivo Brandt"))))
        assert merges(stores).aliases(CORPUS, version=_version(stores)) == dict.fromkeys(pair, pair)

    def test_what_changes_raises_the_version_of_the_corpus(self, stores: Stores) -> None:
        fill(stores)
        first = _version(stores)
        save(stores, decision("Mara Quill", "Ivo Brandt"))
        assert _version(stores) == first + 1
        save(stores)
        drop(stores, decision("Tessing", "Orne"))
        assert _version(stores) == first + 1
        drop(stores, decision("Ivo Brandt", "Mara Quill"))
        assert _version(stores) == first + 2
        assert merges(stores).decisions(CORPUS) == ()

    def test_an_entity_of_another_corpus_is_refused_with_all_that_came_along(self, stores: Stores) -> None:
        fill(stores)
        fill(stores, corpus="other")
        stranger = replace(decision("Tessing", "Orne"), canonical=ids.entity_id("other", "Orne"))
        with stores.graph.lock(), pytest.raises(StoreConflictError, match="no longer has"):
            merges(stores).save(CORPUS, [decision("Mara Quill", "Ivo Brandt"), stranger])
        unknown = replace(decision("Tessing", "Orne"), alias="0" * 32)
        with stores.graph.lock(), pytest.raises(StoreConflictError, match="no longer has"):
            merges(stores).save(CORPUS, [unknown])
        assert merges(stores).decisions(CORPUS) == ()

    def test_corpora_do_not_see_the_decisions_of_each_other(self, stores: Stores) -> None:
        fill(stores)
        fill(stores, corpus="other")
        merge = decision("Mara Quill", "Ivo Brandt", corpus="other")
        save(stores, merge, corpus="other")
        assert merges(stores).decisions(CORPUS) == ()
        assert merges(stores).decisions("other") == (merge,)

    def test_writing_needs_the_lock(self, stores: Stores) -> None:
        fill(stores)
        with pytest.raises(StoreError, match="lock"):
            merges(stores).save(CORPUS, [decision("Mara Quill", "Ivo Brandt")])
        with pytest.raises(StoreError, match="lock"):
            merges(stores).drop(CORPUS, [decision("Mara Quill", "Ivo Brandt")])
        assert merges(stores).decisions(CORPUS) == ()

    def test_a_pull_follows_merges_both_ways_and_nothing_else_that_was_decided(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Mara Quill", "Ivo Brandt"), decision("Tessing", "Orne", verdict=Verdict.DIFFERENT))
        for seed in ("Mara Quill", "Ivo Brandt"):
            graph = stores.graph.pull([_id(seed)], _SAME_AS, scope=Scope(CORPUS))
            assert graph.ids.tolist() == sorted([_id("Mara Quill"), _id("Ivo Brandt")])
            edges = graph.edges[Relationship.SAME_AS].tocoo()
            ends = [(graph.ids[a], graph.ids[b], w) for a, b, w in zip(edges.row, edges.col, edges.data, strict=True)]
            assert ends == [(_id("Mara Quill"), _id("Ivo Brandt"), 1.0)]
        assert len(stores.graph.pull([_id("Tessing")], _SAME_AS, scope=Scope(CORPUS))) == 1
        assert stores.graph.stats(CORPUS)[0].relationships[Relationship.SAME_AS] == 1

    def test_a_pull_under_a_filter_does_not_enter_an_alias_of_other_sources(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Aldane Bridge", "Orne"))
        scope = Scope(CORPUS, parse('category = "structure"'))
        graph = stores.graph.pull([_id("Aldane Bridge")], _SAME_AS, scope=scope)
        assert graph.ids.tolist() == [_id("Aldane Bridge")]

    def test_a_merge_leaves_with_the_first_of_its_entities_and_stays_gone(self, stores: Stores) -> None:
        fill(stores)
        kept = decision("Aldane Bridge", "Tessing", verdict=Verdict.DIFFERENT)
        save(
            stores,
            decision("Mara Quill", "Ivo Brandt"),
            decision("Ivo Brandt", "Orne", verdict=Verdict.DIFFERENT),
            kept,
        )
        remove(stores, "doc:poet")
        assert merges(stores).decisions(CORPUS) == (kept,)
        assert stores.graph.stats(CORPUS)[0].relationships[Relationship.SAME_AS] == 0
        fill(stores)
        assert merges(stores).decisions(CORPUS) == (kept,)

    def test_a_later_mention_of_an_alias_lands_on_the_merged_one(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Mara Quill", "Ivo Brandt"))
        fill(stores, Document("doc:late", "Mara Quill was late.", "Late"))
        shape = PullShape.along(Relationship.SAME_AS, Relationship.MENTIONS, hops=2)
        graph = stores.graph.pull([_id("Ivo Brandt")], shape, scope=Scope(CORPUS))
        late = ids.statement_id(ids.source_id(CORPUS, "doc:late"), "Mara Quill was late.")
        assert late in graph.ids.tolist()

    def test_undoing_gives_the_graph_that_would_be_there_without_the_merge(self, stores: Stores) -> None:
        fill(stores)
        before = snapshot(stores, CORPUS)
        save(stores, decision("Mara Quill", "Ivo Brandt"), decision("Tessing", "Orne"))
        assert snapshot(stores, CORPUS) != before
        drop(stores, decision("Mara Quill", "Ivo Brandt"), decision("Tessing", "Orne"))
        assert snapshot(stores, CORPUS) == before

    def test_deleting_everything_leaves_no_decision(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Mara Quill", "Ivo Brandt"), decision("Tessing", "Orne", verdict=Verdict.OPEN))
        remove(stores)
        assert merges(stores).decisions(CORPUS) == ()
        assert not any(snapshot(stores, CORPUS).values())
        assert not any(stores.graph.stats(CORPUS)[0].relationships.values())

    def test_merged_entities_are_joined_in_every_shape_that_is_ranked(self, stores: Stores) -> None:
        """The scores equal those of a walk in process over the whole graph, and a merge connects separate parts of the graph."""
        fill(stores)
        fill(stores, Document("doc:far", "Ivo Brandt sang.", "Ivo Brandt"))
        save(stores, decision("Aldane Bridge", "Ivo Brandt"))
        for shape in ProjectionShape:
            query = RankQuery(shape, {_id("Aldane Bridge"): 1.0}, k=100, tolerance=1e-8)
            scores = {hit.id: hit.score for hit in stores.graph.rank(query, scope=Scope(CORPUS))}
            expected = {
                hit.id: hit.score for hit in PulledRanker(stores.graph, hops=20).rank(query, scope=Scope(CORPUS))
            }
            assert scores.keys() == expected.keys()
            np.testing.assert_allclose([scores[key] for key in expected], list(expected.values()), atol=1e-6)
        drop(stores, decision("Aldane Bridge", "Ivo Brandt"))
        again = {hit.id: hit.score for hit in stores.graph.rank(query, scope=Scope(CORPUS))}
        assert again[_id("Ivo Brandt")] < scores[_id("Ivo Brandt")]

    def test_reading_as_merges_say_steps_from_name_to_name_without_a_hop(self, stores: Stores) -> None:
        fill(stores)
        save(stores, decision("Aldane Bridge", "Ivo Brandt"))
        shape = PullShape.along(Relationship.MENTIONS, hops=2)
        aliases = merges(stores).aliases(CORPUS, version=_version(stores))
        seeds = [_id("Aldane Bridge")]
        graph = pull_merged(seeds, shape, scope=Scope(CORPUS), graph=stores.graph, aliases=lambda: aliases).graph
        names = ("Aldane Bridge", "Ivo Brandt", "Mara Quill", "Orne")
        assert set(map(_id, names)) == set(graph.ids[graph.nodes(Kind.ENTITY)].tolist())
        mentions = graph.edges[Relationship.MENTIONS].toarray()
        one, other = (mentions[:, graph.ids.tolist().index(_id(name))] for name in names[:2])
        assert one.tolist() == other.tolist()
        assert one.sum() == 3

    def test_a_merge_alone_makes_a_node_of_a_ranked_graph(self, stores: Stores) -> None:
        fill(stores, Document("doc:one", "Aldane Bridge.", "One"), Document("doc:two", "Ivo Brandt.", "Two"))
        save(stores, decision("Aldane Bridge", "Ivo Brandt"))
        query = RankQuery(ProjectionShape.ENTITY_ENTITY, {_id("Aldane Bridge"): 1.0}, k=10)
        hits = stores.graph.rank(query, scope=Scope(CORPUS))
        assert {hit.id for hit in hits} == {_id("Aldane Bridge"), _id("Ivo Brandt")}
        assert INGREDIENTS[query.shape].relationships >= {Relationship.SAME_AS}
