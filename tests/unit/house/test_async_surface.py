"""What HLGraph and its parts have in public, AsyncHLGraph has too, by name and by signature; mypy reads tests/typing."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hlgraph import AsyncHLGraph, HLGraph
from hlgraph.sdk.aio import Awaited, streamed

_ONLY_ASYNC = {"graph"}
_ONLY_SYNC = {"ingestion"}  # for those who run its steps; reached by `graph.graph.ingestion`
_PARTS = (
    "align",
    "answers",
    "batches",
    "communities",
    "domain",
    "entities",
    "facts",
    "failures",
    "hierarchy",
    "holds",
    "merges",
    "quality",
    "questions",
    "receipts",
    "sources",
)


def _methods(item: object) -> dict[str, object]:
    """The public methods of an object by name."""
    names = [name for name in dir(type(item)) if not name.startswith("_")]
    found = {name: inspect.getattr_static(type(item), name) for name in names}
    return {name: member for name, member in found.items() if inspect.isfunction(member)}


def _same_methods(theirs: object, ours: object) -> set[str]:
    wanted, found = _methods(theirs), _methods(ours)
    assert wanted.keys() == found.keys(), type(theirs)
    for name, method in wanted.items():
        one, two = getattr(theirs, name), getattr(ours, name)
        if name in ("as_caller", "as_operator", "in_corpus", "watched"):
            continue
        assert inspect.signature(two) == inspect.signature(one), name
        assert two.__doc__ == one.__doc__, name
        is_stream = str(inspect.signature(method).return_annotation).startswith("Iterator")
        assert inspect.isasyncgenfunction(two) if is_stream else inspect.iscoroutinefunction(two), name
    return set(wanted)


def test_both_have_the_same_methods_and_parts(graph: HLGraph) -> None:
    ours = AsyncHLGraph(graph)
    assert {"search", "answer_stream", "ingest"} <= _same_methods(graph, ours)
    for part in _PARTS:
        assert _same_methods(getattr(graph, part), getattr(ours, part)), part
    public = [{name for name in dir(item) if not name.startswith("_")} for item in (graph, ours)]
    assert public[0] - _ONLY_SYNC == public[1] - _ONLY_ASYNC
    assert isinstance(ours.in_corpus("other"), AsyncHLGraph)
    assert (ours.corpus, ours.in_corpus("other").corpus, ours.settings) == ("default", "other", graph.settings)


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


class _AsyncCounter(Awaited[_Counter]):
    count = streamed(_Counter.count)
    letters = streamed(_Counter.letters)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as made:
        yield made


def _counting(threads: ThreadPoolExecutor) -> tuple[_Counter, _AsyncCounter]:
    inner = _Counter()
    return inner, _AsyncCounter(inner, threads)


async def test_a_stream_gives_all_outside_of_the_loop(threads: ThreadPoolExecutor) -> None:
    inner, ours = _counting(threads)
    assert [item async for item in ours.count(5)] == [0, 7, 14, 21, 28]
    assert threading.get_ident() not in inner.threads
    assert inner.ended.is_set()
    assert [item async for item in ours.letters()] == ["a", "b", "c"]
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
