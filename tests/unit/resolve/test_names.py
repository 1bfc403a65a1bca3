"""Names that may be of one thing by their letters, against the comparison of all pairs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.ids import normalise_name
from hlgraph.resolve.candidates import evidence, fold, is_eligible, lexical_pairs


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("U.S.A.", "USA", ["same words"]),
        ("Saint-Étienne", "Saint Etienne", ["same words"]),
        ("The Tessing Review", "Tessing Review", ["same words"]),
        ("Marks & Spencer", "Marks and Spencer", ["same words"]),
        ("World Health Organization", "WHO", ["initials"]),
        ("United States of America", "USA", ["initials"]),
        ("M. Quill", "Mara Quill", ["initials"]),
        ("Quill", "Mara Quill", ["contained"]),
        ("Bank of Tessing", "Bank", ["contained"]),
        ("Tessing", "Tesing", ["one letter"]),
        ("Tessing", "Tessang", ["one letter"]),
        ("Mara Quill", "Ivo Quill", []),
        ("Bär", "Bar", ["same words"]),
        ("がく", "かく", []),
        ("of the", "Bank of the Orne", []),
        ("Orne", "Orna", []),
        ("King of Spain", "Queen of Spain", []),
    ],
)
def test_what_speaks_for_one_thing(one: str, other: str, expected: list[str]) -> None:
    names = [fold(normalise_name(name)) for name in (one, other)]
    assert list(evidence(*names)) == expected
    assert list(evidence(*reversed(names))) == expected


_WORDS = st.sampled_from(
    ("mara", "quill", "m", "quil", "tessing", "tesing", "of", "the", "bridge", "mq", "mqb", "7", "8")
)
_NAME = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)


@given(st.lists(_NAME, max_size=12, unique=True))
def test_blocks_lose_no_pair_that_all_pairs_have(names: list[str]) -> None:
    held = {str(place): name for place, name in enumerate(names)}
    expected = {}
    for a, b in combinations(sorted(held), 2):
        one, other = fold(held[a]), fold(held[b])
        digits = [[letter for letter in name if letter.isdigit()] for name in (one, other)]
        if (
            is_eligible(held[a])
            and is_eligible(held[b])
            and digits[0] == digits[1]
            and (found := tuple(evidence(one, other)))
        ):
            expected[a, b] = tuple(sorted(found))
    assert lexical_pairs(held, block=1_000) == expected


def test_a_word_that_many_names_share_pairs_none_of_them() -> None:
    names = {str(place): f"bank {word}" for place, word in enumerate(("orne", "tessing", "velm", "kestrin"))}
    names["bank"] = "bank"
    assert ("0", "bank") in lexical_pairs(names, block=50)
    assert lexical_pairs(names, block=3) == {}


def test_numbers_dates_and_other_digits_are_no_pairs() -> None:
    assert lexical_pairs({"a": "may 1990", "b": "may 1991", "c": "apollo 11", "d": "apollo 12", "e": "12 km"}) == {}
    assert lexical_pairs({"c": "apollo 11", "d": "apollo-11"}) == {("c", "d"): ("same words",)}
