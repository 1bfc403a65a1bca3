"""The calls for the points of a report over HTTP: at once, in any order of the replies, within a budget, one that fails."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from chat_server import MODEL, Asked, ChatServer, busy, usage_tokens
from pytest_httpserver import HTTPServer

import hlgraph
from hlgraph.errors import BudgetError, ModelAccessError
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import total
from hlgraph.records import Answer, Document
from hlgraph.sdk.client import HLGraph
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.embedder import WordEmbedder

QUESTION = "How do the mills of the valley grind their grain?"
_PLACES = (
    "Arnau",
    "Belmor",
    "Corvin",
    "Dunst",
    "Ebbing",
    "Farlow",
    "Gellen",
    "Hurst",
    "Ilmen",
    "Jarrow",
    "Kelm",
    "Lund",
    "Morven",
    "Nesse",
    "Orlen",
    "Parr",
)
DOCUMENTS = [
    Document(
        f"doc:{place}",
        f"The mill of {place} grinds grain with {number + 2} stones of the valley. "
        f"The miller of {place} dresses the stones of the mill each spring with a pick of hard steel. "
        f"The grain of {place} comes down the valley to the mill on {number + 3} carts drawn by oxen.",
        place,
    )
    for number, place in enumerate(_PLACES)
]


def number_in(asked: Asked) -> int:
    """The first number of a piece of evidence that is shown."""
    return int(re.findall(r"\[(\d+)\]", asked.user)[0])


def is_report(asked: Asked) -> bool:
    return asked.system.startswith("You write a report")


def reply(number: int, asked: Asked) -> str:
    """A point that rests on the first piece, scored by its number; the report says the points again."""
    if is_report(asked):
        return "\n".join(line for line in asked.user.splitlines() if line.startswith("Mills like"))
    return f"{90 - number_in(asked)} | Mills like that of piece {number_in(asked)} grind. [{number_in(asked)}]"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with HTTPServer(threaded=True) as running:
        yield ChatServer(running, fault=reply, seconds=0.02)
        running.check_assertions()


def opened(folder: Path, server: ChatServer, *, at_once: int = 4) -> HLGraph:
    models = ModelSettings(chat=MODEL, chat_url=server.url, cache=str(folder / "cache"), concurrency=at_once)
    return hlgraph.connect(Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder())


def ingested(folder: Path, server: ChatServer, *, at_once: int = 4) -> HLGraph:
    graph = opened(folder, server, at_once=at_once)
    graph.ingest(DOCUMENTS)
    return graph


def report(graph: HLGraph, budget: Budget | None = None) -> Answer:
    return graph.answer(QUESTION, mode="report", context_tokens=200, budget=budget)


@pytest.fixture
def plain(tmp_path: Path, server: ChatServer) -> Answer:
    """The report with one call after another."""
    with ingested(tmp_path / "plain", server, at_once=1) as graph:
        answer = report(graph)
    assert server.most_at_once == 1
    assert server.calls > 4
    assert len(answer.citations) == server.calls - 1
    server.calls = server.tokens = server.most_at_once = 0
    server.paid.clear()
    return answer


def test_points_are_asked_for_at_once_and_the_report_is_that_of_one_after_another(
    tmp_path: Path, server: ChatServer, plain: Answer
) -> None:
    with ingested(tmp_path / "many", server) as graph:
        assert report(graph) == plain
        assert 1 < server.most_at_once <= 4
        spent = total(graph.ledger())
        assert (spent.calls, spent.input_tokens + spent.output_tokens) == (server.calls, server.tokens)


def test_the_report_does_not_depend_on_which_reply_comes_first(
    tmp_path: Path, server: ChatServer, plain: Answer
) -> None:
    asked: dict[int, threading.Event] = {}
    changed = threading.Condition()
    order: list[int] = []

    def backwards(number: int, what: Asked) -> str:
        if not is_report(what):
            mine = number_in(what)
            with changed:  # of each two calls the one that shows later pieces is replied to first
                asked[mine] = threading.Event()
                changed.notify_all()
                assert changed.wait_for(lambda: len(asked) >= 2, timeout=30)
                is_first = mine == min(asked)
                if is_first:
                    assert changed.wait_for(lambda: bool(order), timeout=30)
                order.append(mine)
                changed.notify_all()
        return reply(number, what)

    server.fault = backwards
    with ingested(tmp_path / "backwards", server) as graph:
        assert report(graph) == plain
    assert order != sorted(order)


def test_a_budget_is_exceeded_by_no_more_than_one_call_a_worker_and_nothing_is_paid_twice(
    tmp_path: Path, server: ChatServer, plain: Answer
) -> None:
    with ingested(tmp_path / "budget", server, at_once=2) as graph:
        limit = 1_200
        with pytest.raises(BudgetError):
            report(graph, Budget(max_tokens=limit))
        paid = list(server.paid)
        assert 0 < len(paid) < len(plain.citations)
        dearest = max(usage_tokens(f"{item.system}{item.user}{reply(0, item)}") + 7 for item in paid)
        assert server.tokens <= limit + 2 * dearest
        assert report(graph) == plain
        assert len(server.paid) == len(plain.citations) + 1
        assert len({item.user for item in server.paid}) == len(server.paid)


def test_a_call_that_fails_for_good_is_the_error_of_the_answer_and_ends_the_others(
    tmp_path: Path, server: ChatServer, plain: Answer
) -> None:
    with ingested(tmp_path / "fails", server, at_once=2) as graph:
        server.fault = lambda number, asked: busy(status=401) if number == 3 else reply(number, asked)
        with pytest.raises(ModelAccessError):
            report(graph)
        assert server.calls < len(plain.citations)
        assert not any(is_report(item) for item in server.paid)
        server.fault = reply
        assert report(graph) == plain
