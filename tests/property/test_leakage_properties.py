"""What a filter does not admit cannot be seen: not by a search, not by a walk, not by its effect on what is admitted."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast, get_args

import pytest
from extractors import RuleExtractor
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from thoroughness import cases
from where_filters import is_known

from hlgraph.algorithms.diameter import Distance
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import entity_id, source_id
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import (
    Chunk,
    Document,
    Entity,
    Evidence,
    Extraction,
    Fact,
    Kind,
    Mention,
    MetadataValue,
    Proposition,
    Record,
    Relationship,
    Source,
    Statement,
    Triple,
)  # fmt: skip
from hlgraph.retrieve import STRATEGIES, SearchRequest, search
from hlgraph.retrieve.request import Mode, Unit
from hlgraph.retrieve.retriever import UNITS_OF_ALL, Ranked, Retriever
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.strategies.auto import AutoRetriever
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.retrieve.strategies.path import PathRetriever
from hlgraph.sdk.merges import Merges
from hlgraph.stores.in_process import PulledRanker
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import GraphStore, PullShape, RankQuery, Scope, Stores
from hlgraph.subgraph import KINDS, Subgraph
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import And, Compare, Exists, In, Not, Op, Or, Where, matches, source_values

_EMBEDDER = WordEmbedder()
_DERIVED = (Relationship.RELATES, Relationship.CO_OCCURS, Relationship.SYNONYM)
_ALL = PullShape(frozenset(Relationship), frozenset(Kind), hops=9)
_NAMES = ("Mara Quill", "Quill Mara", "Ivo", "Orne", "Tessing", "Tessing Town")
_VERBS = ("met", "left", "named and met")
_QUESTION = "Who met Mara Quill in Tessing Town, and left Orne with Ivo? A report."


def _facts(chunk: ChunkInput) -> Extraction:
    """``A verb B.`` is a statement about A and B; "and" in the verb makes two facts of it."""
    return Extraction(tuple(map(_statement, re.finditer(r"[^.]+\.", chunk.text))), ("report",))


def _statement(sentence: re.Match[str]) -> Proposition:
    text = sentence[0].strip()
    start = sentence.start() + sentence[0].index(text)
    a, verb, b = text.rstrip(".").split(" | ")
    triples = tuple(Triple(a, part, b) for part in verb.split(" and "))
    return Proposition(text, start, start + len(text), ("report",), (Mention(a), Mention(b)), triples)


_STEPS = pipeline.Steps(WholeChunker(), RuleExtractor(_facts), _EMBEDDER)

_SENTENCES = st.builds(
    " | ".join, st.tuples(st.sampled_from(_NAMES), st.sampled_from(_VERBS), st.sampled_from(_NAMES))
).map("{}.".format)
_SCALARS: st.SearchStrategy[str | int | float | bool] = st.sampled_from([0, 1, 2, 1.5, True, False, "a", "b", ""])
_VALUES: st.SearchStrategy[MetadataValue] = _SCALARS | st.lists(_SCALARS, max_size=2).map(tuple)
_METADATA = st.dictionaries(st.sampled_from(["year", "tags", "open", "title"]), _VALUES, max_size=3)
_TEXTS = st.lists(_SENTENCES, min_size=1, max_size=3).map(" ".join)
_CORPUS = st.lists(st.tuples(_TEXTS, _METADATA, _METADATA), min_size=1, max_size=5)

_FIELDS = st.sampled_from(["year", "tags", "open", "title", "metadata.title", "uri", "metadata.year"])
_FILTER_VALUES = _SCALARS | st.sampled_from(["doc:0", "doc:1", "doc:2", "Title 1", "Title 2"])
_LEAVES: st.SearchStrategy[Where] = (
    st.builds(
        lambda name, op, value: Compare(name, op if not isinstance(value, bool) else Op.NE, value),
        _FIELDS, st.sampled_from(Op), _FILTER_VALUES,
    )
    | st.builds(In, _FIELDS, st.lists(_FILTER_VALUES, max_size=3).map(tuple))
    | st.builds(Exists, _FIELDS)
)  # fmt: skip
_FILTERS = st.recursive(
    _LEAVES,
    lambda inner: (
        st.builds(Not, inner) | st.builds(And, st.tuples(inner, inner)) | st.builds(Or, st.tuples(inner, inner))
    ),
    max_leaves=4,
)

# Of two sources of the years 0 and 1 these admit one.
_PARTS: st.SearchStrategy[Where] = st.sampled_from([0, 1]).flatmap(
    lambda year: st.sampled_from([
        Compare("year", Op.EQ, year), Compare("year", Op.NE, year), In("year", (year, 2)), Not(In("year", (year, 2))),
        And((Compare("year", Op.EQ, year), Exists("year"))), Or((Compare("year", Op.EQ, year), Compare("uri", Op.EQ, "?"))),
    ])
)  # fmt: skip
_ASKED = st.tuples(st.sampled_from(get_args(Mode)), st.sampled_from([1, 2, 5, 200]), st.sampled_from([0, 0.005, 0.5]))
# These give all that there is where k is more. Strategies that walk from a few seeds need not.
_COMPLETE = ("chunk", "chunk_entity", "chunk_rerank", "statement", "topic")
# Strategies that walk in other ways than with their defaults.
_VARIANTS = (
    DiameterRetriever(search="post_filter", distance=Distance.GRAPH, max_diameter=3),
    DiameterRetriever(entities=2, entries=1, candidates=3, linked=1, splitter="names"),
    DiameterRetriever(chunks=0, has_co_occurrence=False, starts=3),
    PathRetriever(stages="first"),
    PathRetriever(stages="second"),
    # The two ways that the names of the question keep the router from.
    AutoRetriever(names=9, one_source=0, covered=0),
    AutoRetriever(is_report=True),
)

# Which summaries there are depends on the whole corpus: test_hierarchy_properties.py says what a filter hides of them.
_WALKS = sorted(STRATEGIES.keys() - {"hierarchy"})

_NAMED = st.sampled_from(_NAMES)


def _merge(stores: Stores, pairs: list[tuple[str, str]]) -> None:
    """Merge those of the pairs that can be merged."""
    merges = Merges("c", stores, chat=lambda _: None)
    for pair in pairs:
        with contextlib.suppress(InputError):
            merges.apply([pair])


_Corpus = list[tuple[str, dict[str, MetadataValue], dict[str, MetadataValue]]]


def _documents(corpus: _Corpus, *, is_new: bool) -> list[Document]:
    return [
        Document(f"doc:{at}", text, f"Title {at}", new if is_new else old) for at, (text, old, new) in enumerate(corpus)
    ]


class _Asked(NamedTuple):
    """How one search is asked."""

    strategy: str | Retriever
    unit: Unit
    mode: Mode
    k: int = 200  # more than there is
    diversity: float = 0


def _ask(stores: Stores, asked: _Asked, where: Where | None) -> list[Evidence]:
    request = SearchRequest(
        _QUESTION, "c", asked.k, asked.unit, asked.mode, where, diversity=asked.diversity, tabular=True
    )
    found = search(request, asked.strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker()).evidence
    assert len({_key(item) for item in found}) == len(found) <= asked.k
    assert all(item.source.corpus == "c" for item in found)
    return list(found)


def _key(item: Evidence) -> str:
    return item.statement_id or item.chunk_id


def _told(found: list[Evidence]) -> dict[str, tuple[str, str, float, tuple[str, ...]]]:
    """What evidence tells, by its id."""
    return {_key(item): (item.source.id, item.text, round(item.score, 3), item.labels) for item in found}


_WITHOUT_NODES = ("stats", "why_around", "known", "plan_ahead", "walked_by", "ranked_by", "snapshot", "is_remote")


class _Watched:
    """A store, or a part of one, through which nothing may come that a filter does not admit, at any hop.

    ``visible``: the ids of all nodes that a store with the admitted sources alone has. Records are no hop where they are of
    facts or entities, which belong to no source: what they are asked for by name is walked on by a pull.
    """

    def __init__(self, inner: object, visible: frozenset[str], calls: set[str] | None = None) -> None:
        self._inner = inner
        self._visible = visible
        self.calls = set[str]() if calls is None else calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name in _WITHOUT_NODES:
            return method
        if name in ("derived", "merges", "domains"):
            return None if method is None else _Watched(method, self._visible, self.calls)
        if (
            name == "aliases"
        ):  # of the whole corpus: they only lead to pulls and rankings, where the hidden ones are not found
            return method
        if name == "search_many":
            return lambda queries: [
                self._seen("search", (query,), hits) for query, hits in zip(queries, method(queries), strict=True)
            ]
        if name not in ("search", "vectors_many", "records", "pull", "find", "rank", "match"):
            raise AssertionError(f"a strategy called {name}: say here what of its result must be visible")

        def watched(*args: Any, **named: Any) -> Any:
            found = method(*args, **named)
            return self._seen(name, args, list(found) if name == "find" else found)

        return watched

    def _seen(self, name: str, args: tuple[Any, ...], found: Any) -> Any:
        self.calls.add(name)
        # Entities have no source that a search could look at: those of hidden sources go before anything is done with them.
        is_of_entities = name == "search" and args[0].kind is Kind.ENTITY
        hidden = set() if is_of_entities else set(_ids_of(name, found)) - self._visible
        assert not hidden, f"{name}{args} gave what the filter hides: {hidden}"
        return found


def _ids_of(name: str, found: Any) -> list[str]:
    if name == "pull":
        ids: list[str] = found.ids.tolist()
        return ids
    if name == "vectors_many":
        return [item for names, _ in found.values() for item in names]
    if name == "match":
        return [item for each in found for item in each.ids]
    return [item.id for item in found if not isinstance(item, Fact | Entity)]


def _watched(stores: Stores, visible: frozenset[str]) -> tuple[Stores, list[_Watched]]:
    """The stores, of which all that reads nodes is watched, and both as they are watched."""
    parts = {name: _Watched(getattr(stores, name), visible) for name in ("graph", "vectors")}
    return stores._replace(**cast("dict[str, Any]", parts)), [*parts.values()]


def _of(records: Sequence[Record], sources: set[str]) -> set[str]:
    return {item.id for item in records if isinstance(item, Statement | Chunk) and item.source_id in sources}


def _edges(graph: Subgraph) -> dict[Relationship, dict[tuple[str, str], float]]:
    """Edges by the ids of their ends; those without a direction by the lower one first."""
    found: dict[Relationship, dict[tuple[str, str], float]] = {}
    for relationship, matrix in graph.edges.items():
        edges = matrix.tocoo()
        is_directed = relationship not in (Relationship.CO_OCCURS, Relationship.SYNONYM)
        rows = {}
        for a, b, weight in zip(edges.row, edges.col, edges.data, strict=True):
            ends = (str(graph.ids[a]), str(graph.ids[b]))
            rows[ends if is_directed else (min(ends), max(ends))] = round(float(weight), 4)
        found[relationship] = rows
    return found


def _check_walks(stores: Stores, where: Where, seeds: list[str], visible: set[str]) -> None:
    """``visible``: the entities that an admitted source mentions. Every entity there is, or was, is a seed."""
    for relationships in (*((item,) for item in _DERIVED), _DERIVED):
        shape = PullShape(frozenset(relationships), frozenset({Kind.ENTITY}), hops=5)
        for start in (seeds, *([seed] for seed in seeds)):
            graph = stores.graph.pull(start, shape, scope=Scope("c", where))
            assert set(graph.ids.tolist()) <= visible


@settings(
    max_examples=cases(3, 15),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
@given(corpus=_CORPUS, other=_CORPUS, where=_FILTERS)
def test_a_filtered_view_is_the_corpus_without_what_is_hidden(corpus: _Corpus, other: _Corpus, where: Where) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hlgraph-"))
    opened = open_stores(f"hlgraph://{folder}/all")
    fresh = open_stores(f"hlgraph://{folder}/admitted")
    try:
        stores = opened.stores
        pipeline.ingest(_documents(other, is_new=True), "other", stores=stores, steps=_STEPS)
        # The metadata of today come as an update; a search under the filter has seen those of yesterday.
        pipeline.ingest(_documents(corpus, is_new=False), "c", stores=stores, steps=_STEPS)
        if is_known(where, stores):
            _ask(stores, _Asked("statement", "statement", "vector"), where)
        documents = _documents(corpus, is_new=True)
        pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
        sources = [item for item in stores.graph.find(Kind.SOURCE, Scope("c")) if isinstance(item, Source)]
        assert {item.uri: dict(item.metadata) for item in sources} == {item.uri: item.metadata for item in documents}
        admitted = {item.id for item in sources if matches(where, source_values(item))}
        assert {item.id for item in stores.graph.find(Kind.SOURCE, Scope("c", where))} == admitted

        shown = [item for item in documents if source_id("c", item.uri) in admitted]
        pipeline.ingest(shown, "c", stores=fresh.stores, steps=_STEPS)
        visible = {item.id for item in fresh.stores.graph.find(Kind.ENTITY, Scope("c"))}
        seeds = [entity_id(corpus, name) for corpus in ("c", "other") for name in _NAMES]
        _check_walks(stores, where, seeds, visible)
        nodes = [item.id for kind in KINDS for item in stores.graph.find(kind, Scope("c"))]
        filtered = stores.graph.pull(nodes, _ALL, scope=Scope("c", where))
        alone = fresh.stores.graph.pull(nodes, _ALL, scope=Scope("c"))
        assert (filtered.ids.tolist(), filtered.kinds.tolist()) == (alone.ids.tolist(), alone.kinds.tolist())
        if admitted:
            assert _edges(filtered) == _edges(alone)
            _check_rankings(stores, fresh.stores, where, seeds)
        if is_known(where, stores):
            _check_searches(stores, fresh.stores, where, admitted)
    finally:
        opened.closing.close()
        fresh.closing.close()
        shutil.rmtree(folder)


def _check_rankings(stores: Stores, alone: Stores, where: Where, seeds: list[str]) -> None:
    """PageRank under a filter is PageRank in the corpus of what is admitted: on the same nodes, with the same scores."""
    for shape, epsilon in itertools.product(ProjectionShape, (None, 1e-3)):
        query = RankQuery(shape, dict.fromkeys(seeds, 1.0), epsilon=epsilon)
        expected = _ranked(alone.graph, query, None)
        for ranker in (stores.graph, PulledRanker(stores.graph, hops=9)):
            assert _ranked(ranker, query, where) == pytest.approx(expected, abs=3e-6)


def _ranked(ranker: GraphStore | PulledRanker, query: RankQuery, where: Where | None) -> dict[str, float]:
    return {hit.id: hit.score for hit in ranker.rank(query, scope=Scope("c", where))}


def _is_by_text(strategy: str | Retriever) -> bool:
    """Whether full text is a part: BM25 weighs words by all texts, hidden ones too (docs/explanation/limits.md)."""
    return strategy in ("auto", "fused") or isinstance(strategy, AutoRetriever)


def _check_searches(stores: Stores, alone: Stores, where: Where, admitted: set[str]) -> None:
    statements, chunks = (
        _of(list(stores.graph.find(kind, Scope("c"))), admitted) for kind in (Kind.STATEMENT, Kind.CHUNK)
    )
    for strategy, unit, mode in itertools.product((*_WALKS, *_VARIANTS), UNITS_OF_ALL, get_args(Mode)):
        asked = _Asked(strategy, unit, mode)
        found = _ask(stores, asked, where)
        assert {item.source.id for item in found} <= admitted
        if mode != "text" and strategy in _COMPLETE:  # nothing starves: there is more than enough k for all
            assert set(map(_key, found)) == (statements if unit == "statement" else chunks)
        if mode == "vector" and admitted and _is_by_text(strategy):
            assert set(map(_key, found)) == set(map(_key, _ask(alone, asked, None)))
        elif mode == "vector" and admitted:  # scores do not tell of what is hidden, nor does what goes as a duplicate
            assert _told(found) == _told(_ask(alone, asked, None))
            asked = asked._replace(diversity=0.005)
            assert _told(_ask(stores, asked, where)) == _told(_ask(alone, asked, None))


def _check_hops(stores: Stores, where: Where, visible: frozenset[str], asked: tuple[Mode, int, float]) -> None:
    """Every strategy there is, with stores that give nothing that the filter hides, at whatever k and threshold."""
    mode, k, diversity = asked
    for strategy, unit in itertools.product((*_WALKS, *_VARIANTS), UNITS_OF_ALL):
        watched, parts = _watched(stores, visible)
        found = _ask(watched, _Asked(strategy, unit, mode, k, diversity), where)
        assert {item.source.id for item in found} <= visible
        assert any(part.calls for part in parts)
        if strategy in _COMPLETE and mode != "text" and not diversity:
            everything = _ask(stores, _Asked(strategy, unit, mode), where)
            assert len(found) == min(k, len(everything))


@settings(
    max_examples=cases(5, 25),
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
@given(texts=st.lists(_TEXTS, min_size=2, max_size=6), years=st.lists(st.integers(0, 2), min_size=6, max_size=6),
       where=_PARTS, asked=_ASKED, merged=st.lists(st.tuples(_NAMED, _NAMED), max_size=2))  # fmt: skip
def test_no_hop_of_any_strategy_sees_what_is_hidden(
    texts: list[str], years: list[int], where: Where, asked: tuple[Mode, int, float], merged: list[tuple[str, str]]
) -> None:
    """Sources that share their few names, so that every walk could go from what is admitted to what is not.

    Some of the names are merged, whether sources of both are admitted or not.
    """
    years = [0, 1, *years[2:]]  # whatever the filter is, it parts the corpus
    documents = [Document(f"doc:{at}", text, f"Title {at}", {"year": years[at]}) for at, text in enumerate(texts)]
    shown = [item for item in documents if matches(where, {"year": item.metadata["year"]})]
    folder = Path(tempfile.mkdtemp(prefix="hlgraph-"))
    opened = open_stores(f"hlgraph://{folder}/all")
    fresh = open_stores(f"hlgraph://{folder}/admitted")
    try:
        pipeline.ingest(documents, "c", stores=opened.stores, steps=_STEPS)
        pipeline.ingest(shown, "c", stores=fresh.stores, steps=_STEPS)
        _merge(opened.stores, merged)
        visible = {item.id for kind in (*KINDS, Kind.SOURCE) for item in fresh.stores.graph.find(kind, Scope("c"))}
        assert 0 < len(shown) < len(documents)
        _check_hops(opened.stores, where, frozenset(visible), asked)
    finally:
        opened.closing.close()
        fresh.closing.close()
        shutil.rmtree(folder)


@dataclass(frozen=True, slots=True)
class _Forgetful:
    """Finds what it should, and on the way walks where the filter does not let it."""

    unit: ClassVar[Unit] = "chunk"

    def rank(self, session: Session, k: int) -> Ranked:
        hits = session.seeds(Kind.CHUNK, k)
        session._stores.graph.pull([hit.id for hit in hits], _ALL, scope=Scope("c"))
        return Ranked(Kind.CHUNK, hits, {})


def test_a_strategy_that_forgets_the_filter_at_one_hop_is_seen(tmp_path: Path) -> None:
    """Its evidence alone would not show it: the watched stores do."""
    documents = [Document(f"doc:{at}", "Ivo | met | Orne.", f"Title {at}", {"year": at}) for at in range(2)]
    where = Compare("year", Op.EQ, 1)
    asked = _Asked(_Forgetful(), "chunk", "vector")
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        pipeline.ingest(documents, "c", stores=opened.stores, steps=_STEPS)
        seen = opened.stores.graph.pull([entity_id("c", "Ivo")], _ALL, scope=Scope("c", where))
        visible = frozenset([*seen.ids.tolist(), source_id("c", "doc:1")])
        assert [item.source.uri for item in _ask(opened.stores, asked, where)] == ["doc:1"]
        with pytest.raises(AssertionError, match="gave what the filter hides"):
            _ask(_watched(opened.stores, visible)[0], asked, where)


def test_counts_of_a_crowded_chunk_are_the_same_under_a_filter(tmp_path: Path) -> None:
    """CO_OCCURS counts the first hundred entities of a chunk only, whoever looks."""
    crowd = " ".join(f"Name{at} | met | Name{at + 1}." for at in range(130))
    documents = [
        Document("doc:0", crowd, "Crowd", {"year": 1}),
        Document("doc:1", "Ivo | met | Orne.", "Two", {"year": 2}),
    ]
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        pipeline.ingest(documents, "c", stores=opened.stores, steps=_STEPS)
        nodes = [item.id for item in opened.stores.graph.find(Kind.ENTITY, Scope("c"))]
        shape = replace(_ALL, relationships=frozenset({Relationship.CO_OCCURS, Relationship.RELATES}), hops=0)
        everywhere = opened.stores.graph.pull(nodes, shape, scope=Scope("c"))
        inside = opened.stores.graph.pull(nodes, shape, scope=Scope("c", Exists("year")))
        assert len(_edges(everywhere)[Relationship.CO_OCCURS]) == 100 * 99 / 2 + 1
        assert _edges(inside) == _edges(everywhere)
        assert [item for item in opened.check() if not item.is_fine] == []
