"""HLGraph for asyncio: the same methods as coroutines; each call runs in a thread and does not block the event loop."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from hlgraph.errors import InputError
from hlgraph.sdk.align import Alignment
from hlgraph.sdk.answers import Answers
from hlgraph.sdk.batches import Batches
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.communities import Communities
from hlgraph.sdk.contents import Entities, Sources
from hlgraph.sdk.domain import CorpusDomain
from hlgraph.sdk.embeddings import Embeddings
from hlgraph.sdk.facts import Facts
from hlgraph.sdk.failures import Failures
from hlgraph.sdk.groups import Groups
from hlgraph.sdk.hierarchy import Hierarchy
from hlgraph.sdk.history import History
from hlgraph.sdk.merges import Merges
from hlgraph.sdk.quality import Quality
from hlgraph.sdk.questions import Questions
from hlgraph.sdk.retention import Holds, Receipts

if TYPE_CHECKING:
    from hlgraph.settings import Settings
    from hlgraph.stores.protocols import Stores


# Coroutines made from synchronous methods.

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
    threads : runs the methods; its size limits the number of concurrent calls
    """

    def __init__(self, inner: _Inner, threads: ThreadPoolExecutor) -> None:
        self._inner = inner
        self._threads = threads

    async def _run(self, work: Callable[[], _R]) -> _R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, work)

    def _around(self, inner: _Inner) -> Self:
        """A copy for another object, with the same threads."""
        other = copy.copy(self)
        other._inner = inner
        return other


def awaited(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _R]]:
    """A coroutine function that runs a method of the inner object in a thread, with the same parameters and result."""

    @wraps(method)
    async def call(self: Awaited[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        own = getattr(self._inner, method.__name__)  # which a caller's view may refuse
        return await self._run(partial(own, *args, **kwargs))

    return call


def streamed(
    method: Callable[Concatenate[Any, _P], Iterator[_R]],
) -> Callable[Concatenate[Any, _P], AsyncGenerator[_R, None]]:
    """An asynchronous generator over the items that a method of the inner object yields; each step runs in a thread."""

    @wraps(method)
    async def call(self: Awaited[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> AsyncGenerator[_R, None]:
        steps: _Steps[_R] = _Steps(partial(getattr(self._inner, method.__name__), *args, **kwargs))
        try:
            while (step := await self._run(steps.next)) is not _END:
                yield step  # type: ignore[misc]
        except asyncio.CancelledError:
            self._threads.submit(steps.close)  # after the current step; that step is abandoned
            raise
        except GeneratorExit:
            await self._run(steps.close)
            raise

    return call


class _Steps(Generic[_R]):
    """An iterator for several threads: its steps run one at a time and in one context."""

    def __init__(self, make: Callable[[], Iterator[_R]]) -> None:
        self._make = make
        self._made: Iterator[_R] | None = None
        self._lock = threading.Lock()
        self._context = copy_context()

    def next(self) -> _R | object:
        """The next item; ``_END`` after the last one."""
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


class _Part(Generic[_Inner]):
    """A part of an :class:`AsyncHLGraph`: the part of this name of its graph, with awaited methods."""

    def __init__(self, kind: Callable[[Any, ThreadPoolExecutor], _Inner]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self.__doc__ = f"See :attr:`HLGraph.{name}`."

    def __get__(self, graph: AsyncHLGraph, owner: type) -> _Inner:
        return self._kind(getattr(graph.graph, self._name), graph._threads)


class AsyncAlignment(Awaited[Alignment]):
    """:class:`hlgraph.sdk.align.Alignment`, awaited."""

    make = awaited(Alignment.make)
    plan = awaited(Alignment.plan)
    audit = awaited(Alignment.audit)
    train = awaited(Alignment.train)
    compare = awaited(Alignment.compare)


class AsyncAnswers(Awaited[Answers]):
    """:class:`hlgraph.sdk.answers.Answers`, awaited."""

    plan = awaited(Answers.plan)
    closed_book = awaited(Answers.closed_book)
    judge = awaited(Answers.judge)
    judging_cost = awaited(Answers.judging_cost)


class AsyncBatches(Awaited[Batches]):
    """:class:`hlgraph.sdk.batches.Batches`, awaited."""

    plan = awaited(Batches.plan)
    export = awaited(Batches.export)
    take = awaited(Batches.take)


class AsyncCommunities(Awaited[Communities]):
    """:class:`hlgraph.sdk.communities.Communities`, awaited."""

    build = awaited(Communities.build)
    find = awaited(Communities.find)
    map = awaited(Communities.map)


class AsyncCorpusDomain(Awaited[CorpusDomain]):
    """:class:`hlgraph.sdk.domain.CorpusDomain`, awaited."""

    find = awaited(CorpusDomain.find)
    infer = awaited(CorpusDomain.infer)
    set = awaited(CorpusDomain.set)
    clear = awaited(CorpusDomain.clear)


class AsyncSources(Awaited[Sources]):
    """:class:`hlgraph.sdk.contents.Sources`, awaited."""

    list = awaited(Sources.list)
    each = streamed(Sources.each)
    to_pandas = awaited(Sources.to_pandas)
    to_arrow = awaited(Sources.to_arrow)
    open = awaited(Sources.open)


class AsyncEntities(Awaited[Entities]):
    """:class:`hlgraph.sdk.contents.Entities`, awaited."""

    list = awaited(Entities.list)
    each = streamed(Entities.each)
    to_pandas = awaited(Entities.to_pandas)
    to_arrow = awaited(Entities.to_arrow)
    open = awaited(Entities.open)


class AsyncFacts(Awaited[Facts]):
    """:class:`hlgraph.sdk.facts.Facts`, awaited."""

    list = awaited(Facts.list)
    each = streamed(Facts.each)
    to_pandas = awaited(Facts.to_pandas)
    to_arrow = awaited(Facts.to_arrow)
    open = awaited(Facts.open)
    read = awaited(Facts.read)
    sources = awaited(Facts.sources)
    chunks = streamed(Facts.chunks)
    records = awaited(Facts.records)
    topic_chunks = awaited(Facts.topic_chunks)
    topics = awaited(Facts.topics)


class AsyncEmbeddings(Awaited[Embeddings]):
    """:class:`hlgraph.sdk.embeddings.Embeddings`, awaited."""

    list = awaited(Embeddings.list)
    plan = awaited(Embeddings.plan)
    build = awaited(Embeddings.build)
    verify = awaited(Embeddings.verify)
    switch = awaited(Embeddings.switch)
    rollback = awaited(Embeddings.rollback)
    drop = awaited(Embeddings.drop)


class AsyncFailures(Awaited[Failures]):
    """:class:`hlgraph.sdk.failures.Failures`, awaited."""

    find = awaited(Failures.find)
    retry = awaited(Failures.retry)
    accept = awaited(Failures.accept)
    drop = awaited(Failures.drop)


class AsyncGroups(Awaited[Groups]):
    """:class:`hlgraph.sdk.groups.Groups`, awaited."""

    list = awaited(Groups.list)
    set = awaited(Groups.set)
    clear = awaited(Groups.clear)


class AsyncHierarchy(Awaited[Hierarchy]):
    """:class:`hlgraph.sdk.hierarchy.Hierarchy`, awaited."""

    build = awaited(Hierarchy.build)
    plan = awaited(Hierarchy.plan)
    find = awaited(Hierarchy.find)


class AsyncHistory(Awaited[History]):
    """:class:`hlgraph.sdk.history.History`, awaited."""

    keep = awaited(History.keep)
    versions = awaited(History.versions)
    diff = awaited(History.diff)
    changes = awaited(History.changes)
    diff_of = awaited(History.diff_of)


class AsyncHolds(Awaited[Holds]):
    """:class:`hlgraph.sdk.retention.Holds`, awaited."""

    add = awaited(Holds.add)
    list = awaited(Holds.list)
    release = awaited(Holds.release)


class AsyncReceipts(Awaited[Receipts]):
    """:class:`hlgraph.sdk.retention.Receipts`, awaited."""

    verify = awaited(Receipts.verify)


class AsyncMerges(Awaited[Merges]):
    """:class:`hlgraph.sdk.merges.Merges`, awaited."""

    propose = awaited(Merges.propose)
    judge = awaited(Merges.judge)
    list = awaited(Merges.list)
    page = awaited(Merges.page)
    apply = awaited(Merges.apply)
    undo = awaited(Merges.undo)


class AsyncQuality(Awaited[Quality]):
    """:class:`hlgraph.sdk.quality.Quality`, awaited."""

    coverage = awaited(Quality.coverage)
    faithfulness = awaited(Quality.faithfulness)


class AsyncQuestions(Awaited[Questions]):
    """:class:`hlgraph.sdk.questions.Questions`, awaited."""

    make = awaited(Questions.make)
    plan = awaited(Questions.plan)
    check = awaited(Questions.check)
    export = awaited(Questions.export)


class AsyncHLGraph(Awaited[HLGraph]):
    """An :class:`HLGraph` whose methods are awaited; parameters, results and errors are the same.

    The parts (``communities``, ``hierarchy``, ``batches``, ...) have awaited methods too, and a method that yields is read by
    ``async for``.

    Calls run concurrently, at most ``concurrency`` at a time. Writing calls exclude each other, as they do between threads
    (StoreLockedError). Callbacks such as ``on_progress`` are called in the thread. A call that is cancelled before its turn
    is not made. A running call that is cancelled is abandoned: its thread runs to the end, so a cancelled ingest is complete,
    or is completed by the next one. A stream that is cancelled is closed after the current step. A stream left by ``break`` is
    closed when the event loop gets to it; use ``contextlib.aclosing`` to close it at once.

    Parameters
    ----------
    graph : the result of :func:`hlgraph.connect`; it is closed with this object
    concurrency : maximum number of concurrent calls (default 8), including those of ``in_corpus``

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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    close = awaited(HLGraph.close)
    ingest = awaited(HLGraph.ingest)
    plan = awaited(HLGraph.plan)
    delete = awaited(HLGraph.delete)
    search = awaited(HLGraph.search)
    answer = awaited(HLGraph.answer)
    answer_stream = streamed(HLGraph.answer_stream)
    contradictions = awaited(HLGraph.contradictions)
    evaluate = awaited(HLGraph.evaluate)
    recipe = awaited(HLGraph.recipe)
    cypher = awaited(HLGraph.cypher)
    ledger = awaited(HLGraph.ledger)
    stats = awaited(HLGraph.stats)
    check = awaited(HLGraph.check)
    health = awaited(HLGraph.health)
    reconcile = awaited(HLGraph.reconcile)
    backup = awaited(HLGraph.backup)
    export_corpus = awaited(HLGraph.export_corpus)
    export_graph = awaited(HLGraph.export_graph)
    import_corpus = awaited(HLGraph.import_corpus)

    def in_corpus(self, name: str) -> Self:
        """See :meth:`HLGraph.in_corpus`; the threads are shared."""
        return self._around(self.graph.in_corpus(name))

    def watched(self, watch: Callable[[Stores], Stores]) -> Self:
        """See :meth:`HLGraph.watched`; the threads are shared."""
        return self._around(self.graph.watched(watch))

    def as_caller(self, groups: Iterable[str]) -> Self:
        """See :meth:`HLGraph.as_caller`; the threads are shared."""
        return self._around(self.graph.as_caller(groups))

    def as_operator(self) -> Self:
        """See :meth:`HLGraph.as_operator`; the threads are shared."""
        return self._around(self.graph.as_operator())

    @property
    def graph(self) -> HLGraph:
        """The synchronous graph, for calls that are not awaited, and for its ``ingestion``."""
        return self._inner

    @property
    def settings(self) -> Settings:
        """The settings of the graph."""
        return self.graph.settings

    @property
    def corpus(self) -> str:
        """The corpus of the calls."""
        return self.graph.corpus

    align = _Part(AsyncAlignment)
    answers = _Part(AsyncAnswers)
    batches = _Part(AsyncBatches)
    communities = _Part(AsyncCommunities)
    domain = _Part(AsyncCorpusDomain)
    embeddings = _Part(AsyncEmbeddings)
    failures = _Part(AsyncFailures)
    groups = _Part(AsyncGroups)
    hierarchy = _Part(AsyncHierarchy)
    history = _Part(AsyncHistory)
    holds = _Part(AsyncHolds)
    merges = _Part(AsyncMerges)
    quality = _Part(AsyncQuality)
    questions = _Part(AsyncQuestions)
    receipts = _Part(AsyncReceipts)
    sources = _Part(AsyncSources)
    entities = _Part(AsyncEntities)
    facts = _Part(AsyncFacts)
