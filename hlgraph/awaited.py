"""Classes whose methods are awaited, made from classes whose methods are not; each call runs in a thread."""

from __future__ import annotations

import asyncio
import copy
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import fields, is_dataclass
from functools import partial, wraps
from typing import Any, Protocol, Self

_END = object()
_STREAMS = ("Generator", "Iterator")


class Awaited:
    """Another object, the public methods of which are awaited here; each runs in one of some threads.

    Classes are made by :func:`awaited`. A call that is cancelled is not waited for any more; its thread goes on to the end,
    and what it gives or raises then is lost.

    Parameters
    ----------
    inner : the object
    threads : where its methods run; as many as may run at once
    """

    def __init__(self, inner: object, threads: ThreadPoolExecutor) -> None:
        self._inner = inner
        self._threads = threads

    async def _run(self, work: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, work)

    def _around(self, inner: object) -> Self:
        """The same for another object: it has the same threads."""
        other = copy.copy(self)
        other._inner = inner
        return other


_CLASSES: dict[type, type[Awaited]] = {}  # each is made once


class Method(Protocol):
    """A function of a class, which has a name."""

    __name__: str

    def __call__(self, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call it for an object of that class."""


def is_part(kind: type) -> bool:
    """Whether objects of a class do something and so have to be awaited: a class of this package with public methods."""
    own = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return own and any(inspect.isfunction(value) for value in public(kind).values())


def public(kind: type) -> dict[str, Any]:
    """The public members of a class by name, as they stand in it; those that it inherits too."""
    names = sorted(name for name in dir(kind) if not name.startswith("_"))
    return {name: inspect.getattr_static(kind, name) for name in names}


def given(method: Callable[..., object]) -> str:
    """What a method says that it gives, without what stands in brackets; empty where it does not say."""
    found = inspect.signature(method).return_annotation
    if found is inspect.Signature.empty:
        return ""
    text = found if isinstance(found, str) else getattr(found, "__name__", str(found))
    return text.partition("[")[0].rpartition(".")[2]


def is_stream(method: Callable[..., object]) -> bool:
    """Whether a method gives one thing after another: it is a generator, or says that it gives an iterator."""
    return inspect.isgeneratorfunction(method) or given(method) in _STREAMS


def awaited(kind: type) -> type[Awaited]:
    """A class with the public surface of another one.

    Its methods are coroutines, those that give an iterator are asynchronous generators; parameters, documentation and errors
    are the same. Properties that give an object with methods of its own give that object awaited; what else is a property
    or a field gives the same value. A method that gives an object of the class itself opens nothing and is not awaited: it
    gives that object awaited.
    """
    if kind in _CLASSES:
        return _CLASSES[kind]
    made: dict[str, Any] = {"__doc__": kind.__doc__, "__module__": __name__}
    for name, member in public(kind).items():
        if inspect.isfunction(member):
            made[name] = _called(member, kind)
        elif isinstance(member, property):
            made[name] = _read(name, member.__doc__)
    if is_dataclass(kind):
        made |= {item.name: _same(item.name) for item in fields(kind) if not item.name.startswith("_")}
    return _CLASSES.setdefault(kind, type(f"Async{kind.__name__}", (Awaited,), made))


def _called(method: Method, kind: type) -> Method:
    if given(method) in (kind.__name__, "Self"):
        return _made(method)
    return _streamed(method) if is_stream(method) else _in_thread(method)


def _made(method: Method) -> Method:
    @wraps(method)
    def call(self: Awaited, /, *args: object, **kwargs: object) -> Awaited:
        return self._around(method(self._inner, *args, **kwargs))

    return call


def _in_thread(method: Method) -> Method:
    @wraps(method)
    async def call(self: Awaited, /, *args: object, **kwargs: object) -> object:
        return await self._run(partial(method, self._inner, *args, **kwargs))

    return call


def _streamed(method: Method) -> Method:
    @wraps(method)
    async def call(self: Awaited, /, *args: object, **kwargs: object) -> AsyncGenerator[object, None]:
        steps = _Steps(partial(method, self._inner, *args, **kwargs))
        try:
            while (item := await self._run(steps.next)) is not _END:
                yield item
        except asyncio.CancelledError:
            self._threads.submit(steps.close)  # behind the step that is under way, which nobody waits for
            raise
        except GeneratorExit:
            await self._run(steps.close)
            raise

    return call


def _read(name: str, words: str | None = None) -> property:
    def value(self: Awaited) -> object:
        found = getattr(self._inner, name)
        kind: type[object] = type(found)
        return awaited(kind)(found, self._threads) if is_part(kind) else found

    return property(value, doc=words)


def _same(name: str) -> property:
    return property(lambda self: getattr(self._inner, name))


class _Steps:
    """An iterator that threads take turns at: one of them at a time, and in one context, as if they were one."""

    def __init__(self, make: Callable[[], Iterator[object]]) -> None:
        self._make = make
        self._made: Iterator[object] | None = None
        self._lock = threading.Lock()
        self._context = copy_context()

    def next(self) -> object:
        """The next item; ``_END`` behind the last one."""
        with self._lock:
            return self._context.run(self._advance)

    def _advance(self) -> object:
        if self._made is None:
            self._made = iter(self._make())
        return next(self._made, _END)

    def close(self) -> None:
        """Close the iterator, once a step that is under way has ended."""
        with self._lock:
            close = getattr(self._made, "close", None)
            if close is not None:
                self._context.run(close)
