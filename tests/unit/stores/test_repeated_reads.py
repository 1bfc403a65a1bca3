"""A read whose state changed meanwhile is repeated, whatever became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hlgraph.errors import InputError, StoreConflictError
from hlgraph.stores.one_state import ATTEMPTS, repeated

ERRORS = [KeyError("a1"), TypeError("None < None"), ValueError("zip"), AttributeError("id"), InputError("no such name")]


def outcome(results: Iterator[Any]) -> Any:
    result = next(results)
    if isinstance(result, Exception):
        raise result
    return result


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_counts_only_if_the_state_is_the_same(error: Exception) -> None:
    states, results = iter([1, 2, 2]), iter([error, "right"])
    assert repeated(lambda: next(states), lambda _: outcome(results), corpus="news") == "right"
    with pytest.raises(type(error)):
        repeated(lambda: 1, lambda _: outcome(iter([error])), corpus="news")


def test_a_corpus_that_changes_each_time_is_a_conflict() -> None:
    states = iter(range(ATTEMPTS + 1))
    with pytest.raises(StoreConflictError, match=f"'news' was changed {ATTEMPTS} times"):
        repeated(lambda: next(states), lambda _: outcome(iter([ERRORS[0]])), corpus="news")
