"""What HLGraph has in public, AsyncHLGraph has too, by name and by signature; what gives many things is read by async for.

The stub of the awaited surface is a snapshot: after a change of HLGraph write it anew with
``HLGRAPH_UPDATE_SNAPSHOTS=1 pytest tests/unit/test_async_surface.py``, and look at the difference.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pytest
from async_stub import stub

import hlgraph
from hlgraph import AsyncHLGraph, HLGraph, _async_surface
from hlgraph.awaited import Awaited, awaited, is_part, is_stream, public
from hlgraph.testing.embedder import WordEmbedder

_STUB = Path(_async_surface.__file__).with_suffix(".pyi")
_OWN = {"graph"}  # what only AsyncHLGraph has


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(32)) as opened:
        yield opened


def _surface(item: object) -> set[str]:
    return {name for name in dir(item) if not name.startswith("_")}


def _compare(theirs: object, ours: object, path: str) -> list[str]:
    """The names of all parts of one object and of the other; fails where they differ."""
    assert _surface(ours) - _OWN == _surface(theirs), path
    found = []
    for name in sorted(_surface(theirs)):
        one, two = getattr(theirs, name), getattr(ours, name)
        member = inspect.getattr_static(type(theirs), name, None)  # a field has none, or no function
        where = f"{path}.{name}"
        found.append(where)
        if inspect.isfunction(member):
            assert inspect.signature(two) == inspect.signature(one), where
            assert two.__doc__ == one.__doc__, where
            made = inspect.signature(one).return_annotation in (type(theirs).__name__, "Self")
            is_awaited = inspect.isasyncgenfunction(two) if is_stream(one) else inspect.iscoroutinefunction(two)
            assert made or is_awaited, where
        elif isinstance(member, property) and is_part(type(one)):
            found += _compare(one, two, where)
        else:
            assert two == one, where
    return found


def test_both_have_the_same_surface(graph: HLGraph) -> None:
    found = _compare(graph, AsyncHLGraph(graph), "graph")
    assert {"graph.search", "graph.communities.build", "graph.hierarchy.find", "graph.batches.plan"} <= set(found)
    assert isinstance(AsyncHLGraph(graph).in_corpus("other"), AsyncHLGraph)


def test_a_type_checker_sees_the_same_surface() -> None:
    if os.environ.get("HLGRAPH_UPDATE_SNAPSHOTS"):
        _STUB.write_text(stub(), encoding="utf-8")
    assert _STUB.read_text(encoding="utf-8") == stub()


class _Counter:
    """A stream, and what goes with it: where it ran, and how it ended."""

    number: contextvars.ContextVar[int] = contextvars.ContextVar("number", default=0)

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.ended = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def count(self, end: int, *, fail_at: int = -1) -> Generator[int, None, None]:
        """Numbers from 0."""
        token = self.number.set(7)
        try:
            for at in range(end):
                self.threads.add(threading.get_ident())
                if at == fail_at:
                    raise ValueError(f"no {at}")
                assert self.gate.wait(60)
                yield at * self.number.get()
        finally:
            self.number.reset(token)  # fails in another context than that of set
            self.ended.set()

    def letters(self) -> Iterator[str]:
        """Without being a generator."""
        return iter("abc")

    def again(self) -> Self:
        """The same."""
        return self


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as made:
        yield made


def _counting(threads: ThreadPoolExecutor) -> tuple[_Counter, Any]:
    inner = _Counter()
    return inner, awaited(_Counter)(inner, threads)


async def test_a_stream_gives_all_outside_of_the_loop(threads: ThreadPoolExecutor) -> None:
    inner, ours = _counting(threads)
    assert [item async for item in ours.count(5)] == [0, 7, 14, 21, 28]
    assert threading.get_ident() not in inner.threads
    assert inner.ended.is_set()
    assert [item async for item in ours.again().letters()] == ["a", "b", "c"]
    assert [item async for item in ours.count(0)] == []


async def test_streams_take_turns_at_one_thread() -> None:
    with ThreadPoolExecutor(1) as threads:
        _, ours = _counting(threads)
        one, two = ours.count(3), ours.count(3)
        assert [(await anext(one), await anext(two)) for _ in range(3)] == [(0, 0), (7, 7), (14, 14)]
        await asyncio.gather(one.aclose(), two.aclose())


async def test_the_error_of_a_stream_comes_at_its_place(threads: ThreadPoolExecutor) -> None:
    _, ours = _counting(threads)
    stream = ours.count(5, fail_at=2)
    assert [await anext(stream), await anext(stream)] == [0, 7]
    with pytest.raises(ValueError, match="no 2"):
        await anext(stream)
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_stream_that_is_left_is_closed(threads: ThreadPoolExecutor) -> None:
    inner, ours = _counting(threads)
    async with contextlib.aclosing(ours.count(5)) as stream:
        async for item in stream:
            if item:
                break
    assert inner.ended.is_set()


async def test_a_stream_that_is_cancelled_is_closed_after_its_step(threads: ThreadPoolExecutor) -> None:
    inner, ours = _counting(threads)
    inner.gate.clear()

    async def read() -> list[int]:
        return [item async for item in ours.count(5)]

    reading = asyncio.create_task(read())
    while not inner.threads:
        await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not inner.ended.is_set()  # the step is still under way
    inner.gate.set()
    assert await asyncio.to_thread(inner.ended.wait, 60)


def test_only_objects_of_this_package_that_do_something_are_parts() -> None:
    assert not is_part(str)
    assert not is_part(hlgraph.Kind)
    assert is_part(HLGraph)
    assert issubclass(AsyncHLGraph, Awaited)
    assert set(public(_Counter)) == {"again", "count", "letters", "number"}
