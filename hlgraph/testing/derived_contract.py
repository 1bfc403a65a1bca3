"""Contract suites of DerivedStore with Clusterer, of topics, domains, and holds. Subclass one and define a fixture ``stores``.

The tests use the tiny corpus. Its entities form a chain of facts: Aldane Bridge - Mara Quill - Tessing - Orne - Ivo Brandt.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hlgraph import ids
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import StoreConflictError, StoreError, UnknownNameError
from hlgraph.ids import content_id, statement_id
from hlgraph.index.communities import build_communities
from hlgraph.ingest.receipts import retention_of
from hlgraph.persist.journal import persist
from hlgraph.records import (
    Chunk,
    Community,
    Document,
    Domain,
    Kind,
    Source,
    Statement,
    Summary,
)
from hlgraph.sdk.communities import Communities
from hlgraph.stores.derived import (
    ClusterQuery,
    DerivedStore,
    Hold,
    Made,
    ReceiptMark,
    Run,
    Saved,
    Summarised,
    community_id,
    with_sources,
)
from hlgraph.stores.protocols import DomainStore, Scope, Stores, by_source, domain_of, domain_store, find_records
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, fill, new_change, remove, snapshot

# The part of the contract suite of DerivedStore about summaries of long sources.


def derived(stores: Stores) -> DerivedStore:
    """The DerivedStore of these stores."""
    assert stores.graph.derived is not None
    return stores.graph.derived


def summaries(stores: Stores) -> tuple[Summarised, ...]:
    """The stored summaries of the run ``made``."""
    return derived(stores).summaries(CORPUS, "made").items


def save(stores: Stores, run: Run, *, built: Made) -> Saved:
    """Save a run under the lock."""
    with stores.graph.lock():
        return derived(stores).save(run, built)


class SourceSummaryContract:
    """Tests that every DerivedStore must pass, given a fixture ``stores``."""

    def test_summaries_of_sources_come_back_and_are_members(self, stores: Stores) -> None:
        run, built = _save_of_source(stores)
        save(stores, run, built=built)  # a second time changes nothing
        stored = {item.summary.id: item for item in summaries(stores)}
        for item in built.summaries:
            there = stored[item.summary.id]
            assert there._replace(vector=item.vector) == item._replace(parts=tuple(sorted(item.parts)))
            assert there.vector.tolist() == item.vector.tolist()
        assert len(stored) == 2
        members = derived(stores).members([item.id for item in built.communities])
        assert {name: tuple(item.id for item in some) for name, some in members.items()} == built.members
        kinds = {item.id: item.kind for some in members.values() for item in some}
        assert kinds[built.summaries[0].summary.id] == Kind.SUMMARY
        assert list(kinds.values()).count(Kind.CHUNK) == 1

    @pytest.mark.parametrize("how", ["deleted", "edited", "longer"])
    def test_a_summary_of_a_source_leaves_with_any_change_of_its_chunks(self, stores: Stores, how: str) -> None:
        _save_of_source(stores)
        if how == "deleted":
            remove(stores, "doc:bridge")
        else:
            with stores.graph.lock():
                change = new_change(stores, _LONGER)
                assert change.removed_chunks
                persist(replace(change, removed_chunks=()) if how == "longer" else change, stores)
        assert summaries(stores) == ()  # the community's summary depended on it
        assert {item.size for item in derived(stores).communities(CORPUS, "made")} == {1}
        _save_of_source(stores)
        assert len(summaries(stores)) == 2
        assert {item.size for item in derived(stores).communities(CORPUS, "made")} == {2}

    def test_a_summary_of_a_large_chunk_stays_when_its_source_grows(self, stores: Stores) -> None:
        _save_of_source(stores, level=-2)
        with stores.graph.lock():
            persist(replace(new_change(stores, _LONGER), removed_chunks=()), stores)
        left = summaries(stores)
        assert {item.summary.level for item in left} == {-2, 0}
        remove(stores, "doc:bridge")
        assert summaries(stores) == ()

    def test_a_run_without_communities_lasts_as_long_as_a_chunk(self, stores: Stores) -> None:
        fill(stores)
        version = stores.graph.stats(CORPUS, has_counts=False)[0].version
        save(stores, Run(CORPUS, "made", version, "by hand", 0), built=Made())
        remove(stores, "doc:bridge")
        assert [item.is_stale for item in derived(stores).runs(CORPUS)] == [True]
        for source in list(stores.graph.find(Kind.SOURCE, Scope(CORPUS))):
            assert isinstance(source, Source)
            remove(stores, source.uri)
        assert derived(stores).runs(CORPUS) == ()

    def test_a_summary_of_a_source_stays_when_another_source_changes(self, stores: Stores) -> None:
        _, built = _save_of_source(stores)
        fill(stores, Document("doc:town", "Tessing is small.", "Tessing"))
        assert len(summaries(stores)) == 2
        remove(stores, "doc:engineer")
        (left,) = summaries(stores)
        assert left.source_id == built.summaries[0].source_id
        assert {item.size for item in derived(stores).communities(CORPUS, "made")} == {1}

    def test_a_new_run_replaces_summaries_of_sources(self, stores: Stores) -> None:
        _save_of_source(stores)
        other, again = _of_source(stores, hashed="other")
        assert save(stores, replace(other, stamp="other"), built=again) == Saved(2, 2, 0)
        stored = {item.summary.id for item in summaries(stores)}
        assert stored == {item.summary.id for item in again.summaries}


def _of_source(stores: Stores, *, hashed: str = "", level: int = -1) -> tuple[Run, Made]:
    """A summary of the bridge's source, in two nested communities with the engineer's chunk; the lower one has a summary."""
    run = Run(CORPUS, "made", stores.graph.stats(CORPUS, has_counts=False)[0].version, "by hand", 2)
    source = ids.source_id(CORPUS, "doc:bridge")
    chunks = by_source(stores.graph.find(Kind.CHUNK, Scope(CORPUS)), Chunk)
    [bridge], [engineer] = chunks[source], chunks[ids.source_id(CORPUS, "doc:engineer")]
    name = content_id(Kind.SUMMARY, source, hashed)
    parts = tuple(sorted([bridge.id, statement_id(source, _SECOND)]))
    vector = np.full(8, 0.25, dtype=np.float32)
    about = Summarised(Summary(name, CORPUS, _SECOND, level, hashed), "", vector, parts, source, (bridge.id,))
    members = tuple(sorted([name, engineer.id]))
    upper = Community(community_id(run, 1, members=members), CORPUS, 1, 2)
    lower = Community(community_id(run, 0, members=members), CORPUS, 0, 2, upper.id)
    members_of = {lower.id: members, upper.id: members}
    key = content_id(Kind.SUMMARY, lower.id, hashed)
    both = Summarised(Summary(key, CORPUS, "Both.", 0, hashed), lower.id, vector * 2)
    return run, Made([lower, upper], members_of, [about, both])


def _save_of_source(stores: Stores, *, level: int = -1) -> tuple[Run, Made]:
    fill(stores)
    run, built = _of_source(stores, level=level)
    save(stores, run, built=built)
    return run, built


NAMES = ("Aldane Bridge", "Mara Quill", "Tessing", "Orne", "Ivo Brandt")
_QUERY = ClusterQuery(ProjectionShape.ENTITY_ENTITY, max_size=2)


def made_of(run: Run, *levels: tuple[tuple[str, ...], ...]) -> Made:
    """Communities from entity names, the finest level first; the parent of each is the one that holds its first member."""
    communities: list[Community] = []
    members: dict[str, tuple[str, ...]] = {}
    above: dict[str, str] = {}
    for level in range(len(levels) - 1, -1, -1):
        inside: dict[str, str] = {}
        for names in levels[level]:
            own = tuple(sorted(ids.entity_id(run.corpus, name) for name in names))
            name = community_id(run, level, members=own)
            communities.append(Community(name, run.corpus, level, len(own), above.get(own[0])))
            members[name] = own
            inside |= dict.fromkeys(own, name)
        above = inside
    return Made(sorted(communities, key=lambda item: (item.level, item.id)), members)


def _run(stores: Stores, *, corpus: str = CORPUS, levels: int = 2) -> Run:
    return Run(corpus, "made", stores.graph.stats(corpus, has_counts=False)[0].version, "by hand", levels)


def _save(stores: Stores, *levels: tuple[tuple[str, ...], ...], corpus: str = CORPUS) -> Saved:
    run = _run(stores, corpus=corpus, levels=len(levels))
    return save(stores, run, built=made_of(run, *levels))


def _seen(stores: Stores, *, corpus: str = CORPUS) -> set[tuple[int, frozenset[str]]]:
    """The level and the member names of each community of the run."""
    communities = derived(stores).communities(corpus, "made")
    members = derived(stores).members([item.id for item in communities])
    names = {ids.entity_id(corpus, name): name for name in NAMES}
    return {(item.level, frozenset(names[member.id] for member in members[item.id])) for item in communities}


_WEST, _EAST = ("Aldane Bridge", "Mara Quill"), ("Tessing", "Orne", "Ivo Brandt")


class DerivedStoreContract(SourceSummaryContract):
    """Tests that every DerivedStore must pass, together with the Clusterer of the same graph store."""

    def test_an_empty_store_has_no_derived_data(self, stores: Stores) -> None:
        assert derived(stores).runs(CORPUS) == ()
        assert derived(stores).communities(CORPUS, "made") == []
        assert derived(stores).members(["x"]) == {}

    def test_a_run_comes_back_as_it_went_in(self, stores: Stores) -> None:
        fill(stores)
        assert _save(stores, (_WEST, _EAST), (NAMES,)) == Saved(3, 0, 0)
        run = _run(stores)
        assert derived(stores).runs(CORPUS) == (run,)
        built = made_of(run, (_WEST, _EAST), (NAMES,))
        communities = derived(stores).communities(CORPUS, "made")
        assert sorted(communities, key=lambda item: (item.level, item.id)) == built.communities
        assert [(item.level, item.size) for item in communities] == [(0, 3), (0, 2), (1, 5)]
        members = derived(stores).members([item.id for item in communities])
        assert {name: tuple(item.id for item in some) for name, some in members.items()} == built.members
        assert {item.kind for some in members.values() for item in some} == {Kind.ENTITY}
        assert {item.parent_id for item in communities} == {None, communities[2].id}

    def test_communities_and_members_are_bounded(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        everything = derived(stores).communities(CORPUS, "made")
        assert derived(stores).communities(CORPUS, "made", level=0) == everything[:2]
        assert derived(stores).communities(CORPUS, "made", k=1) == everything[:1]
        assert derived(stores).communities(CORPUS, "made", k=1, skip=1) == everything[1:2]
        counts = [derived(stores).count_communities(CORPUS, "made", level=level) for level in (None, 0, 7)]
        assert counts == [len(everything), 2, 0]
        assert derived(stores).communities(CORPUS, "made", level=7) == []
        first = derived(stores).members([everything[0].id], most=2)[everything[0].id]
        assert first == derived(stores).members([everything[0].id])[everything[0].id][:2]

    def test_members_may_be_chunks_and_statements(self, stores: Stores) -> None:
        fill(stores)
        run = _run(stores, levels=1)
        chunk = next(iter(stores.graph.find(Kind.CHUNK, Scope(CORPUS)))).id
        statement = next(iter(stores.graph.find(Kind.STATEMENT, Scope(CORPUS)))).id
        name = community_id(run, 0, members=[chunk, statement])
        save(stores, run, built=Made([Community(name, CORPUS, 0, 2)], {name: [chunk, statement]}))
        kinds = {item.id: item.kind for item in derived(stores).members([name])[name]}
        assert kinds == {chunk: Kind.CHUNK, statement: Kind.STATEMENT}

    def test_the_communities_of_statements_come_coarsest_first_with_those_asked_for(self, stores: Stores) -> None:
        fill(stores)
        run = _run(stores, levels=2)
        statements = sorted(item.id for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS)))[:3]
        parts = [(1, statements), (0, statements[:2]), (0, statements[2:])]
        names = [community_id(run, level, members=some) for level, some in parts]
        communities = [
            Community(name, CORPUS, level, len(some), names[0] if not level else None)
            for name, (level, some) in zip(names, parts, strict=True)
        ]
        members = dict(zip(names, (some for _, some in parts), strict=True))
        save(stores, run, built=Made(communities[1:] + communities[:1], members))
        asked = statements[1:]
        memberships = derived(stores).memberships(CORPUS, run.name, ids=[*asked, "unknown"])
        seen = {(item.community.id, item.community.level, item.community.size, item.members) for item in memberships}
        assert [item.community.level for item in memberships] == [1, 0, 0]
        assert seen == {(names[0], 1, 3, tuple(asked)), (names[1], 0, 2, (asked[0],)), (names[2], 0, 1, (asked[1],))}
        assert derived(stores).memberships(CORPUS, "other", ids=asked) == []
        assert derived(stores).memberships(CORPUS, run.name, ids=[]) == []

    def test_a_run_takes_the_place_of_the_old_one_and_writes_only_what_is_new(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        assert _save(stores, (_WEST, _EAST), (NAMES,)) == Saved(0, 0, 3)
        assert _save(stores, (_WEST, _EAST[:2], _EAST[2:]), (NAMES,)) == Saved(2, 1, 2)
        parts = {(0, frozenset(part)) for part in (_WEST, _EAST[:2], _EAST[2:])}
        assert _seen(stores) == parts | {(1, frozenset(NAMES))}
        assert len(derived(stores).runs(CORPUS)) == 1

    def test_a_kept_community_may_lie_in_another_one(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        _save(stores, (_WEST, _EAST), (_WEST, _EAST))
        communities = derived(stores).communities(CORPUS, "made")
        parents = {item.id: item.parent_id for item in communities if item.level == 0}
        assert set(parents.values()) == {item.id for item in communities if item.level == 1}
        _save(stores, (_WEST, _EAST))
        assert {item.parent_id for item in derived(stores).communities(CORPUS, "made")} == {None}

    def test_runs_of_several_names_and_corpora_do_not_touch_each_other(self, stores: Stores) -> None:
        fill(stores)
        fill(stores, corpus="other")
        _save(stores, (_WEST, _EAST))
        _save(stores, (NAMES,), corpus="other")
        other = replace(_run(stores, levels=1), name="second")
        save(stores, other, built=made_of(other, ((*_WEST, "Orne"),)))
        assert _seen(stores) == {(0, frozenset(_WEST)), (0, frozenset(_EAST))}
        assert _seen(stores, corpus="other") == {(0, frozenset(NAMES))}
        assert [item.name for item in derived(stores).runs(CORPUS)] == ["made", "second"]

    def test_a_newer_version_of_the_corpus_makes_a_run_stale(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST))
        fill(stores, Document("doc:town", "Tessing is small.", "Tessing"))
        assert [item.is_stale for item in derived(stores).runs(CORPUS)] == [True]
        _save(stores, (_WEST,))
        assert [item.is_stale for item in derived(stores).runs(CORPUS)] == [False]

    def test_a_run_of_another_version_is_refused_whole(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST))
        before = _seen(stores)
        old = _run(stores)
        fill(stores, Document("doc:town", "Tessing is small.", "Tessing"))
        with stores.graph.lock(), pytest.raises(StoreConflictError, match="was changed while 'made'"):
            derived(stores).save(old, made_of(old, (NAMES,)))
        assert _seen(stores) == before  # the poet still mentions the Orne
        assert _save(stores, (_WEST,)).added == 0

    def test_writing_needs_the_lock(self, stores: Stores) -> None:
        fill(stores)
        run = _run(stores)
        with pytest.raises(StoreError, match="lock"):
            derived(stores).save(run, made_of(run, (NAMES,)))
        assert derived(stores).runs(CORPUS) == ()

    def test_what_is_deleted_leaves_its_communities(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST[:2], _EAST[2:]), (NAMES,))
        remove(stores, "doc:poet")
        assert _seen(stores) == {(0, frozenset(_WEST)), (0, frozenset(_EAST[:2])), (1, frozenset(NAMES[:4]))}
        assert {item.size for item in derived(stores).communities(CORPUS, "made", level=1)} == {4}
        assert [item.is_stale for item in derived(stores).runs(CORPUS)] == [True]

    def test_a_member_that_comes_back_is_a_member_again(self, stores: Stores) -> None:
        """The restored community has the same members and hence the same id; in the meantime it was smaller."""
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        before = _seen(stores)
        remove(stores, "doc:poet")
        assert _seen(stores) != before
        fill(stores)
        assert _save(stores, (_WEST, _EAST), (NAMES,)) == Saved(2, 0, 1)
        assert _seen(stores) == before
        sizes = [(item.level, item.size) for item in derived(stores).communities(CORPUS, "made")]
        assert sizes == [(0, 3), (0, 2), (1, 5)]
        assert {item.parent_id is None for item in derived(stores).communities(CORPUS, "made", level=0)} == {False}

    def test_deleting_everything_leaves_no_derived_data(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        remove(stores)
        assert derived(stores).runs(CORPUS) == ()
        assert derived(stores).communities(CORPUS, "made") == []

    def test_summaries_come_back_with_their_vectors_and_parts(self, stores: Stores) -> None:
        _, built = _save_summarised(stores)
        stored = derived(stores).summaries(CORPUS, "made")
        assert [item.summary for item in stored.items] == sorted(
            (item.summary for item in built.summaries), key=lambda item: item.id
        )
        expected = {item.summary.id: item for item in built.summaries}
        for item, row in zip(stored.items, stored.matrix, strict=True):
            assert row.tolist() == expected[item.summary.id].vector.tolist()
            assert item.community_id == expected[item.summary.id].community_id
            assert item.parts == tuple(sorted(expected[item.summary.id].parts))
        assert derived(stores).runs(CORPUS)[0].stamp == built.stamp
        assert derived(stores).summaries(CORPUS, "none").items == ()

    def test_a_new_run_replaces_summaries_and_keeps_those_of_the_same_inputs(self, stores: Stores) -> None:
        run, built = _save_summarised(stores)
        assert len(summaries(stores)) == 3
        other = _summary(built.communities[0], "another text", parts=(), hashed="other")
        kept = built.summaries[1]
        # Its sources have changed elsewhere: the text and the vector stay, and the hash is set.
        kept = kept._replace(summary=replace(kept.summary, input_hash=with_sources(kept.summary.input_hash, {"s": 2})))
        fewer = Made(built.communities, built.members, [other, kept])
        save(stores, replace(run, stamp=fewer.stamp), built=fewer)
        assert {each.summary for each in summaries(stores)} == {other.summary, kept.summary}
        assert len(derived(stores).communities(CORPUS, "made")) == 3

    def test_a_summary_leaves_with_the_first_member_of_its_community(self, stores: Stores) -> None:
        _save_summarised(stores, has_parts=False)
        assert len(summaries(stores)) == 3
        remove(stores, "doc:poet")
        left = summaries(stores)
        sizes = {item.id: item.size for item in derived(stores).communities(CORPUS, "made")}
        assert [sizes[item.community_id] for item in left] == [2]

    def test_a_summary_leaves_with_the_first_statement_that_its_words_are_from(self, stores: Stores) -> None:
        _, built = _save_summarised(stores)
        # Removes the second sentence about the bridge; all entities stay.
        fill(stores, Document("doc:bridge", "The Aldane Bridge was designed by Mara Quill.", "Aldane Bridge"))
        assert len(derived(stores).communities(CORPUS, "made")) == 3
        left = {item.community_id for item in summaries(stores)}
        assert left == {item.community_id for item in built.summaries if _SECOND not in item.summary.text}
        assert len(left) == 1

    def test_deleting_everything_leaves_no_summary(self, stores: Stores) -> None:
        _save_summarised(stores)
        remove(stores)
        assert summaries(stores) == ()

    def test_clustering_gives_nested_levels_of_the_joined_nodes(self, stores: Stores) -> None:
        fill(stores)
        for shape in ProjectionShape:
            clustering = stores.graph.cluster(ClusterQuery(shape, max_size=3), corpus=CORPUS)
            assert clustering.ids == sorted(clustering.ids)
            assert set(clustering.ids) >= {ids.entity_id(CORPUS, name) for name in NAMES}
            levels = clustering.communities.levels
            assert levels.shape[1] == len(clustering.ids)
            for coarse, fine in itertools.pairwise(levels):
                pairs = set(zip(coarse.tolist(), fine.tolist(), strict=True))
                assert len(pairs) == len(set(fine.tolist()))
            sizes = [levels[-1].tolist().count(label) for label in set(levels[-1].tolist())]
            assert max(sizes) <= 3
            again = stores.graph.cluster(ClusterQuery(shape, max_size=3), corpus=CORPUS)
            assert again.communities.levels.tolist() == levels.tolist()

    def test_building_twice_changes_nothing_and_says_so(self, stores: Stores) -> None:
        fill(stores)
        first = build_communities(CORPUS, _QUERY, stores=stores)
        assert not first.is_unchanged
        assert first.saved.added == sum(first.communities) > 2
        second = build_communities(CORPUS, _QUERY, stores=stores)
        assert second.is_unchanged
        assert (second.run, second.communities) == (first.run, first.communities)
        other = build_communities(CORPUS, replace(_QUERY, max_size=5), stores=stores)
        assert not other.is_unchanged
        assert len(derived(stores).runs(CORPUS)) == 1

    def test_building_again_after_a_change_keeps_what_it_did_not_touch(self, stores: Stores) -> None:
        fill(stores, DOCUMENTS[0], DOCUMENTS[3])  # no name is in both
        build_communities(CORPUS, _QUERY, stores=stores)
        fill(stores, DOCUMENTS[1])
        built = build_communities(CORPUS, _QUERY, stores=stores)
        assert not built.is_unchanged
        assert not derived(stores).runs(CORPUS)[0].is_stale
        assert built.saved.kept > 0

    def test_building_needs_a_corpus(self, stores: Stores) -> None:
        with pytest.raises(UnknownNameError, match="no corpus 'tiny'"):
            build_communities(CORPUS, _QUERY, stores=stores)

    def test_communities_are_listed_with_the_names_of_their_members(self, stores: Stores) -> None:
        fill(stores)
        communities = Communities(CORPUS, stores)
        assert communities.find().run is None
        built = communities.build("entity_entity", max_size=2)
        listing = communities.find("entity_entity")
        assert listing.run == built.run
        finest = {item.id for item in listing.communities if item.level == 0}
        shown = [name for community, names in listing.names.items() if community in finest for name in names]
        assert sorted(shown) == sorted(NAMES)
        assert communities.find("entity_entity", k=1, names=1).communities == listing.communities[:1]
        chunks = communities.build("entity_passage")
        assert chunks.run.name == "entity_passage"
        texts = [name for names in communities.find("entity_passage").names.values() for name in names]
        assert "Mara Quill was born in Tessing." in texts
        assert all(len(text) <= 60 for text in texts)


_SECOND = "The Aldane Bridge opened in 1931."
_LONGER = Document("doc:bridge", f"The Aldane Bridge was designed by Mara Quill. {_SECOND} It is old.", "B")


def _summary(community: Community, text: str, *, parts: tuple[str, ...], hashed: str = "") -> Summarised:
    key = content_id(Kind.SUMMARY, community.id, hashed)
    vector = np.full(8, 1 / np.sqrt(8), dtype=np.float32) * (1 + community.level)
    return Summarised(Summary(key, community.corpus, text, community.level, hashed), community.id, vector, parts)


def _save_summarised(stores: Stores, *, has_parts: bool = True) -> tuple[Run, Made]:
    """Save three communities (west, east, and both together), each with a summary that rests on statements."""
    fill(stores)
    run = _run(stores)
    built = made_of(run, (_WEST, _EAST), (NAMES,))
    west = {ids.entity_id(CORPUS, name) for name in _WEST}
    records = find_records(stores.graph, Statement, scope=Scope(CORPUS))
    statements = {record.text: record.id for record in records}
    written = []
    for community in built.communities:
        is_east = not west & set(built.members[community.id])
        texts = ["Tessing lies on the river Orne."] if is_east else ["Mara Quill was born in Tessing.", _SECOND]
        parts = tuple(statements[text] for text in texts) if has_parts else ()
        written.append(_summary(community, " ".join(texts), parts=parts))
    whole = Made(built.communities, built.members, written)
    run = replace(run, stamp=whole.stamp)
    save(stores, run, built=whole)
    return run, whole


# Contract suite of DomainStore.

DOMAIN = Domain(('Brücke "x"', "engineer"), ("repairs; costs", "'); DROP TABLE domain; --"), "domain/1+openai:m")


def _put(stores: Stores, domain: Domain, corpus: str = CORPUS) -> DomainStore:
    store = domain_store(stores)
    with stores.graph.lock():
        store.write(corpus, domain)
    return store


class DomainStoreContract:
    """Tests that every DomainStore must pass, together with its GraphStore."""

    def test_an_empty_store_has_no_domain(self, stores: Stores) -> None:
        assert domain_of(stores, CORPUS) is None

    def test_a_domain_comes_back_as_it_went_in_and_is_of_one_corpus(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        assert domain_of(stores, CORPUS) == DOMAIN
        assert domain_of(stores, f"{CORPUS} of others") is None

    def test_it_is_there_before_the_corpus_and_makes_none(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        assert stores.graph.stats(CORPUS) == ()
        fill(stores)
        assert domain_of(stores, CORPUS) == DOMAIN

    def test_a_later_domain_takes_the_place_of_an_earlier_one(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        for later in (replace(DOMAIN, kinds=()), Domain((), ("weather",)), DOMAIN):
            assert _put(stores, later).read(CORPUS) == later

    def test_what_was_dropped_is_gone_and_dropping_twice_is_as_once(self, stores: Stores) -> None:
        store = _put(stores, DOMAIN)
        _put(stores, DOMAIN, "other")
        with stores.graph.lock():
            store.drop(CORPUS)
            store.drop(CORPUS)
        assert (store.read(CORPUS), store.read("other")) == (None, DOMAIN)

    def test_the_graph_is_as_it_was(self, stores: Stores) -> None:
        fill(stores)
        before, version = snapshot(stores, CORPUS), stores.graph.stats(CORPUS)[0]
        _put(stores, DOMAIN)
        assert (snapshot(stores, CORPUS), stores.graph.stats(CORPUS)[0]) == (before, version)

    def test_writing_needs_the_lock(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        with pytest.raises(StoreError):
            domain_store(stores).write(CORPUS, Domain(("ship",)))
        with pytest.raises(StoreError):
            domain_store(stores).drop(CORPUS)
        assert domain_of(stores, CORPUS) == DOMAIN


class RetentionStoreContract:
    """Tests that every RetentionStore must pass, together with its GraphStore."""

    def test_an_empty_store_has_no_holds_and_no_receipt(self, stores: Stores) -> None:
        assert (retention_of(stores).holds(CORPUS), retention_of(stores).last_receipt(CORPUS)) == ((), (0, ""))

    def test_holds_come_back_as_they_went_in_by_name_and_are_of_one_corpus(self, stores: Stores) -> None:
        fill(stores)
        store, before = retention_of(stores), snapshot(stores, CORPUS)
        holds = [
            Hold(CORPUS, "b", ("doc:bridge", "file:///d é"), "", ("1", "2"), "2026-01-01T00:00:00+00:00"),
            Hold(CORPUS, "a", (), "title = 'x'", tuple(map(str, range(1_000)))),
            Hold("other", "a", ("doc:mill",)),
        ]
        with stores.graph.lock():
            for hold in holds:
                store.add(hold)
        assert store.holds(CORPUS) == (holds[1], holds[0])
        assert store.holds("other") == (holds[2],)
        assert snapshot(stores, CORPUS) == before
        with stores.graph.lock(CORPUS):
            store.release(holds[1])
            store.release(holds[1])
        assert (store.holds(CORPUS), store.holds("other")) == ((holds[0],), (holds[2],))

    def test_the_last_receipt_takes_the_place_of_the_one_before_it(self, stores: Stores) -> None:
        store = retention_of(stores)
        for mark in (ReceiptMark(1, "aa"), ReceiptMark(2, "bb")):
            with stores.graph.lock(CORPUS):
                store.record_receipt(CORPUS, mark)
            assert store.last_receipt(CORPUS) == mark
        assert store.last_receipt("other") == ReceiptMark()

    def test_both_outlive_their_corpus(self, stores: Stores) -> None:
        fill(stores)
        store, hold = retention_of(stores), Hold(CORPUS, "a", ("doc:bridge",))
        with stores.graph.lock(CORPUS):
            store.add(hold)
            store.record_receipt(CORPUS, ReceiptMark(1, "aa"))
        remove(stores, *(document.uri for document in DOCUMENTS))
        assert (store.holds(CORPUS), store.last_receipt(CORPUS)) == ((hold,), (1, "aa"))

    def test_writing_needs_the_lock(self, stores: Stores) -> None:
        fill(stores)
        store, hold = retention_of(stores), Hold(CORPUS, "a", ("doc:bridge",))
        for write in (
            partial(store.add, hold),
            partial(store.release, hold),
            partial(store.record_receipt, CORPUS, ReceiptMark(1, "aa")),
        ):
            with pytest.raises(StoreError):
                write()
        assert (store.holds(CORPUS), store.last_receipt(CORPUS)) == ((), (0, ""))
