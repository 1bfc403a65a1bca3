"""Parameters of queries: what a line of the header may say, and which values fit it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import InputError
from hlgraph.stores import queries
from hlgraph.stores.queries import Parameter, parse_line

HEADER = "// Does it.\n// params: a, b\n// columns: x\n"
BODY = "RETURN $a + $b AS x"


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("$name text: words", Parameter("name", "text", "words")),
        ('$name text = "": words, or none: all', Parameter("name", "text", "words, or none: all", "")),
        ("$name text = two words: it", Parameter("name", "text", "it", "two words")),
        ("$k integer 1.. = 25: rows", Parameter("k", "integer", "rows", 25, 1.0)),
        ("$k integer ..9: rows", Parameter("k", "integer", "rows", None, None, 9.0)),
        ("$k integer -5..-1 = -2: rows", Parameter("k", "integer", "rows", -2, -5.0, -1.0)),
        ("$s number 0.5..1.5 = 1: a share", Parameter("s", "number", "a share", 1.0, 0.5, 1.5)),
        ("$is_all boolean = false: all of them", Parameter("is_all", "boolean", "all of them", False)),
        ("$e entity: an entity", Parameter("e", "entity", "an entity")),
        ("$d source: a source", Parameter("d", "source", "a source")),
    ],
)
def test_a_line_is_a_parameter(line: str, made: Parameter) -> None:
    found = parse_line(line)
    assert found == made
    assert type(found.default) is type(made.default)


@pytest.mark.parametrize(
    "line",
    [
        "k integer: rows",
        "$k: rows",
        "$k int: rows",
        "$k integer",
        "$k integer:",
        "$k integer 1-5: rows",
        "$name text 1..5: words",
        "$e entity ..5: an entity",
    ],
)
def test_another_form_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"write '// \$name kind low..high = default: meaning'"):
        parse_line(line)


@pytest.mark.parametrize("line", ["$k integer = many: rows", "$k integer 1.. = 0: rows", "$b boolean = maybe: it"])
def test_a_default_that_does_not_fit_is_refused(line: str) -> None:
    with pytest.raises(InputError):
        parse_line(line)


@pytest.mark.parametrize(
    ("line", "text", "value"),
    [
        ("$k integer: rows", "-3", -3),
        ("$s number: share", "3", 3.0),
        ("$b boolean: it", "Yes", True),
        ("$b boolean: it", "false", False),
        ("$t text: words", "3", "3"),
        ("$t text: words", "", ""),
    ],
)
def test_texts_are_read(line: str, text: str, value: object) -> None:
    found = parse_line(line).read(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("line", "value", "says"),
    [
        ("$k integer 1..6: rows", 0, r"k is 0; choose a whole number in 1\.\.6"),
        ("$k integer 1..6: rows", 7, "k is 7"),
        ("$k integer: rows", 1 << 63, "k is 9223372036854775808"),
        ("$k integer: rows", 2.0, "k is 2.0; give a whole number: rows"),
        ("$k integer: rows", True, "k is True; give a whole number"),
        ("$k integer: rows", "3", "k is '3'; give a whole number"),
        ("$s number 0..1: share", math.nan, "s is nan; choose a number"),
        ("$s number: share", math.inf, "s is inf"),
        ("$b boolean: it", 1, "b is 1; give true or false"),
        ("$t text: words", 3, "t is 3; give a text: words"),
        ("$t text: words", None, "t is None"),
        ("$e entity: it", "", "e is ''; give a name or an id"),
    ],
)
def test_values_that_do_not_fit_are_refused(line: str, value: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_line(line).check(value)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_whole_numbers_are_read_back(number: int) -> None:
    assert parse_line("$k integer: rows").read(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-9e18, max_value=9e18))
def test_numbers_are_read_back(number: float) -> None:
    assert parse_line("$s number: share").read(repr(number)) == number


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-60, 60))
def test_bounds_hold(one: int, other: int, value: int) -> None:
    low, high = sorted((one, other))
    parameter = parse_line(f"$k integer {low}..{high}: rows")
    if low <= value <= high:
        assert parameter.check(value) == value
    else:
        with pytest.raises(InputError, match=f"choose a whole number in {low}..{high}"):
            parameter.check(value)


def test_a_header_describes_all_parameters_in_their_order_or_none() -> None:
    described = "// $a integer = 1: one\n// $b integer: two\n"
    query = queries.parse("analyst/do_it", f"{HEADER}{described}// example: do it\n{BODY}")
    assert [(item.name, item.default) for item in query.parameters] == [("a", 1), ("b", None)]
    assert query.example == "do it"
    assert queries.parse("analyst/do_it", HEADER + BODY).parameters == ()
    only = queries.parse("analyst/do_it", f"{HEADER}// example: do it\n{BODY}")
    assert (only.parameters, only.example) == ((), "do it")


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("// $a integer: one\n", "describes a, but takes a, b"),
        ("// $b integer: two\n// $a integer: one\n", "describes b, a, but takes a, b"),
        ("// $a integer: one\n// $a integer: one\n// $b integer: two\n", "describes a, a, b"),
        ("// free words\n", "analyst/do_it.cypher has the line '// free words'"),
        ("// example: x\n// $a integer: one\n", "has the line '// example: x'"),
    ],
)
def test_a_header_that_describes_something_else_is_refused(lines: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        queries.parse("analyst/do_it", f"{HEADER}{lines}{BODY}")
