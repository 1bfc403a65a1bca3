"""A filter survives its text, and SQLite agrees with `matches` on every source."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import WhereError
from hlgraph.records import MetadataValue, Source
from hlgraph.stores.embedded.where_sql import to_sql
from hlgraph.where import And, Compare, Exists, In, Not, Op, Or, Where, field, matches, parse, source_values, to_text

KEYS = ["a", "year", 'q"k', "it's", "a.b", "a[0]", "$", "a\\b", "a\nb", "é", "\U0001f600", "in", "", "uri", "title"]
KEYS += ["metadata.a", "metadata.title", "`", "\\u0061", "%s", ":w0"]
WORDS = [
    "",
    "a",
    "b",
    "B",
    "é",
    "\uffff",
    "\U0001f600",
    "a'b",
    'a"b',
    "1",
    "true",
    "null",
    "[1]",
    "{}",
    "%",
    "a\\u0062",
]
NUMBERS = [
    0,
    1,
    -1,
    3,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    0.1,
    0.30000000000000004,
    1.0,
    -0.0,
    2.0**63,
    1e300,
    5e-324,
]

texts = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
numbers = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = texts | numbers | st.booleans()
stored = scalars | st.integers(-(10**320), 10**320) | st.lists(scalars, max_size=3).map(tuple)
metadata = st.dictionaries(st.sampled_from(KEYS) | texts, stored, max_size=6)

names = st.sampled_from([*filter(None, KEYS), "uri", "title", "source_id", "metadata.uri", "metadata.", "gone"]) | texts
names = names.filter(bool)


def comparison(name: str, op: Op, value: str | float) -> Compare:
    return Compare(name, op if not isinstance(value, bool) else Op.NE, value)


leaves = (
    st.builds(comparison, names, st.sampled_from(Op), scalars)
    | st.builds(In, names, st.lists(scalars, max_size=5).map(tuple))
    | st.builds(Exists, names)
)
filters = st.recursive(
    leaves,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, min_size=2, max_size=4).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=2, max_size=4).map(tuple))
    ),
    max_leaves=12,
)


def source(values: dict[str, MetadataValue], title: str = "a", uri: str = "b") -> Source:
    return Source("s1", "corpus", uri, title, "sum", metadata=values)


sources = st.builds(source, metadata, texts, texts)


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
