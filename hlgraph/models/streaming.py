"""Replies in pieces, by the same way as whole ones: behind the gate, in the ledger, within the budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from hlgraph.errors import HLGraphError, ModelAnswerError, ModelUnavailableError
from hlgraph.models.calls import call, mapped
from hlgraph.models.executor import Executor, Request, SingleCalls, counted, is_silent
from hlgraph.models.seams import Completion, StreamingChat
from hlgraph.models.tokens import request_tokens


def streamed(executor: Executor, request: Request) -> Iterator[str | Completion]:
    """The pieces of the reply to a request as they come, and at the end the whole reply with what it cost.

    A kept reply, and that of a model that gives no pieces, comes in one. Until the first piece is there the call is tried
    again while the provider is only unavailable; afterwards it is not, since text was given out already: then the error is
    raised. A stream that breaks off, or that nobody reads to its end, stands in the ledger and in the purse with the tokens
    that came until then, estimated. It is not kept; a whole one is. A stream holds its place behind the gate until its end.
    Two threads that stream the same at once make two calls.

    Raises ModelUnavailableError, ModelAccessError, ModelAnswerError, BudgetError.
    """
    if not isinstance(executor.model, StreamingChat):
        yield from _whole(executor.ask(request))
        return
    replies = executor.accounts.replies
    key = request.key(executor.fingerprint)
    held = executor.held(request) if replies is not None else None
    if held is not None:
        yield from _whole(executor.ask(request))  # notes in the ledger that it cost nothing
        return
    model = executor.model

    def begin() -> _Begun:
        return _begun(executor, model, request, key=key)

    def patiently() -> _Begun:
        if not isinstance(model, SingleCalls):  # it is patient itself
            return begin()
        patience = replace(model.patience, sleep=executor.nap(model.patience))
        return call(executor.fingerprint, begin, patience=patience)

    yield from _told(executor.ending(patiently), executor.fingerprint)


def _whole(completion: Completion) -> Iterator[str | Completion]:
    if completion.text:
        yield completion.text
    yield completion


class _Account:
    """What one streaming call costs, noted once, however it ends."""

    def __init__(self, executor: Executor, request: Request, *, key: str) -> None:
        self._executor = executor
        self._request = request
        self._key = key
        self.tokens = request_tokens(request.system, request.user)
        self._admission = executor.purse.admit(self.tokens)
        ledger = executor.accounts.ledger
        self._number = ledger.begin(executor.entry(request, key, tokens=self.tokens)) if ledger is not None else None
        self._start = time.monotonic()
        self._is_open = True

    @property
    def seconds(self) -> float:
        """Since the call began."""
        return time.monotonic() - self._start

    @property
    def deadline(self) -> float | None:
        """Seconds for the whole call."""
        return self._executor.deadline

    def refuse(self, error: BaseException) -> None:
        """The call failed before it gave anything."""
        if not self._is_open:
            return
        self._is_open = False
        self._executor.purse.settle(self._admission, is_paid=False)
        ledger = self._executor.accounts.ledger
        if ledger is not None and isinstance(error, HLGraphError) and not is_silent(error):
            ledger.drop(self._number)

    def pay(self, completion: Completion, *, is_whole: bool) -> Completion:
        """The call ended: as a whole reply, which is kept, or with what had come until then."""
        found = counted(completion, self.tokens)
        if not self._is_open:
            return found
        self._is_open = False
        if is_whole:
            self._executor.keep(self._request, self._key, completion=found)
        accounts = self._executor.accounts
        if accounts.ledger is not None:
            accounts.ledger.end(self._number, found, price=accounts.price, seconds=self.seconds)
        self._executor.purse.settle(self._admission, found.input_tokens, output_tokens=found.output_tokens)
        return found


class _Begun(NamedTuple):
    """A call whose first piece is there."""

    first: str | Completion
    rest: Iterator[str | Completion]
    account: _Account
    closing: ExitStack


def _begun(executor: Executor, model: StreamingChat, request: Request, *, key: str) -> _Begun:
    """One try, until its first piece."""
    closing: ExitStack
    with ExitStack() as closing:
        closing.enter_context(executor.gate.slot(executor.purse.check))
        account = _Account(executor, request, key=key)
        try:
            pieces = mapped(
                executor.fingerprint, lambda: model.stream(request.system, request.user, max_tokens=request.max_tokens)
            )
            closing.callback(_close, pieces)
            first = mapped(executor.fingerprint, lambda: next(pieces, Completion("")))
        except BaseException as error:
            account.refuse(error)
            raise
        return _Begun(first, pieces, account, closing.pop_all())


def _told(begun: _Begun, name: str) -> Iterator[str | Completion]:
    """The pieces, the first included, and the end."""
    account, text, waited = begun.account, "", 0.0
    with begun.closing:
        piece: str | Completion = begun.first
        try:
            while not isinstance(piece, Completion):
                text += piece
                yield piece
                start = time.monotonic()  # whoever reads takes the time that he needs
                piece = mapped(name, lambda: next(begun.rest, Completion("")))
                waited += time.monotonic() - start
                _check_time(waited, account.deadline, name)
        except BaseException:
            account.pay(Completion(text), is_whole=False)
            raise
        if not piece.text.strip() and not piece.is_cut:
            account.pay(replace(piece, text=text), is_whole=False)
            raise ModelAnswerError(f"{name}: the model replied with no text; ask it another way, or another model")
        yield account.pay(piece, is_whole=True)


def _check_time(waited: float, deadline: float | None, name: str) -> None:
    if deadline is not None and waited > deadline:
        raise ModelUnavailableError(
            f"{name}: no end of the answer in {deadline:g} s; raise models.timeout, or ask for shorter replies",
            is_silent=True,
        )


def _close(pieces: Iterator[str | Completion]) -> None:
    close = getattr(pieces, "close", None)
    if close is not None:
        close()
