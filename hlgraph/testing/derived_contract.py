"""Contract suite of DerivedStore and Clusterer. Subclass :class:`DerivedStoreContract` and define a fixture ``stores``.

The tests use the tiny corpus. Its entities form a chain of facts: Aldane Bridge - Mara Quill - Tessing - Orne - Ivo Brandt.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from hlgraph import ids
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import StoreConflictError, StoreError, UnknownNameError
from hlgraph.ids import content_id
from hlgraph.index.communities import build_communities
from hlgraph.persist import persist, removal
from hlgraph.records import Community, Document, Kind, Source, Statement, Summary
from hlgraph.sdk.communities import Communities
from hlgraph.stores.derived import ClusterQuery, Made, Run, Saved, Summarised, community_id
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, fill
from hlgraph.testing.source_summary_contract import SourceSummaryContract, derived

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
    with stores.graph.lock():
        return derived(stores).save(run, made_of(run, *levels))


def _seen(stores: Stores, *, corpus: str = CORPUS) -> set[tuple[int, frozenset[str]]]:
    """The level and the member names of each community of the run."""
    found = derived(stores).communities(corpus, "made")
    members = derived(stores).members([item.id for item in found])
    names = {ids.entity_id(corpus, name): name for name in NAMES}
    return {(item.level, frozenset(names[member.id] for member in members[item.id])) for item in found}


def _remove(stores: Stores, *uris: str) -> None:
    sources = [ids.source_id(CORPUS, uri) for uri in uris]
    with stores.graph.lock():
        persist(removal(CORPUS, sources, versions=[1] * len(sources)), stores)


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
        made = made_of(run, (_WEST, _EAST), (NAMES,))
        found = derived(stores).communities(CORPUS, "made")
        assert sorted(found, key=lambda item: (item.level, item.id)) == made.communities
        assert [(item.level, item.size) for item in found] == [(0, 3), (0, 2), (1, 5)]
        members = derived(stores).members([item.id for item in found])
        assert {name: tuple(item.id for item in some) for name, some in members.items()} == made.members
        assert {item.kind for some in members.values() for item in some} == {Kind.ENTITY}
        assert {item.parent_id for item in found} == {None, found[2].id}

    def test_communities_and_members_are_bounded(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        everything = derived(stores).communities(CORPUS, "made")
        assert derived(stores).communities(CORPUS, "made", level=0) == everything[:2]
        assert derived(stores).communities(CORPUS, "made", k=1) == everything[:1]
        assert derived(stores).communities(CORPUS, "made", level=7) == []
        first = derived(stores).members([everything[0].id], most=2)[everything[0].id]
        assert first == derived(stores).members([everything[0].id])[everything[0].id][:2]

    def test_members_may_be_chunks_and_statements(self, stores: Stores) -> None:
        fill(stores)
        run = _run(stores, levels=1)
        chunk = next(iter(stores.graph.find(Kind.CHUNK, Scope(CORPUS)))).id
        statement = next(iter(stores.graph.find(Kind.STATEMENT, Scope(CORPUS)))).id
        name = community_id(run, 0, members=[chunk, statement])
        with stores.graph.lock():
            derived(stores).save(run, Made([Community(name, CORPUS, 0, 2)], {name: [chunk, statement]}))
        found = {item.id: item.kind for item in derived(stores).members([name])[name]}
        assert found == {chunk: Kind.CHUNK, statement: Kind.STATEMENT}

    def test_a_run_takes_the_place_of_the_old_one_and_writes_only_what_is_new(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        assert _save(stores, (_WEST, _EAST), (NAMES,)) == Saved(0, 0, 3)
        assert _save(stores, (_WEST, _EAST[:2], _EAST[2:]), (NAMES,)) == Saved(2, 1, 2)
        assert _seen(stores) == {
            (0, frozenset(_WEST)),
            (0, frozenset(_EAST[:2])),
            (0, frozenset(_EAST[2:])),
            (1, frozenset(NAMES)),
        }
        assert len(derived(stores).runs(CORPUS)) == 1

    def test_a_kept_community_may_lie_in_another_one(self, stores: Stores) -> None:
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        _save(stores, (_WEST, _EAST), (_WEST, _EAST))
        found = derived(stores).communities(CORPUS, "made")
        parents = {item.id: item.parent_id for item in found if item.level == 0}
        assert set(parents.values()) == {item.id for item in found if item.level == 1}
        _save(stores, (_WEST, _EAST))
        assert {item.parent_id for item in derived(stores).communities(CORPUS, "made")} == {None}

    def test_runs_of_several_names_and_corpora_do_not_touch_each_other(self, stores: Stores) -> None:
        fill(stores)
        fill(stores, corpus="other")
        _save(stores, (_WEST, _EAST))
        _save(stores, (NAMES,), corpus="other")
        other = replace(_run(stores, levels=1), name="second")
        with stores.graph.lock():
            derived(stores).save(other, made_of(other, ((*_WEST, "Orne"),)))
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
        _remove(stores, "doc:poet")
        assert _seen(stores) == {
            (0, frozenset(_WEST)),
            (0, frozenset(_EAST[:2])),
            (1, frozenset(NAMES[:4])),
        }
        assert {item.size for item in derived(stores).communities(CORPUS, "made", level=1)} == {4}
        assert [item.is_stale for item in derived(stores).runs(CORPUS)] == [True]

    def test_a_member_that_comes_back_is_a_member_again(self, stores: Stores) -> None:
        """The restored community has the same members and hence the same id; in the meantime it was smaller."""
        fill(stores)
        _save(stores, (_WEST, _EAST), (NAMES,))
        before = _seen(stores)
        _remove(stores, "doc:poet")
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
        uris = [item.uri for item in stores.graph.find(Kind.SOURCE, Scope(CORPUS)) if isinstance(item, Source)]
        _remove(stores, *uris)
        assert derived(stores).runs(CORPUS) == ()
        assert derived(stores).communities(CORPUS, "made") == []

    def test_summaries_come_back_with_their_vectors_and_parts(self, stores: Stores) -> None:
        fill(stores)
        run, made = _summarised(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
        found = derived(stores).summaries(CORPUS, "made")
        assert [item.summary for item in found.items] == sorted(
            (item.summary for item in made.summaries), key=lambda item: item.id
        )
        expected = {item.summary.id: item for item in made.summaries}
        for item, row in zip(found.items, found.matrix, strict=True):
            assert row.tolist() == expected[item.summary.id].vector.tolist()
            assert item.community_id == expected[item.summary.id].community_id
            assert item.parts == tuple(sorted(expected[item.summary.id].parts))
        assert derived(stores).runs(CORPUS)[0].stamp == made.stamp
        assert derived(stores).summaries(CORPUS, "none").items == ()

    def test_a_new_run_replaces_summaries_and_keeps_those_of_the_same_inputs(self, stores: Stores) -> None:
        fill(stores)
        run, made = _summarised(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
            assert len(derived(stores).summaries(CORPUS, "made").items) == 3
            other = _summary(made.communities[0], "another text", parts=(), hashed="other")
            fewer = Made(made.communities, made.members, [other, *made.summaries[1:2]])
            derived(stores).save(replace(run, stamp=fewer.stamp), fewer)
        texts = {item.summary.text for item in derived(stores).summaries(CORPUS, "made").items}
        assert texts == {"another text", made.summaries[1].summary.text}
        assert len(derived(stores).communities(CORPUS, "made")) == 3

    def test_a_summary_leaves_with_the_first_member_of_its_community(self, stores: Stores) -> None:
        fill(stores)
        run, made = _summarised(stores, has_parts=False)
        with stores.graph.lock():
            derived(stores).save(run, made)
        assert len(derived(stores).summaries(CORPUS, "made").items) == 3
        _remove(stores, "doc:poet")
        left = derived(stores).summaries(CORPUS, "made").items
        sizes = {item.id: item.size for item in derived(stores).communities(CORPUS, "made")}
        assert [sizes[item.community_id] for item in left] == [2]

    def test_a_summary_leaves_with_the_first_statement_that_its_words_are_from(self, stores: Stores) -> None:
        fill(stores)
        run, made = _summarised(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
        # Removes the second sentence about the bridge; all entities stay.
        fill(stores, Document("doc:bridge", "The Aldane Bridge was designed by Mara Quill.", "Aldane Bridge"))
        assert len(derived(stores).communities(CORPUS, "made")) == 3
        left = {item.community_id for item in derived(stores).summaries(CORPUS, "made").items}
        assert left == {item.community_id for item in made.summaries if _SECOND not in item.summary.text}
        assert len(left) == 1

    def test_deleting_everything_leaves_no_summary(self, stores: Stores) -> None:
        fill(stores)
        run, made = _summarised(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
        uris = [item.uri for item in stores.graph.find(Kind.SOURCE, Scope(CORPUS)) if isinstance(item, Source)]
        _remove(stores, *uris)
        assert derived(stores).summaries(CORPUS, "made").items == ()

    def test_clustering_gives_nested_levels_of_the_joined_nodes(self, stores: Stores) -> None:
        fill(stores)
        assert stores.clusterer is not None
        for shape in ProjectionShape:
            found = stores.clusterer.cluster(ClusterQuery(shape, max_size=3), corpus=CORPUS)
            assert found.ids == sorted(found.ids)
            assert set(found.ids) >= {ids.entity_id(CORPUS, name) for name in NAMES}
            levels = found.communities.levels
            assert levels.shape[1] == len(found.ids)
            for coarse, fine in itertools.pairwise(levels):
                pairs = set(zip(coarse.tolist(), fine.tolist(), strict=True))
                assert len(pairs) == len(set(fine.tolist()))
            sizes = [levels[-1].tolist().count(label) for label in set(levels[-1].tolist())]
            assert max(sizes) <= 3
            again = stores.clusterer.cluster(ClusterQuery(shape, max_size=3), corpus=CORPUS)
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
        found = communities.find("entity_entity")
        assert found.run == built.run
        finest = {item.id for item in found.communities if item.level == 0}
        shown = [name for community, names in found.names.items() if community in finest for name in names]
        assert sorted(shown) == sorted(NAMES)
        assert communities.find("entity_entity", k=1, names=1).communities == found.communities[:1]
        chunks = communities.build("entity_passage")
        assert chunks.run.name == "entity_passage"
        texts = [name for names in communities.find("entity_passage").names.values() for name in names]
        assert "Mara Quill was born in Tessing." in texts
        assert all(len(text) <= 60 for text in texts)


_SECOND = "The Aldane Bridge opened in 1931."


def _summary(community: Community, text: str, *, parts: tuple[str, ...], hashed: str = "") -> Summarised:
    key = content_id(Kind.SUMMARY, community.id, hashed)
    vector = np.full(8, 1 / np.sqrt(8), dtype=np.float32) * (1 + community.level)
    return Summarised(Summary(key, community.corpus, text, community.level, hashed), community.id, vector, parts)


def _summarised(stores: Stores, *, has_parts: bool = True) -> tuple[Run, Made]:
    """Three communities (west, east, and both together), each with a summary that rests on statements."""
    run = _run(stores)
    made = made_of(run, (_WEST, _EAST), (NAMES,))
    west = {ids.entity_id(CORPUS, name) for name in _WEST}
    statements = {
        item.text: item.id for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS)) if isinstance(item, Statement)
    }
    found = []
    for community in made.communities:
        is_east = not west & set(made.members[community.id])
        texts = ["Tessing lies on the river Orne."] if is_east else ["Mara Quill was born in Tessing.", _SECOND]
        parts = tuple(statements[text] for text in texts) if has_parts else ()
        found.append(_summary(community, " ".join(texts), parts=parts))
    whole = Made(made.communities, made.members, found)
    return replace(run, stamp=whole.stamp), whole
