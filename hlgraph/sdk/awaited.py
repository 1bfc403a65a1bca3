"""Coroutine methods made from synchronous ones; each call runs in a thread."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Inner = TypeVar("_Inner")
_END = object()


class Awaited(Generic[_Inner]):
    """Wraps an object: its methods become coroutines, each of which runs in a thread pool.

    A call that is cancelled is abandoned: its thread runs to the end, and its result or error is lost.

    Parameters
    ----------
    inner : the object
    threads : where its methods run; as many as may run at once
    """

    def __init__(self, inner: _Inner, threads: ThreadPoolExecutor) -> None:
        self._inner = inner
        self._threads = threads

    async def _run(self, work: Callable[[], _R]) -> _R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, work)

    def _around(self, inner: _Inner) -> Self:
        """The same for another object, in the same threads."""
        other = copy.copy(self)
        other._inner = inner
        return other


def awaited(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _R]]:
    """The coroutine function that runs a method of the inner object in a thread, with the same parameters and result."""

    @wraps(method)
    async def call(self: Awaited[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self._run(partial(method, self._inner, *args, **kwargs))

    return call


def streamed(
    method: Callable[Concatenate[Any, _P], Iterator[_R]],
) -> Callable[Concatenate[Any, _P], AsyncGenerator[_R, None]]:
    """The asynchronous generator over what a method of the inner object yields; each step runs in a thread."""

    @wraps(method)
    async def call(self: Awaited[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> AsyncGenerator[_R, None]:
        steps: _Steps[_R] = _Steps(partial(method, self._inner, *args, **kwargs))
        try:
            while (item := await self._run(steps.next)) is not _END:
                yield item  # type: ignore[misc]
        except asyncio.CancelledError:
            self._threads.submit(steps.close)  # after the current step; that step is abandoned
            raise
        except GeneratorExit:
            await self._run(steps.close)
            raise

    return call


class _Steps(Generic[_R]):
    """An iterator that threads take turns at: one of them at a time, and in one context, as if they were one."""

    def __init__(self, make: Callable[[], Iterator[_R]]) -> None:
        self._make = make
        self._made: Iterator[_R] | None = None
        self._lock = threading.Lock()
        self._context = copy_context()

    def next(self) -> _R | object:
        """The next item; ``_END`` behind the last one."""
        with self._lock:
            return self._context.run(self._advance)

    def _advance(self) -> _R | object:
        if self._made is None:
            self._made = iter(self._make())
        return next(self._made, _END)

    def close(self) -> None:
        """Close the iterator after the current step has ended."""
        with self._lock:
            close = getattr(self._made, "close", None)
            if close is not None:
                self._context.run(close)
