"""One retrieval in progress: the stores seen through one corpus and one filter, with a trace of every step."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.index.embed import check_fingerprint, check_model
from hlgraph.models.seams import ChatModel, Embedder, Reranker, question_vector
from hlgraph.records import Hit, Kind, Record, Scalar
from hlgraph.retrieve.request import SearchRequest, StepTrace
from hlgraph.stores.protocols import CorpusStats, PullShape, RankQuery, Scope, Stores, VectorQuery
from hlgraph.stores.ranking import PulledRanker

if TYPE_CHECKING:
    from hlgraph.retrieve.keywords import Keyword
    from hlgraph.subgraph import Subgraph

_R = TypeVar("_R", bound=Record)
_WIDEST = 100_000


@dataclass(slots=True)
class Step:
    """A step being traced: ``count`` and ``details`` are filled in by its block."""

    name: str
    count: int = 0
    details: dict[str, Scalar] = field(default_factory=dict)


class Session:
    """What strategies use instead of the stores: every read goes through the scope of the request and is counted."""

    def __init__(
        self,
        request: SearchRequest,
        stores: Stores,
        *,
        embedder: Embedder,
        reranker: Reranker,
        corpus: CorpusStats,
        chat: ChatModel | None = None,
    ) -> None:
        self.request = request
        self.reranker = reranker
        self.chat = chat  # for the steps that a paper gives to a model; None: they are done without one
        self.keywords: Mapping[Keyword, str] | None = None  # once they are known: a search that looks wider asks again
        self.scope = Scope(request.corpus, request.where)
        self.steps: list[StepTrace] = []
        self.round_trips = 1  # the look at the corpus that found `corpus`
        self._stores = stores
        self._embedder = embedder
        self._corpus = corpus
        self._vector: NDArray[np.float32] | None = None
        self._read: dict[tuple[Kind, str], Record | None] = {}
        self._cosines: dict[tuple[Kind, str], float] = {}
        self._vectors: dict[tuple[Kind, str], NDArray[np.float32]] = {}

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Trace a block."""
        found = Step(name)
        start = time.perf_counter()
        yield found
        milliseconds = (time.perf_counter() - start) * 1000
        self.steps.append(StepTrace(name, found.count, round(milliseconds, 3), found.details))

    def vector(self) -> NDArray[np.float32]:
        """The question as a vector; embedded once. Raises ModelMismatchError when the corpus has vectors of another model."""
        if self._vector is None:
            check_fingerprint((self._corpus,), self._embedder)
            with self.step("embed") as step:
                vector = question_vector(self._embedder, self.request.question)
                step.count = 1
            check_model((self._corpus,), self._embedder)  # afterwards: now the length is known without another call
            self._vector = vector
        return self._vector

    def seeds(self, kind: Kind, k: int) -> list[Hit]:
        """The ``k`` best nodes of a kind, searched in the mode of the request.

        Rows whose record vanished (a removal that was published, but not finished) are no nodes: others take their place.
        """
        wanted = k
        while True:
            hits = self._search(kind, wanted)
            self._load(kind, [hit.id for hit in hits])
            there = [hit for hit in hits if self._read[kind, hit.id] is not None]
            if len(there) >= k or len(hits) < wanted or wanted >= _WIDEST:
                return there[:k]
            wanted *= 4

    def search(self, kind: Kind, k: int) -> list[Hit]:
        """The ``k`` best rows of a kind, unchecked: for those who pull them next, which leaves out what vanished."""
        return self._search(kind, k)

    def _search(self, kind: Kind, k: int) -> list[Hit]:
        mode = self.request.mode
        vector = self.vector() if mode != "text" else None
        text = self.request.question if mode != "vector" else None
        with self.step(f"search {kind}") as step:
            query = VectorQuery(kind, self.request.corpus, k, vector, text, self.request.where, self._corpus.pending)
            hits = self._stores.vectors.search(query)
            self.round_trips += 1
            step.count = len(hits)
            step.details = {"k": k, "mode": mode}
        if mode == "vector":
            self._cosines.update({(kind, hit.id): hit.score for hit in hits})
        return hits

    def similarities(self, kind: Kind, ids: Sequence[str]) -> dict[str, float]:
        """Cosine to the question of each of these nodes that has a vector; those that a search gave are not computed again."""
        missing = [item for item in ids if (kind, item) not in self._cosines]
        if missing:
            vector = self.vector()
            with self.step(f"similarity {kind}") as step:
                self._fetch(kind, missing)
                found = [item for item in missing if (kind, item) in self._vectors]
                step.count = len(found)
                if found:
                    cosines = (np.stack([self._vectors[kind, item] for item in found]) @ vector).tolist()
                    self._cosines.update({(kind, item): cosine for item, cosine in zip(found, cosines, strict=True)})
        return {item: self._cosines[kind, item] for item in ids if (kind, item) in self._cosines}

    def vectors(self, kind: Kind, ids: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        """The nodes of these that have a vector, in this order, and their vectors, one a row; each is read once."""
        missing = [item for item in ids if (kind, item) not in self._vectors]
        if missing:
            with self.step(f"vectors {kind}") as step:
                self._fetch(kind, missing)
                step.count = len(missing)
        found = [item for item in ids if (kind, item) in self._vectors]
        rows = [self._vectors[kind, item] for item in found]
        return found, np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    def _fetch(self, kind: Kind, ids: Sequence[str]) -> None:
        missing = [item for item in ids if (kind, item) not in self._vectors]
        if missing:
            found, matrix = self._stores.vectors.vectors(kind, self.request.corpus, ids=missing)
            self.round_trips += 1
            self._vectors.update({(kind, item): row for item, row in zip(found, matrix, strict=True)})

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Texts that only this retrieval needs, such as paths, as vectors; one row a text."""
        with self.step("embed") as step:
            step.count = len(texts)
            return self._embedder.embed(texts)

    def rank(self, query: RankQuery) -> list[Hit]:
        """Nodes by personalised PageRank over the graph of a shape, within the scope."""
        ranker = self._stores.ranker or PulledRanker(self._stores.graph)
        with self.step(f"rank {query.shape}") as step:
            hits = ranker.rank(query, scope=self.scope)
            self.round_trips += 1
            step.count = len(hits)
            step.details = {"seeds": len(query.seed_weights), "damping": query.damping, "k": query.k}
        return hits

    def pull(self, seeds: Sequence[str], shape: PullShape) -> Subgraph:
        """The part of the graph around the seeds."""
        with self.step("pull") as step:
            graph = self._stores.graph.pull(seeds, shape, scope=self.scope)
            self.round_trips += 1
            step.count = len(graph)
            step.details = {"seeds": len(seeds), "hops": shape.hops, "is_cut": graph.is_cut}
        return graph

    def records(self, kind: Kind, ids: Sequence[str], *, made: type[_R]) -> dict[str, _R]:
        """The visible records of a kind by id; what was read once in this session is not read again."""
        self._load(kind, ids)
        held = ((item, self._read[kind, item]) for item in ids)
        return {item: record for item, record in held if isinstance(record, made)}

    def _load(self, kind: Kind, ids: Sequence[str]) -> None:
        missing = [item for item in ids if (kind, item) not in self._read]
        if missing:
            self.round_trips += 1
            found = {item.id: item for item in self._stores.graph.records(kind, missing)}
            self._read.update({(kind, item): found.get(item) for item in missing})
