"""``graph.questions`` over the embedded store: questions are made, checked, written as a set, and evaluated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hlgraph
from hlgraph import Budget, Document, HLGraph, Progress
from hlgraph.errors import InputError
from hlgraph.settings import ModelSettings
from hlgraph.testing.embedder import WordEmbedder

DOCUMENTS = {
    "suit": "Kestrel Works sued Ambrose Motors in Tessing. It rained.",
    "purchase": "Ambrose Motors bought the Orne Foundry. The day was cold.",
    "loan": "Kestrel Works borrowed money from Varga Bank.",
}


@pytest.fixture
def graph(graph: HLGraph) -> HLGraph:
    graph.ingest([Document(key, text) for key, text in DOCUMENTS.items()])
    return graph


def test_questions_are_made_checked_exported_and_evaluated(graph: HLGraph, tmp_path: Path) -> None:
    steps: list[Progress] = []
    made = graph.questions.make(10, on_progress=steps.append)
    assert [item.type for item in made.questions] == ["bridge", "intersection", "null"]
    assert made.lacking == {"bridge": 3, "comparison": 2, "intersection": 2}
    assert "look for leaks" in {item.step for item in steps}
    assert made._repr_html_().count('<th scope="row">') == 3
    assert str(made).startswith("3 questions of 10\nquestion ")
    assert graph.questions.make(10).questions == made.questions
    made.write(tmp_path / "asked.jsonl")
    found = graph.questions.check(tmp_path / "asked.jsonl")
    assert (found.counts, found.findings) == ({"bridge": 1, "intersection": 1, "null": 1}, ())
    wrong = [replace(item, answers=("Nobody at all",)) for item in made.questions if item.type == "bridge"]
    assert [item.what for item in graph.questions.check(wrong).findings] == ["answer"]
    assert "Nobody" in graph.questions.check(wrong)._repr_html_()
    assert str(found) == "3 questions: 1 bridge, 1 intersection, 1 null; 0 findings\nquestion  what  reason"
    exported = graph.questions.export(made.questions, tmp_path / "set")
    assert (exported.questions, exported.nulls) == (2, 1)
    evaluation = graph.evaluate(tmp_path / "set", strategies="chunk", baselines=False)
    assert evaluation.report.strategies["chunk"].scores.recall[20] == 1


def test_the_cost_by_a_chat_model_is_planned_without_one(tmp_path: Path, graph: HLGraph) -> None:
    with pytest.raises(InputError, match="need one"):
        graph.questions.plan(5)
    graph.ingest(Document("fine", "Kestrel Works paid a fine to Tessing."))
    models = ModelSettings(chat="openai:gpt-4o-mini", judge="openai:gpt-4o")
    with hlgraph.connect(replace(graph.settings, models=models), embedder=WordEmbedder()) as named:
        costs = named.questions.plan(5, kinds=["null"])
    assert {item.model for item in costs} == {"openai:gpt-4o-mini", "openai:gpt-4o"}
    assert sum(item.calls for item in costs) > 0


def test_options_that_do_not_fit_are_refused(graph: HLGraph) -> None:
    with pytest.raises(InputError, match="budget is for the method chat"):
        graph.questions.make(5, budget=Budget(max_tokens=10))
    with pytest.raises(InputError, match="a check by words costs nothing"):
        graph.questions.check([], budget=Budget(max_tokens=10))
    with pytest.raises(InputError, match="ask for at least one"):
        graph.questions.make(0)
    with pytest.raises(InputError, match="count is 'many'"):
        graph.questions.make("many")  # type: ignore[arg-type]
