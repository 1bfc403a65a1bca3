"""Propositions are checked against their chunk by words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.extract import ChunkInput
from hlgraph.extract.grounding import Grounds

_CHUNK = ChunkInput(
    "Ada Falk opened it on 1931-05-14. It did not sink. The ESA paid 3.5 million. It closed from 3-5 June 1940, and on 04/07/1950. "
    "The World Health Organization came on May 9.",
    "The Orlen",
    ("Ferries of Sarn", "History 1952"),
    above="Owner: Tolk Lines",
)


@pytest.mark.parametrize(
    "proposition",
    [
        "Ada Falk opened the Orlen on 14 May 1931.",
        "The Orlen did not sink.",
        "The European Space Agency paid 3,500,000.",
        "The WHO came on the 9th of May 1952.",
        "The Orlen was closed on 3 June 1940 and 5 June 1940.",
        "It closed on July 4, 1950.",
        "It closed on 7 April 1950.",
        "Tolk Lines of Sarn owns the Orlen.",
    ],
)
def test_what_the_chunk_says_is_grounded(proposition: str) -> None:
    assert Grounds(_CHUNK).objection(proposition) == ""


@pytest.mark.parametrize(
    ("proposition", "reason"),
    [
        ("Zorblax invaded Haldrey.", "the text has no Haldrey"),
        ("Ben Moro opened the Orlen.", "the text has no Ben, Moro"),
        ("The Orlen opened in 1932.", "the text has no 1932"),
        ("Ada Falk opened the Orlen on 15 May 1931.", "the text has no 15 May 1931"),
        ("Ada Falk opened the Orlen on 14 May 1940.", "the text has no 14 May 1940"),
        ("The ESA paid 4.5 million.", "the text has no 4.5"),
        ("Ada Falk never opened the Orlen.", "the sentence denies what the evidence says: opened"),
        ("The Orlen did sink.", "the evidence denies it: sink"),
        ("The IMF paid 3.5 million.", "the text has no IMF"),
    ],
)
def test_names_numbers_dates_and_negations_that_are_absent_are_named(proposition: str, reason: str) -> None:
    assert Grounds(_CHUNK).objection(proposition) == reason


def test_a_listed_name_is_a_name_at_the_start_of_a_sentence() -> None:
    grounds = Grounds(_CHUNK)
    assert grounds.objection("Zorblax closed it.") == ""
    assert grounds.objection("Zorblax closed it.", ["Zorblax"]) == "the text has no Zorblax"


def test_a_lead_in_may_deny_what_its_item_says() -> None:
    item = ChunkInput("- Open the red valve.", above="Never do any of the following:")
    assert Grounds(item).objection("Never open the red valve.") == ""
    assert Grounds(ChunkInput("- Open the red valve.")).objection("Never open the red valve.") != ""


@given(st.text(max_size=120), st.text(max_size=60))
def test_any_text_grounds_itself_and_any_proposition_has_a_verdict(text: str, other: str) -> None:
    assert isinstance(Grounds(ChunkInput(text)).objection(other, [other[:9]]), str)
