"""Errors go from process to process as they are."""

from __future__ import annotations

import pickle

import pytest

from hlgraph.errors import (
    BudgetError,
    HLGraphError,
    MissingExtraError,
    ModelUnavailableError,
    ReadError,
    StoreLockedError,
)


@pytest.mark.parametrize(
    "error",
    [
        ReadError("doc:1", "the text is empty", "leave the document out"),
        MissingExtraError("chat", "extraction"),
        BudgetError("spent", tokens=7, usd=0.5),
        ModelUnavailableError("away", retry_after=2.5, is_silent=True),
        StoreLockedError("another process writes", retryable=False),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: HLGraphError) -> None:
    found = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert (type(found), str(found), found.retryable) == (type(error), str(error), error.retryable)
    assert vars(found) == vars(error)
