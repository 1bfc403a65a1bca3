"""The accounts of an ingest on Ray: ledger, stored replies, quarantine and purse, shared by all processes through one actor."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from hlgraph.errors import BudgetError, ClusterError, HLGraphError, ModelUnavailableError
from hlgraph.extract.quarantine import Quarantine, quarantine
from hlgraph.models.accounts.budget import Budget, Purse
from hlgraph.models.accounts.ledger import Ledger
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.choose import LEDGER_FILE
from hlgraph.settings import REPLIES_FILE, accounts_folder

if TYPE_CHECKING:
    from hlgraph.settings import Price, Settings


_LOOK_SECONDS = 0.2
_LOST = "the process that keeps the accounts of this ingest died; what was done is kept, run the same ingest again to continue"
_ELSEWHERE = Path("elsewhere")  # a placeholder: nothing is read or written there
Book = Literal["ledger", "replies", "quarantine"]
_Book = TypeVar("_Book", Ledger, Replies, Quarantine)


class Spending(NamedTuple):
    """The chat calls so far.

    Attributes
    ----------
    calls : number of calls that ended
    input_tokens, output_tokens : their tokens
    under_way : number of calls that have not ended
    """

    calls: int
    input_tokens: int
    output_tokens: int
    under_way: int


class Limits(NamedTuple):
    """The limits of the chat calls of an ingest.

    Attributes
    ----------
    budget : in tokens or money; None for no limit
    price : price of the model, None if unknown
    model : name of the model, for messages
    before : what the calling process itself has already spent of the budget, to infer a domain
    """

    budget: Budget | None = None
    price: Price | None = None
    model: str = ""
    before: Spending | None = None


class Books:
    """The accounts of one ingest, run as an actor on the machine of the calling process, so that it uses the same files.

    A worker restarted after it was killed joins again. The cost of the calls that it had under way is then unknown, so they
    are counted at their estimated cost.

    Parameters
    ----------
    settings : name the folder of the accounts
    corpus : name of the corpus
    limits : budget and price
    """

    def __init__(self, settings: Settings, corpus: str, *, limits: Limits) -> None:
        folder = accounts_folder(settings)
        self._books: dict[Book, Ledger | Replies | Quarantine] = {
            "ledger": Ledger(folder / LEDGER_FILE),
            "replies": Replies(folder / REPLIES_FILE),
            "quarantine": quarantine(settings, corpus),
        }
        self._purse = Purse(limits.budget, price=limits.price, model=limits.model)
        if limits.before is not None:
            calls, sent, replied, _ = limits.before
            self._purse.carry(calls, sent, output_tokens=replied)
        self._admitted: dict[str, set[int]] = {}

    def write(self, book: Book, name: str, *args: object, **named: object) -> object:
        """The result of calling a method of a book.

        Parameters
        ----------
        book : ``ledger``, ``replies`` or ``quarantine``
        name : name of the method
        args, named : its arguments
        """
        return getattr(self._books[book], name)(*args, **named)

    def join(self, worker: str) -> None:
        """Record that a worker starts without calls under way; calls of its predecessor are given up."""
        for admission in self._admitted.pop(worker, set()):
            self._purse.abandon(admission)

    def attempt(self, worker: str, input_tokens: int) -> int | HLGraphError | None:
        """See :meth:`hlgraph.models.accounts.budget.Purse.attempt`; an error is returned, not raised."""
        try:
            admission = self._purse.attempt(input_tokens)
        except HLGraphError as error:
            return error
        if admission is not None:
            self._admitted.setdefault(worker, set()).add(admission)
        return admission

    def settle(self, worker: str, admission: int, *, tokens: tuple[int, int] | None) -> None:
        """Record the cost of an admitted call.

        Parameters
        ----------
        worker : the worker that made the call
        admission : number that :meth:`attempt` returned
        tokens : input and output tokens, None if the call cost nothing
        """
        self._admitted[worker].discard(admission)
        sent, replied = tokens or (0, 0)
        self._purse.settle(admission, sent, output_tokens=replied, is_paid=tokens is not None)

    def end(self, error: HLGraphError) -> None:
        """Admit no further calls."""
        self._purse.end(error)

    def ended(self) -> HLGraphError | None:
        """The error that ended the calls, with all spending so far; None while calls are admitted."""
        return self._purse.ended()

    def spending(self) -> Spending:
        """The spending so far."""
        purse = self._purse
        return Spending(purse.calls, purse.input_tokens, purse.output_tokens, purse.under_way)


class FarBooks:
    """Access to :class:`Books` from another process.

    Parameters
    ----------
    actor : handle of the actor
    worker : name of this process, which it keeps when Ray restarts it
    """

    def __init__(self, actor: Any, worker: str = "") -> None:
        self.actor = actor
        self.worker = worker

    def ask(self, name: str, *args: object, **named: object) -> Any:
        """The result of calling a method of :class:`Books`.

        Parameters
        ----------
        name : name of the method
        args : positional arguments
        named : keyword arguments

        Raises
        ------
        ClusterError
            The actor died.
        """
        import ray

        try:
            return ray.get(getattr(self.actor, name).remote(*args, **named))
        except ray.exceptions.RayActorError as error:
            raise ClusterError(_LOST) from error

    def settled(self, error: BaseException, deadline: float) -> HLGraphError | None:
        """Admit no further calls, wait for those under way, and return the error that ended them.

        Parameters
        ----------
        error : why the calls end
        deadline : longest time to wait, seconds

        Returns
        -------
        HLGraphError | None
            None if the actor died, since ``error`` then says more.
        """
        known = error if isinstance(error, HLGraphError) else None
        try:
            self.ask("end", known or ModelUnavailableError("the run was interrupted; run it again to continue"))
            last = time.monotonic() + deadline
            while self.ask("spending").under_way and time.monotonic() < last:
                time.sleep(_LOOK_SECONDS)
            end: HLGraphError | None = self.ask("ended")
        except ClusterError:  # the actor died, and the first error says more
            return None
        return end

    def close(self) -> None:
        """End the actor; everything it wrote is on disk."""
        import ray

        ray.kill(self.actor)

    def ledger(self) -> Ledger:
        """The ledger, written from this process; it cannot be read here."""
        return self._remote(Ledger(_ELSEWHERE), "ledger", "begin", "keep", "finish", "end", "drop")

    def replies(self) -> Replies:
        """The stored replies, read and added to from this process; it cannot delete any."""
        return self._remote(Replies(_ELSEWHERE), "replies", "held", "keep")

    def quarantine(self) -> Quarantine:
        """The quarantine, used from this process."""
        book = Quarantine(_ELSEWHERE, store="", corpus="")
        return self._remote(book, "quarantine", "keep", "expect", "find", "release")

    def _remote(self, book: _Book, name: Book, *methods: str) -> _Book:
        """The book, whose ``methods`` call those of the book in the actor."""
        for method in methods:
            setattr(book, method, partial(self.ask, "write", name, method))
        return book


class FarPurse(Purse):
    """The purse shared by the calls of all processes; remembers locally the error that ended it."""

    def __init__(self, books: FarBooks) -> None:
        super().__init__()
        self._far = books

    def admit(self, input_tokens: int) -> int:
        """See :meth:`Purse.admit`."""
        while True:
            self.check()
            admission = self._far.ask("attempt", self._far.worker, input_tokens)
            if isinstance(admission, int):
                return admission
            if admission is not None:
                self.end(admission)
                continue
            self.stopped.wait(_LOOK_SECONDS)

    def settle(self, admission: int, input_tokens: int = 0, *, output_tokens: int = 0, is_paid: bool = True) -> None:
        """See :meth:`Purse.settle`."""
        tokens = (input_tokens, output_tokens) if is_paid else None
        self._far.ask("settle", self._far.worker, admission, tokens=tokens)

    def end(self, error: HLGraphError) -> None:
        """See :meth:`Purse.end`; passed on to all processes, unless the shared purse or the cluster itself ended."""
        super().end(error)
        if not isinstance(error, BudgetError | ClusterError):
            self._far.ask("end", error)

    def ended(self) -> HLGraphError | None:
        """See :meth:`Purse.ended`."""
        return self.error
