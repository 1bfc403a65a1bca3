"""Reports: batches by community, points, their order, and citations that exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlgraph
from hlgraph.answer import ReportBounds, chat_report, extractive_report
from hlgraph.answer.citations import best_at_the_ends
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.report import Point, best_points, packed, points_in, sections_of
from hlgraph.errors import InputError, ModelAnswerError
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.prompts import delimited
from hlgraph.records import Evidence, Source
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import count_tokens

_QUESTION = "How does soil shape the farms of the valley?"


def _evidence(text: str, number: int, community: int | None) -> Evidence:
    source = Source(f"{number:032x}", "c", f"doc:{number}", f"Title {number}", "sum")
    why: dict[str, float | str] = {} if community is None else {"community": float(community)}
    return Evidence(text, 1.0, "c" * 32, 0, len(text), source, f"{number:032x}", why=why)


_EVIDENCE = [
    _evidence("Soil of marl holds water in the valley.", 0, 2),
    _evidence("Farms on the ridge are dry.", 1, 1),
    _evidence("Marl soil in the valley feeds the farms.", 2, 2),
    _evidence("A poet was born in Tessing.", 3, 1),
    _evidence("The farms sell cheese.", 4, None),
]


_SMALL = ReportBounds(batch_tokens=75)  # a call for each community and each source


def test_communities_and_sources_share_a_call_as_far_as_they_fit() -> None:
    sections = sections_of(_EVIDENCE)
    assert [section.places for section in sections] == [(0, 2), (1, 3), (4,)]
    assert [part.places for part in packed(sections, _SMALL.batch_tokens).parts] == [(0, 2), (1, 3), (4,)]
    assert [part.places for part in packed(sections, 95).parts] == [(0, 2), (1, 3, 4)]
    assert [part.places for part in packed(sections_of(_EVIDENCE), 1_000).parts] == [(0, 2, 1, 3, 4)]
    plain = [replace(item, why={}) for item in _EVIDENCE]
    assert [part.places for part in packed(sections_of(plain), 1_000).parts] == [(0, 1, 2, 3, 4)]
    assert packed([], 10).parts == []


_POINTS = st.lists(
    st.builds(Point, st.integers(0, 100).map(float), st.text("ab ", max_size=20), st.just(()), st.just(0))
)


@given(points=_POINTS, tokens=st.integers(1, 30))
def test_the_best_points_fit_and_the_best_stand_first_and_last(points: list[Point], tokens: int) -> None:
    kept = best_points(points, tokens)
    assert sum(count_tokens(point.text) for point in kept) <= tokens
    assert all(point.score > 0 for point in kept)
    assert [point.score for point in kept] == sorted((point.score for point in kept), reverse=True)
    shown = best_at_the_ends(kept)
    assert sorted(shown) == sorted(kept)
    scores = [point.score for point in shown]
    lowest = scores.index(min(scores)) if scores else 0
    assert scores[: lowest + 1] == sorted(scores[: lowest + 1], reverse=True)
    assert scores[lowest:] == sorted(scores[lowest:])


def test_a_report_without_a_model_has_a_paragraph_a_community() -> None:
    answer = extractive_report(_QUESTION, _EVIDENCE)
    assert answer.text.split("\n\n") == [
        "Marl soil in the valley feeds the farms. [1] Soil of marl holds water in the valley. [2]",
        "Farms on the ridge are dry. [3]",
        "The farms sell cheese. [4]",
    ]
    assert [item.evidence for item in answer.citations] == [_EVIDENCE[at] for at in (2, 0, 1, 4)]
    assert answer.is_supported


def test_bounds_of_a_report_without_a_model() -> None:
    short = extractive_report(_QUESTION, _EVIDENCE, bounds=ReportBounds(points=1, paragraphs=2))
    assert short.text == "Marl soil in the valley feeds the farms. [1]\n\nFarms on the ridge are dry. [2]"
    assert extractive_report("Who sang?", _EVIDENCE).text == NOT_FOUND
    assert not extractive_report(_QUESTION, []).is_supported
    twice = [_EVIDENCE[0], _evidence(_EVIDENCE[0].text, 9, 3)]
    assert len(extractive_report(_QUESTION, twice).citations) == 1


def test_the_model_notes_points_of_each_batch_and_writes_them_up() -> None:
    """Points 90, 60, 30 and 10: the best first and last in what the report is written from."""
    chat = ScriptedChat(
        [
            "60 | Marl holds water. [1]\n90 | Marl feeds the farms. [3][1]\nThat is all.",
            "<think>[9]</think>10 | Ridges are dry. [2]\n99 | Invented. [7]",
            "30 | They sell cheese. [5]",
            "Marl feeds farms [3]. Ridges are dry [2]. Poets live there [4]. They sell cheese.",
        ]
    )
    usage = Usage()
    answer = chat_report(_QUESTION, _EVIDENCE, model=chat, usage=usage, bounds=_SMALL)
    assert len(chat.asked) == usage.calls == 4
    told = "Marl feeds the farms. [3][1]\nThey sell cheese. [5]\nRidges are dry. [2]\nMarl holds water. [1]"
    assert delimited("points", told) in chat.asked[3][1]
    for batch, (system, user, _) in zip([[0, 2], [1, 3], [4]], chat.asked, strict=False):
        for at in range(5):
            assert (f"\n[{at + 1}] (Title {at}) {_EVIDENCE[at].text}\n" in user) == (at in batch)
            assert _EVIDENCE[at].text not in system
    # A piece that no point rests on cannot be cited.
    assert answer.text == "Marl feeds farms [1]. Ridges are dry [2]. Poets live there. They sell cheese."
    assert [item.evidence for item in answer.citations] == [_EVIDENCE[2], _EVIDENCE[1]]
    assert (answer.dropped_citations, answer.uncited) == (1, ("Poets live there.", "They sell cheese."))


def test_the_figures_say_what_was_read_and_what_was_wrong_with_the_replies() -> None:
    chat = ScriptedChat(["60 | Marl. [1][2]\n0 | Nothing. [3]", "70 | Of another community. [1]", "NONE", "Marl [1]."])
    usage = Usage()
    answer = chat_report(_QUESTION, _EVIDENCE, model=chat, usage=usage, bounds=_SMALL)
    figures = answer.report
    assert figures is not None
    assert (figures.communities, figures.statements, figures.passages, figures.divided) == (2, 5, 0, 0)
    assert (figures.points, figures.used_points, figures.rejected_points, figures.foreign_citations) == (2, 1, 1, 2)
    assert (figures.calls, figures.input_tokens, figures.output_tokens) == (
        usage.calls,
        usage.input_tokens,
        usage.output_tokens,
    )
    assert usage.calls == 4


def test_a_model_that_cites_only_what_it_was_not_shown_is_an_error() -> None:
    """Not an answer that the corpus holds nothing: the model had something to say, and its numbers are those of others."""
    chat = ScriptedChat(["70 | Of another community. [2]", "NONE", "70 | Of another community. [1]"])
    with pytest.raises(ModelAnswerError, match="the replies have 2 points for the report, and none cites a piece"):
        chat_report(_QUESTION, _EVIDENCE, model=chat, bounds=_SMALL)


def test_nothing_in_the_corpus_is_said() -> None:
    chat = ScriptedChat(["NONE"] * 3)
    assert chat_report(_QUESTION, _EVIDENCE, model=chat, bounds=_SMALL).text == NOT_FOUND
    chat = ScriptedChat(["5 | Dry. [1]", "NONE", "NONE", "NOT IN THE CORPUS."])
    assert chat_report(_QUESTION, _EVIDENCE, model=chat, bounds=_SMALL).text == NOT_FOUND
    assert chat_report(_QUESTION, [], model=ScriptedChat([])).text == NOT_FOUND


def test_an_empty_report_is_an_error() -> None:
    chat = ScriptedChat(["5 | Dry. [1]", "NONE", "NONE", "<think>so</think>"])
    with pytest.raises(ModelAnswerError, match="the reply is empty"):
        chat_report(_QUESTION, _EVIDENCE, model=chat, bounds=_SMALL)


@given(reply=st.text("0123456789|[] .ab\n-*", max_size=80))
def test_points_of_any_reply_rest_on_their_batch(reply: str) -> None:
    for point in points_in(reply, [3, 5], number=1).points:
        assert set(point.evidence) <= {3, 5}
        assert point.evidence
        assert 0 <= point.score <= 100
        assert point.text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- 80 | A. [1]", (80.0, "A.")),
        ("(80/100) | A [1].", (80.0, "A.")),
        ("80 | A. [1-2]", (80.0, "A.")),
        ("high | A. [1]", None),
        ("80 | [1]", None),
        ("80 A. [1]", None),
    ],
)
def test_lines_of_points(line: str, expected: tuple[float, str] | None) -> None:
    found = [(point.score, point.text) for point in points_in(line, [0, 1], number=0).points]
    assert found == ([] if expected is None else [expected])


def test_the_score_of_the_reranker_counts_where_there_is_one() -> None:
    scores = (0.2, 0.9, 0.4, 0.1, 2.0)
    ranked = [replace(item, why={**item.why, "rerank": score}) for item, score in zip(_EVIDENCE, scores, strict=True)]
    answer = extractive_report(_QUESTION, ranked)
    assert [item.evidence.text for item in answer.citations] == [_EVIDENCE[at].text for at in (4, 1, 2, 0)]


def test_the_sdk_writes_reports(tmp_path: Path) -> None:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        report = graph.answer("What lies on the river Orne?", strategy="global", mode="report")
        assert report.is_supported
        assert "Tessing lies on the river Orne. [" in report.text
        assert graph.answer("What lies on the river Orne?", search_mode="text").is_supported
        with pytest.raises(InputError, match="mode is 'long'; choose 'short' or 'report'"):
            graph.answer("What?", mode="long")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="write search_mode='hybrid'"):
            graph.answer("What?", mode="hybrid")  # type: ignore[arg-type]


def test_the_sdk_writes_reports_with_the_chat_model(tmp_path: Path) -> None:
    def reply(system: str, user: str) -> str:
        if system.startswith("You write a report"):
            return "The Orne runs by Tessing [1]. It is long."
        return "70 | The Orne runs by Tessing. [1]" if "[1]" in user else "NONE"

    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=ScriptedChat(reply)) as graph:
        graph.ingest(DOCUMENTS)
        report = graph.answer("What lies on the river Orne?", mode="report", k=3)
    assert report.text == "The Orne runs by Tessing [1]. It is long."
    assert report.uncited == ("It is long.",)
    assert report.made_by == "points/3+report/1+scripted"


def test_bad_bounds_are_refused() -> None:
    with pytest.raises(InputError, match="points is 0"):
        ReportBounds(points=0)
