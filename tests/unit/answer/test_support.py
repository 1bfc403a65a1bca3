"""The lexical check: what its words find against a sentence, on cases that were worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hlgraph.extract.wording import Wording, objection, telling_words

_BRIDGE = "The Aldane Bridge was designed by Mara Quill in 1931. It cost 1,250,000 crowns and has three arches."
_FLOOD = "The mill was not destroyed by the flood. The council never paid for it."


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Mara Quill designed the Aldane Bridge.", _BRIDGE),
        ("Mara Quill is the designer of the bridge [1].", _BRIDGE),
        ("The bridge cost 1250000 crowns.", _BRIDGE),
        ("It has 3 arches.", _BRIDGE),
        ("The term is 3 years.", "A three-year term."),
        ("A 10-year term.", "The term is 10 years."),
        ("Mara Quill’s design dates from 1931.", _BRIDGE),
        ("Yes.", _BRIDGE),
        ("Not only Mara Quill designed it.", _BRIDGE),
        ("The mill was not destroyed by the flood.", _FLOOD),
        ("The flood did not destroy the mill.", _FLOOD),
        ("The council paid nothing for the mill.", "The council never paid for the mill."),
        ("The bridge is no longer open.", "The bridge is no longer open to traffic."),
        ("U.S. engineers built it.", "Engineers of the US built it."),
        ("橋は東京にある。", "その橋は東京にある。"),
    ],
)
def test_what_the_evidence_says_is_supported(sentence: str, told: str) -> None:
    assert objection(sentence, [told]) == ""


@pytest.mark.parametrize(
    ("sentence", "told", "reason"),
    [
        ("Mara Quill designed it in 1932.", _BRIDGE, "has no 1932"),
        ("Ivo Brandt designed the bridge.", _BRIDGE, "has no Ivo, Brandt"),
        ("It has four arches.", _BRIDGE, "has no 4"),
        ("The term is 4 years.", "A three-year term.", "has no 4"),
        ("The bridge collapsed in a storm.", _BRIDGE, "no collapsed, storm"),
        ("Mara Quill never designed the bridge.", _BRIDGE, "denies what the evidence says"),
        ("The flood destroyed the mill.", _FLOOD, "the evidence denies it: "),
        ("The council paid for the mill.", _FLOOD, "the evidence denies it: "),
        ("She was the tallest woman in town.", _BRIDGE, "too few of its words"),
        ("東京タワーは高い。", "その橋は大阪にある。", "too few of its words"),
    ],
)
def test_what_it_does_not_say_is_not(sentence: str, told: str, reason: str) -> None:
    assert reason in objection(sentence, [told])


def test_names_may_stand_in_titles_and_ordinary_words_may_not() -> None:
    told = ["It opened in 1931."]
    assert objection("The Aldane Bridge opened in 1931.", told) != ""
    assert objection("The Aldane Bridge opened in 1931.", told, places=["Aldane Bridge"]) == ""
    assert objection("It collapsed slowly.", told, places=["How it collapsed slowly"]) != ""


def test_evidence_of_several_pieces_counts_together() -> None:
    assert objection("Mara Quill was born in Tessing.", ["Mara Quill came late."]) != ""
    assert objection("Mara Quill was born in Tessing.", ["Mara Quill came late.", "She was born in Tessing."]) == ""


def test_what_is_said_and_denied_in_the_evidence_is_no_contradiction() -> None:
    told = ["The mill was not destroyed in 1900.", "The mill was destroyed in 1931."]
    assert objection("The mill was destroyed.", told) == ""


@example("1[1]1")
@given(st.text(alphabet="abcAB. ,not'’-19東!?\n[]", max_size=80))
def test_every_text_supports_itself(text: str) -> None:
    assert objection(text, [text]) == ""


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_any_text_has_a_verdict_and_more_evidence_brings_no_new_gap(sentence: str, told: list[str]) -> None:
    before, after = objection(sentence, told), objection(sentence, [*told, sentence])
    assert isinstance(before, str)
    assert "has no" not in after
    assert "too few" not in after


def test_words_are_looked_up_by_their_kind() -> None:
    wording = Wording(["Bankman-Fried founded FTX in 2019."], places=["TechCrunch"])
    names, others = telling_words("Did Bankman-Fried of TechCrunch found it in 2020?")
    assert (names, others) == (["Bankman-Fried", "TechCrunch"], ["2020", "found"])
    assert wording.share(names) == 1.0
    assert [wording.has(word) for word in others] == [False, True]
    assert wording.share([]) == 1.0
    assert wording.has("Fried")
    assert not wording.has("Freed")
