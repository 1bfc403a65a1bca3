"""Random histories of a corpus: sources that come, change and go, entities that are merged and merged no more, synonyms."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.change import Change, ChangeState, Synonym
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ids import content_id, source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document, Kind
from hlgraph.stores.image.image import FOLLOWED
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.protocols import Decider, Decision, PullShape, RankQuery, Scope, Stores, Verdict
from hlgraph.subgraph import Subgraph
from hlgraph.testing.embedder import WordEmbedder

CORPUS = "histories"
_NAMES = ("Mara Quill", "Ivo Brandt", "Tessing", "the Aldane Bridge", "Orne", "Lake Vessel", "Tess Ing", "Mara Quills")
_VERBS = ("was born in", "designed", "wrote about", "lies on", "met", "left", "was named after")
_KINDS = ("write", "edit", "edit", "edit", "delete", "decide", "decide", "undo", "link")


def random_step(source: random.Random) -> tuple[str, Any]:
    """Something that may happen to a corpus."""
    name, number = source.choice(_KINDS), source.randrange(4)
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
    a, b = source.choice(_NAMES), source.choice(_NAMES)
    return f"{a[0].upper()}{a[1:]} {source.choice(_VERBS)} {b} in {source.randint(1800, 1802)}."


_PIPELINE = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), WordEmbedder())
_EVERYTHING = PullShape(
    FOLLOWED, frozenset({Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY})
)


class History:
    """A corpus and what happens to it; a step that does not apply is left out."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
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
        pipeline.ingest(documents, CORPUS, stores=self._stores, steps=_PIPELINE)

    def _edit(self, value: tuple[int, int, str]) -> None:
        number, at, sentence = value
        held = list(self._texts.get(number, ()))
        if held:
            held[at % len(held)] = sentence
            self._write({number: held})

    def _delete(self, number: int) -> None:
        if self._texts.pop(number, None) is not None:
            delete_sources([source_id(CORPUS, f"doc:{number}")], CORPUS, stores=self._stores)

    def _entities(self) -> list[str]:
        return [item.id for item in self._stores.graph.find(Kind.ENTITY, Scope(CORPUS))]

    def _decide(self, value: tuple[int, int, Verdict]) -> None:
        one, other, verdict = value
        held = self._entities()
        if len(held) > 1 and one % len(held) != other % len(held):
            found = Decision(CORPUS, held[one % len(held)], held[other % len(held)], verdict, Decider.PERSON)
            with self._stores.graph.lock():
                self._stores.graph.merges.save(CORPUS, [found])  # type: ignore[union-attr]

    def _undo(self, number: int) -> None:
        held = self._stores.graph.merges.decisions(CORPUS)  # type: ignore[union-attr]
        if held:
            with self._stores.graph.lock():
                self._stores.graph.merges.drop(CORPUS, [held[number % len(held)]])  # type: ignore[union-attr]

    def _link(self, value: tuple[int, int, float]) -> None:
        one, other, similarity = value
        held = self._entities()
        if len(held) > 1 and one % len(held) != other % len(held):
            self._links += 1
            pair = Synonym(held[one % len(held)], held[other % len(held)], similarity)
            change = Change(content_id("change", str(self._links)), CORPUS, synonyms=(pair,))
            graph = self._stores.graph
            with graph.lock():
                graph.stage(change)
                graph.advance(change.id, ChangeState.PUBLISHED)
                graph.advance(change.id, ChangeState.DONE)


def whole_image(graph: Any) -> dict[str, object]:
    """:func:`whole` on the image of a server, which must be there."""

    def read(shape: PullShape, *, scope: Scope) -> Subgraph:
        held = graph.image(scope)
        assert held is not None, graph.walked_by(scope)
        return held.whole(shape, scope=scope)  # type: ignore[no-any-return]

    return whole(graph, read)


def whole(graph: Any, read: Callable[..., Subgraph] | None = None, *, is_consistent: bool = True) -> dict[str, object]:
    """All nodes and links of the corpus, of all of it and of some of its sources, and what some pulls give.

    Several reads are of one version only if nothing is written meanwhile: ``is_consistent``; else the first is given alone.
    """
    found: dict[str, object] = {}
    some = tuple(source_id(CORPUS, f"doc:{number}") for number in (0, 2))
    for name, scope in (("all", Scope(CORPUS)), ("some", Scope(CORPUS, None, some))):
        held = (read or graph.whole)(_EVERYTHING, scope=scope)
        found[f"{name}: version"] = held.version
        found[f"{name}: nodes"] = (held.ids.tolist(), held.kinds.tolist())
        for relationship, matrix in sorted(held.edges.items()):
            table = matrix.tocoo()
            found[f"{name}: {relationship}"] = sorted(
                zip(table.row.tolist(), table.col.tolist(), table.data.tolist(), strict=True)
            )
        if not is_consistent:
            return found
    seeds = held.ids[held.kinds == 5].tolist()[:2]
    for hops, fan_out in ((1, 2), (3, 3)):
        shape = PullShape(_EVERYTHING.relationships, _EVERYTHING.kinds, hops=hops, fan_out=fan_out, node_cap=30)
        pulled = graph.pull(seeds, shape, scope=Scope(CORPUS))
        found[f"pull {hops}"] = (pulled.ids.tolist(), pulled.is_cut)
    return found


def rankings(graph: Any, ranker: ImageRanker) -> dict[str, dict[str, float]]:
    """The scores of every shape around the first and the last entity: exact, with synonyms, and around the seeds."""
    entities = [item.id for item in graph.find(Kind.ENTITY, Scope(CORPUS))]
    seeds = {name: 1.0 + at for at, name in enumerate(entities[:1] + entities[-1:])}
    queries = [RankQuery(shape, seeds, k=10_000, tolerance=1e-9) for shape in ProjectionShape]
    queries.append(replace(queries[1], synonyms=0.6))
    queries.append(replace(queries[0], epsilon=1e-7))
    found = ((query, ranker.rank_on(graph, query, scope=Scope(CORPUS))) for query in queries if seeds)
    return {
        f"{query.shape} {query.synonyms} {query.epsilon}": {hit.id: hit.score for hit in hits} for query, hits in found
    }
