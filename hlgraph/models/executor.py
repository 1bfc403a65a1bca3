"""The one way to a chat model: bounded, patient, kept, counted and within a budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from hlgraph.errors import BudgetError, HLGraphError, ModelAccessError, ModelUnavailableError
from hlgraph.ids import checksum, source_id
from hlgraph.models.accounts.budget import Budget, Purse
from hlgraph.models.accounts.ledger import Entry, Ledger, Purpose
from hlgraph.models.accounts.replies import Origin, Replies
from hlgraph.models.calls import PATIENT, Patience, call, mapped
from hlgraph.models.gate import Gate
from hlgraph.models.seams import ChatModel, Completion
from hlgraph.models.tokens import estimated_tokens, request_tokens
from hlgraph.settings import Price

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Form: TypeAlias = Mapping[str, object]
"""A JSON schema."""
_FATAL = (ModelAccessError, ModelUnavailableError, BudgetError)


@runtime_checkable
class SingleCalls(Protocol):
    """A chat model that leaves trying again to who asks it, and can be asked for a form."""

    patience: Patience

    def attempt(self, system: str, user: str, *, max_tokens: int, form: Form | None = None) -> Completion:
        """One call, not repeated; ``form`` is the JSON schema of the reply, for models that take one.

        Raises ModelError, of the kind that says what to do.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Where calls are written down.

    Attributes
    ----------
    corpus : that they are made for
    ledger : None: none
    replies : that are kept; None: none are
    price : of the model; None: not known
    """

    corpus: str = ""
    ledger: Ledger | None = None
    replies: Replies | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call as it is asked for; ``accept`` says whether a reply is worth keeping, ``form`` is asked of models that can."""

    system: str
    user: str
    max_tokens: int
    purpose: Purpose
    accept: Callable[[str], bool] = field(compare=False)
    form: Form | None = None

    def key(self, model: str) -> str:
        """A hash of the model, the version of the prompt, both messages and the limit of the reply."""
        return checksum(model, self.purpose.prompt, self.system, self.user, str(self.max_tokens))


class Executor:
    """A chat model behind a gate, a file of kept replies, a ledger and a purse. Safe for threads.

    A reply that was kept is given at once and costs nothing. Else the call waits for the gate (see
    :class:`hlgraph.models.gate.Gate`) and for the purse, stands in the ledger before it is made, is tried again while the
    provider is only unavailable, is given up after ``deadline`` seconds, and is written down when it ends, also when nobody
    waits for it any more. Two threads that ask the same at once make one call. A reply that was cut off, or that ``accept``
    refuses, is not kept.

    Parameters
    ----------
    model : asked; where it has ``attempt`` and ``patience`` its tries are made here, else it is patient itself
    accounts : where calls are written down; default: nowhere
    most : calls at once
    deadline : seconds for one call; None: as long as the model takes
    """

    def __init__(
        self, model: ChatModel, *, accounts: Accounts | None = None, most: int = 8, deadline: float | None = None
    ) -> None:
        self.model = model
        self.accounts = accounts or Accounts()
        self.most = most
        self.gate = Gate(most)
        self.purse = Purse()
        self.deadline = deadline
        self._asking: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the model."""
        return self.model.fingerprint

    def begin(self, budget: Budget | None = None, *, purse: Purse | None = None) -> Executor:
        """The same for one command: with a budget, and with an end for all its calls when one fails for good.

        ``purse``: one that calls made elsewhere share, in place of one for this budget.

        Raises InputError for a budget in dollars where the price of the model is not known.
        """
        other = object.__new__(Executor)
        other.__dict__.update(self.__dict__)
        other.purse = purse or Purse(budget, price=self.accounts.price, model=self.fingerprint)
        return other

    def about(self, purpose: Purpose, *, accept: Callable[[str], bool] = bool, form: Form | None = None) -> Asking:
        """The same as a chat model whose calls are made for this purpose.

        Parameters
        ----------
        accept : which replies are worth keeping
        form : JSON schema of the replies, asked for by the provider's own means where it has any
        """
        return Asking(self, purpose, accept=accept, form=form)

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """The reply to one system and one user message; see :meth:`about` for saying what it is for."""
        return self.about(Purpose()).complete(system, user, max_tokens=max_tokens)

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        """``action`` of each item, in order, so many at once; what an action raises ends them all.

        Calls under way then come to their end, since they are paid; no other begins, and nobody waits to try again.
        """
        if not items:
            return []
        pool = ThreadPoolExecutor(min(self.most, len(items)), thread_name_prefix="hlgraph-chat")
        try:
            futures = [pool.submit(action, item) for item in items]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for each in done:
                each.result()  # raises what the first action that failed raised
            return [each.result() for each in futures]
        except BaseException as error:
            known = error if isinstance(error, HLGraphError) else None
            self.purse.end(known or ModelUnavailableError("the run was interrupted; run the same again to go on"))
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def ask(self, request: Request) -> Completion:
        """The reply to a request. Raises what the model raises, and BudgetError."""
        replies = self.accounts.replies
        key = request.key(self.fingerprint)
        if replies is None:
            return self._made(request, key)
        with self._alone(key):
            held = replies.held(key, origin=self.origin(request.purpose))
            if held is not None and request.accept(held.text):
                if self.accounts.ledger is not None:
                    self.accounts.ledger.keep(self.entry(request, key), held, price=self.accounts.price)
                return held
            return self._made(request, key)

    def held(self, request: Request) -> Completion | None:
        """The kept reply to a request, None where it would have to be paid; nothing is written."""
        replies = self.accounts.replies
        found = replies.held(request.key(self.fingerprint)) if replies is not None else None
        return found if found is not None and request.accept(found.text) else None

    def enter(self, request: Request, completion: Completion, *, share: float = 1.0) -> bool:
        """Keep a reply that was paid elsewhere, such as in a batch, and enter it in the ledger.

        Returns False, and enters nothing, where its reply is kept already or ``accept`` refuses it.

        Parameters
        ----------
        share : of the price that was paid
        """
        key, ledger, price = request.key(self.fingerprint), self.accounts.ledger, self.accounts.price
        price = price and Price(price.input * share, price.output * share)
        if completion.is_cut or not request.accept(completion.text):
            return False
        held = self.held(request)
        if held is not None:
            if ledger is not None:
                ledger.finish(key, held, price=price)
            return False
        tokens = request_tokens(request.system, request.user)
        found = counted(completion, tokens)
        number = ledger.begin(self.entry(request, key, tokens=tokens)) if ledger is not None else None
        self.keep(request, key, completion=found)
        if ledger is not None:
            ledger.end(number, found, price=price, seconds=0.0)
        return True

    def settle(self, request: Request, completion: Completion) -> None:
        """Keep a reply to a request that came to it by another one, such as the repaired reply for the broken one."""
        self.keep(request, request.key(self.fingerprint), completion=completion)

    def close(self) -> None:
        """Close the files."""
        for file in (self.accounts.ledger, self.accounts.replies):
            if file is not None:
                file.close()

    def _made(self, request: Request, key: str) -> Completion:
        """The reply of the model, tried for as long as it is patient."""
        if not isinstance(self.model, SingleCalls):
            return self.ending(lambda: self._one(self.model.complete, request, key))
        attempt, patience = partial(self.model.attempt, form=request.form), self.model.patience
        patience = replace(patience, sleep=self.nap(patience))
        return self.ending(lambda: call(self.fingerprint, lambda: self._one(attempt, request, key), patience=patience))

    def ending(self, action: Callable[[], _Result]) -> _Result:
        """What an action gives; an error for good ends all other calls of the command."""
        try:
            return action()
        except _FATAL as error:
            self.purse.end(error)
            raise

    def nap(self, patience: Patience) -> Callable[[float], None]:
        """Waits between tries; wakes when there is no use in waiting."""

        def nap(seconds: float) -> None:
            if patience.sleep is PATIENT.sleep:
                self.purse.stopped.wait(seconds)
            else:
                patience.sleep(seconds)
            self.purse.check()

        return nap

    def _one(self, complete: Callable[..., Completion], request: Request, key: str) -> Completion:
        """One try."""
        with self.gate.slot(self.purse.check):
            tokens = request_tokens(request.system, request.user)
            admission = self.purse.admit(tokens)
            ledger = self.accounts.ledger
            number = ledger.begin(self.entry(request, key, tokens=tokens)) if ledger is not None else None
            begun = time.monotonic()

            def paid() -> Completion:
                """Writes down what it cost whether or not somebody still waits."""
                try:
                    reply = mapped(
                        self.fingerprint,
                        lambda: complete(request.system, request.user, max_tokens=request.max_tokens),
                    )
                except BaseException as error:
                    self.purse.settle(admission, is_paid=False)
                    # Where nothing answered, and where it was interrupted, nobody knows whether it was paid.
                    if ledger is not None and isinstance(error, HLGraphError) and not is_silent(error):
                        ledger.drop(number)
                    raise
                found = counted(reply, tokens)
                # Kept first: killed between the two, the next run finds the reply, and ends the call for this one.
                self.keep(request, key, completion=found)
                if ledger is not None:
                    ledger.end(number, found, price=self.accounts.price, seconds=time.monotonic() - begun)
                self.purse.settle(admission, found.input_tokens, output_tokens=found.output_tokens)
                return found

            return _within(paid, self.deadline, self.fingerprint)

    def keep(self, request: Request, key: str, *, completion: Completion) -> None:
        """Keep a reply, unless it was cut off or is not worth it."""
        replies = self.accounts.replies
        if replies is not None and not completion.is_cut and request.accept(completion.text):
            replies.keep(key, completion, origin=self.origin(request.purpose))

    def origin(self, purpose: Purpose) -> Origin:
        """Corpus, source and part that a call shows."""
        corpus = self.accounts.corpus
        return Origin(corpus, source_id(corpus, purpose.uri), purpose.part) if purpose.uri else Origin(corpus)

    def entry(self, request: Request, key: str, *, tokens: int = 0) -> Entry:
        """What the ledger notes of a call before it is made."""
        origin = self.origin(request.purpose)
        return Entry(origin.corpus, origin.source, request.purpose, self.fingerprint, key, tokens)

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        """One thread at a time for one request, so that the others find its reply."""
        with self._lock:
            turn = self._asking.setdefault(key, threading.Lock())
        with turn:
            try:
                yield
            finally:
                with self._lock:
                    self._asking.pop(key, None)


class Asking:
    """A chat model that says what its calls are for."""

    def __init__(
        self,
        executor: Executor,
        purpose: Purpose,
        *,
        accept: Callable[[str], bool] = bool,
        form: Form | None = None,
    ) -> None:
        self._executor = executor
        self._purpose = purpose
        self._accept = accept
        self._form = form

    @property
    def fingerprint(self) -> str:
        """That of the model."""
        return self._executor.fingerprint

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """The reply to one system and one user message. Raises what the model raises, and BudgetError."""
        return self._executor.ask(self._request(system, user, max_tokens))

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """The pieces of the reply, and at the end the reply; see :func:`hlgraph.models.streaming.streamed`."""
        from hlgraph.models.streaming import streamed

        return streamed(self._executor, self._request(system, user, max_tokens))

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
        """``action`` of each item, in order, so many at once; see :meth:`Executor.run`."""
        return self._executor.run(action, items)

    def settle(self, system: str, user: str, *, max_tokens: int, completion: Completion) -> None:
        """Keep what a call came to in the end, as the reply to its first request."""
        self._executor.settle(self._request(system, user, max_tokens), completion)

    def about(self, purpose: Purpose, *, accept: Callable[[str], bool] = bool) -> Asking:
        """The same for a nearer purpose: what it does not say stays."""
        ours = self._purpose
        merged = Purpose(
            stage=purpose.stage or ours.stage,
            strategy=purpose.strategy or ours.strategy,
            uri=purpose.uri or ours.uri,
            part=purpose.part or ours.part,
            prompt=purpose.prompt or ours.prompt,
        )
        return Asking(self._executor, merged, accept=accept, form=self._form)

    def _request(self, system: str, user: str, max_tokens: int) -> Request:
        return Request(system, user, max_tokens, self._purpose, self._accept, self._form)


def asking_about(model: ChatModel, purpose: Purpose, *, accept: Callable[[str], bool] = bool) -> ChatModel:
    """The model with a purpose for its calls where it takes one, else as it is."""
    return model.about(purpose, accept=accept) if isinstance(model, Executor | Asking) else model


def counted(reply: Completion, tokens: int) -> Completion:
    """The reply with its tokens, estimated where the provider does not say."""
    if reply.input_tokens or reply.output_tokens:
        return reply
    return replace(reply, input_tokens=tokens, output_tokens=estimated_tokens(reply.text), is_estimated=True)


def is_silent(error: HLGraphError) -> bool:
    """Whether nothing answered, so that nobody knows whether it was paid."""
    return isinstance(error, ModelUnavailableError) and error.is_silent


def _within(action: Callable[[], _Result], seconds: float | None, model: str) -> _Result:
    """What ``action`` gives in so many seconds; it goes on where nobody waits any more."""
    if seconds is None:
        return action()
    results: list[_Result] = []
    errors: list[HLGraphError] = []

    def do() -> None:
        try:
            results.append(action())
        except HLGraphError as error:  # the calls of models raise no other
            errors.append(error)

    thread = threading.Thread(target=do, name="hlgraph-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise ModelUnavailableError(
            f"{model}: no answer in {seconds:g} s; raise models.timeout, or ask for shorter replies", is_silent=True
        )
    return results[0]
