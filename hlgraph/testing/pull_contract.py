"""Contract suite of the pulls and matches of a GraphStore, a part of that of :mod:`hlgraph.testing.graph_contract`."""

from __future__ import annotations

import pytest

from hlgraph import ids
from hlgraph.errors import InputError
from hlgraph.records import Entity, Kind, Relationship, Statement
from hlgraph.stores.protocols import MatchQuery, PullShape, Scope, Stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, fill
from hlgraph.where import parse

ALL = PullShape(
    frozenset({Relationship.IN_CHUNK, Relationship.MENTIONS}),
    frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY}),
    hops=8,
)
"""All chunks, statements and entities that are connected with the seeds."""


class GraphPullContract:
    """Tests of pulls, matches and filters that every GraphStore must pass."""

    def test_pull_walks_both_directions_and_stops_at_the_hops(self, stores: Stores) -> None:
        fill(stores)
        shape = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}), hops=2)
        graph = stores.graph.pull([ids.entity_id(CORPUS, "Tessing")], shape, scope=Scope(CORPUS))
        names = {item.name for item in _entities(stores, graph.ids.tolist())}
        assert names == {"Tessing", "Mara Quill", "Orne"}
        assert sorted(graph.ids.tolist()) == graph.ids.tolist()
        assert graph.edges[Relationship.MENTIONS].nnz == 4

    def test_pull_respects_fan_out_and_node_cap(self, stores: Stores) -> None:
        fill(stores)
        seed = ids.entity_id(CORPUS, "Mara Quill")
        narrow = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}), fan_out=1)
        graph = stores.graph.pull([seed], narrow, scope=Scope(CORPUS))
        assert len(graph) == 2
        assert graph.is_cut
        small = PullShape(
            frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}), node_cap=2, hops=3
        )
        graph = stores.graph.pull([seed], small, scope=Scope(CORPUS))
        assert len(graph) == 2
        assert graph.is_cut

    def test_match_counts_the_names_that_statements_mention(self, stores: Stores) -> None:
        fill(stores)
        matcher = stores.matcher
        if matcher is None:
            pytest.skip("these stores have no matcher")
        bridge, quill, orne, tessing = (
            (ids.entity_id(CORPUS, name),) for name in ("Aldane Bridge", "Mara Quill", "Orne", "Tessing")
        )

        def texts(query: MatchQuery, where: str = "") -> list[tuple[int, int, set[str]]]:
            scope = Scope(CORPUS, parse(where) if where else None)
            found = matcher.match(query, scope=scope)
            assert all(list(each.ids) == sorted(each.ids) for each in found)
            return [(each.count, each.size, _texts(stores, list(each.ids))) for each in found]

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
        [best, _] = matcher.match(MatchQuery(names, 9), scope=Scope(CORPUS))
        assert texts(MatchQuery((quill,), 9, among=(*best.ids, "nothing"))) == [(1, 1, {designed})]
        assert matcher.match(MatchQuery(names, 9, among=()), scope=Scope(CORPUS)) == []
        assert matcher.match(MatchQuery(names, 9), scope=Scope("nowhere")) == []
        with pytest.raises(InputError, match="most"):
            matcher.match(MatchQuery(names, 9, most=0), scope=Scope(CORPUS))

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
            found = stores.graph.own_entities(CORPUS, [ids.source_id(CORPUS, f"doc:{uri}") for uri in uris])
            assert found == sorted(found)
            assert {item.name for item in _entities(stores, found)} == names, uris
            assert stores.graph.own_entities("other", [ids.source_id(CORPUS, f"doc:{uri}") for uri in uris]) == []


def _entities(stores: Stores, names: list[str]) -> list[Entity]:
    return [item for item in stores.graph.records(Kind.ENTITY, names, scope=Scope(CORPUS)) if isinstance(item, Entity)]


def _texts(stores: Stores, names: list[str]) -> set[str]:
    return {
        item.text
        for item in stores.graph.records(Kind.STATEMENT, names, scope=Scope(CORPUS))
        if isinstance(item, Statement)
    }


def _sentences(text: str) -> list[str]:
    return [f"{part.rstrip('.')}." for part in text.split(". ")]
