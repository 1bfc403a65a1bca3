"""The context of an answer: what fits, in which order, and that nothing is left out or cut in silence."""

from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hlgraph.answer import chat_answer, extractive_answer
from hlgraph.answer.citations import CUT, best_at_the_ends, cost, fitted
from hlgraph.answer.verify import is_missing
from hlgraph.models.prompts import estimated_tokens
from hlgraph.records import Evidence, Source
from hlgraph.testing.chat import ScriptedChat

_TEXTS = st.text(alphabet="ab. 1東\n", min_size=1, max_size=400)


def _evidence(text: str, number: int = 0, *, title: str = "Title") -> Evidence:
    source = Source("s" * 32, "c", f"doc:{number}", title, "sum")
    return Evidence(
        text, 1.0, "c" * 32, 0, len(text), source, f"{number:032x}", headings=("Heading",), labels=("L: 1",)
    )


_FIVE = [_evidence(f"Piece {number} says so.", number) for number in range(1, 6)]


def test_the_best_stand_first_and_last_and_are_numbered_by_rank() -> None:
    chat = ScriptedChat(["So it is [2]."])
    answer = chat_answer("Q?", _FIVE, model=chat)
    user = chat.asked[0][1]
    places = {number: user.index(f"[{number}]\n<evidence") for number in range(1, 6)}
    assert sorted(places, key=lambda number: places[number]) == [1, 3, 5, 4, 2]
    assert [item.evidence for item in answer.citations] == [_FIVE[1]]
    assert (answer.left_out, answer.cut) == (0, 0)


@given(st.lists(st.integers(), unique=True, max_size=9).map(sorted))
def test_every_item_stands_once_and_further_in_means_worse(items: list[int]) -> None:
    found = best_at_the_ends(items)
    assert sorted(found) == items
    while len(found) > 2:
        assert max(found[0], found[-1]) < min(found[1:-1])
        found = found[1:-1]


def test_what_does_not_fit_is_counted_and_cannot_be_cited() -> None:
    long = _evidence("Long words everywhere and everywhere. " * 20, 9)
    evidence = [_FIVE[0], long, *_FIVE[1:3]]
    tokens = sum(cost(item, number=at) for at, item in enumerate(evidence, 1) if item is not long)
    fit = fitted(evidence, tokens)
    assert (fit.places, fit.left_out, fit.cut) == ((0, 2, 3), 1, 0)
    chat = ScriptedChat(["One [1]. Two [2]. Three [3]."])
    answer = chat_answer("Q?", evidence, model=chat, context_tokens=tokens)
    assert "everywhere" not in chat.asked[0][1]
    assert answer.text == "One [1]. Two. Three [2]."
    assert (answer.left_out, answer.dropped_citations, answer.uncited) == (1, 1, ("Two.",))


def test_a_piece_that_is_too_long_ends_with_a_sentence_and_says_so() -> None:
    long = _evidence("".join(f"Sentence number {number} stands here. " for number in range(100)))
    fit = fitted([long, _FIVE[0]], 200)
    assert fit.cut == 1
    text = fit.pieces[0].text
    assert text.endswith(f"stands here. {CUT}")
    assert long.text.startswith(text.removesuffix(f" {CUT}"))
    assert fit.text.count("<evidence") == len(fit.places)


def test_a_sentence_that_is_too_long_ends_with_a_word_and_says_so() -> None:
    fit = fitted([_evidence("word " * 1000)], 200)
    assert fit.pieces[0].text.endswith(f"word {CUT}")
    fit = fitted([_evidence("東" * 1000)], 200)
    assert fit.pieces[0].text.endswith(f"東 {CUT}")


def test_a_cut_piece_is_cited_as_a_whole() -> None:
    long = _evidence("Marl is wet. " * 200)
    answer = chat_answer("Q?", [long], model=ScriptedChat(["Marl is wet [1]."]), context_tokens=200)
    assert (answer.cut, answer.citations[0].evidence) == (1, long)


@given(st.lists(_TEXTS, max_size=8), st.integers(200, 400))
def test_a_context_keeps_its_budget_and_every_piece_is_there_or_counted(texts: list[str], tokens: int) -> None:
    evidence = [_evidence(text, number, title="T" * 300) for number, text in enumerate(texts)]
    fit = fitted(evidence, tokens)
    assert estimated_tokens(fit.text) <= tokens
    assert len(fit.places) + fit.left_out == len(evidence)
    assert bool(fit.places) == bool(evidence)
    assert list(fit.places) == sorted(fit.places)
    whole = [item for item in fit.pieces if CUT not in item.text]
    assert len(whole) + fit.cut == len(fit.pieces)
    assert all(item in evidence for item in whole)


def test_without_a_model_the_answer_is_chosen_from_the_whole_of_what_it_is_given() -> None:
    answer = extractive_answer("Which piece says so?", _FIVE)
    assert len(answer.sentences) == len(answer.citations) > 0
    assert " ".join(item.text for item in answer.sentences) == answer.text


def test_the_words_of_an_answer_take_few_steps() -> None:
    """Calls of functions between the evidence and the text, which a client waits for after the search."""
    source = Source("s" * 32, "c", "doc:1", "Aldane Bridge", "sum", metadata={"press": "The Valley Post of Tessing"})
    texts = [
        f"Mara Quill designed arch {at} of the Aldane Bridge in {1900 + at}, and it was opened." for at in range(20)
    ]
    evidence = [
        replace(_evidence(text, at), source=source, start=100 * at, why={"cosine": 0.6})
        for at, text in enumerate(texts)
    ]
    calls = 0

    def count(frame: object, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        fit = fitted(evidence, 8_000)
        assert not is_missing("Who designed the Aldane Bridge?", fit.pieces)
        answer = extractive_answer("Who designed the Aldane Bridge?", fit.pieces)
    finally:
        sys.setprofile(before)
    assert answer.text.startswith("Mara Quill designed arch 0")
    assert calls < 20_000
