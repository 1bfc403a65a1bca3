"""What an explanation says: seeds, hops, paths, results, calls and the evidence subgraph; and what it costs when not asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from extractors import ingest_tiny
from hierarchies import with_hierarchy
from thoroughness import IS_THOROUGH

from hlgraph.chunk import WholeChunker
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Hit, Kind, Relationship, Statement
from hlgraph.retrieve import STRATEGIES, SearchRequest, SearchResult, search
from hlgraph.retrieve.explain.describe import Neighbourhood, choose
from hlgraph.retrieve.explain.parts import EvidenceGraph, GraphEdge, Hop, Path
from hlgraph.retrieve.request import Mode, Unit
from hlgraph.retrieve.retriever import Ranked, Retriever, units_of
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.strategies.chunk_entity import ChunkEntityRetriever
from hlgraph.retrieve.strategies.statement import StatementRetriever
from hlgraph.stores import trace
from hlgraph.stores.protocols import PullShape, Stores
from hlgraph.subgraph import KINDS, Subgraph
from hlgraph.testing.corpus import CORPUS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()
_QUESTION = "Who designed the Aldane Bridge?"
_ALL = [
    (strategy, unit, mode)
    for (at, strategy), (turn, mode) in itertools.product(
        enumerate(sorted(STRATEGIES)), enumerate(("vector", "text", "hybrid"))
    )
    for unit in units_of(STRATEGIES[strategy])
    if IS_THOROUGH or at % 3 == turn  # by default the modes in turn
]


@dataclass(frozen=True, slots=True)
class _Walk:
    """The best statement, then those that share an entity with it, as a beam would note it."""

    unit: ClassVar[Unit] = "statement"
    part: str = ""

    def rank(self, session: Session, k: int) -> Ranked:
        with session.notes.named(self.part):
            first = session.seeds(Kind.STATEMENT, 1)[0]
            shape = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}), hops=2)
            graph = session.pull([first.id], shape)
            found = [str(graph.ids[at]) for at in graph.nodes(Kind.STATEMENT) if graph.ids[at] != first.id]
            hits = [Hit(key, 0.5) for key in found]
            session.note_hop(Hop(1, 1, len(hits), {"beam width": 2, "no reason": 0}, hits, name="beam"))
            for hit in hits:
                session.note_path([first.id, hit.id], hit.score)
        return Ranked(Kind.STATEMENT, [first, *hits], {first.id: {"x": 1.0}})


@dataclass(frozen=True, slots=True)
class _Jump:
    """From a statement to one that has nothing in common with it."""

    unit: ClassVar[Unit] = "statement"

    def rank(self, session: Session, k: int) -> Ranked:
        found = {item.text: hit for hit, item in _with_records(session)}
        first, last = found["The Aldane Bridge opened in 1931."], found["Ivo Brandt wrote about the Orne."]
        session.note_path([first.id, last.id], 0.5)
        return Ranked(Kind.STATEMENT, [last], {last.id: {"x": 1.0}})


def _with_records(session: Session) -> Iterator[tuple[Hit, Statement]]:
    hits = session.seeds(Kind.STATEMENT, 10)
    records = session.records(Statement, [hit.id for hit in hits])
    return ((hit, records[hit.id]) for hit in hits)


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    ingest_tiny(module_stores)
    with_hierarchy(module_stores, CORPUS, embedder=_EMBEDDER)
    return module_stores


@pytest.fixture
def unread_stores(tiny_stores: Stores) -> Stores:
    """The same, before any record is read."""
    with_hierarchy(tiny_stores, CORPUS, embedder=_EMBEDDER)
    return tiny_stores


def _ask(
    stores: Stores, strategy: str | Retriever, question: str = _QUESTION, *, explain: bool = True, **options: Any
) -> SearchResult:
    where = parse(options.pop("where")) if "where" in options else None
    request = SearchRequest(question, CORPUS, explain=explain, where=where, **options)
    return search(request, strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())


def _names(graph: EvidenceGraph, kind: Kind) -> set[str]:
    return {item.node.name for item in graph.nodes if item.node.kind is kind}


# What it costs


@pytest.mark.parametrize(("strategy", "unit", "mode"), _ALL)
def test_asking_to_explain_changes_nothing_else(stores: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    plain = _ask(stores, strategy, unit=unit, mode=mode, explain=False)
    explained = _ask(stores, strategy, unit=unit, mode=mode)
    assert explained.evidence == plain.evidence
    assert explained.explain.round_trips == plain.explain.round_trips
    assert [(step.name, step.count) for step in explained.explain.steps] == [
        (step.name, step.count) for step in plain.explain.steps
    ]
    empty = plain.explain
    assert (empty.seeds, empty.hops, empty.paths, empty.results, empty.calls, empty.stores) == ((),) * 6
    assert empty.graph == EvidenceGraph()


@pytest.mark.parametrize(("strategy", "unit", "mode"), _ALL)
def test_only_explanations_cost_extra_round_trips(stores: Stores, strategy: str, unit: Unit, mode: Mode) -> None:
    _ask(stores, strategy, unit=unit, mode=mode)  # what is read once a process has been read
    with trace.listening() as heard:
        plain = _ask(stores, strategy, unit=unit, mode=mode, explain=False)
    with trace.listening() as more:
        explained = _ask(stores, strategy, unit=unit, mode=mode)
    said = explained.explain.calls
    assert [call.name for call in heard.calls] == [call.name for call in said]
    # The rest is heard by nobody: the search listens for itself.
    assert len(more.calls) <= 9
    assert plain.evidence == explained.evidence


# What it says


def test_seeds_are_named_and_ranked(stores: Stores) -> None:
    explain = _ask(stores, StatementRetriever(candidates=3), k=3).explain
    (seeds,) = explain.seeds
    assert (seeds.kind, seeds.origin, seeds.count) == (Kind.STATEMENT, "vector", 3)
    assert seeds.best[0].name == "The Aldane Bridge was designed by Mara Quill."
    assert [node.seed_rank for node in seeds.best] == [1, 2, 3]
    scores = [node.score for node in seeds.best if node.score is not None]
    assert scores == sorted(scores, reverse=True)


def test_hops_count_kept_and_pruned_by_reason(stores: Stores) -> None:
    explain = _ask(stores, ChunkEntityRetriever(seeds=1, nodes=1), k=1).explain
    links, rerank, evidence = explain.hops
    assert (links.name, links.depth, links.expanded, links.kept) == ("chunks that share an entity", 1, 1, 1)
    assert links.pruned == {"node limit": 1}
    assert (rerank.name, rerank.depth, rerank.pruned) == ("rerank", 2, {})
    assert (evidence.name, evidence.kept, evidence.best[0].name) == (
        "returned", 1, "Aldane Bridge: The Aldane Bridge was designed by Mara Quill. The Aldane Bridge opened in 1931.",
    )  # fmt: skip


def test_path_names_joints_and_seed_ranks(stores: Stores) -> None:
    result = _ask(stores, _Walk(), "Mara Quill designed the Aldane Bridge")
    explain = result.explain
    path = next(path for path in explain.paths if "Tessing" in path.nodes[1].name)
    assert [node.name for node in path.nodes] == [
        "The Aldane Bridge was designed by Mara Quill.", "Mara Quill was born in Tessing."
    ]  # fmt: skip
    assert path.joined_by == (("Mara Quill",),)
    assert [node.seed_rank for node in path.nodes] == [1, None]
    reached = next(item for item in explain.results if item.node.id == path.nodes[1].id)
    assert reached.paths == (explain.paths.index(path) + 1,)
    assert explain.results[0].paths == ()
    assert explain.hops[0].pruned == {"beam width": 2}


@pytest.mark.parametrize("strategy", ["statement_graph", "topic_graph"])
def test_a_beam_tells_its_seeds_depths_and_paths(stores: Stores, strategy: str) -> None:
    explain = _ask(stores, strategy, "Who designed the Aldane Bridge, and where was Mara Quill born?").explain
    seeds = next(each for each in explain.seeds if each.origin == "seeds of the beam")
    assert (seeds.kind, seeds.origin) == (Kind.STATEMENT, "seeds of the beam")
    beam = [hop for hop in explain.hops if hop.name == "beam"]
    assert [hop.depth for hop in beam] == list(range(len(beam)))
    assert beam[0].kept == seeds.count
    joined = {joint for path in explain.paths for step in path.joined_by for joint in step}
    assert "Mara Quill" in joined
    assert not any(path.jumps for path in explain.paths)
    assert all(len(path.nodes) > 1 for path in explain.paths)


def test_notes_of_strategy_parts_are_separate(stores: Stores) -> None:
    explain = _ask(stores, _Walk("walk")).explain
    assert {item.part for item in (*explain.seeds, *explain.paths)} == {"walk"}
    assert [hop.part for hop in explain.hops] == ["walk", ""]


def test_the_subgraph_holds_evidence_entities_chunks_sources_and_the_path(stores: Stores) -> None:
    graph = _ask(stores, _Walk(), "Mara Quill designed the Aldane Bridge").explain.graph
    assert _names(graph, Kind.STATEMENT) == {
        "The Aldane Bridge was designed by Mara Quill.", "The Aldane Bridge opened in 1931.",
        "Mara Quill was born in Tessing.",
    }  # fmt: skip
    assert _names(graph, Kind.ENTITY) == {"Aldane Bridge", "Mara Quill", "Tessing"}
    assert _names(graph, Kind.SOURCE) == {"Aldane Bridge", "Mara Quill"}
    assert len(_names(graph, Kind.CHUNK)) == 2
    name = {item.node.id: item.node.name for item in graph.nodes}
    walked = {(name[edge.start], name[edge.end]) for edge in graph.edges if edge.is_on_path}
    assert ("Mara Quill was born in Tessing.", "Mara Quill") in walked
    assert ("The Aldane Bridge was designed by Mara Quill.", "Mara Quill") in walked
    assert {item.node.name for item in graph.nodes if item.is_on_path and item.node.kind is Kind.ENTITY} == {
        "Mara Quill", "Aldane Bridge"
    }  # fmt: skip
    assert sorted(item.number for item in graph.nodes if item.number) == [1, 2, 3]
    assert {edge.relationship for edge in graph.edges} == {"mentions", "in_chunk", "from_source", "relates"}


def test_chunks_are_joined_with_the_entities_of_their_statements(stores: Stores) -> None:
    explain = _ask(stores, ChunkEntityRetriever(seeds=1), k=2, unit="chunk").explain
    (path,) = explain.paths
    assert [node.kind for node in path.nodes] == [Kind.CHUNK, Kind.ENTITY, Kind.CHUNK]
    assert path.nodes[1].name == "Mara Quill"
    assert not _names(explain.graph, Kind.STATEMENT)
    chunks = {item.node.id for item in explain.graph.nodes if item.node.kind is Kind.CHUNK}
    walked = [edge for edge in explain.graph.edges if edge.is_on_path]
    assert {edge.relationship for edge in walked} == {"mentions"}
    assert {edge.start for edge in walked} == chunks


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_edges_join_nodes_that_are_shown_and_every_result_is(stores: Stores, strategy: str) -> None:
    for unit in ("statement", "chunk"):
        explain = _ask(stores, strategy, unit=unit).explain
        ids = {item.node.id for item in explain.graph.nodes}
        assert {end for edge in explain.graph.edges for end in (edge.start, edge.end)} <= ids
        assert {item.node.id for item in explain.results} <= ids
        assert len({(edge.start, edge.end, edge.relationship) for edge in explain.graph.edges}) == len(
            explain.graph.edges
        )


def test_many_results_and_entities_are_cut_and_counted(stores: Stores) -> None:
    documents = [
        Document(f"doc:{at}", f"The Aldane Bridge was designed by Mara Quill {at}.", f"Bridge {at}") for at in range(30)
    ]
    steps = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
    pipeline.ingest(documents, "many", stores=stores, steps=steps)
    request = SearchRequest(_QUESTION, "many", 20, explain=True)
    explain = search(request, "statement", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker()).explain
    assert len(explain.results) == 20
    assert explain.graph.left_out == {"result": 8}
    assert len(_names(explain.graph, Kind.STATEMENT)) == 12


def test_near_duplicates_that_were_left_out_are_counted(stores: Stores) -> None:
    documents = [Document(f"doc:{at}", "The Orne froze.", f"Winter {at}") for at in range(4)]
    steps = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
    pipeline.ingest(documents, "same", stores=stores, steps=steps)
    request = SearchRequest("Did the Orne freeze?", "same", 3, explain=True)
    explain = search(request, "statement", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker()).explain
    assert (explain.hops[-1].kept, explain.hops[-1].pruned) == (1, {"a near-duplicate of better evidence": 3})


def test_a_filter_holds_in_everything_that_is_named(stores: Stores) -> None:
    for strategy, unit, mode in _ALL:
        explain = _ask(stores, strategy, unit=unit, mode=mode, where='category = "person"').explain
        told = json.dumps([asdict(explain.graph), *map(asdict, (*explain.seeds, *explain.hops, *explain.paths))])
        assert "opened in 1931" not in told
        assert "designed by" not in told
        assert "Aldane" not in told


def test_empty_result_has_an_explanation(stores: Stores) -> None:
    explain = _ask(stores, "statement", "zeppelin", mode="text").explain
    assert (explain.results, explain.graph.nodes) == ((), ())
    assert [hop.kept for hop in explain.hops if hop.name == "returned"] == [0]


def test_a_path_leads_to_the_chunks_of_its_statements(stores: Stores) -> None:
    explain = _ask(stores, _Walk(), "Mara Quill designed the Aldane Bridge", unit="chunk").explain
    reached = next(item for item in explain.results if item.node.name.startswith("Mara Quill: "))
    assert reached.paths == (2,)
    assert explain.paths[1].nodes[1].name == "Mara Quill was born in Tessing."
    walked = [edge for edge in explain.graph.edges if edge.is_on_path and edge.relationship == "in_chunk"]
    assert (explain.paths[1].nodes[1].id, reached.node.id) in {(edge.start, edge.end) for edge in walked}


def test_a_jump_is_called_one(stores: Stores) -> None:
    explain = _ask(stores, _Jump()).explain
    (path,) = explain.paths
    assert (path.joined_by, path.jumps) == (((),), (1,))
    assert [edge for edge in explain.graph.edges if edge.relationship == "path"] == [
        GraphEdge(path.nodes[0].id, path.nodes[1].id, "path", is_on_path=True)
    ]


def test_synonyms_join_too() -> None:
    ids = ["a", "b", "e1", "e2"]
    kinds = [Kind.STATEMENT, Kind.STATEMENT, Kind.ENTITY, Kind.ENTITY]
    mentions = sp.csr_array(([1.0, 1.0], ([0, 1], [2, 3])), shape=(4, 4), dtype=np.float32)
    synonym = sp.csr_array(([0.9], ([2], [3])), shape=(4, 4), dtype=np.float32)
    edges = {Relationship.MENTIONS: mentions, Relationship.SYNONYM: synonym}
    around = Neighbourhood(Subgraph(np.array(ids), np.array([KINDS.index(kind) for kind in kinds], np.uint8), edges))
    assert around.bridges("a", "b") == [("e1", "e2")]
    assert around.bridges("a", "e1") == []
    assert around.direct("a", "e1") is not None
    path = Path(("a", "b"), (Kind.STATEMENT, Kind.STATEMENT), 1.0)
    chosen = choose(around, [("b", Kind.STATEMENT)], paths=[path], seeds=(), lineage={}, below={})
    assert {edge.relationship for edge in chosen.path_edges} == {"mentions", "synonym"}
    assert chosen.path_nodes == set(ids)


def test_chunk_takes_mentions_of_hidden_statements() -> None:
    kinds = [KINDS.index(kind) for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY)]
    edges = {
        Relationship.IN_CHUNK: sp.csr_array(([1.0], ([1], [0])), shape=(3, 3), dtype=np.float32),
        Relationship.MENTIONS: sp.csr_array(([1.0], ([1], [2])), shape=(3, 3), dtype=np.float32),
    }
    around = Neighbourhood(Subgraph(np.array(["c", "s", "e"]), np.array(kinds, np.uint8), edges))
    alone = choose(around, [("c", Kind.CHUNK)], paths=[], seeds={"e"}, lineage={}, below={})
    assert {(edge.start, edge.end) for edge in alone.edges} == {("c", "e")}
    both = choose(around, [("c", Kind.CHUNK), ("s", Kind.STATEMENT)], paths=[], seeds={"e"}, lineage={}, below={})
    assert {(edge.start, edge.end) for edge in both.edges} == {("s", "c"), ("s", "e")}


# Calls


def test_calls_have_their_step_rows_and_text(unread_stores: Stores) -> None:
    explain = _ask(unread_stores, "topic", mode="hybrid", where='category != "x"').explain
    calls = {call.name: call for call in explain.calls}
    assert {"read corpora", "search topic by vector", "search topic by text", "pull", "read topic"} <= calls.keys()
    assert (explain.calls[0].name, explain.calls[0].step) == ("read corpora", "find corpus")
    assert calls["search topic by vector"].step == "search topic"
    assert calls["search topic by vector"].params["vector"] == "<32 numbers>"
    assert calls["search topic by vector"].params["where"] == 'category != "x"'
    assert calls["search topic by text"].language == "sql"
    assert calls["search topic by text"].text.startswith(("SELECT", "WITH"))
    assert calls["pull"].language == "words"
    assert all(call.rows is not None and not call.is_failed for call in explain.calls)


def test_the_cost_of_a_store_is_the_sum_of_its_calls(stores: Stores) -> None:
    explain = _ask(stores, "chunk_entity").explain
    (store,) = explain.stores
    assert (store.store, store.calls, store.rows) == (
        "embedded", len(explain.calls), sum(call.rows or 0 for call in explain.calls)
    )  # fmt: skip
    assert store.milliseconds == pytest.approx(sum(call.milliseconds for call in explain.calls), abs=0.01)
    assert store.milliseconds <= explain.milliseconds


def test_an_explanation_is_json_and_the_same_twice(stores: Stores) -> None:
    first, second = (asdict(_ask(stores, "chunk_entity").explain) for _ in range(2))
    assert json.loads(json.dumps(first))["question"] == _QUESTION
    for name in ("seeds", "hops", "paths", "results", "graph"):
        assert first[name] == second[name]
