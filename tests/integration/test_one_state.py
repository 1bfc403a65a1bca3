"""What a call reads is of one published state, wherever in it a writer changes the corpus."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schedules
from edited_corpus import BEFORE, OPERATIONS, documents, edit, spread
from thoroughness import cases

import hlgraph
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.embedded import database
from hlgraph.testing.embedder import WordEmbedder

PLACES = cases(3, 1_000)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The store before the edit, between its two changes, and after it."""
    folder = tmp_path_factory.mktemp("stores")
    made = {name: folder / name for name in ("before", "between", "after")}
    with connect(made["before"]) as graph:
        graph.ingest(documents(BEFORE))
        graph.hierarchy.build()
    shutil.copytree(made["before"], made["between"])
    with connect(made["between"]) as graph:
        edit(graph, halves=[0])
    shutil.copytree(made["between"], made["after"])
    with connect(made["after"]) as graph:
        edit(graph, halves=[1])
    return made


@pytest.fixture(scope="module")
def right(stores: dict[str, Path]) -> Callable[[str], list[Any]]:
    """What an operation reads of each store."""

    @functools.cache
    def found(name: str) -> list[Any]:
        results = []
        for folder in stores.values():
            with connect(folder) as graph:
                results.append(OPERATIONS[name](graph))
        return results

    return found


def connect(folder: Path) -> HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}", embedder=WordEmbedder())


@pytest.mark.parametrize("is_same", [True, False], ids=["same handle", "other handle"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_read_is_of_one_state_wherever_the_corpus_is_changed(
    name: str, is_same: bool, *, stores: dict[str, Path], right: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_DRAIN", 20)  # the reader waits for the writer here, so no time is enough
    read, states = OPERATIONS[name], right(name)
    with connect(stores["before"]) as graph:
        read(graph)
        methods = schedules.CALLS if is_same else schedules.BELOW
        count = schedules.counted(partial(read, graph), methods)
    wrong = []
    for place in spread(count, PLACES):
        folder = tmp_path / str(place)
        shutil.copytree(stores["before"], folder)
        with connect(folder) as graph, connect(folder) as other:
            read(graph)
            found = schedules.interleaved(
                partial(read, graph), partial(edit, graph if is_same else other), place=place, methods=methods
            )
            if found not in states:
                wrong.append((place, found))
            assert read(graph) == states[-1], place  # and the next one sees the edit
            graph.reconcile(repair=True)  # a writer may empty the log now, as nobody reads
            assert all(item.is_fine for item in graph.check()), place
        shutil.rmtree(folder)
    assert not wrong


@pytest.mark.parametrize("name", ["statement", "topic_graph", "path", "hierarchy", "auto", "stats"])
def test_a_read_in_the_middle_of_an_edit_is_of_one_state(
    name: str, stores: dict[str, Path], right: Any, tmp_path: Path
) -> None:
    read, states = OPERATIONS[name], right(name)
    wrong: list[tuple[int, Any]] = []
    shutil.copytree(stores["before"], tmp_path / "counted")
    with connect(tmp_path / "counted") as graph:
        count = schedules.counted(partial(edit, graph))
    for place in spread(count, cases(3, 1_000)):
        folder = tmp_path / str(place)
        shutil.copytree(stores["before"], folder)
        with connect(folder) as graph, connect(folder) as other:
            read(other)
            found: list[Any] = []
            schedules.interleaved(partial(edit, graph), lambda held=found, by=other: held.append(read(by)), place=place)
            wrong += [(place, item) for item in found if item not in states]
            assert read(other) == states[-1], place
        shutil.rmtree(folder)
    assert not wrong
