"""Answers of an evaluation: spans by hand, a scripted chat model, budgets and failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from reports import answer_all

import hlgraph
from hlgraph.errors import InputError, ModelUnavailableError
from hlgraph.evaluate.answering import (
    MEASURES,
    AnswerOutcome,
    Known,
    ReaderOptions,
    Span,
    best_span,
    knower,
    measured,
)
from hlgraph.evaluate.datasets import Dataset, Question
from hlgraph.evaluate.figures import answers_table
from hlgraph.evaluate.judges.report import load_candidates
from hlgraph.evaluate.report import answer_lines
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.protocols import Completion
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_QUESTIONS = (
    Question("q1", "Who designed the Aldane Bridge?", frozenset({"p"}), answers=("M. Quill", "Mara Quill")),
    Question("q2", "When was the Aldane Bridge opened?", frozenset({"p"}), answers=("1931",)),
    Question("q3", "What was never asked?", frozenset({"p"})),
)
_SET = Dataset("tiny", Path("none"), _QUESTIONS)


@pytest.mark.parametrize(
    ("question", "texts", "span"),
    [
        ("When did it open?", ["It is old.", "It opened on 3 May 1931 in Orne."], "3 May 1931"),
        ("In which year was it closed?", ["It opened in 1931, and was closed in 1950."], "1950"),
        ("When did the flood of 1897 begin?", ["The flood of 1897 began in March 1897."], "March 1897"),
        ("How many arches has it?", ["It has 1,250 arches. It was built in 1931."], "1,250"),
        ("Where was Mara Quill born?", ["Mara Quill was born in the city of Port of Spain."], "Port of Spain"),
        ("Who wrote it?", ["It was written by Ivo Brandt of the Orne Press."], "Ivo Brandt"),
        (
            "Who painted the harbour?",
            ["Mara Quill built the mill.", "The harbour was painted by Ivo Brandt."],
            "Ivo Brandt",
        ),
        ("Which river does the Orne join?", ["Below Tessing the Orne joins the Velm River."], "Velm River"),
        (
            "What is the occupation of Mara Quill?",
            ["Mara Quill was a Scottish printer and poet born in Orne."],
            "printer",
        ),
        ("Is Tessing on the Orne?", ["Tessing lies on the river Orne."], "yes"),
        ("Is Tessing on the Velm?", ["Tessing lies on the river Orne."], "no"),
        ("Who was born later, Mara Quill or Ivo Brandt?", ["Mara Quill: 1901.", "Ivo Brandt: 1931."], "Ivo Brandt"),
        (
            "Which of both fell, the Orne Bridge or the Velm Bridge?",
            ["Velm Bridge fell.", "Orne Bridge."],
            "Velm Bridge",
        ),
        ("What is it made of?", ["granite and lime"], "granite and lime"),
        ("Who?", [], ""),
    ],
)
def test_the_span_of_the_kind_that_is_asked_for(question: str, texts: list[str], span: str) -> None:
    assert best_span(question, texts).text == span


def test_what_the_graph_knows_finds_what_has_no_capital() -> None:
    texts = ["The mill of Tessing grinds rye, and the mill of Orne grinds flint."]
    known = Known(names=("rye", "flint", "mill of Orne"), facts=(("mill of Orne", "grinds", "flint"),))
    assert best_span("What does the mill of Orne grind?", texts, known=known) == Span("flint", texts[0])


def test_an_answer_has_five_measures() -> None:
    outcome = AnswerOutcome(
        "q", "Quill", "It was Mara Quill.", ("Mara Quill built it.",), False, 1.0, sentence="Mara Quill built."
    )
    assert dict(zip(MEASURES, measured(outcome, ["Mara Quill"]), strict=True)) == {
        "EM": 0.0,
        "F1": pytest.approx(2 / 3),
        "sentence_F1": pytest.approx(4 / 5),
        "answer_in_text": 1.0,
        "answer_recall": 1.0,
    }


def test_without_a_model_the_best_span_is_measured(tmp_path: Path) -> None:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        found = answer_all(graph, _SET, retrievers={"chunk": ChunkRetriever()}, readers=ReaderOptions(k=5))
        with pytest.raises(InputError, match="no question of tiny has answers"):
            answer_all(graph, Dataset("tiny", Path("none"), _QUESTIONS[2:]), retrievers={})
    assert not found.by_chat
    first, second = found.strategies["chunk"].outcomes
    assert (first.short, second.short) == ("Mara Quill", "1931")
    assert found.intervals["chunk"]["EM"].mean == found.intervals["chunk"]["answer_recall"].mean == 1.0
    table = answers_table(found)
    assert table.title == "answers in per cent, 2 questions with gold answers (extractive: EM and F1 of the best span)"
    assert table.rows[0][:3] == ("chunk", "100.00", "100.00")
    row = json.loads(answer_lines(found).splitlines()[0])
    assert (row["strategy"], row["short"], row["EM"]) == ("chunk", "Mara Quill", 1.0)
    assert len(row["retrieved"]) == 5 > len(row["evidence"])
    assert row["evidence"][0] in [piece["text"] for piece in row["retrieved"]]
    old = [{**row, "strategy": name} for name in ("old", "new")]
    del old[0]["retrieved"]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in old))
    assert [item.strategy for item in load_candidates(tmp_path / "answers.jsonl")] == ["old", "new"]


@pytest.mark.parametrize("unit", ["statement", "chunk"])
def test_the_graph_knows_what_evidence_mentions_and_supports(
    tmp_path: Path, unit: Literal["statement", "chunk"]
) -> None:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        found = graph.search("Who designed the Aldane Bridge?", strategy="chunk", unit=unit, k=3)
        known = knower(graph)(found.evidence)
        assert "Mara Quill" in known.names
        assert any({"Mara Quill", "Aldane Bridge"} == {subject, end} for subject, _, end in known.facts)
        assert knower(graph)([]) == Known()


def test_a_chat_model_is_measured_by_what_stands_behind_its_label(tmp_path: Path) -> None:
    replies = [
        Completion("Reason: It was designed by her [1].\n\nAnswer: Mara Quill [1].", 100, 10),
        ModelUnavailableError("away"),
    ]
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=ScriptedChat(replies)) as graph:
        graph.ingest(DOCUMENTS)
        found = answer_all(
            graph, _SET, retrievers={"chunk": ChunkRetriever()}, readers=ReaderOptions(k=5, style="reason")
        )
    assert found.by_chat
    chunk = found.strategies["chunk"]
    assert chunk.outcomes[0].short == "Mara Quill."
    assert "away" in chunk.outcomes[1].error
    assert (chunk.failed, chunk.spent.calls, chunk.spent.input_tokens) == (1, 1, 100)
    assert found.intervals["chunk"]["EM"].mean == 0.5


def test_the_answers_end_with_the_budget(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda system, user: "Answer: x [1].")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=chat) as graph:
        graph.ingest(DOCUMENTS)
        found = answer_all(
            graph, _SET, retrievers={"chunk": ChunkRetriever()}, readers=ReaderOptions(k=5), budget=Budget(max_tokens=1)
        )
    outcomes = found.strategies["chunk"].outcomes
    assert [outcome.error.partition(":")[0] for outcome in outcomes] == ["BudgetError", "BudgetError"]
    assert not chat.asked


def test_the_budget_is_of_all_answers_together(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda system, user: Completion("Answer: x [1].", 5_000, 5))
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=chat) as graph:
        graph.ingest(DOCUMENTS)
        found = answer_all(
            graph,
            _SET,
            retrievers={"chunk": ChunkRetriever()},
            readers=ReaderOptions(k=5),
            budget=Budget(max_tokens=5_000),
        )
    first, second = found.strategies["chunk"].outcomes
    assert (first.error, len(chat.asked)) == ("", 1)
    assert second.error.startswith("BudgetError: the budget is spent: 5,005 tokens in 1 calls")
