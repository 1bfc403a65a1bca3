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
from edited_corpus import AFTER, BEFORE, OPERATIONS, documents, edit, spread
from thoroughness import cases

import hlgraph
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.serve.access import LOCAL
from hlgraph.serve.service import Service
from hlgraph.serve.shapes import PathAsked
from hlgraph.settings import ServeSettings, Settings
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


ROWS = "| Town | People |\n|---|---|\n| {} |\n| {} |\n"
BESIDE = {
    "Who leads the Aldane Works?": lambda graph, question: answered(graph.answer(question)),
    "Which town has the most people?": lambda graph, question: answered(graph.answer(question)),
    "Wendlecote": lambda graph, name: Service(graph, is_open=True).records.path(
        LOCAL, "default", asked=PathAsked(start=name, end="Ada Falk")
    ),
}


def answered(answer: Any) -> Any:
    return answer.text, [(each.number, each.evidence.text) for each in answer.citations]


@pytest.mark.parametrize("is_same", [True, False], ids=["same handle", "other handle"])
@pytest.mark.parametrize("asked", BESIDE)
def test_what_is_read_beside_the_evidence_is_of_its_state(
    asked: str, is_same: bool, *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_DRAIN", 20)
    states = [
        [
            *documents(state),
            Document("doc:works", "Mara Quill leads the Aldane Works."),
            Document("doc:news", f"{leader} leads the Aldane Works."),
            Document("doc:towns", ROWS.format(*rows), "Towns"),
        ]
        for state, leader, rows in (
            (BEFORE, "Ivo Brandt", ("Tessing | 100", "Gannow | 300")),
            (AFTER, "Petra Voss", ("Tessing | 500", "Velmod | 300")),
        )
    ]

    def opened(folder: Path) -> HLGraph:
        serve = ServeSettings(state=str(tmp_path / "state"))
        settings = Settings(store=f"hlgraph://{folder}", functional=("^leads",), serve=serve)
        return HLGraph(settings, embedder=WordEmbedder())

    def read(graph: HLGraph) -> Any:
        return BESIDE[asked](graph, asked)

    with opened(tmp_path / "after") as graph:
        graph.ingest(states[1])
        right = [read(graph)]
    with opened(tmp_path / "before") as graph:
        graph.ingest(states[0])
        right.append(read(graph))
        methods = schedules.CALLS if is_same else schedules.BELOW
        count = schedules.counted(partial(read, graph), methods)
    assert right[0] != right[1]
    for place in spread(count, 8):
        folder = tmp_path / str(place)
        shutil.copytree(tmp_path / "before", folder)
        with opened(folder) as graph, opened(folder) as other:
            read(graph)
            change = partial((graph if is_same else other).ingest, states[1])
            assert schedules.interleaved(partial(read, graph), change, place=place, methods=methods) in right


def test_a_check_takes_no_edit_meanwhile_for_damage(
    stores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_DRAIN", 20)

    def wrong(graph: HLGraph) -> list[str]:
        return [finding.check for finding in graph.check() if not finding.is_fine]

    with connect(stores["before"]) as graph:
        count = schedules.counted(partial(wrong, graph))
    for place in spread(count, 2 * PLACES):
        folder = tmp_path / str(place)
        shutil.copytree(stores["before"], folder)
        with connect(folder) as graph, connect(folder) as other:
            assert schedules.interleaved(partial(wrong, graph), partial(edit, other), place=place) == []
