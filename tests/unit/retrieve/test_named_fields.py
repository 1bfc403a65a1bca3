"""Which metadata a question names."""

from __future__ import annotations

import pytest

from hlgraph.records import MetadataValue
from hlgraph.retrieve.question.keywords import is_date, matches, named


@pytest.mark.parametrize(
    ("question", "value", "is_named"),
    [
        ("What does the Courier article say?", "Courier", True),
        ("What does the Courier article say?", "The Courier", True),
        ("What does the courier carry?", "Courier", False),
        ("Is business good?", "business", False),
        ("Which Couriers ride?", "Courier", False),
        ("What did the Haldrey\n Post say?", "Haldrey  Post", True),
        ("What did 3M say?", "3M", True),
        ("Was it in 1931?", "1931", False),
        ("Was it on May 3, 1931?", "1931-05-03", True),
        ("Was it on 3rd of May 1931?", "1931-05-03T08:00:00", True),
        ("Was it in May 1931?", "1931-05-03", True),
        ("Was it on 1931-05-03?", "1931-05-03", True),
        ("Was it in Sept. 1931, or on May 4, 1931?", "1931-05-03", False),
        ("Was it in Sept. 1931?", "1931-09-30", True),
        ("Mara Quill and Ivo Brandt?", ("Lorna Hale", "Ivo Brandt"), True),
        ("7?", 7, False),
    ],
)
def test_a_value_is_named(question: str, value: MetadataValue, is_named: bool) -> None:
    assert named(question).matches({"field": value}) == (("field",) if is_named else ())


def test_a_day_counts_and_its_month_does_not() -> None:
    assert named("From October 6, 2023 (2023-10) to 2023-11?").dates == ("2023-10-06", "2023-11")


def test_only_sources_with_a_named_field_are_returned() -> None:
    found = matches(
        "What did Ivo Brandt write?", {"a": {"author": "Ivo Brandt"}, "b": {"author": "Mara Quill"}, "c": {}}
    )
    assert found == {"a": ("author",)}


def test_dates_are_distinguished_from_names() -> None:
    assert all(map(is_date, ("1931-05-03", ("x", "1931-05-03"))))
    assert not any(map(is_date, ("1931", 1931)))
