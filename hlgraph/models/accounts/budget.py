"""The money side of chat calls: budgets, what was spent, expected costs, prices and counts of tokens."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from hlgraph.errors import BudgetError, HLGraphError, InputError
from hlgraph.models.protocols import Completion
from hlgraph.settings import Price

_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Spending limits of one command for a chat model.

    Attributes
    ----------
    max_tokens : input and output together; None: no limit
    max_usd : US dollars, at current prices (see :func:`price_of`); None: no limit
    Raises
    ------
    InputError
        A limit is not above 0.

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
                raise InputError(f"the budget {name} is {value}; choose a number above 0, or omit it")


class Purse:
    """Accounts for the calls of one command, and admits another call while the budget lasts. Thread-safe.

    A call is admitted if the sum of the amount spent so far, the expected cost of the calls in progress, and its own expected cost
    is within the budget. The cost of a call is known only when it ends. So a budget can be exceeded by the amount that calls
    in progress cost above expectation: never by more than one call per worker.

    One permanent failure stops all calls: waiting callers wake up, and every later call is refused with the same error.

    Parameters
    ----------
    budget : the limits; None: no limits
    price : price of the model; None: not known
    model : name of the model, for errors

    Attributes
    ----------
    calls, input_tokens, output_tokens, usd : totals of the calls that ended; ``usd`` is 0 without a price
    error : the error that stopped all calls; None while calls are admitted
    stopped : event that is set together with ``error``

    Raises
    ------
    InputError
        The budget is in US dollars, and the price is not known.
    """

    def __init__(self, budget: Budget | None = None, *, price: Price | None = None, model: str = "") -> None:
        self.budget = budget or Budget()
        if self.budget.max_usd is not None and price is None:
            raise InputError(
                f"the price of the model {model} is not known, so a budget in dollars cannot be enforced; "
                "set models.prices, or give the budget in tokens"
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
        """Input and output tokens so far."""
        return self.input_tokens + self.output_tokens

    def check(self) -> None:
        """Raise the error that stopped all calls, if there is one."""
        if self.error is not None:
            raise self.error

    def end(self, error: HLGraphError) -> None:
        """Refuse all later calls with this error; the first error wins."""
        with self._change:
            self.error = self.error or error
            self.stopped.set()
            self._change.notify_all()

    def ended(self) -> HLGraphError | None:
        """The error that stopped all calls; a BudgetError is rebuilt with the current totals."""
        return self._spent() if isinstance(self.error, BudgetError) else self.error

    def admit(self, input_tokens: int) -> int:
        """Wait until a call of about ``input_tokens`` is admitted; returns its admission number, for :meth:`settle`.

        The expected cost scales ``input_tokens`` by the ratio of actual to expected tokens of the earlier calls, and adds
        their mean output tokens.

        Raises BudgetError if the budget does not cover the call, or the error that stopped all calls.
        """
        with self._change:
            while (admission := self.attempt(input_tokens)) is None:
                self._change.wait(_LOOK_SECONDS)
            return admission

    def attempt(self, input_tokens: int) -> int | None:
        """Like :meth:`admit` without waiting; None if a call in progress must end before the decision."""
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
        """Record the cost of an admitted call that ended.

        Parameters
        ----------
        admission : its number, from :meth:`admit`
        input_tokens, output_tokens : tokens used; default 0
        is_paid : whether the call is charged; False: it failed and cost nothing
        """
        with self._change:
            expected, _ = self._under_way.pop(admission)
            if is_paid:
                self.carry(1, input_tokens, output_tokens=output_tokens, expected=expected)
            self._change.notify_all()

    def carry(self, calls: int, input_tokens: int, *, output_tokens: int, expected: int | None = None) -> None:
        """Record calls that ended, such as those that the same command made before this purse was created.

        Parameters
        ----------
        calls : number of calls
        input_tokens, output_tokens : their tokens
        expected : input tokens estimated before the calls; default: ``input_tokens``
        """
        with self._change:
            self._expected += input_tokens if expected is None else expected
            self.calls += calls
            self.input_tokens += input_tokens
            self.output_tokens += output_tokens
            self.usd += self._cost(input_tokens, output_tokens)

    def abandon(self, admission: int) -> None:
        """Record that the cost of an admitted call will never be known; its expected cost counts from now on."""
        with self._change:
            _, cost = self._under_way.pop(admission)
            self._abandoned.append(cost)
            self._change.notify_all()

    @property
    def under_way(self) -> int:
        """Number of calls that were admitted and have not ended."""
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
        mend = "repeat the command to resume it" if self.calls else "raise the budget"
        return BudgetError(
            f"the budget of {' and '.join(limits)} does not cover another call of about {self._refused:,} tokens: "
            f"{self.tokens:,} tokens{money} were spent in {self.calls:,} calls; finished work is kept, {mend}",
            tokens=self.tokens,
            usd=self.usd if self._price else None,
        )


# Expected cost of planned chat calls.

MEASURED_FROM = 10  # number of paid calls of a prompt from which the ledger's means replace guesses
# The guesses: seconds until the first token, and tokens that a model writes per second.
_FIRST_SECONDS, _TOKENS_PER_SECOND = 1.0, 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCost:
    """Calls, tokens, money and time of planned chat calls.

    Attributes
    ----------
    calls : number of paid calls
    kept_calls : calls whose replies are stored and cost nothing
    input_tokens, output_tokens : of the paid calls
    usd : their price in US dollars; None if the price of the model is not known
    seconds : duration at the concurrency of the settings
    model : name of the chat model
    measured_calls : number of paid calls of this model with these prompts in the ledger that the figures rest on; 0: they are
        guesses
    """

    calls: int
    kept_calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    seconds: float
    model: str
    measured_calls: int


def guessed_seconds(output_tokens: float) -> float:
    """Guessed duration in seconds of a call that writes this number of tokens."""
    return _FIRST_SECONDS + output_tokens / _TOKENS_PER_SECOND


# Prices of chat models: the user's own, then those in ``prices.yaml``, which states its date and source.

_FILE = Path(__file__).with_name("prices.yaml")
_FREE = Price(0.0, 0.0)
# LangChain classes, for objects passed instead of names.
_PROVIDERS = {
    "ChatAnthropic": "anthropic",
    "ChatBedrock": "bedrock",
    "ChatBedrockConverse": "bedrock",
    "ChatOllama": "ollama",
    "ChatOpenAI": "openai",
}
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$|-latest$")
_REGION = re.compile(r"^(?:us|eu|apac|global)\.")


class PriceList(NamedTuple):
    """The price list shipped with hlgraph.

    Attributes
    ----------
    date : date of the prices
    source : their origin
    models : price by ``provider:model``
    free : providers that charge nothing
    """

    date: str
    source: str
    models: dict[str, Price]
    free: list[str]


@cache
def price_list() -> PriceList:
    """The contents of ``prices.yaml``."""
    import yaml

    tree = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return PriceList(
        tree["date"], tree["source"], msgspec.convert(tree["models"], dict[str, Price], strict=False), tree["free"]
    )


def price_of(model: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model; None if it is not known (an unknown model is never assumed to be free).

    Parameters
    ----------
    model : ``provider:model``, or a LangChain class in place of the provider; a date at the end of the name, and the region
        before a model of Amazon Bedrock, are ignored if the lists have no such entry
    own : the user's prices, which take precedence; default: none

    Returns
    -------
    Price or None
        The price per million tokens.

    Examples
    --------
    >>> price_of("openai:gpt-4o-mini"), price_of("ollama:llama3.1"), price_of("openai:of-my-own")
    (Price(input=0.15, output=0.6), Price(input=0.0, output=0.0), None)
    >>> price_of("openai:of-my-own", {"openai:of-my-own": Price(1, 2)})
    Price(input=1, output=2)
    """
    provider, _, name = model.partition(":")
    provider = _PROVIDERS.get(provider, provider)
    names = (model, f"{provider}:{name}", f"{provider}:{_DATED.sub('', _REGION.sub('', name))}")
    for prices in (own or {}, price_list().models):
        for each in names:
            if each in prices:
                return prices[each]
    return _FREE if provider in price_list().free else None


class Usage:
    """Running totals of calls and tokens. Thread-safe.

    Attributes
    ----------
    calls : paid calls so far
    input_tokens, output_tokens : their tokens; 0 if the provider does not report them
    kept : stored replies from earlier calls, which cost nothing and do not count as ``calls``
    left_out : names in replies that could not be used (extraction)

    Examples
    --------
    >>> usage = Usage()
    >>> usage.add(Completion("Yes.", input_tokens=12, output_tokens=2))
    >>> usage.calls, usage.input_tokens, usage.output_tokens
    (1, 12, 2)
    """

    def __init__(self) -> None:
        self.calls = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.kept = 0
        self.left_out = 0
        self._lock = threading.Lock()

    def add(self, completion: Completion) -> None:
        """Count one reply."""
        if completion.is_kept:
            with self._lock:
                self.kept += 1
        else:
            self._include(completion)

    def include(self, other: Usage) -> None:
        """Add the totals of another count."""
        self._include(other)
        with self._lock:
            self.kept += other.kept
            self.left_out += other.left_out

    def _include(self, paid: Completion | Usage) -> None:
        with self._lock:
            self.calls += paid.calls
            self.input_tokens += paid.input_tokens
            self.output_tokens += paid.output_tokens

    def leave_out(self, count: int) -> None:
        """Add to the number of names that were left out."""
        with self._lock:
            self.left_out += count
