"""Every query of ``cypher/analyst/`` on the live server: what it gives on the tiny corpus, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_graph import TinyGraph, tiny_graph

from hlgraph import queries
from hlgraph.ids import chunk_id, entity_id, fact_id, source_id, statement_id, topic_id
from hlgraph.stores.neo4j.server import Row


@pytest.fixture(scope="module")
def tiny(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyGraph]:
    with tiny_graph(servers, tmp_path_factory.mktemp("tiny")) as found:
        yield found


def _rows(tiny: TinyGraph, name: str, /, **params: object) -> list[Row]:
    """The rows of an analyst's query, of which it has the columns that its header declares."""
    query = queries.load(f"analyst/{name}")
    assert query.params == set(params)
    found = tiny.server.read(lambda transaction: transaction.rows(query.name, **params))
    assert all(tuple(row) == query.columns for row in found)
    return found


def _values(rows: list[Row], *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[column] for column in columns) for row in rows]


def _entity(tiny: TinyGraph, name: str) -> str:
    return entity_id(tiny.corpus, name)


def _fact(tiny: TinyGraph, subject: str, predicate: str, complement: str, *, is_literal: bool = False) -> str:
    return fact_id(tiny.corpus, subject, predicate, complement, is_literal=is_literal)


def test_the_provenance_of_a_statement(tiny: TinyGraph) -> None:
    source = source_id(tiny.corpus, "doc:bridge")
    text = "The Aldane Bridge was designed by Mara Quill. The Aldane Bridge opened in 1931."
    assert _rows(tiny, "trace_statement", id=statement_id(source, "The Aldane Bridge opened in 1931.")) == [
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
    assert _rows(tiny, "trace_statement", id="none") == []


def test_the_sources_that_assert_a_fact(tiny: TinyGraph) -> None:
    assert _rows(tiny, "trace_fact", id=_fact(tiny, "Tessing", "lies on", "Orne")) == [
        {
            "title": "Tessing",
            "uri": "doc:town",
            "statements": ["Tessing lies on the river Orne."],
            "source_id": source_id(tiny.corpus, "doc:town"),
        }
    ]


def test_the_facts_of_an_entity(tiny: TinyGraph) -> None:
    bridge = _rows(tiny, "list_facts", id=_entity(tiny, "Aldane Bridge"), k=10)
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
    orne = _rows(tiny, "list_facts", id=_entity(tiny, "Orne"), k=10)
    assert sorted(_values(orne, "subject", "predicate")) == [("Ivo Brandt", "wrote about"), ("Tessing", "lies on")]
    assert _rows(tiny, "list_facts", id=_entity(tiny, "Orne"), k=1) == orne[:1]


def test_entities_by_name(tiny: TinyGraph) -> None:
    (found,) = _rows(tiny, "find_entities", corpus=tiny.corpus, name='"mara quill"', k=5)
    assert found.pop("score")
    assert found == {
        "id": _entity(tiny, "Mara Quill"),
        "name": "Mara Quill",
        "kind": "name",
        "aliases": ["Mara Quill"],
    }
    for name in ("quil~", "bran*", "orne brandt"):
        assert _rows(tiny, "find_entities", corpus=tiny.corpus, name=name, k=5)
    assert _rows(tiny, "find_entities", corpus="nowhere", name="mara", k=5) == []


def test_the_most_central_entities(tiny: TinyGraph) -> None:
    found = _rows(tiny, "rank_entities", corpus=tiny.corpus, k=10)
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
    assert _rows(tiny, "rank_entities", corpus=tiny.corpus, k=2) == found[:2]


def test_the_statements_of_a_topic(tiny: TinyGraph) -> None:
    source = source_id(tiny.corpus, "doc:bridge")
    first, second = "The Aldane Bridge was designed by Mara Quill.", "The Aldane Bridge opened in 1931."
    assert _rows(tiny, "list_statements", id=topic_id(source, "Aldane Bridge"), k=10) == [
        {"statement": first, "start": 0, "end": 45, "statement_id": statement_id(source, first)},
        {"statement": second, "start": 46, "end": 79, "statement_id": statement_id(source, second)},
    ]


def test_the_entities_that_stand_with_an_entity(tiny: TinyGraph) -> None:
    found = _rows(tiny, "list_neighbours", id=_entity(tiny, "Tessing"), k=10)
    assert [row["id"] for row in found] == sorted(_entity(tiny, name) for name in ("Mara Quill", "Orne"))
    assert sorted(_values(found, "name", "kind", "chunks")) == [("Mara Quill", "name", 1), ("Orne", "name", 1)]


def test_what_connects_two_entities(tiny: TinyGraph) -> None:
    ends = {"start_id": _entity(tiny, "Aldane Bridge"), "end_id": _entity(tiny, "Ivo Brandt")}
    steps = [
        {"step": 1, "start": "Aldane Bridge", "end": "Mara Quill", "predicates": ["designed by"], "chunks": 1},
        {"step": 2, "start": "Mara Quill", "end": "Tessing", "predicates": ["born in"], "chunks": 1},
        {"step": 3, "start": "Tessing", "end": "Orne", "predicates": ["lies on"], "chunks": 1},
        {"step": 4, "start": "Orne", "end": "Ivo Brandt", "predicates": ["wrote about"], "chunks": 1},
    ]
    assert _rows(tiny, "connect_entities", **ends, hops=4) == steps
    assert _rows(tiny, "connect_entities", **ends, hops=3) == []
    assert _rows(tiny, "connect_entities", **{**ends, "end_id": ends["start_id"]}, hops=4) == []
    assert _rows(tiny, "connect_entities", **{**ends, "end_id": "none"}, hops=4) == []


def test_every_query_of_analysts_is_tested() -> None:
    called = set(re.findall(r'_rows\(tiny, "(\w+)"', Path(__file__).read_text(encoding="utf-8")))
    assert {f"analyst/{name}" for name in called} == {name for name in queries.names() if name.startswith("analyst/")}
