"""Measures of answer texts that are asked for by name, and questions with options to choose from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reports import answer_all

import hlgraph
from hlgraph import Document
from hlgraph.errors import ReadError
from hlgraph.evaluate.answering import NAMES, AnswerOutcome, ReaderOptions, text_measures, text_section
from hlgraph.evaluate.datasets import Question, load, questions_fingerprint
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

_CHOICE = {
    "id": "q1",
    "question": "Who built the mill of Tessing?",
    "supporting_passage_ids": ["p1"],
    "options": ["Ivo Brandt", "Mara Quill"],
    "answers": ["b"],
}


def _folder(root: Path, *rows: object) -> Path:
    root.mkdir(exist_ok=True)
    (root / "corpus.jsonl").write_text('{"id": "p1", "text": "Mara Quill built the mill of Tessing."}\n')
    (root / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return root


def test_every_measure_of_one_answer() -> None:
    question = Question("q", "Who?", frozenset("p"), answers=("Mara Quill", "it"), options=("Ivo Brandt", "Mara Quill"))
    said = AnswerOutcome("q", "B", "Mara built it.", (), False, 1.0, by_chat=True, sentence="not read")
    found = dict(zip(NAMES, text_measures(said, question, names=NAMES), strict=True))
    assert (found["accuracy"], found["token_recall"], found["ROUGE-1"]) == (1.0, 1.0, 0.0)
    span = AnswerOutcome("q", "", "x", (), False, 1.0, sentence="Mara Quill built.")
    found = dict(zip(NAMES, text_measures(span, question, names=NAMES), strict=True))
    assert found["ROUGE-1"] == found["ROUGE-L"] == pytest.approx(0.8)
    assert (found["ROUGE-2"], found["BLEU-1"]) == (
        pytest.approx(2 / 3),
        pytest.approx(2 / 4),
    )  # sacrebleu counts the mark
    open_question = Question("q", "Who?", frozenset("p"), answers=("Mara Quill",))
    assert text_measures(span, open_question, names=["accuracy"]) == (None,)
    empty = AnswerOutcome("q", "", "", (), True, 1.0)
    assert set(text_measures(empty, question, names=NAMES)) == {0.0}


def test_options_are_shown_to_the_reader_and_a_letter_is_an_answer(tmp_path: Path) -> None:
    dataset = load(
        _folder(tmp_path / "set", _CHOICE, {**_CHOICE, "id": "q2", "options": [], "answers": ["Mara Quill"]})
    )
    first, second = dataset.questions
    assert (first.answers, first.lettered) == (("Mara Quill",), {"A": "Ivo Brandt", "B": "Mara Quill"})
    assert questions_fingerprint([first]) != questions_fingerprint(
        [load(_folder(tmp_path / "other", {**_CHOICE, "options": ["x", "Mara Quill"]})).questions[0]]
    )
    chat = ScriptedChat(lambda system, user: "Answer: B [1].")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), chat=chat) as graph:
        graph.ingest([Document("p1", "Mara Quill built the mill of Tessing.")])
        found = answer_all(graph, dataset, retrievers={"chunk": ChunkRetriever()}, readers=ReaderOptions(k=1))
    assert ["A) Ivo Brandt\nB) Mara Quill" in user for _, user, *_ in chat.asked] == [True, False]
    section = text_section(found, ["accuracy"])
    assert section.values == {"chunk": ((1.0,), (None,))}
    assert section.notes == ("accuracy: 1 of 2 questions have options",)
    assert second.options == ()


@pytest.mark.parametrize(
    ("options", "answers", "says"),
    [
        (["Mara Quill"], ["A"], "q1 has 1 options, 1 of them distinct"),
        (["Mara Quill", "the mara quill."], ["A"], "2 options, 1 of them distinct"),
        (["Mara Quill", "Ivo Brandt"], ["C"], "'C', an answer of q1, is not one of its options"),
    ],
)
def test_options_that_cannot_be_chosen_from_are_named(
    tmp_path: Path, options: list[str], answers: list[str], says: str
) -> None:
    with pytest.raises(ReadError, match=r"questions\.jsonl, line 1") as caught:
        load(_folder(tmp_path, {**_CHOICE, "options": options, "answers": answers}))
    assert says in str(caught.value)
