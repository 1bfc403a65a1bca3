"""AsyncHLGraph is HLGraph, awaited: the same results and errors, and the loop goes on meanwhile.

That it has the same methods: test_async_surface.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hlgraph
from hlgraph import AsyncHLGraph, HLGraph
from hlgraph.errors import InputError, ModelAnswerError, UnknownNameError
from hlgraph.models import choose
from hlgraph.models.choose import ChosenModels
from hlgraph.records import Document, Kind
from hlgraph.settings import ModelSettings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

_DOCUMENTS = [
    Document("a", "Mara Quill designed the Aldane Bridge in 1931."),
    Document("b", "Ivo Brandt was born in Tessing."),
]


class _Meeting:
    """An embedder whose calls wait until so many are there at once."""

    def __init__(self, parties: int) -> None:
        self._inner = WordEmbedder(32)
        self.barrier = threading.Barrier(parties, timeout=60)
        self.is_open = True

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.is_open:
            self.barrier.wait()
        return self._inner.embed(texts)

    def forget(self, texts: Sequence[str]) -> None:
        self._inner.forget(texts)


def _cause(error: object) -> type[BaseException]:
    """What the embedder raised."""
    assert isinstance(error, ModelAnswerError)
    return type(error.__cause__)


@pytest.fixture
def graph(graph: HLGraph) -> HLGraph:
    graph.ingest(_DOCUMENTS)
    return graph


async def test_results_are_those_of_the_graph(graph: HLGraph) -> None:
    found = AsyncHLGraph(graph)
    question = "Who designed the Aldane Bridge?"
    assert (await found.search(question)).evidence == graph.search(question).evidence
    assert (await found.answer(question)).text == graph.answer(question).text
    assert await found.stats() == graph.stats()
    assert (found.corpus, found.settings) == (graph.corpus, graph.settings)


async def test_errors_are_those_of_the_graph(graph: HLGraph) -> None:
    with pytest.raises(UnknownNameError, match="there is no corpus 'other'"):
        await AsyncHLGraph(graph).in_corpus("other").search("Who?")


async def test_a_whole_life_in_one_block(tmp_path: Path) -> None:
    async with AsyncHLGraph(hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(32))) as graph:
        assert (await graph.ingest(_DOCUMENTS)).sources_added == 2
        assert (await graph.ingest(_DOCUMENTS)).sources_unchanged == 2
        assert all(item.is_fine for item in await graph.check())
        await graph.delete("a")
        assert [item.source.uri for item in (await graph.search("Who was born in Tessing?")).evidence] == ["b"]


async def test_searches_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for the other: one after another they would never end."""
    meeting = _Meeting(2)
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=meeting) as opened:
        opened.ingest(_DOCUMENTS)
        meeting.is_open = False
        graph = AsyncHLGraph(opened)
        found = await asyncio.gather(graph.search("Who designed it?"), graph.search("Who was born there?"))
        assert all(result.evidence for result in found)


async def test_no_more_calls_than_allowed_are_under_way(tmp_path: Path) -> None:
    meeting = _Meeting(2)
    meeting.barrier = threading.Barrier(2, timeout=1)
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=meeting) as opened:
        opened.ingest(_DOCUMENTS)
        meeting.is_open = False
        graph = AsyncHLGraph(opened, concurrency=1)
        results = await asyncio.gather(graph.search("Who?"), graph.search("Where?"), return_exceptions=True)
        assert [_cause(item) for item in results] == [threading.BrokenBarrierError] * 2  # nobody met anybody


async def test_many_calls_of_all_kinds_at_once_give_what_they_give_alone(graph: HLGraph) -> None:
    found = AsyncHLGraph(graph, concurrency=4)
    questions = [f"Who designed the Aldane Bridge, {at}?" for at in range(20)]
    alone = [graph.search(question).evidence for question in questions]
    results = await asyncio.gather(
        *(found.search(question) for question in questions),
        *(found.stats() for _ in range(5)),
        *(found.communities.find() for _ in range(5)),
        *(found.hierarchy.find() for _ in range(5)),
        *(found.in_corpus("other").search("Who?") for _ in range(5)),
        return_exceptions=True,
    )
    assert [item.evidence for item in results[:20]] == alone  # type: ignore[union-attr]
    assert results[20:25] == [graph.stats()] * 5
    assert results[25:35] == [graph.communities.find()] * 5 + [graph.hierarchy.find()] * 5
    assert [type(item) for item in results[35:]] == [UnknownNameError] * 5


async def test_what_is_an_attribute_is_awaited_too(graph: HLGraph) -> None:
    found = AsyncHLGraph(graph)
    built = await found.communities.build()
    assert (await found.communities.find(k=1)).communities == graph.communities.find(k=1).communities
    assert built.run == graph.communities.find().run
    with pytest.raises(InputError, match="level is -1"):
        await found.hierarchy.find(level=-1)
    with pytest.raises(UnknownNameError, match="'other'"):
        await found.in_corpus("other").communities.find()


async def test_another_corpus_shares_the_threads(tmp_path: Path) -> None:
    """Each of two searches would wait for the other one, and there is one thread."""
    meeting = _Meeting(2)
    meeting.barrier = threading.Barrier(2, timeout=1)
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=meeting) as opened:
        for name in ("one", "two"):
            opened.in_corpus(name).ingest(_DOCUMENTS)
        meeting.is_open = False
        graph = AsyncHLGraph(opened, concurrency=1)
        calls = [graph.in_corpus(name).search("Who?") for name in ("one", "two")]
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [_cause(item) for item in results] == [threading.BrokenBarrierError] * 2


async def test_a_call_that_is_cancelled_goes_on_and_the_graph_is_whole(tmp_path: Path) -> None:
    meeting = _Meeting(2)
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=meeting) as opened:
        graph = AsyncHLGraph(opened)
        call = asyncio.create_task(graph.ingest(_DOCUMENTS))
        meeting.is_open = False
        while not meeting.barrier.n_waiting:  # the ingest is at its vectors
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        meeting.is_open = True
        await asyncio.to_thread(meeting.barrier.wait)  # now it can go on, and nobody waits for it
        while (await graph.ingest(_DOCUMENTS)).sources_unchanged != 2:
            await asyncio.sleep(0.01)
        assert all(item.is_fine for item in await graph.check())


async def test_a_call_that_is_cancelled_before_its_turn_is_not_made(tmp_path: Path) -> None:
    meeting = _Meeting(2)
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=meeting) as opened:
        graph = AsyncHLGraph(opened, concurrency=1)
        opened.ingest(_DOCUMENTS)
        meeting.is_open = False
        first = asyncio.create_task(graph.search("Who?"))
        second = asyncio.create_task(graph.delete(everything=True))
        while not meeting.barrier.n_waiting:
            await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await (
                second
            )  # a cancellation is asked for first, and takes place when the loop turns: before the first call ends
        meeting.is_open = True
        await asyncio.to_thread(meeting.barrier.wait)
        assert (await first).evidence
        assert (await graph.stats())[0].records[Kind.SOURCE] == 2


def test_one_graph_serves_one_loop_after_another(graph: HLGraph) -> None:
    found = AsyncHLGraph(graph, concurrency=1)

    async def ask() -> int:
        return sum(len(item.evidence) for item in await asyncio.gather(found.search("Who?"), found.search("Where?")))

    assert asyncio.run(ask()) == asyncio.run(ask()) > 0


def test_no_call_at_a_time(graph: HLGraph) -> None:
    with pytest.raises(InputError, match="concurrency is 0; it must be at least 1"):
        AsyncHLGraph(graph, concurrency=0)


async def test_what_many_ask_for_first_at_once_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two local embedders were loaded where two searches were the first ones."""
    made: list[WordEmbedder] = []
    everybody = threading.Barrier(4, timeout=60)

    def slowly(given: object, names: object) -> tuple[WordEmbedder, None]:
        made.append(WordEmbedder(32))
        time.sleep(0.2)
        return made[-1], None

    def together(models: ChosenModels) -> object:
        everybody.wait()
        return models.embedder

    monkeypatch.setattr(choose, "chosen_embedder", slowly)
    models = ChosenModels(ModelSettings(), embedder=None, reranker=None, chat=None, closing=contextlib.ExitStack())
    found = await asyncio.gather(*(asyncio.to_thread(together, models) for _ in range(4)))
    assert found == made * 4


async def test_calls_of_one_corpus_share_a_gate(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda _system, _user: "It was Mara Quill. [1]")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(32), chat=chat) as opened:
        opened.ingest(_DOCUMENTS)
        graph = AsyncHLGraph(opened)
        answers = await asyncio.gather(*(graph.answer("Who designed the Aldane Bridge?") for _ in range(4)))
    assert len({answer.text for answer in answers}) == 1
    assert len(chat.asked) == 1  # the same question at once is paid once
