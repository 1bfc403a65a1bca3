"""Read one published state: in a snapshot if the store has them, else by comparing states and repeating the read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from hlgraph.errors import HLGraphError, StoreConflictError, StoreUnavailableError
from hlgraph.stores.protocols import Stores
from hlgraph.stores.trace import hasty

T = TypeVar("T")
T_State = TypeVar("T_State")
# Those besides HLGraphError come from records of two states, which do not fit together.
_FAILURES: Final = (HLGraphError, AttributeError, LookupError, TypeError, ValueError)
ATTEMPTS: Final = 4
"""Maximum number of reads, if a writer changes the corpus each time."""


def in_one_state(stores: Stores, corpus: str | None, *, read: Callable[[], T]) -> T:
    """The result of a function that reads one published state of a corpus.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus; None: all
    read : reads the stores; may be called several times

    Raises
    ------
    StoreConflictError
        The corpus was changed during each attempt.
    """
    with stores.snapshot() as is_pinned:
        if is_pinned:
            return read()
    with hasty():
        return repeated(lambda: stores.graph.stats(corpus, has_counts=False), lambda _: read(), corpus=corpus)


def repeated(
    state: Callable[[], T_State], read: Callable[[T_State], T], *, corpus: str | None, first: T_State | None = None
) -> T:
    """The result of a read whose state is the same before and after. An error is raised only if the state is the same, too.

    Parameters
    ----------
    state : reads the state
    read : reads in this state; may be called several times
    corpus : name of the corpus, for the message; None: all
    first : the probable present state, which is then read only afterwards; None: unknown

    Raises
    ------
    StoreConflictError
        The state changed during each attempt.
    """
    before = state() if first is None else first
    for _ in range(ATTEMPTS):
        failure: Exception | None = None
        try:
            result = read(before)
        except StoreUnavailableError:
            raise  # the state would not be read either
        except _FAILURES as error:
            failure = error
        after = state()
        if after == before:
            if failure is not None:
                raise failure
            return result
        before = after
    name = "a corpus" if corpus is None else f"corpus {corpus!r}"
    raise StoreConflictError(f"{name} was changed {ATTEMPTS} times while it was read; ask again")
