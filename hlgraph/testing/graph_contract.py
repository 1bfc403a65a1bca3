"""Contract suite of GraphStore. Subclass :class:`GraphStoreContract` and define a fixture ``stores``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hlgraph import ids
from hlgraph.change import Change, ChangeState
from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError, ModelMismatchError, StoreConflictError
from hlgraph.ingest import pipeline
from hlgraph.persist.compare import untrue
from hlgraph.persist.journal import persist
from hlgraph.records import Calibration, Document, Entity, Fact, Kind, Record, Relationship, Source, Statement
from hlgraph.stores.protocols import GraphStore, MatchQuery, PullShape, Scope, Stores, by_id
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor, change_for, fill, new_change, remove, snapshot
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

# Pulls, matches and filters.


ALL = PullShape.along(Relationship.IN_CHUNK, Relationship.MENTIONS, hops=8)
"""All chunks, statements and entities that are connected with the seeds."""


class GraphPullContract:
    """Tests of pulls, matches and filters that every GraphStore must pass."""

    def test_pull_walks_both_directions_and_stops_at_the_hops(self, stores: Stores) -> None:
        fill(stores)
        shape = PullShape.along(Relationship.MENTIONS, hops=2)
        graph = stores.graph.pull([ids.entity_id(CORPUS, "Tessing")], shape, scope=Scope(CORPUS))
        names = {item.name for item in _entities(stores, graph.ids.tolist())}
        assert names == {"Tessing", "Mara Quill", "Orne"}
        assert sorted(graph.ids.tolist()) == graph.ids.tolist()
        assert graph.edges[Relationship.MENTIONS].nnz == 4

    def test_pull_respects_fan_out_and_node_cap(self, stores: Stores) -> None:
        fill(stores)
        seed = ids.entity_id(CORPUS, "Mara Quill")
        narrow = PullShape.along(Relationship.MENTIONS, fan_out=1)
        graph = stores.graph.pull([seed], narrow, scope=Scope(CORPUS))
        assert len(graph) == 2
        assert graph.is_cut
        small = PullShape.along(Relationship.MENTIONS, node_cap=2, hops=3)
        graph = stores.graph.pull([seed], small, scope=Scope(CORPUS))
        assert len(graph) == 2
        assert graph.is_cut

    def test_match_counts_the_names_that_statements_mention(self, stores: Stores) -> None:
        fill(stores)
        bridge, quill, orne, tessing = (
            (ids.entity_id(CORPUS, name),) for name in ("Aldane Bridge", "Mara Quill", "Orne", "Tessing")
        )

        def texts(query: MatchQuery, where: str = "") -> list[tuple[int, int, set[str]]]:
            scope = Scope(CORPUS, parse(where) if where else None)
            matches = stores.graph.match(query, scope=scope)
            assert matches == GraphStore.match(stores.graph, query, scope=scope)  # what a store without its own returns
            assert all(list(each.ids) == sorted(each.ids) for each in matches)
            return [(each.count, each.size, _texts(stores, list(each.ids))) for each in matches]

        designed, opened, born = (
            "The Aldane Bridge was designed by Mara Quill.",
            "The Aldane Bridge opened in 1931.",
            "Mara Quill was born in Tessing.",
        )
        names = (bridge, quill)
        assert texts(MatchQuery(names, 9)) == [(2, 1, {designed}), (1, 2, {opened, born})]
        assert texts(MatchQuery(names, 1)) == [(2, 1, {designed})]
        assert texts(MatchQuery(names, 0)) == []
        assert texts(MatchQuery(names, 9, most=1)) == [(2, 1, {designed}), (1, 2, set())]
        assert texts(MatchQuery((bridge + quill,), 9)) == [(1, 3, {designed, opened, born})]  # two ids of one name
        assert texts(MatchQuery(names, 9), 'category = "person"') == [(1, 1, {born})]
        assert texts(MatchQuery((orne, tessing), 9), 'category = "structure"') == []
        assert texts(MatchQuery((("nothing",), ()), 9)) == []
        [best, _] = stores.graph.match(MatchQuery(names, 9), scope=Scope(CORPUS))
        assert texts(MatchQuery((quill,), 9, among=(*best.ids, "nothing"))) == [(1, 1, {designed})]
        assert stores.graph.match(MatchQuery(names, 9, among=()), scope=Scope(CORPUS)) == []
        assert stores.graph.match(MatchQuery(names, 9), scope=Scope("nowhere")) == []
        with pytest.raises(InputError, match="most"):
            stores.graph.match(MatchQuery(names, 9, most=0), scope=Scope(CORPUS))

    def test_pull_never_enters_a_source_outside_the_filter(self, stores: Stores) -> None:
        fill(stores)
        scope = Scope(CORPUS, parse('category = "structure"'))
        graph = stores.graph.pull([ids.entity_id(CORPUS, "Mara Quill")], ALL, scope=scope)
        assert _texts(stores, graph.ids.tolist()) == set(_sentences(DOCUMENTS[0].text))
        assert {item.name for item in _entities(stores, graph.ids.tolist())} == {"Aldane Bridge", "Mara Quill"}
        assert len(stores.graph.pull([ids.entity_id(CORPUS, "Orne")], ALL, scope=scope)) == 0

    def test_derived_edges_under_a_filter_are_those_that_visible_sources_assert(self, stores: Stores) -> None:
        fill(stores)
        derived = frozenset({Relationship.RELATES, Relationship.CO_OCCURS})
        shape = PullShape(derived, frozenset({Kind.ENTITY}), hops=4)
        seed = ids.entity_id(CORPUS, "Mara Quill")
        everywhere = stores.graph.pull([seed], shape, scope=Scope(CORPUS))
        assert {item.name for item in _entities(stores, everywhere.ids.tolist())} >= {"Orne", "Ivo Brandt"}
        inside = stores.graph.pull([seed], shape, scope=Scope(CORPUS, parse('category = "person"')))
        assert {item.name for item in _entities(stores, inside.ids.tolist())} == {"Mara Quill", "Tessing"}

    def test_a_page_is_the_next_records_of_a_scope_and_their_number(self, stores: Stores) -> None:
        fill(stores)
        for where in (None, 'category = "person"', 'category != "person"', 'category = "nothing"'):
            scope = Scope(CORPUS, parse(where) if where else None)
            for kind in (Kind.SOURCE, Kind.FACT, Kind.ENTITY):
                whole = GraphStore.page(stores.graph, kind, scope, size=1_000)
                assert len(whole.ids) == whole.total
                assert list(whole.ids) == sorted(whole.ids)
                assert stores.graph.page(kind, scope, size=1_000) == whole
                for after in ("8" * 32, *whole.ids[1:2]):
                    expected = GraphStore.page(stores.graph, kind, scope, after=after, size=2)
                    assert stores.graph.page(kind, scope, after=after, size=2) == expected
        assert stores.graph.page(Kind.ENTITY, Scope("nowhere"), size=2) == ((), 0)

    def test_entities_of_some_sources_alone(self, stores: Stores) -> None:
        fill(stores)
        for uris, names in (
            (["bridge"], {"Aldane Bridge"}),
            (["bridge", "engineer"], {"Aldane Bridge", "Mara Quill"}),
            (["engineer"], set()),
            (["engineer", "town"], {"Tessing"}),
            (["poet", "nowhere"], {"Ivo Brandt"}),
            (["bridge", "engineer", "town", "poet"], {"Aldane Bridge", "Mara Quill", "Tessing", "Orne", "Ivo Brandt"}),
            (["nowhere"], set()),
            ([], set()),
        ):
            entity_ids = stores.graph.own_entities(CORPUS, [ids.source_id(CORPUS, f"doc:{uri}") for uri in uris])
            assert entity_ids == sorted(entity_ids)
            assert {item.name for item in _entities(stores, entity_ids)} == names, uris
            assert stores.graph.own_entities("other", [ids.source_id(CORPUS, f"doc:{uri}") for uri in uris]) == []


def _entities(stores: Stores, names: list[str]) -> list[Entity]:
    return [item for item in stores.graph.records(Kind.ENTITY, names, scope=Scope(CORPUS)) if isinstance(item, Entity)]


def _texts(stores: Stores, names: list[str]) -> set[str]:
    records = stores.graph.records(Kind.STATEMENT, names, scope=Scope(CORPUS))
    return {statement.text for statement in by_id(records, Statement).values()}


def _sentences(text: str) -> list[str]:
    return [f"{part.rstrip('.')}." for part in text.split(". ")]


def _again(stores: Stores, kind: Kind, scope: Scope) -> list[Record]:
    """All records of the corpus, read by their ids in a scope."""
    return stores.graph.records(kind, [item.id for item in stores.graph.find(kind, Scope(CORPUS))], scope=scope)


def _names(stores: Stores, kind: Kind, *, scope: Scope | None = None) -> list[str]:
    field = {Kind.SOURCE: "uri", Kind.ENTITY: "name"}.get(kind, "text")
    return sorted(str(getattr(record, field)) for record in stores.graph.find(kind, scope or Scope(CORPUS)))


class GraphStoreContract(GraphPullContract):
    """Tests that every GraphStore must pass, together with the VectorStore that it is paired with."""

    def test_an_empty_store_answers_with_nothing(self, stores: Stores) -> None:
        assert stores.graph.stats() == ()
        assert stores.graph.records(Kind.CHUNK, ["x"], scope=Scope(CORPUS)) == []
        assert list(stores.graph.find(Kind.SOURCE, Scope(CORPUS))) == []
        assert len(stores.graph.pull(["x"], ALL, scope=Scope(CORPUS))) == 0

    def test_records_come_back_as_they_went_in(self, stores: Stores) -> None:
        fill(stores)
        source = ids.source_id(CORPUS, "doc:bridge")
        stored = stores.graph.records(Kind.SOURCE, [source], scope=Scope(CORPUS))[0]
        assert isinstance(stored, Source)
        assert (stored.uri, stored.title, stored.version) == ("doc:bridge", "Aldane Bridge", 1)
        assert dict(stored.metadata) == dict(DOCUMENTS[0].metadata)
        assert [type(stored.metadata[key]) for key in ("year", "tags", "is_open")] == [int, tuple, bool]
        statement = ids.statement_id(source, "The Aldane Bridge opened in 1931.")
        record = stores.graph.records(Kind.STATEMENT, [statement], scope=Scope(CORPUS))[0]
        assert isinstance(record, Statement)
        assert DOCUMENTS[0].text[record.start : record.end] == record.text

    def test_a_corpus_that_an_older_hlgraph_began_keeps_the_scheme_of_its_ids(self, stores: Stores) -> None:
        fill(stores, *DOCUMENTS[:2], scheme=ids.WITH_NAME)
        fill(stores, corpus="new")
        [old], [new] = (stores.graph.stats(name, has_counts=False) for name in (CORPUS, "new"))
        assert (old.ids, new.ids) == (ids.WITH_NAME, ids.WITHOUT_NAME)
        steps = pipeline.Steps(WholeChunker(), TinyExtractor(), WordEmbedder())
        changed = replace(DOCUMENTS[0], text=f"{DOCUMENTS[0].text} Ivo Brandt painted it.")
        report = pipeline.ingest([changed, *DOCUMENTS[1:]], CORPUS, stores=stores, steps=steps)
        assert (report.sources_added, report.sources_changed) == (len(DOCUMENTS) - 2, 2)
        entities = by_id(stores.graph.find(Kind.ENTITY, Scope(CORPUS)), Entity)
        names = {key: entity.name for key, entity in entities.items()}
        assert names == {ids.entity_id(CORPUS, name, scheme=ids.WITH_NAME): name for name in names.values()}
        assert len(set(names.values())) == len(names)
        for kind in (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.FACT):
            records = list(stores.graph.find(kind, Scope(CORPUS)))
            assert records
            assert list(untrue(records, CORPUS, names=names, schemes=[ids.WITH_NAME])) == []

    def test_records_keep_the_order_asked_for_and_leave_out_what_is_not_there(self, stores: Stores) -> None:
        fill(stores)
        names = [ids.entity_id(CORPUS, name) for name in ("Tessing", "Nobody", "Aldane Bridge")]
        stored = [item.id for item in stores.graph.records(Kind.ENTITY, names, scope=Scope(CORPUS))]
        assert stored == [names[0], names[2]]

    def test_find_is_by_ascending_id(self, stores: Stores) -> None:
        fill(stores)
        statement_ids = [item.id for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS))]
        assert statement_ids == sorted(statement_ids)
        assert len(statement_ids) == 5

    def test_find_under_a_filter(self, stores: Stores) -> None:
        fill(stores)
        for where, uris in (
            ('category = "person"', ["doc:engineer", "doc:poet"]),
            ("year >= 1900", ["doc:bridge"]),
            ('tags in ("steel")', ["doc:bridge"]),
            ("not exists year", ["doc:poet", "doc:town"]),
            ('uri != "doc:town" and not is_open = true', ["doc:engineer", "doc:poet"]),
            ('uri >= "doc:e" and uri < "doc:f"', ["doc:engineer"]),  # the rows of a file, by the beginning of their uri
        ):
            assert _names(stores, Kind.SOURCE, scope=Scope(CORPUS, parse(where))) == uris, where

    def test_facts_join_entities_and_literals_are_none(self, stores: Stores) -> None:
        fill(stores)
        facts = {item.text: item for item in stores.graph.find(Kind.FACT, Scope(CORPUS)) if isinstance(item, Fact)}
        assert facts["Mara Quill born in Tessing"].object_id == ids.entity_id(CORPUS, "Tessing")
        assert facts["Aldane Bridge opened in 1931"].object_id is None

    def test_a_staged_change_is_invisible_until_it_is_published(self, stores: Stores) -> None:
        with stores.graph.lock():
            change = new_change(stores, *DOCUMENTS)
            stores.graph.stage(change)
            assert list(stores.graph.find(Kind.SOURCE, Scope(CORPUS))) == []
            assert list(stores.graph.find(Kind.STATEMENT, Scope(CORPUS))) == []
            stores.graph.advance(change.id, ChangeState.PUBLISHED)
            assert len(_names(stores, Kind.STATEMENT)) == 5
            stores.graph.advance(change.id, ChangeState.DONE)

    def test_an_edit_is_seen_whole_or_not_at_all(self, stores: Stores) -> None:
        fill(stores)
        edited = Document("doc:bridge", "The Aldane Bridge opened in 1931. It fell.", "Aldane Bridge", {"year": 1932})
        before = snapshot(stores, CORPUS)
        with stores.graph.lock():
            change = new_change(stores, edited)
            stores.graph.stage(change)
            assert snapshot(stores, CORPUS) == before
            stores.graph.advance(change.id, ChangeState.PUBLISHED)
        texts = _names(stores, Kind.STATEMENT)
        assert "It fell." in texts
        assert "The Aldane Bridge was designed by Mara Quill." not in texts

    def test_staging_and_advancing_twice_change_nothing(self, stores: Stores) -> None:
        with stores.graph.lock():
            change = new_change(stores, *DOCUMENTS)
            stores.graph.stage(change)
            stores.graph.stage(change)
            first = stores.graph.advance(change.id, ChangeState.PUBLISHED)
            assert stores.graph.advance(change.id, ChangeState.PUBLISHED) == first
            assert first.added["statement"] == 5
            stores.graph.advance(change.id, ChangeState.DONE)
            stores.graph.advance(change.id, ChangeState.DONE)
        assert len(_names(stores, Kind.STATEMENT)) == 5

    def test_the_lock_yields_what_is_unfinished(self, stores: Stores) -> None:
        with stores.graph.lock() as pending:
            assert pending == ()
            change = new_change(stores, *DOCUMENTS)
            stores.graph.stage(change)
        assert stores.graph.stats(CORPUS) == () or stores.graph.stats(CORPUS)[0].pending == (change.id,)
        with stores.graph.lock() as pending:
            (unfinished,) = pending
            hollow = replace(change, vectors=tuple(block.hollow() for block in change.vectors))
            # A journal may leave the vectors of new records to the other store.
            assert unfinished.change in (change, hollow)
            assert unfinished.state is ChangeState.STAGED
            outcome = stores.graph.advance(change.id, ChangeState.PUBLISHED)
        with stores.graph.lock() as pending:
            assert [(item.state, item.outcome) for item in pending] == [(ChangeState.PUBLISHED, outcome)]

    def test_the_calibration_of_a_change_stays_until_the_next_one_or_until_the_corpus_is_empty(
        self, stores: Stores
    ) -> None:
        fill(stores)
        assert stores.graph.stats(CORPUS)[0].calibration is None
        calibration = Calibration(130, 0.25, 0.125, 0.0625, -0.03125)
        with stores.graph.lock():
            for name, scale in (("first", replace(calibration, names=128)), ("second", calibration), ("third", None)):
                persist(Change(name, CORPUS, calibration=scale), stores)
        assert stores.graph.stats(CORPUS, has_counts=False)[0].calibration == calibration
        remove(stores)
        assert stores.graph.stats(CORPUS)[0].calibration is None

    def test_a_change_planned_on_an_old_version_is_refused(self, stores: Stores) -> None:
        fill(stores)
        with stores.graph.lock():
            stale = new_change(stores, Document("doc:town", "Tessing burned.", "Tessing"))
        fill(stores, Document("doc:town", "Tessing lies on a hill.", "Tessing"))
        with stores.graph.lock(), pytest.raises(StoreConflictError, match="doc:town"):
            stores.graph.stage(stale)

    def test_vectors_of_another_model_are_refused(self, stores: Stores) -> None:
        fill(stores)
        with stores.graph.lock():
            other = change_for(
                [Document("doc:new", "A new one.", "New")], stores, embedder=WordEmbedder(32, name="other")
            )
            assert other is not None
            with pytest.raises(ModelMismatchError, match="words/32"):
                stores.graph.stage(other)

    def test_removing_a_source_takes_what_only_it_asserts(self, stores: Stores) -> None:
        fill(stores)
        names = [item.id for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS))]
        before = Scope(CORPUS, state=stores.graph.stats(CORPUS, has_counts=False)[0].state)
        for scope in (before, before):  # a second time from what is kept of this state
            assert stores.graph.records(Kind.STATEMENT, names, scope=scope) == _again(stores, Kind.STATEMENT, before)
        outcome = remove(stores, "doc:engineer")
        assert set(outcome.vanished) == {"source", "chunk", "topic", "statement", "fact"}
        after = Scope(CORPUS, state=stores.graph.stats(CORPUS, has_counts=False)[0].state)
        assert 0 < len(stores.graph.records(Kind.STATEMENT, names, scope=after)) < len(names)
        assert "Mara Quill was born in Tessing." not in _names(stores, Kind.STATEMENT)
        assert _names(stores, Kind.ENTITY) == ["Aldane Bridge", "Ivo Brandt", "Mara Quill", "Orne", "Tessing"]
        outcome = remove(stores, "doc:poet")
        assert _names(stores, Kind.ENTITY) == ["Aldane Bridge", "Mara Quill", "Orne", "Tessing"]
        assert outcome.vanished["entity"] == (ids.entity_id(CORPUS, "Ivo Brandt"),)

    def test_sources_that_changed_since_a_state_are_named(self, stores: Stores) -> None:
        fill(stores)
        first = stores.graph.altered(CORPUS, "").state
        if not first:
            return  # the store names no states
        assert stores.graph.altered(CORPUS, first) == (first, frozenset(), frozenset())
        assert stores.graph.altered(CORPUS, "1-other").sources is None
        fill(stores, Document("doc:poet", "Ivo Brandt wrote in Tessing.", "Poet"))
        fill(stores, Document("doc:new", "Mara Quill left Orne.", "New"))
        names = frozenset(ids.source_id(CORPUS, uri) for uri in ("doc:poet", "doc:new"))
        second, *changed = stores.graph.altered(CORPUS, first)
        assert second != first
        assert changed == [names, frozenset()]
        remove(stores, "doc:new")
        removed = frozenset({ids.source_id(CORPUS, "doc:new")})
        assert stores.graph.altered(CORPUS, second)[1:] == (frozenset(), removed)
        fill(stores, Document("doc:new", "Mara Quill left Orne.", "New"))
        assert stores.graph.altered(CORPUS, second)[1:] == (removed, removed)
        assert stores.graph.altered("none", first).sources is None

    def test_sources_are_read_by_how_their_uris_begin(self, stores: Stores) -> None:
        uris = (
            "f:/d/a.csv",
            "f:/d/a.csv#1",
            "f:/d/a.csv#2",
            "f:/d/a.csv2",
            "f:/d/e/\N{SNOWMAN}.md",
            "f:/d%_/x.md",
            "f:/D/x.md",
        )
        fill(stores, *(Document(uri, "Mara Quill left Orne.") for uri in uris))
        fill(stores, Document("f:/d/a.csv#3", "Mara Quill left Orne."), corpus="other")

        def inside(*names: str) -> list[str]:
            return sorted(source.uri for source in stores.graph.sources_inside(CORPUS, names))

        assert inside() == inside("f:/none/") == inside("a.csv#") == []
        assert inside("f:/d/a.csv#") == ["f:/d/a.csv#1", "f:/d/a.csv#2"]
        assert inside("f:/d/", "f:/d/a.csv#") == list(uris[:5])
        assert inside("f:/d%_/") == ["f:/d%_/x.md"]
        assert stores.graph.sources_inside("none", ["f:/d/"]) == []

    def test_removing_everything_leaves_nothing(self, stores: Stores) -> None:
        fill(stores)
        remove(stores)
        assert not any(snapshot(stores, CORPUS).values())
        assert not any(stores.graph.stats(CORPUS)[0].records.values())
        assert not any(stores.graph.stats(CORPUS)[0].relationships.values())

    def test_the_order_of_changes_does_not_matter(self, stores: Stores) -> None:
        fill(stores)
        at_once = snapshot(stores, CORPUS)
        remove(stores)
        for document in reversed(DOCUMENTS):
            fill(stores, document)
        assert snapshot(stores, CORPUS) == at_once

    def test_an_edit_and_its_undoing_give_the_same_graph(self, stores: Stores) -> None:
        fill(stores)
        before = snapshot(stores, CORPUS)
        fill(stores, Document("doc:poet", "Ivo Brandt wrote about Tessing. He left.", "Ivo Brandt"))
        fill(stores, DOCUMENTS[3])
        assert snapshot(stores, CORPUS) == before

    def test_corpora_do_not_see_each_other(self, stores: Stores) -> None:
        fill(stores)
        fill(stores, DOCUMENTS[1], corpus="other")
        assert _names(stores, Kind.STATEMENT, scope=Scope("other")) == ["Mara Quill was born in Tessing."]
        seed = ids.entity_id("other", "Tessing")
        graph = stores.graph.pull([seed], ALL, scope=Scope("other"))
        assert len(graph.nodes(Kind.STATEMENT)) == 1
        assert len(stores.graph.pull([seed], ALL, scope=Scope(CORPUS))) == 0

    def test_records_of_another_scope_are_not_read(self, stores: Stores) -> None:
        fill(stores)
        assert not any(_again(stores, kind, Scope("other")) for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY))
        inside = Scope(CORPUS, parse('category = "person"'))
        assert _again(stores, Kind.STATEMENT, inside) == list(stores.graph.find(Kind.STATEMENT, inside))

    def test_stats_count_what_is_there(self, stores: Stores) -> None:
        fill(stores)
        stats = stores.graph.stats(CORPUS)[0]
        counts = {
            kind: stats.records[kind] for kind in (Kind.SOURCE, Kind.CHUNK, Kind.STATEMENT, Kind.FACT, Kind.ENTITY)
        }
        assert counts == {Kind.SOURCE: 4, Kind.CHUNK: 4, Kind.STATEMENT: 5, Kind.FACT: 5, Kind.ENTITY: 5}
        assert stats.relationships[Relationship.MENTIONS] == 9
        assert stats.relationships[Relationship.RELATES] == 4
        assert Relationship.CO_OCCURS not in stats.relationships  # it is derived where it is needed
        assert stats.relationships[Relationship.SUPPORTS] == 5
        texts = dict.fromkeys(("category", "tags", "uri", "title", "source_id"), frozenset({"text"}))
        numbers = dict.fromkeys(("year", "height"), frozenset({"number"}))
        assert {**texts, **numbers, "is_open": frozenset({"truth"})} == stats.fields
        assert (stats.embedding, stats.dimensions) == (WordEmbedder().fingerprint, 32)

    def test_stats_count_no_more_than_is_asked_for(self, stores: Stores) -> None:
        fill(stores)
        bare = stores.graph.stats(CORPUS, has_counts=False)[0]
        records = stores.graph.stats(CORPUS, has_relationships=False)[0]
        everything = stores.graph.stats(CORPUS)[0]
        assert (bare.version, bare.fields) == (everything.version, everything.fields)
        assert records.records == everything.records
        assert everything.relationships[Relationship.MENTIONS] == 9

    def test_every_published_change_raises_the_version(self, stores: Stores) -> None:
        fill(stores)
        first = stores.graph.stats(CORPUS)[0].version
        fill(stores)
        assert stores.graph.stats(CORPUS)[0].version == first
        fill(stores, Document("doc:town", "Tessing is small.", "Tessing"))
        assert stores.graph.stats(CORPUS)[0].version > first
