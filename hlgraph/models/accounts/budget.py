"""Budgets that hold: what a command may spend on a chat model, and what it has spent."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from hlgraph.errors import BudgetError, HLGraphError, InputError
from hlgraph.settings import Price

_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one command may spend on a chat model.

    Attributes
    ----------
    max_tokens : input and output together; None: no limit
    max_usd : US dollars, by the prices in force (see :mod:`hlgraph.models.accounts.prices`); None: no limit

    Raises
    ------
    InputError : a limit is not above 0

    Examples
    --------
    >>> Budget(max_tokens=50_000, max_usd=0.5)
    Budget(max_tokens=50000, max_usd=0.5)
    """

    max_tokens: int | None = None
    max_usd: float | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        for name, value in (("max_tokens", self.max_tokens), ("max_usd", self.max_usd)):
            if value is not None and not value > 0:
                raise InputError(f"the budget {name} is {value}; choose a number above 0, or leave it out")


class Purse:
    """What the calls of one command have spent, and whether another one may begin. Safe for threads.

    A call is let through while what was spent, what the calls under way will probably cost, and what it will probably cost
    itself are within the budget. What a call costs is known when it ends, so a budget can be exceeded by what the calls
    under way cost more than was expected: never by more than one call a worker.

    One failure for good ends it for all: whoever waits is woken, and every later call is refused with the same error.

    Parameters
    ----------
    budget : the limits; None: there are none
    price : of the model; None: it is not known
    model : its name, for errors

    Raises
    ------
    InputError : the budget is in dollars, and the price is not known
    """

    def __init__(self, budget: Budget | None = None, *, price: Price | None = None, model: str = "") -> None:
        self.budget = budget or Budget()
        if self.budget.max_usd is not None and price is None:
            raise InputError(
                f"there is no price for the model {model}, so a budget in dollars cannot be kept; set models.prices, "
                "or give the budget in tokens"
            )
        self._price = price
        self.calls = self.input_tokens = self.output_tokens = 0
        self.usd = 0.0
        self.error: HLGraphError | None = None
        self.stopped = threading.Event()
        self._under_way: dict[int, tuple[int, tuple[int, float]]] = {}
        self._expected = self._refused = self._admitted = 0
        self._abandoned: list[tuple[int, float]] = []
        self._change = threading.Condition()

    @property
    def tokens(self) -> int:
        """Input and output so far."""
        return self.input_tokens + self.output_tokens

    def check(self) -> None:
        """Raise what ended it, if something did."""
        if self.error is not None:
            raise self.error

    def end(self, error: HLGraphError) -> None:
        """Let no other call through; the first error counts."""
        with self._change:
            self.error = self.error or error
            self.stopped.set()
            self._change.notify_all()

    def ended(self) -> HLGraphError | None:
        """The error that ended it; when that is the end of the budget, with all that has been spent by now."""
        return self._spent() if isinstance(self.error, BudgetError) else self.error

    def admit(self, input_tokens: int) -> int:
        """The number of the admission for a call of probably so many input tokens; to be given to :meth:`settle`.

        What it will cost is expected from that, and from what the calls before cost against what was expected of them.

        Raises BudgetError when the budget does not reach for it, or what ended everything before.
        """
        with self._change:
            while (admission := self.attempt(input_tokens)) is None:
                self._change.wait(_LOOK_SECONDS)
            return admission

    def attempt(self, input_tokens: int) -> int | None:
        """The same at once: None where a call under way has to end before it can be said."""
        with self._change:
            self.check()
            cost = self._expect(input_tokens)
            others = [expected for _, expected in self._under_way.values()]
            if self._is_within(cost, *others):
                self._admitted += 1
                self._under_way[self._admitted] = input_tokens, cost
                return self._admitted
            if not others or not self._is_within(cost):
                self._refused = cost[0]
                error = self._spent()
                self.end(error)
                raise error
            return None

    def settle(self, admission: int, input_tokens: int = 0, *, output_tokens: int = 0, is_paid: bool = True) -> None:
        """Note what an admitted call has cost; nothing where ``is_paid`` is False."""
        with self._change:
            expected, _ = self._under_way.pop(admission)
            if is_paid:
                self._expected += expected
                self.calls += 1
                self.input_tokens += input_tokens
                self.output_tokens += output_tokens
                self.usd += self._cost(input_tokens, output_tokens)
            self._change.notify_all()

    def carry(self, calls: int, input_tokens: int, *, output_tokens: int) -> None:
        """Note what calls have cost that the same command made elsewhere, before this purse was."""
        with self._change:
            self._expected += input_tokens
            self.calls += calls
            self.input_tokens += input_tokens
            self.output_tokens += output_tokens
            self.usd += self._cost(input_tokens, output_tokens)

    def abandon(self, admission: int) -> None:
        """Note that nobody will say what an admitted call has cost: from now on it counts as what was expected of it."""
        with self._change:
            _, cost = self._under_way.pop(admission)
            self._abandoned.append(cost)
            self._change.notify_all()

    @property
    def under_way(self) -> int:
        """Calls that were admitted and have not ended."""
        return len(self._under_way)

    def _expect(self, input_tokens: int) -> tuple[int, float]:
        if self._expected:
            input_tokens = -(-input_tokens * self.input_tokens // self._expected)
        output_tokens = self.output_tokens // self.calls if self.calls else 0
        return input_tokens + output_tokens, self._cost(input_tokens, output_tokens)

    def _cost(self, input_tokens: int, output_tokens: int) -> float:
        return self._price.cost(input_tokens, output_tokens) if self._price else 0.0

    def _is_within(self, *costs: tuple[int, float]) -> bool:
        tokens = self.tokens + sum(cost[0] for cost in (*costs, *self._abandoned))
        usd = self.usd + sum(cost[1] for cost in (*costs, *self._abandoned))
        most_tokens, most_usd = self.budget.max_tokens, self.budget.max_usd
        return (most_tokens is None or tokens <= most_tokens) and (most_usd is None or usd <= most_usd)

    def _spent(self) -> BudgetError:
        limits = [f"{self.budget.max_tokens:,} tokens"] if self.budget.max_tokens is not None else []
        limits += [f"{self.budget.max_usd:g} USD"] if self.budget.max_usd is not None else []
        money = f", {self.usd:.4f} USD" if self._price else ""
        mend = "run the same again to go on" if self.calls else "raise the budget"
        return BudgetError(
            f"the budget of {' and '.join(limits)} does not reach for another call of about {self._refused:,} tokens: "
            f"{self.tokens:,} tokens{money} were spent in {self.calls:,} calls; what was done is kept, {mend}",
            tokens=self.tokens,
            usd=self.usd if self._price else None,
        )
