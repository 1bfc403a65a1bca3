"""Every query of ``cypher/analyst/`` on the live server: what it gives on corpora that were worked by hand, row by row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from neo4j_graphs import TEXTS, MillGraph, TinyGraph

from hlgraph.errors import UnknownNameError
from hlgraph.ids import chunk_id, entity_id, fact_id, source_id, statement_id, topic_id
from hlgraph.sdk import cypher as analyst
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Row
from hlgraph.stores.protocols import Decider, Decision, Verdict
from hlgraph.stores.queries import Query


def _rows(place: TinyGraph | MillGraph, name: str, /, **params: object) -> list[Row]:
    """The rows of an analyst's query, of which it has the columns that its header declares."""
    query = analyst.load(name)
    found = analyst.run(query, params, graph=Neo4jGraphStore(place.server), corpus=place.corpus)
    assert found.columns == query.columns
    assert not found.is_cut
    return [dict(row) for row in found.rows]


def _values(rows: list[Row], *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]


def _entity(tiny: TinyGraph, name: str) -> str:
    return entity_id(tiny.corpus, name)


def _fact(tiny: TinyGraph, subject: str, predicate: str, complement: str, *, is_literal: bool = False) -> str:
    return fact_id(tiny.corpus, subject, predicate, complement, is_literal=is_literal)


def test_the_provenance_of_a_statement(tiny: TinyGraph) -> None:
    source = source_id(tiny.corpus, "doc:bridge")
    text = "The Aldane Bridge was designed by Mara Quill. The Aldane Bridge opened in 1931."
    assert _rows(tiny, "trace_statement", statement=statement_id(source, "The Aldane Bridge opened in 1931.")) == [
        {
            "statement": "The Aldane Bridge opened in 1931.",
            "title": "Aldane Bridge",
            "uri": "doc:bridge",
            "page": None,
            "start": 46,
            "end": 79,
            "details": [],
            "chunk_id": chunk_id(source, text, 0),
        }
    ]
    assert text[46:79] == "The Aldane Bridge opened in 1931."
    assert _rows(tiny, "trace_statement", statement="none") == []


def test_the_sources_that_assert_a_fact(tiny: TinyGraph) -> None:
    assert _rows(tiny, "trace_fact", fact=_fact(tiny, "Tessing", "lies on", "Orne")) == [
        {
            "title": "Tessing",
            "uri": "doc:town",
            "statements": ["Tessing lies on the river Orne."],
            "source_id": source_id(tiny.corpus, "doc:town"),
        }
    ]


def test_the_facts_of_an_entity(tiny: TinyGraph) -> None:
    bridge = _rows(tiny, "list_facts", entity=_entity(tiny, "Aldane Bridge"), k=10)
    assert sorted(_values(bridge, "subject", "predicate", "object", "statements", "fact_id")) == [
        (
            "Aldane Bridge",
            "designed by",
            "Mara Quill",
            1,
            _fact(tiny, "Aldane Bridge", "designed by", "Mara Quill"),
        ),
        ("Aldane Bridge", "opened in", "1931", 1, _fact(tiny, "Aldane Bridge", "opened in", "1931", is_literal=True)),
    ]
    assert [row["fact_id"] for row in bridge] == sorted(str(row["fact_id"]) for row in bridge)
    orne = _rows(tiny, "list_facts", entity=_entity(tiny, "Orne"), k=10)
    assert sorted(_values(orne, "subject", "predicate")) == [("Ivo Brandt", "wrote about"), ("Tessing", "lies on")]
    assert _rows(tiny, "list_facts", entity=_entity(tiny, "Orne"), k=1) == orne[:1]


def test_entities_by_name(tiny: TinyGraph) -> None:
    (found,) = _rows(tiny, "find_entities", name='"mara quill"', k=5)
    assert found.pop("score")
    assert found == {
        "id": _entity(tiny, "Mara Quill"),
        "name": "Mara Quill",
        "kind": "name",
        "aliases": ["Mara Quill"],
    }
    for name in ("quil~", "bran*", "orne brandt"):
        assert _rows(tiny, "find_entities", name=name, k=5)
    with pytest.raises(UnknownNameError, match="there is no corpus 'nowhere'"):
        _rows(tiny, "find_entities", corpus="nowhere", name="mara", k=5)


def test_the_most_central_entities(tiny: TinyGraph) -> None:
    found = _rows(tiny, "rank_entities", k=10)
    central = sorted(_entity(tiny, name) for name in ("Mara Quill", "Tessing", "Orne"))
    outer = sorted(_entity(tiny, name) for name in ("Aldane Bridge", "Ivo Brandt"))
    assert [row["id"] for row in found] == [*central, *outer]
    assert sorted(_values(found, "name", "kind", "degree", "facts", "statements")) == [
        ("Aldane Bridge", "name", 1, 2, 2),
        ("Ivo Brandt", "name", 1, 1, 1),
        ("Mara Quill", "name", 2, 2, 2),
        ("Orne", "name", 2, 2, 2),
        ("Tessing", "name", 2, 2, 2),
    ]
    assert _rows(tiny, "rank_entities", k=2) == found[:2]


def test_the_entities_that_occur_together_most(tiny: TinyGraph) -> None:
    pairs = [("Aldane Bridge", "Mara Quill"), ("Ivo Brandt", "Orne"), ("Mara Quill", "Tessing"), ("Tessing", "Orne")]
    found = _rows(tiny, "pair_entities", k=10)
    assert sorted(map(sorted, _values(found, "first_id", "second_id"))) == sorted(
        sorted(_entity(tiny, name) for name in pair) for pair in pairs
    )
    assert {row["chunks"] for row in found} == {1}
    assert sorted(_values(found, "first_id", "second_id")) == _values(found, "first_id", "second_id")
    assert _rows(tiny, "pair_entities", k=1) == found[:1]


def test_the_statements_of_a_topic(tiny: TinyGraph) -> None:
    source = source_id(tiny.corpus, "doc:bridge")
    first, second = "The Aldane Bridge was designed by Mara Quill.", "The Aldane Bridge opened in 1931."
    assert _rows(tiny, "list_statements", topic=topic_id(source, "Aldane Bridge"), k=10) == [
        {
            "statement": first,
            "title": "Aldane Bridge",
            "start": 0,
            "end": 45,
            "statement_id": statement_id(source, first),
        },
        {
            "statement": second,
            "title": "Aldane Bridge",
            "start": 46,
            "end": 79,
            "statement_id": statement_id(source, second),
        },
    ]


def test_the_entities_that_stand_with_an_entity(tiny: TinyGraph) -> None:
    found = _rows(tiny, "list_neighbours", entity=_entity(tiny, "Tessing"), k=10)
    assert [row["id"] for row in found] == sorted(_entity(tiny, name) for name in ("Mara Quill", "Orne"))
    assert sorted(_values(found, "name", "kind", "chunks", "facts")) == [
        ("Mara Quill", "name", 1, ["Mara Quill born in Tessing"]),
        ("Orne", "name", 1, ["Tessing lies on Orne"]),
    ]


def test_what_connects_two_entities(tiny: TinyGraph) -> None:
    ends = {"source": "Aldane Bridge", "target": "Ivo Brandt"}
    found = _rows(tiny, "what_connects", **ends)
    designed, born = "Aldane Bridge designed by Mara Quill", "Mara Quill born in Tessing"
    assert _values(found, "step", "start", "end", "facts", "chunks", "statement") == [
        (1, "Aldane Bridge", "Mara Quill", [designed], 1, "The Aldane Bridge was designed by Mara Quill."),
        (2, "Mara Quill", "Tessing", [born], 1, "Mara Quill was born in Tessing."),
        (3, "Tessing", "Orne", ["Tessing lies on Orne"], 1, "Tessing lies on the river Orne."),
        (4, "Orne", "Ivo Brandt", ["Ivo Brandt wrote about Orne"], 1, "Ivo Brandt wrote about the Orne."),
    ]
    back = _rows(tiny, "what_connects", source="Ivo Brandt", target="Aldane Bridge")
    assert [row["facts"] for row in back] == [row["facts"] for row in found[::-1]]  # a fact keeps its direction
    ids = {key: _entity(tiny, name) for key, name in ends.items()}
    assert _rows(tiny, "what_connects", **ids) == found
    assert _rows(tiny, "what_connects", **ends, hops=3) == []
    assert _rows(tiny, "what_connects", source="Orne", target="Orne") == []


def test_facts_connect_before_common_chunks_do(mill: MillGraph) -> None:
    ends = {"source": "Piet Marn", "target": "Lund"}
    steps = [
        (1, "Piet Marn", "Orle Mill", ["Orle Mill built by Piet Marn"], 1),
        (2, "Orle Mill", "Hanna Voss", ["Orle Mill built by Hanna Voss"], 2),
        (3, "Hanna Voss", "Lund", ["Hanna Voss lived in Lund"], 1),
    ]
    columns = ("step", "start", "end", "facts", "chunks")
    assert _values(_rows(mill, "what_connects", **ends), *columns) == steps
    short = _rows(mill, "what_connects", **ends, hops=2)
    assert _values(short, *columns, "statement") == [
        (*steps[0], "The Orle Mill was built by Piet Marn."),
        (2, "Orle Mill", "Lund", [], 1, None),
    ]


def _mill_fact(mill: MillGraph, subject: str, predicate: str, complement: str) -> str:
    return fact_id(mill.corpus, subject, predicate, complement, is_literal=complement == "six sails")


def test_contradicting_facts(mill: MillGraph) -> None:
    (row,) = _rows(mill, "find_contradictions")
    assert row == {
        "subject": "Orle Mill",
        "predicate": "built by",
        "objects": ["Hanna Voss", "Piet Marn"],
        "sources": ["Gazette", "Guide", "Papers"],
        "single_share": 0.333,
        "fact_ids": [_mill_fact(mill, "Orle Mill", "built by", name) for name in ("Hanna Voss", "Piet Marn")],
    }
    assert _rows(mill, "find_contradictions", predicate="Built By") == [row]
    assert _rows(mill, "find_contradictions", predicate="has") == []


def test_facts_that_sources_agree_on(mill: MillGraph) -> None:
    found = _rows(mill, "rank_facts")
    agreed = {("Orle Mill", "built by", "Hanna Voss", 2, 2), ("Orle Mill", "has", "six sails", 2, 2)}
    once = {("Orle Mill", "built by", "Piet Marn", 1, 1), ("Hanna Voss", "lived in", "Lund", 1, 1)}
    rows = _values(found, "subject", "predicate", "object", "sources", "statements")
    assert (set(rows[:2]), set(rows[2:])) == (agreed, once)
    assert [str(row["fact_id"]) for row in found[:2]] == sorted(str(row["fact_id"]) for row in found[:2])
    assert _rows(mill, "rank_facts", k=1) == found[:1]


def test_predicates(mill: MillGraph) -> None:
    found = _rows(mill, "rank_predicates")
    assert _values(found, "predicate", "facts", "subjects") == [("built by", 2, 1), ("has", 1, 1), ("lived in", 1, 1)]
    assert [row["example"] for row in found[1:]] == ["Orle Mill has six sails", "Hanna Voss lived in Lund"]
    assert found[0]["example"] in {"Orle Mill built by Hanna Voss", "Orle Mill built by Piet Marn"}


def test_the_facts_of_an_entity_over_time(mill: MillGraph) -> None:
    found = _rows(mill, "date_facts", entity="Orle Mill")
    assert [row["date"] for row in found] == ["1901-05-02"] * 2 + ["1925-03-10"] * 3
    assert set(_values(found, "date", "predicate", "object", "title")) == {
        ("1901-05-02", "built by", "Hanna Voss", "Gazette"),
        ("1901-05-02", "has", "six sails", "Gazette"),
        ("1925-03-10", "built by", "Hanna Voss", "Papers"),
        ("1925-03-10", "built by", "Piet Marn", "Guide"),
        ("1925-03-10", "has", "six sails", "Guide"),
    }
    assert {row["date"] for row in _rows(mill, "date_facts", entity="Orle Mill", field="nothing")} == {None}


def test_growth_by_day(mill: MillGraph) -> None:
    found = _rows(mill, "count_growth")
    assert _values(found, "day", "sources", "chunks", "statements", "sources_so_far") == [
        ("1925-03-10", 2, 2, 4, 3),
        ("1901-05-02", 1, 1, 2, 1),
        (None, 4, 4, 3, 7),
    ]
    assert _rows(mill, "count_growth", k=1) == found[:1]


def test_the_timeline_of_a_topic(mill: MillGraph) -> None:
    found = _rows(mill, "trace_topic", topic="MILL")
    assert _values(found, "date", "statement", "title") == [
        ("1901-05-02", "The Orle Mill was built by Hanna Voss.", "Gazette"),
        ("1901-05-02", "The Orle Mill has six sails.", "Gazette"),
        ("1925-03-10", "The Orle Mill was built by Piet Marn.", "Guide"),
        ("1925-03-10", "The Orle  Mill has six sails!", "Guide"),
        ("1925-03-10", "The Orle Mill was built by Hanna Voss.", "Papers"),
    ]
    assert [row["title"] for row in _rows(mill, "list_statements", topic="mill")] == [row["title"] for row in found]


def test_what_two_sources_share(mill: MillGraph) -> None:
    found = _rows(mill, "find_bridges", first="Gazette", second="doc:Papers")
    assert _values(found, "name", "statements_of_first", "statements_of_second", "sources") == [
        ("Hanna Voss", 1, 2, 2),
        ("Orle Mill", 2, 1, 3),
    ]
    assert _rows(mill, "find_bridges", first="Gazette", second="Horse") == []


def test_the_sources_that_share_most(mill: MillGraph) -> None:
    found = _rows(mill, "pair_sources")
    assert [({row["first"], row["second"]}, row["entities"], row["names"]) for row in found[:1]] == [
        ({"Gazette", "Papers"}, 2, ["Hanna Voss", "Orle Mill"])
    ]
    assert [(row["entities"], row["names"]) for row in found[1:]] == [(1, ["Orle Mill"])] * 2
    (rare,) = _rows(mill, "pair_sources", most=2)
    assert (rare["entities"], rare["names"]) == (1, ["Hanna Voss"])


def test_statements_that_several_sources_make(mill: MillGraph) -> None:
    found = _rows(mill, "find_duplicates")
    assert {(str(row["text"]).strip(".!").replace("  ", " "), *row["titles"]) for row in found} == {  # type: ignore[misc]
        ("The Orle Mill was built by Hanna Voss", "Gazette", "Papers"),
        ("The Orle Mill has six sails", "Gazette", "Guide"),
        ("The fair is held in May", "Notice", "Poster"),
    }
    assert {(row["sources"], len(row["statement_ids"])) for row in found} == {(2, 2)}  # type: ignore[arg-type]


def test_chunks_that_stand_in_several_places(mill: MillGraph) -> None:
    (row,) = _rows(mill, "find_copies", characters=10)
    text = TEXTS["Notice"]
    places = {title: chunk_id(source_id(mill.corpus, f"doc:{title}"), text, 0) for title in ("Notice", "Poster")}
    assert row == {
        "text": text,
        "copies": 2,
        "sources": 2,
        "titles": list(places),
        "chunk_ids": list(places.values()),
    }
    assert _rows(mill, "find_copies") == []


def test_what_hangs_on_nothing(mill: MillGraph) -> None:
    found = _rows(mill, "find_orphans")
    assert _values(found, "label", "name", "reason") == [
        ("Entity", "Sorrel", "no fact, and no other entity beside it"),
        ("Source", "Blank", "no statement"),
        ("Topic", "Blank", "no statement is about it"),
    ]
    assert found[0]["id"] == entity_id(mill.corpus, "Sorrel")


def test_the_coverage_of_sources(mill: MillGraph) -> None:
    found = _rows(mill, "measure_coverage")
    assert _values(found[:1], "title", "chunks", "characters", "statements", "facts", "per_1000_characters") == [
        ("Blank", 1, 16, 0, 0, 0.0)
    ]
    rows = {row["title"]: (row["statements"], row["facts"], row["per_1000_characters"]) for row in found}
    assert rows["Guide"] == (2, 2, round(2000 / len(TEXTS["Guide"]), 2))
    assert [row["per_1000_characters"] for row in found] == sorted(row[2] for row in rows.values())
    assert len(rows) == len(TEXTS)


def test_hubs(mill: MillGraph) -> None:
    (row,) = _rows(mill, "find_hubs", share=0.4)
    assert {**row, "id": ""} == {
        "id": "",
        "name": "Orle Mill",
        "kind": "name",
        "sources": 3,
        "share_of_sources": 0.429,
        "statements": 5,
        "degree": 3,
    }
    assert len(_rows(mill, "find_hubs", share=0)) == 5


def test_statements_without_facts(mill: MillGraph) -> None:
    found = _rows(mill, "find_statements_without_facts")
    assert _values(found[:1], "statement", "entities", "title") == [("Sorrel is a horse.", 1, "Horse")]
    assert {(row["statement"], row["entities"], row["title"]) for row in found[1:]} == {
        (TEXTS["Notice"], 0, "Notice"),
        (TEXTS["Poster"], 0, "Poster"),
    }


def test_the_largest_chunks(mill: MillGraph) -> None:
    found = _rows(mill, "rank_chunks")
    assert [row["tokens"] for row in found] == sorted((row["tokens"] for row in found), reverse=True)  # type: ignore[type-var]
    assert {(row["title"], row["characters"], row["statements"], row["start"]) for row in found} == {
        (title, len(text), len(re.findall(r"[.!]", text)) if title != "Blank" else 0, 0)
        for title, text in TEXTS.items()
    }


def test_what_an_entity_is_called(mill: MillGraph) -> None:
    assert _values(_rows(mill, "list_synonyms", entity="Lund"), "name", "relation", "number") == [
        ("Lund", "alias, mentions", 1.0),
        ("Sorrel", "synonym, similarity", 0.875),
    ]


def test_what_was_decided_about_entities_that_may_be_one(mill: MillGraph) -> None:
    store, graph = mill.opened.stores.graph.merges, mill.opened.stores.graph
    assert store is not None
    lund, sorrel, voss = (entity_id(mill.corpus, name) for name in ("Lund", "Sorrel", "Hanna Voss"))
    made = (
        Decision(mill.corpus, lund, sorrel, Verdict.SAME, Decider.PERSON, "Ada", "by hand", 0.875, "2026-02-01"),
        Decision(mill.corpus, sorrel, voss, Verdict.DIFFERENT, Decider.MODEL, "p/1+m", "initials", 0.5, "2026-01-01"),
    )
    assert _rows(mill, "list_merges") == []
    with graph.lock():
        store.save(mill.corpus, made)
    try:
        found = _rows(mill, "list_merges")
        assert _values(found, "verdict", "alias", "canonical", "by", "made_by", "why", "score", "at", "id") == [
            ("same", "Lund", "Sorrel", "person", "Ada", "by hand", 0.875, "2026-02-01", made[0].id),
            ("different", "Sorrel", "Hanna Voss", "model", "p/1+m", "initials", 0.5, "2026-01-01", made[1].id),
        ]
        assert _values(_rows(mill, "list_merges", name="Hanna Voss"), "id") == [(made[1].id,)]
        assert _values(_rows(mill, "list_merges", k=1), "id") == [(made[0].id,)]
    finally:
        with graph.lock():
            store.drop(mill.corpus, made)


def test_where_an_entity_is_mentioned(mill: MillGraph) -> None:
    found = _rows(mill, "list_mentions", entity="Hanna Voss")
    assert _values(found, "statement", "names", "title", "start", "end") == [
        ("The Orle Mill was built by Hanna Voss.", ["Hanna Voss"], "Gazette", 0, 38),
        ("Hanna Voss lived in Lund.", ["Hanna Voss"], "Papers", 0, 25),
        ("The Orle Mill was built by Hanna Voss.", ["Hanna Voss"], "Papers", 26, 64),
    ]


def test_the_sources_of_a_corpus(mill: MillGraph) -> None:
    found = _rows(mill, "list_sources")
    assert [row["title"] for row in found] == sorted(TEXTS)
    assert _values(found[1:2], "uri", "version", "metadata", "source_id") == [
        ("doc:Gazette", 1, '{"date": "1901-05-02"}', source_id(mill.corpus, "doc:Gazette"))
    ]


def test_communities_and_who_is_in_them(mill: MillGraph) -> None:
    found = _rows(mill, "list_communities")
    inner, outer = f"{mill.corpus}-0", f"{mill.corpus}-1"
    names = ["Orle Mill", "Hanna Voss"]
    assert _values(found, "level", "members", "parent_id", "names", "community_id") == [
        (0, 2, outer, names, inner),
        (1, 2, None, names, outer),
    ]
    (one,) = _rows(mill, "list_communities", level=1, names=1)
    assert one == {**found[1], "names": names[:1]}


def test_queries_see_one_corpus(tiny: TinyGraph, mill: MillGraph) -> None:
    """Ids of one corpus give nothing in another."""
    given = {
        "entity": _entity(tiny, "Orne"),
        "statement": statement_id(source_id(tiny.corpus, "doc:town"), "Tessing lies on the river Orne."),
        "fact": _fact(tiny, "Tessing", "lies on", "Orne"),
        "topic": topic_id(source_id(tiny.corpus, "doc:town"), "Tessing"),
        "source": source_id(tiny.corpus, "doc:town"),
    }
    for name, query in analyst.load_all().items():
        params = {item.name: given.get(item.name, "Orne") for item in query.parameters if item.default is None}
        if {item.kind for item in query.parameters} & {"entity", "source"}:
            params = {item: given["source" if query_kind(query, item) == "source" else "entity"] for item in params}
            with pytest.raises(UnknownNameError, match=f"in corpus '{mill.corpus}'|of corpus '{mill.corpus}'"):
                _rows(mill, name, **params)
        else:
            texts = " ".join(map(str, _rows(mill, name, **params)))
            assert not re.search("Orne|Tessing|Quill|Brandt|Aldane", texts), name


def query_kind(query: Query, name: str) -> str:
    return next(item.kind for item in query.parameters if item.name == name)


def test_the_facts_of_a_predicate(mill: MillGraph) -> None:
    built = [("Orle Mill", "built by", "Hanna Voss", 2, 2), ("Orle Mill", "built by", "Piet Marn", 1, 1)]
    columns = ("subject", "predicate", "object", "sources", "statements")
    assert _values(_rows(mill, "find_facts", predicate="Built"), *columns) == built
    assert _values(_rows(mill, "find_facts", predicate="built by"), *columns) == built
    assert _rows(mill, "find_facts", predicate="buil") == []  # whole words
    with_names = _rows(mill, "find_facts", kinds="name", object_kinds="NAME")
    assert {row["object"] for row in with_names} == {"Hanna Voss", "Piet Marn", "Lund"}  # not the text "six sails"
    assert len(_rows(mill, "find_facts")) == 4


def test_what_two_entities_have_in_common(mill: MillGraph) -> None:
    found = _rows(mill, "compare_entities", first="Piet Marn", second="Hanna Voss")
    assert _values(found, "relation", "name", "of_first", "of_second") == [("facts with both", "Orle Mill", 1, 1)]
    near = _rows(mill, "compare_entities", first="Hanna Voss", second="Orle Mill")
    assert _values(near, "relation", "name", "of_first", "of_second") == [
        ("mentioned in", "Gazette", 1, 2),
        ("mentioned in", "Papers", 2, 1),
    ]
    assert _rows(mill, "compare_entities", first="Lund", second="Lund") == []
    assert _rows(mill, "compare_entities", first="Lund", second="Sorrel") == []


def test_mentions_of_an_entity_by_year(mill: MillGraph) -> None:
    assert _values(_rows(mill, "count_mentions", entity="Orle Mill"), "year", "statements", "sources", "titles") == [
        ("1925", 3, 2, ["Guide", "Papers"]),
        ("1901", 2, 1, ["Gazette"]),
    ]
    assert _values(_rows(mill, "count_mentions", entity="Sorrel"), "year", "statements") == [(None, 1)]


def test_the_sources_that_say_most(mill: MillGraph) -> None:
    found = _rows(mill, "rank_sources")
    rows = {row["title"]: (row["statements"], row["facts"], row["entities"]) for row in found}
    assert rows == {
        "Gazette": (2, 2, 2),
        "Guide": (2, 2, 2),
        "Papers": (2, 2, 3),
        "Notice": (1, 0, 0),
        "Poster": (1, 0, 0),
        "Horse": (1, 0, 1),
    }
    assert [row["statements"] for row in found] == [2, 2, 2, 1, 1, 1]


def test_the_topics_that_most_is_said_about(mill: MillGraph) -> None:
    (first, *_) = _rows(mill, "rank_topics")
    assert first == {"topic": "Mill", "statements": 5, "sources": 3, "titles": ["Gazette", "Guide", "Papers"]}


def test_what_the_last_change_added(mill: MillGraph) -> None:
    found = _rows(mill, "list_changes", changes=64, k=1000)
    assert {(row["change"], row["label"]) for row in found} == {
        ("added", label) for label in ("Source", "Statement", "Fact", "Topic", "Entity")
    }
    assert {row["name"] for row in found if row["label"] == "Entity"} == {
        "Orle Mill",
        "Hanna Voss",
        "Piet Marn",
        "Lund",
        "Sorrel",
    }
    assert {row["title"] for row in found if row["label"] == "Source"} == set(TEXTS)
    assert _rows(mill, "list_changes", changes=64, k=3) == found[:3]


def test_every_query_of_analysts_is_tested() -> None:
    called = set(re.findall(r'_rows\((?:tiny|mill), "(\w+)"', Path(__file__).read_text(encoding="utf-8")))
    assert called == set(analyst.load_all())
