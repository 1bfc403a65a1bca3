"""Paired comparison of any measure: gaps, Holm, groups, sections, and two runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hlgraph.errors import InputError
from hlgraph.evaluate.answering import AnswerOutcome, section
from hlgraph.evaluate.datasets import Question, load
from hlgraph.evaluate.figures import group_tables, paired_table, paired_tree
from hlgraph.evaluate.judges.report import JudgedAnswers, JudgeOptions, JudgeReport, judged_section
from hlgraph.evaluate.runner import (
    EvalReport,
    Outcome,
    Run,
    Setting,
    check_comparable,
    load_run,
    result_of,
    run_of,
    save,
)
from hlgraph.evaluate.statistics import (
    Resamples,
    Section,
    holm,
    in_pairs,
    paired,
    permutation_test,
    section_differences,
)
from hlgraph.models.accounts.ledger import Spent

_SETTING = Setting(version="1", preset="paper", extraction="local", store="s", embedder="e", reranker="r", k=20)
_RNG = np.random.default_rng(7)
_VALUES = {name: _RNG.random(40).round(1) for name in ("a", "b", "c")}


def test_every_strategy_is_compared_with_one_on_the_same_questions() -> None:
    found = paired(_VALUES, against="b")
    drawn = Resamples(np.stack(list(_VALUES.values()), axis=1))
    p = [permutation_test(_VALUES[name] - _VALUES["b"]) for name in ("a", "c")]
    assert (found["a"].difference, found["c"].own) == (drawn.difference(0, 1), drawn.interval(2))
    assert [found[name].p for name in ("a", "c")] == p
    assert [found[name].corrected for name in ("a", "c")] == list(holm(p))
    assert found["b"].difference is None
    assert found["a"].deviation == pytest.approx(np.std(_VALUES["a"] - _VALUES["b"]))
    assert all(item.difference is None for item in paired(_VALUES, against=None).values())


def test_what_is_missing_is_in_no_mean_and_in_no_pair() -> None:
    gap = np.array([1.0, np.nan, 0.0, np.nan])
    whole = np.array([0.0, 1.0, 0.0, 1.0])
    found = paired({"gap": gap, "whole": whole, "none": np.full(4, np.nan)}, against="whole")
    assert (found["gap"].questions, found["whole"].questions, found["none"].questions) == (2, 4, 0)
    assert found["gap"].own is not None
    assert found["gap"].difference is not None
    assert (found["gap"].own.mean, found["gap"].difference.mean) == (0.5, 0.5)
    assert found["none"].own is None
    table = paired_table({"right": found}, title="judged", against="whole")
    assert [row[:4] for row in table.rows] == [
        ("gap", "right", "2", "50.00"),
        ("whole", "right", "4", "50.00"),
        ("none", "right", "0", "-"),
    ]
    tree = paired_tree({"right": found}, "whole")
    assert tree["strategies"]["none"] == {"right": {"questions": 0, "mean": None, "interval": None}}  # type: ignore[index]
    assert [item["a"] for item in tree["differences"]] == ["gap"]  # type: ignore[attr-defined]
    assert paired({}, against="x") == {}


def test_strategies_with_other_questions_are_refused() -> None:
    with pytest.raises(InputError, match="different numbers of values"):
        paired({"a": np.zeros(2), "b": np.zeros(3)}, against="a")
    with pytest.raises(InputError, match="judged: a has 1 rows; give one for each of 2 questions"):
        Section(title="judged", questions=("q1", "q2"), measures=("right",), values={"a": ((1.0,),)})


def test_small_groups_prove_nothing() -> None:
    questions = [Question(f"q{at}", "", frozenset({"p"}), subset="big" if at < 8 else "small") for at in range(10)]
    values = {"a": np.ones(10), "b": np.zeros(10)}
    (table,) = group_tables(questions, values, measure="F1", against="b")
    assert table.head == ("strategy", "big (8)", "small (2)")
    assert table.rows[0] == ("a", "100.00 +100.00", "100.00 (+100.00)")


def _outcome(name: str, short: str) -> AnswerOutcome:
    return AnswerOutcome(name, short, short, (short,), is_refused=not short, milliseconds=1.0)


def _run(answers: list[str], *, golds: tuple[str, ...] = ("Velm",), title: str = "answers (extractive)") -> Run:
    questions = tuple(Question(f"q{at}", "Who?", frozenset({"p"}), answers=golds) for at in range(len(answers)))
    outcomes = [Outcome(item.id, ("p",), 1.0, 1) for item in questions]
    report = EvalReport("tiny", questions, {"a": result_of(questions, outcomes)})
    shorts = [_outcome(item.id, short) for item, short in zip(questions, answers, strict=True)]
    return run_of(report, _SETTING, corpus="c", asked="q", sections=[section(questions, {"a": shorts}, title=title)])


def test_two_runs_are_compared_on_their_answers(tmp_path: Path) -> None:
    now, before = _run(["Velm", "the Velm", ""]), _run(["Orne", "Velm", ""])
    save(before, tmp_path / "run.json")
    held = load_run(tmp_path / "run.json")
    assert held == before
    check_comparable(now, held)
    found = {item.measure: item.difference.mean for item in section_differences(now.sections[0], held.sections[0])}
    assert found["EM"] == pytest.approx(1 / 3)
    assert set(found) == set(now.sections[0].measures)
    tested = {item.measure: item.tested for item in section_differences(now.sections[0], held.sections[0])}
    assert tested["EM"].p == tested["EM"].corrected == 1.0  # type: ignore[union-attr]
    turned = held.sections[0]
    turned = replace(turned, questions=turned.questions[::-1], values={"a": turned.values["a"][::-1]})
    again = {item.measure: item.difference.mean for item in section_differences(now.sections[0], turned)}
    assert again == found


def test_answers_to_other_gold_answers_are_refused() -> None:
    with pytest.raises(InputError, match="measured 2 answers against other gold answers: q0, q1"):
        check_comparable(_run(["x", "y"]), _run(["x", "y"], golds=("Orne",)))
    alone = replace(_run(["x", "y"], golds=("Orne",)), sections=())
    check_comparable(_run(["x", "y"]), alone)  # nothing that gold answers decide is compared


def test_an_empty_answer_is_wrong_and_an_empty_gold_answer_is_none(tmp_path: Path) -> None:
    found = section([Question("q", "?", frozenset({"p"}), answers=("The",))], {"a": [_outcome("q", "")]}, title="t")
    assert found.values["a"][0][:2] == (0.0, 0.0)
    assert in_pairs(found, "a").found["EM"]["a"].difference is None
    (tmp_path / "corpus.jsonl").write_text('{"id": "p", "text": "x"}\n')
    (tmp_path / "questions.jsonl").write_text(
        '{"id": "q", "question": "?", "supporting_passage_ids": ["p"], "answers": ["", " ", "Velm", "Velm"]}\n'
    )
    assert load(tmp_path).questions[0].answers == ("Velm",)


def test_verdicts_of_judges_are_a_section() -> None:
    def judged(judge: str, strategy: str, *values: float | None) -> JudgedAnswers:
        ids = tuple(f"q{at}" for at in range(len(values)))
        return JudgedAnswers(
            judge=judge, strategy=strategy, question_ids=ids, values=values, unanswered=0, missing={}, interval=None
        )

    answers = (judged("correctness", "a", 1.0, None), judged("assertions", "a", 0.5), judged("correctness", "b", 0, 1))
    report = JudgeReport(
        model="large",
        options=JudgeOptions(),
        answers=answers,
        pairs=(),
        calibration=(),
        agreement=(),
        assertions={},
        reasons={},
        writers=(),
        spent=Spent(name="judge", calls=0, input_tokens=0, output_tokens=0, usd=None),
    )
    found = judged_section(report)
    assert (found.title, found.measures) == ("judged by large", ("correctness", "assertions"))
    assert found.values == {"a": ((1.0, 0.5), (None, None)), "b": ((0, None), (1, None))}
