"""A whole evaluation on a tiny set, and the plain dense baseline."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from dense_baseline import dense_baseline
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import InputError, ModelError
from hlgraph.evaluate.datasets import Dataset, Passage, Question
from hlgraph.evaluate.runner import Cost, Ranked, evaluate
from hlgraph.progress import Progress

DATASET = Dataset(
    "tiny",
    Path("corpus.jsonl"),
    (
        Question("q1", "one", frozenset({"a"}), "bridge", 1),
        Question("q2", "two", frozenset({"a", "b", "c"}), "bridge", 2),
        Question("q3", "three", frozenset({"d"}), subset="dev"),
    ),
)
ANSWERS = {
    "one": Ranked(("a", "b"), 1),
    "two": Ranked(("a", "x", "b", "y", "z", "c"), 2),
    "three": Ranked((), 2),
}


def test_a_report_holds_outcomes_and_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def slow(question: str) -> Ranked:
        asked.append(question)
        time.sleep(0.02 if question == "three" else 0.001)
        return ANSWERS[question]

    steps: list[Progress] = []
    searches = {"slow": slow, "other": lambda question: Ranked(ANSWERS[question].ids[:1], 0)}
    read = iter([*[Cost(9, 9, 9)] * 6, *(Cost(1, at, 100 * at) for at in range(1, 100))])
    clock = itertools.count(0.0, 0.005)  # the processor's: other threads of this process use it too
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with progress.listening(steps.append):
        report = evaluate(DATASET, searches, cost=lambda: next(read))
    assert asked == ["one", "two", "three"] * 2  # the first three once more, before, untimed
    assert [(at.step, at.done, at.total) for at in steps] == [
        (f"ask {name}", done, 3) for name in ("slow", "other") for done in range(4)
    ]

    result = report.strategies["slow"]
    assert [(outcome.question_id, outcome.ids) for outcome in result.outcomes] == [
        ("q1", ("a", "b")),
        ("q2", ANSWERS["two"].ids),
        ("q3", ()),
    ]
    times = [outcome.milliseconds for outcome in result.outcomes]
    assert times[2] >= 20
    figures = result.figures
    assert figures.p50_ms == sorted(times)[1]
    assert figures.p95_ms == pytest.approx(np.percentile(times, 95))
    assert figures.p99_ms == pytest.approx(np.percentile(times, 99))
    cpu = [outcome.cpu_milliseconds for outcome in result.outcomes]
    assert cpu == pytest.approx([5, 5, 5])
    assert figures.cpu_ms == sorted(cpu)[1]
    # Taken twice a question, before and after: the second is the cost of the question.
    assert [(outcome.rows, outcome.bytes) for outcome in result.outcomes] == [(2, 200), (4, 400), (6, 600)]
    assert (figures.round_trips, figures.rows, figures.bytes, figures.failed) == (pytest.approx(5 / 3), 4, 400, 0)
    assert {hops: scores.questions for hops, scores in result.by_hops.items()} == {0: 1, 1: 1, 2: 1}
    assert result.by_hops[2].recall[5] == pytest.approx(2 / 3)
    assert result.by_type["bridge"].recall[10] == 1
    assert {part: scores.questions for part, scores in result.by_subset.items()} == {"": 2, "dev": 1}
    assert result.scores.recall[5] == pytest.approx(5 / 9)


def test_a_strategy_that_fails_takes_nothing_from_the_others() -> None:
    def sometimes(question: str) -> Ranked:
        if question == "two":
            raise ModelError("too long")
        return ANSWERS[question]

    def never(question: str) -> Ranked:
        raise ZeroDivisionError(question)

    report = evaluate(DATASET, {"sometimes": sometimes, "never": never})
    some, none = report.strategies["sometimes"], report.strategies["never"]
    assert report.failed == 4
    assert some.errors == {"ModelError: too long": 1}
    assert (some.figures.failed, some.figures.round_trips) == (1, 1.5)
    assert some.scores.recall[5] == pytest.approx(1 / 3)  # what failed found nothing
    assert [outcome.error for outcome in none.outcomes] == [f"ZeroDivisionError: {name}" for name in ANSWERS]
    assert none.figures == (None, None, None, None, None, None, 3, None)


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(InputError, match="no strategy"):
        evaluate(DATASET, {})
    with pytest.raises(InputError, match="no question in empty"):
        evaluate(Dataset("empty", Path("x"), ()), {"a": lambda _: Ranked((), 0)})

    def interrupted(question: str) -> Ranked:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(DATASET, {"interrupted": interrupted})


class WordEmbedder:
    """Counts words in hashed places; normalised, so that sharing more words is being nearer."""

    fingerprint = "words"
    dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)

    def forget(self, texts: Sequence[str]) -> None: ...


def test_the_dense_baseline_ranks_title_and_text_with_ties_by_id() -> None:
    passages = [
        Passage("p4", "", "green apples"),
        Passage("p3", "pears", "yellow"),
        Passage("p2", "apples", "green"),
        Passage("p1", "", "stones"),
    ]
    questions = [Question("q", "green apples", frozenset({"p2"})), Question("r", "pears", frozenset({"p3"}))]
    found = dense_baseline(passages, questions, embedder=WordEmbedder(), k=3)
    assert found == [("p2", "p4", "p1"), ("p3", "p1", "p2")]
    assert dense_baseline(passages[::-1], questions, embedder=WordEmbedder(), k=3) == found
    assert [len(ids) for ids in dense_baseline(passages, questions, embedder=WordEmbedder(), k=99)] == [4, 4]
