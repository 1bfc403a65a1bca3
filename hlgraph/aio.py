"""HLGraph for programs that run on asyncio: the same calls, each in a thread, so that the loop goes on meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from hlgraph._async_surface import AsyncSurface
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.client import HLGraph
    from hlgraph.settings import Settings


class AsyncHLGraph(AsyncSurface):
    """An :class:`HLGraph` whose methods are awaited; parameters, results and errors are those of the methods there.

    What HLGraph gives as an attribute (``communities``, ``hierarchy``, ``batches``) has methods that are awaited too, and a
    method that gives one thing after another is read by ``async for``.

    Calls run side by side, at most ``concurrency`` at a time; writing calls exclude each other, as those of threads do
    (StoreLockedError). What is passed to be called, such as ``on_progress``, is called in the thread. A call that is
    cancelled before its turn is not made. One that is under way is not waited for any more, but its thread goes on to the
    end: an ingest that was cancelled is complete, or is completed by the next one. A stream that is cancelled is closed
    after the step that is under way; one that a ``break`` leaves is closed when the event loop comes to it, so use
    ``contextlib.aclosing`` where that matters.

    Parameters
    ----------
    graph : what :func:`hlgraph.connect` gives; it is closed with this
    concurrency : default 8; those of ``in_corpus`` are among them

    Raises
    ------
    InputError : ``concurrency`` is below 1

    Examples
    --------
    ::

        async with AsyncHLGraph(hlgraph.connect("hlgraph://./my-graph")) as graph:
            first, second = await asyncio.gather(graph.search("Who?"), graph.search("Where?"))
            await graph.communities.build()
    """

    def __init__(self, graph: HLGraph, *, concurrency: int = 8) -> None:
        if concurrency < 1:
            raise InputError(f"concurrency is {concurrency}; it must be at least 1")
        super().__init__(graph, ThreadPoolExecutor(concurrency, thread_name_prefix="hlgraph"))

    @property
    def graph(self) -> HLGraph:
        """The graph itself, for calls that are not awaited."""
        return self._inner

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
