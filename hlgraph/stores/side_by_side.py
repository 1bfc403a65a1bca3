"""Work in other threads, while a block runs or beside each other."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def side_by_side(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """Runs a function in a thread of its own, in the context of the caller, while the block runs.

    Where the block fails, the thread is waited for, and an error of its own is logged.

    Parameters
    ----------
    work : the function

    Yields
    ------
    Callable
        Waits for the function, and raises what it raised; may be called several times.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="hlgraph-beside") as threads:
        running = threads.submit(copy_context().run, work)
        try:
            yield running.result
        except BaseException as error:
            other = running.exception()
            if other is not None and other is not error:
                _LOG.warning("what ran beside it failed, too: %s", other)
            raise


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Runs functions beside each other, each in a thread of its own and in the context of the caller; waits for all of them.

    Where some fail, the error of the first of them is raised, and those of the others are logged.

    Parameters
    ----------
    works : the functions

    Returns
    -------
    list
        The result of each, in their order.
    """
    if len(works) < 2:
        return [work() for work in works]
    with ThreadPoolExecutor(len(works), thread_name_prefix="hlgraph-at-once") as threads:
        running = [threads.submit(copy_context().run, work) for work in works]
    errors = [error for error in (one.exception() for one in running) if error is not None]
    for other in errors[1:]:
        _LOG.warning("what ran beside it failed, too: %s", other)
    if errors:
        raise errors[0]
    return [one.result() for one in running]
