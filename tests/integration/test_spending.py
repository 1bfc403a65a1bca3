"""What chat calls cost, by the SDK and the command line: budgets that stop and go on, the ledger, plans, what is forgotten."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from pathlib import Path

import pytest
from chat_server import MODEL, Asked, ChatServer, busy, cut_off
from command_line import call as run
from ingest_keywords import keywords
from werkzeug import Response

import hlgraph
from hlgraph import Budget, Document
from hlgraph.errors import BudgetError, InputError, ModelAccessError
from hlgraph.models.accounts.ledger import total
from hlgraph.records import Kind
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import ModelSettings, Price, Settings
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

pytestmark = pytest.mark.usefixtures("openai_key")

SAMPLES = Path(hlgraph.__file__).parent / "samples"
DOCUMENTS = sorted(SAMPLES.glob("*.md"))[:6]
CHAT = IngestOptions(extract="chat")
PRICES = {MODEL: Price(0.5, 2.0)}


def settings(folder: Path, server: ChatServer, **more: object) -> Settings:
    models = ModelSettings(
        chat=MODEL,
        chat_url=server.url,
        prices=PRICES,
        concurrency=3,
        cache=str(folder / "cache"),
        **more,  # type: ignore[arg-type]
    )
    return Settings(store=f"hlgraph://{folder}/store", models=models)


def opened(folder: Path, server: ChatServer, **more: object) -> HLGraph:
    return hlgraph.connect(settings(folder, server, **more), embedder=WordEmbedder())


def ledger_rows(folder: Path, columns: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "store" / "ledger-1.sqlite")) as connection:
        return connection.execute(f"SELECT {columns} FROM calls ORDER BY id").fetchall()  # noqa: S608 - of this file


def paid_once(folder: Path, server: ChatServer) -> bool:
    """Whether every call that was paid has another request, in the ledger and at the provider."""
    paid = [row[0] for row in ledger_rows(folder, "request, state") if row[1] == "paid"]
    return len(set(paid)) == len(paid) == len(server.paid) == len(set(server.paid))


# Budgets


@pytest.mark.parametrize("budget", [Budget(max_tokens=9_000), Budget(max_usd=0.012)], ids=["tokens", "usd"])
def test_a_budget_stops_an_ingest_and_the_same_call_goes_on_until_all_is_there(
    tmp_path: Path, server: ChatServer, budget: Budget
) -> None:
    options = IngestOptions(extract="chat", budget=budget)
    stops: list[BudgetError] = []
    bills: list[int] = []
    with opened(tmp_path / "budgeted", server) as graph:
        for _ in range(60):
            before = server.tokens
            try:
                report = graph.ingest(DOCUMENTS, **keywords(options))
                break
            except BudgetError as error:
                stops.append(error)
                bills.append(server.tokens - before)
        assert len(stops) >= 2
        assert [error.tokens for error in stops] == bills
        assert all("repeat the command to resume it" in str(error) for error in stops)
        assert all((error.usd or 0) > 0 for error in stops)
        dearest = max(row[0] for row in ledger_rows(tmp_path / "budgeted", "input_tokens + output_tokens"))  # type: ignore[type-var]
        assert budget.max_tokens is None or max(bills) <= budget.max_tokens + 3 * dearest  # type: ignore[operator]
        assert (report.failed, report.problems) == ([], [])
        assert all(item.is_fine for item in graph.check())
        assert paid_once(tmp_path / "budgeted", server)
        all_calls = total(graph.ledger())
        assert (all_calls.calls, all_calls.unfinished_calls) == (len(server.paid), 0)
        assert all_calls.input_tokens + all_calls.output_tokens == server.tokens
        stopped = snapshot(graph._opened.stores, "default")
    with opened(tmp_path / "straight", server) as graph:
        graph.ingest(DOCUMENTS, **keywords(CHAT))
        assert snapshot(graph._opened.stores, "default") == stopped


def test_what_was_extracted_before_the_budget_ended_is_there(tmp_path: Path, server: ChatServer) -> None:
    with opened(tmp_path, server) as graph:
        with pytest.raises(BudgetError):
            graph.ingest(DOCUMENTS, extract="chat", budget=Budget(max_tokens=12_000))
        counts = graph.stats()[0].records
        assert counts[Kind.STATEMENT] > 0
        assert all(item.is_fine for item in graph.check())


def test_a_budget_for_an_answer(tmp_path: Path, server: ChatServer) -> None:
    with opened(tmp_path, server) as graph:
        graph.ingest(DOCUMENTS[:1])
        with pytest.raises(BudgetError, match="raise the budget"):
            graph.answer("Who designed the bridge?", budget=Budget(max_tokens=50))
        assert server.calls == 0
        answer = graph.answer("Who designed the bridge?", strategy="chunk", budget=Budget(max_tokens=50_000))
        assert [item.number for item in answer.citations] == [1]
        assert answer.made_by == f"answer/1+{MODEL}"
        assert graph.answer("Who designed the bridge?", strategy="chunk") == answer
        (line,) = graph.ledger("strategy")
        assert (line.name, line.calls, line.kept_calls) == ("chunk", 1, 1)


def test_a_budget_without_anything_that_costs_is_refused() -> None:
    with pytest.raises(InputError, match="extraction by 'local' costs nothing"):
        IngestOptions(budget=Budget(max_tokens=1))


def test_a_budget_in_dollars_for_a_model_without_a_price_is_refused_before_anything_is_spent(
    tmp_path: Path, server: ChatServer
) -> None:
    with (
        hlgraph.connect(
            Settings(store=f"hlgraph://{tmp_path}/store", models=ModelSettings(chat=MODEL, chat_url=server.url)),
            embedder=WordEmbedder(),
        ) as graph,
        pytest.raises(InputError, match="price of the model openai:m is not known"),
    ):
        graph.ingest(DOCUMENTS, extract="chat", budget=Budget(max_usd=1))
    assert server.calls == 0


# Faults of the provider


def test_faults_that_pass_are_waited_for_and_cost_nothing(tmp_path: Path, server: ChatServer) -> None:
    server.fault = lambda number, asked: {2: busy("0.05"), 5: busy(status=500), 7: busy("0")}.get(number)
    with opened(tmp_path, server) as graph:
        report = graph.ingest(DOCUMENTS[:2], **keywords(CHAT))
        assert report.problems == []
        assert report.usage is not None
        assert report.usage.calls == len(server.paid) == server.calls - 3
        assert total(graph.ledger()).calls == len(server.paid)
        assert paid_once(tmp_path, server)


def test_a_provider_that_is_overloaded_is_asked_less_at_once(tmp_path: Path, server: ChatServer) -> None:
    """It takes two calls at once and refuses more: the bound finds that, and all is extracted."""
    is_crowded = threading.Event()

    def refuse_the_third(number: int, asked: Asked) -> Response | None:
        if server.at_once > 2:
            is_crowded.set()
            return busy("0.02")
        is_crowded.wait(20)  # on a busy machine the third call comes late
        return None

    server.seconds = 0.01
    server.fault = refuse_the_third
    with opened(tmp_path, server) as graph:
        assert graph.ingest(DOCUMENTS[:3], **keywords(CHAT)).problems == []
        refused = server.calls - len(server.paid)
        assert 1 <= refused < len(server.paid)


def test_replies_that_are_cut_or_of_another_form_are_asked_for_again_and_both_calls_are_in_the_ledger(
    tmp_path: Path, server: ChatServer
) -> None:
    document = Document("doc:1", "Mara Quill designed the Aldane Bridge. It opened in 1931.", "Bridges")
    server.fault = lambda number, asked: {1: '{"names": []}', 3: cut_off('{"propositions": [{"te')}.get(number)  # type: ignore[return-value]
    with opened(tmp_path, server) as graph:
        report = graph.ingest([document], **keywords(CHAT))
        assert report.problems == []
        assert server.calls == 4
        assert total(graph.ledger()).calls == 4
        assert {row[0] for row in ledger_rows(tmp_path, "prompt")} == {"entities/1", "propositions/1", "repair/1"}
        # Asked the first time again, nobody pays for the way there again.
        graph.delete(everything=True)
    server.fault = lambda number, asked: None
    with opened(tmp_path, server) as graph:
        graph.ingest([document], **keywords(CHAT))
    assert server.calls == 6  # what was deleted was forgotten


def test_what_a_repaired_reply_came_to_is_kept(tmp_path: Path, server: ChatServer) -> None:
    document = Document("doc:1", "Mara Quill designed the Aldane Bridge. It opened in 1931.", "Bridges")
    server.fault = lambda number, asked: {1: "no"}.get(number, busy(status=401) if number == 3 else None)
    with opened(tmp_path, server) as graph:
        with pytest.raises(ModelAccessError):
            graph.ingest([document], **keywords(CHAT))
        server.fault = lambda number, asked: None
        assert graph.ingest([document], **keywords(CHAT)).problems == []
    assert server.calls == 4
    assert paid_once(tmp_path, server)


def test_a_slow_provider_is_given_up_after_the_time_that_is_set(tmp_path: Path, server: ChatServer) -> None:
    server.seconds = 0.6
    document = Document("doc:1", "Mara Quill designed the Aldane Bridge.", "Bridges")
    with opened(tmp_path, server, timeout=0.1) as graph, pytest.raises(hlgraph.errors.ModelUnavailableError):
        graph.ingest([document], **keywords(CHAT))
    states = [row[0] for row in ledger_rows(tmp_path, "state")]
    assert states == ["begun"] * 3  # perhaps paid: nobody knows


# What is forgotten


def test_deleted_and_edited_texts_leave_the_kept_replies(tmp_path: Path, server: ChatServer) -> None:
    one = Document("doc:1", "Mara Quill designed the Aldane Bridge. It opened in 1931.", "Bridges")
    two = Document("doc:2", "Ivo Brandt wrote of the Orne. He left Tessing.", "Poets")
    place = tmp_path / "store"

    def holds(word: bytes) -> bool:
        return any(word in path.read_bytes() for path in place.glob("replies*"))

    with opened(tmp_path, server) as graph:
        graph.ingest([one, two], **keywords(CHAT))
        graph.answer("Who designed the bridge?")
        assert graph.ingest([one, two], **keywords(CHAT)).usage.kept == 0  # type: ignore[union-attr]
        graph.delete(["doc:2"])
        assert (graph.ledger("source")[-1].name, graph.stats()[0].records[Kind.SOURCE]) != ("doc:2", 2)
    assert holds(b"Aldane")
    assert not holds(b"Ivo Brandt")
    assert not holds(b"So it is said")  # nobody can tell what an answer rests on
    calls = server.calls
    with opened(tmp_path, server) as graph:
        graph.ingest([Document("doc:1", "The Aldane Bridge opened in 1931.", "Bridges")], **keywords(CHAT))
    assert server.calls == calls + 2
    assert not holds(b"Mara Quill")
    with opened(tmp_path, server) as graph:
        graph.delete(everything=True)
    assert not holds(b"Aldane")


def test_a_second_corpus_and_a_second_run_pay_nothing_for_the_same_text(tmp_path: Path, server: ChatServer) -> None:
    with opened(tmp_path, server) as graph:
        graph.ingest(DOCUMENTS[:1], **keywords(CHAT))
        calls = server.calls
        report = graph.in_corpus("other").ingest(DOCUMENTS[:1], **keywords(CHAT))
        assert report.usage is not None
        assert (server.calls, report.usage.calls, report.usage.kept) == (calls, 0, calls)
        lines = {line.name: line for line in graph.ledger("corpus")}
        assert (lines["default"].calls, lines["other"].calls, lines["other"].kept_calls) == (calls, 0, calls)
        graph.delete(everything=True)
        with opened(tmp_path, server, keep_replies=False) as other:
            other.ingest(DOCUMENTS[:1], **keywords(CHAT))
        assert server.calls == 2 * calls


# The ledger and plans


def test_the_ledger_by_source_names_sources(tmp_path: Path, server: ChatServer) -> None:
    with opened(tmp_path, server) as graph:
        graph.ingest(DOCUMENTS[:2], **keywords(CHAT))
        assert {line.name.rpartition("/")[2] for line in graph.ledger("source")} == {
            path.name for path in DOCUMENTS[:2]
        }
        with pytest.raises(InputError, match="choose one of: source, stage, strategy, corpus, model"):
            graph.ledger("day")  # type: ignore[arg-type]


def test_a_plan_is_within_ten_per_cent_of_the_ledger(tmp_path: Path, server: ChatServer) -> None:
    everything = sorted(SAMPLES.glob("*.md"))[:16]
    with opened(tmp_path, server) as graph:
        graph.ingest(everything[:6], **keywords(CHAT))
        before = total(graph.ledger())
        plan = graph.plan(everything)
        assert (plan.unchanged, plan.sources, plan.failed) == (6, len(everything) - 6, [])
        assert (plan.calls, plan.kept_calls, plan.measured_calls) == (2 * plan.chunks, 0, before.calls)
        calls = server.calls
        graph.ingest(everything, **keywords(CHAT))
        spent = total(graph.ledger())
        assert plan.calls == server.calls - calls == spent.calls - before.calls
        planned = plan.input_tokens + plan.output_tokens
        paid = spent.input_tokens + spent.output_tokens - before.input_tokens - before.output_tokens
        assert abs(planned / paid - 1) < 0.1
        assert plan.usd == pytest.approx((spent.usd or 0) - (before.usd or 0), rel=0.15)
        after = graph.plan(everything)
        assert (after.chunks, after.calls, after.usd, after.unchanged) == (0, 0, 0.0, len(everything))


def test_a_plan_counts_on_as_many_repairs_as_there_were(tmp_path: Path, server: ChatServer) -> None:
    spoilt: set[str] = set()

    def every_fifth(number: int, asked: Asked) -> str | None:
        if number % 5 or "no JSON at all" in asked.user:
            return None
        spoilt.add(asked.user)
        return "no JSON at all"

    server.fault = every_fifth
    with opened(tmp_path, server) as graph:
        graph.ingest(DOCUMENTS, **keywords(CHAT))
        repairs = [row[0] for row in ledger_rows(tmp_path, "prompt")].count("repair/1")
        first = server.calls - repairs
        assert repairs == len(spoilt) > 1
        plan = graph.plan(sorted(SAMPLES.glob("*.md")))
        assert plan.calls == 2 * plan.chunks + round(2 * plan.chunks * repairs / first)


def test_a_plan_needs_no_key_and_no_store_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    models = ModelSettings(chat="openai:gpt-4o-mini", embedder="not-installed")
    with hlgraph.connect(Settings(store=f"hlgraph://{tmp_path}/store", models=models)) as graph:
        plan = graph.plan([*DOCUMENTS, tmp_path / "nowhere.txt"])
        assert (plan.sources, plan.unchanged, plan.measured_calls, len(plan.failed)) == (6, 0, 0, 1)
        assert plan.usd is not None
        assert plan.usd > 0
        assert plan.seconds > 0
    assert list(tmp_path.iterdir()) == []


def test_a_plan_knows_the_kept_replies(tmp_path: Path, server: ChatServer) -> None:
    with opened(tmp_path, server) as graph:
        graph.ingest(DOCUMENTS[:2], **keywords(CHAT))
        plan = graph.in_corpus("other").plan(DOCUMENTS[:2])
        assert (plan.calls, plan.kept_calls, plan.input_tokens, plan.usd) == (0, server.calls, 0, 0.0)


def test_without_a_chat_model_there_is_no_plan(tmp_path: Path) -> None:
    with (
        hlgraph.connect(Settings(store=f"hlgraph://{tmp_path}/store")) as graph,
        pytest.raises(InputError, match="name it in HLGRAPH_CHAT"),
    ):
        graph.plan(DOCUMENTS)


# The command line


def test_the_command_line_stops_with_6_and_goes_on(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    monkeypatch.setenv("HLGRAPH_CHAT", MODEL)
    monkeypatch.setenv("HLGRAPH_CHAT_URL", server.url)
    folder = tmp_path / "docs"
    folder.mkdir()
    for path in DOCUMENTS[:3]:
        (folder / path.name).write_bytes(path.read_bytes())
    code, out, _ = run("plan", folder)
    assert code == 0
    assert "rough estimate: the ledger holds too few calls" in out
    assert "money: price unknown" in out
    command = ("ingest", folder, "--extract", "chat", "--max-tokens", 20_000, "--json")
    code, out, err = run(*command)
    assert (code, out) == (6, "")
    error = json.loads(err)["error"]
    assert (error["type"], error["retryable"]) == ("BudgetError", False)
    assert "the budget of 20,000 tokens" in error["message"]
    for _ in range(20):
        code, out, _ = run(*command)
        if code == 0:
            break
    assert json.loads(out)["usage"]["calls"] > 0
    assert paid_once(tmp_path, server)
    code, out, _ = run("ledger", "--by", "model")
    assert code == 0
    assert f"openai:m: {len(server.paid)} calls" in out
    assert "price unknown" in out
    assert run("plan", folder, "--json")[0] == 0
    assert run("ledger", "--corpus", "nowhere")[1] == "no chat model has been called\n"
