"""Replies in pieces through the executor: counted however they end, tried again only before the first piece."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamed_chat import StreamedChat

from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelUnavailableError
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.ledger import Ledger, Purpose, Spent, total
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.calls import Patience
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.prompts import estimated_tokens, request_tokens
from hlgraph.models.protocols import Completion
from hlgraph.settings import Price
from hlgraph.testing.chat import ScriptedChat


class PatientStream(StreamedChat):
    """A model of single tries: whoever asks tries again."""

    patience = Patience(first_wait=0.0, sleep=lambda seconds: None)

    def attempt(self, system: str, user: str, *, max_tokens: int, form: object = None) -> Completion:
        return self.complete(system, user, max_tokens=max_tokens)


@pytest.fixture
def accounts(tmp_path: Path) -> Iterator[Accounts]:
    made = Accounts(
        corpus="c", ledger=Ledger(tmp_path / "ledger.db"), replies=Replies(tmp_path / "replies.db"), price=Price(1, 2)
    )
    yield made
    for file in (made.ledger, made.replies):
        assert file is not None
        file.close()


def _spent(accounts: Accounts) -> Spent:
    assert accounts.ledger is not None
    return total(accounts.ledger.spent())


def _stream(executor: Executor, user: str = "u") -> Iterator[str | Completion]:
    asked = executor.about(Purpose(stage="answer"))
    return asked.stream("s", user, max_tokens=5)


def test_stream_yields_pieces_then_the_whole_reply_which_is_recorded_and_stored(accounts: Accounts) -> None:
    chat = StreamedChat([["It ", "is."]])
    executor = Executor(chat, accounts=accounts)
    assert [*_stream(executor)] == ["It ", "is.", Completion("It is.", 2, 2)]
    spent = _spent(accounts)
    assert (spent.calls, spent.input_tokens, spent.output_tokens, spent.unfinished_calls) == (1, 2, 2, 0)
    assert [*_stream(executor)] == ["It is.", Completion("It is.", 2, 2, is_kept=True)]  # in one piece, at no cost
    assert (len(chat.asked), _spent(accounts).kept_calls) == (1, 1)
    assert executor.about(Purpose(stage="answer")).complete("s", "u", max_tokens=5).is_kept
    assert executor.gate.limit == executor.most


def test_model_without_streaming_yields_one_piece(accounts: Accounts) -> None:
    executor = Executor(ScriptedChat(["It is."]), accounts=accounts)
    assert [*_stream(executor)] == ["It is.", Completion("It is.", 2, 2)]
    assert _spent(accounts).calls == 1


@pytest.mark.parametrize("read", [1, 2])
def test_abandoned_stream_is_recorded_and_not_stored(accounts: Accounts, read: int) -> None:
    chat = StreamedChat([["It ", "is ", "long."], ["New."]])
    executor = Executor(chat, accounts=accounts).begin(Budget(max_tokens=1000))
    stream = _stream(executor)
    text = "".join(str(next(stream)) for _ in range(read))
    assert chat.closed == 0
    stream.close()  # type: ignore[attr-defined]
    spent = _spent(accounts)
    assert (spent.calls, spent.estimated_calls, spent.unfinished_calls, chat.closed) == (1, 1, 0, 1)
    expected = (request_tokens("s", "u"), estimated_tokens(text))
    assert (spent.input_tokens, spent.output_tokens) == expected
    assert executor.purse.tokens == sum(expected)
    assert next(_stream(executor)) == "New."  # nothing was kept, and its place behind the gate is free


def test_stream_is_retried_only_before_its_first_piece(accounts: Accounts) -> None:
    busy = ModelUnavailableError("429", retry_after=0.0)
    chat = PatientStream([[busy], [busy], ["It ", "is."]])
    executor = Executor(chat, accounts=accounts)
    assert [*_stream(executor)][:2] == ["It ", "is."]
    assert (len(chat.asked), _spent(accounts).calls, _spent(accounts).unfinished_calls) == (3, 1, 0)
    chat = PatientStream([["It ", busy], ["Never."]])
    executor = Executor(chat, accounts=accounts)
    stream = _stream(executor, "v")
    assert next(stream) == "It "
    with pytest.raises(ModelUnavailableError, match="429"):
        next(stream)
    spent = _spent(accounts)
    assert (len(chat.asked), spent.calls, spent.estimated_calls, spent.unfinished_calls) == (1, 2, 1, 0)


def test_permanent_failure_before_the_first_piece_stops_the_command(accounts: Accounts) -> None:
    executor = Executor(PatientStream([[ModelAccessError("wrong key")], ["Never."]]), accounts=accounts).begin()
    with pytest.raises(ModelAccessError):
        [*_stream(executor)]
    with pytest.raises(ModelAccessError):
        [*_stream(executor)]
    assert (_spent(accounts).calls, _spent(accounts).unfinished_calls) == (0, 0)


def test_exhausted_budget_makes_no_call(accounts: Accounts) -> None:
    chat = StreamedChat([["It is."]])
    with pytest.raises(BudgetError):
        [*_stream(Executor(chat, accounts=accounts).begin(Budget(max_tokens=3)))]
    assert (chat.asked, _spent(accounts).calls) == ([], 0)


def test_empty_reply_is_a_paid_error(accounts: Accounts) -> None:
    with pytest.raises(ModelAnswerError, match="no text"):
        [*_stream(Executor(StreamedChat([[]]), accounts=accounts))]
    assert (_spent(accounts).calls, _spent(accounts).unfinished_calls) == (1, 0)


def test_stream_occupies_its_gate_slot_until_its_end(accounts: Accounts) -> None:
    executor = Executor(StreamedChat([["a", "b"], ["c"]]), accounts=accounts, most=1)
    first = _stream(executor)
    next(first)
    done = threading.Event()

    def second() -> None:
        list(_stream(executor, "v"))
        done.set()

    thread = threading.Thread(target=second, daemon=True)
    thread.start()
    assert not done.wait(0.3)
    list(first)
    assert done.wait(30)
    thread.join()


def test_stream_past_its_deadline_is_abandoned(accounts: Accounts) -> None:
    class Slow(StreamedChat):
        def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
            for piece in super().stream(system, user, max_tokens=max_tokens):
                yield piece
                threading.Event().wait(0.05)

    executor = Executor(Slow([["a", "b", "c", "d"]]), accounts=accounts, deadline=0.06)
    told: list[str | Completion] = []
    with pytest.raises(ModelUnavailableError, match=r"the answer did not end within 0\.06 s"):
        told.extend(_stream(executor))
    assert _spent(accounts).unfinished_calls == 0


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6), st.integers(0, 7))
def test_stream_is_recorded_once_wherever_it_ends(pieces: Sequence[str], read: int) -> None:
    chat = StreamedChat([pieces])
    executor = Executor(chat).begin(Budget(max_tokens=10_000))
    stream = _stream(executor)
    try:
        for _ in range(read):
            next(stream, None)
    except ModelAnswerError:
        assert not "".join(pieces).strip()
    stream.close()  # type: ignore[attr-defined]
    assert executor.purse.calls == (1 if read else 0)
    assert chat.closed == (1 if read else 0)
