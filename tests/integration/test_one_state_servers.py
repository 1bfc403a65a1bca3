"""What a call reads on both servers is of one published state, wherever in it a writer changes the corpus."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import schedules
from edited_corpus import BEFORE, OPERATIONS, documents, edit, search, spread
from live_stores import opened, settings_for
from thoroughness import cases

import hlgraph
from hlgraph.errors import UnknownNameError
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.one_state import ATTEMPTS
from hlgraph.testing.embedder import WordEmbedder

PLACES = cases(2, 1_000)
READS = cases(["statement", "path", "stats"], list(OPERATIONS))


@pytest.fixture(scope="module")
def connect(servers: Any) -> Iterator[Callable[[], HLGraph]]:
    settings = settings_for(servers)
    with opened(servers, settings):
        yield lambda: hlgraph.connect(settings, embedder=WordEmbedder())


@pytest.fixture(scope="module")
def right(connect: Callable[[], HLGraph]) -> dict[str, list[Any]]:
    """What each read finds before the edit, between its two changes, and after it."""
    with connect() as graph:
        reset(graph)
        found: dict[str, list[Any]] = {name: [] for name in (*READS, "everything")}
        for halves in ([], [0], [1]):
            edit(graph, halves)
            for name in READS:
                found[name].append(OPERATIONS[name](graph))
            found["everything"].append(
                everything(
                    graph,
                    lambda graph: [item for unit in ("statement", "chunk") for item in search(graph, unit, k=1_000)],
                )
            )
    return found


def everything(graph: HLGraph, read: Callable[[HLGraph], Any]) -> set[tuple[Any, ...]]:
    """Texts with their sources and metadata, without places and scores."""
    return {(item[0], item[4], tuple(item[5])) for item in read(graph)}


def reset(graph: HLGraph) -> None:
    graph.ingest(documents(BEFORE))
    with contextlib.suppress(UnknownNameError):  # not there yet
        graph.delete(["doc:new"])
    graph.hierarchy.build()


@pytest.mark.parametrize("is_warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("name", READS)
def test_a_read_is_of_one_state_wherever_the_corpus_is_changed(
    name: str, is_warm: bool, connect: Callable[[], HLGraph], right: dict[str, list[Any]]
) -> None:
    read, wrong = OPERATIONS[name], []
    with connect() as writer:
        reset(writer)
        with connect() as graph:
            if is_warm:
                read(graph)
            count = schedules.counted(partial(read, graph))
        for place in spread(count, PLACES):
            with connect() as graph:
                if is_warm:
                    read(graph)
                found = schedules.interleaved(partial(read, graph), partial(edit, writer), place=place)
                if found not in right[name]:
                    wrong.append((place, found))
                assert read(graph) == right[name][-1], place
            reset(writer)
    assert not wrong


@pytest.mark.parametrize("name", ["statement", "path"])
def test_evidence_is_of_one_state_where_writers_are_faster_than_each_attempt(
    name: str, connect: Callable[[], HLGraph], right: dict[str, list[Any]]
) -> None:
    """A writer comes in each attempt to rank; then what is cited is read again, and is of one state."""
    with connect() as writer, connect() as graph:
        reset(writer)
        OPERATIONS[name](graph)
        count, edits = schedules.counted(partial(OPERATIONS[name], graph)), itertools.cycle([edit, reset])

        found = schedules.interleaved(
            lambda: everything(graph, OPERATIONS[name]),
            lambda: next(edits)(writer),
            place=lambda at: at % count == 0 and at < count * ATTEMPTS,
        )
        assert next(edits) is (edit if ATTEMPTS % 2 == 0 else reset)  # each attempt was overtaken
        reset(writer)
    assert found
    assert any(found <= some for some in right["everything"])
