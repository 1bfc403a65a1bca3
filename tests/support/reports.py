"""Results of an evaluation with every part of a report, in which all texts try to be markup."""

from __future__ import annotations

from collections.abc import Mapping

from hlgraph.evaluate.answering import Answered, Answering, AnswerOutcome, AnswerReport, Readers, section
from hlgraph.evaluate.datasets import Dataset, Question
from hlgraph.evaluate.report import Evaluation
from hlgraph.evaluate.runner import EvalReport, Outcome, Setting, result_of
from hlgraph.evaluate.statistics import Interval, Section, in_pairs, run_differences, uncertainty
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Spent
from hlgraph.retrieve.retriever import Retriever
from hlgraph.sdk.client import HLGraph

HOSTILE = '</title><script>document.title = "owned"</script><img src="https://example.org/x">'
_ANSWER_MEASURES = ("EM", "F1", "sentence_F1", "answer_in_text", "answer_recall")


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
    results = {
        name: result_of(questions, [Outcome(item.id, (hit,), 2.0, 1, 3, 4) for item in questions])
        for name, hit in (("good", "g"), ("bad", "x"))
    }
    report = EvalReport(HOSTILE, questions, results)
    outcomes = {
        name: tuple(AnswerOutcome(item.id, short, short, (), is_refused=False, milliseconds=1.0) for item in questions)
        for name, short in (("good", "Velm"), ("bad", "wrong"))
    }
    spent = Spent(name="answers", calls=0, input_tokens=0, output_tokens=0, usd=None)
    answered = {name: Answered(items, spent) for name, items in outcomes.items()}
    intervals = {name: dict.fromkeys(_ANSWER_MEASURES, Interval(1.0, 1.0, 1.0)) for name in outcomes}
    values = {
        name: tuple((value if at > 1 else None,) for at in range(16)) for name, value in (("good", 1.0), ("bad", 0.0))
    }
    judged = Section(
        title="correctness, judged by a scripted model",
        questions=tuple(item.id for item in questions),
        measures=("correctness",),
        values=values,
        notes=("2 replies could not be read",),
    )
    models = {"extraction": HOSTILE, "store": "s", "embedder": "e", "reranker": "r"}
    sections = (section(questions, outcomes, title="answers (extractive)"), judged)
    return Evaluation(
        report=report,
        uncertainty=uncertainty(report),
        setting=Setting(version="1", preset="paper", k=20, parameters={"good": {"x": HOSTILE}}, **models),
        corpus="corpus-fingerprint",
        asked="a",
        against="good",
        earlier=tuple(run_differences(report, report)),
        answers=AnswerReport(False, questions, answered, intervals),
        sections=tuple(in_pairs(item, "good") for item in sections),
        titles={"g": "The <b>gold</b> passage", "x": HOSTILE},
    )


def answer_all(
    graph: HLGraph,
    dataset: Dataset,
    *,
    retrievers: Mapping[str, Retriever],
    readers: Readers | None = None,
    budget: Budget | None = None,
) -> AnswerReport:
    """The answers to a set with all retrievers."""
    answering = Answering(graph, dataset, readers=readers, budget=budget)
    answering.ask(retrievers)
    return answering.report(tuple(retrievers))
