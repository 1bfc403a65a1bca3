"""What is sent to OpenSearch means there what it means here: filters as keywords, words as SQLite cuts them."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from where_filters import comparison, filters, scalars, sources

from hlgraph.errors import WhereError
from hlgraph.records import Source
from hlgraph.stores.opensearch.where_query import conditions, to_query
from hlgraph.stores.opensearch.writes import terms
from hlgraph.text import words
from hlgraph.where import Compare, In, Not, Op, Where, field, matches, source_values


def admits(query: Any, keywords: Collection[str]) -> bool:  # noqa: PLR0911 - one a kind of clause
    """What a server makes of the clauses that are used: keywords order by their bytes."""
    [(name, body)] = query.items()
    match name:
        case "match_all":
            return True
        case "term":
            return body["conditions"] in keywords
        case "terms":
            return bool(set(body["conditions"]) & set(keywords))
        case "range":
            return any(_is_within(body["conditions"], item.encode()) for item in keywords)
        case "bool" if "filter" in body:
            return all(admits(part, keywords) for part in body["filter"])
        case "bool" if "should" in body:
            return body["minimum_should_match"] == 1 and any(admits(part, keywords) for part in body["should"])
        case "bool":
            return not any(admits(part, keywords) for part in body["must_not"])
    raise AssertionError(name)


def _is_within(bounds: Mapping[str, str], item: bytes) -> bool:
    tests = {
        "gt": lambda bound: item > bound,
        "gte": lambda bound: item >= bound,
        "lt": lambda bound: item < bound,
        "lte": lambda bound: item <= bound,
    }
    return all(tests[name](bound.encode()) for name, bound in bounds.items())


@given(where=filters, item=sources)
def test_a_query_agrees_with_the_reference(where: Where, item: Source) -> None:
    assert admits(to_query(where), conditions(item)) == matches(where, source_values(item))


@given(data=st.data(), item=sources, op=st.sampled_from(Op))
def test_a_query_agrees_where_filter_and_source_meet(data: st.DataObject, item: Source, op: Op) -> None:
    values = source_values(item)
    name = data.draw(st.sampled_from([key for key in values if key]))
    held = values[name] if isinstance(values[name], tuple) else (values[name],)
    inside = [value for value in held if isinstance(value, str | float) or -(2**63) <= value < 2**63]
    value = data.draw(st.sampled_from(inside) if inside else scalars)
    for where in (comparison(name, op, value), In(name, (value, "other")), Not(In(name, (value,)))):
        assert admits(to_query(where), conditions(item)) == matches(where, values)


@given(stored=st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False), value=st.integers(-(2**63), 2**63 - 1))
def test_numbers_order_exactly(stored: float, value: int) -> None:
    item = Source("s", "c", "u", "t", "x", {"n": stored})
    for op in Op:
        for wanted in (value, value + 0.0, stored if stored not in (float("inf"), float("-inf")) else 0):
            where = Compare("n", op, wanted)
            assert admits(to_query(where), conditions(item)) == matches(where, source_values(item))


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_beyond_all_doubles_equal_none_of_them(sign: int) -> None:
    beyond = sign * 10**400
    item = Source("s1", "corpus", "", "", "sum", {"a": beyond}, version=1, valid_from=None, valid_to=None)
    last = sign * 1.7976931348623157e308
    for op in (Op.EQ, Op.LT, Op.GT):
        where = Compare("a", op, last)
        assert admits(to_query(where), conditions(item)) == matches(where, source_values(item)), op


def test_long_texts_compare_by_what_a_keyword_holds_and_longer_questions_are_refused() -> None:
    long = "\U0001f600" * 9_000
    item = Source("s", "c", "u", "t", "x", {"t": long})
    assert max(len(keyword.encode()) for keyword in conditions(item)) <= 32_766
    for where in (field("t") > long[:7_999], field("t") != long[:7_999], field("t") == "a", field("t").exists()):
        assert admits(to_query(where), conditions(item)) == matches(where, source_values(item))
    with pytest.raises(WhereError, match=r"t: the text to compare with has 9,000 characters"):
        to_query(field("t") == long)


def test_terms_are_cut_as_sqlite_cuts_them() -> None:
    codes = [*range(0x20, 0xD800), *range(0xE000, 0x30000)]
    texts = [f"x{chr(code)}y" for code in codes]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5 (words, tokenize = 'unicode61')")
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'instance')")
        rows = ((at, " ".join(words(text))) for at, text in enumerate(texts))
        connection.executemany("INSERT INTO t (rowid, words) VALUES (?, ?)", rows)
        cut: dict[int, list[str]] = {}
        for at, term in connection.execute('SELECT doc, term FROM v ORDER BY doc, "offset"'):
            cut.setdefault(at, []).append(term)
    wrong = [code for at, code in enumerate(codes) if terms(texts[at]) != cut.get(at, [])]
    # What is left are characters that Unicode got after the version that SQLite knows, and a few of New Tai Lue.
    known = [code for code in wrong if unicodedata.category(chr(code)) != "Cn"]
    assert len(known) < 120
    assert min(known) > 0x900
