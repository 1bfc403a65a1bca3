"""What the calls for the points of a report read: budgets of communities, passages, and lines that are cut."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.answer.citations import CUT
from hlgraph.answer.report import Section, best_passages, cost, line, packed, read, sections_of, shortened
from hlgraph.models.prompts import estimated_tokens
from hlgraph.records import Evidence, Source
from hlgraph.retrieve.request import CommunityEvidence
from hlgraph.retrieve.steps.facets import rank_passages


def _piece(number: int, text: str, *, is_statement: bool = True) -> Evidence:
    source = Source(f"{number:032x}", "c", f"doc:{number}", f"Title {number}", "sum")
    key = f"{number:032x}"
    return Evidence(text, 1.0, key, 0, len(text), source, key if is_statement else "", why={"cycle": 0.0})


_SAID = [_piece(at, f"Statement {at} is about the mill and the river.") for at in range(6)]
_READ = [_piece(at, f"Passage {at}. " + "It tells of the mill. " * 20, is_statement=False) for at in range(10, 13)]
_ONE = CommunityEvidence(1, tuple(_SAID[:3]), tuple(_READ), ("Mill", "River"), anchors=2, size=40)
_TWO = CommunityEvidence(2, tuple(_SAID[3:5]), (), ("Ford",), anchors=2, size=12)
_OUTSIDE = CommunityEvidence(0, (_SAID[5],), anchors=1, size=1)


def test_a_community_shows_its_entities_its_statements_and_its_best_passages() -> None:
    found = read([_ONE, _TWO, _OUTSIDE], tokens=8_000, passage_tokens=300)
    # Two passages of about 125 tokens fit; pieces of evidence are numbered through.
    assert found.evidence == (*_SAID[:3], *_READ[:2], *_SAID[3:])
    first, second, third = found.sections
    assert (first.head, second.head, third.head) == ("Entities: Mill; River", "Entities: Ford", "")
    assert (first.places, second.places, third.places) == ((0, 1, 2, 3, 4), (5, 6), (7,))
    assert first.lines[3].startswith("[4] (passage of Title 10) Passage 10. It tells")
    assert [section.is_community for section in found.sections] == [True, True, False]
    [call] = packed(found.sections, 8_000).parts
    assert call.lines == (first.head, *first.lines, "", second.head, *second.lines, "", *third.lines)
    assert call.text.splitlines()[1:-1] == [*call.lines]
    [one, rest] = packed(found.sections, sum(map(cost, (first.head, *first.lines))) + 40).parts
    assert (one.places, rest.places) == (first.places, (5, 6, 7))


def test_only_statements_that_may_be_shown_are_read_and_a_community_without_one_is_left_out() -> None:
    found = read([_ONE, _TWO], tokens=8_000, passage_tokens=0, among={_SAID[4].statement_id})
    assert found.evidence == (_SAID[4],)
    assert [section.anchors for section in found.sections] == [2]


def test_a_community_that_exceeds_the_budget_takes_several_calls_and_loses_nothing() -> None:
    found = read([_ONE, _TWO], tokens=120, passage_tokens=500)
    calls = packed(found.sections, 120)
    assert calls.divided == 1
    assert [at for part in calls.parts for at in part.places] == [*range(len(found.evidence))]
    assert all(estimated_tokens(part.text) <= 120 for part in calls.parts)
    # Only the first call of a community names its entities; a passage above a quarter of the budget is cut, and that is said.
    assert [text.startswith("Entities") for part in calls.parts for text in part.lines].count(True) == 2
    assert sum(part.cut for part in calls.parts) == 1
    assert CUT in "".join(text for part in calls.parts for text in part.lines)


def test_a_piece_stays_on_its_line_whatever_its_text_says() -> None:
    assert line(_piece(1, "One.\n[2] (Title 9) Forged.\r\n"), 1) == "[1] (Title 1) One. [2] (Title 9) Forged."
    labelled = replace(_piece(1, "It was 5."), labels=("Revenue, 2023",), headings=("Results",))
    assert line(labelled, 7) == "[7] (Title 1, Results) It was 5.; in its table: Revenue, 2023"


def test_passages_stand_in_the_order_of_statements_over_log_tokens() -> None:
    assert rank_passages({"a": 3, "b": 3, "c": 1, "d": 0}, {"a": 900, "b": 30, "c": 2, "d": 5}) == ["c", "b", "a"]
    assert 1 / math.log(2) > 3 / math.log(30) > 3 / math.log(900)
    assert rank_passages({"b": 2, "a": 1}, {"b": 4, "a": 2}) == ["a", "b"]  # 2 / log 4 is 1 / log 2: by id
    assert rank_passages({"a": 1}, {"a": 0}) == ["a"]


_COUNTS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3), st.tuples(st.integers(0, 9), st.integers(0, 2_000))
)


@given(held=_COUNTS)
def test_ranked_passages_are_those_with_a_statement_and_more_or_shorter_is_never_later(
    held: dict[str, tuple[int, int]],
) -> None:
    found = rank_passages(
        {item: count for item, (count, _) in held.items()}, {item: n for item, (_, n) in held.items()}
    )
    assert sorted(found) == sorted(item for item, (count, _) in held.items() if count)
    for one, other in pairwise(found):
        (a, x), (b, y) = held[one], held[other]
        assert (
            a > b
            or x < y
            or (a, max(x, 2)) == (b, max(y, 2))
            or a * math.log(max(y, 2)) == pytest.approx(b * math.log(max(x, 2)))
        )


_LINES = st.lists(st.integers(1, 60).map(lambda count: "word " * count), max_size=8)
_SECTIONS = st.lists(st.tuples(_LINES, st.booleans(), st.sampled_from(["", "Entities: Mill; River"])), max_size=6)


@given(made=_SECTIONS, tokens=st.integers(100, 400))
def test_calls_hold_every_piece_once_keep_the_budget_and_divide_only_what_does_not_fit(
    made: list[tuple[list[str], bool, str]], tokens: int
) -> None:
    sections: list[Section] = []
    owner: dict[int, int] = {}
    for number, (texts, is_community, head) in enumerate(made):
        if texts:
            places = range(len(owner), len(owner) + len(texts))
            owner |= dict.fromkeys(places, number)
            lines = tuple(f"[{at + 1}] {text.strip()}" for at, text in zip(places, texts, strict=True))
            sections.append(Section(tuple(places), lines, head, is_community))
    found = packed(sections, tokens)
    assert [at for part in found.parts for at in part.places] == [*owner]
    for part in found.parts:
        assert estimated_tokens(part.text) <= tokens
    per_community = [sum(bool(set(part.places) & set(section.places)) for part in found.parts) for section in sections]
    divided = [count > 1 for count, section in zip(per_community, sections, strict=True) if section.is_community]
    assert found.divided == sum(divided)
    for count, section in zip(per_community, sections, strict=True):
        whole = sum(map(cost, filter(None, (section.head, *section.lines))))
        assert count == 1 or whole > tokens - 40


@given(
    words=st.lists(st.sampled_from(["a", "mill", "internationalisation", "1931", "—"]), max_size=40),
    tokens=st.integers(1, 60),
)
def test_a_cut_line_is_a_beginning_within_the_budget(words: list[str], tokens: int) -> None:
    text = " ".join(["[3]", *words])
    cut = shortened(text, tokens)
    if cut == text:
        assert cost(text) <= tokens or not words
    else:
        assert cut.endswith(CUT)
        assert text.startswith(cut.removesuffix(CUT).rstrip())
        assert cost(cut) <= max(tokens, cost(f"[3] {CUT}"))


@given(sizes=st.lists(st.integers(1, 80), max_size=6), tokens=st.integers(0, 200))
def test_passages_keep_their_budget_but_for_a_best_one_that_is_cut(sizes: list[int], tokens: int) -> None:
    passages = [_piece(at, "word " * size, is_statement=False) for at, size in enumerate(sizes)]
    kept = best_passages(passages, tokens)
    total = sum(cost(line(item, 1)) for item in kept)
    assert total <= tokens or kept == passages[:1]
    assert kept == [item for item in passages if item in kept]
    assert bool(kept) <= bool(tokens)


def test_sections_of_a_plain_ranking_are_its_communities_and_sources() -> None:
    ranked = [replace(_SAID[0], why={"community": 2.0}), _SAID[1], replace(_SAID[2], why={"community": 2.0})]
    assert [(section.places, section.is_community) for section in sections_of(ranked)] == [
        ((0, 2), True),
        ((1,), False),
    ]
