"""A budget is never exceeded by more than one call a worker, whatever calls cost and however many are made at once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from hlgraph.errors import BudgetError
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.protocols import Completion
from hlgraph.settings import Price

_PRICE = Price(1.0, 3.0)


class _Costly:
    """Each call costs what the list says; some take a moment, so that calls overlap in many ways."""

    fingerprint = "costly"

    def __init__(self, costs: Sequence[tuple[int, int]]) -> None:
        self._costs = costs
        self._lock = threading.Lock()
        self.paid: list[tuple[int, int]] = []

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        sent, replied = self._costs[int(user)]
        threading.Event().wait(0.0005 * (sent % 3))
        with self._lock:
            self.paid.append((sent, replied))
        return Completion("Yes.", sent, replied)


_COSTS = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), min_size=1, max_size=40)


@settings(max_examples=60)
@given(_COSTS, st.integers(1, 6), st.integers(1, 4000), st.booleans())
def test_never_exceeded_by_more_than_one_call_a_worker(
    costs: list[tuple[int, int]], workers: int, limit: int, is_money: bool
) -> None:
    model = _Costly(costs)
    accounts = Accounts(price=_PRICE)
    budget = Budget(max_usd=limit / 1e6) if is_money else Budget(max_tokens=limit)
    executor = Executor(model, accounts=accounts, most=workers).begin(budget)
    with contextlib.suppress(BudgetError):
        executor.run(lambda n: executor.complete("s", str(n), max_tokens=5), range(len(costs)))
    assert isinstance(executor.purse.error, BudgetError) == (len(model.paid) < len(costs))
    values = [_PRICE.cost(*cost) * 1e6 if is_money else float(sum(cost)) for cost in model.paid]
    dearest = [_PRICE.cost(*cost) * 1e6 if is_money else float(sum(cost)) for cost in costs]
    assert sum(values) <= limit + workers * max(dearest) + 1e-6
    assert executor.purse.tokens == sum(map(sum, model.paid))
    assert executor.purse.calls == len(model.paid)
