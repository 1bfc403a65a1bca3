"""Makes every call to a chat model: bounded concurrency, retries, stored replies, a ledger and a budget.

:class:`Executor` makes the calls, :class:`Gate` adapts their concurrency to the provider, :class:`Asking` is the chat model that
callers use, and :func:`streamed` streams a reply under the same rules.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from hlgraph import progress, telemetry
from hlgraph.errors import BudgetError, HLGraphError, ModelAccessError, ModelAnswerError, ModelUnavailableError
from hlgraph.ids import checksum
from hlgraph.models.accounts.budget import Budget, Purse, Usage
from hlgraph.models.accounts.ledger import Entry, Ledger, Purpose
from hlgraph.models.accounts.replies import Origin, Replies
from hlgraph.models.calls import PATIENT, Patience, call, mapped
from hlgraph.models.checked import checked_completion, storable
from hlgraph.models.prompts import estimated_tokens, request_tokens, salted, unsalted
from hlgraph.models.protocols import ChatModel, Completion, StreamingChat
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
        """Waits for a slot and holds it for the duration of the block, whose outcome and duration adapt the limit.

        ``check`` is called while waiting; it ends the wait by raising an error.
        """
        with self._turn:
            while self._inside >= self.limit or self.pause:
                check()
                self._turn.wait(_LOOK_SECONDS)
            check()
            self._inside += 1
        begun = self._clock()
        try:
            yield
        except ModelUnavailableError as error:
            self._leave(begun, error)
            raise
        except BaseException:
            self._leave(begun, None, is_telling=False)
            raise
        self._leave(begun, None)

    def _leave(self, begun: float, error: ModelUnavailableError | None, *, is_telling: bool = True) -> None:
        with self._turn:
            self._inside -= 1
            now = self._clock()
            if error is not None:
                self._cut(begun, now, _BUSY_SHARE)
                if error.retry_after:
                    self._open_at = max(self._open_at, now + min(error.retry_after, _LONGEST_PAUSE))
            elif is_telling and self._is_slow(now - begun):
                self._cut(begun, now, _SLOW_SHARE)
            elif is_telling:
                self._limit = min(float(self.most), self._limit + 1 / self._limit)
            self._turn.notify_all()

    def _cut(self, begun: float, now: float, share: float) -> None:
        if begun >= self._last_cut:
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


@runtime_checkable
class SingleCalls(Protocol):
    """A chat model that leaves retries to its caller and accepts a JSON schema for the reply."""

    patience: Patience

    def attempt(self, system: str, user: str, *, max_tokens: int, form: Form | None = None) -> Completion:
        """The reply to one system and one user message, from one call without retries.

        Parameters
        ----------
        system : the system message
        user : the user message
        max_tokens : maximum length of the reply, in tokens
        form : JSON schema of the reply, for models that accept one; default: free text

        Returns
        -------
        Completion
            The reply with its token usage.

        Raises
        ------
        ModelError
            The call failed; the subclass tells whether a retry can help.
        """


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
        other = object.__new__(Executor)
        other.__dict__.update(self.__dict__)
        other.purse = purse or Purse(budget, price=self.accounts.price, model=self.fingerprint)
        return other

    def about(self, purpose: Purpose, *, accept: Callable[[str], bool] = bool, form: Form | None = None) -> Asking:
        """A chat model whose calls are recorded with this purpose.

        Parameters
        ----------
        purpose : what the calls are made for
        accept : whether the text of a reply is worth storing; default: any text that is not empty
        form : JSON schema of the replies, for providers that accept one; default: free text

        Returns
        -------
        Asking
            The chat model.
        """
        return Asking(self, purpose, accept=accept, form=form)

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
        replies = self.accounts.replies
        key = request.key(self.fingerprint)
        if replies is None:
            return self.with_more_room(request, self._call_with_retries(request, key))
        with self._one_at_a_time(key):
            stored = replies.held(key, origin=self.origin(request.purpose))
            if stored is not None and request.accept(stored.text):
                if self.accounts.ledger is not None:
                    self.accounts.ledger.keep(self.entry(request, key), stored, price=self.accounts.price)
                return stored
            return self.with_more_room(request, self._call_with_retries(request, key))

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
        larger = replace(request, max_tokens=MORE_ROOM * request.max_tokens)
        try:
            longer = self._call_with_retries(larger, larger.key(self.fingerprint))
        except (BudgetError, ModelAnswerError) as error:
            _log.warning(
                "%s: a reply was cut off at %d tokens, and not repeated: %s",
                self.fingerprint,
                request.max_tokens,
                error,
            )
            return reply
        self.keep(request, request.key(self.fingerprint), completion=longer)
        return replace(
            longer,
            input_tokens=reply.input_tokens + longer.input_tokens,
            output_tokens=reply.output_tokens + longer.output_tokens,
            calls=reply.calls + longer.calls,
        )

    def held(self, request: Request) -> Completion | None:
        """The stored reply to a request; None if the call would have to be paid for. Writes nothing."""
        replies = self.accounts.replies
        stored = replies.held(request.key(self.fingerprint)) if replies is not None else None
        return stored if stored is not None and request.accept(stored.text) else None

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
        key, ledger, price = request.key(self.fingerprint), self.accounts.ledger, self.accounts.price
        price = price and Price(price.input * share, price.output * share)
        if completion.is_cut or not request.accept(completion.text):
            return False
        stored = self.held(request)
        if stored is not None:
            if ledger is not None:
                ledger.finish(key, stored, price=price)
            return False
        tokens = request_tokens(request.system, request.user)
        reply = counted(completion, tokens)
        number = ledger.begin(self.entry(request, key, tokens=tokens)) if ledger is not None else None
        self.keep(request, key, completion=reply)
        if ledger is not None:
            ledger.end(number, reply, price=price, seconds=0.0)
        return True

    def settle(self, request: Request, completion: Completion) -> None:
        """Store a reply under another request than the one that produced it, such as a repaired reply.

        Parameters
        ----------
        request : the request to store the reply under
        completion : the reply
        """
        self.keep(request, request.key(self.fingerprint), completion=completion)

    def close(self) -> None:
        """Close the ledger and the stored replies."""
        for file in (self.accounts.ledger, self.accounts.replies):
            if file is not None:
                file.close()

    def _call_with_retries(self, request: Request, key: str) -> Completion:
        """The reply of the model, with retries; a span of OpenTelemetry covers all of them."""
        with telemetry.model_call("chat", self.fingerprint) as said:
            reply = self._tried(request, key)
            self.tell(said, request, reply=reply)
            return reply

    def tell(self, said: telemetry.ModelCall, request: Request, *, reply: Completion) -> None:
        """Fill in the attributes that OpenTelemetry records for a call.

        Parameters
        ----------
        said : the call
        request : its request
        reply : its reply, with its tokens
        """
        said.input_tokens, said.output_tokens = reply.input_tokens, reply.output_tokens
        if self.accounts.price is not None:
            said.usd = self.accounts.price.cost(reply.input_tokens, reply.output_tokens)
        said.content = {
            "gen_ai.system_instructions": request.system,
            "gen_ai.input.messages": request.user,
            "gen_ai.output.messages": reply.text,
        }

    def _tried(self, request: Request, key: str) -> Completion:
        if not isinstance(self.model, SingleCalls):
            return self.ending(lambda: self._call_once(self.model.complete, request, key))
        attempt, patience = partial(self.model.attempt, form=request.form), self.model.patience
        patience = replace(patience, sleep=self.nap(patience))
        return self.ending(
            lambda: call(self.fingerprint, lambda: self._call_once(attempt, request, key), patience=patience)
        )

    def ending(self, action: Callable[[], _Result]) -> _Result:
        """The result of ``action``; a permanent error stops all other calls of the command."""
        try:
            return action()
        except _FATAL as error:
            self.purse.end(error)
            raise

    def nap(self, patience: Patience) -> Callable[[float], None]:
        """A sleep for the waits between retries; it ends early when the command is stopped."""

        def nap(seconds: float) -> None:
            if patience.sleep is PATIENT.sleep:
                self.purse.stopped.wait(seconds)
            else:
                patience.sleep(seconds)
            self.purse.check()

        return nap

    def _call_once(self, complete: Callable[..., Completion], request: Request, key: str) -> Completion:
        """The reply of the model, from one attempt."""
        with self.gate.slot(self.purse.check):
            tokens = request_tokens(request.system, request.user)
            admission = self.purse.admit(tokens)
            ledger = self.accounts.ledger
            number = ledger.begin(self.entry(request, key, tokens=tokens)) if ledger is not None else None
            begun = time.monotonic()

            def paid() -> Completion:
                """Records the cost even if the caller has timed out."""
                try:
                    messages = salted(request.system, request.user)
                    said: object = mapped(self.fingerprint, lambda: complete(*messages, max_tokens=request.max_tokens))
                    reply = checked_completion(self.fingerprint, said)
                except BaseException as error:
                    self.purse.settle(admission, is_paid=False)
                    # Without an answer, or after an interrupt, it is unknown whether the call was charged.
                    if ledger is not None and isinstance(error, HLGraphError) and not is_silent(error):
                        ledger.drop(number)
                    raise
                completion = counted(reply, tokens)
                # Stored first: if the process dies between the two, the next run finds the reply and closes the entry.
                self.keep(request, key, completion=completion)
                if ledger is not None:
                    ledger.end(number, completion, price=self.accounts.price, seconds=time.monotonic() - begun)
                self.purse.settle(admission, completion.input_tokens, output_tokens=completion.output_tokens)
                return completion

            return _with_timeout(paid, self.deadline, self.fingerprint)

    def keep(self, request: Request, key: str, *, completion: Completion) -> None:
        """Store a reply, unless it was cut off or ``accept`` rejects it.

        Parameters
        ----------
        request : the request that the reply answers
        key : its key, see :meth:`Request.key`
        completion : the reply
        """
        replies = self.accounts.replies
        if replies is not None and not completion.is_cut and request.accept(completion.text):
            replies.keep(key, completion, origin=self.origin(request.purpose))

    def origin(self, purpose: Purpose) -> Origin:
        """Corpus, source and part whose text a call sends."""
        corpus = self.accounts.corpus
        return Origin(corpus, purpose.source, purpose.part) if purpose.source else Origin(corpus)

    def entry(self, request: Request, key: str, *, tokens: int = 0) -> Entry:
        """The ledger entry of a call before it is made.

        Parameters
        ----------
        request : the call
        key : its key, see :meth:`Request.key`
        tokens : estimated input tokens; default 0

        Returns
        -------
        Entry
            The entry.
        """
        origin = self.origin(request.purpose)
        return Entry(origin.corpus, origin.source, request.purpose, self.fingerprint, key, tokens)

    @contextmanager
    def _one_at_a_time(self, key: str) -> Iterator[None]:
        """Lets one thread at a time make a given request, so that the others find its stored reply."""
        with self._lock:
            turn = self._asking.setdefault(key, threading.Lock())
        with turn:
            try:
                yield
            finally:
                with self._lock:
                    self._asking.pop(key, None)


class Asking:
    """A chat model whose calls are recorded with a purpose.

    Parameters
    ----------
    executor : makes the calls
    purpose : what the calls are made for
    accept : whether the text of a reply is worth storing; default: any text that is not empty
    form : JSON schema of the replies, for providers that accept one; default: free text
    """

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
        """Fingerprint of the model."""
        return self._executor.fingerprint

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`; raises BudgetError too."""
        return self._executor.ask(self._request(system, user, max_tokens))

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """See :class:`hlgraph.models.protocols.StreamingChat` and :func:`hlgraph.models.executor.streamed`."""

        return streamed(self._executor, self._request(system, user, max_tokens))

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str = "") -> list[_Result]:
        """See :meth:`Executor.run`."""
        return self._executor.run(action, items, step=step)

    def settle(self, system: str, user: str, *, max_tokens: int, completion: Completion) -> None:
        """Store a final reply, such as a repaired one, as the reply to the first request.

        Parameters
        ----------
        system, user : the two messages of the first request
        max_tokens : its maximum reply length, in tokens
        completion : the final reply
        """
        self._executor.settle(self._request(system, user, max_tokens), completion)

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
        ours = self._purpose
        merged = Purpose(
            stage=purpose.stage or ours.stage,
            strategy=purpose.strategy or ours.strategy,
            source=purpose.source or ours.source,
            part=purpose.part or ours.part,
            prompt=purpose.prompt or ours.prompt,
        )
        return Asking(self._executor, merged, accept=accept, form=self._form)

    def _request(self, system: str, user: str, max_tokens: int) -> Request:
        return Request(system, user, max_tokens, self._purpose, self._accept, self._form)


class CountedChat:
    """A chat model whose calls are counted, whatever their purpose.

    Parameters
    ----------
    model : the chat model
    usage : counts the calls and their tokens
    """

    def __init__(self, model: ChatModel, usage: Usage) -> None:
        self._model = model
        self._usage = usage

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model."""
        return self._model.fingerprint

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`."""
        completion = self._model.complete(system, user, max_tokens=max_tokens)
        self._usage.add(completion)
        return completion

    def about(self, purpose: Purpose, *, accept: Callable[[str], bool] = bool) -> CountedChat:
        """A copy whose model has a purpose, see :func:`asking_about`; it counts with this one.

        Parameters
        ----------
        purpose : what the calls are made for
        accept : whether the text of a reply is worth storing; default: any text that is not empty

        Returns
        -------
        CountedChat
            The copy.
        """
        return CountedChat(asking_about(self._model, purpose, accept=accept), self._usage)


def asking_about(model: ChatModel, purpose: Purpose, *, accept: Callable[[str], bool] = bool) -> ChatModel:
    """The model with a purpose for its calls; a model without an executor gets one of its own, without accounts.

    Parameters
    ----------
    model : the chat model
    purpose : what the calls are made for
    accept : whether the text of a reply is worth storing; default: any text that is not empty

    Returns
    -------
    ChatModel
        The chat model to call.
    """
    known = model if isinstance(model, Executor | Asking | CountedChat) else Executor(model)
    return known.about(purpose, accept=accept)


def counted(reply: Completion, tokens: int) -> Completion:
    """The reply with its tokens, estimated if the provider does not report them.

    Parameters
    ----------
    reply : the reply
    tokens : estimated input tokens

    Returns
    -------
    Completion
        ``reply`` itself if it has token counts, else a copy with estimates.
    """
    if reply.input_tokens or reply.output_tokens:
        return reply
    return replace(reply, input_tokens=tokens, output_tokens=estimated_tokens(reply.text), is_estimated=True)


def is_silent(error: HLGraphError) -> bool:
    """Whether the provider did not answer at all, so that it is unknown whether the call was charged."""
    return isinstance(error, ModelUnavailableError) and error.is_silent


def _with_timeout(action: Callable[[], _Result], seconds: float | None, model: str) -> _Result:
    """Runs ``action`` with a timeout; on timeout its thread is abandoned and runs on in the background."""
    if seconds is None:
        return action()
    results: list[_Result] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(action())
        except (HLGraphError, MemoryError) as error:
            errors.append(error)
        except BaseException as error:  # a bug of hlgraph is not a timeout
            errors.append(error)
            raise

    thread = threading.Thread(target=copy_context().run, args=(do,), name="hlgraph-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise ModelUnavailableError(
            f"{model}: no answer within {seconds:g} s; raise models.timeout, or request shorter replies", is_silent=True
        )
    return results[0]


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
    if not isinstance(executor.model, StreamingChat):
        yield from _whole(executor.ask(request))
        return
    replies = executor.accounts.replies
    key = request.key(executor.fingerprint)
    stored = executor.held(request) if replies is not None else None
    if stored is not None:
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
        reply = counted(completion, self.tokens)
        if not self._is_open:
            return reply
        self._is_open = False
        self._executor.tell(self._said, self._request, reply=reply)
        if is_whole:
            self._executor.keep(self._request, self._key, completion=reply)
        accounts = self._executor.accounts
        if accounts.ledger is not None:
            accounts.ledger.end(self._number, reply, price=accounts.price, seconds=self.seconds)
        self._executor.purse.settle(self._admission, reply.input_tokens, output_tokens=reply.output_tokens)
        return reply


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
