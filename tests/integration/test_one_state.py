"""What a call reads is of one published state, wherever in it a writer changes the corpus."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schedules
from thoroughness import cases

import hlgraph
from hlgraph.records import Document
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.embedded import database
from hlgraph.testing.embedder import WordEmbedder

BEFORE = {
    "bridge": ("The Halfmoon Bridge was designed by Jonas Querl. Jonas Querl was born in Wendlecote.", {"year": 1863}),
    "mill": (
        "Wendlecote has a mill. The mill was built by Ada Falk. Ada Falk met Jonas Querl in 1871.",
        {"year": 1871},
    ),
    "flood": ("The flood of 1875 reached the mill. Jonas Querl wrote The Water Came at Four about it.", {"year": 1875}),
    "gone": ("The ferry at Wendlecote was run by Ada Falk until the Halfmoon Bridge was built.", {"year": 1850}),
}
AFTER = BEFORE | {
    "bridge": ("The Halfmoon Bridge was designed by Jonas Querl. It was repaired by Ada Falk in 1902.", {"year": 1902}),
    "mill": (BEFORE["mill"][0], {"year": 1999}),
    "new": ("Tim Vale lit the lamp on the Halfmoon Bridge. Tim Vale was born in Wendlecote.", {"year": 1903}),
}
QUESTION = "Who designed the Halfmoon Bridge, and where was Jonas Querl born?"
PLACES = cases(5, 1_000)


def documents(texts: dict[str, tuple[str, dict[str, int]]]) -> list[Document]:
    return [Document(f"doc:{name}", text, metadata=metadata) for name, (text, metadata) in texts.items()]


def edit(graph: HLGraph) -> None:
    """Changes a text, changes metadata alone, adds a source and removes one: two changes of the journal."""
    graph.ingest(documents({name: item for name, item in AFTER.items() if name != "gone"}))
    graph.delete(["doc:gone"])


def seen(found: Any) -> Any:
    """All that a search said of the corpus."""
    return [
        (item.text, item.start, item.end, round(item.score, 6), item.source.uri, sorted(item.source.metadata.items()))
        for item in found.evidence
    ]


def search(graph: HLGraph, strategy: str, unit: Any = None) -> Any:
    return seen(graph.search(QUESTION, strategy=strategy, unit=unit, k=5, where="year >= 1860"))


OPERATIONS: dict[str, Callable[[HLGraph], Any]] = {
    **{name: partial(search, strategy=name) for name in sorted(STRATEGIES)},
    "path of chunks": partial(search, strategy="path", unit="chunk"),
    "explained": lambda graph: graph.search(QUESTION, explain=True, k=3).explain.to_text(),
    "answer": lambda graph: graph.answer(QUESTION, where="year >= 1860").text,
    "choices": lambda graph: [item.text for item in graph.answer(QUESTION, choices=["Wendlecote", "Sarn"]).sentences],
    "stats": lambda graph: [(item.version, item.records, item.relationships) for item in graph.stats()],
    "facts": lambda graph: sorted(map(str, graph.facts.read().facts)),
}


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
        graph.ingest(documents({name: item for name, item in AFTER.items() if name != "gone"}))
    shutil.copytree(made["between"], made["after"])
    with connect(made["after"]) as graph:
        graph.delete(["doc:gone"])
    return made


def connect(folder: Path) -> HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}", embedder=WordEmbedder())


def spread(count: int, most: int) -> list[int]:
    """At most so many places among the first ``count``, evenly, the first and the last among them."""
    return (
        sorted({round(at * (count - 1) / max(1, most - 1)) for at in range(most)})
        if count > most
        else list(range(count))
    )


@pytest.mark.parametrize("is_same", [True, False], ids=["same handle", "other handle"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_read_is_of_one_state_wherever_the_corpus_is_changed(
    name: str, is_same: bool, stores: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_DRAIN", 20)  # the reader waits for the writer here, so no time is enough
    read = OPERATIONS[name]
    right = []
    for folder in stores.values():
        with connect(folder) as graph:
            right.append(read(graph))
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
            if found not in right:
                wrong.append((place, found))
            assert read(graph) == right[-1], place  # and the next one sees the edit
            assert all(item.is_fine for item in graph.check()), place
        shutil.rmtree(folder)
    assert not wrong


@pytest.mark.parametrize("name", ["statement", "topic_graph", "path", "hierarchy", "auto", "stats"])
def test_a_read_in_the_middle_of_an_edit_is_of_one_state(name: str, stores: dict[str, Path], tmp_path: Path) -> None:
    read = OPERATIONS[name]
    right = []
    for folder in stores.values():
        with connect(folder) as graph:
            right.append(read(graph))
    wrong: list[tuple[int, Any]] = []
    shutil.copytree(stores["before"], tmp_path / "counted")
    with connect(tmp_path / "counted") as graph:
        count = schedules.counted(partial(edit, graph))
    for place in spread(count, cases(12, 1_000)):
        folder = tmp_path / str(place)
        shutil.copytree(stores["before"], folder)
        with connect(folder) as graph, connect(folder) as other:
            read(other)
            found: list[Any] = []
            schedules.interleaved(partial(edit, graph), lambda held=found, by=other: held.append(read(by)), place=place)
            wrong += [(place, item) for item in found if item not in right]
            assert read(other) == right[-1], place
        shutil.rmtree(folder)
    assert not wrong
