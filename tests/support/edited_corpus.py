"""A small corpus, an edit of it in two changes, and what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hlgraph.records import Document
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.sdk.client import HLGraph

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


def documents(texts: dict[str, tuple[str, dict[str, int]]]) -> list[Document]:
    return [Document(f"doc:{name}", text, metadata=metadata) for name, (text, metadata) in texts.items()]


def edit(graph: HLGraph, halves: Sequence[int] = (0, 1)) -> None:
    """Changes a text, changes metadata alone and adds a source; then removes one: two changes of the journal."""
    if 0 in halves:
        graph.ingest(documents({name: item for name, item in AFTER.items() if name != "gone"}))
    if 1 in halves:
        graph.delete(["doc:gone"])


def search(graph: HLGraph, strategy: str, unit: Any = None, k: int = 5) -> Any:
    """All that a search says of the corpus."""
    result = graph.search(QUESTION, strategy=strategy, unit=unit, k=k, where="year >= 1860")
    return [
        (item.text, item.start, item.end, round(item.score, 6), item.source.uri, sorted(item.source.metadata.items()))
        for item in result.evidence
    ]


OPERATIONS: dict[str, Callable[[HLGraph], Any]] = {
    **{name: partial(search, strategy=name) for name in sorted(STRATEGIES)},
    "path of chunks": partial(search, strategy="path", unit="chunk"),
    "explained": lambda graph: graph.search(QUESTION, explain=True, k=3).explain.to_text(),
    "answer": lambda graph: graph.answer(QUESTION, where="year >= 1860").text,
    "choices": lambda graph: [item.text for item in graph.answer(QUESTION, choices=["Wendlecote", "Sarn"]).sentences],
    "stats": lambda graph: [(item.records, item.relationships) for item in graph.stats()],
    "facts": lambda graph: sorted(map(str, graph.facts.read().facts)),
}


def spread(count: int, most: int) -> list[int]:
    """At most so many places among the first ``count``, evenly, the first and the last among them."""
    steps = range(min(most, count))
    return sorted({round(at * (count - 1) / max(1, len(steps) - 1)) for at in steps})
