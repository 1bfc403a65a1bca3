"""One ledger, one file of kept replies, one quarantine and one purse for all processes of an ingest, behind one actor."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hlgraph.errors import BudgetError, ClusterError, HLGraphError, ModelUnavailableError
from hlgraph.extract.quarantine import Quarantine, Quarantined, quarantine
from hlgraph.models.accounts.budget import Budget, Purse
from hlgraph.models.accounts.ledger import Entry, Ledger
from hlgraph.models.accounts.open import LEDGER_FILE
from hlgraph.models.accounts.replies import Origin, Replies
from hlgraph.settings import REPLIES_FILE, accounts_folder

if TYPE_CHECKING:
    from hlgraph.extract.seam import ChunkInput
    from hlgraph.models.seams import Completion
    from hlgraph.settings import Price, Settings

_LOOK_SECONDS = 0.2
_LOST = "the process that keeps the books of this ingest is gone; what was done is kept, run the same again to go on"
_ELSEWHERE = Path("elsewhere")  # nothing is read or written there
Book = Literal["ledger", "replies", "quarantine"]


class Spending(NamedTuple):
    """Calls so far, their tokens, and how many calls have not ended."""

    calls: int
    input_tokens: int
    output_tokens: int
    under_way: int


class Limits(NamedTuple):
    """What the calls of an ingest are held to: a budget, by the price of the model of this name.

    ``before``: what the process that called for the ingest has spent of the budget by itself, to infer a domain.
    """

    budget: Budget | None = None
    price: Price | None = None
    model: str = ""
    before: Spending | None = None


class Books:
    """What the actor does; it runs on the machine of the process that called for the ingest, so its files are the usual ones.

    A worker that is made anew after it was killed joins again: nobody will say what the calls that it had under way have cost,
    so they count as what was expected of them.
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

    def write(self, book: Book, name: str, *, args: tuple[object, ...], named: Mapping[str, object]) -> object:
        """What a method of a book gives."""
        return getattr(self._books[book], name)(*args, **named)

    def join(self, worker: str) -> None:
        """Note that a worker has no call under way."""
        for admission in self._admitted.pop(worker, set()):
            self._purse.abandon(admission)

    def attempt(self, worker: str, input_tokens: int) -> int | HLGraphError | None:
        """See :meth:`hlgraph.models.accounts.budget.Purse.attempt`; an error is given, not raised."""
        try:
            admission = self._purse.attempt(input_tokens)
        except HLGraphError as error:
            return error
        if admission is not None:
            self._admitted.setdefault(worker, set()).add(admission)
        return admission

    def settle(self, worker: str, admission: int, *, tokens: tuple[int, int] | None) -> None:
        """Note what an admitted call has cost; None: nothing."""
        self._admitted[worker].discard(admission)
        sent, replied = tokens or (0, 0)
        self._purse.settle(admission, sent, output_tokens=replied, is_paid=tokens is not None)

    def end(self, error: HLGraphError) -> None:
        """Let no other call through."""
        self._purse.end(error)

    def ended(self) -> HLGraphError | None:
        """What ended the calls, with all that has been spent by now."""
        return self._purse.ended()

    def spending(self) -> Spending:
        """What was spent so far."""
        purse = self._purse
        return Spending(purse.calls, purse.input_tokens, purse.output_tokens, purse.under_way)


class FarBooks:
    """The books as a process sees them that is not theirs.

    Parameters
    ----------
    actor : the handle of the actor
    worker : this process, by a name that it keeps when it is made anew
    """

    def __init__(self, actor: Any, worker: str = "") -> None:
        self.actor = actor
        self.worker = worker

    def ask(self, name: str, *args: object, **named: object) -> Any:
        """What a method of :class:`Books` gives. Raises ClusterError when they are gone."""
        import ray

        try:
            return ray.get(getattr(self.actor, name).remote(*args, **named))
        except ray.exceptions.RayActorError as error:
            raise ClusterError(_LOST) from error

    def settled(self, error: BaseException, deadline: float) -> HLGraphError | None:
        """Let no other call through, and wait for those under way, so many seconds at most; gives what ended them."""
        known = error if isinstance(error, HLGraphError) else None
        try:
            self.ask("end", known or ModelUnavailableError("the run was interrupted; run the same again to go on"))
            last = time.monotonic() + deadline
            while self.ask("spending").under_way and time.monotonic() < last:
                time.sleep(_LOOK_SECONDS)
            end: HLGraphError | None = self.ask("ended")
        except ClusterError:  # the books are gone, and the first error says more
            return None
        return end

    def close(self) -> None:
        """End the actor; what was written is on disk."""
        import ray

        ray.kill(self.actor)

    def writer(self, book: Book, name: str) -> Callable[..., Any]:
        """A method of one of the books."""
        return lambda *args, **named: self.ask("write", book, name, args=args, named=named)


class FarLedger(Ledger):
    """The ledger, written from another process; it is not read there."""

    def __init__(self, books: FarBooks) -> None:
        super().__init__(_ELSEWHERE)
        self._write_far = {name: books.writer("ledger", name) for name in ("begin", "keep", "finish", "end", "drop")}

    def begin(self, entry: Entry) -> int | None:
        """See :meth:`Ledger.begin`."""
        number: int | None = self._write_far["begin"](entry)
        return number

    def keep(self, entry: Entry, completion: Completion, *, price: Price | None) -> None:
        """See :meth:`Ledger.keep`."""
        self._write_far["keep"](entry, completion, price=price)

    def finish(self, request: str, completion: Completion, *, price: Price | None) -> None:
        """See :meth:`Ledger.finish`."""
        self._write_far["finish"](request, completion, price=price)

    def end(self, number: int | None, completion: Completion, *, price: Price | None, seconds: float) -> None:
        """See :meth:`Ledger.end`."""
        self._write_far["end"](number, completion, price=price, seconds=seconds)

    def drop(self, number: int | None) -> None:
        """See :meth:`Ledger.drop`."""
        self._write_far["drop"](number)


class FarReplies(Replies):
    """The kept replies, asked for and added to from another process; nothing is dropped from there."""

    def __init__(self, books: FarBooks) -> None:
        super().__init__(_ELSEWHERE)
        self._held_far, self._keep_far = books.writer("replies", "held"), books.writer("replies", "keep")

    def held(self, request: str, *, origin: Origin | None = None) -> Completion | None:
        """See :meth:`Replies.held`."""
        found: Completion | None = self._held_far(request, origin=origin)
        return found

    def keep(self, request: str, completion: Completion, *, origin: Origin) -> None:
        """See :meth:`Replies.keep`."""
        self._keep_far(request, completion, origin=origin)


class FarQuarantine(Quarantine):
    """The quarantine, written from another process."""

    def __init__(self, books: FarBooks) -> None:
        super().__init__(_ELSEWHERE, store="", corpus="")
        self._far = {name: books.writer("quarantine", name) for name in ("keep", "expect", "find", "release")}

    def keep(
        self, chunk: ChunkInput, *, model: str, extractor: str, call: str, reason: str, replies: Sequence[str]
    ) -> Path | None:
        """See :meth:`Quarantine.keep`."""
        path: Path | None = self._far["keep"](
            chunk, model=model, extractor=extractor, call=call, reason=reason, replies=replies
        )
        return path

    def expect(self, entry: Quarantined, extractor: str) -> None:
        """See :meth:`Quarantine.expect`."""
        self._far["expect"](entry, extractor)

    def find(self, chunk: ChunkInput) -> Quarantined | None:
        """See :meth:`Quarantine.find`."""
        found: Quarantined | None = self._far["find"](chunk)
        return found

    def release(self, chunk: ChunkInput) -> None:
        """See :meth:`Quarantine.release`."""
        self._far["release"](chunk)


class FarPurse(Purse):
    """The purse that the calls of all processes share; this one notes what ended it as soon as it is told."""

    def __init__(self, books: FarBooks) -> None:
        super().__init__()
        self._far = books

    def admit(self, input_tokens: int) -> int:
        """See :meth:`Purse.admit`."""
        while True:
            self.check()
            found = self._far.ask("attempt", self._far.worker, input_tokens)
            if isinstance(found, int):
                return found
            if found is not None:
                self.end(found)
                continue
            self.stopped.wait(_LOOK_SECONDS)

    def settle(self, admission: int, input_tokens: int = 0, *, output_tokens: int = 0, is_paid: bool = True) -> None:
        """See :meth:`Purse.settle`."""
        tokens = (input_tokens, output_tokens) if is_paid else None
        self._far.ask("settle", self._far.worker, admission, tokens=tokens)

    def end(self, error: HLGraphError) -> None:
        """See :meth:`Purse.end`: for this process, and unless it is their own end for all others."""
        super().end(error)
        if not isinstance(error, BudgetError | ClusterError):
            self._far.ask("end", error)

    def ended(self) -> HLGraphError | None:
        """See :meth:`Purse.ended`."""
        return self.error
