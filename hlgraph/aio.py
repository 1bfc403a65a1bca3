"""HLGraph for programs that run on asyncio: the same calls, each in a thread, so that the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from hlgraph.client import HLGraph

if TYPE_CHECKING:
    from hlgraph.settings import Settings

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _in_thread(
    method: Callable[Concatenate[HLGraph, _P], _R],
) -> Callable[Concatenate[AsyncHLGraph, _P], Awaitable[_R]]:
    """The method of HLGraph with its own signature and documentation, awaited."""

    @wraps(method)
    async def call(self: AsyncHLGraph, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        async with self._places:
            return await asyncio.to_thread(method, self.graph, *args, **kwargs)

    return call


def _streamed(
    method: Callable[Concatenate[HLGraph, _P], Iterator[_R]],
) -> Callable[Concatenate[AsyncHLGraph, _P], AsyncIterator[_R]]:
    """The method of HLGraph with its own signature and documentation, its items awaited one by one."""

    @wraps(method)
    async def call(self: AsyncHLGraph, /, *args: _P.args, **kwargs: _P.kwargs) -> AsyncIterator[_R]:
        async with self._places:
            items = method(self.graph, *args, **kwargs)
            step: asyncio.Future[_R | None] = asyncio.ensure_future(asyncio.to_thread(next, items, None))
            try:
                while (item := await asyncio.shield(step)) is not None:
                    yield item
                    step = asyncio.ensure_future(asyncio.to_thread(next, items, None))
            finally:
                # Nobody may close it while a thread is in it, and it must be closed, so that its call ends.
                await asyncio.wait([step])
                step.cancelled() or step.exception()  # seen, where nobody awaits it any more
                if isinstance(items, Generator):
                    await asyncio.to_thread(items.close)

    return call


class AsyncHLGraph:
    """An :class:`HLGraph` whose methods are awaited; parameters, results and errors are those of the methods there.

    Calls run side by side, at most ``concurrency`` at a time; writing calls exclude each other, as those of threads do
    (StoreLockedError). A call that is cancelled is not waited for any more, but its thread goes on to the end: an ingest
    that was cancelled is complete, or is completed by the next one. ``answer_stream`` gives an async iterator
    (``async for event in graph.answer_stream("Who?")``); closing it ends the call of the model.

    What HLGraph gives as an attribute (``communities``,
    ``hierarchy``, ``batches``) is that of ``graph``: call it in a thread of your own (``asyncio.to_thread``).

    Parameters
    ----------
    graph : what :func:`hlgraph.connect` gives; it is closed with this
    concurrency : default 8

    Examples
    --------
    ::

        async with AsyncHLGraph(hlgraph.connect("hlgraph://./my-graph")) as graph:
            first, second = await asyncio.gather(graph.search("Who?"), graph.search("Where?"))
    """

    def __init__(self, graph: HLGraph, *, concurrency: int = 8) -> None:
        self.graph = graph
        self._concurrency = concurrency
        self._places = asyncio.Semaphore(concurrency)

    @property
    def settings(self) -> Settings:
        """Those of the graph."""
        return self.graph.settings

    @property
    def corpus(self) -> str:
        """The corpus that the calls are about."""
        return self.graph.corpus

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def in_corpus(self, name: str) -> AsyncHLGraph:
        """The same store and models, another corpus; closing either closes both."""
        return AsyncHLGraph(self.graph.in_corpus(name), concurrency=self._concurrency)

    answer = _in_thread(HLGraph.answer)
    answer_stream = _streamed(HLGraph.answer_stream)
    check = _in_thread(HLGraph.check)
    close = _in_thread(HLGraph.close)
    cypher = _in_thread(HLGraph.cypher)
    delete = _in_thread(HLGraph.delete)
    ingest = _in_thread(HLGraph.ingest)
    ledger = _in_thread(HLGraph.ledger)
    plan = _in_thread(HLGraph.plan)
    reconcile = _in_thread(HLGraph.reconcile)
    search = _in_thread(HLGraph.search)
    stats = _in_thread(HLGraph.stats)
