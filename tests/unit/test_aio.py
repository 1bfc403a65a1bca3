"""AsyncHLGraph is HLGraph, awaited: the same methods, the same results, and the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hlgraph
from hlgraph import AsyncHLGraph, HLGraph
from hlgraph.errors import UnknownNameError
from hlgraph.models import choose
from hlgraph.models.choose import ChosenModels
from hlgraph.records import Document
from hlgraph.settings import ModelSettings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

# What has no waiting in it, or no meaning here: a property, and what wraps the stores of measurements.
_OTHERS = {"in_corpus", "watched"}
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


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(32)) as opened:
        opened.ingest(_DOCUMENTS)
        yield opened


def test_every_method_is_there_with_its_own_signature_and_documentation() -> None:
    public = {name for name, _ in inspect.getmembers(HLGraph, inspect.isfunction) if not name.startswith("_")}
    for name in sorted(public - _OTHERS):
        theirs, ours = getattr(HLGraph, name), getattr(AsyncHLGraph, name)
        assert inspect.iscoroutinefunction(ours) or inspect.isasyncgenfunction(ours), name
        assert inspect.signature(ours) == inspect.signature(theirs)
        assert ours.__doc__ == theirs.__doc__


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
        assert [type(item) for item in results] == [threading.BrokenBarrierError] * 2  # nobody met anybody


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
