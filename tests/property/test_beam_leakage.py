"""No node of a source that a filter hides is ever read by a beam: not as a seed, not at any hop, not to be ranked."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from extractors import known, sentence_extractor, title_of
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from thoroughness import cases
from where_filters import is_known

from hlgraph.chunk import WholeChunker
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import (
    Document,
    Hit,
    Kind,
    MetadataValue,
    Record,
    Relationship,
    Source,
)
from hlgraph.retrieve import SearchRequest, search
from hlgraph.retrieve.strategies.statement_graph import StatementGraphRetriever
from hlgraph.retrieve.strategies.topic_graph import TopicGraphRetriever
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import GraphStore, Matched, MatchQuery, PullShape, Scope, Stores, VectorQuery, VectorStore
from hlgraph.subgraph import Subgraph
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import And, Compare, In, Not, Op, Or, Where, matches, source_values

_EMBEDDER = WordEmbedder()
_NAMES = ("Mara", "Ivo", "Orne", "Tessing", "Aldane")
_RETRIEVERS = (
    StatementGraphRetriever(vector_seeds=2, keyword_seeds=2, must_improve=False, path_weight=0.5),
    StatementGraphRetriever(vector_seeds=1, keyword_seeds=1, must_improve=False, pulls=3, fan_out=2, neighbours=1),
    TopicGraphRetriever(topics=1, statements=1, keyword_seeds=1, path_weight=0.5),
)


class _Watched(GraphStore):
    """The graph and the vectors of a store; notes the ids of what they gave."""

    def __init__(self, stores: Stores) -> None:
        self._graph: GraphStore = stores.graph
        self._vectors: VectorStore = stores.vectors
        self.seen: set[str] = set()
        self.stats = stores.graph.stats

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        found = self._graph.pull(seeds, shape, scope=scope)
        self.seen.update(found.ids.tolist())
        return found

    def match(self, query: MatchQuery, *, scope: Scope) -> list[Matched]:
        found = self._graph.match(query, scope=scope)
        self.seen.update(name for each in found for name in each.ids)
        return found

    def records(self, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        self.seen.update(ids)
        return self._graph.records(kind, ids, scope=scope)

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        for found in self._graph.find(kind, scope):
            self.seen.add(found.id)
            yield found

    def search(self, query: VectorQuery) -> list[Hit]:
        found = self._vectors.search(query)
        self.seen.update(hit.id for hit in found)
        return found

    def search_many(self, queries: Sequence[VectorQuery]) -> list[list[Hit]]:
        return [self.search(query) for query in queries]

    def vectors_many(self, corpus: str, ids: Mapping[Kind, Sequence[str]], *, state: str = "") -> object:
        self.seen.update(name for names in ids.values() for name in names)
        return self._vectors.vectors_many(corpus, ids, state=state)


_SENTENCES = st.builds(
    "{} {} {}.".format, st.sampled_from(_NAMES), st.sampled_from(["met", "left"]), st.sampled_from(_NAMES)
)
_TEXTS = st.lists(_SENTENCES, min_size=1, max_size=3, unique=True).map(" ".join)
_VALUES: st.SearchStrategy[MetadataValue] = st.sampled_from([1, 2, "a"]) | st.just((1, "a"))
_METADATA = st.dictionaries(st.sampled_from(["year", "tags"]), _VALUES, max_size=2)
_CORPUS = st.lists(st.tuples(_TEXTS, _METADATA), min_size=2, max_size=8)
_LEAVES: st.SearchStrategy[Where] = st.builds(
    Compare, st.sampled_from(["year", "tags"]), st.sampled_from([Op.EQ, Op.NE]), st.sampled_from([1, 2, "a"])
) | st.builds(
    In, st.just("uri"), st.lists(st.sampled_from([f"doc:{at}" for at in range(8)]), min_size=1, max_size=5).map(tuple)
)
_FILTERS = st.recursive(
    _LEAVES,
    lambda inner: (
        st.builds(Not, inner) | st.builds(And, st.tuples(inner, inner)) | st.builds(Or, st.tuples(inner, inner))
    ),
    max_leaves=3,
)


@settings(
    max_examples=cases(12, 25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
@given(corpus=_CORPUS, where=_FILTERS)
def test_no_hop_sees_what_a_filter_hides(corpus: list[tuple[str, dict[str, MetadataValue]]], where: Where) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hlgraph-"))
    opened = open_stores(f"hlgraph://{folder}/s")
    try:
        documents = [
            Document(f"doc:{at}", text, f"Title {at}", {"year": (0, "b"), "tags": (0, "b")} | metadata)
            for at, (text, metadata) in enumerate(corpus)
        ]
        steps = pipeline.Steps(WholeChunker(), sentence_extractor(known(_NAMES), topics=title_of), _EMBEDDER)
        pipeline.ingest(documents, "c", stores=opened.stores, steps=steps)
        graph = opened.stores.graph
        assume(is_known(where, opened.stores))
        sources = [item for item in graph.find(Kind.SOURCE, Scope("c")) if isinstance(item, Source)]
        admitted = {item.id for item in sources if matches(where, source_values(item))}
        within = Scope("c", sources=tuple(sorted(admitted)))
        kinds = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT)
        allowed = {item.id for kind in kinds for item in graph.find(kind, within)} if admitted else set()
        mentions = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}))
        allowed |= set(graph.pull(sorted(allowed), mentions, scope=within).ids.tolist()) if admitted else set()
        for retriever in _RETRIEVERS:
            watched = _Watched(opened.stores)
            found = search(
                SearchRequest("Who met Mara and left Orne? See title 1.", "c", 1, where=where),
                retriever,
                stores=Stores(watched, watched),  # type: ignore[arg-type]
                embedder=_EMBEDDER,
                reranker=LexicalReranker(),
            )
            assert watched.seen <= allowed
            assert bool(found.evidence) is bool(admitted)
    finally:
        opened.closing.close()
        shutil.rmtree(folder)
