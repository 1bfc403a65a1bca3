"""Saved runs: what is kept, what is refused, and what is compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.evaluate.datasets import Question, questions_fingerprint
from hlgraph.evaluate.metrics import MEASURES, measured
from hlgraph.evaluate.runner import (
    EvalReport,
    Outcome,
    Run,
    Setting,
    changed,
    check_comparable,
    load_run,
    result_of,
    run_of,
    save,
)
from hlgraph.evaluate.statistics import Resamples, best, run_differences, uncertainty

SETTING = Setting(
    version="1.0",
    preset="paper",
    extraction="local",
    store="hlgraph",
    embedder="e/1",
    reranker="r/1",
    k=20,
    parameters={"good": {"k": 5, "has_rerank": True, "width": None}},
)
QUESTIONS = tuple(Question(f"q{at}", f"text {at}", frozenset({f"p{at}"}), "bridge", 2) for at in range(4))
FOUND = {
    "good": (("p0",), ("p1",), ("x", "p2"), ("x",)),
    "bad": (("x", "y", "z", "p0"), (), ("p2",), ()),
}


def report(questions: tuple[Question, ...] = QUESTIONS, **found: tuple[tuple[str, ...], ...]) -> EvalReport:
    strategies = {
        name: result_of(
            questions,
            [
                Outcome(item.id, ids, 1.5, 3, 7, 99, "" if ids else "ModelError: x")
                for item, ids in zip(questions, rankings, strict=True)
            ],
        )
        for name, rankings in (found or FOUND).items()
    }
    return EvalReport("tiny", questions, strategies)


def run(made: EvalReport, corpus: str = "c") -> Run:
    return run_of(made, SETTING, corpus=corpus, asked=questions_fingerprint(made.questions))


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    made = report()
    save(run(made), tmp_path / "run.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    held = load_run(tmp_path / "run.json")
    assert held == run(made)
    again = held.report()
    assert {name: result.outcomes for name, result in again.strategies.items()} == {
        name: result.outcomes for name, result in made.strategies.items()
    }
    assert again.strategies["good"].scores == made.strategies["good"].scores
    assert again.strategies["bad"].by_hops == made.strategies["bad"].by_hops
    assert "text 1" not in (tmp_path / "run.json").read_text()


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with pytest.raises(ReadError, match=r"run\.json: it cannot be read: No such file"):
        load_run(path)
    save(run(report()), path)
    tree = json.loads(path.read_text())
    for broken, says in (
        ("{", "it is not a saved run"),
        (json.dumps({"dataset": "x"}), "it is not a saved run: .*missing required field"),
        (json.dumps({**tree, "format": 2}), "format 2, but this version of hlgraph reads format 1"),
        (json.dumps({**tree, "questions": tree["questions"][:3]}), "the outcomes of good do not match"),
        (
            json.dumps({**tree, "questions": [{**tree["questions"][0], "gold": []}, *tree["questions"][1:]]}),
            "have no gold",
        ),
    ):
        path.write_text(broken)
        with pytest.raises(ReadError, match=says) as caught:
            load_run(path)
        assert caught.value.mend
    with pytest.raises(InputError, match="cannot be saved"):
        save(run(report()), tmp_path / "nowhere" / "run.json")


def test_other_questions_and_corpora_are_refused() -> None:
    made = run(report())
    check_comparable(made, made)
    with pytest.raises(InputError, match="another corpus"):
        check_comparable(made, run(report(), corpus="other"))
    fewer = report(QUESTIONS[:3], good=FOUND["good"][:3])
    with pytest.raises(InputError, match="asked 3 questions and this one 4, 1 of them are in only one run: q3"):
        check_comparable(made, run(fewer))
    other = (replace(QUESTIONS[0], gold=frozenset({"p9"})), *QUESTIONS[1:])
    with pytest.raises(InputError, match="the same ids with other texts or gold"):
        check_comparable(made, run(report(other, good=FOUND["good"])))
    turned = report(QUESTIONS[::-1], good=FOUND["good"][::-1])
    check_comparable(made, run(turned))


def test_runs_are_paired_by_question_not_by_place() -> None:
    now = report()
    turned = report(QUESTIONS[::-1], good=FOUND["good"][::-1])
    assert all(item.difference.mean == 0 and item.difference.p == 1 for item in run_differences(now, turned))
    worse = report(good=(("x",), *FOUND["good"][1:]), extra=FOUND["bad"])
    found = run_differences(now, worse)
    assert [(item.a, item.measure) for item in found] == [("good", measure) for measure in MEASURES]
    assert found[0].difference.mean == 0.25
    with pytest.raises(UnknownNameError, match="the earlier run asked other, this one asked good, bad"):
        run_differences(now, report(other=FOUND["good"]))


def test_what_changed_is_said() -> None:
    other = replace(
        SETTING, preset="plain", embedder="e/2", parameters={"good": {"k": 5, "has_rerank": False, "new": 1}, "x": {}}
    )
    assert changed(other, SETTING) == [
        "preset: paper before, plain now",
        "embedder: e/1 before, e/2 now",
        "good.has_rerank: True before, False now",
        "good.new: None before, 1 now",
    ]


def test_strategies_are_compared_by_the_values_of_their_questions() -> None:
    made = report()
    found = uncertainty(made, resamples=500, seed=3)
    assert found.intervals["good"]["recall@2"].mean == 0.75
    assert found.intervals["bad"]["recall@2"].mean == 0.25
    assert [(item.a, item.b) for item in found.pairs] == [("good", "bad")] * len(MEASURES)
    there, back = found.between("recall@2", "good", b="bad"), found.between("recall@2", "bad", b="good")
    assert there is not None
    assert back is not None
    assert (there.mean, back.mean, back.low) == (0.5, -0.5, -there.high)
    assert found.between("recall@2", "good", b="good") is None
    values = [
        [
            row
            for result in made.strategies.values()
            for row in measured(result.outcomes[at].ids, made.questions[at].gold)
        ]
        for at in range(4)
    ]
    assert Resamples(np.array(values), resamples=500, seed=3).difference(0, len(MEASURES)) == there
    assert best(made, "recall@5") == "good"
    assert best(report(b=FOUND["good"], a=FOUND["good"]), "recall@5") == "a"
