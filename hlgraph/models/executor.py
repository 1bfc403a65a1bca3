"""Make every call to a chat model: bounded concurrency, retries, stored replies, a ledger and a budget.

:class:`Executor` makes the calls, :class:`Gate` adapts their concurrency to the provider, :class:`Asking` is the chat model that
callers use, and :func:`streamed` streams a reply under the same rules.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, closing, contextmanager
from contextvars import copy_context
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeAlias, TypeVar

from hlgraph import progress, telemetry
from hlgraph.errors import BudgetError, HLGraphError, ModelAccessError, ModelAnswerError, ModelUnavailableError
from hlgraph.ids import checksum
from hlgraph.models.accounts.budget import Budget, Purse, Usage
from hlgraph.models.accounts.ledger import Entry, Ledger, Purpose
from hlgraph.models.accounts.replies import Origin, Replies
from hlgraph.models.calls import PATIENT, Patience, call, mapped
from hlgraph.models.checked import checked_completion, storable
from hlgraph.models.prompts import estimated_tokens, request_tokens, salted, unsalted
from hlgraph.models.protocols import ChatModel, ChatStream, Completion
from hlgraph.settings import Price

# Adaptive limit on concurrent calls.

_BUSY_SHARE = 0.5
_SLOW_SHARE = 0.75
_SLOW = 2.0  # times the usual duration of a call
_RECENT, _USUAL = 0.3, 0.05  # weights of the newest call in the two running means
_FEWEST_CALLS = 8  # calls needed before the usual duration is known
_LONGEST_PAUSE = 60.0
_LOOK_SECONDS = 0.1


class Gate:
    """Limits the number of concurrent calls, and adapts the limit. Thread-safe.

    The limit grows by one for each round of successful calls (additive increase). It is halved when the provider is
    unavailable, and cut by a quarter when recent calls took twice as long as usual (multiplicative decrease). Calls that
    began before the last cut carry no new information and do not cut it again. The limit is never below 1 or above ``most``.
    While a provider asks callers to wait, no call begins, for at most 60 s.

    Parameters
    ----------
    most : maximum number of concurrent calls, and the initial limit
    clock : current time in seconds; default: the monotonic clock

    Examples
    --------
    >>> gate = Gate(8)
    >>> try:
    ...     with gate.slot():
    ...         raise ModelUnavailableError("busy")
    ... except ModelUnavailableError:
    ...     gate.limit
    4
    """

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._limit = float(most)
        self._inside = 0
        self._last_cut = -1.0
        self._open_at = 0.0
        self._usual = self._recent = 0.0
        self._calls = 0
        self._turn = threading.Condition()

    @property
    def limit(self) -> int:
        """Current maximum number of concurrent calls."""
        return int(self._limit)

    @property
    def pause(self) -> float:
        """Seconds until a call may begin; 0 unless the provider asked callers to wait."""
        return max(0.0, self._open_at - self._clock())

    @contextmanager
    def slot(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Wait for a slot and keep it for the block, whose outcome and duration adapt the limit.

        ``check`` is called while waiting; it ends the wait by raising an error.
        """
        with self._turn:
            while self._inside >= self.limit or self.pause:
                check()
                self._turn.wait(_LOOK_SECONDS)
            check()
            self._inside += 1
        start = self._clock()
        try:
            yield
        except BaseException as error:
            self._leave(start, error)
            raise
        self._leave(start, None)

    def _leave(self, start: float, error: BaseException | None) -> None:
        with self._turn:
            self._inside -= 1
            now = self._clock()
            if isinstance(error, ModelUnavailableError):
                self._cut(start, now, _BUSY_SHARE)
                if error.retry_after:
                    self._open_at = max(self._open_at, now + min(error.retry_after, _LONGEST_PAUSE))
            elif error is None and self._is_slow(now - start):
                self._cut(start, now, _SLOW_SHARE)
            elif error is None:
                self._limit = min(float(self.most), self._limit + 1 / self._limit)
            self._turn.notify_all()

    def _cut(self, start: float, now: float, share: float) -> None:
        if start >= self._last_cut:
            self._limit = max(1.0, self._limit * share)
            self._last_cut = now

    def _is_slow(self, seconds: float) -> bool:
        self._calls += 1
        if self._calls == 1:
            self._usual = self._recent = seconds
        self._usual += _USUAL * (seconds - self._usual)
        self._recent += _RECENT * (seconds - self._recent)
        return self._calls > _FEWEST_CALLS and self._recent > _SLOW * self._usual


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
Form: TypeAlias = Mapping[str, object]
"""A JSON schema."""
_log = logging.getLogger(__name__)
MORE_ROOM = 2
"""Factor of the length limit when a reply that was cut off is requested again."""
_FATAL = (ModelAccessError, ModelUnavailableError, BudgetError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The records of the calls of a chat model.

    Attributes
    ----------
    corpus : the corpus that the calls are made for
    ledger : records each call; None: calls are not recorded
    replies : stores replies for reuse; None: replies are not stored
    price : price of the model; None: not known
    """

    corpus: str = ""
    ledger: Ledger | None = None
    replies: Replies | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call to make.

    Attributes
    ----------
    system, user : the two messages
    max_tokens : maximum length of the reply, in tokens
    purpose : what the call is made for
    accept : whether the text of a reply is worth storing
    form : JSON schema of the reply, for models that accept one
    """

    system: str
    user: str
    max_tokens: int
    purpose: Purpose
    accept: Callable[[str], bool] = field(compare=False)
    form: Form | None = None

    def key(self, model: str) -> str:
        """Hash of the model, the prompt version, both messages without their salt, and the length limit of the reply."""
        messages = unsalted(self.system), unsalted(self.user)
        return checksum(model, self.purpose.prompt, *messages, str(self.max_tokens))


class Executor:
    """A chat model with bounded concurrency, stored replies, a ledger and a budget. Thread-safe.

    A stored reply is returned at once and costs nothing. Any other call waits for the gate (see
    :class:`hlgraph.models.executor.Gate`) and for the purse. It enters the ledger before it is made, is retried while the
    provider is only unavailable, and times out after ``deadline`` seconds. Its cost is recorded when it ends, even after
    its caller timed out. If two threads make the same request at the same time, there is one call. A reply that stopped at
    its length limit is requested once more with twice the limit, see :meth:`with_more_room`. A reply that is still cut off, or
    that ``accept`` rejects, is not stored.

    Parameters
    ----------
    model : the chat model; with ``attempt`` and ``patience`` it is retried here, else it does its own retries
    accounts : records the calls; default: no records
    most : maximum number of concurrent calls
    deadline : time limit for one call, in seconds; None: no limit
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
        """Fingerprint of the model."""
        return self.model.fingerprint

    def begin(self, budget: Budget | None = None, *, purse: Purse | None = None) -> Executor:
        """A copy for one command: with a budget, and with a stop of all its calls once one fails permanently.

        Parameters
        ----------
        budget : what the command may spend; default: no limit
        purse : a purse shared with calls made elsewhere; default: a new one with ``budget``

        Returns
        -------
        Executor
            A copy that shares the model, the gate and the accounts.

        Raises
        ------
        InputError
            The budget is in US dollars, and the price of the model is not known.
        """
        other = copy(self)
        other.purse = purse or Purse(budget, price=self.accounts.price, model=self.fingerprint)
        return other

    def about(self, purpose: Purpose, *, accept: Callable[[str], bool] = bool, form: Form | None = None) -> Asking:
        """See :class:`Asking`: a chat model whose calls are recorded with this purpose."""
        return Asking(self, purpose, accept, form)

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`; :meth:`about` records a purpose with the call."""
        return self.about(Purpose()).complete(system, user, max_tokens=max_tokens)

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str = "") -> list[_Result]:
        """Results of ``action`` for each item, in order, at most ``most`` at a time; the first error stops all of them.

        After an error the calls in progress are allowed to finish, since they are paid for. No new call begins, and no
        retry is awaited.

        Parameters
        ----------
        action : called once per item, in a worker thread
        items : the items
        step : name of the step whose progress the items are; default: none

        Returns
        -------
        list
            One result per item, in the order of ``items``.
        """
        if not items:
            return []
        pool = ThreadPoolExecutor(min(self.most, len(items)), thread_name_prefix="hlgraph-chat")
        try:
            futures = [pool.submit(copy_context().run, action, item) for item in items]
            for each in as_completed(futures):
                each.result()  # raises what the first action that failed raised
                progress.advance(step)
            return [each.result() for each in futures]
        except BaseException as error:
            known = error if isinstance(error, HLGraphError) else None
            self.purse.end(known or ModelUnavailableError("the run was interrupted; repeat the command to resume it"))
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def ask(self, request: Request) -> Completion:
        """The reply to a request. Raises BudgetError, and the errors of the model."""
        if self.accounts.replies is None:
            return self.with_more_room(request, self._call_with_retries(request))
        with self._one_at_a_time(request.key(self.fingerprint)):
            stored = self.held(request, origin=self._origin(request))
            if stored is None:
                return self.with_more_room(request, self._call_with_retries(request))
            if self.accounts.ledger is not None:
                self.accounts.ledger.keep(self.entry(request), stored, price=self.accounts.price)
            return stored

    def with_more_room(self, request: Request, reply: Completion) -> Completion:
        """A whole reply in place of one that was cut off: the same request with twice the limit, at most once.

        The second call is one more call for the ledger and the budget. Its reply is stored as the reply to ``request``, so that a
        repetition is not paid for. If the budget does not cover it, the provider rejects the larger limit, or the second reply is
        cut off too, the result has ``is_cut`` set, and its reader must not treat it as complete.

        Parameters
        ----------
        request : the request that was answered
        reply : the reply to it

        Returns
        -------
        Completion
            ``reply`` itself unless it was cut off; else the longer reply, with the tokens of both calls.
        """
        if not reply.is_cut:
            return reply
        try:
            longer = self._call_with_retries(replace(request, max_tokens=MORE_ROOM * request.max_tokens))
        except (BudgetError, ModelAnswerError) as error:
            message = "%s: a reply was cut off at %d tokens, and not repeated: %s"
            _log.warning(message, self.fingerprint, request.max_tokens, error)
            return reply
        self.keep(request, longer)
        return replace(
            longer,
            input_tokens=reply.input_tokens + longer.input_tokens,
            output_tokens=reply.output_tokens + longer.output_tokens,
            calls=reply.calls + longer.calls,
        )

    def held(self, request: Request, *, origin: Origin | None = None) -> Completion | None:
        """The stored reply to a request; None if the call would have to be paid for.

        Parameters
        ----------
        request : the request
        origin : recorded as another origin of the reply; default: nothing is recorded

        Returns
        -------
        Completion or None
            The reply, with ``is_kept`` set.
        """
        replies = self.accounts.replies
        stored = replies.find(request.key(self.fingerprint), origin=origin) if replies is not None else None
        return stored if stored is not None and request.accept(stored.text) else None

    def keep(self, request: Request, completion: Completion) -> None:
        """Store the reply to a request, unless it was cut off or ``accept`` rejects it.

        Parameters
        ----------
        request : the request; a repaired reply is stored under the first request
        completion : the reply
        """
        replies = self.accounts.replies
        if replies is not None and not completion.is_cut and request.accept(completion.text):
            replies.keep(request.key(self.fingerprint), completion, origin=self._origin(request))

    def enter(self, request: Request, completion: Completion, *, share: float = 1.0) -> bool:
        """Store a reply that was paid for elsewhere, such as in a batch, and record it in the ledger.

        Parameters
        ----------
        request : the request that the reply answers
        completion : the reply
        share : fraction of the model's price that was paid, for example 0.5 in a batch; default 1

        Returns
        -------
        bool
            False if nothing was recorded: a reply is stored already, or this one was cut off or rejected by ``accept``.
        """
        ledger, price = self.accounts.ledger, self.accounts.price
        price = price and Price(price.input * share, price.output * share)
        if completion.is_cut or not request.accept(completion.text):
            return False
        stored = self.held(request)
        if stored is not None:
            if ledger is not None:
                ledger.finish(request.key(self.fingerprint), stored, price=price)
            return False
        tokens = request_tokens(request.system, request.user)
        reply = _with_tokens(completion, tokens)
        number = ledger.begin(self.entry(request, tokens=tokens)) if ledger is not None else None
        self.keep(request, reply)
        if ledger is not None:
            ledger.end(number, reply, price=price, seconds=0.0)
        return True

    def close(self) -> None:
        """Close the ledger and the stored replies."""
        for file in (self.accounts.ledger, self.accounts.replies):
            if file is not None:
                file.close()

    def retried(self, action: Callable[[], _Result]) -> _Result:
        """The result of ``action``, retried here if the model leaves that to its caller.

        A permanent error stops all other calls of the command.

        Parameters
        ----------
        action : makes one call
        """
        patience = self._patience
        try:
            if patience is None:
                return action()
            return call(self.fingerprint, action, patience=replace(patience, sleep=partial(self._sleep, patience)))
        except _FATAL as error:
            self.purse.end(error)
            raise

    def entry(self, request: Request, *, tokens: int = 0) -> Entry:
        """The ledger entry of a call before it is made.

        Parameters
        ----------
        request : the call
        tokens : estimated input tokens; default 0

        Returns
        -------
        Entry
            The entry.
        """
        origin, key = self._origin(request), request.key(self.fingerprint)
        return Entry(origin.corpus, origin.source, request.purpose, self.fingerprint, key, tokens)

    @property
    def _patience(self) -> Patience | None:
        """The retry policy of a model that leaves retries to its caller; None if the model does its own."""
        return getattr(self.model, "patience", None) if hasattr(self.model, "attempt") else None

    def _origin(self, request: Request) -> Origin:
        """Corpus, source and part whose text a call sends."""
        corpus, purpose = self.accounts.corpus, request.purpose
        return Origin(corpus, purpose.source, purpose.part) if purpose.source else Origin(corpus)

    def _sleep(self, patience: Patience, seconds: float) -> None:
        """Wait between two attempts; ends early when the command is stopped."""
        if patience.sleep is PATIENT.sleep:
            self.purse.stopped.wait(seconds)
        else:
            patience.sleep(seconds)
        self.purse.check()

    def _call_with_retries(self, request: Request) -> Completion:
        """The reply of the model, with retries; a span of OpenTelemetry covers all of them."""
        with telemetry.model_call("chat", self.fingerprint) as span:
            reply = self.retried(lambda: self._call_once(request))
            _describe(span, request, reply, price=self.accounts.price)
            return reply

    def _call_once(self, request: Request) -> Completion:
        """The reply of the model, from one attempt."""
        complete: Callable[..., object] = self.model.complete
        if self._patience is not None:
            complete = partial(self.model.attempt, form=request.form)  # type: ignore[attr-defined]  # optional
        with self.gate.slot(self.purse.check):
            paid_call = _PaidCall(self, request)

            def complete_and_record() -> Completion:
                """Record the cost even if the caller has timed out."""
                try:
                    messages = salted(request.system, request.user)
                    reply = mapped(self.fingerprint, lambda: complete(*messages, max_tokens=request.max_tokens))
                    completion = checked_completion(self.fingerprint, reply)
                except BaseException as error:
                    paid_call.refuse(error)
                    raise
                return paid_call.pay(completion)

            return _with_timeout(complete_and_record, self.deadline, self.fingerprint)

    @contextmanager
    def _one_at_a_time(self, key: str) -> Iterator[None]:
        """Let one thread at a time make a given request, so that the others find its stored reply."""
        with self._lock:
            turn = self._asking.setdefault(key, threading.Lock())
        with turn:
            try:
                yield
            finally:
                with self._lock:
                    self._asking.pop(key, None)


@dataclass(frozen=True, slots=True)
class Asking:
    """A chat model whose calls are recorded with a purpose.

    Attributes
    ----------
    executor : makes the calls
    purpose : what the calls are made for
    accept : whether the text of a reply is worth storing; default: any text that is not empty
    form : JSON schema of the replies, for providers that accept one; default: free text
    usage : counts the calls of :meth:`complete` and their tokens; default: not counted
    """

    executor: Executor
    purpose: Purpose
    accept: Callable[[str], bool] = bool
    form: Form | None = None
    usage: Usage | None = None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model."""
        return self.executor.fingerprint

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`; raises BudgetError too."""
        completion = self.executor.ask(self._request(system, user, max_tokens))
        if self.usage is not None:
            self.usage.add(completion)
        return completion

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """See :class:`hlgraph.models.protocols.ChatModel` and :func:`hlgraph.models.executor.streamed`."""
        return streamed(self.executor, self._request(system, user, max_tokens))

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str = "") -> list[_Result]:
        """See :meth:`Executor.run`."""
        return self.executor.run(action, items, step=step)

    def settle(self, system: str, user: str, *, max_tokens: int, completion: Completion) -> None:
        """Store a final reply, such as a repaired one, as the reply to the first request.

        Parameters
        ----------
        system, user : the two messages of the first request
        max_tokens : its maximum reply length, in tokens
        completion : the final reply
        """
        self.executor.keep(self._request(system, user, max_tokens), completion)

    def about(self, purpose: Purpose, *, accept: Callable[[str], bool] = bool) -> Asking:
        """A copy with a more specific purpose; fields that ``purpose`` leaves empty keep their value.

        Parameters
        ----------
        purpose : what the calls are made for
        accept : whether the text of a reply is worth storing; default: any text that is not empty

        Returns
        -------
        Asking
            The copy.
        """
        named = {name: value for name, value in asdict(purpose).items() if value}
        return replace(self, purpose=replace(self.purpose, **named), accept=accept)

    def _request(self, system: str, user: str, max_tokens: int) -> Request:
        return Request(system, user, max_tokens, self.purpose, self.accept, self.form)


def asking_about(model: ChatModel, purpose: Purpose, *, accept: Callable[[str], bool] = bool) -> Asking:
    """The model with a purpose for its calls; a model without an executor gets one of its own, without accounts.

    Parameters
    ----------
    model : the chat model
    purpose : what the calls are made for
    accept : whether the text of a reply is worth storing; default: any text that is not empty

    Returns
    -------
    Asking
        The chat model to call.
    """
    asking = model if isinstance(model, Executor | Asking) else Executor(model)
    return asking.about(purpose, accept=accept)


class _PaidCall:
    """One call in the purse and the ledger, from its admission on; ends with :meth:`refuse` or :meth:`pay`."""

    def __init__(self, executor: Executor, request: Request) -> None:
        self._executor = executor
        self._request = request
        self._tokens = request_tokens(request.system, request.user)
        self._admission = executor.purse.admit(self._tokens)
        ledger = executor.accounts.ledger
        self._number = ledger.begin(executor.entry(request, tokens=self._tokens)) if ledger is not None else None
        self._start = time.monotonic()

    def refuse(self, error: BaseException) -> None:
        """Record that the call failed before there was any text."""
        self._executor.purse.settle(self._admission, is_paid=False)
        ledger = self._executor.accounts.ledger
        # Without an answer, or after an interrupt, it is unknown whether the call was charged.
        is_silent = isinstance(error, ModelUnavailableError) and error.is_silent
        if ledger is not None and isinstance(error, HLGraphError) and not is_silent:
            ledger.drop(self._number)

    def pay(self, completion: Completion, *, is_whole: bool = True) -> Completion:
        """Record the cost of a reply: a whole one, which is stored, or the part that had arrived.

        Parameters
        ----------
        completion : the reply
        is_whole : whether it is complete; default True

        Returns
        -------
        Completion
            The reply with its tokens.
        """
        reply, executor = _with_tokens(completion, self._tokens), self._executor
        if is_whole:  # first, so that a process killed here finds the reply in its next run and closes the entry
            executor.keep(self._request, reply)
        ledger, price = executor.accounts.ledger, executor.accounts.price
        if ledger is not None:
            ledger.end(self._number, reply, price=price, seconds=time.monotonic() - self._start)
        executor.purse.settle(self._admission, reply.input_tokens, output_tokens=reply.output_tokens)
        return reply


def _with_tokens(reply: Completion, tokens: int) -> Completion:
    """The reply with its token counts, estimated if the provider does not report them."""
    if reply.input_tokens or reply.output_tokens:
        return reply
    return replace(reply, input_tokens=tokens, output_tokens=estimated_tokens(reply.text), is_estimated=True)


def _describe(span: telemetry.ModelCall, request: Request, reply: Completion, *, price: Price | None) -> None:
    """Fill in the attributes that OpenTelemetry records for a call."""
    span.input_tokens, span.output_tokens = reply.input_tokens, reply.output_tokens
    if price is not None:
        span.usd = price.cost(reply.input_tokens, reply.output_tokens)
    span.content = {
        "gen_ai.system_instructions": request.system,
        "gen_ai.input.messages": request.user,
        "gen_ai.output.messages": reply.text,
    }


def _with_timeout(action: Callable[[], _Result], seconds: float | None, model: str) -> _Result:
    """Run ``action`` with a timeout; on timeout its thread is abandoned and runs on in the background."""
    if seconds is None:
        return action()
    future: Future[_Result] = Future()

    def do() -> None:
        try:
            future.set_result(action())
        except (HLGraphError, MemoryError) as error:
            future.set_exception(error)
        except BaseException as error:  # a bug of hlgraph is not a timeout
            future.set_exception(error)
            raise

    threading.Thread(target=copy_context().run, args=(do,), name="hlgraph-call", daemon=True).start()
    wait([future], seconds)
    if not future.done():
        raise ModelUnavailableError(
            f"{model}: no answer within {seconds:g} s; raise models.timeout, or request shorter replies", is_silent=True
        )
    return future.result()


# Streaming.


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
        The call failed; see :class:`hlgraph.models.protocols.ChatModel`.
    BudgetError
        The budget does not cover the call.
    """
    stream: ChatStream | None = getattr(executor.model, "stream", None)
    if stream is None or executor.held(request) is not None:
        completion = executor.ask(request)  # records in the ledger that a stored reply cost nothing
        if completion.text:
            yield completion.text
        yield completion
        return

    def start() -> tuple[str | Completion, Generator[str | Completion, None, None]]:
        pieces = _pieces(executor, request, stream)
        return next(pieces), pieces

    last, rest = executor.retried(start)
    with closing(rest):
        for piece in chain([last], rest):
            if isinstance(piece, Completion):
                last = piece
            else:
                yield piece
    if isinstance(last, Completion):
        yield executor.with_more_room(request, last)  # now that the slot of the stream is free


def _pieces(executor: Executor, request: Request, stream: ChatStream) -> Generator[str | Completion, None, None]:
    """The pieces of one call as they arrive, then the whole reply; records the cost, however the call ends."""
    name, text, waited = executor.fingerprint, "", 0.0
    with ExitStack() as stack:
        stack.enter_context(executor.gate.slot(executor.purse.check))
        # Not the current span: the reader of the stream does work of its own between two pieces.
        span = stack.enter_context(telemetry.model_call("chat", name, is_current=False))
        paid_call = _PaidCall(executor, request)

        def pay(completion: Completion, *, is_whole: bool) -> Completion:
            reply = paid_call.pay(completion, is_whole=is_whole)
            _describe(span, request, reply, price=executor.accounts.price)
            return reply

        try:
            messages = salted(request.system, request.user)
            pieces = mapped(name, lambda: stream(*messages, max_tokens=request.max_tokens))
            stack.callback(getattr(pieces, "close", lambda: None))
            piece = _next_piece(name, pieces)
        except BaseException as error:
            paid_call.refuse(error)
            raise
        try:
            while not isinstance(piece, Completion):
                text += piece
                yield piece
                start = time.monotonic()  # the reader's own time does not count
                piece = _next_piece(name, pieces)
                waited += time.monotonic() - start
                _check_time(waited, executor.deadline, name)
        except BaseException:
            pay(Completion(text), is_whole=False)
            raise
        if not piece.text.strip() and not piece.is_cut:
            pay(replace(piece, text=text), is_whole=False)
            raise ModelAnswerError(
                f"{name}: the model replied with no text; rephrase the request, or use another model"
            )
        yield pay(piece, is_whole=True)


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
