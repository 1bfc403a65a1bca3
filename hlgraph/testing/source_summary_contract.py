"""The part of the contract suite of DerivedStore about summaries of long sources."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hlgraph import ids
from hlgraph.ids import content_id
from hlgraph.persist import persist, removal
from hlgraph.records import Chunk, Community, Document, Kind, Source, Statement, Summary
from hlgraph.stores.derived import DerivedStore, Made, Run, Saved, Summarised, community_id
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.corpus import CORPUS, change_for, fill
from hlgraph.testing.embedder import WordEmbedder

_SECOND = "The Aldane Bridge opened in 1931."


def derived(stores: Stores) -> DerivedStore:
    """The DerivedStore of these stores."""
    assert stores.derived is not None
    return stores.derived


def _delete(stores: Stores, uri: str) -> None:
    with stores.graph.lock():
        persist(removal(CORPUS, [ids.source_id(CORPUS, uri)], versions=[1]), stores)


class SourceSummaryContract:
    """Tests that every DerivedStore must pass, given a fixture ``stores``."""

    def test_summaries_of_sources_come_back_and_are_members(self, stores: Stores) -> None:
        fill(stores)
        run, made = _of_source(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
            derived(stores).save(run, made)  # a second time changes nothing
        found = {item.summary.id: item for item in derived(stores).summaries(CORPUS, "made").items}
        for item in made.summaries:
            there = found[item.summary.id]
            assert (there.summary, there.community_id, there.source_id) == (
                item.summary,
                item.community_id,
                item.source_id,
            )
            assert (there.parts, there.chunk_ids) == (tuple(sorted(item.parts)), item.chunk_ids)
            assert there.vector.tolist() == item.vector.tolist()
        assert len(found) == 2
        members = derived(stores).members([item.id for item in made.communities])
        assert {name: tuple(item.id for item in some) for name, some in members.items()} == made.members
        kinds = {item.id: item.kind for some in members.values() for item in some}
        assert kinds[made.summaries[0].summary.id] == Kind.SUMMARY
        assert list(kinds.values()).count(Kind.CHUNK) == 1

    @pytest.mark.parametrize("how", ["deleted", "edited", "longer"])
    def test_a_summary_of_a_source_leaves_with_any_change_of_its_chunks(self, stores: Stores, how: str) -> None:
        fill(stores)
        run, made = _of_source(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
        if how == "deleted":
            _delete(stores, "doc:bridge")
        else:
            document = Document(
                "doc:bridge", f"The Aldane Bridge was designed by Mara Quill. {_SECOND} It is old.", "B"
            )
            with stores.graph.lock():
                change = change_for([document], stores, embedder=WordEmbedder())
                assert change is not None
                assert change.removed_chunks
                persist(replace(change, removed_chunks=()) if how == "longer" else change, stores)
        assert derived(stores).summaries(CORPUS, "made").items == ()  # the community's summary depended on it
        assert {item.size for item in derived(stores).communities(CORPUS, "made")} == {1}
        fill(stores)
        run, made = _of_source(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
        assert len(derived(stores).summaries(CORPUS, "made").items) == 2
        assert {item.size for item in derived(stores).communities(CORPUS, "made")} == {2}

    def test_a_summary_of_a_large_chunk_stays_when_its_source_grows(self, stores: Stores) -> None:
        fill(stores)
        run, made = _of_source(stores, level=-2)
        with stores.graph.lock():
            derived(stores).save(run, made)
        document = Document("doc:bridge", f"The Aldane Bridge was designed by Mara Quill. {_SECOND} It is old.", "B")
        with stores.graph.lock():
            change = change_for([document], stores, embedder=WordEmbedder())
            assert change is not None
            persist(replace(change, removed_chunks=()), stores)
        found = derived(stores).summaries(CORPUS, "made").items
        assert {item.summary.level for item in found} == {-2, 0}
        _delete(stores, "doc:bridge")
        assert derived(stores).summaries(CORPUS, "made").items == ()

    def test_a_run_without_communities_lasts_as_long_as_a_chunk(self, stores: Stores) -> None:
        fill(stores)
        version = stores.graph.stats(CORPUS, has_counts=False)[0].version
        with stores.graph.lock():
            derived(stores).save(Run(CORPUS, "made", version, "by hand", 0), Made())
        _delete(stores, "doc:bridge")
        assert [item.is_stale for item in derived(stores).runs(CORPUS)] == [True]
        for source in list(stores.graph.find(Kind.SOURCE, Scope(CORPUS))):
            assert isinstance(source, Source)
            _delete(stores, source.uri)
        assert derived(stores).runs(CORPUS) == ()

    def test_a_summary_of_a_source_stays_when_another_source_changes(self, stores: Stores) -> None:
        fill(stores)
        run, made = _of_source(stores)
        with stores.graph.lock():
            derived(stores).save(run, made)
        fill(stores, Document("doc:town", "Tessing is small.", "Tessing"))
        assert len(derived(stores).summaries(CORPUS, "made").items) == 2
        _delete(stores, "doc:engineer")
        (left,) = derived(stores).summaries(CORPUS, "made").items
        assert left.source_id == made.summaries[0].source_id
        assert {item.size for item in derived(stores).communities(CORPUS, "made")} == {1}

    def test_a_new_run_replaces_summaries_of_sources(self, stores: Stores) -> None:
        fill(stores)
        run, made = _of_source(stores)
        other, again = _of_source(stores, hashed="other")
        with stores.graph.lock():
            derived(stores).save(run, made)
            assert derived(stores).save(replace(other, stamp="other"), again) == Saved(2, 2, 0)
        found = {item.summary.id for item in derived(stores).summaries(CORPUS, "made").items}
        assert found == {item.summary.id for item in again.summaries}


def _of_source(stores: Stores, *, hashed: str = "", level: int = -1) -> tuple[Run, Made]:
    """A summary of the bridge's source, in two nested communities with the engineer's chunk; the lower one has a summary."""
    run = Run(CORPUS, "made", stores.graph.stats(CORPUS, has_counts=False)[0].version, "by hand", 2)
    source = ids.source_id(CORPUS, "doc:bridge")
    chunks = {
        item.source_id: item.id for item in stores.graph.find(Kind.CHUNK, Scope(CORPUS)) if isinstance(item, Chunk)
    }
    said = [
        item.id
        for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS))
        if isinstance(item, Statement) and item.text == _SECOND
    ]
    name = content_id(Kind.SUMMARY, source, hashed)
    parts = tuple(sorted([chunks[source], *said]))
    vector = np.full(8, 0.25, dtype=np.float32)
    about = Summarised(Summary(name, CORPUS, _SECOND, level, hashed), "", vector, parts, source, (chunks[source],))
    members = tuple(sorted([name, chunks[ids.source_id(CORPUS, "doc:engineer")]]))
    upper = Community(community_id(run, 1, members=members), CORPUS, 1, 2)
    lower = Community(community_id(run, 0, members=members), CORPUS, 0, 2, upper.id)
    held = {lower.id: members, upper.id: members}
    key = content_id(Kind.SUMMARY, lower.id, hashed)
    both = Summarised(Summary(key, CORPUS, "Both.", 0, hashed), lower.id, vector * 2)
    return run, Made([lower, upper], held, [about, both])
