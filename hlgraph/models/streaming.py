"""Streams replies under the rules of whole ones: concurrency limit, retries, ledger and budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from hlgraph import telemetry
from hlgraph.errors import HLGraphError, ModelAnswerError, ModelUnavailableError
from hlgraph.models.calls import call, mapped
from hlgraph.models.checked import checked_completion, storable
from hlgraph.models.executor import Executor, Request, SingleCalls, counted, is_silent
from hlgraph.models.prompts import salted
from hlgraph.models.seams import Completion, StreamingChat
from hlgraph.models.tokens import request_tokens


def streamed(executor: Executor, request: Request) -> Iterator[str | Completion]:
    """The pieces of the reply as they arrive, then the whole reply with its token usage.

    A stored reply, and the reply of a model that cannot stream, arrives in one piece. The call is retried while the provider
    is only unavailable, until the first piece has arrived. Afterwards an error is raised, since text was given out already.
    A stream that breaks off, or that its reader abandons, enters the ledger and the purse with the estimated tokens so far,
    and is not stored. A complete reply is. A stream keeps its slot in the gate until it ends. Two threads that stream the
    same request at the same time make two calls. A reply that was cut off is requested again, whole and with more room (see
    :meth:`hlgraph.models.executor.Executor.with_more_room`); its text is in the Completion alone.

    Parameters
    ----------
    executor : the model with its gate, purse and accounts
    request : the call to make

    Returns
    -------
    Iterator
        Pieces of text, and one Completion at the end.

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError
        The call failed; see :class:`hlgraph.models.seams.ChatModel`.
    BudgetError
        The budget does not cover the call.
    """
    if not isinstance(executor.model, StreamingChat):
        yield from _whole(executor.ask(request))
        return
    replies = executor.accounts.replies
    key = request.key(executor.fingerprint)
    held = executor.held(request) if replies is not None else None
    if held is not None:
        yield from _whole(executor.ask(request))  # records in the ledger that it cost nothing
        return
    model = executor.model

    def begin() -> _StartedCall:
        return _start_call(executor, model, request, key=key)

    def begin_with_retries() -> _StartedCall:
        if not isinstance(model, SingleCalls):  # does its own retries
            return begin()
        patience = replace(model.patience, sleep=executor.nap(model.patience))
        return call(executor.fingerprint, begin, patience=patience)

    for piece in _all_pieces(executor.ending(begin_with_retries), executor.fingerprint):
        if not isinstance(piece, Completion):
            yield piece
        else:
            last = piece
    yield executor.with_more_room(request, last)  # now that the slot of the stream is free


def _whole(completion: Completion) -> Iterator[str | Completion]:
    if completion.text:
        yield completion.text
    yield completion


class _Account:
    """Records the cost of one streaming call, exactly once, however the call ends."""

    def __init__(self, executor: Executor, request: Request, *, key: str, said: telemetry.ModelCall) -> None:
        self._executor = executor
        self._request = request
        self._key = key
        self._said = said
        self.tokens = request_tokens(request.system, request.user)
        self._admission = executor.purse.admit(self.tokens)
        ledger = executor.accounts.ledger
        self._number = ledger.begin(executor.entry(request, key, tokens=self.tokens)) if ledger is not None else None
        self._start = time.monotonic()
        self._is_open = True

    @property
    def seconds(self) -> float:
        """Seconds since the call began."""
        return time.monotonic() - self._start

    @property
    def deadline(self) -> float | None:
        """Time limit for the whole call, in seconds; None: no limit."""
        return self._executor.deadline

    def refuse(self, error: BaseException) -> None:
        """Record that the call failed before its first piece."""
        if not self._is_open:
            return
        self._is_open = False
        self._executor.purse.settle(self._admission, is_paid=False)
        ledger = self._executor.accounts.ledger
        if ledger is not None and isinstance(error, HLGraphError) and not is_silent(error):
            ledger.drop(self._number)

    def pay(self, completion: Completion, *, is_whole: bool) -> Completion:
        """Record the end of the call: a whole reply, which is stored, or the part that had arrived."""
        found = counted(completion, self.tokens)
        if not self._is_open:
            return found
        self._is_open = False
        self._executor.tell(self._said, self._request, reply=found)
        if is_whole:
            self._executor.keep(self._request, self._key, completion=found)
        accounts = self._executor.accounts
        if accounts.ledger is not None:
            accounts.ledger.end(self._number, found, price=accounts.price, seconds=self.seconds)
        self._executor.purse.settle(self._admission, found.input_tokens, output_tokens=found.output_tokens)
        return found


class _StartedCall(NamedTuple):
    """A call whose first piece has arrived."""

    first: str | Completion
    rest: Iterator[str | Completion]
    account: _Account
    closing: ExitStack


def _start_call(executor: Executor, model: StreamingChat, request: Request, *, key: str) -> _StartedCall:
    """One attempt, until its first piece."""
    closing: ExitStack
    with ExitStack() as closing:
        closing.enter_context(executor.gate.slot(executor.purse.check))
        # Not the current span: the reader of the stream does work of its own between two pieces.
        said = closing.enter_context(telemetry.model_call("chat", executor.fingerprint, is_current=False))
        account = _Account(executor, request, key=key, said=said)
        try:
            messages = salted(request.system, request.user)
            pieces = mapped(executor.fingerprint, lambda: model.stream(*messages, max_tokens=request.max_tokens))
            closing.callback(_close, pieces)
            first = _next_piece(executor.fingerprint, pieces)
        except BaseException as error:
            account.refuse(error)
            raise
        return _StartedCall(first, pieces, account, closing.pop_all())


def _all_pieces(started: _StartedCall, name: str) -> Iterator[str | Completion]:
    """All pieces, the first included, then the whole reply."""
    account, text, waited = started.account, "", 0.0
    with started.closing:
        piece: str | Completion = started.first
        try:
            while not isinstance(piece, Completion):
                text += piece
                yield piece
                start = time.monotonic()  # the reader's own time does not count
                piece = _next_piece(name, started.rest)
                waited += time.monotonic() - start
                _check_time(waited, account.deadline, name)
        except BaseException:
            account.pay(Completion(text), is_whole=False)
            raise
        if not piece.text.strip() and not piece.is_cut:
            account.pay(replace(piece, text=text), is_whole=False)
            raise ModelAnswerError(
                f"{name}: the model replied with no text; rephrase the request, or use another model"
            )
        yield account.pay(piece, is_whole=True)


def _next_piece(name: str, pieces: Iterator[str | Completion]) -> str | Completion:
    """The next piece, checked; an empty Completion if the stream has ended without one."""
    piece: object = mapped(name, lambda: next(pieces, Completion("")))
    return storable(piece) if isinstance(piece, str) else checked_completion(name, piece)


def _check_time(waited: float, deadline: float | None, name: str) -> None:
    if deadline is not None and waited > deadline:
        raise ModelUnavailableError(
            f"{name}: the answer did not end within {deadline:g} s; raise models.timeout, or request shorter replies",
            is_silent=True,
        )


def _close(pieces: Iterator[str | Completion]) -> None:
    close = getattr(pieces, "close", None)
    if close is not None:
        close()
