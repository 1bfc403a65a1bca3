"""The strategy ``diameter``: which entities, which chunks, in which order, and what it says about it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from extractors import sentence_extractor
from given_splitter import GivenSplitter

from hlgraph.algorithms.diameter import Distance
from hlgraph.algorithms.distances import hops_within
from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError, ModelAnswerError
from hlgraph.ids import entity_id
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Chunk, Document, Kind, Relationship
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.question.subqueries import MOST_SUBQUERIES, ChatSplitter, NameSplitter, names
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(64)
_RERANKER = LexicalReranker()
_WALK = frozenset({Relationship.RELATES, Relationship.CO_OCCURS})


# Quill - Aldane - Tessing - Orne - Brandt is a chain of names that share a document; Vesper stands apart.
_DOCUMENTS = (
    Document("doc:quill", "Quill drew Aldane.", "", {"year": 1}),
    Document("doc:aldane", "Aldane crosses at Tessing.", "", {"year": 2}),
    Document("doc:tessing", "Tessing lies by Orne.", "", {"year": 1}),
    Document("doc:orne", "Orne was sung by Brandt.", "", {"year": 2}),
    Document("doc:vesper", "Vesper is a moon of Cale.", "", {"year": 1}),
    *(Document(f"doc:plain{at}", f"nothing of note happened in part {at}.", "", {"year": 3}) for at in range(12)),
)


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    names = sentence_extractor(re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*").findall)
    report = pipeline.ingest(
        _DOCUMENTS, "c", stores=module_stores, steps=pipeline.Steps(WholeChunker(), names, _EMBEDDER)
    )
    assert (report.failed, report.problems) == ([], [])
    return module_stores


def _ask(stores: Stores, question: str, chosen: DiameterRetriever, *, where: str = "", k: int = 5) -> SearchResult:
    request = SearchRequest(question, "c", k, None, "vector", parse(where) if where else None)
    return search(request, chosen, stores=stores, embedder=_EMBEDDER, reranker=_RERANKER)


def _steps(result: SearchResult, start: str) -> list[dict[str, object]]:
    return [{**step.details, "count": step.count} for step in result.explain.steps if step.name.startswith(start)]


def _linked(result: SearchResult) -> set[str]:
    return {item.source.uri for item in result.evidence if item.why["entities"]}


_FEW = DiameterRetriever(entities=3, chunks=1, support_weight=1.0)


@pytest.mark.parametrize("how", ["in_filter", "post_filter"])
def test_chunks_of_the_entities_join_those_of_the_search(stores: Stores, how: str) -> None:
    """One chunk by search; all the others are there because an entity that is like the question stands in them."""
    session = _session(stores, "Aldane Orne")
    chosen = replace(_FEW, search=how, entities=5, max_diameter=4)  # type: ignore[arg-type]
    ranked = chosen.rank(session, 1)
    (searched,) = session.seeds(Kind.CHUNK, 1)
    texts = {item.text for item in session.records(Chunk, [hit.id for hit in ranked.hits]).values()}
    assert texts == {item.text for item in _DOCUMENTS[:4]}
    assert searched.id in ranked.why
    (step,) = (item for item in session.steps if item.name == f"diameter {how}")
    assert (step.count, step.details["is_complete"], step.details["diameter"]) == (5, True, 4)


@pytest.mark.parametrize("distance", list(Distance))
@pytest.mark.parametrize("how", ["in_filter", "post_filter"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_entities_keep_the_bound_in_the_whole_graph(stores: Stores, how: str, distance: Distance, limit: int) -> None:
    """Those that the strategy chose, measured in all of the corpus and not in the part that was pulled."""
    chosen = DiameterRetriever(search=how, distance=distance, max_diameter=limit, entities=4)  # type: ignore[arg-type]
    session = _session(stores, "Aldane Orne")
    seeds = [hit.id for hit in session.seeds(Kind.ENTITY, 10)]
    graph = chosen._entities(session, seeds)
    picked = chosen._choose(session, graph, seeds=seeds, cosines=(graph.vectors @ session.vector()).astype(np.float64))
    nodes = [item.id for item in stores.graph.find(Kind.ENTITY, Scope("c"))]
    whole = stores.graph.pull(nodes, PullShape(_WALK, frozenset({Kind.ENTITY}), hops=0), scope=Scope("c"))
    dense = np.asarray(whole.adjacency().todense()) > 0
    at = whole.index(list(picked))
    inside = np.ix_(at, at)
    hops = hops_within(dense, max_hops=9)[inside] if distance == "graph" else hops_within(dense[inside], max_hops=9)
    assert len(picked) > 1
    assert hops.max() <= limit


def _session(stores: Stores, question: str, where: str = "") -> Session:
    request = SearchRequest(question, "c", 5, where=parse(where) if where else None)
    (corpus,) = stores.graph.stats("c", has_counts=False)
    return Session(request, stores, embedder=_EMBEDDER, reranker=_RERANKER, corpus=corpus)


def test_filter_applies_to_seed_entities(stores: Stores) -> None:
    """Entities are of no source, so a search that is filtered by sources found none of them."""
    found = [hit.id for hit in _session(stores, "Brandt Aldane", "year = 1").seeds(Kind.ENTITY, 9)]
    assert set(found) == {entity_id("c", name) for name in ("Quill", "Aldane", "Tessing", "Orne", "Vesper", "Cale")}
    assert found[0] == entity_id("c", "Aldane")
    unseen = _session(stores, "Brandt", "year = 3").seeds(Kind.ENTITY, 3)
    assert unseen == []
    for how in ("in_filter", "post_filter"):
        chosen = replace(_FEW, search=how, entities=9, max_diameter=4)  # type: ignore[arg-type]
        result = _ask(stores, "Aldane", chosen, where="year in (1, 3)")
        assert _linked(result) == {"doc:quill"}  # from there on only documents of year 2 lead farther


def test_scores_are_the_reranker_and_the_support(stores: Stores) -> None:
    result = _ask(stores, "Who sang of Orne, by Aldane?", DiameterRetriever(support_weight=0.5), k=17)
    assert len(result.evidence) == 17
    for item in result.evidence:
        assert item.score == pytest.approx(float(item.why["rerank"]) + 0.5 * float(item.why["entities"]))
        assert 0 <= float(item.why["entities"]) <= 1
    assert max(float(item.why["entities"]) for item in result.evidence) == 1
    order = [(-item.score, item.chunk_id) for item in result.evidence]
    assert order == sorted(order)
    without = _ask(stores, "Who sang of Orne, by Aldane?", DiameterRetriever(support_weight=0.0), k=17)
    assert [item.score for item in without.evidence] == [item.why["rerank"] for item in without.evidence]


def test_sub_queries_share_one_pull(stores: Stores) -> None:
    given = replace(_FEW, splitter=GivenSplitter(("Quill", "Vesper")))
    result = _ask(stores, "What have these two in common?", given, k=17)
    assert {"doc:quill", "doc:vesper"} <= _linked(result)
    names = [step.name for step in result.explain.steps]
    assert (names.count("diameter in_filter"), names.count("search entity"), names.count("pull")) == (2, 2, 2)
    assert _steps(result, "split") == [{"splitter": "given", "subqueries": "Quill | Vesper", "count": 2}]
    assert result.explain.parameters["splitter"] == "given"
    json.dumps(dict(result.explain.parameters))
    sums = sum(step.name.startswith(("search", "pull")) for step in result.explain.steps)
    assert result.explain.round_trips > sums  # those for sub-queries are counted


def test_chat_model_writes_sub_queries_in_one_call(stores: Stores) -> None:
    chat = ScriptedChat(["Who is Quill?\nWhat is Vesper?"])
    request = SearchRequest("What have these two in common?", "c", 17, "statement", "vector")
    # Few chunks are found at first, so the search looks wider: it does not ask again.
    asking = replace(_FEW, by="chat", splitter="names")  # the rules
    result = search(request, asking, stores=stores, embedder=_EMBEDDER, reranker=_RERANKER, chat=chat)
    assert _steps(result, "split") == [
        {"splitter": "subqueries/1+scripted", "subqueries": "Who is Quill? | What is Vesper?", "count": 2}
    ]
    assert {step.name for step in result.explain.steps} >= {"diameter in_filter"}
    assert len(chat.asked) == 1
    given = replace(_FEW, splitter=GivenSplitter(("Quill",)))
    search(request, given, stores=stores, embedder=_EMBEDDER, reranker=_RERANKER, chat=chat)
    assert len(chat.asked) == 1


def test_an_explanation_has_the_entities_and_their_chunks(stores: Stores) -> None:
    request = SearchRequest("Aldane Orne", "c", 5, None, "vector", explain=True)
    chosen = replace(_FEW, entities=3, candidates=5)
    result = search(request, chosen, stores=stores, embedder=_EMBEDDER, reranker=_RERANKER)
    first, second = result.explain.hops[:2]
    (step,) = _steps(result, "diameter")
    assert (first.name, first.kept, first.expanded) == ("diameter in_filter", step["count"], step["visited"])
    assert first.expanded == first.kept + sum(first.pruned.values())
    assert 0 < step["similarity"] <= step["best_ball"]  # the gap to Eq. 1 of this question
    assert (second.name, second.kept) == ("chunks of the entities", len(_linked(result)))
    assert result.explain.paths
    for path in result.explain.paths:
        entity, statement, chunk = path.nodes
        assert entity.name in statement.name
        assert statement.name in chunk.name
        assert not path.jumps


def test_a_question_that_is_its_own_sub_query_is_embedded_once(stores: Stores) -> None:
    session = _session(stores, "Quill")
    with session.asking("Quill") as same, session.asking("Orne") as other:
        assert same is session
        assert other.scope == session.scope
        other.seeds(Kind.CHUNK, 3)
        assert session.round_trips == 1
    assert session.round_trips > 1
    assert [step.name for step in session.steps] == ["embed", "search chunk"]


def test_the_tuned_preset_searches_for_each_name() -> None:
    assert retriever("diameter", "tuned") == DiameterRetriever(splitter="names")
    assert retriever("diameter", "paper") == DiameterRetriever()
    assert retriever("chunk", "tuned") == retriever("chunk", "paper")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entities": 0}, "entities is 0; it must be at least 1"),
        ({"node_cap": -1}, "node_cap is -1"),
        ({"centers": -1}, "centers is -1"),
        ({"support_weight": -0.5}, "support_weight is -0.5"),
        ({"starts": 0}, "starts is 0; it must be at least 1"),
        ({"max_diameter": 1.5}, "max_diameter is 1.5; it must be a whole number"),
        ({"search": "both"}, "search is 'both'; choose one of: in_filter, post_filter, nearest"),
        ({"distance": "far"}, "distance is 'far'; choose one of: induced, graph"),
        ({"splitter": "halves"}, "splitter is 'halves'; choose one of: whole, names"),
        (
            {"search": "post_filter", "entries": 9},
            "entries is 9, but search is 'post_filter'.*set search to 'in_filter'",
        ),
        ({"search": "post_filter", "centers": 3}, "centers is 3, but search is 'post_filter', which begins with cand"),
        (
            {"search": "nearest", "max_diameter": 3},
            "max_diameter is 3, but search is 'nearest', which bounds no distance",
        ),
        ({"candidates": 10}, "entities is 20, and candidates is 10: .*; set candidates to 20 or more"),
        ({"entries": 300}, "entries is 300, and candidates is 200: .*; set candidates to 300 or more"),
    ],
)
def test_parameters_are_checked(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DiameterRetriever(**changes)  # type: ignore[arg-type]
    assert DiameterRetriever(centers=0, support_weight=0).centers == 0


def test_the_nearest_entities_are_those_of_the_search_however_far_apart(stores: Stores) -> None:
    session = _session(stores, "Orne Brandt")
    seeds = [hit.id for hit in session.seeds(Kind.ENTITY, 4)]
    chosen = DiameterRetriever(search="nearest", entities=3)
    graph = chosen._entities(session, seeds)
    cosines = (graph.vectors @ session.vector()).astype(np.float64)
    assert [*chosen._choose(session, graph, seeds=seeds, cosines=cosines)] == seeds[:3]


@pytest.mark.parametrize("how", ["in_filter", "post_filter", "nearest"])
def test_without_chunks_of_the_search_those_of_the_entities_alone_are_found(stores: Stores, how: str) -> None:
    chosen = DiameterRetriever(search=how, entities=3, chunks=0)  # type: ignore[arg-type]
    result = _ask(stores, "Aldane Orne", chosen, k=17)
    assert {item.source.uri for item in result.evidence} == _linked(result)
    assert 0 < len(result.evidence) < 6
    assert [step.name for step in result.explain.steps if step.name == "search chunk"] == []


def test_without_co_occurrence_entities_of_a_common_chunk_are_not_joined(stores: Stores) -> None:
    """The extractor of these tests states no facts, so nothing joins two entities then."""
    (step,) = _steps(_ask(stores, "Aldane Orne", DiameterRetriever(entities=3)), "diameter")
    assert step["count"] == 3
    (step,) = _steps(_ask(stores, "Aldane Orne", DiameterRetriever(entities=3, has_co_occurrence=False)), "diameter")
    assert (step["count"], step["is_complete"]) == (1, False)


def test_more_starts_never_shrink_the_set(stores: Stores) -> None:
    counts = []
    for starts in (1, 5):
        chosen = DiameterRetriever(entities=5, entries=5, max_diameter=2, starts=starts)
        (step,) = _steps(_ask(stores, "Vesper Aldane", chosen), "diameter")
        counts.append(step["count"])
    assert counts == [2, 3]  # Vesper and Cale; then a set around Aldane


@pytest.mark.parametrize(("splitter", "asked"), [("whole", 1), ("names", 3)])
def test_a_splitter_can_be_named(stores: Stores, splitter: str, asked: int) -> None:
    chosen = replace(_FEW, splitter=splitter)  # type: ignore[arg-type]
    chat = ScriptedChat([])  # never asked
    request = SearchRequest("Are Quill and Vesper one?", "c", 5, None, "vector")
    result = search(request, chosen, stores=stores, embedder=_EMBEDDER, reranker=_RERANKER, chat=chat)
    assert len(_steps(result, "diameter")) == asked
    assert not chat.asked


# Sub-queries


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which film came first, Blind Shaft or The Mask Of Fu Manchu?", ["Blind Shaft", "The Mask Of Fu Manchu"]),
        ("Between Harvey Pekar and Denise Levertov who was born earlier?", ["Harvey Pekar", "Denise Levertov"]),
        ("In what state was Ann Orne's son, or the author of \"grey ferry\", born?", ["Ann Orne", "grey ferry"]),
        ("Was it opened in 1931 or by Él Dáin?", ["1931", "Él Dáin"]),
        ("Did 5 men of Lord of the Rings meet J.R.R. Tolkien?", ["Lord of the Rings", "J.R.R. Tolkien"]),
        ("who wrote it?", []),
        ("", []),
    ],
)  # fmt: skip
def test_names_of_a_question(question: str, expected: list[str]) -> None:
    assert names(question) == expected


def test_names_are_at_most_a_few_and_the_question_is_the_first() -> None:
    question = "Did " + ", ".join(f"Name{letter}" for letter in "ABCDEFGH") + " meet?"
    found = NameSplitter().split(question)
    assert len(found) == MOST_SUBQUERIES
    assert found[0] == question


def test_a_chat_model_takes_a_question_apart() -> None:
    reply = "<think>Two people.</think>\n1. When was Ann born?\n- When was Bo born?\n\n* when was ann born?\n---\n"
    chat = ScriptedChat([reply])
    splitter = ChatSplitter(chat)
    assert splitter.split("Was Ann or Bo born first?") == ("When was Ann born?", "When was Bo born?")
    assert "Was Ann or Bo born first?" in chat.asked[0][1]
    assert splitter.fingerprint == "subqueries/1+scripted"


@pytest.mark.parametrize("reply", ["", "<think>never ends", "---\n***", "x" * 2000])
def test_a_reply_without_a_usable_line_leaves_the_question_whole(reply: str) -> None:
    told: list[str] = []
    assert ChatSplitter(ScriptedChat([reply]), told.append).split("Who?") == ("Who?",)
    assert told == ["subqueries: the reply has no usable line, so the question stayed whole"]


def test_many_lines_are_cut_and_errors_of_the_model_are_raised() -> None:
    lines = "\n".join(f"Question {letter}?" for letter in "abcdefgh")
    assert len(ChatSplitter(ScriptedChat([lines])).split("Who?")) == MOST_SUBQUERIES
    with pytest.raises(ModelAnswerError, match="no"):
        ChatSplitter(ScriptedChat([ModelAnswerError("no")])).split("Who?")
