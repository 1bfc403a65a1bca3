"""Long questions are cut into clauses, others stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.retrieve.question.subqueries import LONG_WORDS, clauses
from hlgraph.text import words

LONG = (
    "Does the Haldrey Courier article suggest that the new bridge lowered the price of stone, while the article in the "
    "Ombry Post accuses the council of hiding its cost, and did the Courier later correct its report?"
)


def test_clauses_stand_in_the_order_of_the_question() -> None:
    assert clauses(LONG) == (
        "Does the Haldrey Courier article suggest that the new bridge lowered the price of stone",
        "the article in the Ombry Post accuses the council of hiding its cost",
        "did the Courier later correct its report",
    )


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Who built the mill, and the bridge at Ombry, while the river was high?",  # short
        "word " * 40,  # nothing joins
        "Do both films, Interview With A Hitman and The Last Coupon, have directors of the same country, who were born in "
        "the same town in the same year?",  # "and The" stands in a name
    ],
)
def test_other_questions_stay_whole(question: str) -> None:
    assert clauses(question) == (question,)


def test_a_short_clause_joins_the_one_before() -> None:
    question = LONG.replace("did the Courier later correct its report", "did it stop")
    assert clauses(question)[-1].endswith("hiding its cost did it stop")


@given(
    st.lists(
        st.sampled_from(["the bridge", "while", ", and the", ";", "Ombry", "?", "was built of stone"]), max_size=60
    )
)
def test_clauses_lose_only_joining_words(pieces: list[str]) -> None:
    question = " ".join(pieces)
    found = clauses(question)
    assert found
    assert len(found) <= 5
    if len(question.split()) < LONG_WORDS:
        assert found == (question,)
    lost = set(words(question)) - {word for clause in found for word in words(clause)}
    assert lost <= {"while", "and", "the"} or len(found) == 5
