"""What must hold with a real, weak chat model: nothing crashes, what cannot be read is told, costs add up, budgets hold.

The model is SmolLM2-135M-Instruct. What it says is no measure of quality, and no test looks at it.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from pytest_httpserver import HTTPServer
from question_corpus import MILL
from werkzeug import Request, Response

import hlgraph
from hlgraph import Budget, Document
from hlgraph.errors import BudgetError, ModelAnswerError
from hlgraph.evaluate.answering import Answered, AnswerOutcome, AnswerReport
from hlgraph.evaluate.claims import claims_by_chat
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.judges.judging import judge_answers
from hlgraph.evaluate.judges.report import JudgeOptions, candidates_of
from hlgraph.evaluate.questions.checking import check
from hlgraph.evaluate.questions.record import QuestionKind
from hlgraph.evaluate.questions.writing import two_models, write
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.index.summaries import ChatSummariser
from hlgraph.models.accounts.ledger import Spent, total
from hlgraph.records import Kind
from hlgraph.sdk import hierarchy as sdk_hierarchy
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import ModelSettings, Price, Settings
from hlgraph.testing.embedder import WordEmbedder

MODEL = "openai:SmolLM2-135M-Instruct"
MILLS = [
    Document("north", "The north mill of Tessing was built in 1931.", "North"),
    Document("south", "The south mill of Tessing was built in 1932.", "South"),
]
_MARK = re.compile(r"\[(\d+)\]")


@dataclass
class Wire:
    """Passes requests on to the model, and keeps each with the usage that the model said."""

    target: str
    url: str = ""
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    billed: list[tuple[int, int]] = field(default_factory=list)

    def serve(self, request: Request) -> Response:
        asked = json.loads(request.get_data())
        reply = httpx.post(f"{self.target}/chat/completions", json=asked, timeout=300)
        self.asked.append(asked)
        if reply.is_success:
            usage = reply.json()["usage"]
            self.billed.append((usage["prompt_tokens"], usage["completion_tokens"]))
        return Response(reply.content, status=reply.status_code, content_type="application/json")


@pytest.fixture(scope="module")
def wire(small_model: str) -> Iterator[Wire]:
    with HTTPServer(threaded=True) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "none")
        made = Wire(small_model, server.url_for("/v1"))
        server.expect_request("/v1/chat/completions").respond_with_handler(made.serve)
        yield made
        server.check_assertions()


def settings(folder: Path, wire: Wire, *, max_tokens: int) -> Settings:
    models = ModelSettings(
        chat=MODEL,
        chat_url=wire.url,
        max_tokens=max_tokens,
        concurrency=1,
        timeout=300,
        prices={MODEL: Price(1.0, 2.0)},
        cache=str(folder / "cache"),
        quarantine=str(folder / "quarantine"),
    )
    return Settings(store=f"hlgraph://{folder}/store", models=models)


@contextmanager
def opened(folder: Path, wire: Wire, *, max_tokens: int) -> Iterator[HLGraph]:
    """An open graph; at its end the ledger has every call that the model was paid for, and the store is sound."""
    first = len(wire.billed)
    with hlgraph.connect(settings(folder, wire, max_tokens=max_tokens), embedder=WordEmbedder()) as graph:
        yield graph
        spent = total(graph.ledger())
        billed = wire.billed[first:]
        assert (spent.calls, spent.unfinished_calls, spent.estimated_calls) == (len(billed), 0, 0)
        assert (spent.input_tokens, spent.output_tokens) == tuple(map(sum, zip(*billed, strict=True)))
        assert spent.usd == pytest.approx((spent.input_tokens + 2 * spent.output_tokens) / 1e6)
        assert all(item.is_fine for item in graph.check())


def test_an_extraction_is_read_or_quarantined_and_a_budget_stops_it(tmp_path: Path, wire: Wire) -> None:
    with opened(tmp_path, wire, max_tokens=112) as graph:
        with pytest.raises(BudgetError) as stop:
            graph.ingest(MILLS[0], extract="chat", budget=Budget(max_tokens=700))
        assert stop.value.tokens == sum(map(sum, wire.billed)) <= 700
        paid = len(wire.billed)
        report = graph.ingest(MILLS[0], extract="chat")
        assert report.failed == []
        assert all("response_format" in asked for asked in wire.asked)  # replies follow a grammar
        assert (
            len({json.dumps(asked["messages"]) for asked in wire.asked}) == len(wire.asked) > paid
        )  # none is paid twice
        held = graph.failures.find()
        assert len(held) == len(report.problems) + bool(report.dropped or report.ungrounded) <= 1  # one chunk
        assert held or graph.stats()[0].records.get(Kind.STATEMENT)


def test_answers_cite_what_exists_and_summaries_are_stored(
    tmp_path: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = functools.partial(ChatSummariser, max_tokens=96)  # the model ends none by itself
    monkeypatch.setattr(sdk_hierarchy, "ChatSummariser", short)
    with opened(tmp_path, wire, max_tokens=32) as graph:
        graph.ingest(MILLS)
        answer = graph.answer("Who built the north mill?", strategy="chunk", k=2)
        shown = {int(number) for number in _MARK.findall(answer.text)}
        assert shown == {item.number for item in answer.citations}
        assert {item.evidence.source.uri for item in answer.citations} <= {"north", "south"}
        assert all(item.is_supported or item.reason for item in answer.sentences)
        assert answer.is_truncated or wire.billed[-1][1] < 64
        built = graph.hierarchy.build(HierarchyQuery(threshold=0.2), summaries="chat")
        assert built.run.by.startswith("chat/")
        ((summary, _),) = graph.hierarchy.find().summaries
        assert summary.text


def test_a_question_beyond_the_context_of_the_model_is_an_error_that_costs_nothing(tmp_path: Path, wire: Wire) -> None:
    with hlgraph.connect(settings(tmp_path, wire, max_tokens=16), embedder=WordEmbedder()) as graph:
        graph.ingest(MILLS)
        paid = len(wire.billed)
        with pytest.raises(ModelAnswerError, match="context"):
            graph.answer("Who built the mill of Tessing? " * 2_000, strategy="chunk")
        assert len(wire.billed) == paid
        assert total(graph.ledger()).usd in (None, 0)


@pytest.mark.thorough
def test_questions_are_made_or_counted_as_not_made(tmp_path: Path, wire: Wire) -> None:
    wanted: dict[QuestionKind, int] = {"synthesis": 1, "abstract": 1}
    with opened(tmp_path, wire, max_tokens=32) as graph:
        graph.ingest(list(MILL))
        first = len(wire.asked)
        with two_models(graph.settings, budget=Budget(max_tokens=700)) as (writer, validator):
            ended = write(graph, wanted, writer=writer, validator=validator)
        assert isinstance(ended.stopped, BudgetError)
        assert sum(map(sum, wire.billed[first:])) <= 700
        with two_models(graph.settings) as (writer, validator):
            found = write(graph, wanted, writer=writer, validator=validator)
        assert found.stopped is None
        asked = [json.dumps(each["messages"]) for each in wire.asked[first:]]
        assert len(set(asked)) == len(asked) > 1  # none is paid twice
        counts = Counter(item.type for item in found.questions)
        assert {kind: counts[kind] + found.lacking.get(kind, 0) for kind in wanted} == wanted
        assert found.dropped or not found.lacking
        assert check(graph, found.questions).counts == counts
        assert {line.name for line in graph.ledger()} == {"questions"}


@pytest.mark.thorough
def test_claims_and_verdicts_are_there_or_missing_within_the_budget(tmp_path: Path, wire: Wire) -> None:
    told = "The north mill was built in 1931."
    outcomes = tuple(
        AnswerOutcome(name, "1931", told, (told,), is_refused=False, milliseconds=1.0, by_chat=True) for name in "ab"
    )
    questions = tuple(
        Question(name, "When was the north mill built?", frozenset("p"), answers=(year,))
        for name, year in (("a", "1931"), ("b", "1932"))
    )
    answered = AnswerReport(True, questions, {"chunk": Answered(outcomes, Spent(name="chunk"))}, {})
    with opened(tmp_path, wire, max_tokens=64) as graph:
        section = claims_by_chat(answered, settings=graph.settings, budget=Budget(max_tokens=1_000))
        spent = total(graph.ledger())
        verdicts = judge_answers(
            candidates_of(answered)[:1],
            JudgeOptions(judges=("correctness",)),
            settings=graph.settings,
            budget=Budget(max_tokens=1_200),
        )
        (correctness,) = verdicts.answers
        assert correctness.values.count(None) == verdicts.missing == sum(correctness.missing.values())
        assert {line.name: line.calls for line in graph.ledger()} == {
            "claims": spent.calls,
            "judge": verdicts.spent.calls,
        }
        assert (
            0 < spent.input_tokens + spent.output_tokens <= 1_000 + 400
        )  # at most the call under way is above expectation
        assert section.notes[0].startswith(f"{spent.calls} calls, {spent.input_tokens:,} tokens in")
        missing = [row for row in section.values["chunk"] if row == (None,) * len(section.measures)]
        assert sum(int(note.split(" of ")[1].split()[0]) for note in section.notes[1:]) == len(missing)
