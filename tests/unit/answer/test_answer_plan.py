"""Plans of answers: the calls, the tokens and the anchors of a report, compared with the ledger of the report itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import hlgraph
from hlgraph.algorithms.cover import CoverBounds
from hlgraph.answer.answering import AnswerRequest
from hlgraph.errors import InputError
from hlgraph.models.accounts.ledger import Spent, total
from hlgraph.models.prompts import estimated_tokens, request_tokens
from hlgraph.models.protocols import Completion
from hlgraph.records import Answer, Document
from hlgraph.retrieve.strategies.fused import FusedRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

_QUESTION = "How do the mills of the valley grind their grain?"
_PLACES = [
    f"{first}{last}"
    for first in ("Ar", "Bel", "Cor", "Dun", "Eb", "Far")
    for last in ("nau", "mor", "vin", "gate", "low")
]
_DOCUMENTS = [
    Document(
        f"doc:{place}",
        f"The mill of {place} grinds grain with {number + 2} stones. The miller of {place} dresses the stones each spring with "
        f"a pick from {_PLACES[number - 1]}. The grain of {place} comes down the valley on {number + 3} carts drawn by oxen. "
        f"The river at {place} drives the wheel of the mill. The bakers of {place} buy flour in {_PLACES[number - 2]}.",
        place,
    )
    for number, place in enumerate(_PLACES)
]
_GLOBAL = GlobalRetriever(breadth=3, suggestions=12, cover=CoverBounds(8_000, 3, 150))
_FEW = replace(_GLOBAL, anchors=12)
_TOKENS = 500  # of a call, which reads about one community


def _counted(system: str, user: str, reply: str) -> Completion:
    return Completion(reply, request_tokens(system, user), estimated_tokens(reply))


def _reply(system: str, user: str) -> Completion:
    """Every community has six points that rest on its first pieces; Select keeps the first half, and nothing is enough."""
    shown = re.findall(r"^\[(\d+)\]", user, re.MULTILINE)
    if system.startswith("You write a report"):
        cited = list(dict.fromkeys(re.findall(r"\[(\d+)\]", user)))
        return _counted(
            system, user, " ".join(f"The mills of the valley grind their grain by stones [{n}]." for n in cited)
        )
    if system.startswith("You read a part"):
        most = 6 * max(1, user.count("\nEntities: "))
        lines = (
            f"{90 - at % 90} | The stones of the mill are driven by the wheel. [{n}]"
            for at, n in enumerate((shown * most)[:most])
        )
        return _counted(system, user, "\n".join(lines))
    if system.startswith("You choose"):
        return _counted(system, user, f"1-{math.ceil(int(shown[-1]) / 2)}")
    if system.startswith("You take a broad"):
        return _counted(system, user, "mills of the valley\nstones and wheels\ncarts of grain")
    return _counted(system, user, "NO")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plan")
    with hlgraph.connect(f"hlgraph://{made}/s", embedder=WordEmbedder(64)) as graph:
        graph.ingest(_DOCUMENTS)
    return made


@pytest.fixture
def graph(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    """The corpus, with a ledger and stored replies of its own for each test."""
    monkeypatch.setenv("HLGRAPH_LEDGER", str(tmp_path))
    with hlgraph.connect(f"hlgraph://{folder}/s", embedder=WordEmbedder(64), chat=ScriptedChat(_reply)) as opened:
        yield opened


def _report(graph: HLGraph, made: GlobalRetriever) -> tuple[Answer, Spent]:
    answer = graph.answer(_QUESTION, strategy=made, mode="report", context_tokens=_TOKENS)
    return answer, total(graph.ledger())


@pytest.mark.parametrize("anchors", [12, 40])
def test_the_plan_of_a_report_is_what_the_ledger_says_afterwards(graph: HLGraph, anchors: int) -> None:
    made = replace(_GLOBAL, anchors=anchors)
    plan = graph.answers.plan(AnswerRequest(question=_QUESTION, mode="report", context_tokens=_TOKENS), strategy=made)
    assert total(graph.ledger()).calls == 0
    answer, spent = _report(graph, made)
    figures = answer.report
    assert figures is not None
    assert plan.calls == plan.answer_calls == spent.calls == figures.calls > 5
    assert (plan.communities, plan.anchors, plan.statements, plan.passages) == (
        figures.communities,
        figures.anchors,
        figures.statements,
        figures.passages,
    )
    # What the calls for points send is known; what they reply, and so what the last call sends, is guessed.
    assert plan.input_tokens == pytest.approx(spent.input_tokens, rel=0.25)
    assert plan.output_tokens == pytest.approx(spent.output_tokens, rel=0.6)
    assert (plan.mode, plan.by, plan.retrieve_calls, plan.kept_calls, plan.measured_calls) == (
        "report",
        "rules",
        0,
        0,
        0,
    )
    again = graph.answers.plan(AnswerRequest(question=_QUESTION, mode="report", context_tokens=_TOKENS), strategy=made)
    assert (again.calls, again.kept_calls, again.input_tokens) == (0, spent.calls, 0)


def test_by_chat_the_calls_of_the_search_are_planned_too(graph: HLGraph) -> None:
    made = replace(_GLOBAL, anchors=30, by="chat")
    plan = graph.answers.plan(AnswerRequest(question=_QUESTION, mode="report", context_tokens=_TOKENS), strategy=made)
    answer, spent = _report(graph, made)
    assert plan.by == "chat"
    assert plan.retrieve_calls == answer.search.calls > 3
    assert plan.calls == pytest.approx(spent.calls, rel=0.35)
    assert plan.input_tokens == pytest.approx(spent.input_tokens, rel=0.35)


def test_replies_of_the_ledger_correct_the_plan(graph: HLGraph) -> None:
    """After more than ten calls for points their measured length counts."""
    _report(graph, replace(_GLOBAL, anchors=40))
    other = "How do the bakers of the valley buy their flour?"
    made = replace(_GLOBAL, anchors=12)
    plan = graph.answers.plan(AnswerRequest(question=other, mode="report", context_tokens=_TOKENS), strategy=made)
    before = total(graph.ledger())
    assert plan.measured_calls == before.calls - 1 >= 10  # one call for the report is too few to measure by
    graph.answer(other, strategy=made, mode="report", context_tokens=_TOKENS)
    after = total(graph.ledger())
    assert plan.calls == after.calls - before.calls
    assert plan.input_tokens == pytest.approx(after.input_tokens - before.input_tokens, rel=0.15)


@pytest.mark.parametrize("strategy", ["statement", FusedRetriever(by="chat"), LocalRetriever(by="chat")])
def test_short_answers_and_other_strategies_are_planned(graph: HLGraph, strategy: str) -> None:
    plan = graph.answers.plan(AnswerRequest(question=_QUESTION), strategy=strategy)
    assert (plan.mode, plan.answer_calls, plan.communities) == ("short", 1, 0)
    assert plan.calls == 1 + plan.retrieve_calls
    assert (plan.retrieve_calls > 0) == (plan.by == "chat")


def test_a_plan_needs_the_name_of_a_model_and_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    request = AnswerRequest(question=_QUESTION, mode="report")
    with hlgraph.connect(f"hlgraph://{folder}/s", embedder=WordEmbedder(64), chat="openai:gpt-4o-mini") as graph:
        plan = graph.answers.plan(request, strategy=_FEW)
        assert plan.usd is not None
        assert plan.usd > 0
        assert plan.model == "openai:gpt-4o-mini"
    without = hlgraph.connect(f"hlgraph://{folder}/s", embedder=WordEmbedder(64))
    with without as graph, pytest.raises(InputError, match="a plan needs the name of a chat model"):
        graph.answers.plan(request, strategy=_FEW)


# What the anchors change


def test_more_anchors_reach_the_report_and_no_k_is_in_their_way(graph: HLGraph) -> None:
    found = [_report(graph, replace(_GLOBAL, anchors=anchors))[0].report for anchors in (10, 30, 60)]
    assert all(each is not None and each.shown_anchors == each.anchors for each in found)
    for name in ("anchors", "statements", "communities"):
        sizes = [getattr(each, name) for each in found]
        assert sizes == sorted(set(sizes)), name
    assert [each.anchors >= wanted for each, wanted in zip(found, (10, 30, 60), strict=True) if each] == [True] * 3


def test_k_bounds_the_statements_of_a_report(graph: HLGraph) -> None:
    answer = graph.answer(_QUESTION, strategy=_FEW, mode="report", k=7)
    assert answer.report is not None
    assert answer.report.statements == 7


def test_a_small_budget_divides_the_communities_and_loses_no_anchor(graph: HLGraph) -> None:
    whole, _ = _report(graph, _FEW)
    small = graph.answer(_QUESTION, strategy=_FEW, mode="report", context_tokens=200)
    assert whole.report is not None
    assert small.report is not None
    assert whole.report.divided == 0 < small.report.divided
    assert small.report.shown_anchors == whole.report.shown_anchors
    assert small.report.calls + small.report.kept_calls > whole.report.calls


def test_communities_share_a_call_each_with_its_entities(graph: HLGraph) -> None:
    chat = ScriptedChat(_reply)
    with hlgraph.connect(graph.settings, embedder=WordEmbedder(64), chat=chat) as other:
        found = other.answer(_QUESTION, strategy=_FEW, mode="report")
    asked = [user for system, user, _ in chat.asked if system.startswith("You read a part")]
    assert found.report is not None
    assert len(asked) == 1 < found.report.communities
    assert sum(user.count("\nEntities: ") for user in asked) == found.report.communities
    shown = [int(number) for user in asked for number in re.findall(r"^\[(\d+)\]", user, re.MULTILINE)]
    assert sorted(shown) == [*range(1, found.report.statements + found.report.passages + 1)]
    assert "passage of " in "".join(asked)
