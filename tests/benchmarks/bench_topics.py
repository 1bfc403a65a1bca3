"""How topics are embedded: by name, by the mean of their statements, between both (as shipped), or by an encoded text.

Everything else stays as it is: a set is ingested once, and only the vectors of its topics are swapped. ``gold`` is the share
of the gold passages that have one of the 50 best topics: what `topic` cannot see beyond. The encoded text is the name
and the statements of a topic, in the order of their ids; it is the one row that costs calls of the encoder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from evaluation_sets import BenchmarkSet, open_set, origin_line
from measure import say, table
from numpy.typing import NDArray

import hlgraph
from hlgraph.algorithms.similarity import NAME_WEIGHT, named_centroids
from hlgraph.change import VectorBlock
from hlgraph.ids import normalise_name
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import links_about
from hlgraph.records import Kind, Source, Statement, Topic
from hlgraph.retrieve.retriever import Retriever, with_preset
from hlgraph.retrieve.strategies.topic import TopicRetriever
from hlgraph.retrieve.strategies.topic_graph import TopicGraphRetriever
from hlgraph.stores.protocols import Scope, Stores, VectorBatch, VectorQuery

SETS = ("musique_oie", "multihop_rag_70")
STRATEGIES: Mapping[str, Retriever] = {
    "topic": TopicRetriever(),
    "topic, plain": with_preset(TopicRetriever, "plain"),
    "topic_graph": TopicGraphRetriever(),
    "topic_graph, tuned": with_preset(TopicGraphRetriever, "tuned"),
}
CUTOFFS = (5, 10, 20)
TOPICS = 50


class Topics:
    """The topics of an ingested corpus, and the vectors that each way gives them."""

    def __init__(self, stores: Stores, corpus: str, *, embedder: Embedder) -> None:
        self._stores, self._corpus, self._embedder = stores, corpus, embedder
        found = stores.graph.find(Kind.TOPIC, Scope(corpus))
        self._topics = [item for item in found if isinstance(item, Topic)]
        ids = [item.id for item in self._topics]
        self._about = links_about(ids, corpus, graph=stores.graph)
        sources = stores.graph.find(Kind.SOURCE, Scope(corpus))
        uris = {item.id: item.uri.removeprefix("passage:") for item in sources if isinstance(item, Source)}
        self._passages = {item.id: uris[item.source_id] for item in self._topics}
        self._names = embedder.embed([normalise_name(item.name) for item in self._topics])

    def __len__(self) -> int:
        """The number of topics."""
        return len(self._topics)

    def between(self, name_weight: float) -> NDArray[np.float32]:
        """The vectors with this share of the name."""
        statements = sorted({item for found in self._about.values() for item in found})
        held, matrix = self._stores.vectors.vectors(Kind.STATEMENT, self._corpus, ids=statements)
        at = {item: place for place, item in enumerate(held)}
        pairs = np.array(
            [
                (place, at[item])
                for place, topic in enumerate(self._topics)
                for item in sorted(self._about.get(topic.id, ()))
            ],
            dtype=np.intp,
        ).reshape(-1, 2)
        return named_centroids(self._names, matrix, group=pairs[:, 0], member=pairs[:, 1], name_weight=name_weight)

    def encoded(self) -> NDArray[np.float32]:
        """The vectors of name and statements as one text."""
        records = self._stores.graph.find(Kind.STATEMENT, Scope(self._corpus))
        texts = {item.id: item.text for item in records if isinstance(item, Statement)}
        return self._embedder.embed(
            [
                f"{topic.name}\n{' '.join(texts[item] for item in sorted(self._about.get(topic.id, ())))}"
                for topic in self._topics
            ]
        )

    def stored(self) -> NDArray[np.float32]:
        """The vectors that the ingest wrote."""
        return self._stores.vectors.vectors(Kind.TOPIC, self._corpus, ids=[item.id for item in self._topics])[1]

    def swap(self, vectors: NDArray[np.float32], way: str) -> None:
        """Put other vectors in place of the stored ones."""
        ids = tuple(item.id for item in self._topics)
        names = tuple(normalise_name(item.name) for item in self._topics)
        sources, data = tuple(item.source_id for item in self._topics), np.ascontiguousarray(vectors).tobytes()
        block = VectorBlock(Kind.TOPIC, ids, names, sources, vectors.shape[1], data)
        with self._stores.graph.lock():
            self._stores.vectors.upsert(VectorBatch(self._corpus, f"swap {way}", (), (block,)))

    def passages(self, question: NDArray[np.float32]) -> set[str]:
        """The passages that have one of the best topics of a question."""
        hits = self._stores.vectors.search(VectorQuery(Kind.TOPIC, self._corpus, TOPICS, question))
        return {self._passages[hit.id] for hit in hits}


def chosen(name: str, scratch: Path, *, questions: int | None, passages: int | None) -> BenchmarkSet:
    """A set; with ``passages`` the gold passages of its questions, and the first others up to so many."""
    item = open_set(name, scratch / "data", questions=questions)
    if passages is None:
        return item
    gold = {each for question in item.dataset.questions for each in question.gold}
    inside = [each for each in item.passages if each.id in gold]
    others = [each for each in item.passages if each.id not in gold]
    return replace(item, passages=tuple(inside + others[: max(0, passages - len(inside))]))


def ingest(graph: hlgraph.HLGraph, item: BenchmarkSet) -> None:
    """Ingest the passages as ``hlgraph eval`` does."""
    files = tuple(str(path) for path in item.dataset.extractions)
    documents = (
        hlgraph.Document(f"passage:{passage.id}", passage.text, passage.title, key=passage.id)
        for passage in item.passages
    )
    if files:
        graph.ingest(documents, extract="precomputed", extractions=files, missing="local", is_chunked=True)
    else:
        graph.ingest(documents, is_chunked=True)


def recalls(graph: hlgraph.HLGraph, item: BenchmarkSet, strategy: Retriever) -> str:
    """R@5 / 10 / 20 of a strategy."""
    found: list[list[float]] = []
    for question in item.dataset.questions:
        evidence = graph.search(question.text, strategy=strategy, k=max(CUTOFFS), unit="chunk").evidence
        ids = [each.source.uri.removeprefix("passage:") for each in evidence]
        gold = set(question.gold)
        found.append([len(gold.intersection(ids[:k])) / len(gold) for k in CUTOFFS])
    return " / ".join(f"{100 * value:.1f}" for value in np.mean(found, axis=0))


def compare(item: BenchmarkSet, scratch: Path) -> None:
    """Print the table of one set."""
    with hlgraph.connect(f"hlgraph://{scratch}/{item.name}", corpus=item.name) as graph:
        ingest(graph, item)
        embedder = graph._resources.models.embedder
        topics = Topics(graph._opened.stores, item.name, embedder=embedder)
        shipped = topics.between(NAME_WEIGHT)
        if not np.allclose(shipped, topics.stored(), atol=1e-6):
            raise SystemExit("the vectors that the ingest wrote are not those of this script")
        ways: dict[str, Callable[[], NDArray[np.float32]]] = {
            "name": lambda: topics.between(1.0),
            "mean of statements": lambda: topics.between(0.0),
            "encoded text": topics.encoded,
            f"shipped: {NAME_WEIGHT} name, {1 - NAME_WEIGHT} mean": lambda: shipped,
        }
        asked = embedder.embed([question.text for question in item.dataset.questions])
        golds = [set(question.gold) for question in item.dataset.questions]
        rows: list[Sequence[str]] = []
        for label, way in ways.items():
            topics.swap(way(), label)
            shares = [len(g & topics.passages(vector)) / len(g) for g, vector in zip(golds, asked, strict=True)]
            figures = [recalls(graph, item, strategy) for strategy in STRATEGIES.values()]
            rows.append((label, f"{100 * np.mean(shares):.1f}", *figures))
    say(f"{item.name}: {len(item.passages)} passages, {len(topics)} topics, {len(item.dataset.questions)} questions")
    table(("vector of a topic", f"gold in {TOPICS} topics", *STRATEGIES), rows)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--passages", type=int, metavar="N", help="only gold passages and others, up to N")
    options = parser.parse_args()
    say(origin_line())
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as folder:
        for name in options.sets.split(","):
            scratch = Path(folder)
            compare(chosen(name, scratch, questions=options.limit, passages=options.passages), scratch)


if __name__ == "__main__":
    main()
