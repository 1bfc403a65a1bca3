"""Results of an evaluation with every part of a report, in which all texts try to be markup."""

from __future__ import annotations

from hlgraph.evaluate.answering import Answered, AnswerOutcome, AnswerReport, section
from hlgraph.evaluate.comparison import run_differences, uncertainty
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.report import Evaluation
from hlgraph.evaluate.runner import EvalReport, Outcome, result_of
from hlgraph.evaluate.runs import Setting
from hlgraph.evaluate.statistics import Interval, Section, in_pairs
from hlgraph.models.accounts.ledger import Spent

HOSTILE = '</title><script>document.title = "owned"</script><img src="https://example.org/x">'


def hostile_results() -> Evaluation:
    """Two strategies, good and bad, with answers, judgements and an earlier run."""
    questions = tuple(
        Question(
            f"q{at}",
            f"Who? {HOSTILE}",
            frozenset({"g"}),
            HOSTILE if at % 2 else "bridge",
            2 + at % 2,
            (HOSTILE, "Velm"),
        )
        for at in range(16)
    )
    report = EvalReport(
        HOSTILE,
        questions,
        {
            name: result_of(questions, [Outcome(item.id, (found,), 2.0, 1, 3, 4) for item in questions])
            for name, found in (("good", "g"), ("bad", "x"))
        },
    )
    outcomes = {
        name: tuple(AnswerOutcome(item.id, short, short, (), is_refused=False, milliseconds=1.0) for item in questions)
        for name, short in (("good", "Velm"), ("bad", "wrong"))
    }
    spent = Spent(name="answers", calls=0, input_tokens=0, output_tokens=0, usd=None)
    intervals = {
        name: dict.fromkeys(("EM", "F1", "sentence_F1", "answer_in_text", "answer_recall"), Interval(1.0, 1.0, 1.0))
        for name in outcomes
    }
    answers = AnswerReport(
        False, questions, {name: Answered(items, spent) for name, items in outcomes.items()}, intervals
    )
    judged = Section(
        title="correctness, judged by a scripted model",
        questions=tuple(item.id for item in questions),
        measures=("correctness",),
        values={
            name: tuple((value if at > 1 else None,) for at in range(16))
            for name, value in (("good", 1.0), ("bad", 0.0))
        },
        notes=("2 replies could not be read",),
    )
    setting = Setting(
        version="1",
        preset="paper",
        extraction=HOSTILE,
        store="s",
        embedder="e",
        reranker="r",
        k=20,
        parameters={"good": {"x": HOSTILE}},
    )
    return Evaluation(
        report=report,
        uncertainty=uncertainty(report),
        setting=setting,
        corpus="corpus-fingerprint",
        asked="a",
        against="good",
        earlier=tuple(run_differences(report, report)),
        answers=answers,
        sections=(
            in_pairs(section(questions, outcomes, title="answers (extractive)"), "good"),
            in_pairs(judged, "good"),
        ),
        titles={"g": "The <b>gold</b> passage", "x": HOSTILE},
    )
