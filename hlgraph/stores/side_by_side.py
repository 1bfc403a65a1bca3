"""Work in another thread while a block runs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
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
