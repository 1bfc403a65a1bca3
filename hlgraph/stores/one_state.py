"""Reads of one published state: a snapshot where the store has one, else the state is compared and the read is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from hlgraph.errors import HLGraphError, StoreConflictError, StoreUnavailableError
from hlgraph.stores.protocols import Stores
from hlgraph.stores.trace import hasty

T = TypeVar("T")
T_State = TypeVar("T_State")
ATTEMPTS: Final = 4
"""Maximum number of times that something is read, if each time a writer changes the corpus meanwhile."""


def in_one_state(stores: Stores, corpus: str | None, *, read: Callable[[], T]) -> T:
    """What a function reads of one published state of a corpus.

    Parameters
    ----------
    stores : the stores
    corpus : name of the corpus; None: all
    read : reads; it may be called several times

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
    """What a function reads in a state that is the same afterwards; an error counts only if the state is the same, too.

    Parameters
    ----------
    state : reads the state
    read : reads in this state; it may be called several times
    corpus : name of the corpus, for the message; None: all
    first : the state that is probably the present one, so that it is read only afterwards; None: it is not known

    Raises
    ------
    StoreConflictError
        The state was another one after each attempt.
    """
    before = state() if first is None else first
    for _ in range(ATTEMPTS):
        failure: HLGraphError | None = None
        try:
            result = read(before)
        except StoreUnavailableError:
            raise  # the state would not be read either
        except HLGraphError as error:
            failure = error
        after = state()
        if after == before:
            if failure is not None:
                raise failure
            return result
        before = after
    name = "a corpus" if corpus is None else f"corpus {corpus!r}"
    raise StoreConflictError(f"{name} was changed {ATTEMPTS} times while it was read; ask again")
