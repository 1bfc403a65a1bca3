"""Random histories of a corpus: sources that come, change and go, entities that are merged and merged no more, synonyms."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hlgraph.change import Change, ChangeState, Synonym
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import content_id, source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document, Kind
from hlgraph.stores.image.image import FOLLOWED
from hlgraph.stores.protocols import Decider, Decision, PullShape, Scope, Stores, Verdict
from hlgraph.subgraph import Subgraph
from hlgraph.testing.embedder import WordEmbedder

CORPUS = "histories"
NAMES = ("Mara Quill", "Ivo Brandt", "Tessing", "the Aldane Bridge", "Orne", "Lake Vessel", "Tess Ing", "Mara Quills")
VERBS = ("was born in", "designed", "wrote about", "lies on", "met", "left", "was named after")
_STEPS = ("write", "edit", "edit", "edit", "delete", "decide", "decide", "undo", "link")


def random_step(source: random.Random) -> tuple[str, Any]:
    """Something that may happen to a corpus."""
    name, number = source.choice(_STEPS), source.randrange(4)
    values: dict[str, Callable[[], Any]] = {
        "write": lambda: {number: [_sentence(source) for _ in range(source.randint(1, 20))]},
        "edit": lambda: (number, source.randrange(20), _sentence(source)),
        "delete": lambda: number,
        "decide": lambda: (source.randrange(12), source.randrange(12), source.choice(list(Verdict))),
        "undo": lambda: number,
        "link": lambda: (source.randrange(12), source.randrange(12), source.choice((0.5, 0.75))),
    }
    return name, values[name]()


def _sentence(source: random.Random) -> str:
    a, b = source.choice(NAMES), source.choice(NAMES)
    return f"{a[0].upper()}{a[1:]} {source.choice(VERBS)} {b} in {source.randint(1800, 1802)}."


PIPELINE = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), WordEmbedder())
_KINDS = frozenset({Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY})
_EVERYTHING = PullShape(FOLLOWED, _KINDS)


class History:
    """A corpus and what happens to it; a step that does not apply is left out."""

    def __init__(self, stores: Stores) -> None:
        assert stores.graph.merges is not None
        self._stores, self._merges = stores, stores.graph.merges
        self._texts: dict[int, list[str]] = {}
        self._links = 0

    def start(self, source: random.Random) -> None:
        """Writes a few sources."""
        self._write({number: [_sentence(source) for _ in range(8)] for number in range(4)})

    def take(self, step: Any) -> None:
        """Takes a step of :func:`random_step`."""
        name, value = step
        getattr(self, f"_{name}")(value)

    def _write(self, texts: dict[int, list[str]]) -> None:
        self._texts |= texts
        documents = [Document(f"doc:{number}", " ".join(self._texts[number]), f"Title {number}") for number in texts]
        pipeline.ingest(documents, CORPUS, stores=self._stores, steps=PIPELINE)

    def _edit(self, value: tuple[int, int, str]) -> None:
        number, at, sentence = value
        if sentences := list(self._texts.get(number, ())):
            sentences[at % len(sentences)] = sentence
            self._write({number: sentences})

    def _delete(self, number: int) -> None:
        if self._texts.pop(number, None) is not None:
            delete_sources([source_id(CORPUS, f"doc:{number}")], CORPUS, stores=self._stores)

    def _pair(self, one: int, other: int) -> tuple[str, str] | None:
        ids = [item.id for item in self._stores.graph.find(Kind.ENTITY, Scope(CORPUS))]
        pair = (ids[one % len(ids)], ids[other % len(ids)]) if ids else ("", "")
        return pair if pair[0] != pair[1] else None

    def _decide(self, value: tuple[int, int, Verdict]) -> None:
        if pair := self._pair(*value[:2]):
            with self._stores.graph.lock():
                self._merges.save(CORPUS, [Decision(CORPUS, *pair, value[2], Decider.PERSON)])

    def _undo(self, number: int) -> None:
        if decisions := self._merges.decisions(CORPUS):
            with self._stores.graph.lock():
                self._merges.drop(CORPUS, [decisions[number % len(decisions)]])

    def _link(self, value: tuple[int, int, float]) -> None:
        if pair := self._pair(*value[:2]):
            self._links += 1
            change = Change(content_id("change", str(self._links)), CORPUS, synonyms=(Synonym(*pair, value[2]),))
            graph = self._stores.graph
            with graph.lock():
                graph.stage(change)
                graph.advance(change.id, ChangeState.PUBLISHED)
                graph.advance(change.id, ChangeState.DONE)


def whole(graph: Any, read: Callable[..., Subgraph] | None = None, *, is_consistent: bool = True) -> dict[str, object]:
    """All nodes and links of the corpus, of all of it and of some of its sources, and what some pulls give.

    Several reads are of one version only if nothing is written meanwhile: ``is_consistent``; else the first is given alone.
    """
    found: dict[str, object] = {}
    some = tuple(source_id(CORPUS, f"doc:{number}") for number in (0, 2))
    for name, scope in (("all", Scope(CORPUS)), ("some", Scope(CORPUS, None, some))):
        part = (read or graph.whole)(_EVERYTHING, scope=scope)
        found[f"{name}: version"] = part.version
        found[f"{name}: nodes"] = (part.ids.tolist(), part.kinds.tolist())
        for relationship, matrix in sorted(part.edges.items()):
            edges = matrix.tocoo()
            rows = zip(edges.row.tolist(), edges.col.tolist(), edges.data.tolist(), strict=True)
            found[f"{name}: {relationship}"] = sorted(rows)
        if not is_consistent:
            return found
    seeds = part.ids[part.kinds == 5].tolist()[:2]
    for hops, fan_out in ((1, 2), (3, 3)):
        shape = replace(_EVERYTHING, hops=hops, fan_out=fan_out, node_cap=30)
        pulled = graph.pull(seeds, shape, scope=Scope(CORPUS))
        found[f"pull {hops}"] = (pulled.ids.tolist(), pulled.is_cut)
    return found
