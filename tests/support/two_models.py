"""Documents, two embedding models that disagree about them, and what searches by each of them show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

OLD, NEW = WordEmbedder(32, name="old"), WordEmbedder(48, name="new")
PEOPLE = ("Mara Quill", "Ivo Brandt", "Una Moss", "Emeric Vaude", "Edda Thorn", "Mara Quills")
THINGS = ("Aldane Works", "Vessel Mill", "Orne Bridge", "Tessing Abbey", "Orne Light", "Aldane Mill")
QUESTIONS = ("Who repaired the Vessel Mill?", "What did Una Moss build?", "Where is the Orne Bridge?")
STRATEGIES = ("auto", "statement", "path", "hierarchy")


def documents(count: int = 6) -> list[Document]:
    return [
        Document(
            f"doc:{at}",
            f"{PEOPLE[at % 6]} repaired the {THINGS[at % 6]} in {1800 + at}. "
            f"{PEOPLE[at % 6]} met {PEOPLE[(at + 1) % 6]} at the {THINGS[(at + 2) % 6]}.",
            title=f"Chronicle {at}",
            metadata={"year": 1800 + at},
        )
        for at in range(count)
    ]


def shown(graph: HLGraph, strategies: Sequence[str] = STRATEGIES) -> list[Any]:
    """What searches return: texts and scores of some strategies, with and without a filter."""
    results: list[Any] = []
    for strategy in strategies:
        for question, where in zip(QUESTIONS, (None, "year >= 1802", None), strict=True):
            found = graph.search(question, strategy=strategy, k=5, where=where)
            results.append([(piece.text, round(piece.score, 5)) for piece in found.evidence])
    return results
