"""The metadata filter: how it is written, what it means, and what is refused."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone

import pytest

from hlgraph.errors import WhereError
from hlgraph.records import Document, MetadataValue, Source
from hlgraph.sdk.client import HLGraph
from hlgraph.text import canonical_time
from hlgraph.where import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_VALUES,
    And,
    Compare,
    Exists,
    In,
    Not,
    Op,
    Or,
    Where,
    check_fields,
    field,
    fields,
    from_mapping,
    matches,
    parse,
    source_values,
    to_text,
)

TECH = Compare("category", Op.EQ, "tech")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('category = "tech"', TECH),
        ("category == 'tech'", TECH),
        ('`category`="tech"', TECH),
        ("a <> 1", Compare("a", Op.NE, 1)),
        ("a != -2.5e3", Compare("a", Op.NE, -2500.0)),
        ("a<.5 or a>=5.", Or((Compare("a", Op.LT, 0.5), Compare("a", Op.GE, 5.0)))),
        ("a = True", Compare("a", Op.EQ, True)),
        ("a in (1, 'b', false,)", In("a", (1, "b", False))),
        ("a in ()", In("a", ())),
        ("a NOT IN (1)", Not(In("a", (1,)))),
        ("not a in (1)", Not(In("a", (1,)))),
        ("Exists a AND exists (b)", And((Exists("a"), Exists("b")))),
        ("not not exists a", Not(Not(Exists("a")))),
        ("a=1 or b=2 and not c=3", Or((parse("a=1"), And((parse("b=2"), Not(parse("c=3"))))))),
        ("(a=1 or b=2) and c=3", And((Or((parse("a=1"), parse("b=2"))), parse("c=3")))),
        ("a=1 and b=2 and c=3", And((parse("a=1"), parse("b=2"), parse("c=3")))),
        ("(a=1 and b=2) and c=3", And((And((parse("a=1"), parse("b=2"))), parse("c=3")))),
        ("android = 1", Compare("android", Op.EQ, 1)),
        ("not-a.field:x = 1", Compare("not-a.field:x", Op.EQ, 1)),
        ("année = 1", Compare("année", Op.EQ, 1)),
        ("`in` = 1 and `a``b c` = 2", And((Compare("in", Op.EQ, 1), Compare("a`b c", Op.EQ, 2)))),
        (r'a = "\"\\\n\t\u00e9\/"', Compare("a", Op.EQ, '"\\\n\té/')),
        ("a = 'it\\'s\n\"two\" lines'", Compare("a", Op.EQ, 'it\'s\n"two" lines')),
        ("a = 9223372036854775807", Compare("a", Op.EQ, 2**63 - 1)),
        ("a = -9223372036854775808", Compare("a", Op.EQ, -(2**63))),
    ],
)
def test_parse(text: str, where: Where) -> None:
    found = parse(text)
    assert found == where
    assert repr(found) == repr(where), "1, 1.0 and true are three values"
    assert parse(to_text(found)) == found


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 1, "expected a field name, `not`, `exists` or `(`"),
        ("a", 2, "expected a comparison (= != < <= > >=), `in` or `not`"),
        ("a ~ 1", 3, "expected a comparison (= != < <= > >=), `in` or `not`"),
        ("a = ", 4, 'expected a value ("text", a number, true or false)'),
        ("a = tech", 5, "put text in quotes"),
        ("a = 2023-01-01", 5, "put text in quotes"),
        ('a = "tech', 5, 'the text that begins with " has no closing quote'),
        ("(a = 1", 7, "expected `)`"),
        ("a = 1)", 6, "expected the end"),
        ("a = 1 b = 2", 7, "expected `and`, `or` or the end"),
        ("a in 1", 6, "expected `(`"),
        ("in = 1", 1, "put a field named like a keyword in backticks"),
        (r'a = "C:\new \data"', 13, r"\d is not an escape"),
        ("a = " + "9" * 5000, 5, "64 bits"),
    ],
)
def test_what_cannot_be_parsed_is_shown(text: str, position: int, reason: str) -> None:
    with pytest.raises(WhereError) as caught:
        parse(text)
    message = str(caught.value)
    assert reason in message
    assert f"character {position}:" in message
    *_, line, caret, example = message.splitlines()
    assert caret.index("^") - 2 == position - 1
    assert line[2:].strip() in text
    assert fields(parse(example.removeprefix("example: "))) == {"category", "year", "tags", "author"}


def test_the_caret_is_under_the_mistake_in_a_long_text_of_many_lines() -> None:
    with pytest.raises(WhereError) as caught:
        parse(f'a = "{"x" * 500}" and\nb = 1 and c =\toops and d = "{"y" * 500}"')
    _, line, caret, _ = str(caught.value).splitlines()
    assert line[caret.index("^") :].startswith("oops")
    assert len(line) < 90


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 9223372036854775808", "64 bits"),
        ("a = 1e999", "finite"),
        ("a < true", "no order"),
        (r'a = "\u0000"', "NUL"),
        (r'a = "\ud800"', "surrogate"),
        ("`a\0` = 1", "NUL"),
        ("not " * MAX_DEPTH + "a = 1", f"{MAX_DEPTH} levels"),
        (" or ".join(["a = 1"] * MAX_NODES), "conditions"),
        (f"a in ({'1,' * (MAX_VALUES + 1)})", "values"),
    ],
)
def test_what_a_store_could_not_hold_is_refused(text: str, reason: str) -> None:
    with pytest.raises(WhereError, match=reason):
        parse(text)


def test_the_limits_themselves_are_allowed_and_parentheses_are_free() -> None:
    assert parse("not " * (MAX_DEPTH - 1) + "a = 1").depth == MAX_DEPTH
    assert parse(" or ".join(["a = 1"] * (MAX_NODES - 1))).size == MAX_NODES
    assert len(to_text(parse(f"a in ({'1,' * MAX_VALUES})"))) > MAX_VALUES
    assert parse("(" * 5000 + "a = 1" + ")" * 5000) == parse("a = 1")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: parse(" and ".join(["a=1"] * 100_000)), "the filter has more than 1,000 conditions"),
        (
            lambda: parse(" or ".join(["exists a", "not b in (1)"] * 30_000)),
            "the filter has more than 1,000 conditions",
        ),
        (lambda: parse("not " * 200_000 + "a = 1"), "the filter has more than 1,000 conditions"),
        (lambda: parse(f"a in ({'1,' * 400_000}"), "lists more than 10,000 values"),
        (lambda: parse("(" * 900_000), "the filter has more than 10,000 parentheses inside of each other"),
        (lambda: parse("(" * 1_000_001), "the filter has 1,000,001 characters; at most 1,000,000 are allowed"),
        (lambda: from_mapping(dict.fromkeys(map(str, range(200_000)), 1)), "the filter has more than 1,000 conditions"),
        (lambda: from_mapping({"a": [1] * 200_000}), "lists more than 10,000 values"),
        (lambda: field("a").is_in(itertools.count()), "lists more than 10,000 values"),
    ],
)
def test_what_is_beyond_a_limit_is_read_no_further_than_the_limit(make: Callable[[], object], says: str) -> None:
    """The number of calls does not grow with the filter; read whole, the first took half a minute."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    parse("a = 1")  # the grammar is read once
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with pytest.raises(WhereError, match=re.escape(says)):
            make()
    finally:
        sys.setprofile(before)
    assert calls < 3_000_000


def test_filters_are_built_with_operators() -> None:
    year = field("year")
    assert ((year >= 2020) & (year < 2024) & (year != 2022)) == parse("year >= 2020 and year < 2024 and year != 2022")
    assert (TECH | field("tags").is_in({"a"}) | field("b").exists()) == parse(
        'category = "tech" or tags in ("a") or exists b'
    )
    assert ((year > 1) | (year <= 0) & ~(year == 5)) == parse("year > 1 or (year <= 0 and not year = 5)")
    assert len({field("a") == "x", parse('a = "x"')}) == 1, "filters are keys of caches"
    assert parse("a = 1") != parse("a = true")
    assert parse("a in (0)") != parse("a in (false)")


@pytest.mark.parametrize("build", [lambda: And((TECH,)), lambda: Or(()), lambda: Exists(""), lambda: bool(TECH)])
def test_what_is_no_filter_is_refused_when_it_is_built(build: object) -> None:
    with pytest.raises(WhereError):
        build()  # type: ignore[operator]


def test_python_operators_that_would_drop_a_part_are_refused() -> None:
    with pytest.raises(WhereError, match="no truth value"):
        assert 2020 <= field("year") <= 2024
    with pytest.raises(WhereError, match="`not exists a`"):
        field("a") == None  # noqa: B015, E711


VALUES: dict[str, MetadataValue] = {
    "n": 3,
    "x": 2.5,
    "big": 10**30,
    "huge": -(10**400),
    "yes": True,
    "text": "b",
    "many": ("a", 7, False),
    "none": (),
}


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ("n = 3.0 and x > 2 and x <= 2.5", True),
        ("n = '3' or n = true or text > 1 or text < 1", False),
        ("n != '3'", True),
        ("yes = true and yes != false and yes != 1", True),
        ("yes = 1 or yes in (1, 'true') or yes > 0", False),
        ("text >= 'a' and text < 'c' and text = 'b'", True),
        ("text > 'B'", True),
        ("text < 'é' and text < '\U0001f600'", True),
        ("big = 1e30 and big > 9223372036854775807", True),
        ("huge < -1e308", True),
        ("many = 'a' and many = 7 and many = false", True),
        ("many > 6 and many in (8, 'a')", True),
        ("many != 'a'", False),
        ("many != 'z'", True),
        ("none = 1 or none in (1)", False),
        ("exists none and none != 1", True),
        ("gone = 1 or gone < 1 or gone in (1) or exists gone", False),
        ("gone != 1 and gone not in (1) and not exists gone", True),
        ("n in ()", False),
    ],
)
def test_matches(text: str, is_match: bool) -> None:
    assert matches(parse(text), VALUES) is is_match


SAME_INSTANT = (
    "2024-03-05T09:30:00+00:00",
    "2024-03-05T09:30:00Z",
    "2024-03-05t09:30z",
    "2024-03-05 09:30:00.000",
    "2024-03-05T10:30:00+01:00",
    "2024-03-05T10:30:00 +0100",
    datetime(2024, 3, 5, 9, 30),  # noqa: DTZ001
    datetime(2024, 3, 5, 4, 30, tzinfo=timezone(timedelta(hours=-5))),
)


@pytest.mark.parametrize("stored", SAME_INSTANT)
@pytest.mark.parametrize("asked", SAME_INSTANT)
def test_an_instant_is_the_same_in_every_form(stored: str | datetime, asked: str | datetime) -> None:
    created = field("created")
    assert matches(created == asked, {"created": str(canonical_time(stored))})
    assert matches(created.is_in([asked]), {"created": str(canonical_time(stored))})
    assert matches(created >= asked, {"created": str(canonical_time(stored))})
    assert not matches(created < asked, {"created": str(canonical_time(stored))})


def test_documents_with_dates_and_times_are_found_by_them(graph: HLGraph) -> None:
    times = [*SAME_INSTANT, "2024-03-05", date(2024, 3, 6), "2024-03-05T09:30:00.5", "9 March", "2024-03-05T25:00"]
    metadata = [{"created": time, "many": [time, 1]} for time in times]
    graph.ingest([Document(f"doc:{at}", f"Ada met Ben {at} times.", metadata=each) for at, each in enumerate(metadata)])
    instant = len(SAME_INSTANT)
    for where, count in (
        ('created = "2024-03-05T09:30:00Z"', instant),
        ('many = "2024-03-05 09:30"', instant),
        ('created > "2024-03-05T09:30:00" and created < "2024-03-05T09:30:01"', 1),
        ('created >= "2024-03-05" and created < "2024-03-06"', instant + 3),
        ('created = "2024-03-05"', 1),
        ('created = "2024-03-06"', 1),
        ('created = "9 March"', 1),
        ('created = "2024-03-05T25:00"', 1),
    ):
        evidence = graph.search("Who met Ben?", k=30, unit="chunk", where=where).evidence
        assert len({piece.source.uri for piece in evidence}) == count, where
    report = graph.ingest([Document("doc:0", "Ada met Ben 0 times.", metadata=metadata[4])])
    assert report.sources_unchanged == 1, "another spelling of the same instant changes nothing"


def test_a_source_has_its_own_fields_and_those_of_its_metadata() -> None:
    metadata: dict[str, MetadataValue] = {"title": "inner", "year": 2020, "metadata.year": "shadowed", "": 1}
    source = Source("s1", "c", "file:a", "Outer", "sum", metadata=metadata)
    values = source_values(source)
    for text in (
        'title = "Outer" and metadata.title = "inner"',
        'uri = "file:a" and source_id = "s1" and not exists metadata.uri',
        "year = 2020 and metadata.year = 2020",
        'metadata.metadata.year = "shadowed"',
        "`metadata.` = 1",
    ):
        assert matches(parse(text), values), text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "year = '2020'",
            "year is compared with \"2020\", and the field 'year' holds numbers; write a number without quotes",
        ),
        ("not (open = 1 or exists year)", "'open' holds true or false"),
        ("tag != true", "'tag' holds texts; write a text in quotes"),
        ("tag in ('a', 5)", "tag is compared with 5"),
        ("title > 5", "'title' holds texts"),
        ("metadata.title = 'x'", "'metadata.title' holds numbers"),
        ("year in ()", r"year in \(\): the list is empty.*'year' holds numbers"),
        ("both = true", "'both' holds numbers and texts"),
        ("odd in ()", "'odd' holds values of several types"),
    ],
)
def test_a_filter_of_another_type_than_its_field_and_an_empty_list_are_refused(text: str, says: str) -> None:
    types = {"year": ["number"], "tag": ["text"], "open": ["truth"], "title": ["number"], "both": ["text", "number"]}
    with pytest.raises(WhereError, match=says):
        check_fields(parse(text), {**types, "odd": []})
    for fits in (
        "year = 1.5",
        "tag in ('a')",
        "open = true",
        "metadata.title = 1",
        "title = 'a'",
        "both = 1",
        "odd = 1",
    ):
        check_fields(parse(fits), {**types, "odd": []})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"year": 2023}, "year = 2023"),
        ({"tag": ["a", "b"], "is_open": True}, 'tag in ("a", "b") and is_open = true'),
    ],
)
def test_a_mapping_is_a_filter(given: dict[str, object], text: str) -> None:
    assert to_text(from_mapping(given)) == text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "empty mapping; leave it out"),
        ({"year": {">=": 2023}}, "write the filter as a text, such as where='year >= 2023'"),
        ({"year": None}, "not exists year"),
        ({5: 1}, "a field name is 5"),
        ({"year": {1, 2}}, "set was given"),
    ],
)
def test_a_mapping_that_is_no_filter_says_what_to_write(given: dict[str, object], says: str) -> None:
    with pytest.raises(WhereError, match=says):
        from_mapping(given)


def test_what_is_no_filter_and_no_list_is_refused() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: (field("a") == 1) & 5,  # type: ignore[operator]
        lambda: (field("a") == 1) | "b = 2",  # type: ignore[operator]
        lambda: field("a").is_in("abc"),
        lambda: field("a").is_in(5),  # type: ignore[arg-type]
    ]
    for call in wrong:
        with pytest.raises(WhereError, match=r"join it with another filter|give a list of values"):
            call()


def test_fields_that_no_source_has_are_refused_with_the_nearest() -> None:
    check_fields(parse("year = 1 and metadata.year = 1 and title = 'a' and exists uri"), {"year": ["number"]})
    assert fields(parse("a=1 and (not exists b or c in (1))")) == {"a", "b", "c"}
    with pytest.raises(WhereError, match=r"no source has a field 'yaer'; did you mean 'year'\?; known fields: author,"):
        check_fields(parse("yaer = 1"), {"year": [], "author": []})
    with pytest.raises(WhereError, match=r"'metadata\.title'"):
        check_fields(parse("metadata.title = 1"), {"year": []})
    with pytest.raises(WhereError) as caught:
        check_fields(parse("q = 1"), {f"name{number}": [] for number in range(500)})
    assert "and 483 more" in str(caught.value)
    assert len(str(caught.value)) < 500
