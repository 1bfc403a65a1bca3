"""A filter survives its text, and SQLite agrees with `matches` on every source."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from where_filters import comparison, filters, scalars, source, sources

from hlgraph.errors import WhereError
from hlgraph.records import Source
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.where import And, In, Not, Op, Or, Where, field, matches, parse, source_values, to_text


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE TABLE source (id TEXT, uri TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL)"
        )
        yield connection


def found(connection: sqlite3.Connection, where: Where, item: Source) -> int | None:
    expression, parameters = to_sql(where)
    with connection:
        connection.execute("DELETE FROM source")
        row = (item.id, item.uri, item.title, json.dumps(item.metadata, ensure_ascii=False))
        connection.execute("INSERT INTO source VALUES (?, ?, ?, ?)", row)
        query = f"SELECT {expression} FROM (SELECT * FROM (SELECT * FROM source)) AS source"  # noqa: S608
        [(result,)] = connection.execute(query, parameters)
    return result  # type: ignore[no-any-return]


@given(where=filters)
def test_a_filter_is_read_back_from_its_text(where: Where) -> None:
    again = parse(to_text(where))
    assert again == where
    assert repr(again) == repr(where)
    assert hash(again) == hash(where)


@given(where=filters, item=sources)
def test_sqlite_agrees_with_the_reference(database: sqlite3.Connection, where: Where, item: Source) -> None:
    assert found(database, where, item) == matches(where, source_values(item))


@given(data=st.data(), item=sources, op=st.sampled_from(Op))
def test_sqlite_agrees_where_filter_and_source_meet(
    database: sqlite3.Connection, data: st.DataObject, item: Source, op: Op
) -> None:
    values = source_values(item)
    name = data.draw(st.sampled_from([key for key in values if key]))
    held = values[name] if isinstance(values[name], tuple) else (values[name],)
    inside = [value for value in held if isinstance(value, str | float) or -(2**63) <= value < 2**63]
    value = data.draw(st.sampled_from(inside) if inside else scalars)
    for where in (comparison(name, op, value), In(name, (value, "other")), Not(In(name, (value,)))):
        assert found(database, where, item) == matches(where, values)


@given(where=filters, item=sources)
def test_negation_is_the_complement(where: Where, item: Source) -> None:
    values = source_values(item)
    assert matches(Not(where), values) is not matches(where, values)


@given(where=filters)
def test_sql_holds_no_data(where: Where) -> None:
    expression, parameters = to_sql(where)
    # Every literal of the fragments is known; what a filter names is in the parameters alone.
    literals = set(expression.split("'")[1::2])
    assert literals <= {"array", "[0]", "text", "integer", "real", "true", "false", "$"}
    assert all(f":{name}" in expression for name in parameters)


LEAF = field("a").is_in(["x", 1, True])


def chain(part: Where, *, width: int = 1) -> Where:
    """The part inside alternating conjunctions and disjunctions, to the deepest and largest filter there may be."""
    while part.depth < 50:
        try:
            part = (Or if part.depth % 2 else And)((*[LEAF] * width, part))
        except WhereError:
            return part
    return part


def tree(depth: int) -> Where:
    part: Where = LEAF
    while part.depth < depth:
        part = (Or if part.depth % 2 else And)((part, part))
    return part


@pytest.mark.parametrize(
    "where",
    [chain(LEAF), chain(LEAF, width=19), chain(tree(6)), chain(tree(4), width=10), tree(9), And((LEAF,) * 999)],
    ids=["deep", "deep and wide", "tree in a chain", "tree in a wide chain", "tree", "wide"],
)
@pytest.mark.parametrize("value", ["x", "y"])
def test_sqlite_takes_the_largest_filters(database: sqlite3.Connection, where: Where, value: str) -> None:
    assert found(database, where, source({"a": value})) == matches(where, {"a": value})
